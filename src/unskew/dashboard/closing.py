"""What runs until it is closed, or until a ``with`` block ends."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closeable(ABC):
    """A context manager that closes itself.

    Examples
    --------
    >>> class Lamp(Closeable):
    ...     def close(self):
    ...         print("off")
    >>> with Lamp():
    ...     print("on")
    on
    off
    """

    @abstractmethod
    def close(self) -> None:
        """Stop, and free what was taken; calling it again does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
