"""The step of `map_rows` without Spark around it."""

import asyncio
import time
from collections import Counter
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
from unskew.spark.worker.timed_functions import TimedRows, identified, results_of
from unskew.spark.worker.user_function import FailedRows, UserFunction

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
    called = UserFunction(
        function, "mine", ["word"], more.get("row_timeout"), more.get("retries", 0)
    )
    called = called._replace(in_flight=more.get("in_flight", 1))
    return TimedRows(called, more.get("given", GIVEN), promised, more.get("failed"))


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


NULLS = FailedRows(GIVEN, PROMISED, has_letters=False)
LETTERS = FailedRows(GIVEN, PROMISED, has_letters=True)


async def waits_and_fails_at_one(row: Row) -> tuple[int, str]:
    await asyncio.sleep(0)
    return fails_at_one(row)


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds for which plain functions would have waited before further tries."""
    seconds: list[float] = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


@pytest.mark.parametrize("function", [fails_at_one, waits_and_fails_at_one], ids=["plain", "async"])
def test_a_failed_row_becomes_nulls_that_keep_what_its_row_has(function: Any) -> None:
    expected = [{"n": number, "text": "" if number != 1 else None} for number in range(5)]
    assert run(function, 2, 3, failed=NULLS, in_flight=3) == expected


@pytest.mark.parametrize("function", [fails_at_one, waits_and_fails_at_one], ids=["plain", "async"])
def test_a_failed_row_becomes_a_letter_that_says_why(function: Any) -> None:
    rows = run(function, 3, failed=LETTERS, in_flight=2)
    letter = {"error": "KeyError: 'price'", "row": {"word": "w1", "n": 1}}
    assert rows == [
        {"n": 0, "text": "", "dead_letter": None},
        {"n": 1, "text": None, "dead_letter": letter},
        {"n": 2, "text": "", "dead_letter": None},
    ]


def test_a_row_is_tried_again_and_no_more_often_than_asked(waited: list[float]) -> None:
    calls = Counter[int]()

    def works_at_the_third_try(row: Row) -> tuple[int, str]:
        calls[row.n] += 1
        if calls[row.n] < 3:
            raise OSError("busy")
        return (row.n, "")

    assert [row["n"] for row in run(works_at_the_third_try, 2, retries=2)] == [0, 1]
    assert waited == [0.1, 0.2] * 2
    calls.clear()
    with pytest.raises(UnskewError, match=r"mine: .* at key word='w0': OSError: busy"):
        run(works_at_the_third_try, 2, retries=1)
    assert calls == {0: 2}
    calls.clear()
    rows = run(works_at_the_third_try, 2, retries=1, failed=LETTERS)
    assert [row["dead_letter"]["error"] for row in rows] == ["OSError: busy"] * 2
    assert calls == {0: 2, 1: 2}


def test_a_row_that_takes_too_long_fails_alone() -> None:
    def hangs_at_one(row: Row) -> tuple[int, str]:
        time.sleep(30 * (row.n == 1))
        return (row.n, "")

    async def waits_at_one(row: Row) -> tuple[int, str]:
        await asyncio.sleep(30 * (row.n == 1))
        return (row.n, "")

    for function in (hangs_at_one, waits_at_one):
        rows = run(function, 3, row_timeout=0.2, failed=LETTERS)
        letters = [row["dead_letter"] for row in rows]
        assert [letter is None for letter in letters] == [True, False, True]
        assert letters[1]["error"] == "TimeoutError: it took longer than row_timeout=0.2 s per row"


async def waits(row: Row) -> list[tuple[int, str]]:
    """Return ``n`` rows; the first rows take longest."""
    await asyncio.sleep(0.02 / (1 + row.n))
    return [(row.n, "")] * row.n


def test_calls_of_an_async_function_are_under_way_at_once_and_keep_their_order() -> None:
    now, most = 0, 0

    async def counts(row: Row) -> list[tuple[int, str]]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        try:
            return await waits(row)
        finally:
            now -= 1

    rows = run(counts, 12, 3, in_flight=5)
    assert [row["n"] for row in rows] == [n for n in range(15) for _ in range(n)]
    assert most == 5


def test_the_times_of_calls_under_way_at_once_add_up_to_the_time_that_passed() -> None:
    heard = Heard()
    rows = identified(batches(10), GIVEN.names)
    begin = time.perf_counter()
    list(step(waits, in_flight=10).run(rows, heard))
    assert 0.02 <= sum(heard.seconds) <= time.perf_counter() - begin
    assert heard.ids == [10 * number for number in range(10)]
    assert min(heard.seconds) > 0


def test_an_async_failure_is_an_error_that_names_the_row_and_ends_the_others() -> None:
    ended = []

    async def fails_or_waits(row: Row) -> tuple[int, str]:
        try:
            await asyncio.sleep(30 * (row.n != 1))
        except asyncio.CancelledError:
            ended.append(row.n)
            raise
        raise KeyError("price")

    with pytest.raises(UnskewError, match=r"mine: .* at key word='w1': KeyError: 'price'"):
        run(fails_or_waits, 5, in_flight=3)
    assert sorted(ended) == [0, 2]


@pytest.mark.parametrize(
    "answer",
    [("one", "a"), (1,), {"n": 1}, 5, "text", [None], (2**70, "a"), [(1, "a"), ("one", "a")]],
    ids=str,
)
def test_a_result_that_does_not_fit_fails_its_row_alone(answer: Any) -> None:
    def function(row: Row) -> Any:
        return answer if row.n == 1 else [(row.n, "a")] * 2

    rows = run(function, 4, failed=LETTERS)
    assert [row["n"] for row in rows] == [0, 0, 1, 2, 2, 3, 3]
    assert [row["text"] for row in rows] == ["a", "a", None, "a", "a", "a", "a"]
    assert rows[2]["dead_letter"]["row"] == {"word": "w1", "n": 1}
    assert rows[2]["dead_letter"]["error"]
    assert all(row["dead_letter"] is None for row in rows if row["text"])
