import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew import metrics
from unskew.errors import InvalidParameterError

loads = st.lists(st.integers(0, 10**9), min_size=1, max_size=50)


@given(loads)
def test_imbalance_is_never_negative_and_zero_only_for_equal_loads(values: list[int]) -> None:
    assert metrics.imbalance(values) >= -1e-6
    assert (metrics.imbalance_percent(values) < 1e-9) == (max(values) * len(values) == sum(values))


@given(loads, st.integers(1, 1000))
def test_imbalance_percent_does_not_depend_on_the_unit(values: list[int], unit: int) -> None:
    scaled = metrics.imbalance_percent([value * unit for value in values])
    assert scaled == pytest.approx(metrics.imbalance_percent(values), abs=1e-6)


def test_everything_on_one_of_ten_workers_wastes_nine_of_them() -> None:
    assert metrics.imbalance_percent([100] + [0] * 9) == pytest.approx(900)


@given(loads)
def test_stddev_of_percent_is_stddev_of_shares(values: list[int]) -> None:
    if sum(values):
        shares = 100 * np.array(values) / sum(values)
        assert metrics.stddev_of_percent(values) == pytest.approx(metrics.stddev(shares))


def test_no_loads_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="loads must be one number per worker"):
        metrics.stddev([])
