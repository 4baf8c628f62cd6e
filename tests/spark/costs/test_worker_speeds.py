import numpy as np
import pytest
from numpy.typing import NDArray

from unskew.spark.costs.scheduler import worker_speeds

WORKERS, CELLS = 16, 20


def tallies(
    rng: np.random.Generator, *, rows: int, speeds: NDArray[np.float64], spread: float
) -> NDArray[np.float64]:
    """Rows of random cells whose costs depend on cell and worker, with noise of mean 1."""
    out = np.zeros((WORKERS, 3, CELLS))
    for worker in range(WORKERS):
        cells = rng.integers(0, CELLS, rows)
        costs = (1.0 + cells) * speeds[worker] * rng.lognormal(-(spread**2) / 2, spread, rows)
        for power in range(3):
            np.add.at(out[worker, power], cells, costs**power)
    return out


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.5])
def test_chance_is_hardly_ever_taken_for_a_speed(spread: float) -> None:
    rng = np.random.default_rng(1)
    equal = np.ones(WORKERS)
    found = []
    for _ in range(50):
        once = tallies(rng, rows=200, speeds=equal, spread=spread)
        found.append(worker_speeds(once, once))  # nothing but chance, and it lasts
    # By 4 standard errors of a normal distribution it would be 6 in 100,000.
    assert np.mean(~np.isclose(found, 1.0)) <= 0.001


def test_a_slow_worker_is_found() -> None:
    rng = np.random.default_rng(2)
    speeds = np.ones(WORKERS)
    speeds[5] = 2.0
    rounds = [tallies(rng, rows=400, speeds=speeds, spread=0.5) for _ in range(2)]
    found = worker_speeds(*rounds)
    assert found[5] / np.median(found) == pytest.approx(2.0, rel=0.15)


def test_a_speed_that_does_not_last_is_not_followed() -> None:
    rng = np.random.default_rng(3)
    slow, equal = np.ones(WORKERS), np.ones(WORKERS)
    slow[5] = 2.0
    once = tallies(rng, rows=400, speeds=slow, spread=0.1)
    then = tallies(rng, rows=400, speeds=equal, spread=0.1)
    assert worker_speeds(once, then).tolist() == [1.0] * WORKERS
    assert worker_speeds(once, once)[5] > 1.5


def test_nothing_measured_means_nothing_known() -> None:
    empty = np.zeros((WORKERS, 3, CELLS))
    assert worker_speeds(empty, empty).tolist() == [1.0] * WORKERS
    idle = tallies(np.random.default_rng(4), rows=50, speeds=np.ones(WORKERS), spread=0.1)
    idle[3] = 0.0
    assert worker_speeds(idle, idle)[3] == 1.0


def test_a_worker_whose_clock_stands_still_does_not_get_all_rows() -> None:
    stopped = tallies(np.random.default_rng(5), rows=400, speeds=np.ones(WORKERS), spread=0.1)
    stopped[3, 1:] = 0.0
    assert worker_speeds(stopped, stopped)[3] >= 1 / 16
