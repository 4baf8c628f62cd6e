"""Aggregators keep the laws of merging, and whoever breaks one is told which."""

import math
import pickle
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import UnskewError
from unskew.spark.aggregators import (
    Aggregator,
    AggregatorLawError,
    Mean,
    State,
    TopRows,
    check_laws,
)
from unskew.spark.worker.key_groups import key_codes, key_tokens, sorted_groups
from unskew.spark.worker.partial_states import merge_step, work_step
from unskew.spark.worker.results import as_promised
from unskew.spark.worker.whole_groups import consecutive_groups

_numbers = st.none() | st.floats(-1e6, 1e6) | st.just(math.nan)
_rows = st.tuples(_numbers, st.none() | st.sampled_from("abc"))
_parts = st.lists(st.lists(_rows, min_size=1, max_size=8), min_size=1, max_size=5)


def _batch(rows: Sequence[tuple[float | None, str | None]]) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "x": pa.array([x for x, _ in rows], pa.float64()),
            "word": pa.array([word for _, word in rows], pa.string()),
        }
    )


@settings(deadline=None)
@given(parts=_parts)
def test_top_rows_keeps_the_laws_and_is_a_plain_sort(parts: list[list[Any]]) -> None:
    top = TopRows("x", "word", k=3)
    check_laws(top, [_batch(part) for part in parts], rel_tol=0)
    state = top.init()
    for part in parts:
        state = top.merge(state, top.update(top.init(), _batch(part)))
    known = [(x, word) for part in parts for x, word in part if x is not None and x == x]
    expected = sorted(known, key=lambda pair: (-pair[0], pair[1] is None, pair[1] or ""))[:3]
    values, words = top.finish(state)
    assert list(zip(values, words, strict=True)) == expected


@settings(deadline=None)
@given(parts=st.lists(st.lists(st.integers(-1000, 1000), min_size=1), min_size=1, max_size=5))
def test_mean_keeps_the_laws_and_is_the_mean(parts: list[list[int]]) -> None:
    mean = Mean("x")
    check_laws(mean, [pa.record_batch({"x": pa.array(part, pa.int64())}) for part in parts])
    state = mean.init()
    for part in parts:
        state = mean.update(state, pa.record_batch({"x": pa.array(part, pa.int64())}))
    everything = [x for part in parts for x in part]
    assert mean.finish(state) == (sum(everything) / len(everything),)


class _Sum(Aggregator):
    """Lawful; the tests break one law at a time."""

    state_schema = pa.schema([("sum", pa.int64())])

    def init(self) -> State:
        return (0,)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        return (state[0] + sum(batch["x"].to_pylist()),)

    def merge(self, a: State, b: State) -> State:
        return (a[0] + b[0],)

    def finish(self, state: State) -> State:
        return state


class _StartsAtOne(_Sum):
    def init(self) -> State:
        return (1,)


class _KeepsTheFirst(_Sum):
    def update(self, state: State, batch: pa.RecordBatch) -> State:
        return (state[0] or batch["x"][0].as_py(),)

    def merge(self, a: State, b: State) -> State:
        return (a[0] or b[0],)


class _Distance(_Sum):
    """Commutative, not associative."""

    def merge(self, a: State, b: State) -> State:
        return (a[0] + b[0] if 0 in (a[0], b[0]) else abs(a[0] - b[0]),)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        for x in batch["x"].to_pylist():
            state = self.merge(state, (x,))
        return state


class _CountsBatches(_Sum):
    def update(self, state: State, batch: pa.RecordBatch) -> State:
        return (state[0] + 1,)


class _Overwrites(_Sum):
    def update(self, state: State, batch: pa.RecordBatch) -> State:
        return (sum(batch["x"].to_pylist()),)


class _ComesBackAsText(_Sum):
    state_schema = pa.schema([("sum", pa.string())])

    def init(self) -> State:
        return (b"",)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        return (state[0] + b"x" * batch.num_rows,)


