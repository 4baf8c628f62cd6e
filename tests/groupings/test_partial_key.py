import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.groupings.authors_hashes import FAMILIES
from unskew.groupings.key import KeyGrouping
from unskew.groupings.partial_key import PartialKey
from unskew.simulator.loads import simulate
from unskew.simulator.sources import Sources
from unskew.streams.base import Batch
from unskew.streams.zipf import zipf

GOLDEN = Path(__file__).parents[1] / "golden"

# The first rows of a recorded trace and where the authors' programs sent them (10 workers).
TRACE = ["1", "2", "11", "57"]
KEY_ROUTES = [8, 7, 0, 2]
STORM_ROUTES = [2, 7, 1, 4]
SIMULATOR_ROUTES = [8, 7, 6, 3]


def test_the_authors_programs_are_followed_on_a_short_trace() -> None:
    assert KeyGrouping(10, hashes="simulator").route_many(TRACE).tolist() == KEY_ROUTES
    for hashes, routes in (("storm", STORM_ROUTES), ("simulator", SIMULATOR_ROUTES)):
        assert PartialKey(10, hashes=hashes, distinct=False).route_many(TRACE).tolist() == routes


@pytest.mark.parametrize(
    ("file", "workers", "n_sources", "columns"),
    [
        ("routes_z1.2_W10_S1.csv", 10, 1, ["KG", "PKG", "gdfmPKG"]),
        ("routes_z1.2_W100_S1.csv", 100, 1, ["KG", "PKG", "gdfmPKG"]),
        ("routes_z1.2_W10_S5.csv", 10, 5, ["KG", "PKG"]),
    ],
)
def test_the_authors_programs_are_followed_row_by_row(
    file: str, workers: int, n_sources: int, columns: list[str]
) -> None:
    with (GOLDEN / file).open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 20_000
    keys = np.array([row["key"] for row in rows])
    programs = {
        "KG": KeyGrouping(workers, hashes="simulator"),
        "PKG": PartialKey(workers, hashes="simulator", distinct=False),
        "gdfmPKG": PartialKey(workers, hashes="storm", distinct=False),
    }
    assert sorted(columns) == sorted(set(rows[0]) & set(programs))
    for column in columns:
        sources = Sources(programs[column], n_sources)
        routed = [sources.route(Batch(part, None)) for part in np.split(keys, [1, 777, 12_345])]
        assert np.concatenate(routed).tolist() == [int(row[column]) for row in rows]


