from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.simulator.observer import Observer

rows = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 99)), min_size=1, max_size=300)


@settings(deadline=None, max_examples=60)
@given(rows, st.integers(100, 130), st.booleans(), st.integers(1, 50))
def test_an_observer_counts_what_a_plain_program_counts(
    rows: list[tuple[int, int]], workers: int, is_dense: bool, batch: int
) -> None:
    keys = np.array([key for key, _ in rows], np.uint64)
    placed = np.array([worker for _, worker in rows], np.int32)
    observer = Observer(workers, n_keys=31 if is_dense else None)
    for start in range(0, len(rows), batch):
        observer.observe(keys[start : start + batch], placed[start : start + batch])

    loads, imbalances = [0] * workers, []
    for time, worker in enumerate(placed.tolist(), start=1):
        loads[worker] += 1
        imbalances.append(max(loads) - time / workers)
    assert observer.loads.tolist() == loads
    assert observer.distinct_keys == len(set(keys.tolist()))
    assert observer.memory == len(set(rows))
    assert observer.top_share == max(Counter(keys.tolist()).values()) / len(rows)
    expected = float(np.mean(imbalances)) / len(rows)
    assert observer.average_imbalance_fraction == pytest.approx(expected)
    time, imbalance = observer.series[-1]
    assert time == len(rows)
    assert imbalance == pytest.approx(imbalances[-1])


def test_weights_are_the_load_and_not_the_memory() -> None:
    observer = Observer(2)
    ids, workers = np.array([1, 1, 2], np.uint64), np.array([0, 1, 1], np.int32)
    observer.observe(ids, workers, np.array([0.5, 2.0, 1.0]))
    assert observer.loads.tolist() == [0.5, 3.0]
    assert observer.memory == 3
    assert observer.top_share == pytest.approx(2 / 3)


def test_the_series_stays_short_and_reaches_the_end() -> None:
    observer = Observer(2)
    for _ in range(4_096):
        observer.observe(np.array([1], np.uint64), np.array([0], np.int32))
    times = [time for time, _ in observer.series]
    assert len(times) <= 1_024
    assert times == sorted(times)
    assert times[-1] == 4_096


def test_memory_grows_with_the_keys_and_not_with_the_rows() -> None:
    observer = Observer(100)
    ids, workers = np.arange(1_000, dtype=np.uint64), np.arange(1_000, dtype=np.int32) % 100
    observer.observe(ids, workers)
    size = observer._records.nbytes
    for _ in range(50):
        observer.observe(ids, workers)
    assert observer._records.nbytes == size
