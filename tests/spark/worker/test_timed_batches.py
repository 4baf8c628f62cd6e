"""The step of `map_batches` without Spark around it."""

import asyncio
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from unskew.errors import UnskewError
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.sketches.cost_sketch import CostSketch
from unskew.spark.worker import timed_functions
from unskew.spark.worker.cost_machine import CostMachine
from unskew.spark.worker.cost_messages import matrices_of
from unskew.spark.worker.timed_functions import TimedBatches, identified
from unskew.spark.worker.user_function import FailedRows, UserFunction

SCHEMA = pa.schema([("key", pa.int64()), ("row", pa.int64())])


class Calls:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.ids: list[list[int]] = []

    def take_rows(self, ids: NDArray[np.uint64], seconds: NDArray[np.float64]) -> None:
        raise AssertionError(ids, seconds)

    def take_call(self, ids: NDArray[np.uint64], seconds: float) -> None:
        assert seconds >= 0
        self.ids.append(ids.tolist())


def step(function: Any, batch_rows: int, row_timeout: float | None = None) -> TimedBatches:
    return TimedBatches(UserFunction(function, "mine", ["key"], row_timeout), SCHEMA, batch_rows)


def run(timed: TimedBatches, keys: list[list[int]], listener: Any = None) -> list[dict[str, Any]]:
    batches, begin = [], 0
    for part in keys:
        numbers = pa.array(range(begin, begin + len(part)), pa.int64())
        key = pa.array(part, pa.int64())
        batches.append(pa.record_batch([key, numbers, key], ["a", "b", "c"]))
        begin += len(part)
    results = timed.run(identified(iter(batches), SCHEMA.names), listener)
    return [row for batch in results for row in batch.to_pylist()]


KEYS = st.lists(st.lists(st.integers(0, 4), max_size=12), max_size=4)


@settings(deadline=None)
@given(KEYS, st.integers(1, 7))
def test_every_row_is_in_one_call_and_calls_are_as_small_as_asked(
    keys: list[list[int]], batch_rows: int
) -> None:
    calls, seen = Calls(), list[pa.RecordBatch]()

    def function(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch)
        return batch

    flat = [key for part in keys for key in part]
    result = run(step(function, batch_rows), keys, calls)
    assert sorted(row["row"] for row in result) == list(range(len(flat)))
    assert all(row["key"] == flat[row["row"]] for row in result)
    assert [batch["key"].to_pylist() for batch in seen] == calls.ids
    assert all(0 < len(ids) <= batch_rows for ids in calls.ids)
    # Sorted: at most one call a key more than there would be with one key.
    mixed = sum(len(set(ids)) > 1 for ids in calls.ids)
    assert mixed <= max(0, len(set(flat)) - 1)


def test_the_time_of_mixed_calls_is_divided_until_it_is_right() -> None:
    """Keys 1 and 2 cost 1 and 9, and three of four calls hold both."""
    rng = np.random.default_rng(1)
    matrices = matrices_of(ProactiveShuffle(1, window=400))
    machine = CostMachine(0, matrices, None)
    truth = {1: 1.0, 2: 9.0}
    for call in range(400):
        ids = np.sort(rng.choice([1, 2], 8) if call % 4 else np.full(8, 1 + call // 4 % 2))
        machine.take_call(ids.astype(np.uint64), sum(truth[key] for key in ids.tolist()))
    report = machine.finish().report
    assert report is not None
    sketch = CostSketch()
    sketch._cells, sketch._parameters = report.cells, matrices.parameters
    assert sketch.estimate_many([1, 2]) == pytest.approx([1.0, 9.0], rel=0.1)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sampled_from([0.0, 0.5, 1e9]))
def test_the_shares_of_a_call_are_its_time(keys: list[int], seconds: float) -> None:
    machine = CostMachine(0, matrices_of(ProactiveShuffle(1)), None)
    machine.take_call(np.array([3, 4], np.uint64), 0.0)
    machine.take_call(np.array(keys, np.uint64), seconds)
    done = machine.finish()
    assert done.rows == len(keys) + 2
    assert done.busy_seconds == pytest.approx(seconds)


def test_other_workers_begin_with_other_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    firsts = []
    for worker in range(4):
        monkeypatch.setattr(timed_functions, "partition_number", lambda worker=worker: worker)
        calls = Calls()
        run(step(lambda batch: batch, 5), [[0, 1, 2] * 5], calls)
        firsts.append(calls.ids[0][0])
    assert firsts == [0, 1, 2, 0]


def fails(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise KeyError("price")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (fails, "KeyError: 'price'"),
        (lambda batch: batch.select([0]), "must have the columns key int64, row int64; got key"),
        (lambda _: None, "must be a pyarrow.Table"),
        (lambda _: time.sleep(9), "longer than row_timeout=0.05 s per row"),
    ],
    ids=["raises", "columns", "nothing", "hangs"],
)
def test_an_error_names_the_function_and_the_first_key(function: Any, words: str) -> None:
    with pytest.raises(UnskewError, match=rf"mine: .* worker \S at key key=7: .*{words}"):
        run(step(function, 2, row_timeout=0.05), [[9, 7]])


