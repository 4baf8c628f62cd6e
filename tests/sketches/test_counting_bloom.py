import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.sketches.counting_bloom import CountingBloom

small_keys = st.lists(st.integers(0, 30), max_size=200)


@settings(deadline=None, max_examples=60)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=300))
def test_a_key_added_more_often_than_removed_is_never_denied(steps: list[tuple[bool, int]]) -> None:
    bloom, truth = CountingBloom(8), Counter[int]()
    for adds, key in steps:
        if adds:
            bloom.add(key)
            truth[key] += 1
        elif truth[key] > 0:
            assert bloom.remove(key)
            truth[key] -= 1
    held = [key for key, count in truth.items() if count > 0]
    assert bloom.contains_many(held).all()


@settings(deadline=None, max_examples=40)
@given(keys=small_keys)
def test_removing_all_that_was_added_leaves_nothing(keys: list[int]) -> None:
    bloom = CountingBloom(50)
    bloom.add_many(keys)
    for key in keys:
        assert bloom.remove(key)
    assert not bloom.counters.any()


@pytest.mark.parametrize("capacity", [1, 10, 300, 5_000, 100_000])
@pytest.mark.parametrize("rate", [0.2, 0.01, 0.001])
def test_a_full_filter_wrongly_claims_at_most_the_promised_share(
    capacity: int, rate: float
) -> None:
    absent, trials = 200_000, 5
    claimed = 0
    for seed in range(trials):
        bloom = CountingBloom(capacity, false_positive_rate=rate, seed=seed)
        bloom.add_many(np.arange(capacity))
        claimed += int(bloom.contains_many(np.arange(capacity, capacity + absent)).sum())
    tests = absent * trials
    assert claimed <= rate * tests + 4 * math.sqrt(rate * (1 - rate) * tests)


def test_an_overflowing_counter_stays_where_it_is() -> None:
    bloom = CountingBloom(4)
    for _ in range(300):
        bloom.add("often")
    for _ in range(300):
        assert bloom.remove("often")
    assert bloom.contains("often")
    assert bloom.counters.max() == 255


def test_additions_below_the_limit_of_a_counter_are_counted_exactly() -> None:
    bloom = CountingBloom(4)
    for _ in range(254):
        bloom.add("often")
    for _ in range(254):
        bloom.remove("often")
    assert not bloom.contains("often")


def test_removing_an_absent_key_does_nothing() -> None:
    bloom = CountingBloom(100)
    bloom.add_many(range(50))
    before = bloom.counters.copy()
    absent = next(key for key in range(1000, 2000) if not bloom.contains(key))
    assert not bloom.remove(absent)
    assert np.array_equal(bloom.counters, before)


@settings(deadline=None, max_examples=40)
@given(left=small_keys, right=small_keys)
def test_a_merge_holds_what_both_hold(left: list[int], right: list[int]) -> None:
    one, other, whole = CountingBloom(60), CountingBloom(60), CountingBloom(60)
    one.add_many(left)
    other.add_many(right)
    whole.add_many(left + right)
    untouched = other.counters.copy()
    one.merge(other)
    assert np.array_equal(one.counters, whole.counters)
    assert np.array_equal(other.counters, untouched)


def test_a_merge_keeps_overflowing_counters_at_their_limit() -> None:
    one, other = CountingBloom(4), CountingBloom(4)
    for bloom in (one, other):
        for _ in range(200):
            bloom.add(7)
    one.merge(other)
    assert one.counters.max() == 255


@pytest.mark.parametrize(
    "other",
    [
        CountingBloom(60, seed=1),
        CountingBloom(61),
        CountingBloom(60, false_positive_rate=0.02),
        "no filter",
    ],
)
def test_a_merge_of_unlike_filters_is_refused(other: CountingBloom) -> None:
    with pytest.raises(InvalidParameterError, match="other must be"):
        CountingBloom(60).merge(other)


def test_text_bytes_and_pickles_agree() -> None:
    bloom = CountingBloom(10)
    bloom.add("word")
    copy = pickle.loads(pickle.dumps(bloom))
    assert copy.contains(b"word")
    assert repr(copy) == repr(bloom) == "CountingBloom(10, false_positive_rate=0.01, seed=0)"


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"capacity": 0}, "capacity"),
        ({"capacity": 5, "false_positive_rate": 0.0}, "false_positive_rate"),
        ({"capacity": 5, "false_positive_rate": 1.0}, "false_positive_rate"),
        ({"capacity": 5, "seed": 1.5}, "seed"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameterError) as error:
        CountingBloom(**parameters)
    assert error.value.parameter == named
