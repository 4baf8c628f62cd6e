"""Streams by name: make the stream that ``zipf:keys=1000,exponent=1.2`` describes."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from unskew.errors import InvalidParameterError, UnknownNameError
from unskew.specs import Parameter, parameters_of, parse_parameters, split_spec
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
"""Words of a spec for the parameters of `with_costs`."""
_FILE_OPTIONS = re.compile(r"(\w+=[^&]*(&\w+=[^&]*)*)?")

_MARKUP = re.compile(r" \[\d\]|``")

ALIASES = {"LN1": "lognormal:variant=LN1", "LN2": "lognormal:variant=LN2"}
"""Short names, and the spec that each begins."""


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
        # A path stands before the parameters, the seed beside the spec; no grouping takes nulls.
        own = parameters_of(self.make, without=("path", "seed", "with_nulls"))
        if self.takes_costs:
            costs = parameters_of(with_costs)
            own |= {word: costs[name] for name, word in _COST_WORDS.items()}
            own["costs"] = Parameter(int)
        return own


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


def parse_stream(spec: str, *, seed: int = 0) -> Stream:
    """Make the stream that a spec describes.

    A spec is a name and, after a colon, parameters: ``zipf:keys=100k,exponent=1.2,rows=5e6``.
    What is left out has its default. Numbers may be written 5000000, 5_000_000, 5e6 or 5M. A file
    is ``file:PATH``, ``file:PATH?key=COLUMN`` or ``file:PATH?key=COLUMN,COLUMN&cost=COLUMN``.

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
    name, rest = split_spec(spec)
    if name in ALIASES:
        name, start = split_spec(ALIASES[name])
        rest = f"{start},{rest}" if rest else start
    if name not in STREAMS:
        raise UnknownNameError("stream", name, [*STREAMS, *ALIASES])
    if name == "file":
        return _parse_file(rest)
    return _make_drawn(name, _parse_parameters(name, rest, ","), seed)


def _parse_file(rest: str) -> Stream:
    path, mark, options = rest.rpartition("?")
    if not mark or not _FILE_OPTIONS.fullmatch(options):
        path, options = rest, ""
    if not path:
        raise InvalidParameterError("file", "path", "a path, as in file:PATH?key=COLUMN", path)
    columns = _parse_parameters("file", options, "&")
    named: dict[str, Any] = {word: unquote(name) for word, name in columns.items()}
    if "," in columns.get("key", ""):  # a comma within a name is written %2C
        named["key"] = [unquote(name) for name in columns["key"].split(",")]
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


def _parse_parameters(owner: str, text: str, separator: str) -> dict[str, Any]:
    if seed := re.search(rf"(?<![^{separator}])\s*seed\s*=[^{separator}]*", text):
        hint = "--seed on the command line, parse_stream(spec, seed=…) in Python"
        raise InvalidParameterError(
            owner, "seed", "given beside the spec", seed[0].strip(), hint=hint
        )
    return parse_parameters(owner, text, STREAMS[owner].parameters, separator=separator)
