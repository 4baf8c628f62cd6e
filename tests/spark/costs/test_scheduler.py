"""The driver's scheduler over rounds: whatever workers do and say, it never gets stuck."""

import json
from base64 import b64encode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.proactive.scheduler import SchedulerPhase
from unskew.spark.costs.scheduler import CostControl, RoundReport, work_in
from unskew.spark.worker.cost_machine import CostMachine, RowRouter
from unskew.spark.worker.cost_messages import Control, WorkDone, matrices_of, work_done_from

WORKERS, WINDOW = 3, 4
MATRICES = matrices_of(ProactiveShuffle(WORKERS, window=WINDOW))
COSTS = st.sampled_from([0.0, 1e-9, 0.001, 0.025, 3.0, -1.0, float("nan")])
ROUNDS = st.lists(
    st.lists(st.tuples(st.integers(0, 5), COSTS, st.integers(0, 1)), max_size=40), max_size=12
)


def run_round(
    control: CostControl, rows: list[tuple[int, float, int]]
) -> tuple[Control, list[WorkDone]]:
    """Route rows of two sources by what is in force, execute them, return what workers say."""
    sent = control.control()
    routers = [RowRouter(WORKERS, MATRICES, sent.schedule, source=source) for source in (0, 1)]
    workers = [int(routers[source].route(np.array([key], np.uint64))[0]) for key, _, source in rows]
    done = []
    for worker in range(WORKERS):
        own = [row for row, at in zip(rows, workers, strict=True) if at == worker]
        if own:
            machine = CostMachine(worker, MATRICES, sent)
            keys, costs, _ = zip(*own, strict=True)
            machine.take_rows(np.array(keys, np.uint64), np.array(costs))
            done.append(work_done_from(machine.finish().to_bytes()))
    return sent, done


@settings(max_examples=60, deadline=None)
@given(ROUNDS, st.data())
def test_whatever_happens_each_row_has_a_worker_and_each_epoch_an_end(
    rounds: list[list[tuple[int, float, int]]], data: st.DataObject
) -> None:
    control = CostControl(WORKERS, MATRICES)
    told: list[list[WorkDone]] = []
    for rows in rounds:
        sent, done = run_round(control, rows)
        assert sum(work.rows for work in done) == len(rows)
        told.append(done)
        # Messages may get lost, come twice, or late.
        heard = [work for work in done if data.draw(st.integers(0, 4))]
        if data.draw(st.booleans()):
            heard += data.draw(st.sampled_from(told))
        before = sent.schedule.standing
        report = control.take(heard)
        reported = any(work.report for work in heard)
        of_this_round = not heard or any(work.standing == before for work in heard)
        if before.phase != SchedulerPhase.ROUND_ROBIN and not reported and of_this_round:
            assert control.phase == SchedulerPhase.RUN
        assert control.phase != SchedulerPhase.WAIT_ALL
        assert np.isfinite(control.control().schedule.speeds).all()
        assert np.isfinite(report.busy_seconds).all()


def learn(control: CostControl, rows: list[tuple[int, float]], rounds: int) -> RoundReport:
    for _ in range(rounds):
        report = control.take(run_round(control, [(*row, 0) for row in rows])[1])
    return report


@pytest.mark.parametrize("cost", [0.0, 0.005], ids=["rows that cost nothing", "equal rows"])
def test_rows_of_equal_cost_go_round_robin(cost: float) -> None:
    control = CostControl(WORKERS, MATRICES)
    learn(control, [(key, cost) for key in range(6)] * 10, rounds=2)
    assert control.phase != SchedulerPhase.ROUND_ROBIN
    router = RowRouter(WORKERS, MATRICES, control.control().schedule, source=0)
    workers = router.route(np.arange(300, dtype=np.uint64))
    assert np.bincount(workers, minlength=WORKERS).tolist() == [100, 100, 100]


def test_the_phases_are_those_of_the_paper() -> None:
    control = CostControl(WORKERS, MATRICES)
    phases = [control.phase.name]
    rows = [(7, 0.025), (8, 0.001)] * 18
    for _ in range(2):
        report = learn(control, rows, rounds=1)
        phases.append(report.phase)
    assert phases == ["ROUND_ROBIN", "ROUND_ROBIN", "SEND_ALL"]
    # The round that carried the requests has brought the replies; a report began a new epoch.
    assert report.messages >= 2 * WORKERS
    learn(control, [], rounds=1)
    assert control.phase == SchedulerPhase.RUN


