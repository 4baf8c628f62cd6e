import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.groupings.plan import slots_of
from unskew.hashing import derive_seeds
from unskew.sketches.hash_cells import HashCells

MEMBER = derive_seeds(1, 3, purpose="test")
NO_WEIGHTS = np.empty(0)

some_keys = st.lists(st.integers(0, 40), min_size=1, max_size=200)


def cells_of(keys: list[int], n_cells: int = 8) -> HashCells:
    """Return cells that have seen one row of each."""
    cells = HashCells(n_cells, MEMBER)
    cells.update_many(np.array(keys, np.uint64), NO_WEIGHTS)
    return cells


@settings(deadline=None)
@given(some_keys)
def test_loads_are_exact_and_a_main_key_has_at_most_what_is_said(keys: list[int]) -> None:
    cells = cells_of(keys)
    places = slots_of(np.array(keys, np.uint64), MEMBER, 8)
    assert np.array_equal(cells.loads, np.bincount(places, minlength=8))
    for key, cell, most in zip(*cells.main_keys(), strict=True):
        true = keys.count(int(key))
        votes = 2 * most - cells.loads[cell]
        assert votes <= true <= most
        if len({k for k, place in zip(keys, places, strict=True) if place == cell}) == 1:
            assert true == most


@settings(deadline=None)
@given(some_keys)
def test_a_key_of_more_than_three_quarters_of_a_cell_is_found(keys: list[int]) -> None:
    found = set(cells_of(keys).main_keys()[0].tolist())
    places = slots_of(np.array(keys, np.uint64), MEMBER, 8).tolist()
    for key in set(keys):
        there = places.count(places[keys.index(key)])
        if keys.count(key) > 0.75 * there:
            assert key in found


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_keys_seen_once_is_what_leaving_out_each_row_takes_from_the_keys(keys: list[int]) -> None:
    cells = cells_of(keys)
    fallen = np.zeros(8)
    for left_out in range(len(keys)):
        fallen += cells.keys() - cells_of(keys[:left_out] + keys[left_out + 1 :]).keys()
    np.testing.assert_allclose(cells.keys_seen_once(), fallen, atol=1e-9)


def test_distinct_keys_are_counted_within_what_is_promised() -> None:
    for keys, deviation in ((10, 0.8), (100, 10.0)):
        cells = cells_of(list(range(keys * 2_000)), n_cells=2_000)
        true = np.bincount(slots_of(np.arange(keys * 2_000, dtype=np.uint64), MEMBER, 2_000))
        assert np.sqrt(((cells.keys() - true) ** 2).mean()) <= 1.25 * deviation


def test_what_fades_keeps_its_main_keys_and_counts_distinct_keys_anew() -> None:
    cells = cells_of([7] * 8)
    cells.fade(0.5)
    ids, _, loads = cells.main_keys()
    assert (ids.tolist(), loads.tolist(), cells.keys().sum()) == ([7], [4.0], 0.0)
    twin = cells.copy()
    twin.update_many(np.array([7], np.uint64), np.array([3.0]))
    assert (twin.loads.sum(), cells.loads.sum()) == (7.0, 4.0)
