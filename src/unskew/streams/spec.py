"""Streams by name: the text ``zipf:keys=1000,exponent=1.2`` and what it stands for."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_args, get_type_hints
from urllib.parse import unquote

from unskew.errors import InvalidParameterError, UnknownNameError
from unskew.streams._numbers import parse_real, parse_whole
from unskew.streams.base import Stream
from unskew.streams.costs import with_costs
from unskew.streams.countries import countries, countries_half
from unskew.streams.drift import drift
from unskew.streams.lognormal import lognormal
from unskew.streams.recorded import file
from unskew.streams.uniform import uniform
from unskew.streams.zipf import zipf

_COST_WORDS = {
    "values": "costs",
    "minimum": "cost_min",
    "maximum": "cost_max",
    "seed": "cost_seed",
}
"""What a spec calls the parameters of `with_costs`."""
_FILE_OPTIONS = re.compile(r"(\w+=[^&]*(&\w+=[^&]*)*)?")

_MARKUP = re.compile(r" \[\d\]|``")


class Parameter(NamedTuple):
    """The type of a parameter and what it is where a spec does not say."""

    kind: type
    default: Any


@dataclass(frozen=True)
class StreamInfo:
    """A stream that can be asked for by name, and what to say about it."""

    make: Callable[..., Stream]
    takes_costs: bool = True

    @property
    def summary(self) -> str:
        """One line about the rows it has."""
        first_line = (inspect.getdoc(self.make) or "").partition("\n")[0]
        return _MARKUP.sub("", first_line)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Every parameter that a spec may set."""
        own = _parameters_of(self.make)
        # What stands before the parameters, what beside the spec, and what no grouping takes.
        for word in ("path", "seed", "with_nulls"):
            own.pop(word, None)
        if self.takes_costs:
            costs = _parameters_of(with_costs)
            own |= {word: costs[name] for name, word in _COST_WORDS.items()}
            own["costs"] = Parameter(int, None)
        return own


def _parameters_of(function: Callable[..., Stream]) -> dict[str, Parameter]:
    hints = get_type_hints(function)
    return {
        name: Parameter(next(iter(get_args(hints[name]) or [hints[name]])), parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
    }


STREAMS = {
    "zipf": StreamInfo(zipf),
    "lognormal": StreamInfo(lognormal, takes_costs=False),
    "uniform": StreamInfo(uniform),
    "countries": StreamInfo(countries),
    "countries-half": StreamInfo(countries_half),
    "drift": StreamInfo(drift),
    "file": StreamInfo(file, takes_costs=False),
}
"""Every stream that a spec can name."""

ALIASES = {"LN1": "lognormal:variant=LN1", "LN2": "lognormal:variant=LN2"}
"""Short names, and the spec that each begins."""


def parse_stream(spec: str, *, seed: int = 0) -> Stream:
    """Make the stream that a spec describes.

    A spec is a name and, after a colon, parameters: ``zipf:keys=100k,exponent=1.2,rows=5e6``.
    What is left out has its default. Numbers may be written 5000000, 5_000_000, 5e6 or 5M. A file
    is ``file:PATH``, ``file:PATH?key=COLUMN`` or ``file:PATH?key=COLUMN&cost=COLUMN``.

    Parameters
    ----------
    spec
        The description; `Stream.spec` is one.
    seed
        Picks the rows of streams that are drawn.

    Raises
    ------
    UnknownNameError
        Where no stream or parameter has that name; lists those that there are.
    InvalidParameterError
        Where a value cannot be read, or the stream does not take it.

    Examples
    --------
    >>> stream = parse_stream("zipf:keys=1k,rows=5M", seed=1)
    >>> stream.spec
    'zipf:keys=1000,exponent=1.2,rows=5000000'
    >>> parse_stream(stream.spec, seed=1) == stream
    True
    >>> parse_stream("zip")
    Traceback (most recent call last):
    unskew.errors.UnknownNameError: unknown stream 'zip'; valid: zipf, …
    """
    if not isinstance(spec, str):
        raise InvalidParameterError("parse_stream", "spec", "text such as 'zipf:keys=1000'", spec)
    name, _, rest = spec.strip().partition(":")
    if name in ALIASES:
        name, _, start = ALIASES[name].partition(":")
        rest = f"{start},{rest}" if rest else start
    if name not in STREAMS:
        raise UnknownNameError("stream", name, [*STREAMS, *ALIASES])
    if name == "file":
        return _parse_file(rest)
    return _make_drawn(name, _parse_values(name, rest, ","), seed)


def _parse_file(rest: str) -> Stream:
    path, mark, options = rest.rpartition("?")
    if not mark or not _FILE_OPTIONS.fullmatch(options):
        path, options = rest, ""
    if not path:
        raise InvalidParameterError("file", "path", "a path, as in file:PATH?key=COLUMN", path)
    columns = _parse_values("file", options, "&")
    named: dict[str, Any] = {word: unquote(name) for word, name in columns.items()}
    return file(path, **named)


def _make_drawn(name: str, values: dict[str, Any], seed: int) -> Stream:
    costs = {own: values.pop(word) for own, word in _COST_WORDS.items() if word in values}
    stream = STREAMS[name].make(**values, seed=seed)
    if not costs:
        return stream
    if "values" not in costs:
        given = ", ".join(_COST_WORDS[own] for own in costs)
        raise InvalidParameterError(name, "costs", f"given where there is {given}", None)
    try:
        return with_costs(stream, **costs)
    except InvalidParameterError as error:
        word = _COST_WORDS[error.parameter]
        raise InvalidParameterError(name, word, error.expected, error.got) from None


def _parse_values(owner: str, text: str, separator: str) -> dict[str, Any]:
    valid = STREAMS[owner].parameters
    values: dict[str, Any] = {}
    for piece in text.split(separator) if text.strip() else []:
        word, equals, value = (part.strip() for part in piece.partition("="))
        if not equals:
            raise InvalidParameterError(owner, "parameters", "written name=value", piece)
        if word == "seed":
            hint = "--seed on the command line, parse_stream(spec, seed=…) in Python"
            raise InvalidParameterError(owner, word, "given beside the spec", piece, hint=hint)
        if word not in valid:
            raise UnknownNameError(f"parameter of {owner}", word, valid)
        if word in values:
            raise InvalidParameterError(owner, word, "given once", piece)
        values[word] = _parse_value(owner, word, value, valid[word].kind)
    return values


def _parse_value(owner: str, word: str, text: str, kind: type) -> Any:
    if kind is int:
        return parse_whole(owner, word, text)
    if kind is float:
        return parse_real(owner, word, text)
    return text
