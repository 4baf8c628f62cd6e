"""Laws that every registered grouping keeps; a new one is tested because it is found."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.errors import InvalidKeyError, InvalidParameterError
from unskew.groupings.base import Grouping, LearnedGrouping, OfflineGrouping
from unskew.groupings.registry import (
    GROUPINGS,
    default_parameters,
    make_grouping,
    schemes_to_compare,
)
from unskew.hashing import derive_seeds

NAMES = sorted(GROUPINGS)

# Those that the schemes declare, and variants whose code paths differ from those of the defaults.
SPECS = [
    *NAMES,
    *(spec for spec in schemes_to_compare() if spec not in NAMES),
    "key:hashes=simulator",
    "partial-key:choices=4",
    "partial-key:distinct=false",
    "partial-key:load=global",
    "partial-key:load=probing,probe_every=50",
    "partial-key:hashes=storm,distinct=false",
    "partial-key:hashes=apache-storm",
    "distribution-aware:split_heavy=true",
    "distribution-aware:schedule_buckets=false",
    "distribution-aware:quadratic=true",
    "popularity:adaptive=true",
    "dynamic-key:rate=50",
    "dynamic-key:rate=50,check_every=20,whole_percents=true",
    "auto:work=atomic",
    "flow:follow_speeds=true",
]


def zipf_keys(size: int, *, seed: int = 0, keys: int = 500) -> NDArray[np.int64]:
    """Skewed keys, made without the streams so that a fault there cannot hide one here."""
    rng = np.random.default_rng(seed)
    return rng.zipf(1.3, size).astype(np.int64) % keys


def ready(spec: str, workers: int, *, seed: int = 0) -> Grouping:
    """A grouping that has learned what it can learn."""
    grouping = make_grouping(spec, workers, seed=seed)
    history = zipf_keys(5_000, seed=99)
    if isinstance(grouping, LearnedGrouping):
        return grouping.learn(history).build()
    if isinstance(grouping, OfflineGrouping):
        keys, counts = np.unique(history, return_counts=True)
        return grouping.fit(keys, counts)
    return grouping


Law = Callable[..., None]
CONDITIONS: dict[str, Callable[[Grouping], bool]] = {}
"""Of laws, by name, that only some groupings must keep: which ones."""


def only_for(condition: Callable[[Grouping], bool]) -> Callable[[Law], Law]:
    """Ask a law of those groupings alone that meet a condition."""
    meant = [spec for spec in SPECS if condition(make_grouping(spec, 12))]
    assert meant

    def marked(law: Law) -> Law:
        CONDITIONS[law.__name__] = condition
        return pytest.mark.parametrize("spec", meant)(law)

    return marked


def is_asked_of(grouping: Grouping, law: str) -> bool:
    return law not in CONDITIONS or CONDITIONS[law](grouping)


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_worker_is_in_range(spec: str) -> None:
    for workers in (1, 2, 7, 100):
        if "choices=4" in spec and workers < 4:
            continue
        placed = ready(spec, workers).route_many(zipf_keys(3_000))
        assert placed.dtype == np.int32
        assert placed.min() >= 0
        assert placed.max() < workers


def test_route_many_equals_route_row_by_row(spec: str) -> None:
    keys = zipf_keys(1_500, seed=1)
    many = ready(spec, 9).route_many(keys)
    one = ready(spec, 9)
    assert many.tolist() == [one.route(int(key)) for key in keys]


def test_weighted_route_many_equals_weighted_route(spec: str) -> None:
    keys, weights = zipf_keys(800, seed=2), np.random.default_rng(2).uniform(0.1, 9, 800)
    many = ready(spec, 6).route_many(keys, weights=weights)
    one = ready(spec, 6)
    pairs = zip(keys.tolist(), weights.tolist(), strict=True)
    assert many.tolist() == [one.route(key, weight=weight) for key, weight in pairs]


def test_batches_of_any_size_give_the_same_routes(spec: str) -> None:
    keys = zipf_keys(4_000, seed=3)
    whole = ready(spec, 8).route_many(keys)
    cut = ready(spec, 8)
    parts = [cut.route_many(part) for part in np.split(keys, [1, 2, 300, 1024, 3000])]
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_text_bytes_and_integers_are_all_keys(spec: str) -> None:
    text = [f"key {number}" for number in zipf_keys(500).tolist()]
    as_text = ready(spec, 5).route_many(text)
    as_bytes = ready(spec, 5).route_many([word.encode() for word in text])
    assert as_text.tolist() == as_bytes.tolist()


@pytest.fixture(scope="module")
def routes_of_another_process() -> dict[str, list[int]]:
    """What one other process makes of every spec: a process each would mostly import."""
    return routes_elsewhere(SPECS)


def routes_elsewhere(specs: Sequence[str], *, first: str = "") -> dict[str, list[int]]:
    """What another process makes of specs, having run the line ``first``."""
    code = (
        f"{first}\n"
        "import json, sys\n"
        "import numpy as np\n"
        "from unskew.groupings.registry import make_grouping\n"
        "keys = np.arange(2000) * np.arange(2000) % 77\n"
        "made = {spec: make_grouping(spec, 11, seed=4) for spec in sys.argv[1:]}\n"
        "print(json.dumps({spec: made[spec].route_many(keys).tolist() for spec in made}))\n"
    )
    # Another hash salt would show any use of Python's own hash().
    other = subprocess.run(
        [sys.executable, "-c", code, *specs],
        env={"PYTHONHASHSEED": "12345", "PATH": "", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[int]] = json.loads(other.stdout)
    return found


def test_the_same_seed_gives_the_same_routes_in_another_process(
    spec: str, routes_of_another_process: dict[str, list[int]]
) -> None:
    keys = np.arange(2000) * np.arange(2000) % 77
    here = make_grouping(spec, 11, seed=4).route_many(keys).tolist()
    assert here == routes_of_another_process[spec]


def test_a_pickle_made_mid_stream_goes_on_alike(spec: str) -> None:
    keys = zipf_keys(6_000, seed=5)
    grouping = ready(spec, 8)
    grouping.route_many(keys[:3_000])
    copy = pickle.loads(pickle.dumps(grouping))
    assert copy.route_many(keys[3_000:]).tolist() == grouping.route_many(keys[3_000:]).tolist()


def test_inputs_are_left_untouched(spec: str) -> None:
    keys, weights = zipf_keys(1_000), np.linspace(0.5, 2, 1_000)
    keys_before, weights_before = keys.copy(), weights.copy()
    ready(spec, 8).route_many(keys, weights=weights)
    assert np.array_equal(keys, keys_before)
    assert np.array_equal(weights, weights_before)


@only_for(lambda grouping: not grouping.memory_grows)
def test_memory_does_not_grow_with_the_stream(spec: str) -> None:
    grouping = ready(spec, 8)
    sizes = []
    for start in (0, 400_000, 800_000):
        for part in range(4):  # keys never seen before, and a hot one
            keys = np.arange(start + part * 100_000, start + (part + 1) * 100_000)
            keys[::3] = -1
            grouping.route_many(keys)
        sizes.append(len(pickle.dumps(grouping)))
    assert sizes[2] <= 1.05 * sizes[1]


def test_candidates_never_miss_a_worker_used(spec: str) -> None:
    grouping = ready(spec, 12)
    keys = np.concatenate([zipf_keys(8_000, seed=6), zipf_keys(8_000, seed=7) + 250])
    workers = np.concatenate([grouping.route_many(part) for part in np.split(keys, 8)])
    for key in np.unique(keys).tolist():
        used = set(workers[keys == key].tolist())
        assert used <= set(grouping.candidates(key))


def test_candidates_are_distinct_sorted_workers(spec: str) -> None:
    grouping = ready(spec, 12)
    grouping.route_many(zipf_keys(3_000))
    for key in range(20):
        candidates = grouping.candidates(key)
        assert list(candidates) == sorted(set(candidates))
        assert set(candidates) <= set(range(12))


@only_for(lambda grouping: not grouping.splits_keys)
def test_a_scheme_that_does_not_split_keeps_each_key_on_one_worker(spec: str) -> None:
    grouping = ready(spec, 12)
    keys = zipf_keys(8_000, seed=8)
    workers = grouping.route_many(keys)
    for key in np.unique(keys).tolist():
        assert grouping.candidates(key) == tuple(set(workers[keys == key].tolist()))


def test_sources_leave_the_original_as_it_is(spec: str) -> None:
    original = ready(spec, 8)
    before = pickle.dumps(original)
    for source in original.for_sources(3):
        source.route_many(zipf_keys(500))
    assert pickle.dumps(original) == before


@only_for(lambda grouping: isinstance(grouping, LearnedGrouping))
def test_a_learned_scheme_keeps_candidates_over_plans(spec: str) -> None:
    grouping = make_grouping(spec, 10)
    assert isinstance(grouping, LearnedGrouping)
    used: dict[int, set[int]] = {}
    for epoch in range(5):
        keys = zipf_keys(4_000, seed=epoch) + 40 * epoch
        for key, worker in zip(keys.tolist(), grouping.route_many(keys).tolist(), strict=True):
            used.setdefault(key, set()).add(worker)
        grouping.learn(keys).build()
    assert all(workers <= set(grouping.candidates(key)) for key, workers in used.items())


def test_parameters_rebuild_the_grouping(spec: str) -> None:
    grouping = make_grouping(spec, 6, seed=3)
    rebuilt = type(grouping)(**grouping.parameters())
    assert repr(rebuilt) == repr(grouping)


def test_defaults_in_the_registry_are_those_of_the_class() -> None:
    for name, scheme in GROUPINGS.items():
        assert {"workers": 6, **default_parameters(scheme)} == make_grouping(name, 6).parameters()


def test_bad_workers_are_refused(spec: str) -> None:
    values: tuple[Any, ...] = (0, -3, 2.5, True, "8")
    for bad in values:
        with pytest.raises(InvalidParameterError, match="workers must be an int >= 1"):
            make_grouping(spec, bad)


def test_bad_keys_and_weights_are_refused(spec: str) -> None:
    grouping = ready(spec, 4)
    refused: list[Any] = [[None], [float("nan")], ["a", 1], [2**70], "text"]
    for bad in refused:
        with pytest.raises(InvalidKeyError):
            grouping.route_many(bad)
    for weights in ([1.0], [1.0, float("nan")], [1.0, -1.0], [1.0, float("inf")]):
        with pytest.raises(InvalidParameterError, match="weights"):
            grouping.route_many([1, 2], weights=weights)


def test_an_empty_stream_has_no_routes(spec: str) -> None:
    assert ready(spec, 4).route_many([]).size == 0


@settings(deadline=None, max_examples=30)
@given(
    keys=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50),
    workers=st.integers(1, 300),
    seed=st.integers(0, 2**32),
    name=st.sampled_from(NAMES),
)
def test_any_keys_any_workers_any_seed(keys: list[int], workers: int, seed: int, name: str) -> None:
    if GROUPINGS[name].needs_costs and workers > 64:
        workers = 64
    placed = make_grouping(name, max(workers, 2), seed=seed).route_many(keys)
    assert placed.size == len(keys)
    assert all(0 <= worker < max(workers, 2) for worker in placed.tolist())


def test_seeds_of_unlike_purposes_differ() -> None:
    assert derive_seeds(1, 1, purpose="a")[0] != derive_seeds(1, 1, purpose="b")[0]
