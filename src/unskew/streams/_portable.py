"""Logarithm and exponential whose every bit is the same on every machine.

The C library's differ in the last bit from one processor to the next, which would change a key
once in a long while. These use only operations that the floating-point standard defines exactly.
"""

import math

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROOT_HALF = 0.7071067811865476
_TAYLOR = np.array([1.0 / math.factorial(degree) for degree in range(15, -1, -1)])
_ARTANH = np.array([2.0 / odd for odd in range(23, 0, -2)])


@compiled
def log(value: float) -> float:
    """Return the natural logarithm of a positive number, to within a few units of the last bit.

    >>> abs(log(10.0) - math.log(10.0)) < 1e-15
    True
    """
    fraction, exponent = math.frexp(value)
    if fraction < _ROOT_HALF:
        fraction *= 2.0
        exponent -= 1
    ratio = (fraction - 1.0) / (fraction + 1.0)
    square = ratio * ratio
    series = 0.0
    for coefficient in _ARTANH:  # enough of them for |ratio| < 0.172
        series = series * square + coefficient
    return exponent * _LN2_HIGH + (series * ratio + exponent * _LN2_LOW)


@compiled
def exp(value: float) -> float:
    """Return e to the power of ``value``, to within a few units of the last bit.

    >>> abs(exp(2.5) / math.exp(2.5) - 1) < 1e-15
    True
    """
    doublings = math.floor(value / (_LN2_HIGH + _LN2_LOW) + 0.5)
    rest = (value - doublings * _LN2_HIGH) - doublings * _LN2_LOW
    series = 0.0
    for coefficient in _TAYLOR:  # enough of them for |rest| < 0.347
        series = series * rest + coefficient
    return math.ldexp(series, doublings)


@compiled
def falling_powers(count: int, exponent: float) -> NDArray[np.float64]:
    """Return 1, 2^−exponent, 3^−exponent …: how popular each rank of a Zipf law is.

    >>> falling_powers(4, 1.0).round(12).tolist()
    [1.0, 0.5, 0.333333333333, 0.25]
    """
    out = np.empty(count, np.float64)
    for i in range(count):
        out[i] = exp(-exponent * log(i + 1.0))
    return out
