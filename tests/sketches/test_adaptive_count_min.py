"""Laws of the time-adaptive Count-Min sketch."""

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError
from unskew.sketches.adaptive_count_min import AdaptiveCountMin

timed_keys = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2_000)), max_size=80)


def sketch_of(pairs: list[tuple[int, int]], *, growth: float, seed: int = 0) -> AdaptiveCountMin:
    sketch = AdaptiveCountMin(epsilon=0.3, growth=growth, seed=seed)
    for key, time in pairs:
        sketch.update(key, time=time)
    return sketch


@settings(deadline=None, max_examples=60)
@given(pairs=timed_keys, growth=st.sampled_from([1.0, 1.0015, 1.1]), seed=st.integers(0, 99))
def test_an_estimate_is_never_too_low(
    pairs: list[tuple[int, int]], growth: float, seed: int
) -> None:
    sketch = sketch_of(pairs, growth=growth, seed=seed)
    for (key, time), count in Counter(pairs).items():
        assert sketch.estimate(key, time=time) >= count * (1 - 1e-9)


@settings(deadline=None, max_examples=100)
@example(first=[(0, 0), (0, 876)], second=[(0, 1539)], growth=1.5)
@given(first=timed_keys, second=timed_keys, growth=st.sampled_from([1.0, 1.0015, 1.5]))
def test_a_merged_sketch_is_the_sketch_of_both_streams(
    first: list[tuple[int, int]], second: list[tuple[int, int]], growth: float
) -> None:
    merged, whole = sketch_of(first, growth=growth), sketch_of(first + second, growth=growth)
    merged.merge(sketch_of(second, growth=growth))
    for key, time in set(first + second):
        expected = whole.estimate(key, time=time)
        assert merged.estimate(key, time=time) == pytest.approx(expected, rel=1e-9)


def per_interval_errors(growth: float, seed: int) -> NDArray[np.float64]:
    """Mean excess over the keys of each of 40 intervals with 500 rows each."""
    sketch = AdaptiveCountMin(epsilon=0.05, delta=0.5, growth=growth, seed=seed)
    rng = np.random.default_rng(seed)
    streams = [rng.zipf(1.3, 500).astype(np.int64) % 200 for _ in range(40)]
    for time, keys in enumerate(streams):
        sketch.update_many(keys, time=time)
    asked = np.arange(200)
    errors = [
        sketch.estimate_many(asked, time=time) - np.bincount(keys, minlength=200)
        for time, keys in enumerate(streams)
    ]
    return np.array(errors)


def test_an_excess_above_the_bound_is_rarer_than_delta() -> None:
    growth, epsilon, delta = 1.2, 0.05, 0.5
    emphasis = growth ** np.arange(40.0)
    bound = epsilon * 500 * emphasis.sum() / emphasis
    too_high = [per_interval_errors(growth, seed) > bound[:, None] for seed in range(60)]
    assert np.mean(too_high) <= delta
    assert np.mean(too_high) > 0  # the bound is put to the test


def test_recent_intervals_are_sharper_than_old_ones() -> None:
    adaptive = np.mean([per_interval_errors(1.2, seed) for seed in range(10)], axis=(0, 2))
    assert adaptive[-1] < adaptive[20] < adaptive[0]
    plain = np.mean([per_interval_errors(1.0, seed) for seed in range(10)], axis=(0, 2))
    assert adaptive[-1] < 0.5 * plain[-1]


def test_time_may_go_on_for_ever() -> None:
    sketch = AdaptiveCountMin(growth=2.0)
    for time in range(0, 10_000, 100):
        sketch.update_many(["a"] * 3, time=time)
    assert sketch.estimate("a", time=9_900) == 3.0
    assert sketch.estimate("b", time=9_900) < 1e-9
    assert sketch.estimate("a", time=0) == math.inf  # too long ago to know
    assert sketch.estimate("a", time=2**61) < 1e-9  # still to come
    sketch.update("a", time=2**62)
    assert sketch.estimate("a", time=2**62) == 1.0


def test_weights_count_as_so_many_rows() -> None:
    one, many = AdaptiveCountMin(), AdaptiveCountMin()
    one.update_many([7, 8], [3.0, 2.0], time=5)
    many.update_many([7, 7, 7, 8, 8], time=5)
    for key in (7, 8):
        assert one.estimate(key, time=5) == pytest.approx(many.estimate(key, time=5))


@pytest.mark.parametrize(
    "other", [AdaptiveCountMin(seed=1), AdaptiveCountMin(epsilon=0.1), AdaptiveCountMin(growth=2.0)]
)
def test_sketches_of_other_hashes_shape_or_growth_do_not_merge(other: AdaptiveCountMin) -> None:
    with pytest.raises(InvalidParameterError, match="AdaptiveCountMin: other must be"):
        AdaptiveCountMin().merge(other)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="growth must be"):
        AdaptiveCountMin(growth=0.9)
    with pytest.raises(InvalidParameterError, match="time must be"):
        AdaptiveCountMin().update("a", time=-1)
    with pytest.raises(InvalidParameterError, match="weights"):
        AdaptiveCountMin().update("a", -1.0, time=0)


def test_a_pickled_sketch_goes_on_alike() -> None:
    sketch = sketch_of([(1, 0), (2, 900)], growth=1.5)
    copy = pickle.loads(pickle.dumps(sketch))
    copy.update(1, time=901)
    sketch.update(1, time=901)
    assert copy.estimate(1, time=901) == sketch.estimate(1, time=901) == 1.0
