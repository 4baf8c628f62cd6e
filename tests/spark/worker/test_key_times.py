"""Work steps time their calls by key, with clocks that can be told."""

from collections import Counter
from collections.abc import Callable, Generator, Iterator

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.grouped_cases import SumAndCount
from tests.spark.measured_cases import Clock

from unskew.groupings.plan import HASHED_MEMBER, slots_of
from unskew.spark.aggregators import State
from unskew.spark.worker import key_times
from unskew.spark.worker.key_times import KeyTimes, Timing, WorkTimes
from unskew.spark.worker.partial_states import first_update, work_step
from unskew.spark.worker.whole_groups import gathered_groups_step, group_call, measuring_step

IDS = {"slow": 7 << 40, "fast": -(9 << 50)}
ROWS = [("slow", 1), ("fast", 2), ("slow", 3), ("fast", 4), ("fast", 5)]
TIMING = Timing("id", 64, 8)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    told = Clock()
    monkeypatch.setattr(key_times.Timing, "start", lambda one: KeyTimes(*one[1:], clock=told))
    return told


class CostlySum(SumAndCount):
    """A row of the key slow takes 20 s, any other 1 s."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        assert batch.schema.names == ["user", "x"]
        self.clock.now += batch.num_rows * (20 if batch["user"][0].as_py() == "slow" else 1)
        return super().update(state, batch)


def batches() -> Iterator[pa.RecordBatch]:
    users, numbers = zip(*ROWS, strict=True)
    ids = [IDS[user] for user in users]
    rows = pa.record_batch({"user": list(users), "x": list(numbers), "id": ids})
    return iter([rows.slice(0, 2), rows.slice(2)])


def run(step: Callable[[Iterator[pa.RecordBatch]], object]) -> tuple[list[pa.RecordBatch], object]:
    results = step(batches())
    assert isinstance(results, Generator)
    got = []
    while True:
        try:
            got.append(next(results))
        except StopIteration as end:
            return got, end.value


def seconds_of(payload: object) -> dict[int, float]:
    assert isinstance(payload, bytes)
    times = WorkTimes.unpacked(payload)
    by_key = dict(zip(times.ids.view(np.int64).tolist(), times.key_seconds.tolist(), strict=True))
    slots = slots_of(times.ids, HASHED_MEMBER, TIMING.n_slots)
    for by_slot, of_keys in (
        (times.slot_seconds, times.key_seconds),
        (times.slot_rows, times.key_rows),
    ):
        np.testing.assert_allclose(by_slot, np.bincount(slots, of_keys, TIMING.n_slots))
    rows = dict(zip(times.ids.view(np.int64).tolist(), times.key_rows.tolist(), strict=True))
    assert rows == {IDS["slow"]: 2, IDS["fast"]: 3}
    return by_key


def test_updates_are_timed_by_key_and_never_see_the_identity(clock: Clock) -> None:
    aggregator = CostlySum(clock)
    states = pa.field("state", pa.struct([("total", pa.int64()), ("n", pa.int64())]))
    got, payload = run(work_step(aggregator, ["user"], states, timing=TIMING))
    assert seconds_of(payload) == {IDS["slow"]: 40.0, IDS["fast"]: 3.0}
    found = {row["user"]: row["state"] for part in got for row in part.to_pylist()}
    assert found == {"slow": {"total": 4, "n": 2}, "fast": {"total": 11, "n": 3}}


def test_whole_groups_are_timed_by_key_and_never_see_the_identity(clock: Clock) -> None:
    def work(table: pa.Table) -> pa.Table:
        clock.now += table.num_rows * (20 if table["user"][0].as_py() == "slow" else 1)
        return table

    schema = pa.schema([("user", pa.string()), ("x", pa.int64())])
    got, payload = run(
        gathered_groups_step(group_call(work, ["user"], schema), ["user"], timing=TIMING)
    )
    assert seconds_of(payload) == {IDS["slow"]: 40.0, IDS["fast"]: 3.0}
    rows = [tuple(row.values()) for part in got for row in part.to_pylist()]
    assert Counter(rows) == Counter(ROWS)


def test_a_step_that_is_not_timed_has_no_payload() -> None:
    states = pa.field("state", pa.struct([("total", pa.int64()), ("n", pa.int64())]))
    _, payload = run(work_step(SumAndCount(), ["user"], states))
    assert payload is None


def test_a_sample_is_measured_without_what_the_first_call_takes(clock: Clock) -> None:
    class LoadsFirst(CostlySum):
        loaded = False

        def update(self, state: State, batch: pa.RecordBatch) -> State:
            if not self.loaded:
                self.clock.now += 1000
                self.loaded = True
            return super().update(state, batch)

    call = first_update(LoadsFirst(clock), ["user"])
    step = measuring_step(call, ["user", "x", "id"], ["user"], clock=clock)
    (measured,), _ = run(step)
    rows = [tuple(row.values()) for row in measured.to_pylist()]
    assert sorted(rows) == sorted([(IDS["slow"], 2, 40.0), (IDS["fast"], 3, 3.0)])


def test_beyond_a_bound_only_the_most_expensive_keys_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_times, "_MOST_KEYS", 20)
    monkeypatch.setattr(key_times, "_KEYS_KEPT", 5)
    clock = Clock()

    def work(seconds: float) -> None:
        clock.now += seconds

    times = KeyTimes(16, 3, clock=clock)
    costs = {key << 54: 1.0 for key in range(100)} | {5 << 54: 50.0, 77 << 54: 70.0}
    for key, seconds in costs.items():
        times.call(key, 2, work, seconds)
    summary = times.summary()
    assert summary.ids[:2].tolist() == [77 << 54, 5 << 54]
    assert summary.key_seconds[:2].tolist() == [70.0, 50.0]
    assert summary.slot_seconds.sum() == sum(costs.values())
    assert summary.slot_rows.sum() == 2 * len(costs)


def test_a_clock_that_goes_back_costs_nothing() -> None:
    ticks = iter([5.0, 2.0])
    times = KeyTimes(2, 2, clock=lambda: next(ticks))
    times.call(7, 1, int)
    assert times.summary().slot_seconds.tolist() == [0.0, 0.0]
