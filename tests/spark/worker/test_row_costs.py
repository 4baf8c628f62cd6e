"""What was measured of keys becomes weights of rows; reckoned again here, key by key."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.measured_cases import times_of

from unskew.spark.plans.live_file import LiveFile
from unskew.spark.worker import row_costs
from unskew.spark.worker.cost_messages import DamagedMessageError, pack
from unskew.spark.worker.key_times import WorkTimes
from unskew.spark.worker.row_costs import RowCosts, WeightsFolder, row_costs_from

SLOTS = 4
Rows: TypeAlias = list[tuple[int, float]]

# Identities of up to 40 keys, ten in each slot, and what their rows cost.
KEYS = st.integers(0, 39).map(lambda key: (key % 4 << 62) + key)
COSTS = st.sampled_from([0.0, 0.25, 1.0, 3.0, 40.0])
BATCHES = st.lists(st.lists(st.tuples(KEYS, COSTS), max_size=30), max_size=4)


def told_of(rows: Rows, n_keys: int) -> list[WorkTimes]:
    """Return what two workers tell who got the rows in turn."""
    ids = np.array([key for key, _ in rows], np.uint64)
    costs = np.array([cost for _, cost in rows])
    return [times_of(ids[one::2], costs[one::2], n_slots=SLOTS, n_keys=n_keys) for one in range(2)]


def pooled(batches: list[Rows], n_keys: int = 99) -> RowCosts:
    known = RowCosts.nothing(SLOTS)
    for rows in batches:
        known = known.after(told_of(rows, n_keys))
    return known


def mean_costs(batches: list[Rows], of: str) -> dict[int, float]:
    """Return mean costs of rows by key or slot, where a micro-batch counts half of the next."""
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for age, rows in enumerate(reversed(batches)):
        for key, cost in rows:
            entry = sums[{"key": key, "slot": key >> 62, "all": 0}[of]]
            entry[0] += 0.5**age
            entry[1] += 0.5**age * cost
    return {one: seconds / rows for one, (rows, seconds) in sums.items()}


def all_ids() -> list[int]:
    return [(key % 4 << 62) + key for key in range(40)]


def weights(known: RowCosts) -> dict[int, float]:
    ids = all_ids()
    found = known.row_weights().weights(np.array(ids, np.uint64))
    return dict(zip(ids, found.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(BATCHES)
def test_a_key_that_was_told_weighs_its_mean_cost_and_any_other_the_mean(
    batches: list[Rows],
) -> None:
    by_key, mean = mean_costs(batches, "key"), mean_costs(batches, "all").get(0, 0.0)
    for key, weight in weights(pooled(batches)).items():
        expected = max(by_key.get(key, mean) / mean, 1e-6) if mean else 1.0
        assert weight == pytest.approx(expected, rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(BATCHES)
def test_a_key_that_was_not_told_weighs_what_its_slot_does(batches: list[Rows]) -> None:
    by_slot, mean = mean_costs(batches, "slot"), mean_costs(batches, "all").get(0, 0.0)
    for key, weight in weights(pooled(batches, n_keys=0)).items():
        expected = max(by_slot.get(key >> 62, mean) / mean, 1e-6) if mean else 1.0
        assert weight == pytest.approx(expected, rel=1e-5)


def test_of_too_many_keys_the_dearest_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_costs, "MOST_KEYS", 2)
    rows = [(key, 50.0 if key in all_ids()[4:6] else 1.0) for key in all_ids()]
    known = pooled([rows])
    assert sorted(known.ids.tolist()) == sorted(all_ids()[4:6])
    mean = (2 * 50 + 38) / 40
    for key, weight in weights(known).items():
        assert weight == pytest.approx((50 if key in known.ids else 1) / mean)


def test_what_was_not_met_for_long_leaves_no_nonsense() -> None:
    known = pooled([[(all_ids()[0], 5.0), (all_ids()[4], 1.0)], *[[(all_ids()[1], 1.0)]] * 1100])
    assert known.ids.tolist() == [all_ids()[1]]
    assert all(weight == pytest.approx(1.0) for weight in weights(known).values())


def same(one: RowCosts, other: RowCosts) -> bool:
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(np.asarray(mine), np.asarray(its)) for mine, its in pairs)


@settings(max_examples=40, deadline=None)
@given(BATCHES, st.integers(0, 10_000))
def test_tasks_read_what_the_driver_wrote_or_nothing(batches: list[Rows], at: int) -> None:
    known = pooled(batches)
    assert same(row_costs_from(known.to_bytes(), SLOTS), known)
    with TemporaryDirectory() as name:
        file = LiveFile(Path(name), "costs", "these keys")
        source = WeightsFolder(file.pair, SLOTS)
        assert source.read() is None
        file.write([row_costs.as_line(known)])
        read = source.read()
        assert read is not None
        assert same(read, known)
        for path in file.pair.paths:
            data = path.read_bytes()
            path.write_bytes(data[: at % len(data)])
        assert source.read() is None


def test_bytes_of_another_kind_or_of_other_slots_are_refused() -> None:
    for data in (b"", b"x", pack({"version": np.array(1)}), pooled([]).to_bytes()[:-1]):
        with pytest.raises(DamagedMessageError):
            row_costs_from(data, SLOTS)
    with pytest.raises(DamagedMessageError, match="5 slots"):
        row_costs_from(pooled([]).to_bytes(), SLOTS + 1)


def test_a_file_is_small_however_many_keys_there_are() -> None:
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 1 << 63, 50_000, np.uint64)
    rows, seconds = rng.integers(1, 1 << 30, ids.size, np.uint32), rng.random(ids.size, np.float32)
    slots = rng.random(256, np.float32), rng.integers(1, 1 << 30, 256, np.uint32)
    known = RowCosts.nothing(256)
    for part in np.split(np.arange(ids.size), 5):
        told = WorkTimes(ids[part], seconds[part], slots[0], rows[part], slots[1])
        known = known.after([told])
    # Three numbers a key and two a slot, of eight bytes, and a third more as text.
    assert len(row_costs.as_line(known)) < 4 / 3 * (4096 * 24 + 256 * 16 + 1000)
