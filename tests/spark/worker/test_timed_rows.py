"""The step of `map_rows` without Spark around it."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyspark.sql import Row
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from unskew.errors import UnskewError
from unskew.spark.worker import timed_functions
from unskew.spark.worker.timed_functions import TimedRows, UserFunction, identified, results_of

GIVEN = StructType().add("word", "string").add("n", "long")
PROMISED = StructType().add("n", "long").add("text", "string")


class Heard:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.seconds: list[float] = []

    def take_rows(self, ids: NDArray[np.uint64], seconds: NDArray[np.float64]) -> None:
        self.ids += ids.tolist()
        self.seconds += seconds.tolist()

    def take_call(self, ids: NDArray[np.uint64], seconds: float) -> None:
        raise AssertionError(ids, seconds)


def batches(*sizes: int) -> Iterator[pa.RecordBatch]:
    """Yield batches of numbered rows: word, n, and as identity 10 times n."""
    begin = 0
    for size in sizes:
        numbers = list(range(begin, begin + size))
        words = [f"w{number}" for number in numbers]
        ids = [10 * number for number in numbers]
        yield pa.record_batch([pa.array(words), pa.array(numbers), pa.array(ids)], ["a", "b", "c"])
        begin += size


def step(function: Any, promised: StructType = PROMISED, **more: Any) -> TimedRows:
    called = UserFunction(function, "mine", ["word"], more.get("row_timeout"))
    return TimedRows(called, more.get("given", GIVEN), promised)


def run(function: Any, *sizes: int, **more: Any) -> list[dict[str, Any]]:
    results = results_of(step(function, **more), GIVEN.names)(batches(*sizes))
    return [row for batch in results for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "function",
    [
        lambda row: (row.n, row.word),
        lambda row: Row(n=row.n, text=row.word),
        lambda row: Row(text=row.word, n=row["n"]),
        lambda row: {"text": row.word, "n": row[1]},
        lambda row: [(row.n, row.word)],
        lambda row: iter([{"n": row.n, "text": row.word}]),
    ],
    ids=["tuple", "row", "row in another order", "dict", "list", "iterator"],
)
def test_a_function_may_return_rows_in_many_shapes(function: Any) -> None:
    assert run(function, 2, 0, 1) == [{"n": number, "text": f"w{number}"} for number in range(3)]


def test_a_function_may_return_no_row_or_many() -> None:
    def function(row: Row) -> list[tuple[int, str]] | None:
        return [(row.n, "x")] * row.n if row.n != 1 else None

    assert [row["n"] for row in run(function, 4)] == [2, 2, 3, 3, 3]
    assert run(lambda _: None, 4) == []


def test_values_come_as_from_collect_and_go_back_as_promised() -> None:
    moment = datetime(2024, 5, 1, 12, tzinfo=UTC)
    columns = [
        pa.array([moment], pa.timestamp("us", "UTC")),
        pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
        pa.array([{"x": 1}], pa.struct([("x", pa.int32())])),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
        pa.array([[1, None]], pa.list_(pa.int32())),
        pa.array([b"z"]),
        pa.array([0]),
    ]
    batch = pa.record_batch(columns, list("tdsmlbi"))
    kinds = from_arrow_schema(batch.select(range(6)).schema)
    called = UserFunction(lambda row: row, "mine", ["t"], None)
    same = TimedRows(called, kinds, kinds)
    result = next(results_of(same, kinds.names)(iter([batch])))
    assert result.to_pylist() == batch.select(range(6)).to_pylist()


def test_each_row_is_timed_with_its_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0, 5, 100, 107, 300, 100])  # the third row sees the clock go back
    monkeypatch.setattr(timed_functions, "perf_counter_ns", lambda: next(clock))
    heard = Heard()
    rows = identified(batches(2, 1), GIVEN.names)
    list(step(lambda row: (row.n, row.word)).run(rows, heard))
    assert heard.ids == [0, 10, 20]
    assert heard.seconds == pytest.approx([5e-9, 7e-9, -200e-9])


def test_the_work_of_an_iterator_is_timed() -> None:
    def slowly(row: Row) -> Iterator[tuple[int, str]]:
        time.sleep(0.02)
        yield (row.n, row.word)

    heard = Heard()
    list(step(slowly).run(identified(batches(1), GIVEN.names), heard))
    assert heard.seconds[0] >= 0.02


def fails_at_one(row: Row) -> tuple[int, str]:
    if row.n == 1:
        raise KeyError("price")
    return (row.n, "")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (fails_at_one, "KeyError: 'price'"),
        (lambda row: (row.n, "a") if row.n != 1 else ("one", "a"), r"returned \('one', 'a'\)"),
        (lambda row: (row.n, "a") if row.n != 1 else (1,), "expected 2 values"),
        (lambda row: [(0, "a")] * 3 if row.n != 1 else {"n": 1}, "its columns are n"),
        (lambda row: (row.n, "a") if row.n != 1 else 5, "returned 5; expected a Row"),
        (lambda row: (row.n, "a") if row.n != 1 else "text", "returned 'text'; expected a Row"),
        (lambda row: (row.n, "a") if row.n != 1 else [None], "returned None"),
        (lambda row: (row.n, "a") if row.n != 1 else (2**70, "a"), "n:bigint"),
        (lambda row: (row.n, "a") if row.n != 1 else time.sleep(9), "longer than row_timeout=0.1"),
    ],
    ids=["raises", "type", "short", "names", "number", "text", "none", "overflow", "hangs"],
)
def test_an_error_names_the_function_and_the_row(function: Any, words: str) -> None:
    limit = 0.1 if "row_timeout" in words else None
    with pytest.raises(UnskewError, match=rf"mine: .* worker \S at key word='w1': .*{words}"):
        run(function, 1, 3, row_timeout=limit)


def test_a_null_where_none_may_be_is_an_error() -> None:
    strict = StructType().add("n", "long", nullable=False).add("text", "string")
    with pytest.raises(UnskewError, match="must not be None"):
        run(lambda _: (None, "a"), 2, promised=strict)
