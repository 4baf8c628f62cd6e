import copy
import pickle
from typing import Any

import numpy as np
import pytest

from unskew.errors import InvalidParameterError, StreamError
from unskew.groupings.distribution_aware import DistributionAware
from unskew.groupings.key import KeyGrouping
from unskew.groupings.off_greedy import OffGreedy
from unskew.groupings.on_greedy import OnGreedy
from unskew.groupings.optimal import Optimal
from unskew.groupings.partial_key import PartialKey
from unskew.groupings.potc import TwoChoices
from unskew.groupings.shuffle import Shuffle
from unskew.groupings.wrap import Wrap
from unskew.simulator.loads import count_keys, cut_batches, simulate
from unskew.simulator.queueing import simulate_queue
from unskew.simulator.sources import Sources
from unskew.streams import parse_stream
from unskew.streams.base import Batch
from unskew.streams.in_memory import from_keys
from unskew.streams.zipf import zipf

STREAM = zipf(keys=2_000, exponent=1.1, rows=60_000, seed=7)


def test_a_run_is_what_its_sources_route_one_by_one() -> None:
    keys = np.concatenate([batch.keys for batch in STREAM.batches()])
    sources = PartialKey(13).for_sources(3)
    loads = np.zeros(13, int)
    pairs = set()
    for row, key in enumerate(keys.tolist()):
        worker = sources[row % 3].route(key)
        loads[worker] += 1
        pairs.add((key, worker))
    result = simulate(PartialKey(13), STREAM, sources=3)
    assert list(result.loads) == loads.tolist()
    assert result.memory == len(pairs)
    assert result.rows == 60_000
    assert result.keys == np.unique(keys).size


def test_feeding_by_key_sends_a_key_through_one_source() -> None:
    keys = np.arange(3_000) % 50
    sources = Sources(Shuffle(4), 3, feed="key")
    workers = np.concatenate([sources.route(Batch(part, None)) for part in np.split(keys, 10)])
    # Each source sends its rows round-robin, so the rows of all keys of one source are even. Two
    # keys of one source come in a fixed order, hence at a fixed distance in its round.
    rounds = workers.reshape(60, 50)
    steps = (rounds[1:] - rounds[:-1]) % 4
    assert all(len(set(steps[:, key].tolist())) == 1 for key in range(50))
    assert len({int(step) for step in steps[0]}) <= 3


def test_the_feed_changes_which_source_knows_what() -> None:
    by_key = simulate(PartialKey(8), STREAM, sources=5, feed="key")
    in_turn = simulate(PartialKey(8), STREAM, sources=5)
    assert by_key.rows == in_turn.rows
    assert by_key.loads != in_turn.loads


def test_a_grouping_stays_as_it_is() -> None:
    for grouping in (PartialKey(5), Wrap(5), OnGreedy(5), Optimal(5)):
        before = pickle.dumps(grouping)
        simulate(grouping, STREAM, sources=2)
        assert pickle.dumps(grouping) == before


def test_runs_are_repeatable() -> None:
    for grouping in (PartialKey(5), Wrap(5), DistributionAware(5)):
        assert simulate(grouping, STREAM) == simulate(copy.deepcopy(grouping), STREAM)


def test_learning_takes_the_first_share_and_measures_the_rest() -> None:
    result = simulate(Wrap(5), STREAM)
    assert (result.learned_rows, result.rows) == (12_000, 48_000)
    result = simulate(Wrap(5), STREAM, learn=0.5)
    assert (result.learned_rows, result.rows) == (30_000, 30_000)
    assert sum(result.loads) == 30_000
    assert simulate(KeyGrouping(5), STREAM).rows == 60_000


def test_all_schemes_can_be_measured_on_the_same_rows() -> None:
    results = [simulate(g, STREAM, learn=0.25) for g in (KeyGrouping(5), Wrap(5), PartialKey(5))]
    assert {(r.rows, r.keys, r.p1) for r in results} == {(45_000, results[0].keys, results[0].p1)}


def test_a_scheme_that_has_a_plan_does_not_learn_again() -> None:
    keys = np.concatenate([batch.keys for batch in STREAM.batches()])
    built = Wrap(5).learn(keys).build()
    result = simulate(built, STREAM)
    assert result.rows == 60_000
    assert result.imbalance_percent < 1