def test_a_table_will_do_and_any_number_of_rows() -> None:
    def twice(batch: pa.RecordBatch) -> pa.Table:
        return pa.Table.from_batches([batch, batch])

    assert len(run(step(twice, 3), [[1] * 7])) == 14
    assert run(step(lambda _: SCHEMA.empty_table(), 3), [[1] * 7]) == []


def fails_on_three(batch: pa.RecordBatch) -> pa.RecordBatch:
    if 3 in batch["row"].to_pylist():
        raise KeyError("price")
    return batch


async def waits_and_fails_on_three(batch: pa.RecordBatch) -> pa.RecordBatch:
    await asyncio.sleep(0.001)
    return fails_on_three(batch)


def surviving(function: Any, policy: FailedRows, **how: Any) -> TimedBatches:
    called = UserFunction(function, "mine", ["key"], **how)
    return TimedBatches(called, SCHEMA, 8, (policy, to_arrow_schema(policy.schema)))


KINDS = from_arrow_schema(SCHEMA)


@pytest.mark.parametrize("function", [fails_on_three, waits_and_fails_on_three])
def test_only_rows_that_fail_alone_have_failed(function: Any) -> None:
    letters = FailedRows(KINDS, KINDS, has_letters=True)
    rows = run(surviving(function, letters, in_flight=2), [[1] * 7, [2] * 13])
    assert sorted(row["row"] for row in rows) == list(range(20))
    failed = {row["row"]: row["dead_letter"] for row in rows if row["dead_letter"]}
    assert failed == {3: {"error": "KeyError: 'price'", "row": {"key": 1, "row": 3}}}


def test_failed_rows_of_a_batch_become_nulls_that_keep_what_their_row_has() -> None:
    given = KINDS
    promised = from_arrow_schema(pa.schema([("row", pa.int64()), ("answer", pa.string())]))
    policy = FailedRows(given, promised, has_letters=False)

    def answer(batch: pa.RecordBatch) -> pa.RecordBatch:
        fails_on_three(batch)
        return pa.record_batch({"row": batch["row"], "answer": ["yes"] * batch.num_rows})

    called = UserFunction(answer, "mine", ["key"])
    schema = to_arrow_schema(promised)
    rows = run(TimedBatches(called, schema, 4, (policy, schema)), [[1] * 6])
    found = {row["row"]: row["answer"] for row in rows}
    assert found == {n: None if n == 3 else "yes" for n in range(6)}


def test_a_call_is_tried_again_before_its_rows_are_parted() -> None:
    sizes: list[int] = []

    def works_at_the_second_try(batch: pa.RecordBatch) -> pa.RecordBatch:
        sizes.append(batch.num_rows)
        if len(sizes) % 2:
            raise OSError("busy")
        return batch

    letters = FailedRows(KINDS, KINDS, has_letters=True)
    rows = run(surviving(works_at_the_second_try, letters, retries=1), [[1] * 8])
    assert sizes == [8, 8]
    assert [row["dead_letter"] for row in rows] == [None] * 8


def test_async_calls_are_under_way_at_once_and_each_is_told() -> None:
    now, most = 0, 0

    async def counts(batch: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return batch

    calls = Calls()
    called = UserFunction(counts, "mine", ["key"], in_flight=3)
    rows = run(TimedBatches(called, SCHEMA, 2, None), [[1] * 12], calls)
    assert (most, len(rows), len(calls.ids)) == (3, 12, 6)
