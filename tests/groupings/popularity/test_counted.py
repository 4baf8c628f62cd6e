import math
from typing import Any

import numpy as np
import pytest

from unskew.errors import InvalidParameterError
from unskew.groupings.popularity import CountedPopularity, Popularity


@pytest.mark.parametrize("frequency", [0.3, 0.1, 0.02])
def test_a_key_that_cools_is_hashed_again_after_the_documented_micro_batches(
    frequency: float,
) -> None:
    rng = np.random.default_rng(1)
    grouping = CountedPopularity(8, frequency=frequency)
    for _ in range(10):
        others = rng.integers(10, 10**9, 20_000)
        grouping.learn(np.where(rng.random(others.size) < 0.5, 7, others)).build()
    batches = 0
    while 7 in grouping.plan.hot_ids:
        grouping.learn(rng.integers(10, 10**9, 20_000)).build()
        batches += 1
    assert batches == math.ceil(math.log2(0.5 / frequency))


def test_the_default_threshold_is_that_of_popularity() -> None:
    keys = np.repeat(np.arange(100), np.arange(100))
    plan = CountedPopularity(4).learn(keys).build().plan
    assert plan.hot_ids.size == np.count_nonzero(np.arange(100) >= keys.size / 80)
    assert Popularity(4).threshold == 1 / 80


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"workers": 0}, "workers"),
        ({"frequency": 0.0}, "frequency"),
        ({"frequency": 2}, "frequency"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameterError) as error:
        CountedPopularity(**{"workers": 4, **parameters})
    assert error.value.parameter == named


@pytest.mark.parametrize("ignored", ["threshold_bits", "vector_bits", "adaptive", "interval"])
def test_it_takes_no_parameters_of_the_predictor(ignored: str) -> None:
    with pytest.raises(TypeError, match=ignored):
        CountedPopularity(4, **{ignored: 3})