@pytest.mark.parametrize("setting", ["W1_S1", "W2_S1", "W10_S1", "W16_S1", "W100_S1", "W10_S3"])
def test_apache_storm_is_followed_row_by_row(setting: str) -> None:
    with (GOLDEN / "apache_storm_routes.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 4_000
    workers, n_sources = (int(part[1:]) for part in setting.split("_"))
    sources = Sources(PartialKey(workers, hashes="apache-storm"), n_sources)
    keys = np.array([row["key"] for row in rows], dtype=object)
    routed = [sources.route(Batch(part, None)) for part in np.split(keys, [1, 777])]
    assert np.concatenate(routed).tolist() == [int(row[setting]) for row in rows]


# What Apache Storm's unit tests ask of partial key grouping.
@pytest.mark.parametrize("hashes", FAMILIES)
def test_one_repeated_key_alternates_between_its_candidates(hashes: str) -> None:
    for key in range(100):  # with two workers the draws of about half of the keys coincide
        grouping = PartialKey(2, hashes=hashes)
        first, second, third = grouping.route_many([str(key)] * 3).tolist()
        assert first != second
        assert first == third


@settings(deadline=None)
@given(st.text(max_size=10), st.integers(2, 50), st.integers(2, 5), st.sampled_from(FAMILIES))
def test_candidates_are_distinct(key: str, workers: int, choices: int, hashes: str) -> None:
    choices = min(choices, workers) if hashes == "mixed" else 2
    grouping = PartialKey(workers, choices=choices, hashes=hashes)
    assert len(grouping.candidates(key)) == choices


@pytest.mark.parametrize("hashes", FAMILIES)
def test_without_distinct_one_key_in_workers_has_a_single_candidate(hashes: str) -> None:
    grouping = PartialKey(4, hashes=hashes, distinct=False)
    lone = [key for key in range(2_000) if len(grouping.candidates(str(key))) == 1]
    assert len(lone) == pytest.approx(500, abs=100)  # five standard deviations of chance
    apart = PartialKey(4, hashes=hashes)
    assert all(
        grouping.candidates(str(key)) == apart.candidates(str(key))
        for key in set(range(2_000)) - set(lone)
    )


def test_distinct_candidates_are_several_times_as_even_where_few_workers_meet_skew() -> None:
    """A key that has one worker alone is seldom a hot one, but then it counts."""

    def imbalance(distinct: bool) -> float:
        found = [
            simulate(
                PartialKey(10, distinct=distinct, seed=seed),
                zipf(keys=100_000, exponent=1.2, rows=200_000, seed=seed),
            ).average_imbalance_fraction
            for seed in range(8)
        ]
        return float(np.mean(found))

    assert imbalance(distinct=True) < imbalance(distinct=False) / 2


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 20), max_size=200), st.integers(1, 9), st.integers(1, 4))
def test_a_row_goes_to_the_least_loaded_of_its_candidates(
    keys: list[int], workers: int, choices: int
) -> None:
    choices = min(choices, workers)
    grouping = PartialKey(workers, choices=choices)
    loads = [0] * workers
    for key, worker in zip(keys, grouping.route_many(keys).tolist(), strict=True):
        candidates = grouping.candidates(key)
        assert worker in candidates
        assert loads[worker] == min(loads[candidate] for candidate in candidates)
        loads[worker] += 1


def test_two_choices_take_the_same_way_in_both_loops() -> None:
    keys = np.random.default_rng(1).zipf(1.2, 5_000) % 999
    fast = PartialKey(20).route_many(keys)
    general = PartialKey(20)
    slow = np.empty(keys.size, np.int32)
    general._choose(general._hashed(keys.astype(np.uint64)), np.empty(0), slow)
    assert fast.tolist() == slow.tolist()


def test_global_load_balances_at_least_as_well_as_local() -> None:
    stream = zipf(keys=5_000, exponent=0.8, rows=100_000, seed=2)
    by_global = simulate(PartialKey(20, load="global"), stream, sources=8)
    by_local = simulate(PartialKey(20), stream, sources=8)
    assert by_global.average_imbalance_fraction <= by_local.average_imbalance_fraction
    # Local estimation stays within one order of magnitude of the oracle (Fig. 4).
    assert by_local.average_imbalance_fraction < 10 * by_global.average_imbalance_fraction


def test_probing_every_row_is_the_global_load() -> None:
    stream = zipf(keys=500, exponent=1.0, rows=20_000, seed=3)
    probing = simulate(PartialKey(10, load="probing", probe_every=1), stream, sources=4)
    oracle = simulate(PartialKey(10, load="global"), stream, sources=4)
    assert probing.loads == oracle.loads


def test_probing_never_is_the_local_load() -> None:
    stream = zipf(keys=500, exponent=1.0, rows=20_000, seed=4)
    probing = simulate(PartialKey(10, load="probing", probe_every=10**9), stream, sources=4)
    local = simulate(PartialKey(10), stream, sources=4)
    assert probing.loads == local.loads


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"choices": 0}, r"choices must be an int in \[1, 5\], got 0"),
        ({"choices": 6}, r"choices must be an int in \[1, 5\], got 6"),
        ({"load": "remote"}, "load must be one of 'local', 'global', 'probing', got 'remote'"),
        ({"hashes": "md5"}, "hashes must be one of"),
        ({"hashes": "storm", "choices": 3}, "choices must be 2"),
        ({"probe_every": 0}, "probe_every must be an int >= 1"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        PartialKey(5, **parameters)


def test_a_single_worker_needs_no_second_choice() -> None:
    assert PartialKey(1, choices=1).route_many(["a", "b"]).tolist() == [0, 0]
