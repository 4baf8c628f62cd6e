"""What shows the reasons that stand under our own claims."""

import numpy as np
import pytest

from unskew.streams import lognormal, zipf
from unskew.streams.base import Stream
from unskew_papers.engines.simulation import loads_of

pytestmark = pytest.mark.slow


def imbalance(scheme: str, workers: int, stream: Stream, learn: float) -> float:
    return loads_of(scheme, workers, stream, seed=1, sources=5, learn=learn).imbalance_percent


def test_without_heavy_keys_wrap_is_as_uneven_as_its_sample() -> None:
    workers, found = 100, []
    for rows in (250_000, 1_000_000, 4_000_000):
        stream = zipf(100_000, 0.1, rows, seed=1)
        learned = rows / 5
        found.append(imbalance("wrap", workers, stream, 0.2) / 100 * np.sqrt(learned / workers))
        assert imbalance("shuffle", workers, stream, 0.2) < 0.1
    # Four times the rows halve it: in units of √(W / n) it is the same, and some deviations large.
    assert min(found) > 1
    assert max(found) < 1.5 * min(found)


def test_whoever_has_fewer_pieces_than_wrap_is_out_of_balance() -> None:
    stream, workers = lognormal("LN2", rows=1_000_000, seed=1), 500
    results = {
        scheme: loads_of(scheme, workers, stream, seed=1, sources=5, learn=0.2)
        for scheme in ("wrap", "partial-key", "popularity")
    }
    wrap = results.pop("wrap")
    fewer = {name: each for name, each in results.items() if each.replication < wrap.replication}
    assert fewer
    for each in fewer.values():
        assert each.imbalance_percent > 20 * wrap.imbalance_percent