def test_epochs_measure_everything_and_plan_after_each() -> None:
    result = simulate(DistributionAware(5), STREAM, epoch=7_000)
    once = simulate(DistributionAware(5), STREAM, epoch=60_000)
    assert result.rows == once.rows == 60_000
    assert result.loads != once.loads
    # One epoch as long as the stream never gets to use a plan: it is hashing.
    hashed = Sources(DistributionAware(5)).route(next(iter(STREAM.batches(60_000))))
    assert list(once.loads) == np.bincount(hashed, minlength=5).tolist()


@pytest.mark.parametrize("scheme", [OffGreedy, Optimal])
def test_an_offline_scheme_is_told_the_true_counts(scheme: type[OffGreedy]) -> None:
    told = scheme(6).fit(*count_keys(STREAM))
    workers = np.concatenate([told.route_many(batch.keys) for batch in STREAM.batches()])
    assert list(simulate(scheme(6), STREAM).loads) == np.bincount(workers, minlength=6).tolist()


def test_optimal_knows_the_measured_part_and_off_greedy_the_whole() -> None:
    keys = ["early"] * 500 + ["a", "b", "c", "d"] * 125
    best = simulate(Optimal(4), keys, learn=0.5)
    assert best.imbalance_percent == 0
    whole = simulate(OffGreedy(4), keys, learn=0.5)
    assert whole.imbalance_percent > 0


def test_who_knows_more_or_may_split_is_more_even() -> None:
    stream = zipf(keys=10_000, exponent=0.9, rows=200_000, seed=3)
    schemes = (KeyGrouping(10), TwoChoices(10), OnGreedy(10), OffGreedy(10), PartialKey(10))
    hashing, potc, on_greedy, off_greedy, split = (
        simulate(scheme, stream, sources=5) for scheme in schemes
    )
    online = (potc, on_greedy)
    averages = [result.average_imbalance_fraction for result in online]
    assert hashing.average_imbalance_fraction > 10 * max(averages)
    assert split.average_imbalance_fraction < min(averages)
    # Off-greedy is even in the end, not on the way there.
    assert off_greedy.imbalance_percent < min(result.imbalance_percent for result in online)


def test_batches_are_cut_at_the_learning_share_and_at_every_epoch() -> None:
    ends = np.cumsum([len(batch.keys) for batch in cut_batches(STREAM, 12_345, 10_000)])
    assert ends[-1] == 60_000
    assert {12_345, 22_345, 32_345, 42_345, 52_345} <= set(ends.tolist())


def test_costs_can_be_the_load() -> None:
    keys, costs = np.arange(1_000) % 10, np.linspace(1, 5, 1_000)
    result = simulate(Shuffle(4), from_keys(keys, costs), weighted=True)
    assert sum(result.loads) == pytest.approx(costs.sum())
    with pytest.raises(InvalidParameterError, match="weighted must be False for a stream without"):
        simulate(Shuffle(4), STREAM, weighted=True)


def test_text_keys_give_the_same_run_as_their_identities() -> None:
    words = [f"w{key}" for key in (np.arange(5_000) ** 2 % 97).tolist()]
    by_text = simulate(PartialKey(7, hashes="storm"), words, sources=2)
    assert by_text.rows == 5_000
    assert simulate(PartialKey(7), words, sources=3).keys == len(set(words))


def test_progress_counts_every_row() -> None:
    seen: list[int] = []
    simulate(Wrap(5), STREAM, on_progress=seen.append)
    assert sum(seen) == 60_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sources": 0}, "sources must be an int >= 1, got 0"),
        ({"learn": 1.0}, r"learn must be a number in \[0, 1\), got 1.0"),
        ({"learn": -0.1}, "learn must be a number"),
        ({"epoch": 0}, "epoch must be an int >= 1"),
        ({"feed": "random"}, "feed must be one of 'round-robin', 'key'"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        simulate(PartialKey(5), STREAM, **arguments)


def test_a_stream_without_rows_is_refused() -> None:
    with pytest.raises((StreamError, InvalidParameterError)):
        simulate(PartialKey(5), [])


def test_a_notebook_shows_a_bar_for_each_worker() -> None:
    result = simulate(PartialKey(3), zipf(keys=50, rows=1000), sources=2)
    assert result._repr_html_().count("<rect") == 3
    queue = simulate_queue(PartialKey(3), parse_stream("zipf:keys=50,rows=1000,costs=4"))
    assert queue._repr_html_().count("<rect") == 3
