"""Logarithm, exponential and normal quantiles whose every bit is the same on every machine."""

import math

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROOT_HALF = 0.7071067811865476
_TAYLOR = np.array([1.0 / math.factorial(degree) for degree in range(15, -1, -1)])
_ARTANH = np.array([2.0 / odd for odd in range(23, 0, -2)])
# Coefficients from the highest power down, for the middle, the tails and the far tails.
_ABOVE = np.array(
    [
        [
            2.5090809287301226727e3,
            3.3430575583588128105e4,
            6.7265770927008700853e4,
            4.5921953931549871457e4,
            1.3731693765509461125e4,
            1.9715909503065514427e3,
            1.3314166789178437745e2,
            3.3871328727963666080e0,
        ],
        [
            7.74545014278341407640e-4,
            2.27238449892691845833e-2,
            2.41780725177450611770e-1,
            1.27045825245236838258e0,
            3.64784832476320460504e0,
            5.76949722146069140550e0,
            4.63033784615654529590e0,
            1.42343711074968357734e0,
        ],
        [
            2.01033439929228813265e-7,
            2.71155556874348757815e-5,
            1.24266094738807843860e-3,
            2.65321895265761230930e-2,
            2.96560571828504891230e-1,
            1.78482653991729133580e0,
            5.46378491116411436990e0,
            6.65790464350110377720e0,
        ],
    ]
)
_BELOW = np.array(
    [
        [
            5.2264952788528545610e3,
            2.8729085735721942674e4,
            3.9307895800092710610e4,
            2.1213794301586595867e4,
            5.3941960214247511077e3,
            6.8718700749205790830e2,
            4.2313330701600911252e1,
            1.0,
        ],
        [
            1.05075007164441684324e-9,
            5.47593808499534494600e-4,
            1.51986665636164571966e-2,
            1.48103976427480074590e-1,
            6.89767334985100004550e-1,
            1.67638483018380384940e0,
            2.05319162663775882187e0,
            1.0,
        ],
        [
            2.04426310338993978564e-15,
            1.42151175831644588870e-7,
            1.84631831751005468180e-5,
            7.86869131145613259100e-4,
            1.48753612908506148525e-2,
            1.36929880922735805310e-1,
            5.99832206555887937690e-1,
            1.0,
        ],
    ]
)


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


@compiled
def normal_quantile(share: float) -> float:
    """Return the number below which a standard normal draw lies with probability ``share`` [1].

    Parameters
    ----------
    share
        Between 0 and 1, neither of them included.

    Examples
    --------
    >>> round(normal_quantile(0.975), 6), normal_quantile(0.5)
    (1.959964, 0.0)

    References
    ----------
    [1] Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", 1988.
    """
    centred = share - 0.5
    if abs(centred) <= 0.425:
        return _ratio(0, 0.180625 - centred * centred) * centred
    distance = math.sqrt(-log(min(share, 1.0 - share)))
    quantile = _ratio(1, distance - 1.6) if distance <= 5.0 else _ratio(2, distance - 5.0)
    return quantile if centred > 0.0 else -quantile


@compiled
def _ratio(part: int, value: float) -> float:
    above, below = 0.0, 0.0
    for i in range(_ABOVE.shape[1]):
        above = above * value + _ABOVE[part, i]
        below = below * value + _BELOW[part, i]
    return above / below
