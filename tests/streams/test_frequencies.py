"""How often keys come: measured shares against probabilities that are worked out here."""

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError
from unskew.hashing import identities
from unskew.streams import (
    Stream,
    countries,
    countries_half,
    drift,
    from_keys,
    lognormal,
    uniform,
    with_costs,
    zipf,
)

MESSAGES = 400_000
FAILURE = 1e-9
"""Chance that a correct stream breaks one of the bounds; seeds are fixed besides."""


def keys_of(stream: Stream) -> NDArray[np.int64]:
    keys = [identities(batch.keys) for batch in stream.batches()]
    return np.concatenate(keys).astype(np.int64)


def assert_shares(keys: NDArray[np.int64], shares: NDArray[np.float64]) -> None:
    """Every key within Bernstein's bound, and all together within that of a χ² statistic."""
    expected = shares * keys.size
    counts = np.bincount(keys, minlength=shares.size)
    assert counts.size == shares.size
    log = math.log(2 * shares.size / FAILURE)
    allowed = np.sqrt(2 * expected * (1 - shares) * log + (log / 3) ** 2) + log / 3
    assert np.all(np.abs(counts - expected) <= allowed)
    often = expected >= 20
    statistic = ((counts - expected)[often] ** 2 / expected[often]).sum()
    freedom = max(1, int(often.sum()) - 1)
    assert statistic <= freedom + 2 * math.sqrt(freedom * log) + 2 * log


def zipf_shares(keys: int, exponent: float) -> NDArray[np.float64]:
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.2, 2.0, 3.0])
@pytest.mark.parametrize("keys", [1, 2, 3, 1000, 100_000])
def test_zipf_keys_have_the_shares_of_the_law(keys: int, exponent: float) -> None:
    assert_shares(keys_of(zipf(keys, exponent, MESSAGES, seed=5)), zipf_shares(keys, exponent))


@pytest.mark.parametrize("keys", [1, 2, 3, 204, 5000])
def test_uniform_keys_have_equal_shares(keys: int) -> None:
    assert_shares(keys_of(uniform(keys, MESSAGES, seed=5)), np.full(keys, 1 / keys))


@pytest.mark.parametrize("skew", [0, 10, 50, 68, 90, 100])
def test_one_country_has_the_share_that_was_asked_for(skew: int) -> None:
    shares = np.full(204, (1 - skew / 100) / 203 if skew else 1 / 204)
    shares[0] = skew / 100 if skew else 1 / 204
    assert_shares(keys_of(countries(skew, MESSAGES, seed=5)), shares)


def test_countries_half_is_even_at_first_and_skewed_then() -> None:
    keys = keys_of(countries_half(80, MESSAGES + 1, seed=5))
    half = MESSAGES // 2
    assert_shares(keys[:half], np.full(204, 1 / 204))
    assert_shares(keys[half:], np.array([0.8, *[0.2 / 203] * 203]))


def test_countries_have_204_names() -> None:
    names = countries().key_names
    assert len(names) == len(set(names)) == 204
    assert all(name == name.strip() and name for name in names)


@pytest.mark.parametrize(
    ("variant", "mu", "sigma", "published_percent"),
    [("LN1", 1.789, 2.366, 14.71), ("LN2", 2.245, 1.133, 7.01)],
)
def test_lognormal_keys_have_the_shares_of_the_law(
    variant: str, mu: float, sigma: float, published_percent: float
) -> None:
    law = NormalDist(mu, sigma)
    edges = [0.0, *(law.cdf(math.log(key + 0.5)) for key in range(3000))]
    shares = np.diff([*edges, 1.0])  # the last stands for every larger key
    assert round(100 * shares[:-1].max(), 2) == published_percent
    keys = keys_of(lognormal(variant, rows=MESSAGES, seed=5))
    assert_shares(np.minimum(keys, 3000), shares)


def test_lognormal_without_spread_has_one_key() -> None:
    assert set(keys_of(lognormal(mu=math.log(7), sigma=0.0, rows=100)).tolist()) == {7}


def test_a_zipf_key_is_where_the_random_number_falls_in_the_cumulated_shares() -> None:
    stream = zipf(300, 1.1, 2000, seed=5)
    cumulated = np.cumsum(zipf_shares(300, 1.1))
    expected = [_searched(cumulated, row, int(stream._row_seed)) for row in range(2000)]
    assert keys_of(stream).tolist() == expected


