"""Streams of keys that are given."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidKeyError, InvalidParameterError
from unskew.hashing import Keys, identities
from unskew.streams import Stream, from_keys

numbers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50)
texts = st.lists(st.text(max_size=5), max_size=50)


def ids_of(stream: Stream, size: int) -> list[int]:
    return [int(key) for batch in stream.batches(size) for key in identities(batch.keys)]


@settings(deadline=None)
@given(keys=numbers | texts, size=st.integers(1, 60))
def test_the_rows_are_the_keys_given_in_their_order(keys: list[int] | list[str], size: int) -> None:
    stream = from_keys(keys)
    assert ids_of(stream, size) == identities(keys).tolist()
    assert stream.rows == len(keys)
    assert all(len(batch.keys) <= size for batch in stream.batches(size))


@pytest.mark.parametrize(
    "keys",
    [
        np.array([3, 1, 2], np.int32),
        np.array([3, 1, 2], np.uint64),
        np.array(["a", "b", "a"]),
        np.array(["a", "b", "a"], object),
        pa.array(["a", "b", "a"]),
        pa.chunked_array([["a"], ["b", "a"]]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        ("a", "b", "a"),
        [b"a", b"b", b"a"],
    ],
    ids=lambda keys: f"{type(keys).__name__} {getattr(keys, 'dtype', getattr(keys, 'type', ''))}",
)
def test_every_container_of_keys_is_taken(keys: Keys) -> None:
    assert ids_of(from_keys(keys), 2) == identities(keys).tolist()


def test_keys_of_a_generator_are_taken_once() -> None:
    stream = from_keys(key for key in "abc")
    assert ids_of(stream, 2) == ids_of(stream, 2) == identities(["a", "b", "c"]).tolist()


def test_a_stream_does_not_change_with_the_array_it_was_made_of() -> None:
    keys = np.array([1, 2, 3], np.uint64)
    costs = np.array([1.0, 2.0, 3.0])
    stream = from_keys(keys, costs)
    keys[:], costs[:] = 0, 0.0
    batch = next(stream.batches())
    assert batch.costs is not None
    assert (batch.keys.tolist(), batch.costs.tolist()) == ([1, 2, 3], [1.0, 2.0, 3.0])


def test_costs_are_cut_like_keys() -> None:
    stream = from_keys(["a", "b", "c"], [1, 2.5, 0])
    batches = list(stream.batches(2))
    assert stream.has_costs
    assert [batch.costs.tolist() for batch in batches if batch.costs is not None] == [
        [1.0, 2.5],
        [0.0],
    ]


def test_streams_are_equal_where_their_rows_are() -> None:
    assert from_keys(["a", "b"]) == from_keys(pa.array(["a", "b"]))
    assert from_keys([1, 2]) != from_keys([2, 1])
    assert from_keys([1, 2]) != from_keys([1, 2], [1, 1])
    assert from_keys([1, 2], [1, 2]) != from_keys([1, 2], [1, 1])
    assert pickle.loads(pickle.dumps(from_keys([1], [2]))) == from_keys([1], [2])


@pytest.mark.parametrize(
    "costs",
    [[1.0], [1.0, -1.0], [1.0, float("nan")], [1.0, float("inf")], [[1.0, 2.0]]],
    ids=["too few", "negative", "not a number", "infinite", "of another shape"],
)
def test_bad_costs_are_refused(costs: list[float]) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        from_keys(["a", "b"], costs)
    assert (caught.value.owner, caught.value.parameter) == ("from_keys", "costs")


@pytest.mark.parametrize("keys", [["a", None], [1.5], "a"], ids=["null", "float", "one key"])
def test_bad_keys_are_refused(keys: Keys) -> None:
    with pytest.raises(InvalidKeyError):
        from_keys(keys)
