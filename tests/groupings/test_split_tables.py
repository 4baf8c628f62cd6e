import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.groupings.spreading import positions_of, spread_planned

from unskew.groupings.plan import HASHED_MEMBER, slots_of
from unskew.groupings.split_tables import ROW_BITS, split_table
from unskew.groupings.wrap import Wrap
from unskew.hashing import Ids
from unskew.streams import zipf


def zipf_ids(exponent: float, rows: int) -> Ids:
    batches = zipf(keys=10_000, exponent=exponent, rows=rows, seed=1).batches()
    keys = np.concatenate([batch.keys for batch in batches])
    names: Ids = np.random.default_rng(1).integers(0, 1 << 63, 10_001).astype(np.uint64)
    ids: Ids = names[keys]
    return ids


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1), st.integers(1, 1 << 24))
@settings(deadline=None)
def test_the_slot_of_a_hash_is_its_upper_half_scaled(ids: list[int], n_slots: int) -> None:
    slots = slots_of(np.array(ids, np.uint64), HASHED_MEMBER, n_slots)
    assert slots.tolist() == [((value >> 32) * n_slots) >> 32 for value in ids]


@given(st.integers(0, (1 << 33) - 1), st.integers(0, (1 << 30) - 1))
def test_positions_are_32_bits_without_overflow(row: int, source: int) -> None:
    position = int(positions_of([(source << ROW_BITS) + row])[0])
    rows, sources = row % (1 << 31), source % (1 << 31)
    assert position == (rows * 1_640_531_527 + sources * 1_779_033_703) % (1 << 32)


@pytest.mark.parametrize("every", [1, 2, 3, 7, 64, 100, 1024])
@pytest.mark.parametrize("parts", [2, 3, 10])
def test_every_nth_row_alone_is_spread_evenly(every: int, parts: int) -> None:
    positions = positions_of(np.arange(0, 10_000 * every, every))
    counts = np.bincount((positions * parts) >> 32, minlength=parts)
    assert np.abs(counts - 10_000 / parts).max() <= 60


@pytest.mark.parametrize("workers", [2, 10, 100])
@pytest.mark.parametrize("exponent", [0.8, 1.4, 2.0])
def test_pieces_are_filled_in_proportion_to_their_planned_loads(
    workers: int, exponent: float
) -> None:
    plan = Wrap(workers, seed=1).learn(zipf_ids(exponent, 100_000)).build().plan
    table = split_table(plan)
    for key, (first, last) in enumerate(
        zip(plan.pieces.starts, plan.pieces.starts[1:], strict=False)
    ):
        start, size = table.starts[key], table.sizes[key]
        loads, places = plan.pieces.loads[first:last], plan.pieces.workers[first:last]
        counts = np.bincount(table.entries[start : start + size], minlength=workers)[places]
        assert counts.sum() == size
        assert np.abs(counts - size * loads / loads.sum()).max() < 1
        assert size >= 64 * (last - first) or last - first == 1 or np.all(loads == loads[0])


@pytest.mark.parametrize("workers", [2, 10, 50])
def test_spread_loads_are_even_where_the_plan_is_exact(workers: int) -> None:
    ids = zipf_ids(1.4, 1_000_000)
    plan = Wrap(workers, seed=1).learn(ids).build().plan
    numbers = np.arange(ids.size) % 250_000 + (np.arange(ids.size) // 250_000 << ROW_BITS)
    loads = np.bincount(spread_planned(ids, positions_of(numbers), plan), minlength=workers)
    assert loads.max() <= 1.04 * loads.mean()


def test_a_key_goes_only_to_its_own_workers() -> None:
    ids = zipf_ids(1.4, 20_000)
    grouping = Wrap(10, seed=1).learn(ids).build()
    workers = spread_planned(ids, positions_of(np.arange(ids.size)), grouping.plan)
    pairs = np.unique(np.stack([ids, workers.astype(np.uint64)], 1), axis=0)
    for key, worker in pairs.tolist():
        assert worker in grouping.candidates(key)


def test_the_plan_is_left_as_it_is() -> None:
    plan = Wrap(4, seed=1).learn([7] * 100 + list(range(100))).build().plan
    before = plan.slot_workers.copy()
    spread_planned(np.full(50, 7, np.uint64), positions_of(np.arange(50)), plan)
    np.testing.assert_array_equal(plan.slot_workers, before)
