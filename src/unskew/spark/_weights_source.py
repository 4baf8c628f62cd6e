"""Where the tasks of a stream that decide row by row find what rows weigh.

Runs inside Spark's Python workers.
"""

from unskew.spark._whole_files import OwnFiles
from unskew.spark.pooled_times import PooledTimes, from_lines


class WeightsFolder:
    """Read the newer of a folder's files that are whole and for this query.

    Parameters
    ----------
    files
        Their one line is what was learned.
    n_slots
        Hash slots that are kept.
    """

    def __init__(self, files: OwnFiles, n_slots: int) -> None:
        self._files, self._n_slots = files, n_slots

    def read(self) -> PooledTimes | None:
        """Return what is known now, None if no file is whole: then all rows weigh the same."""
        return from_lines(self._files.read(), self._n_slots)