def _searched(cumulated: NDArray[np.float64], row: int, seed: int) -> int:
    """Murmur3's finaliser and a binary search, in plain Python."""
    low = (1 << 64) - 1
    bits = (row * 0x9E3779B97F4A7C15 + seed) & low
    bits = ((bits ^ (bits >> 33)) * 0xFF51AFD7ED558CCD) & low
    bits = ((bits ^ (bits >> 33)) * 0xC4CEB9FE1A85EC53) & low
    bits ^= bits >> 33
    return int(np.searchsorted(cumulated, (bits >> 11) / 2**53, side="right"))


def test_neighbouring_rows_are_independent() -> None:
    keys = keys_of(uniform(16, MESSAGES, seed=5))
    for apart in (1, 2, 7):
        assert_shares(keys[:-apart] * 16 + keys[apart:], np.full(256, 1 / 256))


def test_streams_of_neighbouring_seeds_are_independent() -> None:
    one, other = (keys_of(uniform(16, MESSAGES, seed=seed)) for seed in (5, 6))
    assert_shares(one * 16 + other, np.full(256, 1 / 256))


def test_each_phase_of_a_drift_is_a_zipf_law_of_other_hot_keys() -> None:
    hot, every = 50, 50_000
    keys = keys_of(drift(1000, 1.2, every, 8 * every, hot, seed=5))
    shares = np.sort(zipf_shares(1000, 1.2))[::-1]
    before: set[int] = set()
    for start in range(0, keys.size, every):
        phase = keys[start : start + every]
        first = int(np.bincount(phase).argmax())
        group = set(range(first, first + hot))
        assert first % hot == 0
        assert not group & before
        ranks = np.arange(1000)
        ranks[first : first + hot] = np.arange(hot)
        if first:
            ranks[:hot] = np.arange(first, first + hot)
        assert_shares(ranks[phase], shares)
        before = group


def test_a_drift_visits_every_group_before_it_comes_back() -> None:
    keys = keys_of(drift(100, 3.0, 500, 500 * 25, 10, seed=5)).reshape(25, 500)
    hottest = [int(np.bincount(phase).argmax()) for phase in keys]
    assert hottest[:10] == hottest[10:20]
    assert sorted(hottest[:10]) == list(range(0, 100, 10))
    assert hottest[0] == 0
    assert all(one != next_one for one, next_one in pairwise(hottest))


@pytest.mark.parametrize(("keys", "values"), [(4096, 64), (100, 7), (5, 64), (10, 1)])
def test_costs_are_assigned_evenly_and_stay_with_their_key(keys: int, values: int) -> None:
    stream = with_costs(uniform(keys, 50 * keys, seed=5), values, 1.0, 64.0)
    cost_of: dict[int, float] = {}
    for batch in stream.batches(1000):
        assert batch.costs is not None
        for key, cost in zip(batch.keys.tolist(), batch.costs.tolist(), strict=True):
            assert cost_of.setdefault(key, cost) == cost
    assert len(cost_of) == keys
    times = [1.0 + 63.0 * i / max(1, values - 1) for i in range(values)]
    counts = [sum(math.isclose(cost, time) for cost in cost_of.values()) for time in times]
    assert sum(counts) == keys
    assert max(counts) - min(counts) <= 1


def test_costs_do_not_go_with_popularity() -> None:
    stream = with_costs(zipf(4096, 1.0, 1, seed=5))
    everything = np.arange(4096)
    correlation = np.corrcoef(everything, stream._cost_of_key)[0, 1]
    assert abs(correlation) < 6 / math.sqrt(4096)


def test_another_cost_seed_gives_other_costs_to_the_same_rows() -> None:
    inner = zipf(64, 1.0, 1000, seed=5)
    one, other = (next(with_costs(inner, seed=seed).batches()) for seed in (1, 2))
    assert np.array_equal(one.keys, other.keys)
    assert one.costs is not None
    assert other.costs is not None
    assert not np.array_equal(one.costs, other.costs)


@pytest.mark.parametrize(
    "stream",
    [lognormal(), from_keys([1]), with_costs(uniform(9, 9))],
    ids=["keys that are not known", "keys in memory", "costs already"],
)
def test_costs_need_known_keys_without_costs(stream: Stream) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        with_costs(stream)
    assert caught.value.parameter == "stream"


@pytest.mark.slow
def test_ten_million_keys_can_be_drawn() -> None:
    keys = keys_of(zipf(10_000_000, 1.0, 100_000, seed=5))
    head = sum(1 / rank for rank in range(1, 1001))
    harmonic = math.log(10_000_000) + 0.5772156649  # Euler's constant
    assert keys.max() < 10_000_000
    assert abs(float((keys < 1000).mean()) - head / harmonic) < 6 * 0.5 / math.sqrt(100_000)
