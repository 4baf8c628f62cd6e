"""Where the tasks of a stream find the present schedule.

Runs inside Spark's Python workers.
"""

from base64 import b64decode

from unskew.spark._whole_files import OwnFiles
from unskew.spark.cost_messages import Control, ControlSource, DamagedMessageError, control_from


class ControlFolder(ControlSource):
    """Read the newer of a folder's files that are whole and for this query.

    Parameters
    ----------
    files
        Their lines are the control, and what the driver alone remembers.
    """

    def __init__(self, files: OwnFiles) -> None:
        self._files = files

    def read(self) -> Control | None:
        """Return what is in force now, None if no file is whole: then rows are dealt in turn."""
        lines = self._files.read()
        if lines is None or len(lines) != 2:
            return None
        try:
            return control_from(b64decode(lines[0]))
        except (DamagedMessageError, ValueError):
            return None
