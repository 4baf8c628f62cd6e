"""What shows the reasons that stand under claims about distribution-aware grouping."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from unskew import metrics
from unskew_papers import datasets
from unskew_papers.distribution_aware.instances import squares_of
from unskew_papers.distribution_aware.mappings import KEYS, streams, trained, tuples_of

pytestmark = pytest.mark.slow
PAPER, FINER = (
    "distribution-aware:threshold=0.1,epsilon=0.05,buckets_per_worker=2",
    "distribution-aware:threshold=0.02,epsilon=0.01,buckets_per_worker=20",
)


def test_not_even_the_best_placement_is_always_below_universal() -> None:
    rng, k, validated = np.random.default_rng(0), 5, 20_000
    shares = np.arange(1, KEYS + 1) ** -2.0
    best, universal = [], []
    for _ in range(3_000):
        counts = rng.multinomial(validated, shares / shares.sum())
        placed = np.bincount(rng.integers(0, k, KEYS), weights=counts, minlength=k)
        universal.append(metrics.stddev(placed))
        # The hottest key has more than a fifth: best is to put all others on the other four.
        rest = (validated - counts[0]) / (k - 1)
        best.append(metrics.stddev(np.array([counts[0], *[rest] * (k - 1)])))
    assert max(best) > min(universal)
    assert np.mean(best) < 0.9 * np.mean(universal)  # though on average it is far better


def test_the_worst_case_grows_with_the_mappings_and_the_mean_does_not() -> None:
    k = 8
    universal: list[float] = []
    dkg: list[float] = []
    for number, learning, validation in streams({"first": 0, "mappings": 200}, 1.0, 0):
        _, ranks = np.unique(validation, return_inverse=True)
        load = partial(squares_of, ranks)
        for scheme, found in (
            ("universal", universal),
            ("distribution-aware:quadratic=true", dkg),
        ):
            workers = trained(scheme, k, learning, validation, number).route_many(validation)
            found.append(metrics.stddev(load(workers, k)))
    few, many = slice(0, 10), slice(0, 200)
    assert max(dkg[many]) > 1.1 * max(dkg[few])
    assert np.mean(universal[many]) == pytest.approx(np.mean(universal[few]), rel=0.1)


def imbalance(scheme: str, k: int, learned: int, measured: int) -> float:
    """λ of a scheme on the stand-in of the trace, after learning from so many rows."""
    stream = datasets.load("DEBS~", learned + measured, 8_504, seed=0)
    keys = datasets.keys_of(stream).astype(np.int64)
    learning, validation = keys[:learned], keys[learned:]
    workers = trained(scheme, k, learning, validation, 0).route_many(validation)
    return metrics.imbalance_percent(tuples_of(workers, k))


def test_finer_buckets_bring_the_optimum_and_more_learning_does_not() -> None:
    few, many = (imbalance(PAPER, 2, learned, 100_000) for learned in (4_000, 1_000_000))
    assert many > few - 1  # nothing gained
    assert many > 5
    for k in (2, 3, 4, 5):  # where O-apx is even
        assert imbalance(FINER, k, 1_000_000, 100_000) < 1.5


def cells(rows: int, seed: int) -> NDArray[np.int64]:
    """Cells of a field in four grids, 8,504 in all, numbered by grid, row and column.

    Each position is in one cell of every grid. Four of five are within some metres of one spot, so
    that its cell in the coarsest grid has a fifth of all rows, as published.
    """
    rng = np.random.default_rng(seed)
    positions = rng.random((rows // 4, 2))
    near = rng.random(len(positions)) < 0.8
    positions[near] = 0.5 + 0.03 * rng.random((int(near.sum()), 2))
    numbers, first = [], 0
    for down, across in ((8, 13), (16, 25), (32, 50), (64, 100)):
        row, column = (positions * [down, across]).astype(np.int64).T
        numbers.append(first + row * across + column)
        first += down * across
    assert first == 8_504
    return np.stack(numbers, axis=1).ravel()


def test_numbering_cells_by_grid_row_and_column_makes_no_factor_of_two() -> None:
    keys = cells(200_000, seed=0)
    assert np.bincount(keys).max() / keys.size == pytest.approx(0.2, abs=0.01)
    learning, validation = keys[:100_000], keys[100_000:]
    ratios = []
    for k in (4, 5, 6, 8, 10):
        busiest = [
            tuples_of(trained(scheme, k, learning, validation, 0).route_many(validation), k).max()
            for scheme in ("modulo", PAPER)
        ]
        ratios.append(busiest[0] / busiest[1])
    assert max(ratios) > 1.1  # it is uneven
    assert min(ratios) < 1.8  # and yet not twice as slow for every one of these k
