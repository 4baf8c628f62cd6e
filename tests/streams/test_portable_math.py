"""Functions that must not depend on the machine: right, and made of exact steps only."""

import math
from statistics import NormalDist
from typing import Any, cast

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.streams._portable_math import exp, falling_powers, log, normal_quantile


@settings(deadline=None, max_examples=500)
@given(st.floats(1e-300, 1e300))
def test_log_is_right_to_the_last_bits(value: float) -> None:
    assert math.isclose(log(value), math.log(value), rel_tol=1e-15, abs_tol=1e-15)


@settings(deadline=None, max_examples=500)
@given(st.floats(-700, 700))
def test_exp_is_right_to_the_last_bits(value: float) -> None:
    assert math.isclose(exp(value), math.exp(value), rel_tol=1e-15)


@settings(deadline=None, max_examples=500)
@given(st.floats(2.0**-53, 1 - 2.0**-53))
def test_the_normal_quantile_is_right_to_the_last_bits(share: float) -> None:
    expected = NormalDist().inv_cdf(share)
    assert math.isclose(normal_quantile(share), expected, rel_tol=1e-14, abs_tol=1e-15)


@settings(deadline=None, max_examples=500)
@given(st.floats(1e-300, 1e300), st.floats(-700, 700))
def test_compiled_steps_are_those_of_the_floating_point_standard(
    value: float, power: float
) -> None:
    """CPython does one exactly defined step at a time; a fused or reordered one would differ."""
    assert log(value) == cast(Any, log).py_func(value)
    assert exp(power) == cast(Any, exp).py_func(power)


def test_falling_powers_are_those_of_numpy() -> None:
    for exponent in (0.0, 0.7, 1.0, 2.0):
        expected = np.arange(1, 5001, dtype=np.float64) ** -exponent
        np.testing.assert_allclose(falling_powers(5000, exponent), expected, rtol=1e-13)
