"""Run a grouping on a stream, with the clock beside it."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from unskew.cli._interrupts import stopping_between_batches
from unskew.cli._progress import Display
from unskew.cli._settings import Settings, parse_speeds
from unskew.groupings.base import Grouping
from unskew.reports.measurement import Measurement
from unskew.simulator.loads import Progress, simulate
from unskew.simulator.queueing import simulate_queue
from unskew.streams.base import Batch, Stream

_ROWS_TO_COMPILE_WITH = 1 << 20  # enough for a scheme to reach every loop it has


def measure_all(
    schemes: Mapping[str, Grouping], stream: Stream, settings: Settings, *, show: bool
) -> list[Measurement]:
    """Run every scheme, by label, on the stream, with a progress bar if that is to show."""
    rows = None
    if stream.rows is not None:
        rows = len(schemes) * stream.rows
    with Display(rows, wanted=show) as display, stopping_between_batches(stream) as watched:
        return [
            measure(label, scheme, watched, settings, display) for label, scheme in schemes.items()
        ]


def measure(
    label: str, grouping: Grouping, stream: Stream, settings: Settings, display: Display
) -> Measurement:
    """Return what a run of ``grouping`` gives.

    A few rows go through first, so that the time of the run is not that of Numba's compiler.
    """
    display.say(f"{label}: compiling loops, first run only …")
    _run(label, grouping, _first_rows(stream), settings, lambda _: None)
    display.say(label)
    return _run(label, grouping, stream, settings, display.advance)


def _run(
    label: str, grouping: Grouping, stream: Stream, settings: Settings, on_progress: Progress
) -> Measurement:
    shared: dict[str, Any] = {
        "sources": settings.sources,
        "learn": settings.learn,
        "epoch": settings.epoch,
        "deal": settings.deal,
        "weighted": settings.weighted,
        "on_progress": on_progress,
    }
    started = time.perf_counter()
    if not stream.has_costs:
        result = simulate(grouping, stream, **shared)
        seconds = time.perf_counter() - started
        return Measurement(label, stream.spec, settings.seed, result, seconds)
    provision = settings.over_provisioning
    queue = simulate_queue(
        grouping,
        stream,
        over_provisioning=1.0 if provision is None else provision,
        speeds=parse_speeds(settings.speeds),
        **shared,
    )
    seconds = time.perf_counter() - started
    return Measurement(label, stream.spec, settings.seed, queue.placement, seconds, queue)


@dataclass(frozen=True, eq=False)
class _FirstRows(Stream):
    """The first rows of a stream, with keys of the same kind."""

    name: ClassVar[str] = "first-rows"
    first: Batch
    stream: Stream
    rows: int
    seed: int

    @property
    def spec(self) -> str:
        return self.stream.spec

    @property
    def n_keys(self) -> int | None:
        return self.stream.n_keys

    @property
    def has_costs(self) -> bool:
        return self.stream.has_costs

    def _batches(self, size: int) -> Iterator[Batch]:
        keys, costs = self.first
        for first in range(0, self.rows, size):
            part = slice(first, first + size)
            yield Batch(keys[part], None if costs is None else costs[part])


def _first_rows(stream: Stream) -> _FirstRows:
    rows = next(stream.batches(_ROWS_TO_COMPILE_WITH))
    return _FirstRows(rows, stream, len(rows.keys), stream.seed)
