import numpy as np
import pytest
from numpy.typing import NDArray

from unskew.groupings.wrap import Wrap
from unskew.groupings.wrap.estimates import best_mixture
from unskew.simulator.loads import simulate
from unskew.streams.zipf import zipf

N_CELLS = 4_000


def squared_errors(
    rates: NDArray[np.float64], rows: float, weight: float = 1.0, seed: int = 1
) -> tuple[float, float]:
    """Return the mean squared error of mixed loads and of plain counts; the truth is known."""
    chance = np.random.default_rng(seed)
    cells = chance.integers(0, N_CELLS, rates.size)
    true = weight * rows * rates / rates.sum()
    counts = weight * chance.poisson(true / weight)
    seen, truth, keys, once = (
        np.bincount(cells, weights=each, minlength=N_CELLS).astype(float)
        for each in (counts, true, counts > 0, counts == weight)
    )
    expected = best_mixture(keys, seen, once, weight).of(keys, seen)
    return float(((expected - truth) ** 2).mean()), float(((seen - truth) ** 2).mean())


@pytest.mark.parametrize("weight", [1.0, 0.25, 3.0])
def test_of_keys_that_are_alike_almost_only_their_number_counts(weight: float) -> None:
    mixed, counted = squared_errors(np.ones(6_000), 120_000, weight)
    assert mixed < 0.05 * counted


@pytest.mark.parametrize(("exponent", "most"), [(0.1, 0.3), (0.3, 0.75), (0.5, 0.9), (1.0, 1.0)])
def test_it_errs_less_than_the_counts_the_less_the_more_alike_keys_are(
    exponent: float, most: float
) -> None:
    rates = np.arange(31.0, 6_031) ** -exponent  # the hottest are counted one by one
    mixed, counted = squared_errors(rates, 120_000)
    assert mixed < most * counted


def test_a_few_rows_of_many_keys_say_little() -> None:
    mixed, counted = squared_errors(np.ones(60_000), 3_000)
    assert mixed < 0.1 * counted


def test_keys_that_lie_more_evenly_than_by_chance_are_expected_to_be_alike() -> None:
    seen = np.repeat([0.0, 1.0], [3_000, 1_000])
    expected = best_mixture(seen, seen, seen, 1.0).of(seen, seen)
    np.testing.assert_allclose(expected, 0.25)


def test_almost_uniform_keys_are_placed_nearly_as_if_their_shares_were_known() -> None:
    stream = zipf(keys=20_000, exponent=0.1, rows=2_000_000, seed=2)
    result = simulate(Wrap(20, seed=2), stream, learn=0.2)
    # Chance in the measured rows alone makes the fullest of 20 workers 0.66 % too full, and counts
    # of 20 rows per key would add as much again as twice that: 1.5 % in all.
    assert result.imbalance_percent <= 1.0
    assert result.memory <= result.keys + 19
