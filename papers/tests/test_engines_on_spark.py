"""Jobs and streams of the experiments on Spark: exact counts, rows where the scheme says."""

import numpy as np
import pyspark
import pytest
from pyspark.sql import SparkSession

from unskew_papers.engines import calibration, queues, spark_jobs, spark_streams
from unskew_papers.engines.queues import placed_in_queues
from unskew_papers.engines.spark_jobs import MODULO, count_keys_on_spark
from unskew_papers.engines.spark_streams import count_stream_on_spark

# In no order: a task of Spark gets neighbours, a source of the queues every eighth row.
KEYS = np.random.default_rng(1).permutation(
    np.array([0] * 300 + [1, 2, 3, 4] * 25 + list(range(5, 205)), np.uint64)
)
WORKERS = 3


@pytest.fixture(autouse=True)
def shared_session(
    spark: SparkSession, few_partitions: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use the session of all tests, whose settings shall stay as they are."""
    for module in (spark_jobs, queues, spark_streams):
        monkeypatch.setattr(module, "local_spark", lambda: spark)


def test_a_stream_is_counted_exactly_and_follows_what_it_was_taught() -> None:
    first, second = count_stream_on_spark([KEYS, KEYS], WORKERS, "wrap", milliseconds=0.0)
    assert first.exact
    assert second.exact
    assert sum(first.loads) == sum(second.loads) == KEYS.size
    # By hash the hottest key is on one worker; a plan cuts it, since it is more than a third.
    assert max(first.loads) >= 300
    assert max(second.loads) < 1.2 * KEYS.size / WORKERS


@pytest.mark.parametrize("scheme", ["key", "shuffle", "partial-key"])
def test_queues_put_rows_where_spark_does(scheme: str) -> None:
    job = count_keys_on_spark(KEYS, WORKERS, scheme, milliseconds=0.0)
    queues = np.bincount(placed_in_queues(KEYS, WORKERS, scheme, seed=0), minlength=WORKERS)
    if scheme == "key":
        assert job.loads == tuple(queues.tolist())
    else:  # which tasks the rows come from differs, and each has loads of its own
        assert max(job.loads) == pytest.approx(queues.max(), rel=0.1)


def test_a_calibration_says_where_it_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"SLOTS": 3, "_ROWS": 200, "_TIMES": 1, "_WARM_UP": 0, "_WAIT": 1.0}
    for name, value in small.items():
        monkeypatch.setattr(calibration, name, value)
    found = calibration.calibrate()
    assert found.measured_on.startswith(f"Spark {pyspark.__version__} on")
    assert min(found.epoch, found.worker, found.row, found.merge, found.wait) >= 0
    assert found.epoch + found.worker > 0


def test_rows_are_done_one_after_the_other() -> None:
    job = spark_jobs.JobResult(1.0, (4, 1, 0), (2.0, 1.0, 0.0), partials=3, exact=True)
    assert job.row_seconds().tolist() == [0.5, 1.0, 1.5, 2.0, 1.0]


@pytest.mark.parametrize("scheme", ["key", "shuffle", "partial-key", "distribution-aware", "wrap"])
def test_counts_are_exact_wherever_rows_go(scheme: str) -> None:
    job = count_keys_on_spark(KEYS, WORKERS, scheme, milliseconds=0.0, learn_from=KEYS[::2])
    assert job.exact
    assert sum(job.loads) == KEYS.size
    assert len(job.busy) == WORKERS
    held = np.unique(KEYS).size
    assert job.partials == held if scheme == "key" else job.partials >= held


def test_modulo_is_the_remainder() -> None:
    job = count_keys_on_spark(KEYS, 4, MODULO, milliseconds=0.0)
    assert job.loads == tuple(np.bincount((KEYS % np.uint64(4)).astype(int)).tolist())
    assert job.exact


def test_workers_wait_for_their_rows() -> None:
    job = count_keys_on_spark(KEYS[:50], 1, "shuffle", milliseconds=1.0)
    assert job.busy[0] >= 0.05
    assert job.throughput <= 1000
