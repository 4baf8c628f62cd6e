"""Laws of the Count-Min sketch."""

import math
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError
from unskew.sketches.cost_sketch import CostSketch
from unskew.sketches.count_min import CountMin, sketch_shape

keys_lists = st.lists(st.integers(0, 40), max_size=200)
weights_of_keys = st.lists(st.tuples(st.integers(0, 40), st.floats(0, 1e6)), max_size=100)


def skewed_keys(size: int, *, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).zipf(1.2, size).astype(np.int64) % 5_000


@pytest.mark.parametrize(
    ("epsilon", "delta", "shape"),
    [(0.05, 0.1, (4, 54)), (0.7, 0.25, (2, 4)), (0.001, 0.5, (1, 2718)), (2.7, 0.9, (1, 1))],
)
def test_the_shape_is_that_of_the_papers(
    epsilon: float, delta: float, shape: tuple[int, int]
) -> None:
    assert sketch_shape(epsilon, delta) == shape
    sketch = CountMin(epsilon=epsilon, delta=delta)
    assert (sketch.rows, sketch.columns) == sketch.counts.shape == shape


@settings(deadline=None, max_examples=60)
@given(weighted=weights_of_keys, seed=st.integers(0, 2**40))
def test_an_estimate_is_never_too_low(weighted: list[tuple[int, float]], seed: int) -> None:
    sketch = CountMin(epsilon=0.5, seed=seed)
    sketch.update_many([key for key, _ in weighted], [weight for _, weight in weighted])
    true: defaultdict[int, float] = defaultdict(float)
    for key, weight in weighted:
        true[key] += weight
    for key, count in true.items():
        assert sketch.estimate(key) >= count * (1 - 1e-12)
    assert sketch.total == pytest.approx(sum(true.values()))


@settings(deadline=None, max_examples=60)
@given(keys=keys_lists, seed=st.integers(0, 1000))
def test_every_row_holds_every_key_once(keys: list[int], seed: int) -> None:
    sketch = CountMin(seed=seed)
    sketch.update_many(keys)
    assert sketch.counts.sum(axis=1).tolist() == [len(keys)] * sketch.rows


def test_an_excess_above_epsilon_is_rarer_than_delta() -> None:
    epsilon, delta = 0.1, 0.5  # one row: the bound is tightest there
    keys = skewed_keys(3_000, seed=1)
    asked, counts = np.unique(keys, return_counts=True)
    too_high = [
        _estimates(epsilon, delta, seed, keys, asked) - counts > epsilon * keys.size
        for seed in range(200)
    ]
    rate = np.mean(too_high, axis=0)  # for each key, over hash functions
    margin = 4 * math.sqrt(delta * (1 - delta) / len(too_high))
    assert rate.max() <= delta + margin
    assert rate.mean() <= delta
    assert rate.max() > 0  # the bound is put to the test


def _estimates(
    epsilon: float, delta: float, seed: int, keys: NDArray[np.int64], asked: NDArray[np.int64]
) -> NDArray[np.float64]:
    sketch = CountMin(epsilon=epsilon, delta=delta, seed=seed)
    sketch.update_many(keys)
    return sketch.estimate_many(asked)


@settings(deadline=None, max_examples=40)
@given(first=keys_lists, second=keys_lists)
def test_a_merged_sketch_is_the_sketch_of_both_streams(first: list[int], second: list[int]) -> None:
    left, right, whole = CountMin(), CountMin(), CountMin()
    left.update_many(first)
    right.update_many(second)
    whole.update_many(first + second)
    left.merge(right)
    assert np.array_equal(left.counts, whole.counts)
    assert left.total == whole.total


@pytest.mark.parametrize(
    "other", [CountMin(seed=1), CountMin(epsilon=0.1), CountMin(delta=0.01), CostSketch()]
)
def test_sketches_of_other_hashes_or_shape_do_not_merge(other: CountMin) -> None:
    with pytest.raises(InvalidParameterError, match="equal epsilon, delta and seed"):
        CountMin().merge(other)


def test_one_by_one_equals_many() -> None:
    keys = skewed_keys(500, seed=2)
    many, one = CountMin(), CountMin()
    many.update_many(keys)
    for key in keys.tolist():
        one.update(key)
    assert np.array_equal(many.counts, one.counts)
    assert many.estimate_many(keys).tolist() == [one.estimate(key) for key in keys.tolist()]


def test_a_pickled_sketch_goes_on_alike() -> None:
    sketch = CountMin(seed=5)
    sketch.update_many(["a", "b", "a"])
    copy = pickle.loads(pickle.dumps(sketch))
    copy.update_many(["a"])
    sketch.update_many(["a"])
    assert np.array_equal(copy.counts, sketch.counts)
    assert copy.estimate("a") == sketch.estimate("a") >= 3


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, math.nan], [1.0, math.inf]])
def test_bad_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match="CountMin: weights"):
        CountMin().update_many([1, 2], weights)


@pytest.mark.parametrize(
    "bad", [{"epsilon": 0}, {"epsilon": 3.0}, {"delta": 0}, {"delta": 1}, {"seed": "x"}]
)
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"CountMin: {next(iter(bad))} must be"):
        CountMin(**bad)


def test_datasketches_agrees_within_the_bound() -> None:
    datasketches = pytest.importorskip("datasketches")
    keys = skewed_keys(20_000, seed=3)
    ours = CountMin(seed=7)
    theirs = datasketches.count_min_sketch(ours.rows, ours.columns)
    ours.update_many(keys)
    for key in keys.tolist():
        theirs.update(key)
    asked, counts = np.unique(keys, return_counts=True)
    reference = np.array([theirs.get_estimate(key) for key in asked.tolist()])
    assert theirs.total_weight == ours.total
    assert (reference >= counts).all()
    apart = np.abs(ours.estimate_many(asked) - reference) > ours.epsilon * keys.size
    assert apart.mean() <= ours.delta
