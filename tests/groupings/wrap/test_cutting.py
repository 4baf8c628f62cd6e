import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.groupings.wrap.pieces import chain_rooms
from unskew.scheduling import wrap_around


@given(
    st.lists(st.floats(0.01, 100.0), min_size=1, max_size=20),
    st.integers(1, 40),
)
def test_every_key_is_cut_and_no_two_cuts_lie_far_apart(loads: list[float], more: int) -> None:
    amounts = -np.sort(-np.array(loads))
    workers = amounts.size + more
    rooms = chain_rooms(amounts, workers)
    assert rooms.size == workers
    assert rooms.sum() == pytest.approx(amounts.sum())
    pieces = wrap_around(amounts, rooms)
    counts = np.diff(pieces.starts)
    assert counts.min() >= 2
    assert pieces.workers.size - amounts.size == workers - 1
    # Highest averages: no worker has more than the largest key over its cuts.
    assert rooms.max() <= (amounts / (counts - 1)).max() * (1 + 1e-9)
