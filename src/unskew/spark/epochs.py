"""What every micro-batch of a stream did, kept beside its plans for people and dashboards."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

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
        no plan file was whole.
    rows, loads
        Rows of the micro-batch, and of each worker; exact.
    imbalance
        By how many percent the most loaded worker exceeds the mean.
    predicted_imbalance
        What the plan that was followed had promised; null where it was not this loop's last plan.
    split_keys
        Keys that live on several workers under the driver's present plan.
    next_version, why
        The plan that was made after this micro-batch, and the reason; null if none was.
    seconds
        What the driver took for all this.
    damaged
        Plan files that were found damaged since the last micro-batch.
    """

    query: str
    run: str
    batch: int
    version: int
    rows: int
    loads: tuple[int, ...]
    imbalance: float
    predicted_imbalance: float | None
    split_keys: int
    next_version: int | None
    why: str | None
    seconds: float
    damaged: tuple[str, ...] = ()


def append_epoch(folder: Path, epoch: Epoch) -> None:
    """Add a line to the folder's record; beyond 16 MiB the older half of the record is let go."""
    path = folder / _FILE
    if path.exists() and path.stat().st_size > _MOST_BYTES // 2:
        path.replace(folder / _OLDER_FILE)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(epoch)) + "\n")


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
        lists = {name: tuple(fields[name]) for name in ("loads", "damaged")}
        return Epoch(**{**fields, **lists})
    except (ValueError, TypeError, KeyError):
        return None
