"""Laws of every stream whose rows are drawn."""

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.hashing import identities
from unskew.streams import (
    Stream,
    countries,
    countries_half,
    drift,
    lognormal,
    parse_stream,
    uniform,
    with_costs,
    zipf,
)

MESSAGES = 3_001


def every_stream(seed: int) -> list[Stream]:
    return [
        zipf(500, 1.1, MESSAGES, seed=seed),
        zipf(1, 0.0, MESSAGES, seed=seed),
        uniform(50, MESSAGES, seed=seed),
        lognormal("LN1", rows=MESSAGES, seed=seed),
        lognormal(mu=1.5, sigma=0.25, rows=MESSAGES, seed=seed),
        countries(30, MESSAGES, seed=seed),
        countries_half(80, MESSAGES, seed=seed),
        drift(1000, 1.3, 700, MESSAGES, seed=seed),
        with_costs(zipf(512, 1.0, MESSAGES, seed=seed)),
        with_costs(uniform(7, MESSAGES, seed=seed), 3, 0.5, 2.5, seed=seed + 1),
    ]


def keys_of(stream: Stream, size: int = 1 << 16) -> NDArray[np.uint64]:
    return np.concatenate([identities(batch.keys) for batch in stream.batches(size)])


def costs_of(stream: Stream, size: int = 1 << 16) -> NDArray[np.float64]:
    costs = [batch.costs for batch in stream.batches(size) if batch.costs is not None]
    return np.concatenate(costs) if costs else np.empty(0)


for_every_stream = pytest.mark.parametrize("stream", every_stream(3), ids=lambda each: each.spec)


@for_every_stream
@settings(deadline=None, max_examples=20)
@given(size=st.integers(1, 5_000))
def test_the_size_of_batches_changes_no_row(stream: Stream, size: int) -> None:
    assert np.array_equal(keys_of(stream), keys_of(stream, size))
    assert np.array_equal(costs_of(stream), costs_of(stream, size))


@for_every_stream
def test_batches_are_full_but_the_last(stream: Stream) -> None:
    sizes = [len(batch.keys) for batch in stream.batches(1000)]
    assert sizes == [1000, 1000, 1000, 1]
    assert stream.rows == MESSAGES


@for_every_stream
def test_reading_again_gives_the_same_rows(stream: Stream) -> None:
    assert np.array_equal(keys_of(stream), keys_of(stream))
    assert np.array_equal(costs_of(stream), costs_of(stream))


@for_every_stream
def test_keys_lie_below_their_number(stream: Stream) -> None:
    if stream.n_keys is not None:
        assert keys_of(stream).max() < stream.n_keys


@for_every_stream
def test_costs_come_exactly_where_the_stream_says_so(stream: Stream) -> None:
    assert costs_of(stream).size == (MESSAGES if stream.has_costs else 0)


@for_every_stream
def test_a_spec_gives_the_same_stream_back(stream: Stream) -> None:
    again = parse_stream(stream.spec, seed=stream.seed)
    assert again == stream
    assert hash(again) == hash(stream)
    assert np.array_equal(keys_of(again), keys_of(stream))
    assert np.array_equal(costs_of(again), costs_of(stream))


@for_every_stream
def test_a_pickle_gives_the_same_stream_back_without_its_tables(stream: Stream) -> None:
    keys_of(stream)
    pickled = pickle.dumps(stream)
    assert len(pickled) < 1000
    again = pickle.loads(pickled)
    assert again == stream
    assert np.array_equal(keys_of(again), keys_of(stream))


@for_every_stream
def test_a_stream_cannot_be_changed(stream: Stream) -> None:
    with pytest.raises(FrozenInstanceError):
        stream.seed = 9


@pytest.mark.parametrize(
    ("one", "other"),
    [pair for pair in zip(every_stream(3), every_stream(4), strict=True) if pair[0].n_keys != 1],
    ids=lambda each: each.spec,
)
def test_another_seed_gives_another_stream(one: Stream, other: Stream) -> None:
    assert one != other
    assert not np.array_equal(keys_of(one), keys_of(other))


def test_streams_with_other_parameters_are_not_equal() -> None:
    streams = every_stream(3)
    assert len(set(streams)) == len(streams)
    assert zipf(10, 1.0, 5) != zipf(10, 1.0, 6)
    assert zipf(10, 1.0, 5) != "zipf:keys=10,exponent=1.0,rows=5"


def test_whole_numbers_are_taken_for_reals() -> None:
    assert zipf(10, 1, 5) == zipf(10, 1.0, 5)
    assert countries(68, 5) == countries(68.0, 5)


def test_a_fresh_process_gives_the_same_rows() -> None:
    code = (
        "import sys, numpy as np\n"
        "from unskew.streams import parse_stream\n"
        "for spec in sys.argv[1:]:\n"
        "    batch = next(parse_stream(spec, seed=3).batches(1000))\n"
        "    print(batch.keys.tolist(), None if batch.costs is None else batch.costs.tolist())\n"
    )
    streams = every_stream(3)
    command = [sys.executable, "-c", code, *(stream.spec for stream in streams)]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = out.stdout.splitlines()
    assert len(lines) == len(streams)
    for stream, line in zip(streams, lines, strict=True):
        keys, costs = next(stream.batches(1000))
        assert line == f"{keys.tolist()} {None if costs is None else costs.tolist()}"


def test_a_longer_stream_begins_with_the_shorter_one() -> None:
    assert np.array_equal(keys_of(zipf(99, 1.0, 500)), keys_of(zipf(99, 1.0, 900))[:500])
