"""Auto: hashing where that is even, a plan where it is not, and never a worker far ahead."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.groupings.auto import Auto
from unskew.groupings.key import KeyGrouping
from unskew.groupings.registry import make_grouping
from unskew.simulator.loads import simulate
from unskew.streams import Stream, countries_half, drift, lognormal, uniform, zipf

MESSAGES = 300_000
STREAMS = [
    zipf(exponent=0.1, rows=MESSAGES, seed=1),
    zipf(exponent=0.8, rows=MESSAGES, seed=1),
    zipf(exponent=1.4, rows=MESSAGES, seed=1),
    zipf(exponent=2.0, rows=MESSAGES, seed=1),
    lognormal("LN1", rows=MESSAGES, seed=1),
    lognormal("LN2", rows=MESSAGES, seed=1),
    drift(every=30_000, rows=MESSAGES, seed=1),
    countries_half(rows=MESSAGES, seed=1),
]
RIVALS = ("shuffle", "partial-key", "w-choices", "wrap", "popularity")


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.spec)
def test_auto_is_nearly_as_fast_as_the_best_and_never_slower_than_hashing(stream: Stream) -> None:
    for workers in (5, 50, 200):
        times = {
            name: 1 + simulate(
                make_grouping(name, workers, seed=1), stream, sources=5, learn=0.2
            ).imbalance_percent / 100
            for name in ("auto", "key", *RIVALS)
        }  # fmt: skip
        assert times["auto"] <= 1.05 * min(times.values())
        assert times["auto"] <= 1.02 * times["key"]


def test_keys_without_skew_are_hashed_at_no_cost() -> None:
    stream = uniform(keys=200_000, rows=MESSAGES, seed=1)
    found = simulate(Auto(5, seed=1), stream, learn=0.2)
    plain = simulate(KeyGrouping(5, seed=1), stream, learn=0.2)
    assert found.why.startswith("key: ")
    assert (found.loads, found.replication) == (plain.loads, 1.0)


def test_skewed_keys_are_laid_out_and_few_are_split() -> None:
    found = simulate(Auto(20, seed=1), zipf(exponent=1.4, rows=MESSAGES, seed=1), learn=0.2)
    assert found.why.startswith("wrap: ")
    assert found.replication < 1.05


@settings(deadline=None, max_examples=25)
@given(
    keys=st.lists(st.integers(0, 20), min_size=1, max_size=2000),
    workers=st.integers(1, 30),
    learned=st.lists(st.integers(0, 20), max_size=300),
)
def test_the_guarantee_whatever_was_learned_and_whatever_comes(
    keys: list[int], workers: int, learned: list[int]
) -> None:
    grouping = Auto(workers, excess=0.02)
    if learned:
        grouping.learn(learned).build()
    loads = np.bincount(grouping.route_many(keys), minlength=workers)
    assert loads.max() <= 1.02 * len(keys) / workers + 0.04 * len(learned) / workers + 1


def test_work_that_needs_whole_keys_never_has_one_split() -> None:
    stream = zipf(keys=1000, exponent=1.4, rows=50_000, seed=1)
    grouping = Auto(20, work="atomic", seed=1)
    assert not grouping.splits_keys
    assert simulate(grouping, stream, sources=3, learn=0.2).replication == 1.0


def test_unknown_work_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="work"):
        Auto(4, work="magic")
