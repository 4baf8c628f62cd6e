import json
from base64 import b64encode
from dataclasses import replace

import numpy as np
import pytest
from tests.groupings.spreading import spread_planned

from unskew.groupings.plan import HASHED_MEMBER, Plan, slots_of
from unskew.hashing import Ids
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.steps.running import read_stats
from unskew.spark.stream.counters import (
    EpochCounts,
    busy_counts,
    expected_loads,
    replication,
    splits_unevenly,
)
from unskew.spark.stream.planner import Planner
from unskew.spark.worker.key_times import WorkTimes

WORKERS, ROWS = 6, 40_000


def stream(seed: int) -> Ids:
    """Return rows of 2,000 keys, key k with about 1/k of them; keys are hashes."""
    names = np.random.default_rng(0).integers(0, 1 << 64, 2000, dtype=np.uint64)
    ranks = np.floor(2000.0 ** np.random.default_rng(seed).random(ROWS)).astype(np.int64)
    return names[ranks]


def counted(ids: Ids, workers: np.ndarray, n_slots: int, n_hot: int = 200) -> EpochCounts:
    keys, rows = np.unique(ids, return_counts=True)
    top = np.argsort(-rows)[:n_hot]
    slots = slots_of(ids, HASHED_MEMBER, n_slots)
    return EpochCounts(
        np.bincount(workers, minlength=WORKERS).astype(float),
        np.bincount(slots, minlength=n_slots).astype(float),
        keys[top],
        rows[top].astype(float),
        keys=keys.size,
    )


def learned(name: str) -> Plan:
    maker = Planner("test", grouping_for(name, WORKERS))
    ids = stream(1)
    return maker.plan_after(counted(ids, np.zeros(ROWS, np.int64), maker.n_slots))


@pytest.mark.parametrize(
    "name", ["wrap", "popularity-counted", "distribution-aware:split_heavy=true,threshold=0.05"]
)
def test_calculated_loads_and_replication_are_those_of_rows_spread_by_chance(name: str) -> None:
    plan, ids = learned(name), stream(2)
    positions = np.random.default_rng(3).integers(0, 1 << 32, ROWS)
    workers = spread_planned(ids, positions, plan)
    counts = counted(ids, workers, plan.slot_workers.size)
    assert plan.n_split_keys > 0
    assert np.abs(expected_loads(plan, counts) - counts.loads).max() < 5 * np.sqrt(ROWS / WORKERS)
    pairs = np.unique(np.stack([ids, workers.astype(np.uint64)]), axis=1).shape[1]
    assert replication(plan, counts) == pytest.approx(pairs / counts.keys, rel=0.01)
    assert not splits_unevenly(plan, counts)
    alike = spread_planned(ids, np.zeros(ROWS, np.int64), plan)
    assert splits_unevenly(plan, counted(ids, alike, plan.slot_workers.size))


def test_keys_that_are_hot_no_more_do_not_look_like_uneven_spreading() -> None:
    plan = learned("popularity-counted")
    ids = np.random.default_rng(4).permutation(np.repeat(np.unique(stream(1)), 20))
    positions = np.random.default_rng(5).integers(0, 1 << 32, ids.size)
    workers = spread_planned(ids, positions, plan)
    assert not splits_unevenly(plan, counted(ids, workers, plan.slot_workers.size, n_hot=64))


def test_without_keys_there_is_no_replication() -> None:
    plan = learned("wrap")
    nothing = counted(stream(2), np.zeros(ROWS, np.int64), plan.slot_workers.size)
    assert replication(plan, nothing._replace(keys=0)) is None


def test_pieces_without_a_load_share_their_key_equally() -> None:
    plan = learned("popularity-counted")
    idle = replace(plan, pieces=plan.pieces._replace(loads=np.zeros(plan.pieces.loads.size)))
    ids = stream(2)
    counts = counted(ids, np.zeros(ROWS, np.int64), plan.slot_workers.size)
    np.testing.assert_allclose(expected_loads(idle, counts), expected_loads(plan, counts))


def test_counted_popularity_splits_the_keys_whose_share_reaches_its_threshold() -> None:
    ids = stream(1)
    maker = Planner("test", grouping_for("popularity-counted:frequency=0.02", WORKERS))
    plan = maker.plan_after(counted(ids, np.zeros(ROWS, np.int64), maker.n_slots))
    keys, rows = np.unique(ids, return_counts=True)
    assert set(plan.hot_ids.tolist()) == set(keys[rows >= 0.02 * ROWS].tolist())
    assert plan.predicted_loads.sum() == pytest.approx(ROWS)


def test_partitions_behind_a_union_are_those_of_their_worker() -> None:
    """Partition 5 of 4 workers is worker 1's: its time adds to that of partition 1."""
    rows = np.full(4, 25.0)
    counts = EpochCounts(rows, rows, np.empty(0, np.uint64), np.empty(0), keys=4)
    seconds, work = np.ones(4, "f4"), np.full(4, 25, "u4")
    payload = WorkTimes(np.empty(0, "u8"), seconds[:0], seconds, work[:0], work).packed()
    said = [
        {"worker": place, "rows": 50, "seconds": 4.0, "payload": b64encode(payload).decode()}
        for place in (1, 5)
    ]
    busy = busy_counts(counts, read_stats(json.dumps(said), 4))
    assert busy is not None
    assert busy.loads.tolist() == [0.0, 100.0, 0.0, 0.0]