@pytest.mark.parametrize(
    ("aggregator", "law", "parts"),
    [
        (_StartsAtOne(), "identity", [[3, 1]]),
        (_KeepsTheFirst(), "commutative", [[3, 1], [5]]),
        (_Distance(), "associative", [[2], [5], [9]]),
        (_CountsBatches(), "cut anywhere", [[3, 1]]),
        (_Overwrites(), "update after update", [[3], [5]]),
        (_ComesBackAsText(), "survives", [[3]]),
    ],
)
def test_a_broken_law_is_named(aggregator: Aggregator, law: str, parts: list[list[int]]) -> None:
    batches = [pa.record_batch({"x": part}) for part in parts]
    check_laws(_Sum(), batches)
    with pytest.raises(AggregatorLawError, match=law) as broken:
        check_laws(aggregator, batches)
    assert type(aggregator).__name__ in str(broken.value)


def test_laws_cannot_be_checked_on_nothing() -> None:
    with pytest.raises(AggregatorLawError, match="no rows"):
        check_laws(_Sum(), [pa.record_batch({"x": pa.array([], pa.int64())})])


_key_values = st.lists(
    st.tuples(
        st.none() | st.sampled_from([0.0, -0.0, math.nan, -math.nan, 1.5]),
        st.none() | st.sampled_from(["", "a", "b"]),
        st.none()
        | st.lists(st.none() | st.sampled_from([0.0, -0.0, math.nan, -math.nan]), max_size=2),
        st.none() | st.integers(0, 2),
    ),
    max_size=30,
)


def _keys_table(rows: list[tuple[Any, ...]]) -> pa.Table:
    kinds = [pa.float64(), pa.string(), pa.list_(pa.float64()), pa.int64()]
    columns = [[row[i] for row in rows] for i in range(len(kinds))]
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)],
        names=["a", "b", "c", "d"],
    )


def _spelled(value: object) -> str:
    """Spell a key so that equal keys, as Spark's groupBy sees them, have equal spellings."""
    return repr(value).replace("-0.0", "0.0")


@settings(deadline=None)
@given(rows=_key_values)
def test_codes_and_tokens_are_equal_exactly_where_keys_are(rows: list[tuple[Any, ...]]) -> None:
    table = _keys_table(rows)
    codes, tokens = key_codes(table.columns).tolist(), key_tokens(table.columns)
    for i in range(len(rows)):
        for j in range(i):
            same = _spelled(rows[i]) == _spelled(rows[j])
            assert (codes[i] == codes[j]) == same == (tokens[i] == tokens[j])


@settings(deadline=None)
@given(codes=st.lists(st.integers(0, 5)))
def test_sorted_groups_hold_every_row_once_in_its_order(codes: list[int]) -> None:
    order, starts = sorted_groups(np.array(codes, np.int64))
    groups = [part.tolist() for part in np.split(order, starts[1:])] if codes else []
    assert sorted(groups) == sorted(
        [i for i, code in enumerate(codes) if code == one] for one in set(codes)
    )


@settings(deadline=None)
@given(rows=_key_values, cuts=st.lists(st.integers(0, 30), max_size=4))
def test_consecutive_groups_do_not_depend_on_where_batches_end(
    rows: list[tuple[Any, ...]], cuts: list[int]
) -> None:
    table = _keys_table(sorted(rows, key=_spelled))
    ends = sorted({0, *(min(cut, len(rows)) for cut in cuts), len(rows)})
    batches = [
        batch
        for begin, end in pairwise(ends)
        for batch in table.slice(begin, end - begin).combine_chunks().to_batches()
    ]
    groups = [group.num_rows for group in consecutive_groups(iter(batches), table.column_names)]
    spelled = [_spelled(row) for row in rows]
    assert groups == [spelled.count(one) for one in sorted(set(spelled))]


@settings(deadline=None, max_examples=30)
@given(
    keys=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40),
    most_states=st.integers(1, 8),
    size=st.integers(1, 10),
)
def test_partial_states_add_up_however_often_memory_is_let_go(
    keys: list[str], most_states: int, size: int
) -> None:
    table = pa.table({"k": keys, "x": list(range(len(keys)))})
    state = pa.field("s", pa.struct(list(_Sum.state_schema)))
    step = work_step(_Sum(), ["k"], state, most_states=most_states)
    found: dict[str, int] = {}
    for batch in step(iter(table.to_batches(max_chunksize=size))):
        for row in batch.to_pylist():
            found[row["k"]] = found.get(row["k"], 0) + row["s"]["sum"]
    assert found == {key: sum(i for i, one in enumerate(keys) if one == key) for key in set(keys)}


