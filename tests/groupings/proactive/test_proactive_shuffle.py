"""Laws of proactive shuffle: the worker's machine, the scheduler's machine, and both together."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.groupings.proactive.event_by_event import (
    CostScheduler,
    CostWorker,
    SyncReply,
    SyncRequest,
)

from unskew.errors import InvalidParameterError
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.proactive.worker import CostReport
from unskew.groupings.shuffle import Shuffle
from unskew.sketches.cost_sketch import CostSketch

any_cost = st.sampled_from([0.0, 1.0, 5.0, 40.0, -3.0, math.nan, math.inf])


def report_of(worker: int, number: int, rows: list[tuple[int, float]]) -> CostReport:
    """The report of a worker that has measured exactly these rows."""
    sketch = CostSketch()
    sketch.update_many([key for key, _ in rows], [cost for _, cost in rows])
    return CostReport(worker, number, np.stack([sketch.counts, sketch.costs], axis=-1))


class TestWorker:
    """The machine of one worker."""

    @pytest.mark.parametrize("cost", [0.0, 7.0])
    def test_equal_costs_are_reported_after_two_windows(self, cost: float) -> None:
        worker = CostWorker(0, window=10)
        sent = [len(worker.executed(row % 3, cost)) for row in range(60)]
        assert [row + 1 for row, messages in enumerate(sent) if messages] == [20, 40, 60]

    @settings(deadline=None, max_examples=40)
    @given(costs=st.lists(any_cost, min_size=1, max_size=80), window=st.integers(1, 9))
    def test_a_report_covers_whole_windows_and_at_least_two(
        self, costs: list[float], window: int
    ) -> None:
        worker, since = CostWorker(0, window=window), 0
        for row, cost in enumerate(costs):
            since += 1
            for message in worker.executed(row % 4, cost):
                assert isinstance(message, CostReport)
                assert since % window == 0
                assert since >= 2 * window
                assert message.cells[..., 0].sum(axis=1).tolist() == [since] * 4
                assert np.isfinite(message.cells).all()
                assert worker.phase.name == "START"
                since = 0

    def test_moving_costs_wait_for_stability(self) -> None:
        worker = CostWorker(0, window=4, tolerance=0.05)
        costs = [1.0] * 4 + [2.0] * 4 + [3.0] * 4 + [2.0] * 40
        sent = [len(worker.executed("a", cost)) for cost in costs]
        # Means at the looks: 1, 1.5, 2, 2: the last one has not moved.
        assert sent.index(1) + 1 == 16

    def test_a_worker_forgets_what_it_has_reported(self) -> None:
        worker = CostWorker(0, window=2)
        reports = [message for _ in range(4) for message in worker.executed("a", 9.0)]
        reports += [message for _ in range(4) for message in worker.executed("a", 1.0)]
        totals = [
            report.cells[0, :, 1].sum() for report in reports if isinstance(report, CostReport)
        ]
        assert totals == [36.0, 4.0]
        assert [report.number for report in reports if isinstance(report, CostReport)] == [1, 2]

    def test_a_request_is_answered_with_the_difference_to_the_clock(self) -> None:
        worker = CostWorker(2, window=100)
        worker.executed("a", 4.0)
        assert worker.executed("a", 6.0, SyncRequest(3, 7.0)) == [SyncReply(2, 3, 3.0)]
        assert worker.executed("a", 1.0, SyncRequest(4, 7.0), ended=50.0) == [SyncReply(2, 4, 43.0)]

    def test_a_clock_is_never_set_back(self) -> None:
        worker = CostWorker(0)
        worker.executed("a", 4.0, ended=10.0)
        worker.executed("a", 4.0, ended=3.0)
        assert worker.clock == 10.0
        worker.executed("a", -4.0)
        assert worker.clock == 10.0
        worker.executed("a", 4.0)
        assert worker.clock == 14.0


class TestScheduler:
    """The machine of the scheduler."""

    def test_it_is_round_robin_until_every_worker_has_reported(self) -> None:
        scheduler = CostScheduler(3)
        for number, worker in enumerate([0, 1, 1, 0], start=1):
            scheduler.receive(report_of(worker, number, [(1, 1.0)]))
            assert scheduler.phase.name == "ROUND_ROBIN"
        assert [scheduler.assign(1)[0] for _ in range(4)] == [0, 1, 2, 0]
        scheduler.receive(report_of(2, 1, [(1, 1.0)]))
        assert scheduler.phase.name == "SEND_ALL"

    def test_the_way_from_round_robin_to_run(self) -> None:
        scheduler = CostScheduler(2)
        for worker, cost in ((0, 3.0), (1, 5.0)):
            scheduler.receive(report_of(worker, 1, [(7, cost), (8, 2 * cost)]))
        # SEND_ALL: in turn, each row with a request that counts the row itself.
        assert scheduler.assign(7) == (0, SyncRequest(1, 3.0))
        assert scheduler.phase.name == "SEND_ALL"
        assert scheduler.assign(8) == (1, SyncRequest(1, 10.0))
        # WAIT_ALL: already greedy, by estimates 3 and 10.
        assert scheduler.phase.name == "WAIT_ALL"
        assert [scheduler.assign(7) for _ in range(3)] == [(0, None)] * 3
        assert scheduler.estimated.tolist() == [12.0, 10.0]
        scheduler.receive(SyncReply(0, 1, 100.0))
        assert scheduler.estimated.tolist() == [12.0, 10.0]
        scheduler.receive(SyncReply(1, 1, 40.0))
        # RUN: corrected, greedy; an unknown key costs the worker's mean, (5 + 10) / 2.
        assert scheduler.phase.name == "RUN"
        assert scheduler.estimated.tolist() == [112.0, 50.0]
        assert scheduler.assign(999) == (1, None)
        assert scheduler.estimated.tolist() == [112.0, 57.5]

    def test_a_new_report_starts_a_new_epoch_in_every_later_phase(self) -> None:
        scheduler = running(2)
        for rows in (0, 1, 2):  # RUN, SEND_ALL, WAIT_ALL
            for _ in range(rows):
                scheduler.assign(1)
            before = scheduler.epoch
            scheduler.receive(report_of(0, before + 1, [(1, 1.0)]))
            assert scheduler.phase.name == "SEND_ALL"
            assert scheduler.epoch == before + 1

    def test_a_reply_may_come_while_requests_still_go_out(self) -> None:
        scheduler = running(2)
        scheduler.receive(report_of(0, 9, [(1, 1.0)]))
        first, request = scheduler.assign(1)
        assert request is not None
        scheduler.receive(SyncReply(first, request.epoch, 0.0))
        assert scheduler.phase.name == "SEND_ALL"
        second, request = scheduler.assign(1)
        assert request is not None
        scheduler.receive(SyncReply(second, request.epoch, 0.0))
        assert scheduler.phase.name == "RUN"

    def test_late_repeated_and_unasked_messages_change_nothing(self) -> None:
        scheduler = CostScheduler(2)
        for worker in (0, 1):
            scheduler.receive(report_of(worker, 5, [(1, 1.0)]))
        scheduler.assign(1)
        before = scheduler.estimated.tolist(), scheduler.phase, scheduler.epoch
        for stale in (
            SyncReply(1, 1, 50.0),  # not asked yet
            SyncReply(0, 0, 50.0),  # of another epoch
            SyncReply(0, 2, 50.0),
            SyncReply(0, 1, math.nan),
            report_of(0, 5, [(1, 99.0)]),  # the same report again
            report_of(0, 4, [(1, 99.0)]),  # an older one
        ):
            scheduler.receive(stale)
            assert (scheduler.estimated.tolist(), scheduler.phase, scheduler.epoch) == before
        scheduler.assign(1)
        scheduler.receive(SyncReply(0, 1, 2.0))
        scheduler.receive(SyncReply(0, 1, 70.0))  # for the second time
        scheduler.receive(SyncReply(1, 1, 0.0))
        assert scheduler.estimated.tolist() == [3.0, 1.0]

    def test_it_asks_again_after_so_many_rows_without_a_report(self) -> None:
        scheduler = running(2, resync_after=10)
        requests = [scheduler.assign(1)[1] for _ in range(12)]
        assert [request is not None for request in requests] == [False] * 9 + [True, True, False]
        assert scheduler.phase.name == "WAIT_ALL"

    def test_messages_of_strangers_are_refused(self) -> None:
        scheduler = CostScheduler(2)
        with pytest.raises(InvalidParameterError, match="worker must be an int in"):
            scheduler.receive(SyncReply(2, 1, 0.0))
        with pytest.raises(InvalidParameterError, match="report must be matrices of shape"):
            scheduler.receive(CostReport(0, 1, np.zeros((1, 1, 2))))


def running(workers: int, *, resync_after: int = 0) -> CostScheduler:
    """A scheduler in RUN, all estimates corrected by 0; key 1 costs 1."""
    scheduler = CostScheduler(workers, resync_after=resync_after)
    for worker in range(workers):
        scheduler.receive(report_of(worker, 1, [(1, 1.0)]))
    for _ in range(workers):
        worker, request = scheduler.assign(1)
        assert request is not None
        scheduler.receive(SyncReply(worker, request.epoch, 0.0))
    assert scheduler.phase.name == "RUN"
    return scheduler


class UnreliableNetwork(RuleBasedStateMachine):
    """Rows are executed in order; messages are lost, repeated and reordered at will."""

    WORKERS = 3

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = CostScheduler(self.WORKERS, resync_after=20)
        self.workers = [CostWorker(worker, window=6) for worker in range(self.WORKERS)]
        self.queues: list[list[tuple[int, SyncRequest | None]]] = [[] for _ in self.workers]
        self.mail: list[CostReport | SyncReply] = []

    @rule(key=st.integers(0, 5), rows=st.integers(1, 15))
    def assign(self, key: int, rows: int) -> None:
        for _ in range(rows):
            worker, request = self.scheduler.assign(key)
            self.queues[worker].append((key, request))

    @rule(worker=st.integers(0, 2), rows=st.integers(1, 20), cost=any_cost)
    def execute(self, worker: int, rows: int, cost: float) -> None:
        for key, request in self.queues[worker][:rows]:
            self.mail += self.workers[worker].executed(key, cost, request)
        del self.queues[worker][:rows]

    @precondition(lambda self: self.mail)
    @rule(place=st.integers(0, 50), fate=st.sampled_from(["once", "twice", "kept", "lost"]))
    def deliver(self, place: int, fate: str) -> None:
        message = self.mail[place % len(self.mail)]
        for _ in range({"once": 1, "twice": 2, "kept": 1, "lost": 0}[fate]):
            self.scheduler.receive(message)
        if fate != "kept":  # a kept one comes again, much later
            self.mail.remove(message)

    @invariant()
    def loads_are_finite(self) -> None:
        assert np.isfinite(self.scheduler.estimated).all()

    def teardown(self) -> None:
        """However bad it was: once messages arrive, the scheduler gets to RUN."""
        for row in range(400):
            worker, request = self.scheduler.assign(row % 4)
            self.queues[worker].append((row % 4, request))
            for place in range(self.WORKERS):
                self.execute(place, 20, 5.0)
            for message in self.mail:
                self.scheduler.receive(message)
            self.mail.clear()
            if self.scheduler.phase.name == "RUN":
                return
        raise AssertionError("the scheduler is stuck")


TestUnreliableNetwork = UnreliableNetwork.TestCase
TestUnreliableNetwork.settings = settings(deadline=None, max_examples=40, stateful_step_count=30)


@settings(deadline=None, max_examples=30)
@given(
    costs=st.lists(any_cost, min_size=1, max_size=150),
    workers=st.integers(1, 5),
    window=st.integers(1, 12),
    resync=st.booleans(),
)
def test_the_grouping_does_what_scheduler_and_workers_do_together(
    costs: list[float], workers: int, window: int, resync: bool
) -> None:
    grouping = ProactiveShuffle(workers, window=window, resync=resync)
    after = window * workers if resync else 0
    scheduler = CostScheduler(workers, resync_after=after)
    placed = [CostWorker(worker, window=window) for worker in range(workers)]
    for row, cost in enumerate(costs):
        worker, request = scheduler.assign(row % 7)
        for message in placed[worker].executed(row % 7, cost, request):
            scheduler.receive(message)
        assert grouping.route(row % 7) == worker
        grouping.executed(worker, [row % 7], [cost])
        assert grouping.phase is scheduler.phase
    assert grouping.estimated.tolist() == scheduler.estimated.tolist()


def test_without_feedback_it_is_round_robin_whatever_the_weights() -> None:
    keys, weights = np.arange(1000) % 13, np.linspace(0, 50, 1000)
    routes = ProactiveShuffle(6).route_many(keys, weights=weights)
    assert routes.tolist() == Shuffle(6).route_many(keys).tolist()


def test_a_worker_that_never_executes_keeps_it_in_round_robin() -> None:
    grouping = ProactiveShuffle(3, window=5)
    for _ in range(10):
        grouping.executed(0, [1] * 50, [2.0] * 50)
        grouping.executed(1, [1] * 50, [2.0] * 50)
    assert grouping.phase.name == "ROUND_ROBIN"
    assert np.bincount(grouping.route_many([1] * 9)).tolist() == [3, 3, 3]


def test_more_workers_than_rows_is_fine() -> None:
    grouping = ProactiveShuffle(100)
    routes = grouping.route_many(np.arange(7))
    assert routes.tolist() == list(range(7))
    for worker in routes.tolist():
        grouping.executed(worker, [worker], [3.0])
    assert grouping.phase.name == "ROUND_ROBIN"


def test_once_it_runs_slow_rows_weigh_what_they_cost() -> None:
    grouping = feed(ProactiveShuffle(4, window=50, resync=False), rows=600, slow=40.0)
    assert grouping.phase.name == "RUN"
    costs = np.where(np.arange(2_000) % 7 == 0, 40.0, 1.0)
    routes = grouping.route_many(np.where(costs == 40.0, 1, 2))
    loads = np.bincount(routes, weights=costs, minlength=4)
    counts = np.bincount(routes, minlength=4)
    assert loads.max() - loads.min() <= 40.0 + (counts.max() - counts.min())
    assert loads.max() / loads.mean() < 1.02


def feed(grouping: ProactiveShuffle, *, rows: int, slow: float) -> ProactiveShuffle:
    """Route and execute rows one by one: key 1 is slow, key 2 costs 1."""
    for row in range(rows):
        key = 1 if row % 7 == 0 else 2
        worker = grouping.route(key)
        grouping.executed(worker, [key], [slow if key == 1 else 1.0])
    return grouping


@pytest.mark.parametrize(("clock", "loads"), [("elapsed", [150, 150]), ("work", [150, 15])])
def test_an_idle_worker_is_behind_by_its_work_but_not_by_the_clock(
    clock: str, loads: list[float]
) -> None:
    grouping = ProactiveShuffle(2, window=1, resync=False, clock=clock)
    # Worker 1 does in 5 what takes worker 0 a time of 50, and then waits for more.
    for worker, cost in ((0, 50.0), (1, 5.0)):
        grouping.executed(worker, [1, 1], [cost, cost], ended=[50.0, 100.0])
    assert grouping.route_many([1, 1]).tolist() == [0, 1]
    for worker, cost in ((0, 50.0), (1, 5.0)):
        grouping.executed(worker, [1], [cost], ended=[150.0])
    assert grouping.phase.name == "RUN"
    assert grouping.estimated.tolist() == loads


def test_what_was_learned_beforehand_is_what_workers_would_have_reported() -> None:
    keys, costs = list(range(8)) * 4, [float(1 + key) for key in range(8)] * 4
    warm, cold = ProactiveShuffle(2, window=8), ProactiveShuffle(2, window=8)
    warm.learn(keys, costs)
    for worker in (0, 1):
        cold.executed(worker, keys[worker::2], costs[worker::2])
    assert warm.phase == cold.phase
    assert np.array_equal(warm.machines.scheduler.cells, cold.machines.scheduler.cells)
    assert not warm.machines.workers.clocks.any()  # nobody has work left


def test_the_corner_is_what_the_authors_program_compares() -> None:
    # Costs change in cells beyond the corner alone: only a look at all cells sees it.
    sketch = CostSketch()
    columns = {}
    for key in range(200):
        sketch.update(key, 1.0)
        places = np.argmax(sketch.counts, axis=1)
        columns[key] = int(places.min())
        sketch = CostSketch()
    outside = [key for key, column in columns.items() if column >= sketch.rows]
    for compare, phase in (("all", "ROUND_ROBIN"), ("corner", "SEND_ALL")):
        grouping = ProactiveShuffle(1, window=len(outside), compare=compare)
        for cost in (1.0, 50.0):
            grouping.executed(0, outside, [cost] * len(outside))
        assert grouping.phase.name == phase


def test_a_pickle_made_mid_stream_goes_on_alike() -> None:
    grouping = feed(ProactiveShuffle(3, window=20), rows=333, slow=9.0)
    copy = pickle.loads(pickle.dumps(grouping))
    for one in (grouping, copy):
        feed(one, rows=200, slow=9.0)
    assert copy.route_many(np.arange(50)).tolist() == grouping.route_many(np.arange(50)).tolist()
    assert copy.estimated.tolist() == grouping.estimated.tolist()


def test_every_worker_is_a_candidate_and_all_sources_share_one_object() -> None:
    grouping = ProactiveShuffle(3)
    assert grouping.candidates("any") == (0, 1, 2)
    assert grouping.splits_keys
    assert grouping.needs_costs
    assert grouping.for_source(1, 2) is grouping


@pytest.mark.parametrize(
    "bad",
    [{"window": 0}, {"tolerance": -1}, {"epsilon": 0}, {"delta": 1}, {"clock": "x"}, {"resync": 1}],
)
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"ProactiveShuffle: {next(iter(bad))} must be"):
        ProactiveShuffle(4, **bad)


def test_bad_feedback_is_refused() -> None:
    grouping = ProactiveShuffle(4)
    with pytest.raises(InvalidParameterError, match=r"worker must be an int in \[0, 3\]"):
        grouping.executed(4, [1], [1.0])
    with pytest.raises(InvalidParameterError, match="costs must be one number per key"):
        grouping.executed(0, [1], [1.0, 2.0])
    with pytest.raises(InvalidParameterError, match="ended must be one number per key"):
        grouping.executed(0, [1], [1.0], ended=[])
