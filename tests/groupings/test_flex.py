"""FlexSP: β of the keys and no others are split, and they even out the loads."""

import numpy as np
import pytest

from unskew import Flex, KeyGrouping, simulate, zipf
from unskew.errors import InvalidParameterError


@pytest.mark.parametrize("beta", [0.01, 0.05])
def test_no_more_than_beta_of_the_keys_are_split_where_it_is_known_which_are_hot(
    beta: float,
) -> None:
    # Key k comes 1,000 / k times in every round: the hottest are the first ones, always.
    round_ = np.concatenate([np.full(1_000 // key, key) for key in range(1, 1_001)])
    keys = np.random.default_rng(0).permuted(np.tile(round_, 20))
    grouping = Flex(10, beta=beta)
    workers = grouping.route_many(keys)
    moved = [key for key in range(1, 1_001) if len(set(workers[keys == key].tolist())) > 1]
    split = [key for key in range(1, 1_001) if len(grouping.candidates(key)) > 1]
    assert set(moved) <= set(split)
    # Keys at the limit change places with their neighbours.
    assert len(moved) <= 1.5 * beta * 1_000
    assert set(range(1, 1 + int(0.8 * beta * 1_000))) <= set(split)


def test_nothing_is_split_before_a_thousand_rows_are_seen() -> None:
    assert len(set(Flex(10).route_many(["hot"] * 1_000).tolist())) == 1


@pytest.mark.parametrize("exponent", [0.8, 1.1, 1.4])
def test_it_is_far_more_even_than_hashing_at_few_copies(exponent: float) -> None:
    stream = zipf(keys=20_000, exponent=exponent, rows=300_000, seed=2)
    flex, plain = simulate(Flex(20), stream), simulate(KeyGrouping(20), stream)
    assert flex.imbalance_percent < 0.2 * plain.imbalance_percent
    assert flex.replication < 1.15


def test_a_number_of_choices_is_kept() -> None:
    grouping = Flex(10, choices=3)
    assert len(set(grouping.route_many(["hot"] * 20_000).tolist())) == 3


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_beta_lies_between_zero_and_one(beta: float) -> None:
    with pytest.raises(InvalidParameterError, match="beta must be a number in"):
        Flex(4, beta=beta)
