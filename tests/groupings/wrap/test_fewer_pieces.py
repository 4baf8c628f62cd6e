import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.groupings.wrap.pieces import fewer_pieces, linked
from unskew.scheduling import Pieces, sums_of

_N_WORKERS = 6
pieces_of_items = st.lists(
    st.dictionaries(st.integers(0, _N_WORKERS - 1), st.floats(0, 50), min_size=1),
    min_size=1,
    max_size=8,
)


def pieces_from(items: list[dict[int, float]]) -> Pieces:
    """Write out the pieces of all items one after the other."""
    starts = np.cumsum([0, *(len(item) for item in items)])
    workers = np.array([worker for item in items for worker in item], np.int32)
    return Pieces(starts, workers, np.array([load for item in items for load in item.values()]))


def owners(pieces: Pieces) -> list[int]:
    """Return the item of every piece."""
    return [item for item, n in enumerate(np.diff(pieces.starts).tolist()) for _ in range(n)]


def pairs(pieces: Pieces) -> set[tuple[int, int]]:
    """Return every item with every worker that it is on."""
    return set(zip(owners(pieces), pieces.workers.tolist(), strict=True))


def reached_from_the_first(pieces: Pieces) -> set[int]:
    """Return the workers to which load can flow from the first item, however far it has to."""
    items, workers = {0}, set[int]()
    for _ in range(len(pieces.starts)):
        workers |= {worker for item, worker in pairs(pieces) if item in items}
        items |= {item for item, worker in pairs(pieces) if worker in workers}
    return workers


@settings(deadline=None)
@given(pieces_of_items)
def test_fewer_pieces_change_no_load_and_give_no_item_a_new_worker(
    items: list[dict[int, float]],
) -> None:
    before = pieces_from(items)
    after = fewer_pieces(before, _N_WORKERS)
    assert after.workers.size <= len(items) + _N_WORKERS - 1
    assert pairs(after) <= pairs(before)
    assert after.loads.min() >= 0
    for n, of_before, of_after in (
        (_N_WORKERS, before.workers, after.workers),
        (len(items), np.array(owners(before)), np.array(owners(after))),
    ):
        assert sums_of(after.loads, of_after, n) == pytest.approx(
            sums_of(before.loads, of_before, n), abs=1e-9
        )


@settings(deadline=None)
@given(pieces_of_items)
def test_linked_pieces_reach_all_workers_by_empty_pieces_of_the_largest_item(
    items: list[dict[int, float]],
) -> None:
    before = pieces_from(items)
    after = linked(before, _N_WORKERS)
    assert reached_from_the_first(after) == set(range(_N_WORKERS))
    new = pairs(after) - pairs(before)
    assert len({item for item, _ in new}) <= 1
    assert after.loads.sum() == pytest.approx(before.loads.sum())
    if len(reached_from_the_first(before)) == _N_WORKERS:
        assert not new


@settings(deadline=None)
@given(pieces_of_items)
def test_linked_and_then_fewer_they_still_reach_all(items: list[dict[int, float]]) -> None:
    pieces = fewer_pieces(linked(pieces_from(items), _N_WORKERS), _N_WORKERS)
    assert reached_from_the_first(pieces) == set(range(_N_WORKERS))
    assert pieces.workers.size <= len(items) + _N_WORKERS - 1


def test_nothing_that_flows_stays_nothing() -> None:
    nothing = Pieces(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))
    assert linked(nothing, 3).workers.size == 0
    assert fewer_pieces(nothing, 3).workers.size == 0