@pytest.mark.parametrize(
    ("cost", "phase"), [(0.0253, SchedulerPhase.RUN), (0.05, SchedulerPhase.SEND_ALL)], ids=str
)
def test_only_a_report_that_changes_estimates_asks_the_workers(
    cost: float, phase: SchedulerPhase
) -> None:
    control = CostControl(WORKERS, MATRICES)
    learn(control, [(7, 0.025), (8, 0.001)] * 18, rounds=2)
    learn(control, [], rounds=1)
    # The pattern of what a worker says is another one; what rows cost may be the same.
    report = learn(control, [(7, cost), (8, 0.001), (7, cost)] * 18, rounds=1)
    assert 0 < report.messages <= WORKERS  # reports, and no request
    assert control.phase == phase


def test_a_worker_that_never_gets_a_row_is_not_waited_for() -> None:
    control = CostControl(WORKERS, MATRICES)
    machine = CostMachine(1, MATRICES, None)
    machine.take_rows(np.full(30, 7, np.uint64), np.full(30, 0.01))
    control.take([machine.finish()])
    assert control.phase == SchedulerPhase.SEND_ALL


def test_what_another_query_says_is_not_taken() -> None:
    control = CostControl(WORKERS, MATRICES)
    fine = matrices_of(ProactiveShuffle(WORKERS, window=WINDOW, epsilon=0.01))
    machine = CostMachine(1, fine, None)
    machine.take_rows(np.full(30, 7, np.uint64), np.full(30, 0.01))
    assert sum(control.take([machine.finish()]).rows) == 0


def test_partitions_behind_those_of_a_union_are_workers_too() -> None:
    control = CostControl(WORKERS, MATRICES)
    machines = [CostMachine(number, MATRICES, None) for number in range(2, 2 + WORKERS)]
    for machine in machines:
        machine.take_rows(np.full(30, 7, np.uint64), np.full(30, 0.01))
    said = [
        {"worker": number, "rows": 30, "seconds": 0.3, "payload": b64encode(payload).decode()}
        for number, payload in enumerate((one.finish().to_bytes() for one in machines), start=2)
    ]
    assert control.take(work_in(json.dumps(said), WORKERS)).rows == [30] * WORKERS


def test_a_round_that_is_told_again_does_not_set_a_machine_back() -> None:
    control = CostControl(WORKERS, MATRICES)
    first = run_round(control, [(7, 0.01, 0)] * 40)[1]
    control.take(first)
    control.take(run_round(control, [(7, 0.01, 0)] * 40)[1])
    before = control.control().machines.reports
    control.take(first)
    np.testing.assert_array_equal(control.control().machines.reports, before)


def test_estimated_seconds_are_those_of_the_schedule() -> None:
    control = CostControl(WORKERS, MATRICES)
    rows = [(7, 0.025), (8, 0.001)] * 60
    assert learn(control, rows, rounds=1).estimated_seconds is None
    report = learn(control, rows, rounds=1)
    assert report.estimated_seconds == pytest.approx(report.busy_seconds)


def test_costs_that_are_never_stable_do_not_keep_a_schedule_from_beginning() -> None:
    matrices = matrices_of(ProactiveShuffle(WORKERS, window=20, tolerance=0.0))
    costs = np.random.default_rng(1).exponential(0.01, 400)
    control = CostControl(WORKERS, matrices)
    for begin in range(0, 400, 10):
        done = []
        for worker in range(WORKERS):
            machine = CostMachine(worker, matrices, control.control())
            machine.take_rows(np.full(10, 7, np.uint64), costs[begin : begin + 10])
            done.append(machine.finish(flush=machine.is_waited_for))
        control.take(done)
        if control.phase != SchedulerPhase.ROUND_ROBIN:
            break
    # The first row of a task is not learned from: 20 rows take three rounds of 9.
    assert begin == 20
    assert not CostMachine(0, matrices, control.control()).is_waited_for
