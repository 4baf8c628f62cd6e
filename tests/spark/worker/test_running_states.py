"""Keys and states keep their identity as bytes, and a processor merges them one by one."""

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row

from unskew.errors import UnskewError
from unskew.spark.aggregators import TopRows
from unskew.spark.worker.key_groups import key_tokens
from unskew.spark.worker.partial_states import work_step
from unskew.spark.worker.running_states import MergedStates, Packing, finish_step, packing_step

_KEYS = pa.schema([("number", pa.float64()), ("word", pa.string()), ("parts", pa.list_(pa.int8()))])
_key = st.tuples(
    st.none() | st.sampled_from([0.0, -0.0, math.nan, 1.5, math.inf]),
    st.none() | st.text(max_size=3) | st.sampled_from(['","', "null", "NaN"]),
    st.none() | st.lists(st.none() | st.integers(0, 3), max_size=2),
)


def _batch(keys: list[Any], values: list[float]) -> pa.RecordBatch:
    columns = [pa.array([key[i] for key in keys], kind) for i, kind in enumerate(_KEYS.types)]
    return pa.RecordBatch.from_arrays([*columns, pa.array(values)], [*_KEYS.names, "x"])


class _Handle:
    """Stands for Spark's state store, key by key."""

    def __init__(self) -> None:
        self.states: dict[str, tuple[bytes]] = {}
        self.key = ""

    def getValueState(self, *_: str) -> "_Handle":  # noqa: N802 (Spark's name)
        return self

    def get(self) -> tuple[bytes] | None:
        return self.states.get(self.key)

    def update(self, state: tuple[bytes]) -> None:
        self.states[self.key] = state


@settings(deadline=None, max_examples=50)
@given(batches=st.lists(st.lists(_key, min_size=1, max_size=8), min_size=1, max_size=4))
def test_results_after_every_batch_are_those_of_all_rows_so_far(batches: list[list[Any]]) -> None:
    top = TopRows("x", "word", k=2)
    packing = Packing(_KEYS, top.state_schema)
    state = pa.field("s", pa.struct(list(top.state_schema)))
    work = packing_step(work_step(top, _KEYS.names, state), packing)
    fields = [pa.field("values", pa.list_(pa.float64())), pa.field("words", pa.list_(pa.string()))]
    finish = finish_step(top, packing, fields)
    handle = _Handle()
    processor = MergedStates(top, packing)
    processor.init(handle)  # type: ignore[arg-type] # what it uses of one
    so_far: dict[Any, list[float]] = {}
    value = 0.0
    for keys in batches:
        values = [value + number for number in range(len(keys))]
        value += len(keys)
        rows = _batch(keys, values)
        tokens = key_tokens(rows.column(name) for name in _KEYS.names)
        for token, one in zip(tokens, values, strict=True):
            so_far.setdefault(token, []).append(one)
        given_out: list[Row] = []
        for packed in pa.Table.from_batches(list(work(iter([rows])))).to_pylist():
            handle.key = packed["key"]
            given_out += processor.handleInputRows(None, iter([Row(**packed)]), None)
        out = [pa.array([row[name] for row in given_out], pa.binary()) for name in ("row", "state")]
        (result,) = finish(iter([pa.record_batch(out, ["row", "state"])]))
        again = key_tokens(result.column(name) for name in _KEYS.names)
        assert sorted(map(repr, again)) == sorted(map(repr, set(tokens)))
        for token, best in zip(again, result.column("values").to_pylist(), strict=True):
            assert best == sorted(so_far[token], reverse=True)[:2]


@settings(deadline=None)
@given(keys=st.lists(_key, min_size=1, max_size=20))
def test_texts_of_keys_are_equal_exactly_where_keys_are(keys: list[Any]) -> None:
    rows = _batch(keys, [0.0] * len(keys))
    packing = Packing(_KEYS, pa.schema([("n", pa.int64())]))
    states = pa.array([{"n": 1}] * len(keys), pa.struct([("n", pa.int64())]))
    partials = pa.RecordBatch.from_arrays(
        [*rows.select(_KEYS.names).columns, states], [*_KEYS.names, "s"]
    )
    texts = packing.packed(partials)["key"].to_pylist()
    tokens = key_tokens(rows.column(name) for name in _KEYS.names)
    assert len(set(texts)) == len(set(tokens)) == len(set(zip(texts, tokens, strict=True)))


def test_a_state_of_another_schema_is_refused() -> None:
    kept = Packing(_KEYS, pa.schema([("n", pa.int64())])).packed_state((1,), "Count")
    with pytest.raises(UnskewError, match="Count: the checkpoint holds states of another"):
        Packing(_KEYS, pa.schema([("n", pa.int32())])).state(kept, "Count")
