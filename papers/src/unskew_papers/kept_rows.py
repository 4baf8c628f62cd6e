"""Rows that are finished, kept on disk so that a run that was stopped goes on where it was."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unskew.errors import UnskewError
from unskew_papers.rows import Row
from unskew_papers.spec import Unit


class OtherRunError(UnskewError):
    """A folder has rows of another version, seed or parameters, which are never mixed."""


class KeptRows:
    """The finished units of one experiment: a file with a line a unit.

    The first line says what the rows are of. A line that was cut off, because the machine
    stopped while it was written, does not count.

    Parameters
    ----------
    path
        The file; it is made with the first unit.
    header
        Version, size, seed and parameters of this run.

    Raises
    ------
    OtherRunError
        If the file has rows of something else.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path = path
        self._header = json.loads(json.dumps(header))
        self._rows: dict[str, list[Row]] = {}
        if path.exists():
            self._read()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, unit: Unit) -> bool:
        return name_of(unit) in self._rows

    def rows_of(self, unit: Unit) -> list[Row]:
        """Return the rows of a finished unit."""
        return self._rows[name_of(unit)]

    def keep(self, unit: Unit, rows: Sequence[Row]) -> None:
        """Write the rows of a unit; when this returns they are on disk."""
        if not self._path.exists():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._append(self._header)
        plain = json.loads(json.dumps(list(rows), allow_nan=False))
        self._append({"unit": dict(unit), "rows": plain})
        self._rows[name_of(unit)] = plain

    def _append(self, fields: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(fields, ensure_ascii=False) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def _read(self) -> None:
        whole = self._path.read_bytes()
        ended = whole.rfind(b"\n") + 1
        if ended < len(whole):
            os.truncate(self._path, ended)
        lines = whole[:ended].decode("utf-8").splitlines()
        if not lines:
            self._path.unlink()
            return
        self._check(json.loads(lines[0]))
        for line in lines[1:]:
            fields = json.loads(line)
            self._rows[name_of(fields["unit"])] = fields["rows"]

    def _check(self, found: dict[str, Any]) -> None:
        if found == self._header:
            return
        names = [name for name in self._header if found.get(name) != self._header[name]]
        told = "; ".join(
            f"{name} was {found.get(name)!r}, is now {self._header[name]!r}" for name in names
        )
        raise OtherRunError(
            f"reproduce: {self._path.parent} has rows of another run, which are not mixed: {told}. "
            "Hint: --fresh takes them away, --out FOLDER writes elsewhere"
        )


def name_of(unit: Unit) -> str:
    """Return one text a unit, whatever the order of its fields.

    >>> name_of({"k": 2, "z": 1.0}) == name_of({"z": 1.0, "k": 2})
    True
    """
    return json.dumps(dict(unit), sort_keys=True)
