"""Parse specs: a name and, after a colon, parameters, as in ``zipf:keys=10k,exponent=1.2``.

Groupings, streams and applications are all named this way. A value becomes what the annotation of
the constructor's parameter says, so ``10k``, ``1e5``, ``5_000`` and ``0.5M`` are numbers wherever
a number is wanted.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, InvalidOperation
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from unskew.errors import InvalidParameterError, UnknownNameError

_UNITS = {"k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_HIGHEST_POWER = 300
"""Of ten; a whole number beyond it would take all memory to write out."""
_TRUTH = {"true": True, "false": False}


class Parameter(NamedTuple):
    """A parameter that a spec may set: its type, its default, and whether it may be None."""

    kind: type
    default: Any = None
    optional: bool = False


def split_spec(spec: str) -> tuple[str, str]:
    """Return the name in a spec and the text of its parameters.

    >>> split_spec(" wrap: decay=0.5")
    ('wrap', 'decay=0.5')
    """
    name, _, parameters = spec.partition(":")
    return name.strip(), parameters.strip()


def parameters_of(
    function: Callable[..., object], *, without: Collection[str] = ()
) -> dict[str, Parameter]:
    """Return the parameters of a function or of a class's constructor, without ``without``.

    >>> def draw(keys: int = 10, *, skew: float | None = None) -> None: ...
    >>> parameters_of(draw)["skew"]
    Parameter(kind=<class 'float'>, default=None, optional=True)
    """
    annotated = function.__init__ if isinstance(function, type) else function  # type: ignore[misc]
    try:
        hints = get_type_hints(annotated)
    except NameError:  # it is annotated with what is imported for type checkers alone
        hints = {}
    return {
        name: _parameter(hints.get(name), parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in without
    }


def _parameter(hint: Any, default: Any) -> Parameter:
    if hint is None:
        known = default is not None and default is not inspect.Parameter.empty
        return Parameter(type(default) if known else str, default, default is None)
    kinds = list(get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,))
    optional = NoneType in kinds
    kind = next(kind for kind in kinds if kind is not NoneType)
    return Parameter(get_origin(kind) or kind, default, optional)


def parse_parameters(
    owner: str, text: str, valid: Mapping[str, Parameter], *, separator: str = ","
) -> dict[str, Any]:
    """Return what ``name=value`` pairs set; all names are in ``valid``, each at most once.

    Parameters
    ----------
    owner
        Whose parameters they are; errors name it.
    text
        The pairs; a separator at the end is ignored.
    valid
        The parameters that there are.
    separator
        What stands between pairs.

    Raises
    ------
    UnknownNameError
        Where no parameter has that name; lists those that there are.
    InvalidParameterError
        Where a value is not of its parameter's type, or a parameter is set twice.

    Examples
    --------
    >>> valid = {"keys": Parameter(int), "decay": Parameter(float), "seed": Parameter(int)}
    >>> parse_parameters("wrap", "keys=10k, decay=0.5", valid)
    {'keys': 10000, 'decay': 0.5}
    >>> parse_parameters("wrap", "keys=many", valid)
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: wrap: keys must be a whole number such as ...
    """
    given: dict[str, Any] = {}
    pairs = text.strip().removesuffix(separator)
    for pair in pairs.split(separator) if pairs.strip() else []:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise InvalidParameterError(owner, "parameters", "written name=value", pair)
        if name not in valid:
            raise UnknownNameError(f"parameter of {owner}", name, valid)
        if name in given:
            raise InvalidParameterError(owner, name, "given once", pair)
        given[name] = _parse_value(owner, name, value, valid[name])
    return given


def _parse_value(owner: str, name: str, text: str, parameter: Parameter) -> Any:
    if parameter.optional and text.lower() == "none":
        return None
    if parameter.kind is bool:
        if text.lower() not in _TRUTH:
            raise InvalidParameterError(owner, name, "true or false", text)
        return _TRUTH[text.lower()]
    if parameter.kind is int:
        return parse_whole(owner, name, text)
    if parameter.kind is float:
        return parse_real(owner, name, text)
    if parameter.kind is not str:
        expected = f"given in Python ({parameter.kind.__name__}), a spec cannot hold it"
        raise InvalidParameterError(owner, name, expected, text)
    return text


def parse_whole(owner: str, parameter: str, text: str) -> int:
    """Return a whole number as people write it, or raise in the name of ``owner``.

    >>> [parse_whole("zipf", "rows", text) for text in ("5_000", "5e3", "5k", "0.5M")]
    [5000, 5000, 5000, 500000]
    """
    number = _parse_number(text)
    if number is None or number != number.to_integral_value():
        expected = "a whole number such as 5000000, 5_000_000, 5e6 or 5M"
        raise InvalidParameterError(owner, parameter, expected, text)
    return int(number)


def parse_real(owner: str, parameter: str, text: str) -> float:
    """Return a number as people write it, or raise in the name of ``owner``.

    >>> parse_real("zipf", "exponent", "1.2")
    1.2
    """
    number = _parse_number(text)
    if number is None:
        raise InvalidParameterError(owner, parameter, "a number such as 1.2 or 1e-3", text)
    return float(number)


def _parse_number(text: str) -> Decimal | None:
    """Return the number, or None where it is none or beyond all use."""
    unit = _UNITS.get(text[-1:].lower(), 1)
    try:
        number = Decimal(text[:-1] if unit > 1 else text)
    except InvalidOperation:
        return None
    if not number.is_finite() or number.adjusted() > _HIGHEST_POWER:
        return None
    return number * unit
