"""Prompt: blocks of one size, and a key is cut only where it has to be."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew import Prompt, simulate, zipf


def batch(seed: int, exponent: float = 1.3) -> NDArray[np.int64]:
    return np.random.default_rng(seed).zipf(exponent, 50_000) % 20_000


def test_a_large_key_is_in_pieces_that_make_up_its_rows() -> None:
    keys = batch(1)
    plan = Prompt(8).learn(keys).build().plan
    for at, key_id in enumerate(plan.hot_ids[:20]):
        pieces = slice(plan.pieces.starts[at], plan.pieces.starts[at + 1])
        true = np.count_nonzero(keys == np.int64(key_id))
        assert plan.pieces.loads[pieces].sum() == true
        assert len(set(plan.pieces.workers[pieces].tolist())) == pieces.stop - pieces.start


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    workers=st.integers(1, 16),
    exponent=st.sampled_from([1.1, 1.5, 2.5]),
)
def test_blocks_are_of_one_size_where_a_large_key_can_fill_the_gaps(
    seed: int, workers: int, exponent: float
) -> None:
    plan = Prompt(workers).learn(batch(seed, exponent)).build().plan
    size = plan.predicted_loads.sum() / workers
    assert plan.predicted_loads.max() <= size * (1 + 1e-6) + 1


def test_few_keys_are_in_more_than_two_places() -> None:
    """A large key leaves a piece in one block and the rest in another; few are cut further."""
    plan = Prompt(8).learn(batch(2)).build().plan
    places = np.diff(plan.pieces.starts)
    assert np.count_nonzero(places > 2) <= 8


def test_each_plan_is_made_of_the_rows_since_the_last_one() -> None:
    grouping = Prompt(4).learn(np.full(9_000, 7)).build()
    plan = grouping.learn(batch(3)).build().plan
    other = Prompt(4).learn(batch(3)).build().plan
    assert plan.predicted_loads.tolist() == other.predicted_loads.tolist()


def test_a_stream_that_goes_on_alike_is_even() -> None:
    result = simulate(Prompt(10), zipf(keys=10_000, exponent=1.2, rows=500_000, seed=1))
    assert result.imbalance_percent < 3


def test_a_first_plan_from_nothing_places_all_keys() -> None:
    assert set(Prompt(4).build().route_many(range(1_000)).tolist()) == {0, 1, 2, 3}
