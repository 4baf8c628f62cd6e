import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unskew import metrics
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.distribution_aware import DistributionAware
from unskew.groupings.optimal import Optimal
from unskew.groupings.partial_key import PartialKey
from unskew.groupings.single import Single
from unskew.groupings.universal import Universal

# The setting of paper 000, with fewer random mappings.
KEYS, UNIVERSE, LEARN, VALIDATE, MAPPINGS = 10_000, 1_000_000, 80_000, 20_000, 400


def zipf_stream(exponent: float, seed: int) -> NDArray[np.int64]:
    """100,000 tuples over 10,000 keys, mapped at random into a universe 100 times as large."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, KEYS + 1) ** -exponent
    ranks = rng.choice(KEYS, LEARN + VALIDATE, p=shares / shares.sum())
    return np.asarray(rng.choice(UNIVERSE, KEYS, replace=False)[ranks], dtype=np.int64)


def imbalance(grouping: Grouping, validation: NDArray[np.int64]) -> float:
    workers = grouping.route_many(validation)
    return metrics.imbalance_percent(np.bincount(workers, minlength=grouping.workers))


@pytest.fixture(scope="module")
def table_1() -> dict[str, NDArray[np.float64]]:
    """λ on Zipf-2 for k = 1 … 10: a row a random mapping."""
    names = ("optimal", "universal", "dkg", "single")
    measured = {name: np.empty((MAPPINGS, 10)) for name in names}
    for run in range(MAPPINGS):
        stream = zipf_stream(2.0, run)
        learning, validation = stream[:LEARN], stream[LEARN:]
        keys, counts = np.unique(validation, return_counts=True)
        for k in range(1, 11):
            schemes: dict[str, Grouping] = {
                "optimal": Optimal(k).fit(keys, counts),
                "universal": Universal(k, seed=run),
                "dkg": DistributionAware(k, seed=run).learn(learning).build(),
                "single": Single(k),
            }
            for name, grouping in schemes.items():
                measured[name][run, k - 1] = imbalance(grouping, validation)
    return measured


def line(imbalances: NDArray[np.float64]) -> tuple[float, float]:
    """The regression λ(k) = a·k + b over k = 2 … 10 (nothing can be uneven for k = 1)."""
    slope, level = np.polyfit(np.arange(2, 11), imbalances[1:], 1)
    return float(slope), float(level)


@pytest.mark.parametrize(
    ("name", "slope", "level"),
    [
        ("optimal", 60.7, -100.0),
        ("universal", 60.7, -60.7),
        ("dkg", 60.7, -100.0),
        ("single", 100.0, -100.0),
    ],
)
def test_table_1_mean_coefficients(
    table_1: dict[str, NDArray[np.float64]], name: str, slope: float, level: float
) -> None:
    a, b = line(table_1[name].mean(axis=0))
    assert a == pytest.approx(slope, abs=1.0)
    assert b == pytest.approx(level, abs=1.0)


def test_table_1_the_worst_dkg_run_is_close_to_optimal(
    table_1: dict[str, NDArray[np.float64]],
) -> None:
    a, b = line(table_1["dkg"].max(axis=0))
    assert a == pytest.approx(62.0, abs=1.0)
    assert b == pytest.approx(-100.0, abs=3.0)


def test_figure_4_universal_never_beats_the_worst_of_dkg(
    table_1: dict[str, NDArray[np.float64]],
) -> None:
    assert table_1["universal"][:, 1].min() >= table_1["dkg"][:, 1].max() - 1.0


def mean_imbalance(exponent: float, k: int, runs: int = 12, **parameters: Any) -> float:
    total = 0.0
    for run in range(runs):
        stream = zipf_stream(exponent, 500 + run)
        grouping = DistributionAware(k, seed=run, **parameters)
        total += imbalance(grouping.learn(stream[:LEARN]).build(), stream[LEARN:])
    return total / runs


def test_figure_6_a_second_bucket_a_worker_helps_most() -> None:
    one, two, four = (
        mean_imbalance(1.0, 2, threshold=1.0, buckets_per_worker=mu) for mu in (1, 2, 4)
    )
    assert two < 0.75 * one
    assert one - two > two - four


@pytest.mark.parametrize(("exponent", "reached", "missed"), [(3.0, 0.8, 0.95), (2.0, 0.6, 0.75)])
def test_figure_7_imbalance_drops_once_the_threshold_reaches_the_hottest_key(
    exponent: float, reached: float, missed: float
) -> None:
    above = mean_imbalance(exponent, 2, threshold=missed, buckets_per_worker=1)
    below = mean_imbalance(exponent, 2, threshold=reached, buckets_per_worker=1)
    assert below < above


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5, 2.0])
def test_figure_13_scheduling_the_buckets_is_better_than_hashing_them(exponent: float) -> None:
    scheduled = mean_imbalance(exponent, 10)
    straight = mean_imbalance(exponent, 10, schedule_buckets=False)
    assert scheduled < straight


def test_figure_14_split_heavy_keys_beat_both_schemes() -> None:
    stream = zipf_stream(2.0, 3)
    learning, validation = stream[:LEARN], stream[LEARN:]
    both = DistributionAware(6, split_heavy=True).learn(learning).build()
    whole = DistributionAware(6).learn(learning).build()
    assert both.splits_keys
    assert not whole.splits_keys
    split = imbalance(both, validation)
    assert split < imbalance(whole, validation)
    assert split <= min(imbalance(PartialKey(6, seed=seed), validation) for seed in range(5))


def test_heavy_keys_are_those_of_the_threshold() -> None:
    keys = ["a"] * 40 + ["b"] * 25 + [f"c{number}" for number in range(35)]
    plan = DistributionAware(4, threshold=0.2, epsilon=0.01).learn(keys).build().plan
    assert plan.hot_ids.size == 2
    assert plan.predicted_loads.sum() == pytest.approx(100)


def test_before_it_has_learned_it_hashes() -> None:
    grouping = DistributionAware(4, seed=2)
    assert not grouping.is_built
    assert set(grouping.route_many(np.arange(200)).tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"threshold": 0}, r"threshold must be a number in \[1e-06, 1\], got 0"),
        ({"threshold": 1e-300}, r"threshold must be a number in \[1e-06, 1\], got 1e-300"),
        (
            {"threshold": 0.1, "epsilon": 0.1},
            r"epsilon must be a number in \[5e-07, 0.1\), got 0.1",
        ),
        ({"buckets_per_worker": 0}, "buckets_per_worker must be an int >= 1, got 0"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DistributionAware(5, **parameters)


def test_where_keys_were_takes_little_memory_with_very_many_workers() -> None:
    grouping = DistributionAware(100_000).learn([1, 2]).build()
    before = set(grouping.route_many([1, 2]).tolist())
    grouping.learn([2, 3]).build()  # from here on it has to know where keys were before
    history = pickle.dumps(grouping._history)
    assert len(history) < 16 << 20  # a bit for each slot and worker would be 2.5 GB
    assert before <= {*grouping.candidates(1), *grouping.candidates(2)}
