"""The laws of w-choices, and of what it shares with d-choices."""

import copy
import pickle
from collections import defaultdict
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError
from unskew.groupings.choices.d_choices import DChoices
from unskew.groupings.choices.w_choices import WChoices
from unskew.groupings.partial_key import PartialKey

Scheme: TypeAlias = type[WChoices] | type[DChoices]
both = pytest.mark.parametrize("scheme", [WChoices, DChoices])
workers = st.integers(1, 70)
# A few keys that are hot one after the other, so that keys become hot and cease to be.
drifting = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 60)), max_size=30).map(
    lambda runs: np.repeat([key for key, _ in runs], [times for _, times in runs]).astype(np.int64)
)


def zipf_keys(exponent: float, n_keys: int, n_rows: int, seed: int) -> NDArray[np.int64]:
    cumulative = np.cumsum(np.arange(1, n_keys + 1) ** -exponent)
    draws = np.random.default_rng(seed).random(n_rows) * cumulative[-1]
    keys: NDArray[np.int64] = np.searchsorted(cumulative, draws).astype(np.int64)
    return keys


def true_argmin_route(
    workers: int, keys: NDArray[np.int64], weights: NDArray[np.float64], seed: int
) -> list[int]:
    """W-choices in plain words, with exact counts (the sketch is exact for few keys)."""
    pairs = {
        int(key): PartialKey(workers, seed=seed)._hashed(np.array([key]).view(np.uint64))[0]
        for key in np.unique(keys)
    }
    share = 1 / (5 * workers)
    counts: dict[int, float] = defaultdict(float)
    loads, out = np.zeros(workers), []
    for row, (key, weight) in enumerate(zip(keys.tolist(), weights.tolist(), strict=True)):
        counts[key] += weight
        first, second = pairs[key]
        total = sum(counts.values())
        # Hot is a key of 1 / (5 · W) of all weight that also has the weight of ten mean rows.
        if counts[key] >= share * total and counts[key] * (row + 1) >= 10 * total:
            worker = int(loads.argmin())
        else:
            worker = int(second if loads[second] < loads[first] else first)
        loads[worker] += weight
        out.append(worker)
    return out


@given(st.integers(1, 12), drifting, st.booleans(), st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_rows_go_where_the_definition_says(
    workers: int, keys: NDArray[np.int64], weighted: bool, seed: int
) -> None:
    # Eighths add up without rounding, so that ties are ties in both.
    eighths = np.random.default_rng(seed).integers(0, 24, keys.size) / 8
    weights = eighths if weighted else np.ones(keys.size)
    grouping = WChoices(workers, capacity=max(40, 10 * workers), seed=seed)
    routed = grouping.route_many(keys, weights=weights if weighted else None)
    assert routed.tolist() == true_argmin_route(workers, keys, weights, seed)


@both
@given(workers, drifting, st.booleans(), st.integers(0, 3), st.data())
@settings(deadline=None, max_examples=60)
def test_candidates_name_every_worker_that_was_ever_used(
    scheme: Scheme,
    workers: int,
    keys: NDArray[np.int64],
    weighted: bool,
    seed: int,
    data: st.DataObject,
) -> None:
    grouping = scheme(workers, seed=seed)
    cut = data.draw(st.integers(0, keys.size))
    first = grouping.route_many(keys[:cut])
    weights = np.full(keys.size - cut, 0.5) if weighted else None
    second = grouping.route_many(keys[cut:], weights=weights)
    used = defaultdict(set)
    for key, worker in zip(keys.tolist(), [*first.tolist(), *second.tolist()], strict=True):
        used[key].add(worker)
    for key, seen in used.items():
        assert seen <= set(grouping.candidates(key)) <= set(range(workers))


@both
@given(st.integers(1, 20), drifting, st.data())
@settings(deadline=None, max_examples=40)
def test_pieces_single_rows_and_copies_in_between_give_the_same_answers(
    scheme: Scheme, workers: int, keys: NDArray[np.int64], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, keys.size))
    at_once = scheme(workers).route_many(keys).tolist()
    grouping = scheme(workers)
    pieces = grouping.route_many(keys[:cut]).tolist()
    unpickled = pickle.loads(pickle.dumps(grouping))
    copied = copy.deepcopy(grouping)
    assert pieces + unpickled.route_many(keys[cut:]).tolist() == at_once
    assert pieces + [copied.route(int(key)) for key in keys[cut:]] == at_once
    for key in np.unique(keys).tolist():
        assert copied.candidates(key) == unpickled.candidates(key)


