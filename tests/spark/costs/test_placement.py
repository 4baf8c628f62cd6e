"""Classes of cost, and turns by speed, without Spark around them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.spark.costs.placement import MOST_CLASSES, cost_classes, turns_of

ROWS, COLUMNS = 3, 5
SECONDS = st.floats(0.0, 1e4, allow_subnormal=False)


@st.composite
def matrices(draw: st.DrawFn) -> NDArray[np.float64]:
    """Some keys, each with its column in every row, and what their rows took."""
    cells = np.zeros((ROWS, COLUMNS, 2))
    places = st.tuples(*[st.integers(0, COLUMNS - 1)] * ROWS)
    for place, count, seconds in draw(st.lists(st.tuples(places, st.integers(1, 9), SECONDS))):
        cells[np.arange(ROWS), place] += count, count * seconds
    return cells


@given(matrices(), st.integers(1, MOST_CLASSES), st.data())
def test_the_class_of_a_key_holds_its_estimate(
    cells: NDArray[np.float64], most: int, data: st.DataObject
) -> None:
    classes = cost_classes(cells, most)
    assert 1 <= classes.size <= most
    assert (np.diff(classes.tops) < 0).all()
    total, seconds = cells[0].sum(axis=0)
    mean = seconds / total if total else 0.0
    for _ in range(5):
        place = [data.draw(st.integers(0, COLUMNS - 1)) for _ in range(ROWS)]
        row = min(range(ROWS), key=lambda row: cells[row, place[row], 0])
        count, cost = cells[row, place[row]]
        estimate = max(cost / count if count else mean, mean / 100)
        found = min(int(classes.codes[row, place[row]]) for row in range(ROWS)) % MOST_CLASSES
        assert classes.tops[found] >= estimate * (1 - 1e-9)
        assert estimate * classes.ratio >= classes.tops[found] * (1 - 1e-9)


def test_three_costs_are_three_classes_whatever_the_noise() -> None:
    rng = np.random.default_rng(1)
    cells = np.zeros((4, 54, 2))
    cells[..., 0] = 10
    cells[..., 1] = 10 * rng.choice([0.025, 0.005, 0.001], (4, 54)) * rng.uniform(1, 1.02, (4, 54))
    tops = cost_classes(cells).tops
    assert [np.sum((tops > low) & (tops < 1.05 * low)) for low in (0.025, 0.005, 0.001)] == [1] * 3


@given(st.lists(st.floats(1 / 16, 16.0), min_size=1, max_size=40))
def test_turns_are_in_proportion_to_speeds(slowness: list[float]) -> None:
    speeds = np.array(slowness)
    turns = turns_of(speeds)
    counts = np.bincount(turns, minlength=speeds.size)
    # As greedy scheduling promises: no two workers are further apart than one row of either.
    seconds = counts * speeds
    apart = seconds[:, np.newaxis] - seconds
    assert (apart <= speeds[:, np.newaxis] + 1e-9 * seconds.max()).all()
    assert counts.min() > 0
