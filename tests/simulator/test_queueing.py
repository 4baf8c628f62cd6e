"""Laws of the queueing simulation."""

import heapq
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.groupings.proactive.event_by_event import CostScheduler, CostWorker, SyncRequest

from unskew.errors import InvalidParameterError, MissingExtraError
from unskew.groupings.base import Grouping
from unskew.groupings.full_knowledge import FullKnowledge
from unskew.groupings.key import KeyGrouping
from unskew.groupings.partial_key import PartialKey
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.registry import GROUPINGS, make_grouping
from unskew.groupings.shuffle import Shuffle
from unskew.simulator import _queues
from unskew.simulator.queueing import simulate_queue
from unskew.streams import file, from_keys, uniform, with_costs, zipf
from unskew.streams.base import Stream


def costly(*, exponent: float = 1.0, rows: int = 10_000, keys: int = 512, seed: int = 0) -> Stream:
    return with_costs(zipf(keys=keys, exponent=exponent, rows=rows, seed=seed))


def rows_of(stream: Stream) -> tuple[NDArray[Any], NDArray[np.float64]]:
    batches = list(stream.batches())
    costs = [batch.costs for batch in batches if batch.costs is not None]
    return np.concatenate([batch.keys for batch in batches]), np.concatenate(costs)


def completion_times(grouping: Grouping, stream: Stream, **settings: Any) -> NDArray[np.float64]:
    result = simulate_queue(grouping, stream, series_every=1, **settings)
    return np.array(result.series)[:, 0]


def serve(placed: list[int], costs: list[float], gap: float, workers: int) -> list[float]:
    """First in, first out, in plain Python."""
    free, times = [0.0] * workers, []
    for number, (worker, cost) in enumerate(zip(placed, costs, strict=True)):
        arrival = number * gap
        free[worker] = max(free[worker], arrival) + cost
        times.append(free[worker] - arrival)
    return times


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.floats(0, 100)), min_size=1, max_size=100),
    workers=st.integers(1, 6),
    provision=st.floats(0.5, 2.0),
)
def test_workers_serve_first_in_first_out(
    rows: list[tuple[int, float]], workers: int, provision: float
) -> None:
    keys, costs = [key for key, _ in rows], [cost for _, cost in rows]
    stream = from_keys(keys, costs=costs)
    result = simulate_queue(
        KeyGrouping(workers), stream, over_provisioning=provision, series_every=1
    )
    routes = KeyGrouping(workers).route_many(keys).tolist()
    gap = sum(costs) / len(costs) / workers * provision
    expected = serve(routes, costs, gap, workers)
    assert [point[0] for point in result.series] == pytest.approx(expected, abs=1e-6)
    assert result.mean == pytest.approx(sum(expected) / len(expected))
    assert sum(result.busy) == pytest.approx(sum(costs))
    assert result.makespan >= max(result.busy) - 1e-6


def serve_proactively(
    stream: Stream, workers: int, window: int, provision: float, seed: int
) -> tuple[list[float], int]:
    """Proactive shuffle event by event: every row is executed when its time has come."""
    keys, costs = rows_of(stream)
    gap = float(costs.mean()) / workers * provision
    scheduler = CostScheduler(workers, resync_after=window * workers, seed=seed)
    placed = [CostWorker(worker, window=window, seed=seed) for worker in range(workers)]
    free, times, sent = [0.0] * workers, [], 0
    running: list[tuple[float, int, int, int, float, SyncRequest | None]] = []
    for number, (key, cost) in enumerate(zip(keys.tolist(), costs.tolist(), strict=True)):
        arrival = number * gap
        while running and running[0][0] <= arrival:
            end, _, worker, done, took, request = heapq.heappop(running)
            for message in placed[worker].executed(done, took, request, ended=end):
                scheduler.receive(message)
                sent += 1
        worker, request = scheduler.assign(key)
        free[worker] = max(free[worker], arrival) + cost
        times.append(free[worker] - arrival)
        heapq.heappush(running, (free[worker], number, worker, key, cost, request))
    return times, sent


@pytest.mark.parametrize(
    ("exponent", "workers", "window", "provision"),
    [
        (1.0, 5, 100, 1.0),
        (2.0, 3, 50, 1.05),
        (0.0, 7, 64, 0.9),
        (1.5, 1, 10, 1.0),
        (1.0, 4, 2, 1.1),
    ],
)
def test_the_closed_loop_is_the_machines_event_by_event(
    exponent: float, workers: int, window: int, provision: float
) -> None:
    stream = costly(exponent=exponent, rows=6_000, seed=3)
    expected, sent = serve_proactively(stream, workers, window, provision, seed=8)
    grouping = ProactiveShuffle(workers, window=window, seed=8)
    result = simulate_queue(grouping, stream, over_provisioning=provision, series_every=1)
    assert [point[0] for point in result.series] == expected
    assert result.control_messages >= sent  # what was under way at the end counts, too


