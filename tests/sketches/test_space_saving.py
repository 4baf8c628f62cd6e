"""The laws of SpaceSaving, against exact counts and against DataSketches."""

import pickle
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.hashing import identity
from unskew.sketches.space_saving import SpaceSaving

capacities = st.integers(1, 12)
streams = st.lists(st.integers(0, 25), max_size=300)
# Multiples of 1/8 add up without rounding, so that every bound can be checked exactly.
weights = st.integers(0, 80).map(lambda eighths: eighths / 8)
weighted_streams = st.lists(st.tuples(st.integers(0, 25), weights), max_size=300)
# Once all rows weigh one the sketch works in another way than with weights, and may change over.
mixed_streams = st.tuples(streams, weighted_streams).map(
    lambda parts: [(key, 1.0) for key in parts[0]] + parts[1]
)


def sketch_of(capacity: int, rows: list[tuple[int, float]]) -> SpaceSaving:
    sketch = SpaceSaving(capacity)
    for key, weight in rows:
        sketch.update(key, weight)
    return sketch


def exact(rows: list[tuple[int, float]]) -> dict[int, float]:
    sums: dict[int, float] = defaultdict(float)
    for key, weight in rows:
        sums[key] += weight
    return sums


def check_bounds(sketch: SpaceSaving, true: Mapping[int, float]) -> None:
    allowed = sketch.total / sketch.capacity
    assert sketch.total == sum(true.values())
    for key in range(27):
        weight = true.get(key, 0)
        assert weight <= sketch.estimate(key) <= weight + sketch.error(key)
        assert 0 <= sketch.error(key) <= allowed
        assert sketch.estimate(key) - sketch.error(key) <= weight
        assert key in sketch or weight <= allowed
    assert len(sketch) <= sketch.capacity


@given(capacities, streams)
@settings(deadline=None)
def test_bounds_hold_for_rows_that_weigh_one(capacity: int, keys: list[int]) -> None:
    sketch = SpaceSaving(capacity)
    sketch.update_many(np.array(keys, np.int64))
    check_bounds(sketch, Counter(keys))


@given(capacities, mixed_streams)
@settings(deadline=None)
def test_bounds_hold_for_weighted_rows(capacity: int, rows: list[tuple[int, float]]) -> None:
    check_bounds(sketch_of(capacity, rows), exact(rows))


@given(capacities, mixed_streams, mixed_streams, mixed_streams)
@settings(deadline=None, max_examples=50)
def test_bounds_hold_after_merges_and_for_rows_that_follow(
    capacity: int,
    first: list[tuple[int, float]],
    second: list[tuple[int, float]],
    third: list[tuple[int, float]],
) -> None:
    merged = sketch_of(capacity, first)
    merged.merge(sketch_of(capacity, second))
    check_bounds(merged, exact(first + second))
    for key, weight in third:
        merged.update(key, weight)
    merged.merge(sketch_of(capacity, first))
    check_bounds(merged, exact(first + second + third + first))


@given(capacities, streams)
@settings(deadline=None)
def test_counts_add_up_to_the_total_until_a_merge(capacity: int, keys: list[int]) -> None:
    sketch = SpaceSaving(capacity)
    sketch.update_many(np.array(keys, np.int64))
    assert sketch.items()[1].sum() == len(keys)


