"""The figures that the partial-key authors' own simulator gave, met with their hash functions."""

import numpy as np
import pyarrow as pa
import pytest

from unskew.groupings.base import Grouping
from unskew.groupings.key import KeyGrouping
from unskew.groupings.partial_key import PartialKey
from unskew.metrics import imbalance
from unskew.simulator.observer import Observer
from unskew.simulator.sources import Sources
from unskew.streams.base import Batch
from unskew.streams.zipf import zipf

KEYS, ROWS, SOURCES = 100_000, 10_000_000, 5

# Printed by the authors' Java simulator (see golden/README.md).
# Exponent, workers, and for key grouping and partial-key the mean over time of I(t)/t (their
# simulator divides by the rows so far) and the replication after 10 million rows.
TABLE = [
    (1.2, 10, 1.6e-1, 4.9e-2, 1.23),
    (1.2, 100, 2.1e-1, 8.8e-2, 1.08),
    (2.0, 10, 5.2e-1, 2.8e-1, 1.03),
    (2.0, 100, 6.1e-1, 2.9e-1, 1.04),
]


def run(grouping: Grouping, exponent: float) -> tuple[float, float]:
    names = pa.array([str(rank + 1) for rank in range(KEYS)])
    sources, observer = Sources(grouping, SOURCES), Observer(grouping.workers, n_keys=KEYS)
    fractions = []
    for batch in zipf(KEYS, exponent, ROWS, seed=1).batches(20_000):
        text = names.take(pa.array(batch.keys.astype(np.int64)))
        observer.observe(batch.keys, sources.route(Batch(text, None)))
        fractions.append(imbalance(observer.loads) / observer.rows)
    return float(np.mean(fractions)), observer.memory / observer.distinct_keys


@pytest.mark.parametrize(("exponent", "workers", "of_key", "of_split", "replication"), TABLE)
def test_the_authors_simulator_is_reproduced(
    exponent: float, workers: int, of_key: float, of_split: float, replication: float
) -> None:
    fraction, copies = run(KeyGrouping(workers, hashes="simulator"), exponent)
    assert fraction == pytest.approx(of_key, rel=0.03)
    assert copies == 1
    fraction, copies = run(PartialKey(workers, hashes="simulator", distinct=False), exponent)
    assert fraction == pytest.approx(of_split, rel=0.03)
    assert copies == pytest.approx(replication, abs=0.01)
