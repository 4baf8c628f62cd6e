"""Jobs of the experiments: counts are exact, and rows lie where the scheme says."""

import numpy as np
import pytest
from pyspark.sql import SparkSession

from unskew_papers.engines import spark_jobs
from unskew_papers.engines.spark_jobs import MODULO, count_keys_on_spark

KEYS = np.array([0] * 300 + [1, 2, 3, 4] * 25 + list(range(5, 205)), np.uint64)


@pytest.fixture(autouse=True)
def shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the session of all tests, whose settings shall stay as they are."""
    monkeypatch.setattr(spark_jobs, "local_spark", lambda: spark)


@pytest.mark.parametrize("scheme", ["key", "shuffle", "partial-key", "distribution-aware", "wrap"])
def test_counts_are_exact_wherever_rows_go(scheme: str) -> None:
    job = count_keys_on_spark(KEYS, 3, scheme, milliseconds=0.0, learn_from=KEYS[::2])
    assert job.exact
    assert sum(job.loads) == KEYS.size
    assert len(job.busy) == 3
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