@given(capacities, streams, st.data())
@settings(deadline=None)
def test_one_by_one_in_pieces_and_at_once_are_the_same(
    capacity: int, keys: list[int], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(keys)))
    at_once, pieces, single = SpaceSaving(capacity), SpaceSaving(capacity), SpaceSaving(capacity)
    at_once.update_many(keys)
    pieces.update_many(keys[:cut])
    pieces = pickle.loads(pickle.dumps(pieces))
    pieces.update_many(keys[cut:])
    for key in keys:
        single.update(key)
    for other in (pieces, single):
        for ours, theirs in zip(at_once.items(), other.items(), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@given(capacities, weighted_streams)
@settings(deadline=None)
def test_items_stand_heaviest_first_and_agree_with_the_single_answers(
    capacity: int, rows: list[tuple[int, float]]
) -> None:
    sketch = sketch_of(capacity, rows)
    ids, counts, errors = sketch.items()
    assert sorted(zip(-counts, ids, strict=True)) == list(zip(-counts, ids, strict=True))
    assert counts.tolist() == [sketch.estimate(int(key)) for key in ids]
    assert errors.tolist() == [sketch.error(int(key)) for key in ids]


@given(st.integers(2, 12), streams.filter(bool), st.floats(0, 1))
@settings(deadline=None)
def test_no_heavy_hitter_is_missing(capacity: int, keys: list[int], extra: float) -> None:
    share = 1 / capacity + extra * (1 - 1 / capacity)
    sketch = SpaceSaving(capacity)
    sketch.update_many(keys)
    ids, counts = sketch.heavy_hitters(share)
    wanted = {key for key, count in Counter(keys).items() if count > share * len(keys)}
    assert wanted <= set(ids.tolist())
    assert np.all(counts >= share * len(keys))


@given(capacities, mixed_streams, st.sampled_from([0.0, 0.25, 0.5, 2.0]), mixed_streams)
@settings(deadline=None, max_examples=50)
def test_scaling_weighs_the_past_by_the_factor(
    capacity: int,
    past: list[tuple[int, float]],
    factor: float,
    present: list[tuple[int, float]],
) -> None:
    sketch = sketch_of(capacity, past)
    sketch.scale(factor)
    for key, weight in present:
        sketch.update(key, weight)
    check_bounds(sketch, exact([(key, weight * factor) for key, weight in past] + present))


def test_a_copy_goes_its_own_way() -> None:
    sketch = SpaceSaving(2)
    sketch.update_many(["a", "b"])
    twin = sketch.copy()
    twin.update_many(["a", "a"])
    assert (sketch.estimate("a"), twin.estimate("a"), sketch.total) == (1, 3, 2)


def test_many_keys_in_many_slots_keep_the_bounds() -> None:
    keys = np.random.default_rng(3).zipf(1.3, 200_000) % 20_000
    true = Counter(keys.tolist())
    for row_weights in (None, np.random.default_rng(4).integers(1, 9, keys.size) / 4):
        sketch = SpaceSaving(500)
        sketch.update_many(keys, row_weights)
        if row_weights is not None:
            sums = np.bincount(keys, row_weights)
            true = Counter({key: sums[key] for key in true})
        ids, counts, errors = sketch.items()
        exact_counts = np.array([true[int(key)] for key in ids])
        assert np.all(exact_counts <= counts)
        assert np.all(counts <= exact_counts + errors)
        assert np.all(errors <= sketch.total / 500)
        monitored = set(ids.tolist())
        assert all(key in monitored for key, w in true.items() if w > sketch.total / 500)


def test_text_keys_are_found_by_their_identity() -> None:
    sketch = SpaceSaving(4)
    sketch.update_many(["a", "b", "a"])
    assert sketch.items()[0].tolist()[0] == identity("a")
    assert "a" in sketch
    assert "c" not in sketch
    assert sketch.estimate("c") == 0


def test_datasketches_agrees_within_both_error_bounds() -> None:
    datasketches = pytest.importorskip("datasketches")
    keys = np.random.default_rng(5).zipf(1.2, 100_000) % 50_000
    sketch = SpaceSaving(300)
    sketch.update_many(keys)
    reference = datasketches.frequent_items_sketch(9)
    for key in keys.tolist():
        reference.update(key)
    assert reference.total_weight == sketch.total
    for key in sketch.items()[0][:50].tolist():
        assert sketch.estimate(key) - sketch.error(key) <= reference.get_upper_bound(key)
        assert reference.get_lower_bound(key) <= sketch.estimate(key)


@pytest.mark.parametrize("capacity", [0, -1, 2.5, True, "many"])
def test_a_bad_capacity_is_refused(capacity: Any) -> None:
    with pytest.raises(InvalidParameterError, match="SpaceSaving: capacity must be an int >= 1"):
        SpaceSaving(capacity)


@pytest.mark.parametrize("row_weights", [[1.0], [1.0, -1.0], [1.0, np.nan], [np.inf, 1.0]])
def test_bad_weights_are_refused_and_nothing_is_counted(row_weights: list[float]) -> None:
    sketch = SpaceSaving(2)
    with pytest.raises(InvalidParameterError, match="weights must be"):
        sketch.update_many([1, 2], row_weights)
    assert sketch.total == 0


def test_sketches_of_unlike_capacity_do_not_merge() -> None:
    with pytest.raises(InvalidParameterError, match="the same capacity"):
        SpaceSaving(2).merge(SpaceSaving(3))


@pytest.mark.parametrize("factor", [-1, np.nan])
def test_a_bad_factor_is_refused(factor: float) -> None:
    with pytest.raises(InvalidParameterError, match="factor must be a number >= 0"):
        SpaceSaving(2).scale(factor)
