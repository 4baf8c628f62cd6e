"""The laws of the Bloom filter."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.sketches.bloom import Bloom

key_sets = st.sets(st.integers(-(2**63), 2**63 - 1), max_size=200)


@given(st.integers(1, 60), key_sets, st.integers(0, 5))
@settings(deadline=None)
def test_no_added_key_is_denied_even_beyond_the_capacity(
    capacity: int, keys: set[int], seed: int
) -> None:
    added = Bloom(capacity, seed=seed)
    added.add_many(sorted(keys))
    assert added.contains_many(sorted(keys)).all()


@given(key_sets, key_sets)
@settings(deadline=None)
def test_a_merge_is_the_filter_of_both_sets(first: set[int], second: set[int]) -> None:
    merged, other, both = Bloom(100), Bloom(100), Bloom(100)
    merged.add_many(sorted(first))
    other.add_many(sorted(second))
    both.add_many(sorted(first | second))
    merged.merge(other)
    np.testing.assert_array_equal(merged.words, both.words)


@pytest.mark.parametrize("rate", [0.2, 0.01, 0.001])
@pytest.mark.parametrize("capacity", [1, 10, 1000, 50_000])
def test_full_filters_keep_the_false_positive_rate(capacity: int, rate: float) -> None:
    absent, filters = 20_000, 20
    claimed = 0
    for seed in range(filters):
        added = Bloom(capacity, false_positive_rate=rate, seed=seed)
        added.add_many(np.arange(capacity))
        claimed += int(added.contains_many(np.arange(capacity, capacity + absent)).sum())
    trials = absent * filters
    margin = 4 * math.sqrt(rate * (1 - rate) / trials)
    assert claimed / trials <= rate + margin


def test_an_empty_filter_claims_nothing() -> None:
    assert not Bloom(10).contains_many(np.arange(1000)).any()


def test_text_is_found_after_a_pickle() -> None:
    added = Bloom(10)
    added.add("hot")
    again = pickle.loads(pickle.dumps(added))
    assert "hot" in again
    assert repr(again) == "Bloom(10, false_positive_rate=0.01, seed=0)"


def test_filters_of_unlike_parameters_do_not_merge() -> None:
    for other in (Bloom(10, seed=1), Bloom(11), Bloom(10, false_positive_rate=0.5)):
        with pytest.raises(InvalidParameterError, match="same parameters"):
            Bloom(10).merge(other)


@pytest.mark.parametrize(("capacity", "rate"), [(0, 0.1), (1.5, 0.1), (1, 0.0), (1, 1.0)])
def test_bad_parameters_are_refused(capacity: int, rate: float) -> None:
    with pytest.raises(InvalidParameterError, match="Bloom: "):
        Bloom(capacity, false_positive_rate=rate)
