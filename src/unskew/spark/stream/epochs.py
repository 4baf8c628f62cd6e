"""The record of a stream's micro-batches, kept beside its plans for people and dashboards."""

import json
from dataclasses import asdict, dataclass
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

_FILE, _OLDER_FILE = "epochs.jsonl", "epochs-older.jsonl"
_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Epoch:
    """One micro-batch: how even its workers were, and what became of the plan.

    Parameters
    ----------
    query, run, batch
        Spark's names for the query, its run, and the number of the micro-batch.
    version
        The plan that the rows followed; 0 for plain hashing, before there was one, and −1 where
        no plan file was whole. Of a schedule by costs: the number of the round that made it. Where
        rows are weighed by costs: how many micro-batches those were learned from.
    rows, loads
        Rows of the micro-batch, and of each worker; exact.
    imbalance
        By how many percent the most loaded worker exceeds the mean.
    predicted_imbalance
        What the plan that was followed had promised; null where it was not this loop's last plan.
        Of a schedule by costs: what it had estimated.
    split_keys
        Keys that live on several workers under the driver's present plan; null where rows are
        placed without a plan.
    next_version, why
        The plan that was made after this micro-batch, and the reason; null if none was.
    seconds
        What the driver took for all this.
    damaged
        Plan files that were found damaged since the last micro-batch.
    replication
        Keys that workers held, each counted on every worker, over distinct keys; an estimate.
        Null where it was not measured.
    busy_seconds
        What each worker's step took, as it measured itself; null where the work is Spark's own.
        Of `map_rows` and `map_batches`: the time inside the user's function.
    imbalance_of
        What the two figures of imbalance are of: ``rows`` or ``busy_seconds``.
    estimated_seconds
        What the schedule by costs expected of each worker's rows; null where there was none.
    phase
        Where the scheduler of costs stood: ``ROUND_ROBIN``, ``SEND_ALL`` or ``RUN``.
    messages, message_bytes
        Reports of costs, requests and replies between workers and the scheduler.
    stats_rows, stats_bytes
        In what they travelled to the driver: one row a worker, and all of them as text.
    """

    query: str
    run: str
    batch: int
    version: int
    rows: int
    loads: tuple[int, ...]
    imbalance: float
    predicted_imbalance: float | None
    split_keys: int | None
    next_version: int | None
    why: str | None
    seconds: float
    damaged: tuple[str, ...] = ()
    replication: float | None = None
    busy_seconds: tuple[float, ...] | None = None
    imbalance_of: str = "rows"
    estimated_seconds: tuple[float, ...] | None = None
    phase: str | None = None
    messages: int | None = None
    message_bytes: int | None = None
    stats_rows: int | None = None
    stats_bytes: int | None = None


def append_epoch(folder: Path, epoch: Epoch) -> None:
    """Add a line to the folder's record; beyond 16 MiB the older half of the record is let go."""
    path = folder / _FILE
    if path.exists() and path.stat().st_size > _MOST_BYTES // 2:
        path.replace(folder / _OLDER_FILE)
    with path.open("ab+") as file:
        file.write(_line_end_for(file) + json.dumps(asdict(epoch)).encode() + b"\n")


def _line_end_for(file: BinaryIO) -> bytes:
    """Return what is missing behind a line that was cut by a crash."""
    if file.seek(0, SEEK_END) == 0:
        return b""
    file.seek(-1, SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"


def read_epochs(folder: str | Path) -> list[Epoch]:
    """Return what is on record of a stream's micro-batches, oldest first.

    Parameters
    ----------
    folder
        The stream's ``plan_path``.

    Notes
    -----
    A line that is being written, or was cut by a crash, is left out.
    """
    epochs = []
    for name in (_OLDER_FILE, _FILE):
        path = Path(folder) / name
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        epochs += [epoch for line in lines if (epoch := _read_line(line)) is not None]
    return epochs


def _read_line(line: str) -> Epoch | None:
    try:
        fields = json.loads(line)
        lists = {name: tuple(item) for name, item in fields.items() if isinstance(item, list)}
        return Epoch(**{**fields, **lists})
    except (ValueError, TypeError, AttributeError):
        return None
