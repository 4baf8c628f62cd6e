"""The exceptions that unskew raises on purpose; every one is an `UnskewError`."""

from collections.abc import Iterable
from difflib import get_close_matches


class UnskewError(Exception):
    """Base of all errors that a user of unskew can cause and mend."""


class InvalidParameterError(UnskewError, ValueError):
    """A parameter has a value that its owner does not take.

    The message always has one form, so that it can be read at a glance:

    >>> print(InvalidParameterError("PartialKey", "workers", "an int >= 1", 0))
    PartialKey: workers must be an int >= 1, got 0.
    >>> print(InvalidParameterError("zipf", "keys", "an int >= 1", "many", hint="try keys=1000"))
    zipf: keys must be an int >= 1, got 'many'. Hint: try keys=1000
    """

    def __init__(
        self, owner: str, parameter: str, expected: str, got: object, *, hint: str | None = None
    ) -> None:
        self.owner = owner
        self.parameter = parameter
        self.expected = expected
        self.got = got
        self.hint = hint
        message = f"{owner}: {parameter} must be {expected}, got {got!r}."
        super().__init__(f"{message} Hint: {hint}" if hint else message)

    def __reduce__(self) -> tuple[object, ...]:
        arguments = (self.owner, self.parameter, self.expected, self.got)
        return (type(self), arguments, {"hint": self.hint, "args": self.args})


class UnknownNameError(UnskewError, LookupError):
    """A name that no grouping, stream or parameter has; lists the valid ones.

    >>> print(UnknownNameError("grouping", "partial", ["key", "partial-key"]))
    unknown grouping 'partial'; valid: key, partial-key. Hint: did you mean 'partial-key'?
    """

    def __init__(self, kind: str, name: str, valid: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.valid = list(valid)
        message = f"unknown {kind} {name!r}; valid: {', '.join(self.valid)}."
        near = get_close_matches(name, self.valid, n=1)
        super().__init__(f"{message} Hint: did you mean {near[0]!r}?" if near else message)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.kind, self.name, self.valid))


class InvalidKeyError(UnskewError, ValueError):
    """Keys that cannot be routed: null, NaN, or neither integers nor text."""


class StreamError(UnskewError):
    """A recorded stream that cannot be read as asked: no file, no such column, not text."""


class EventLogError(UnskewError):
    """A Spark event log that cannot be read: not there, no log, a codec that Python lacks."""


class InvalidGroupingError(UnskewError, TypeError):
    """A grouping whose class cannot do what it declares; raised when it is registered."""


class PluginWarning(UserWarning):
    """A grouping or a command that another package brings could not be loaded."""


class NotLearnedError(UnskewError, RuntimeError):
    """A scheme was asked for what it only knows after `learn` and `build`."""


class MissingExtraError(UnskewError, ImportError):
    """An optional library is needed and not installed.

    >>> print(MissingExtraError("the HTML report", "plotly", "plots"))
    the HTML report needs plotly. Hint: pip install 'unskew[plots]'
    """

    def __init__(self, what: str, library: str, extra: str) -> None:
        self.what = what
        self.library = library
        self.extra = extra
        super().__init__(f"{what} needs {library}. Hint: pip install 'unskew[{extra}]'")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.what, self.library, self.extra))