def test_memory_is_let_go_when_there_are_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unskew.spark.worker.partial_states._ROUND_ROWS", 10)
    table = pa.table({"k": [i % 50 for i in range(100)], "x": [1] * 100})
    state = pa.field("s", pa.struct(list(_Sum.state_schema)))
    batches = table.to_batches(max_chunksize=10)
    emitted = list(work_step(_Sum(), ["k"], state, most_states=15)(iter(batches)))
    assert [batch.num_rows for batch in emitted] == [20, 20, 20, 20, 20]


def test_a_state_that_does_not_fit_its_schema_is_named() -> None:
    class Wrong(_Sum):
        def update(self, state: State, batch: pa.RecordBatch) -> State:
            return ("many",)

    state = pa.field("s", pa.struct(list(Wrong.state_schema)))
    batch = pa.record_batch({"k": ["a"], "x": [1]})
    with pytest.raises(UnskewError, match=r"Wrong: the state .* sum must be int64, got 'many'"):
        list(work_step(Wrong(), ["k"], state)(iter([batch])))


def test_a_result_that_is_no_row_is_named() -> None:
    class Bare(_Sum):
        def finish(self, state: State) -> Any:
            return state[0]

    states = pa.array([[{"sum": 1}, {"sum": 2}]], pa.list_(pa.struct(list(Bare.state_schema))))
    batch = pa.record_batch({"k": pa.array(["a"]), "s": states})
    with pytest.raises(UnskewError, match=r"Bare: the result must be a tuple of \(total\), got 3"):
        list(merge_step(Bare(), 1, [pa.field("total", pa.int64())])(iter([batch])))


def test_results_of_the_same_type_of_spark_are_taken_and_others_refused() -> None:
    inner = pa.struct([pa.field("a", pa.string(), nullable=False)])
    promised = pa.schema(
        [
            pa.field("l", pa.list_(pa.field("element", inner, nullable=False)), nullable=False),
            pa.field("t", pa.timestamp("us", "UTC")),
        ]
    )
    lists = pa.array([[{"a": "x"}]], pa.list_(pa.struct([("a", pa.large_string())])))
    times = pa.array([5], pa.timestamp("us", "Europe/Zurich"))
    taken = as_promised(pa.table({"t": times, "l": lists}), promised, "mine")
    assert taken.schema.equals(promised)
    assert taken["l"].to_pylist() == [[{"a": "x"}]]
    no_zone = pa.table({"t": times.cast(pa.timestamp("us")), "l": lists})
    with pytest.raises(UnskewError, match=r"mine: the result must have .* got t timestamp\[us\]"):
        as_promised(no_zone, promised, "mine")
    null = pa.table({"t": times, "l": pa.array([None], lists.type)})
    with pytest.raises(UnskewError, match=r"mine: the result does not fit its schema: .*'l'"):
        as_promised(null, promised, "mine")
    with pytest.raises(UnskewError, match=r"mine: the result must be a pyarrow.Table, got 3"):
        as_promised(3, promised, "mine")


def test_shipped_aggregators_pickle() -> None:
    top = pickle.loads(pickle.dumps(TopRows("x", "word", k=2)))
    assert (top.column, top.label_column, top.k) == ("x", "word", 2)


def test_python_workers_load_neither_numba_nor_spark_for_the_work_steps() -> None:
    program = """
import sys, types, unskew
package = types.ModuleType("unskew.spark")  # without the package's own imports
package.__path__ = [unskew.__path__[0] + "/spark"]
sys.modules["unskew.spark"] = package
import unskew.spark.worker.partial_states, unskew.spark.worker.whole_groups
import unskew.spark.worker.stats_rows
import unskew.spark.aggregators
print(sorted({"numba", "pyspark", "pandas"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
