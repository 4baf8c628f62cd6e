"""Where the tasks of a stream find the present schedule.

Runs inside Spark's Python workers.
"""

from base64 import b64decode
from pathlib import Path

from unskew.spark._whole_files import newest_whole
from unskew.spark.cost_messages import Control, ControlSource, DamagedMessageError, control_from

NAMES = ("costs-a.txt", "costs-b.txt")
"""The files of a folder; their lines are whom they are for, the control, and what the driver alone
remembers."""


class ControlFolder(ControlSource):
    """Read the newer of the folder's files that are whole and for this query.

    Parameters
    ----------
    folder
        A folder that the driver and all executors see under one path.
    target
        Whom the control must be for.
    """

    def __init__(self, folder: Path, target: str) -> None:
        self._paths = [folder / name for name in NAMES]
        self._target = target

    def read(self) -> Control | None:
        """Return what is in force now, None if no file is whole: then rows are dealt in turn."""
        whole = newest_whole(self._paths)
        if whole is None or len(whole.lines) != 3 or whole.lines[0] != self._target:
            return None
        try:
            return control_from(b64decode(whole.lines[1]))
        except (DamagedMessageError, ValueError):
            return None
