"""A stage of short Python tasks, through TCP and through sockets in the file system.

Spark and a Python worker exchange small messages. Through TCP some of them wait for an
acknowledgement that the other side holds back for 40 ms (Nagle's algorithm and delayed
acknowledgements).
"""

import statistics
from collections.abc import Iterator

import pyarrow as pa

from benchmarks._timing import interleaved, show
from unskew.spark import session

ROWS, TASKS, ROUNDS, TIMES = 4_000, 4, 15, 3
WAYS = {"TCP": "false", "Unix sockets": "true"}


def main() -> None:
    """Time a job with and without a Python stage, in sessions that come in turn."""
    jobs: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(TIMES):
        for way, enabled in WAYS.items():
            jobs[way].append(_seconds(enabled))
    base = statistics.median(stage for _, stage in jobs["TCP"])
    table = []
    for way, found in jobs.items():
        plain, stage = (statistics.median(times) for times in zip(*found, strict=True))
        table.append([way, f"{1000 * plain:.0f}", f"{1000 * stage:.0f}", f"{stage / base:.2f}"])
    title = f"a Python stage of {TASKS} tasks over {ROWS:,} rows, median of {TIMES} sessions"
    show(title, ["", "job without it, ms", "more with it, ms", "× TCP"], table)


def _seconds(sockets: str) -> tuple[float, float]:
    """Return what a job takes without Python, and how much more with it."""
    settings = {"spark.python.unix.domain.socket.enabled": sockets}
    spark = session(master="local[2]", **settings)
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.range(0, ROWS, 1, TASKS)
    mapped = rows.mapInArrow(_as_they_are, "id long")
    found = interleaved(
        {
            "plain": lambda: rows.write.format("noop").mode("overwrite").save(),
            "Python": lambda: mapped.write.format("noop").mode("overwrite").save(),
        },
        rounds=ROUNDS,
    )
    spark.stop()
    return found["plain"], found["Python"] - found["plain"]


def _as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    main()