@both
def test_where_no_key_is_hot_rows_go_where_partial_key_sends_them(scheme: Scheme) -> None:
    keys = zipf_keys(1.2, 1000, 50_000, seed=1)
    routed = scheme(10, threshold=1.0, seed=3).route_many(keys)
    np.testing.assert_array_equal(routed, PartialKey(10, seed=3).route_many(keys))


@both
def test_a_key_of_less_than_the_threshold_stays_on_two_workers(scheme: Scheme) -> None:
    # 40 keys in turn: once one was in ten rows, none has more than 10 of at least 361 rows.
    keys = np.tile(np.arange(40), 500)
    grouping = scheme(50, threshold=1 / 20, capacity=100)
    grouping.route_many(keys)
    assert all(len(grouping.candidates(key)) <= 2 for key in range(40))


@both
@pytest.mark.parametrize("exponent", [0.8, 1.2, 2.0])
@pytest.mark.parametrize("workers", [10, 100])
def test_loads_are_far_more_even_than_with_two_choices(
    scheme: Scheme, exponent: float, workers: int
) -> None:
    keys = zipf_keys(exponent, 20_000, 400_000, seed=2)

    def imbalance(routed: NDArray[np.int32]) -> float:
        loads = np.bincount(routed, minlength=workers)
        return float(loads.max() - loads.mean()) / keys.size

    ours = imbalance(scheme(workers).route_many(keys))
    two_choices = imbalance(PartialKey(workers).route_many(keys))
    assert ours < 5e-4
    assert ours <= two_choices / 10 or two_choices < 1e-5


def test_weighted_loads_are_even() -> None:
    keys = zipf_keys(1.4, 20_000, 200_000, seed=2)
    weights = np.random.default_rng(5).lognormal(size=keys.size)
    for scheme in (WChoices, DChoices):
        routed = scheme(50).route_many(keys, weights=weights)
        loads = np.bincount(routed, weights, minlength=50)
        assert loads.max() < 1.01 * loads.mean()


@both
def test_a_key_that_has_all_rows_levels_all_workers(scheme: Scheme) -> None:
    for workers in (1, 2, 3, 64, 65):
        loads = np.bincount(scheme(workers).route_many([7] * 50 * workers))
        assert loads.tolist() == [50] * workers


@both
def test_identities_of_all_bits_are_hot_like_others(scheme: Scheme) -> None:
    for key in (0, -1, 2**63 - 1, -(2**63), "text", b""):
        grouping = scheme(8)
        seen = set(grouping.route_many([key] * 500).tolist())
        assert len(seen) == 8
        assert seen <= set(grouping.candidates(key))


@both
def test_rows_without_weight_are_routed(scheme: Scheme) -> None:
    grouping = scheme(4)
    routed = grouping.route_many([1, 2, 3] * 20, weights=[0.0] * 60)
    assert set(routed.tolist()) <= {0, 1, 2, 3}
    assert grouping.route_many([1] * 40).tolist() != []


@both
def test_parameters_are_shown_as_given(scheme: Scheme) -> None:
    shown = repr(scheme(4, threshold=0.25, capacity=9, seed=2))
    assert "threshold=0.25, capacity=9" in shown
    assert repr(eval(shown)) == shown  # noqa: S307 (our own repr)


@both
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"workers": 0}, "workers must be an int >= 1, got 0"),
        ({"workers": 4, "threshold": 0}, r"threshold must be a number in \[1e-06, 1\], got 0"),
        ({"workers": 4, "threshold": 1.5}, "threshold must be a number in"),
        ({"workers": 4, "capacity": 39}, "capacity must be an int >= 40, got 39"),
        ({"workers": 4, "seed": 1.5}, "seed must be an int"),
    ],
)
def test_bad_parameters_are_refused(
    scheme: Scheme, parameters: dict[str, int], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=f"{scheme.__name__}: {message}"):
        scheme(**parameters)
