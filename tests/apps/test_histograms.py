"""Histograms count exactly while they have room, and within a bin's size beyond."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.apps.tree_growing import Histogram

_values = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=60)


def _histogram(values: list[float], capacity: int) -> Histogram:
    """Return the histogram of one value after another."""
    made = Histogram.of([], capacity)
    for value in values:
        made = made.merge(Histogram.of([(value, 1.0)], capacity))
    return made


@settings(deadline=None, max_examples=50)
@given(_values, _values, st.floats(-60, 60))
def test_with_room_for_all_values_counts_below_a_point_are_exact(
    some: list[float], others: list[float], point: float
) -> None:
    both = _histogram(some, 200).merge(_histogram(others, 200))
    assert both.is_exact
    assert both.below(point) == sum(value <= point for value in [*some, *others])


@settings(deadline=None, max_examples=50)
@given(_values, _values, st.integers(2, 8))
def test_merging_loses_no_rows_and_keeps_bins_in_order(
    some: list[float], others: list[float], capacity: int
) -> None:
    both = _histogram(some, capacity).merge(_histogram(others, capacity))
    assert both.centres.size <= capacity
    assert both.total == len(some) + len(others)
    assert bool((np.diff(both.centres) > 0).all())
    assert both.centres @ both.counts == pytest.approx(sum(some) + sum(others))


def test_many_values_are_counted_to_within_a_few_percent() -> None:
    values = np.random.default_rng(1).normal(size=2000)
    made = _histogram(values.tolist(), 50)
    for point in (-1.5, -0.5, 0.0, 0.7, 2.0):
        assert made.below(point) == pytest.approx((values <= point).sum(), abs=0.02 * 2000)


def test_cuts_part_the_values_into_equal_parts() -> None:
    values = np.random.default_rng(2).exponential(size=3000)
    made = _histogram(values.tolist(), 60)
    cuts = made.cuts(10)
    parts = np.histogram(values, [-np.inf, *cuts, np.inf])[0]
    assert len(parts) == 10
    assert parts.max() < 0.13 * 3000
    assert parts.min() > 0.07 * 3000


@settings(deadline=None, max_examples=50)
@given(_values)
def test_cuts_of_exact_bins_stand_between_the_values(values: list[float]) -> None:
    cuts = _histogram(values, 200).cuts(200)
    assert len(cuts) == len(set(values)) - 1
    assert not set(cuts.tolist()) & set(values)
