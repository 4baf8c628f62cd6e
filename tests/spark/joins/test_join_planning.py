import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.spark.joins.planning import (
    FINE_SLOTS,
    Copying,
    Counts,
    Layout,
    copying_for,
    hashed_loads,
    lay_out,
    rows_out,
)

HOWS = ("inner", "left", "right", "full", "semi", "anti")
amounts = st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 2_000)), min_size=1, max_size=30)


def counted(pairs: list[tuple[int, int]], cold: int = 0) -> Counts:
    """Keys with so many rows on either side, and cold ones: one row on either side, in slots."""
    rng = np.random.default_rng(5)
    ids = rng.integers(0, 1 << 63, len(pairs)).astype(np.uint64) << np.uint64(1)
    left, right = (np.array(side, float) for side in zip(*pairs, strict=True))
    slots = np.bincount(rng.integers(0, FINE_SLOTS, cold), minlength=FINE_SLOTS).astype(float)
    return Counts(ids, left, right, slots, slots, slots)


def planned(counts: Counts, workers: int, how: str = "inner", nulls: float = 0.0) -> Layout:
    return lay_out(counts, how, workers, copying_for(how, free=True), nulls)[0]


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=25)
@given(pairs=amounts, workers=st.integers(1, 20), nulls=st.integers(0, 5_000))
def test_all_work_is_placed_and_each_cell_of_a_key_has_a_worker_of_its_own(
    how: str, pairs: list[tuple[int, int]], workers: int, nulls: int
) -> None:
    counts = counted(pairs, cold=100)
    work = counts.left + counts.right + rows_out(how, counts.left, counts.right)
    for layout in lay_out(counts, how, workers, copying_for(how, free=True), float(nulls)):
        assert layout.loads.sum() == pytest.approx(work.sum() + 300 + nulls + layout.copies)
        assert hashed_loads(counts, how, workers, nulls).sum() == pytest.approx(
            work.sum() + 300 + nulls
        )
        assert 0 <= layout.slot_workers.min() <= layout.slot_workers.max() < workers
        assert layout.null_shares.sum() == pytest.approx(1.0)
        cell = left = right = 0
        for high, wide in zip(layout.grid_rows, layout.grid_columns, strict=True):
            places = layout.cell_workers[cell : cell + high * wide]
            assert len(set(places.tolist())) == high * wide
            assert layout.left_shares[left : left + high].sum() == pytest.approx(1.0)
            assert layout.right_shares[right : right + wide].sum() == pytest.approx(1.0)
            cell, left, right = cell + high * wide, left + high, right + wide
        assert cell == layout.cell_workers.size == layout.cell_loads.size


@settings(max_examples=25)
@given(pairs=amounts, workers=st.integers(1, 20), how=st.sampled_from(HOWS))
def test_a_side_that_may_not_be_copied_is_not(
    pairs: list[tuple[int, int]], workers: int, how: str
) -> None:
    counts = counted(pairs)
    assert lay_out(counts, how, workers, Copying(False, False), 0.0)[0].copies == 0
    only_right = lay_out(counts, how, workers, Copying(False, True), 0.0)[0]
    assert np.all(only_right.grid_columns == 1)
    only_left = lay_out(counts, how, workers, Copying(True, False), 0.0)[0]
    assert np.all(only_left.grid_rows == 1)


def test_one_hot_side_is_cut_and_the_other_copied() -> None:
    layout = planned(counted([(100_000, 2), (3, 40_000)], cold=60_000), 8)
    assert layout.grid_rows.tolist()[0] > 1
    assert layout.grid_columns.tolist() == [1, 1] or layout.grid_columns[1] > 1
    assert layout.loads.max() < 1.02 * layout.loads.mean()
    # Two rows for each piece beyond the first, and three.
    assert layout.copies <= 2 * 8 + 3 * 8


def test_where_both_sides_are_hot_the_key_becomes_a_grid() -> None:
    layout = planned(counted([(8_000, 8_000)], cold=1_000), 64)
    assert (layout.grid_rows[0], layout.grid_columns[0]) == (8, 8)
    # Cut on one side alone, 63 pieces would get copies of 8,000 rows each.
    assert layout.copies == 2 * 7 * 8_000
    assert layout.loads.max() < 1.02 * layout.loads.mean()


def test_a_key_that_brings_nothing_stays_whole() -> None:
    even = planned(counted([(100, 1)] * 64, cold=10_000), 8)
    assert even.copies == 0
    # Each piece of a semi join would need all 1,000 rows of the right side again.
    whole = planned(counted([(400, 1_000)]), 4, "semi")
    assert (whole.grid_rows.tolist(), whole.grid_columns.tolist()) == ([1], [1])


def test_null_keys_fill_what_room_there_is() -> None:
    layout = planned(counted([(500, 1)]), 4, "anti", nulls=9_000.0)
    assert layout.loads.max() == pytest.approx(layout.loads.mean(), rel=0.01)


@pytest.mark.parametrize("how", HOWS)
def test_rows_out_is_what_a_join_written_out_gives(how: str) -> None:
    for left in range(4):
        for right in range(4):
            pairs = left * right
            expected = {
                "inner": pairs,
                "left": pairs or left,
                "right": pairs or right,
                "full": pairs or left + right,
                "semi": left if right else 0,
                "anti": 0 if right else left,
            }[how]
            found = rows_out(how, np.array([float(left)]), np.array([float(right)]))
            assert found.tolist() == [expected]
