"""What a stream has learned of costs, as two files that its tasks read in every micro-batch."""

import hashlib
import json
from base64 import b64decode, b64encode
from pathlib import Path

from unskew.spark._control_source import ControlFolder
from unskew.spark.cost_control import CostControl
from unskew.spark.cost_messages import DamagedMessageError, Matrices
from unskew.spark.learned_file import LearnedFile


class ControlFile:
    """Keep a `CostControl` where tasks can read it, and the next run of the query.

    Parameters
    ----------
    folder
        A folder of the query's own, which the driver and all executors see under one path.
    cost_by, types
        The columns that costs depend on, and their types.
    workers, matrices
        As for `CostControl`.
    """

    def __init__(
        self,
        folder: Path,
        cost_by: tuple[str, ...],
        types: tuple[str, ...],
        workers: int,
        matrices: Matrices,
    ) -> None:
        self._workers, self._matrices = workers, matrices
        self._file = LearnedFile(folder, _target(cost_by, types, workers, matrices))

    @property
    def source(self) -> ControlFolder:
        """What tasks read it with."""
        return ControlFolder(self._file.own)

    def read(self, owner: str) -> CostControl | None:
        """Return what the last run has written; None if nothing of it is there and whole.

        Raises
        ------
        InvalidParameterError
            If it is another query's: of other columns, types, workers or matrices.
        """
        lines = self._file.read(owner)
        if lines is None or len(lines) != 2:
            return None
        try:
            return CostControl.restored(self._workers, self._matrices, b64decode(lines[1]))
        except DamagedMessageError:
            return None

    def write(self, control: CostControl) -> None:
        """Put it in force for the tasks that start from now on."""
        sent, remembered = control.control().to_bytes(), control.to_bytes()
        self._file.write([b64encode(part).decode() for part in (sent, remembered)])

    def damaged(self) -> list[str]:
        """Return the names of the files that are not, or no longer, as they were written."""
        return self._file.damaged()


def _target(
    cost_by: tuple[str, ...], types: tuple[str, ...], workers: int, matrices: Matrices
) -> str:
    """Return whom a control is for, in words that fit a message."""
    rows, columns, _ = matrices.shape
    hashes = hashlib.sha256(matrices.parameters.tobytes()).hexdigest()[:8]
    return json.dumps(
        {
            "cost_by": list(cost_by),
            "types": list(types),
            "workers": workers,
            "matrices": f"{rows} x {columns}, hashed by {hashes}",
        }
    )
