"""Checks of parameters, so that every bad one is refused in the same words."""

import math
from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.errors import InvalidParameterError

_MOST_WEIGHT = 1e100


def check_int(
    owner: str,
    parameter: str,
    value: object,
    *,
    minimum: int | None = None,
    maximum: int | None = None,
    hint: str | None = None,
) -> int:
    """Return ``value`` as an int, or raise if it is none or out of range.

    >>> check_int("PartialKey", "choices", 2, minimum=1, maximum=4)
    2
    >>> check_int("PartialKey", "choices", 5, minimum=1, maximum=4)
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: PartialKey: choices must be an int in [1, 4], got 5.
    """
    if not isinstance(value, bool) and isinstance(value, Integral):
        number = int(value)
        if (minimum is None or number >= minimum) and (maximum is None or number <= maximum):
            return number
    expected = "an int" + _range_words(minimum, maximum)
    raise InvalidParameterError(owner, parameter, expected, value, hint=hint)


def check_real(
    owner: str,
    parameter: str,
    value: object,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    hint: str | None = None,
) -> float:
    """Return ``value`` as a finite float, or raise if it is none or out of range.

    ``minimum`` and ``maximum`` may be reached, ``above`` and ``below`` may not.

    >>> check_real("zipf", "exponent", 1, above=0)
    1.0
    >>> check_real("zipf", "exponent", float("nan"), above=0)
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: zipf: exponent must be a number > 0, got nan.
    """
    number = _as_float(value)
    if (
        math.isfinite(number)
        and (minimum is None or number >= minimum)
        and (maximum is None or number <= maximum)
        and (above is None or number > above)
        and (below is None or number < below)
    ):
        return number
    expected = "a number" + _range_words(minimum, maximum, above, below)
    raise InvalidParameterError(owner, parameter, expected, value, hint=hint)


def _as_float(value: object) -> float:
    """Return a number as a float; NaN for what is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an int of 400 digits
        return math.inf


def check_choice(owner: str, parameter: str, value: object, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise and list them.

    >>> check_choice("PartialKey", "load", "local", ["local", "global"])
    'local'
    """
    names = list(choices)
    if isinstance(value, str) and value in names:
        return value
    expected = "one of " + ", ".join(repr(name) for name in names)
    raise InvalidParameterError(owner, parameter, expected, value)


def check_weights(owner: str, parameter: str, weights: ArrayLike, size: int) -> NDArray[np.float64]:
    """Return one number in [0, 1e100] per key as a contiguous array, or raise.

    So sums of squares of as many weights as there can be rows are finite, too.

    >>> check_weights("PartialKey", "weights", [1, 2], 2).tolist()
    [1.0, 2.0]
    >>> check_weights("PartialKey", "weights", [1, -2], 2)
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: PartialKey: weights must be numbers in [0, 1e+100], got ...
    """
    checked = np.ascontiguousarray(weights, dtype=np.float64)
    if checked.shape != (size,):
        expected = f"one number per key ({size})"
        raise InvalidParameterError(owner, parameter, expected, f"shape {checked.shape}")
    bad = checked[~((checked >= 0) & (checked <= _MOST_WEIGHT))]
    if bad.size:
        expected = f"numbers in [0, {_MOST_WEIGHT:g}]"
        raise InvalidParameterError(owner, parameter, expected, float(bad[0]))
    return checked


def check_capacity(owner: str, capacity: ArrayLike, workers: int) -> tuple[float, ...]:
    """Return how much each worker can do, one number above 0 per worker, or raise.

    >>> check_capacity("Wrap", [2, 1], 2)
    (2.0, 1.0)
    """
    checked = check_weights(owner, "capacity", capacity, workers)
    if not checked.min() > 0:
        raise InvalidParameterError(owner, "capacity", "numbers above 0", capacity)
    return tuple(checked.tolist())


def _range_words(
    minimum: float | None,
    maximum: float | None,
    above: float | None = None,
    below: float | None = None,
) -> str:
    low, high = minimum if above is None else above, maximum if below is None else below
    if low is not None and high is not None:
        return f" in {'[' if above is None else '('}{low}, {high}{']' if below is None else ')'}"
    if low is not None:
        return f" {'>=' if above is None else '>'} {low}"
    if high is not None:
        return f" {'<=' if below is None else '<'} {high}"
    return ""