def test_an_overloaded_system_keeps_all_its_messages_under_way() -> None:
    stream = costly(rows=20_000, seed=1)
    expected, _ = serve_proactively(stream, 4, 5, 0.2, seed=0)
    grouping = ProactiveShuffle(4, window=5)
    assert completion_times(grouping, stream, over_provisioning=0.2).tolist() == expected


@pytest.mark.parametrize("name", sorted(GROUPINGS))
def test_every_grouping_can_be_simulated_and_stays_as_it_is(name: str) -> None:
    stream = costly(rows=3_000)
    grouping = make_grouping(name, 4, seed=1)
    for sources in (1, 3):
        result = simulate_queue(grouping, stream, sources=sources, learn=0.2)
        assert result.rows == 2_400
        assert sum(result.busy) == pytest.approx(rows_of(stream)[1][600:].sum())
        again = simulate_queue(grouping, stream, sources=sources, learn=0.2)
        assert again == result


@pytest.mark.parametrize("name", sorted(GROUPINGS))
def test_with_one_worker_every_grouping_is_the_same(name: str) -> None:
    stream = costly(rows=12_000)
    times = completion_times(make_grouping(name, 1), stream, learn=0)
    assert times.tolist() == completion_times(Shuffle(1), stream).tolist()


def test_sources_have_loads_of_their_own_and_get_messages_in_turn() -> None:
    stream = costly(rows=5_000)
    keys, costs = rows_of(stream)
    own = [PartialKey(4).for_source(source, 3) for source in range(3)]
    routes = [int(own[row % 3].route(int(key))) for row, key in enumerate(keys.tolist())]
    expected = serve(routes, costs.tolist(), costs.mean() / 4, 4)
    times = completion_times(PartialKey(4), stream, sources=3)
    assert times.tolist() == pytest.approx(expected)


def test_a_scheme_sees_costs_only_if_told_to() -> None:
    stream = costly(rows=5_000)
    keys, costs = rows_of(stream)
    for weighted, weights in ((False, None), (True, costs)):
        routes = PartialKey(4).route_many(keys, weights=weights).tolist()
        expected = serve(routes, costs.tolist(), costs.mean() / 4, 4)
        times = completion_times(PartialKey(4), stream, weighted=weighted)
        assert times.tolist() == pytest.approx(expected)


def test_speeds_change_where_their_phase_begins() -> None:
    stream = from_keys([1] * 8, costs=[10.0] * 8)
    phases = [(0, [1.0, 2.0]), (4, [3.0, 1.0])]
    result = simulate_queue(
        Shuffle(2), stream, speeds=phases, over_provisioning=100.0, series_every=1
    )
    assert [point[0] for point in result.series] == [10, 20, 10, 20, 30, 10, 30, 10]
    assert result.busy == (80.0, 60.0)
    same = simulate_queue(Shuffle(2), stream, speeds=[1.0, 2.0])
    assert same.busy == (40.0, 80.0)


def test_the_oracle_is_told_the_speeds() -> None:
    stream = costly(rows=5_000)
    slow = [1.0, 1.0, 4.0]
    busy = simulate_queue(FullKnowledge(3), stream, speeds=slow).busy
    assert max(busy) - min(busy) <= 4 * 64.0  # equal times up to one row


def test_learned_rows_come_before_the_clock_starts() -> None:
    stream = costly(rows=4_000)
    keys, costs = rows_of(stream)
    rest = from_keys(keys[1_000:], costs=costs[1_000:])
    learned = completion_times(Shuffle(4), stream, learn=0.25)
    assert learned.tolist() == completion_times(Shuffle(4), rest).tolist()


def test_proactive_shuffle_is_given_the_rows_that_it_learns_from() -> None:
    stream = costly(rows=4_000)
    keys, costs = rows_of(stream)
    rest = from_keys(keys[1_000:], costs=costs[1_000:])
    warm = ProactiveShuffle(4)
    warm.learn(keys[:1_000], costs[:1_000])
    expected = completion_times(warm, rest).tolist()
    assert completion_times(ProactiveShuffle(4), stream, learn=0.25).tolist() == expected
    assert expected != completion_times(ProactiveShuffle(4), rest).tolist()  # cold: round-robin


def test_the_series_has_max_mean_and_min_of_each_stretch() -> None:
    stream = costly(rows=70_001)  # more than one batch, and a last stretch of one
    times = completion_times(Shuffle(5), stream)
    series = simulate_queue(Shuffle(5), stream).series
    stretches = [times[start : start + 2000] for start in range(0, times.size, 2000)]
    expected = [(part.max(), part.mean(), part.min()) for part in stretches]
    assert np.array(series) == pytest.approx(np.array(expected))


def test_quantiles_are_exact_up_to_the_limit() -> None:
    stream = costly(rows=9_999)
    result = simulate_queue(Shuffle(5), stream)
    expected = np.quantile(completion_times(Shuffle(5), stream), [0.5, 0.95, 0.99])
    assert [result.p50, result.p95, result.p99] == pytest.approx(expected)
    assert result.exact_quantiles


