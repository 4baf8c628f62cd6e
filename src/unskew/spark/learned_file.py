"""What a stream has learned of costs, in two files that name the query they are for."""

from collections.abc import Sequence
from pathlib import Path

from unskew.errors import InvalidParameterError
from unskew.spark._whole_files import OwnFiles, newest_whole
from unskew.spark.file_pair import FilePair
from unskew.spark.saved_plans import PlanStore

_NAMES = ("costs-a.txt", "costs-b.txt")


class LearnedFile:
    """Keep lines of text where tasks can read them, and the next run of the query.

    Parameters
    ----------
    folder
        A folder of the query's own, which the driver and all executors see under one path. It is
        made if need be.
    target
        Whom the lines are for, in words that fit a message.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> LearnedFile(Path(folder.name), "key: user").write(["all that is known"])
    >>> LearnedFile(Path(folder.name), "key: user").read("doctest")
    ['all that is known']
    >>> LearnedFile(Path(folder.name), "key: day").read("doctest")
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: doctest: plan_path must be the folder of a query with ...
    >>> folder.cleanup()
    """

    def __init__(self, folder: Path, target: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Executors may run in another folder than the driver.
        self._folder = folder.absolute()
        self.own = OwnFiles([self._folder / name for name in _NAMES], target)
        self._pair = FilePair(self.own.paths)

    def read(self, owner: str) -> list[str] | None:
        """Return what the last run has written; None if nothing of it is there and whole.

        Raises
        ------
        InvalidParameterError
            If it is another query's.
        """
        if PlanStore(self._folder).versions():
            raise self._other(owner, "one with plans")
        whole = newest_whole(self.own.paths)
        if whole is None:
            return None
        target, *lines = whole.lines
        if target != self.own.target:
            raise self._other(owner, target)
        return lines

    def write(self, lines: Sequence[str]) -> None:
        """Put them in force for the tasks that start from now on."""
        self._pair.write([self.own.target, *lines])

    def damaged(self) -> list[str]:
        """Return the names of the files that are not, or no longer, as they were written."""
        return self._pair.damaged()

    def _other(self, owner: str, got: str) -> InvalidParameterError:
        expected = f"the folder of a query with {self.own.target}"
        hint = "each query needs a folder of its own; with another one it learns anew"
        return InvalidParameterError(owner, "plan_path", expected, got, hint=hint)
