"""Layouts that cut a key only where a worker is full."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.groupings.plan import Plan, refuse_inconsistent
from unskew.groupings.whole_first import KeyLoads, even_layout, sized_layout

counts = st.lists(st.integers(0, 10_000), max_size=40)


def keys_of(loads: list[int], slots: list[int]) -> KeyLoads:
    ids = np.arange(len(loads), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return KeyLoads(ids, np.array(loads, float), np.array(slots or [0], float))


def check(plan: Plan, keys: KeyLoads) -> None:
    """Every key has its load, on workers that differ; what is predicted is what was placed."""
    refuse_inconsistent(plan)
    assert plan.predicted_loads.sum() == pytest.approx(keys.loads.sum() + keys.slot_loads.sum())
    for key, load in enumerate(keys.loads):
        own = slice(plan.pieces.starts[key], plan.pieces.starts[key + 1])
        assert plan.pieces.loads[own].sum() == pytest.approx(load)
        workers = plan.pieces.workers[own].tolist()
        assert len(set(workers)) == len(workers)


@given(counts, counts, st.integers(1, 12))
def test_an_even_layout_cuts_at_most_workers_minus_one_times_and_only_slots_make_it_uneven(
    loads: list[int], slots: list[int], workers: int
) -> None:
    keys = keys_of(loads, slots)
    plan = even_layout(keys, workers, tolerance=0.01)
    check(plan, keys)
    assert plan.extra_pieces <= workers - 1
    mean = plan.predicted_loads.mean()
    assert plan.predicted_loads.max() <= 1.01 * mean + keys.slot_loads.max() + 1e-6


@given(counts, counts, st.integers(1, 5_000))
def test_a_sized_layout_cuts_only_what_is_larger_and_gives_no_worker_more_than_a_tenth_too_much(
    loads: list[int], slots: list[int], size: int
) -> None:
    keys = keys_of(loads, slots)
    plan = sized_layout(keys, float(size), tolerance=0.1)
    check(plan, keys)
    pieces = np.diff(plan.pieces.starts)
    assert (pieces[keys.loads <= 1.1 * size] == 1).all()
    assert (pieces <= np.maximum(1, np.ceil(keys.loads / size))).all()
    assert plan.predicted_loads.max() <= max(1.1 * size, keys.slot_loads.max()) * (1 + 1e-9)


def test_no_key_is_cut_where_all_fit() -> None:
    plan = even_layout(keys_of([5] * 8, []), 4, tolerance=0.0)
    assert plan.extra_pieces == 0
    assert plan.predicted_loads.tolist() == [10.0] * 4


def test_a_key_with_everything_fills_all_workers() -> None:
    plan = even_layout(keys_of([100], []), 8, tolerance=0.01)
    assert plan.pieces.loads.tolist() == [12.5] * 8