@pytest.mark.parametrize("length", ["known", "unknown"])
def test_beyond_the_limit_a_sketch_gives_the_quantiles(
    length: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("datasketches")
    stream = costly(rows=150_000)
    if length == "unknown":
        keys, costs = rows_of(stream)
        table = "key,cost\n" + "\n".join(
            f"{row[0]},{row[1]}" for row in zip(keys, costs, strict=True)
        )
        (tmp_path / "rows.csv").write_text(table)
        stream = file(tmp_path / "rows.csv", key="key", cost="cost")
        assert stream.rows is None
    times = np.sort(completion_times(Shuffle(5), stream))
    monkeypatch.setattr(_queues, "EXACT_LIMIT", 70_000)
    result = simulate_queue(Shuffle(5), stream)
    assert not result.exact_quantiles
    assert result.mean == pytest.approx(times.mean())
    for rank, value in ((0.5, result.p50), (0.95, result.p95), (0.99, result.p99)):
        assert np.searchsorted(times, value) / times.size == pytest.approx(rank, abs=0.006)


def test_a_missing_library_is_named_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(_queues, "EXACT_LIMIT", 100)
    monkeypatch.setattr("importlib.import_module", missing)
    started: list[int] = []
    with pytest.raises(MissingExtraError, match=r"pip install 'unskew\[sketches\]'"):
        simulate_queue(Shuffle(2), costly(rows=101), on_progress=started.append)
    assert started == []
    assert simulate_queue(Shuffle(2), costly(rows=100)).exact_quantiles


def test_a_given_mean_cost_saves_a_pass_and_changes_nothing() -> None:
    stream = costly(rows=3_000)
    mean = float(rows_of(stream)[1].mean())
    assert simulate_queue(Shuffle(3), stream, mean_cost=mean).mean == pytest.approx(
        simulate_queue(Shuffle(3), stream).mean
    )


def test_messages_without_costs_cost_one() -> None:
    result = simulate_queue(Shuffle(4), [1, 2, 3, 4] * 10)
    assert result.gap == 0.25
    assert result.mean == result.p99 == 1.0  # four workers, four arrivals in each unit of time
    assert result.busy == (10.0,) * 4


def test_rows_that_cost_nothing_end_when_they_come() -> None:
    stream = from_keys([1, 2, 3], costs=[0.0] * 3)
    for grouping in (Shuffle(2), FullKnowledge(2), ProactiveShuffle(2, window=1)):
        result = simulate_queue(grouping, stream)
        assert (result.mean, result.makespan, result.throughput) == (0.0, 0.0, math.inf)


def test_throughput_is_messages_over_the_time_of_the_last_worker() -> None:
    result = simulate_queue(KeyGrouping(8), costly(exponent=3.0, rows=5_000))
    assert result.throughput == pytest.approx(5_000 / result.makespan)
    assert (
        result.throughput < simulate_queue(Shuffle(8), costly(exponent=3.0, rows=5_000)).throughput
    )


@pytest.mark.parametrize("workers", [1, 5, 12])
def test_control_messages_keep_theorem_3_3(workers: int) -> None:
    rows, window = 100_000, 64
    grouping = ProactiveShuffle(workers, window=window)
    sent = simulate_queue(grouping, costly(rows=rows, keys=4096)).control_messages
    # A report takes two windows and asks every worker; so does each window without a report.
    bound = rows / (2 * window) * (1 + workers) + rows / window
    assert 0 < sent <= bound
    assert simulate_queue(Shuffle(workers), costly(rows=1_000)).control_messages == 0


def test_progress_counts_every_measured_message() -> None:
    seen: list[int] = []
    simulate_queue(Shuffle(2), costly(rows=150_000), on_progress=seen.append)
    assert sum(seen) == 150_000


@pytest.mark.parametrize("name", ["proactive-shuffle", "full-knowledge"])
def test_a_scheme_that_needs_costs_refuses_a_stream_without(name: str) -> None:
    with pytest.raises(InvalidParameterError, match="stream must be one with costs"):
        simulate_queue(make_grouping(name, 2), uniform(keys=5, rows=10))


@pytest.mark.parametrize(
    "bad",
    [
        {"over_provisioning": 0},
        {"sources": 0},
        {"series_every": 0},
        {"mean_cost": -1},
        {"learn": 1.0},
        {"speeds": [1.0]},
        {"speeds": [1.0, 0.0]},
        {"speeds": [(5, [1.0, 1.0]), (5, [1.0, 2.0])]},
        {"speeds": [(-1, [1.0, 1.0])]},
        {"speeds": [(0, "ab")]},
        {"speeds": []},
    ],
)
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(bad))} must be"):
        simulate_queue(Shuffle(2), costly(rows=10), **bad)
