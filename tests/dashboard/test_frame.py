import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.dashboard.frame import MOST_BARS, worker_view

loads = st.lists(st.integers(0, 10**9), min_size=1, max_size=500)


@given(loads)
def test_every_worker_is_in_a_cell_and_no_peak_is_lost(numbers: list[int]) -> None:
    view = worker_view(numbers)
    assert view is not None
    size = view["per_cell"]
    cells = [numbers[begin : begin + size] for begin in range(0, len(numbers), size)]
    assert len(cells) <= MOST_BARS
    assert view["values"] == [max(cell) for cell in cells]
    if size > 1:
        means = [sum(cell) / len(cell) for cell in cells]
        assert view["cell_means"] == pytest.approx(means, abs=1e-6)


@given(loads)
def test_mean_and_quantiles_are_of_all_workers(numbers: list[int]) -> None:
    view = worker_view(numbers)
    assert view is not None
    assert view["mean"] == pytest.approx(sum(numbers) / len(numbers))
    assert (view["quantiles"][0], view["quantiles"][-1]) == (min(numbers), max(numbers))
    assert view["quantiles"][3] == pytest.approx(np.median(numbers))


def test_predictions_stand_beside_bars_but_not_beside_cells() -> None:
    few, many = worker_view([1, 2], [1.5, 1.5]), worker_view([1] * 65, [1.0] * 65)
    assert few is not None
    assert many is not None
    assert few["predicted"] == [1.5, 1.5]
    assert many["predicted"] is None


def test_nothing_known_is_nothing_drawn() -> None:
    assert worker_view(None) is None
    assert worker_view(()) is None
