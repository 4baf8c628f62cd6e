"""Flow: the bound holds whatever comes; hot keys even out the loads, the others stay whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.groupings.uneven import with_a_slow_worker

from unskew import Flow, WChoices, simulate, simulate_queue, zipf
from unskew.errors import InvalidParameterError
from unskew.groupings.flow.routing import rows_to_halve


def highest(workers: NDArray[np.int32], n_workers: int) -> NDArray[np.float64]:
    """The load of the busiest worker after each row, by a definition written out."""
    loads = np.zeros(n_workers)
    seen = np.empty(workers.size)
    most = 0.0
    for row, worker in enumerate(workers):
        loads[worker] += 1
        most = max(most, loads[worker])
        seen[row] = most
    return seen


def bound(rows: NDArray[np.int64], grouping: Flow) -> NDArray[np.float64]:
    mean = rows / grouping.workers
    allowed: NDArray[np.float64] = (1 + grouping.excess) * mean + 2 * np.sqrt(mean)
    return allowed + grouping.slack


def assert_bounded(keys: NDArray[np.int64], grouping: Flow) -> None:
    rows = np.arange(1, keys.size + 1)
    over = highest(grouping.route_many(keys), grouping.workers) - bound(rows, grouping)
    assert over.max() <= 1e-9


@settings(max_examples=60, deadline=None)
@given(
    blocks=st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 400), st.booleans()), min_size=1, max_size=30
    ),
    workers=st.integers(1, 40),
    excess=st.sampled_from([0.0, 0.01, 0.2]),
    seed=st.integers(0, 3),
)
def test_no_worker_gets_more_than_the_bound_at_any_moment(
    blocks: list[tuple[int, int, bool]], workers: int, excess: float, seed: int
) -> None:
    """Blocks of one key alone, or of keys that have never been seen before."""
    keys: list[int] = []
    for key, length, fresh in blocks:
        keys += (
            range(1000 * (len(keys) + 1), 1000 * (len(keys) + 1) + length)
            if fresh
            else ([key] * length)
        )
    assert_bounded(np.array(keys), Flow(workers, excess=excess, seed=seed))


@pytest.mark.parametrize("workers", [2, 7, 50])
def test_an_adversary_who_sees_all_cannot_break_the_bound(workers: int) -> None:
    """It always sends a key that is at home on the busiest worker: an old one, or a new one."""
    grouping = Flow(workers)
    of_home: dict[int, list[int]] = {worker: [] for worker in range(workers)}
    for key in range(40 * workers):
        of_home[Flow(workers, max_replicas=1).route(key)].append(key)
    loads, chance = np.zeros(workers), np.random.default_rng(1)
    for row in range(1, 20_001):
        homes = of_home[int(loads.argmax())]
        key = homes[int(chance.integers(len(homes)))] if homes else row
        loads[grouping.route(key)] += 1
        assert loads.max() <= bound(np.array([row]), grouping)[0]


def test_keys_that_are_all_at_home_on_one_worker_are_evened_out() -> None:
    workers = 20
    home = Flow(workers, max_replicas=1).route_many(np.arange(10_000))
    keys = np.array([key for key in range(10_000) if home[key] == 3])
    stream = np.random.default_rng(2).choice(keys, 50_000)
    grouping = Flow(workers)
    assert_bounded(stream, grouping)


def test_more_keys_than_the_table_holds_break_no_bound() -> None:
    chance = np.random.default_rng(3)
    bursts = np.repeat(np.arange(60_000), 5)  # each is hot for a moment, and gone
    assert_bounded(bursts, Flow(4))
    assert_bounded(chance.permutation(bursts), Flow(4))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), workers=st.integers(1, 20), heavy=st.floats(1, 200))
def test_weights_are_bounded_up_to_the_heaviest_row(seed: int, workers: int, heavy: float) -> None:
    chance = np.random.default_rng(seed)
    keys = chance.zipf(1.5, 3000) % 50
    weights = chance.uniform(0, 2, keys.size)
    weights[chance.integers(keys.size, size=20)] = heavy
    grouping = Flow(workers)
    placed = grouping.route_many(keys, weights=weights)
    loads = np.bincount(placed, weights, minlength=workers)
    unit, mean = weights.mean(), loads.mean()
    room = grouping.excess * mean + 2 * np.sqrt(keys.size / workers) * unit + grouping.slack * unit
    # What was heavy when rows were lighter on average may have had more room than the end shows.
    assert loads.max() <= mean + room + weights.max()


def test_a_worker_that_can_do_twice_as_much_gets_twice_as_much() -> None:
    stream = zipf(keys=10_000, exponent=1.0, rows=200_000, seed=11)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    loads = np.bincount(Flow(4, capacity=[2, 1, 1, 4]).route_many(keys))
    assert np.abs(loads / loads.sum() - np.array([2, 1, 1, 4]) / 8).max() < 0.002


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_key_is_on_more_workers_than_allowed_in_all_sources_together(most: int) -> None:
    stream = zipf(keys=1000, exponent=1.5, rows=100_000, seed=12)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    sources = Flow(30, max_replicas=most).for_sources(4)
    placed = np.empty(keys.size, np.int64)
    for at, source in enumerate(sources):
        placed[at::4] = source.route_many(keys[at::4])
    pairs = np.unique(np.stack([keys.astype(np.int64), placed]), axis=1)
    assert np.unique(pairs[0], return_counts=True)[1].max() <= most
    assert Flow(30, max_replicas=most).splits_keys == (most > 1)


def test_a_key_that_has_cooled_gives_its_workers_back() -> None:
    workers = 16
    grouping, chance = Flow(workers), np.random.default_rng(5)
    cold = chance.integers(1, 100_000, 40 * rows_to_halve(workers))
    hot = cold[: rows_to_halve(workers)].copy()
    hot[::3] = 0
    assert np.unique(grouping.route_many(hot)[::3]).size >= 5
    grouping.route_many(cold)
    rare = chance.integers(1, 100_000, 200_000)
    rare[::1000] = 0
    assert np.unique(grouping.route_many(rare)[::1000]).size <= 3


def test_a_fraction_of_the_copies_of_w_choices_on_a_stream_that_drifts() -> None:
    """A new set of hot keys after every 1,000 rows."""
    chance = np.random.default_rng(77)
    ranks = chance.zipf(1.3, 400_000) % 2_000
    keys = ranks + 2_000 * (np.arange(ranks.size) // 1000)
    flow, others = (simulate(one(10), keys, sources=5) for one in (Flow, WChoices))
    assert flow.imbalance_percent < 0.5
    assert flow.replication - 1 < 0.5 * (others.replication - 1)


def test_sources_that_never_talk_choose_the_same_workers() -> None:
    """Ten sources have far fewer copies together than if each chose for itself."""
    stream = zipf(keys=300, exponent=1.0, rows=400_000, seed=6)
    keys = np.concatenate([batch.keys for batch in stream.batches()]).astype(np.int64)
    pairs = []
    for at, source in enumerate(Flow(100).for_sources(10)):
        part = keys[at::10]
        pairs.append(np.unique(part * 100 + source.route_many(part)))
    copies = [each.size - 300 for each in pairs]
    assert np.unique(np.concatenate(pairs)).size - 300 < 0.5 * sum(copies)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"excess": -0.1}, "excess"),
        ({"slack": 0.5}, "slack"),
        ({"hot": 0}, "hot"),
        ({"max_replicas": 0}, "max_replicas"),
        ({"capacity": [1, 0]}, "capacity"),
        ({"capacity": [1]}, "capacity"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=named):
        Flow(2, **parameters)  # type: ignore[arg-type]


def test_told_to_follow_speeds_it_sends_a_slow_worker_what_that_can_do() -> None:
    plain, found = (with_a_slow_worker(Flow(4, follow_speeds=each)) for each in (False, True))
    assert found.placement.loads[0] / found.placement.loads[1] == pytest.approx(1 / 3, rel=0.1)
    assert found.p99 < 0.01 * plain.p99
    assert found.placement.replication < 1.2


def test_it_adapts_within_an_epoch_to_a_worker_that_slows_down() -> None:
    """A fiftieth of the rows after the change, rows take no longer than any time later."""
    phases = [(0, [1.0] * 6), (100_000, [3.0, *[1.0] * 5])]
    stream = zipf(keys=10_000, exponent=1.2, rows=200_000, seed=5)
    found = simulate_queue(
        Flow(6, follow_speeds=True), stream, speeds=phases, over_provisioning=1.4, series_every=4000
    )
    means = [mean for _, mean, _ in found.series]
    assert means[26] < 2 * means[24]
    assert means[26] < 1.5 * np.mean(means[40:])


def test_after_a_report_loads_are_in_proportion_to_the_speeds() -> None:
    keys = np.random.default_rng(0).zipf(1.3, 120_000) % 5_000
    grouping = Flow(3, follow_speeds=True)
    grouping.route_many(keys[:20_000])
    grouping.note_queues(np.zeros(3), np.array([4.0, 2.0, 1.0]))
    loads = np.bincount(grouping.route_many(keys[20_000:]), minlength=3)
    assert loads / loads.sum() == pytest.approx([1 / 7, 2 / 7, 4 / 7], rel=0.05)


def test_without_being_told_to_it_pays_no_heed_to_queues() -> None:
    one, other = Flow(3), Flow(3)
    keys = np.arange(5_000) % 700
    one.route_many(keys)
    other.route_many(keys)
    one.note_queues(np.array([900.0, 0.0, 0.0]), np.array([9.0, 1.0, 1.0]))
    assert one.route_many(keys).tolist() == other.route_many(keys).tolist()
