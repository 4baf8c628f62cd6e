"""What watching a query costs: in the thread of Spark's listener, and beside it."""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyspark.sql.functions as sf

import unskew.spark as us
from benchmarks._timing import show
from unskew.events import read_events
from unskew.spark.stream.listener import LoopEpoch

BATCHES, WORKERS, MANY_WORKERS, MOST_MILLISECONDS = 30, 8, 4096, 5.0


def main(batches: int = BATCHES) -> None:
    """Watch a query, with a browser's connection open, and time what that adds."""
    spark = us.session(master="local[2]", spark__sql__shuffle__partitions=WORKERS)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numbers = spark.readStream.format("rate").option("rowsPerSecond", 10_000).load()
        keyed = numbers.select((sf.col("value") % 101).alias("user"), "value")
        placed = us.balance_stream(keyed, "user", WORKERS, plan_path=folder / "plans")
        query = placed.writeStream.format("noop").start()
        with us.watch(query, folder=folder / "run", port=0) as watched:
            heard, shown, many = Timed(watched.on_epoch), Timed(watched._show), Timed(watched._show)
            # From here on the listener and the thread behind it call the timed ones.
            vars(watched).update(on_epoch=heard, _show=shown)
            with urlopen(watched.url + "api/events"):  # noqa: S310 (our own server)
                while len(shown.milliseconds) < batches:
                    time.sleep(0.1)
                for _ in range(batches):
                    many(*_with_workers(shown.last, MANY_WORKERS))
            query.stop()
            watched.wait(30)
        seconds = [epoch.seconds or 0.0 for epoch in read_events(folder / "run")]
    spark.stop()
    _print(statistics.median(seconds), heard, shown, many)


class Timed:
    """A function, and how long each call took."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self.milliseconds: list[float] = []
        self.last: tuple[Any, ...] = ()

    def __call__(self, *arguments: Any) -> None:
        """Call the function."""
        started = time.perf_counter()
        self._function(*arguments)
        self.milliseconds.append(1e3 * (time.perf_counter() - started))
        self.last = arguments


def _with_workers(heard: tuple[Any, list[LoopEpoch]], workers: int) -> tuple[Any, list[LoopEpoch]]:
    """Return the micro-batch as if so many workers had reported."""
    progress, (told, *_) = heard
    epoch = replace(
        told.epoch, loads=tuple(range(workers)), busy_seconds=(0.1,) * workers, version=0
    )
    return progress, [told._replace(epoch=epoch)]


def _print(seconds: float, heard: Timed, shown: Timed, many: Timed) -> None:
    rows = [
        [what, *(f"{value:.3f}" for value in _figures(timed, seconds))]
        for what, timed in (
            ("the listener's thread", heard),
            (f"beside it: event, file and page, {WORKERS} workers", shown),
            (f"the same, {MANY_WORKERS} workers", many),
        )
    ]
    show(
        f"watching, milliseconds per micro-batch (of {seconds:.2f} s)",
        ["", "median", "largest", "median, percent of the micro-batch"],
        rows,
    )
    worst = max(heard.milliseconds)
    print(f"the listener takes at most {MOST_MILLISECONDS} ms: {worst <= MOST_MILLISECONDS}")


def _figures(timed: Timed, seconds: float) -> tuple[float, float, float]:
    median = statistics.median(timed.milliseconds)
    return median, max(timed.milliseconds), 100 * median / (1e3 * seconds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
