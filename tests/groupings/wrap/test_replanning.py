import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.groupings.plan import HASHED_MEMBER, Plan
from unskew.groupings.wrap.replanning import Cut, Flow, joined, repour, settle
from unskew.scheduling import Pieces, pour_anew, rooms_for, sums_of

some_loads = st.lists(st.floats(0, 100), min_size=1, max_size=30)
pieces_of_items = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.floats(0.1, 50)), min_size=1, max_size=4),
    min_size=1,
    max_size=8,
)


def pieces_from(items: list[list[tuple[int, float]]]) -> Pieces:
    """Write out the pieces of all items one after the other."""
    starts = np.cumsum([0, *(len(item) for item in items)])
    workers = np.array([worker for item in items for worker, _ in item], np.int32)
    return Pieces(starts, workers, np.array([load for item in items for _, load in item]))


def plan_with(ids: list[int], pieces: Pieces) -> Plan:
    """Return a plan for six workers that has these hot keys."""
    return Plan(
        workers=6,
        slot_member=HASHED_MEMBER,
        slot_workers=np.zeros(1, np.int32),
        hot_ids=np.array(ids, np.uint64),
        pieces=pieces,
        predicted_loads=np.zeros(6),
    )


@settings(deadline=None)
@given(some_loads, st.lists(st.floats(0.5, 3), min_size=1, max_size=6), st.floats(0, 100))
def test_rooms_hold_exactly_what_flows_and_end_level(
    placed: list[float], capacity: list[float], flowing: float
) -> None:
    placed = (placed * len(capacity))[: len(capacity)]
    rooms = rooms_for(flowing, placed, capacity)
    assert rooms.sum() == pytest.approx(flowing, abs=1e-6)
    levels = (np.array(placed) + rooms) / np.array(capacity)
    used = rooms > 1e-9
    if used.any():
        assert np.allclose(levels[used], levels[used].max())
        assert np.all(levels[~used] >= levels[used].max() - 1e-6)


@settings(deadline=None)
@given(pieces_of_items, some_loads)
def test_pouring_anew_loses_nothing_and_never_raises_the_largest(
    items: list[list[tuple[int, float]]], others: list[float]
) -> None:
    pieces = pieces_from([list(dict(item).items()) for item in items])
    before = pieces.loads.copy()
    levels = np.resize(others, 6) + sums_of(pieces.loads, pieces.workers, 6)
    largest = levels.max()
    pour_anew(pieces, np.ones(6), levels, 20)
    for first, end in zip(pieces.starts[:-1], pieces.starts[1:], strict=True):
        assert pieces.loads[first:end].sum() == pytest.approx(before[first:end].sum())
    assert levels.max() <= largest + 1e-6
    assert np.allclose(levels, np.resize(others, 6) + sums_of(pieces.loads, pieces.workers, 6))


@settings(deadline=None)
@given(some_loads, st.integers(1, 6), st.integers(0, 99), st.floats(0, 50))
def test_settling_never_makes_the_fullest_fuller_and_moves_nothing_within_the_slack(
    loads: list[float], workers: int, seed: int, slack: float
) -> None:
    amounts = np.array(loads)
    places = np.random.default_rng(seed).integers(0, workers, amounts.size).astype(np.int32)
    room = amounts.sum() / workers
    settled = settle(amounts, places, np.ones(workers), rooms=np.full(workers, room), slack=slack)
    before = sums_of(amounts, places, workers)
    assert sums_of(amounts, settled, workers).max() <= before.max() + 1e-6
    if before.max() <= room + slack:
        assert np.array_equal(settled, places)


def test_what_a_worker_lacks_is_room_and_the_emptiest_gets_what_another_has_too_much() -> None:
    loads, places = np.array([4.0, 4.0, 4.0, 4.0]), np.array([0, 0, 0, 1], np.int32)
    lacking = settle(loads, places, np.ones(3), rooms=np.array([12.0, 6.0, 6.0]), slack=1.0)
    assert lacking.tolist() == [0, 0, 0, 1]
    crowded = settle(loads, places, np.ones(3), rooms=np.array([6.0, 11.0, 6.0]), slack=1.0)
    assert crowded.tolist() == [1, 0, 0, 1]  # worker 1 has 7 to go, worker 2 has 6


@settings(deadline=None)
@given(pieces_of_items, st.data())
def test_joining_gives_one_piece_an_item_and_worker_and_loses_nothing(
    items: list[list[tuple[int, float]]], data: st.DataObject
) -> None:
    raw = pieces_from(items)
    owners = np.repeat(np.arange(len(items)), np.diff(raw.starts))
    smallest = data.draw(st.floats(0, 60))
    most = data.draw(st.none() | st.integers(1, 3))
    pieces = joined(Cut(owners, raw.workers, raw.loads), len(items), smallest=smallest, most=most)
    counts = np.diff(pieces.starts)
    assert counts.min() >= 1
    assert counts.max() <= (most or 6)
    for item, (first, end) in enumerate(zip(pieces.starts[:-1], pieces.starts[1:], strict=True)):
        assert len(set(pieces.workers[first:end].tolist())) == end - first
        assert pieces.loads[first:end].sum() == pytest.approx(raw.loads[owners == item].sum())


def test_keys_stay_where_they_are_while_that_is_even_enough() -> None:
    old = plan_with([7, 9], pieces_from([[(0, 5.0), (1, 5.0)], [(2, 5.0)]]))
    flow = Flow(np.array([9, 7], np.uint64), np.array([6.0, 9.0]))
    cut = repour(flow, old, np.array([0, 0, 0, 5.0, 5.0, 5.0]), np.ones(6), slack=np.full(6, 2.0))
    assert sorted(zip(cut.owners.tolist(), cut.workers.tolist(), strict=True)) == [
        (0, 2),
        (1, 0),
        (1, 1),
    ]


def test_only_what_is_too_much_is_laid_into_the_gaps() -> None:
    old = plan_with([7], pieces_from([[(0, 5.0), (1, 5.0)]]))
    flow = Flow(np.array([7], np.uint64), np.array([20.0]))
    cut = repour(flow, old, np.array([0, 0, 0, 6.0, 6.0, 6.0]), np.ones(6), slack=np.full(6, 0.5))
    pieces = joined(cut, 1)
    level = 38 / 6
    assert set(pieces.workers[pieces.loads > 0.4].tolist()) >= {0, 1, 2}
    assert sums_of(pieces.loads, pieces.workers, 6).max() <= level + 0.5
    assert pieces.loads.sum() == pytest.approx(20)
