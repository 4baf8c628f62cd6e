"""Laws of the cost sketch, and Theorem 4.3 of the paper that proposes it."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.sketches.cost_sketch import CostSketch, is_stable
from unskew.sketches.count_min import CountMin

measured_rows = st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1e4)), max_size=120)


def sketch_of(rows: list[tuple[int, float]], *, epsilon: float = 0.3, seed: int = 0) -> CostSketch:
    sketch = CostSketch(epsilon=epsilon, seed=seed)
    sketch.update_many([key for key, _ in rows], [cost for _, cost in rows])
    return sketch


@settings(deadline=None, max_examples=60)
@given(rows=measured_rows, asked=st.integers(0, 40), seed=st.integers(0, 99))
def test_an_estimate_lies_between_the_smallest_and_the_largest_cost(
    rows: list[tuple[int, float]], asked: int, seed: int
) -> None:
    estimate = sketch_of(rows, seed=seed).estimate(asked)
    costs = [cost for _, cost in rows] or [0.0]
    assert min(costs) * (1 - 1e-9) <= estimate <= max(costs) * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(rows=measured_rows, asked=st.integers(0, 40))
def test_an_estimate_is_taken_where_fewest_rows_were_counted(
    rows: list[tuple[int, float]], asked: int
) -> None:
    sketch, place = sketch_of(rows), CountMin(epsilon=0.3)
    place.update(asked)  # same seed and shape, so it shows the key's cells
    cells = place.counts.astype(bool)
    counts, costs = sketch.counts[cells], sketch.costs[cells]
    if counts.min() == 0:
        assert sketch.estimate(asked) == sketch.mean
    else:
        best = int(np.argmin(counts))
        assert sketch.estimate(asked) == costs[best] / counts[best]


def test_a_key_never_seen_costs_the_mean() -> None:
    sketch = CostSketch()
    assert sketch.estimate("anything") == 0.0
    sketch.update_many(["slow", "fast", "fast", "fast"], [8.0, 0.0, 0.0, 0.0])
    assert sketch.mean == 2.0
    assert sketch.estimate("never seen") == 2.0


@pytest.mark.parametrize("impossible", [-5.0, math.nan, math.inf, -math.inf])
def test_a_cost_that_no_clock_can_measure_counts_as_nothing(impossible: float) -> None:
    sketch = CostSketch()
    sketch.update_many(["a", "a"], [4.0, impossible])
    assert sketch.estimate("a") == 2.0


@settings(deadline=None, max_examples=40)
@given(first=measured_rows, second=measured_rows)
def test_a_merged_sketch_is_the_sketch_of_all_rows(
    first: list[tuple[int, float]], second: list[tuple[int, float]]
) -> None:
    merged, whole = sketch_of(first), sketch_of(first + second)
    merged.merge(sketch_of(second))
    assert np.array_equal(merged.counts, whole.counts)
    assert merged.costs == pytest.approx(whole.costs)


@pytest.mark.parametrize("other", [CostSketch(seed=1), CostSketch(epsilon=0.1), CountMin()])
def test_sketches_of_other_hashes_or_shape_do_not_merge(other: CostSketch) -> None:
    with pytest.raises(InvalidParameterError, match="equal epsilon, delta and seed"):
        CostSketch().merge(other)


def test_a_snapshot_is_the_mean_cost_of_each_cell() -> None:
    sketch = sketch_of([(1, 4.0), (1, 6.0), (2, 3.0)])
    snapshot, counts = sketch.snapshot(), sketch.counts
    assert np.isnan(snapshot[counts == 0]).all()
    assert snapshot[counts > 0] == pytest.approx(
        (sketch.costs / np.where(counts, counts, 1))[counts > 0]
    )


def test_unchanged_costs_are_stable_and_new_keys_are_no_change() -> None:
    sketch = sketch_of([(1, 4.0), (2, 8.0)], epsilon=0.001)
    before = sketch.snapshot()
    sketch.update_many([1, 2, 2], [4.0, 8.0, 8.0])
    assert is_stable(_cells(sketch), before, 0.0, sketch.columns)
    sketch.update(3, 100.0)  # 2,718 columns: the three keys do not meet
    assert is_stable(_cells(sketch), before, 0.0, sketch.columns)


def test_the_tolerance_is_a_share_of_the_summed_means() -> None:
    sketch = sketch_of([(1, 10.0)])
    before = sketch.snapshot()
    sketch.update(1, 12.0)  # the mean moves from 10 to 11, by a tenth
    assert not is_stable(_cells(sketch), before, 0.0999, sketch.columns)
    assert is_stable(_cells(sketch), before, 0.1001, sketch.columns)


def _cells(sketch: CostSketch) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.stack([sketch.counts, sketch.costs], axis=-1)


def test_a_pickled_sketch_estimates_alike() -> None:
    sketch = sketch_of([(1, 4.0), (2, 8.0)])
    copy = pickle.loads(pickle.dumps(sketch))
    assert copy.estimate_many([1, 2, 3]).tolist() == sketch.estimate_many([1, 2, 3]).tolist()


def test_costs_must_match_the_keys() -> None:
    with pytest.raises(InvalidParameterError, match="CostSketch: costs must be one number per key"):
        CostSketch().update_many([1, 2], [1.0])


def expected_ratio(cost: float, total: float, keys: int, columns: int) -> float:
    """Theorem 4.3: the expectation of W/F of a key, all keys being equally frequent."""
    others = (total - cost) / (keys - 1)
    alone = columns * (total - keys * cost) / (keys * (keys - 1)) * (1 - (1 - 1 / columns) ** keys)
    return others - alone


def test_the_mean_ratio_is_that_of_theorem_4_3() -> None:
    keys, columns, values = 4096, 55, 64
    costs = np.repeat(np.arange(1.0, values + 1), keys // values)
    expected = np.array(
        [expected_ratio(cost, costs.sum(), keys, columns) for cost in range(1, values + 1)]
    )
    assert (round(expected.min(), 2), round(expected.max(), 2)) == (32.08, 32.92)

    trials = np.array([_mean_by_cost(keys, columns, costs, seed) for seed in range(300)])
    error = trials.std(axis=0, ddof=1) / math.sqrt(len(trials))
    assert np.all(np.abs(trials.mean(axis=0) - expected) < 5 * error)
    assert error.max() < 0.1  # small beside the width of the interval
    assert 32.08 < trials.mean() < 32.92


def _mean_by_cost(
    keys: int, columns: int, costs: np.ndarray[tuple[int, ...], np.dtype[np.float64]], seed: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    sketch = CostSketch(epsilon=math.e / columns, delta=0.5, seed=seed)  # one row, as the theorem
    assert sketch.counts.shape == (1, columns)
    sketch.update_many(np.arange(keys), costs)
    means: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = (
        sketch.estimate_many(np.arange(keys)).reshape(64, -1).mean(axis=1)
    )
    return means
