import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidKeyError
from unskew.groupings.candidates import hash_choices
from unskew.hashing import Keys, derive_seeds, identities, identity, murmur3_128, universal

GOLDEN = Path(__file__).parent / "golden" / "murmur3_128.csv"

any_text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)


# From the authors' Guava: the first 64 bits, little-endian, signed.
@pytest.mark.parametrize(
    ("key", "seed_13", "seed_17"),
    [
        ("1", 652026498576716822, 7011324721782156848),
        ("2", 419861100768636587, -8461905857035044755),
        ("3", 6560302582479671772, 8226817722771766893),
        ("4", -7365080672979612602, -2933288154597096978),
    ],
)
def test_murmur3_is_guavas(key: str, seed_13: int, seed_17: int) -> None:
    for seed, expected in ((13, seed_13), (17, seed_17)):
        assert murmur3_128(key.encode(), seed)[0] == expected % 2**64


def test_murmur3_agrees_with_every_recorded_value() -> None:
    with GOLDEN.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 200
    for row in rows:
        for seed in (13, 17):
            expected = int(row[f"asLong_s{seed}"]) % 2**64
            assert murmur3_128(row["key"].encode(), seed)[0] == expected


# Reference values of Murmur3's own test program family (x64_128, seed 0).
def test_murmur3_handles_every_tail_length() -> None:
    seen = {murmur3_128(b"abcdefghijklmnopqrstuvwxyz0123456789"[:size], 0) for size in range(37)}
    assert len(seen) == 37


@settings(deadline=None)
@given(st.lists(any_text, max_size=30))
def test_equal_text_has_equal_identity_in_every_container(words: list[str]) -> None:
    expected = [int(identity(word)) for word in words]
    assert identities(words).tolist() == expected
    assert identities(pa.array(words, pa.string())).tolist() == expected
    assert identities(pa.array(words, pa.large_string())).tolist() == expected
    assert identities(pa.array(words, pa.string()).dictionary_encode()).tolist() == expected
    assert identities(pa.chunked_array([words, words], pa.string())).tolist() == expected * 2
    assert identities([word.encode() for word in words]).tolist() == expected


@settings(deadline=None)
@given(st.lists(any_text, min_size=3, max_size=30))
def test_a_slice_of_an_arrow_array_has_the_identities_of_the_slice(words: list[str]) -> None:
    array = pa.array(words, pa.string())
    assert identities(array[1:-1]).tolist() == identities(words)[1:-1].tolist()


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_an_integer_is_its_own_identity(numbers: list[int]) -> None:
    expected = [number % 2**64 for number in numbers]
    assert identities(numbers).tolist() == expected
    assert identities(np.array(numbers, np.int64)).tolist() == expected
    assert identities(pa.array(numbers, pa.int64())).tolist() == expected


def test_narrow_integers_and_dates_are_keys() -> None:
    assert identities(np.array([1, -1], np.int8)).tolist() == [1, 2**64 - 1]
    assert identities(pa.array([3], pa.uint16())).tolist() == [3]
    assert identities(pa.array([19_000], pa.date32())).tolist() == [19_000]
    assert identities(pa.array([5], pa.timestamp("us"))).tolist() == [5]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([1, None], "1 null key, the first at row 1"),
        (["a", None, None], "2 null keys, the first at row 1"),
        ([0.5, float("nan")], "1 NaN key, the first at row 1"),
        ([0.5], "integers, text or bytes, got type double"),
        ([True], "got type bool"),
        ([[1]], "integers, text or bytes"),
        ([1, "a"], "all integers of 64 bits, all text or all bytes"),
        ([2**64], "all integers of 64 bits"),
        ("text", "a sequence of keys"),
    ],
)
def test_keys_that_cannot_be_routed_are_refused(keys: Any, message: str) -> None:
    with pytest.raises(InvalidKeyError, match=message):
        identities(keys)


def test_no_keys_have_no_identities() -> None:
    assert identities([]).size == 0
    assert identities(pa.chunked_array([], pa.string())).size == 0


def test_mix_is_even_over_any_range_for_consecutive_integers() -> None:
    numbers = np.arange(100_000, dtype=np.uint64)
    for size in (3, 10, 100):
        workers = hash_choices(numbers, derive_seeds(5, 3), size, False)
        for column in workers.T:
            mean = numbers.size / size
            chi_square = float(((np.bincount(column) - mean) ** 2 / mean).sum())
            # Mean size − 1, standard deviation √(2·(size − 1)): five of them.
            assert chi_square < (size - 1) + 5 * np.sqrt(2 * (size - 1)) + 5


def test_two_seeds_give_independent_hashes() -> None:
    workers = hash_choices(np.arange(50_000, dtype=np.uint64), derive_seeds(0, 2), 10, False)
    pairs = np.bincount(10 * workers[:, 0] + workers[:, 1], minlength=100)
    chi_square = float(((pairs - 500) ** 2 / 500).sum())
    assert chi_square < 99 + 5 * np.sqrt(2 * 99)


@pytest.mark.parametrize(("one", "other"), [(1, 2), (7, 7 + 2**32), (0, 2**63), (5, 2**61 + 4)])
def test_a_universal_member_makes_two_keys_meet_no_more_than_by_chance(
    one: int, other: int
) -> None:
    size, trials = 8, 20_000
    members = derive_seeds(3, 3 * trials).reshape(trials, 3)
    meetings = sum(
        universal(np.uint64(one), member, np.uint64(size))
        == universal(np.uint64(other), member, np.uint64(size))
        for member in members
    )
    assert meetings / trials <= 1 / size + 5 * np.sqrt(1 / size / trials)


def test_identities_are_the_same_in_another_process() -> None:
    code = "from unskew.hashing import identities; print(identities(['a', 'ü', '']).tolist())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(identities(["a", "ü", ""]).tolist())


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        [1, 2],
        np.arange(6)[::3],
        np.frombuffer(b"12345678", np.int64),
        np.array([1, 2], np.uint8),
        pa.array(["a", "b"]).dictionary_encode(),
    ],
)
def test_loops_are_compiled_for_one_kind_of_array_whatever_keys_come_in(keys: Keys) -> None:
    ids = identities(keys)
    assert ids.flags.writeable
    assert ids.flags.c_contiguous
    assert ids.dtype == np.uint64
