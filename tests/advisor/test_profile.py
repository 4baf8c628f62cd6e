"""Profiles: what is counted is exact, what is estimated is near, and neither depends on batches."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.advisor.drift import measure_drift
from unskew.advisor.fitting import fit_zipf, unseen_keys
from unskew.advisor.key_counts import NULL_ID, count_by_key, identities_and_nulls
from unskew.advisor.profile import KeyProfile
from unskew.advisor.profiling import profile_stream
from unskew.errors import InvalidParameterError, StreamError
from unskew.hashing import identities
from unskew.streams import (
    Batch,
    Stream,
    countries_half,
    drift,
    from_keys,
    parse_stream,
    uniform,
    zipf,
)


@dataclass(frozen=True, eq=False)
class Endless(Stream):
    """Rows whose number is not known before the last one."""

    name: ClassVar[str] = "endless"
    batch: Batch
    rows: int | None = None
    seed: int = 0

    @property
    def spec(self) -> str:
        return self.name

    def _batches(self, size: int) -> Iterator[Batch]:
        return from_keys(self.batch.keys).batches(size)


def endless(keys: NDArray[np.uint64]) -> Stream:
    return Endless(Batch(keys, None))


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=300))
def test_a_profile_of_all_rows_is_a_count_of_them(keys: list[str]) -> None:
    profile = profile_stream(from_keys(keys))
    expected = Counter(keys).most_common()
    assert (profile.rows, profile.counted, profile.keys) == (len(keys), len(keys), len(expected))
    assert profile.keys_exact
    assert profile.p1 == expected[0][1] / len(keys)
    assert {each.key: each.rows for each in profile.top(8)} == dict(expected)


def test_windows_hold_every_row_once_whatever_the_length_of_the_stream() -> None:
    keys = np.arange(300_001, dtype=np.uint64) % 97
    for stream in (from_keys(keys), endless(keys)):
        profile = profile_stream(stream)
        assert sum(each.total for each in profile.windows) == keys.size
        assert 160 <= len(profile.windows) <= 640


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5, 2.0])
def test_the_exponent_of_a_zipf_stream_is_found(exponent: float) -> None:
    profile = profile_stream(zipf(keys=10_000, exponent=exponent, rows=300_000, seed=3))
    assert abs(profile.zipf_exponent - exponent) < 0.05


def test_uniform_keys_look_hardly_skewed() -> None:
    assert profile_stream(uniform(keys=100, rows=100_000, seed=1)).zipf_exponent < 0.1


@pytest.mark.parametrize("spec", ["zipf:keys=20k,exponent=1.2,rows=300k", "LN1:rows=300k"])
def test_a_sample_is_near_the_whole_and_bounded(spec: str) -> None:
    stream = parse_stream(spec, seed=5)
    whole, part = profile_stream(stream), profile_stream(stream, sample=30_000)
    assert 25_000 < part.counted <= 30_000
    assert part.rows == whole.rows
    assert not part.keys_exact
    assert abs(part.keys / whole.keys - 1) < 0.05
    assert abs(part.p1 - whole.p1) < 4 * (whole.p1 / 30_000) ** 0.5
    assert abs(part.zipf_exponent - whole.zipf_exponent) < 0.15


def test_a_sample_of_a_stream_of_unknown_length_is_bounded_and_even_over_time() -> None:
    keys = np.repeat(np.arange(10, dtype=np.uint64), 20_000)
    profile = profile_stream(endless(keys), sample=5000)
    assert 4000 < profile.counted <= 5000
    assert profile.rows == keys.size
    shares = profile.counts.rows / profile.counted
    assert np.abs(shares - 0.1).max() < 0.02


def test_a_sample_larger_than_the_stream_is_the_whole_stream() -> None:
    stream = zipf(keys=100, rows=5000, seed=1)
    part, whole = profile_stream(stream, sample=10_000), profile_stream(stream)
    assert part.counted == 5000
    assert part.keys == whole.keys
    assert part.to_json()["top_keys"] == whole.to_json()["top_keys"]


def test_drift_tells_streams_that_change_from_those_that_do_not() -> None:
    calm = profile_stream(zipf(keys=1000, rows=400_000, seed=1)).drift
    moving = profile_stream(drift(keys=1000, rows=400_000, every=40_000, seed=1)).drift
    turning = profile_stream(countries_half(rows=400_000, seed=1)).drift
    assert calm.largest < 0.01
    assert moving.mean > 0.15
    assert turning.largest > 0.3
    assert turning.mean < 0.1


def test_drift_of_one_window_is_not_known() -> None:
    assert measure_drift([count_by_key(np.zeros(9, np.uint64))]).windows == 1
    assert measure_drift([count_by_key(np.zeros(9, np.uint64))]).largest == 0


def test_nulls_are_one_key_of_their_own() -> None:
    keys = pa.array(["a", None, "b", None, None])
    table = count_by_key(identities_and_nulls(keys))
    profile = KeyProfile(5, (table,))
    assert profile.null_share == 0.6
    assert profile.keys == 3
    assert profile.top(1)[0] == (None, 0.6, 3)
    assert int(NULL_ID) not in identities(["a", "b"]).tolist()


def test_tables_from_elsewhere_make_the_same_profile() -> None:
    keys = ["a"] * 6 + ["b"] * 3 + ["c"]
    there = KeyProfile.from_counts(["a", "b", "c"], [6, 3, 1])
    here = profile_stream(from_keys(keys))
    assert there.to_json()["top_keys"] == here.to_json()["top_keys"]
    assert (there.rows, there.keys, there.p1) == (here.rows, here.keys, here.p1)


def test_a_table_of_hot_keys_alone_counts_the_rest() -> None:
    profile = KeyProfile.from_counts([7], [600], tail_keys=100, tail_rows=300, null_rows=100)
    assert (profile.rows, profile.keys) == (1000, 102)
    assert not profile.keys_exact
    assert (profile.p1, profile.null_share) == (0.6, 0.1)


def test_tables_that_make_no_sense_are_refused() -> None:
    with pytest.raises(StreamError, match="no rows"):
        KeyProfile.from_counts([1, 2], [0, 0])
    with pytest.raises(InvalidParameterError, match="distinct"):
        KeyProfile.from_counts([1, 1], [2, 3])
    with pytest.raises(InvalidParameterError, match="counts"):
        KeyProfile.from_counts([1], [-1])


def test_the_exponent_of_one_key_is_nothing() -> None:
    assert fit_zipf(np.array([1000.0]), 1) == 0


def test_keys_not_seen_are_between_none_and_one_for_each_row_left() -> None:
    rows = np.ones(100)
    assert 0 < unseen_keys(rows, 0.1) <= 900


def test_mean_costs_and_their_spread_are_those_of_the_rows() -> None:
    stream = from_keys(["a", "b", "b", "b"], costs=[9.0, 1.0, 1.0, 1.0])
    profile = profile_stream(stream)
    assert profile.mean_cost == 3.0
    assert np.isclose(profile.cost_spread, np.std([9, 1, 1, 1]) / 3)
