"""The search for the lowest of growing values, against ``argmin``."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._lowest import Lowest, lowest_by_ones, lowest_of_any, new_lowest


@compiled
def raise_lowest_by_ones(
    lowest: Lowest, values: NDArray[Any], others: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Raise the lowest value by one again and again, and another one in between."""
    places = np.empty(others.size, np.int64)
    for i in range(others.size):
        places[i] = lowest_by_ones(lowest, values)
        values[places[i]] += 1
        values[others[i]] += 1
    return places


@compiled
def raise_lowest_by_any(
    lowest: Lowest, values: NDArray[Any], others: NDArray[np.int64], growth: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Raise the lowest value by any growth again and again, and another one in between."""
    places = np.empty(others.size, np.int64)
    for i in range(others.size):
        places[i] = lowest_of_any(lowest, values)
        values[places[i]] += growth[i]
        values[others[i]] += growth[i] / 2
    return places


def by_argmin(
    values: NDArray[Any], others: NDArray[np.int64], growth: NDArray[Any], part: Any
) -> list[int]:
    places = []
    for other, more in zip(others, growth, strict=True):
        places.append(int(values.argmin()))
        values[places[-1]] += more
        values[other] += more * part
    return places


@given(st.integers(1, 100), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_values_that_grow_by_ones_give_the_place_of_argmin(size: int, seed: int) -> None:
    others = np.random.default_rng(seed).integers(0, size, 500)
    for kind in (np.int64, np.float64):
        found = raise_lowest_by_ones(new_lowest(size), np.zeros(size, kind), others)
        expected = by_argmin(np.zeros(size, kind), others, np.ones(500, kind), 1)
        assert found.tolist() == expected


@given(st.integers(1, 100), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_values_that_grow_by_anything_give_the_place_of_argmin(size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    others, growth = random.integers(0, size, 500), random.integers(0, 20, 500) / 4
    found = raise_lowest_by_any(new_lowest(size), np.zeros(size), others, growth)
    assert found.tolist() == by_argmin(np.zeros(size), others, growth, 0.5)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_growth_by_ones_may_turn_into_growth_by_anything(size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    others, growth = random.integers(0, size, 200), random.integers(0, 20, 200) / 4
    lowest, values = new_lowest(size), np.zeros(size)
    raise_lowest_by_ones(lowest, values, others)
    expected = by_argmin(values.copy(), others, growth, 0.5)
    assert raise_lowest_by_any(lowest, values, others, growth).tolist() == expected
