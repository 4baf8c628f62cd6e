"""Whose checkpoint it is: a small file in it says so."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from unskew.apps.running.sinks import check_folder
from unskew.errors import UnskewError

MARKER = "unskew-run.json"
_OF_SPARK = ("metadata", "offsets", "commits", "state")


@dataclass(frozen=True)
class Marker:
    """What a checkpoint is of; a run that differs in any of it cannot go on with it."""

    application: str
    source: str
    batch_rows: int | None


def claim(folder: Path, marker: Marker) -> None:
    """Make ``folder`` the checkpoint of a run, or raise if it is that of another one.

    Raises
    ------
    UnskewError
        If it is of another application, another source or other micro-batches; of a query that
        somebody else started; or cannot be written.
    """
    check_folder("--checkpoint", folder)
    path = folder / MARKER
    if not path.exists():
        if any((folder / name).exists() for name in _OF_SPARK):
            raise _refused(folder, "is of a query that was not started by unskew run")
        path.write_text(json.dumps(asdict(marker)) + "\n", encoding="utf-8")
        return
    found = _read(path)
    for name, value in asdict(marker).items():
        if found.get(name) != value:
            said = f"is of {name} {found.get(name)!r}, and this run is of {value!r}"
            raise _refused(folder, said)


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise _refused(path.parent, f"has a damaged {MARKER}")
    return found


def _refused(folder: Path, said: str) -> UnskewError:
    hint = "give every application and source a folder of its own, or leave the option out"
    return UnskewError(f"unskew run: --checkpoint: {folder} {said}. Hint: {hint}")
