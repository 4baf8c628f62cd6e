"""Numbers as people write them."""

from decimal import Decimal, InvalidOperation

from unskew.errors import InvalidParameterError

_UNITS = {"k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_HIGHEST_POWER = 300
"""Of ten; a whole number beyond it would take all memory to write out."""


def parse_whole(owner: str, parameter: str, text: str) -> int:
    """Return a whole number, or raise in the name of ``owner``.

    >>> [parse_whole("zipf", "rows", text) for text in ("5_000", "5e3", "5k", "0.5M")]
    [5000, 5000, 5000, 500000]
    """
    number = _parse(text)
    if number is None or number != number.to_integral_value():
        expected = "a whole number such as 5000000, 5_000_000, 5e6 or 5M"
        raise InvalidParameterError(owner, parameter, expected, text)
    return int(number)


def parse_real(owner: str, parameter: str, text: str) -> float:
    """Return a number, or raise in the name of ``owner``.

    >>> parse_real("zipf", "exponent", "1.2")
    1.2
    """
    number = _parse(text)
    if number is None:
        raise InvalidParameterError(owner, parameter, "a number such as 1.2 or 1e-3", text)
    return float(number)


def _parse(text: str) -> Decimal | None:
    """Return the number, or None where it is none or beyond all use."""
    unit = _UNITS.get(text[-1:].lower(), 1)
    try:
        number = Decimal(text[:-1] if unit > 1 else text)
    except InvalidOperation:
        return None
    if not number.is_finite() or number.adjusted() > _HIGHEST_POWER:
        return None
    return number * unit
