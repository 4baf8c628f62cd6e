import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError
from unskew.sketches.coin_synopsis import CoinSynopsis, flip_many, rates_for

# Table 1: (N₀ − 1)/2^r → least recall in percent. Table 2: log₂(2^r/N₁) → most false positives.
TABLE_1 = {4: 90.85, 5: 95.96, 6: 98.26, 7: 99.27, 8: 99.70}
TABLE_2 = {3: 11.84, 4: 6.07, 5: 3.08, 6: 1.55, 7: 0.78}
R = 7

keys = st.lists(st.integers(0, 12), max_size=400)


def margin(share: float, trials: int) -> float:
    """Four standard deviations of a measured share."""
    return 4 * math.sqrt(share * (1 - share) / trials)


def two_reached(bits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """What Theorems 1 and 2 count: at least two results above r, one key a row of ``bits``."""
    reached: NDArray[np.bool_] = (bits >= 0).sum(axis=1) >= 2
    return reached


def two_ones(bits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """What the vector asks for: two unlike results above r."""
    vectors = np.bitwise_or.reduce(np.where(bits >= 0, 1 << np.maximum(bits, 0), 0), axis=1)
    hot: NDArray[np.bool_] = (vectors & (vectors - 1)) != 0
    return hot


def exact_recall(times: int, unlike: bool) -> float:
    """The probability of two results above r (of two unlike ones) for a key of ``times`` rows."""
    reach = 2.0**-R
    values = [2.0 ** -(value + 1) for value in range(15)] + [2.0**-15]
    none = (1 - reach) ** times
    if unlike:
        one = sum((1 - reach + reach * value) ** times - none for value in values)
    else:
        one = times * reach * (1 - reach) ** (times - 1)
    return 1 - none - one


@pytest.mark.parametrize("ratio", TABLE_1)
def test_recall_respects_table_1(ratio: int) -> None:
    """Of keys that come N₀ times, two results exceed r at least as often as Theorem 1 says."""
    rows, trials = ratio * 2**R + 1, 8_000
    bits = flip_many(rows * trials, threshold_bits=R, seed=ratio).reshape(trials, rows)
    exact = exact_recall(rows, unlike=False)
    bound = 1 - (1 + ratio) * math.exp(-ratio)
    assert 100 * bound == pytest.approx(TABLE_1[ratio], abs=0.01)  # 90.842 is printed as 90.85
    assert 100 * exact >= TABLE_1[ratio]
    assert two_reached(bits).mean() >= TABLE_1[ratio] / 100 - margin(TABLE_1[ratio] / 100, trials)
    assert two_reached(bits).mean() == pytest.approx(exact, abs=margin(exact, trials))


@pytest.mark.parametrize("ratio", TABLE_1)
def test_recall_of_the_vector_is_the_one_of_two_unlike_results(ratio: int) -> None:
    """Two equal results set one bit, so the vector's recall misses Table 1; this is its law."""
    rows, trials = ratio * 2**R + 1, 8_000
    bits = flip_many(rows * trials, threshold_bits=R, seed=ratio).reshape(trials, rows)
    exact = exact_recall(rows, unlike=True)
    assert exact < TABLE_1[ratio] / 100
    assert two_ones(bits).mean() == pytest.approx(exact, abs=margin(exact, trials))


@pytest.mark.parametrize("log_ratio", TABLE_2)
def test_false_positives_respect_table_2(log_ratio: int) -> None:
    """Of M keys with N₁ rows each, M·N₁ = 2^r, any is called hot at most as often as Theorem 2."""
    bits, trials = 10, 8_000
    n_keys, rows = 2**log_ratio, 2 ** (bits - log_ratio)
    bound = 1 - (1 - (rows / 2**bits) ** 2) ** n_keys
    assert round(100 * bound, 2) == TABLE_2[log_ratio]
    flips = flip_many(n_keys * rows * trials, threshold_bits=bits, seed=log_ratio)
    by_key = flips.reshape(trials * n_keys, rows)
    for rule in (two_reached, two_ones):
        wrong = rule(by_key).reshape(trials, n_keys).any(axis=1).mean()
        assert wrong <= bound + margin(bound, trials)


def test_a_row_is_recorded_with_probability_2_to_the_minus_r() -> None:
    for threshold_bits in (0, 1, 5, 9):
        rows = 1 << 20
        share = 2.0**-threshold_bits
        reached = (flip_many(rows, threshold_bits=threshold_bits, seed=3) >= 0).mean()
        assert reached == pytest.approx(share, abs=margin(share, rows) + 1e-12)


def test_each_further_head_halves_the_probability_of_a_bit() -> None:
    bits = flip_many(1 << 20, threshold_bits=0, vector_bits=6, seed=1)
    shares = np.bincount(bits, minlength=6) / bits.size
    expected = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 32]  # the last bit takes all longer runs
    assert shares.size == 6
    for share, wanted in zip(shares, expected, strict=True):
        assert share == pytest.approx(wanted, abs=margin(wanted, bits.size))


@settings(deadline=None, max_examples=40)
@given(stream=keys, seed=st.integers(0, 99))
def test_without_decline_a_vector_is_the_union_of_its_results(stream: list[int], seed: int) -> None:
    synopsis = CoinSynopsis(threshold_bits=1, decline=0, capacity=20, seed=seed)
    synopsis.update_many(stream)
    wanted = dict.fromkeys(range(13), 0)
    for key, bit in zip(
        stream, flip_many(len(stream), threshold_bits=1, seed=seed).tolist(), strict=True
    ):
        wanted[key] |= 1 << bit if bit >= 0 else 0
    assert {key: synopsis.vector(key) for key in range(13)} == wanted
    assert len(synopsis) == sum(vector > 0 for vector in wanted.values())


@settings(deadline=None, max_examples=40)
@given(stream=keys, cuts=st.lists(st.integers(0, 400), max_size=5), seed=st.integers(0, 99))
def test_batches_of_any_size_give_the_same_synopsis(
    stream: list[int], cuts: list[int], seed: int
) -> None:
    whole, cut = (CoinSynopsis(threshold_bits=1, decline=0.1, seed=seed) for _ in range(2))
    events = whole.update_many(stream)
    borders = [0, *sorted(min(border, len(stream)) for border in cuts), len(stream)]
    parts = [cut.update_many(stream[a:b]) for a, b in itertools.pairwise(borders)]
    assert list(itertools.chain(*parts)) == events
    assert whole.rows == cut.rows == len(stream)
    assert [whole.vector(key) for key in range(13)] == [cut.vector(key) for key in range(13)]


@settings(deadline=None, max_examples=60)
@given(stream=keys, decline=st.sampled_from([0.02, 0.2, 0.6]), capacity=st.integers(1, 8))
def test_events_tell_exactly_which_keys_are_hot(
    stream: list[int], decline: float, capacity: int
) -> None:
    synopsis = CoinSynopsis(threshold_bits=0, decline=decline, capacity=capacity, seed=5)
    hot: set[int] = set()
    for key in stream:
        for event in synopsis.update(key):
            assert (event.key_id in hot) == (event.kind == "delete")
            hot ^= {event.key_id}
        assert hot == set(synopsis.hot_ids().tolist())
        assert hot == {key for key in range(13) if synopsis.vector(key).bit_count() >= 2}
        assert len(synopsis) <= capacity


def test_where_no_key_comes_back_two_over_p_keys_are_held() -> None:
    """A vector with bit v lives v + 1 shifts of 1/p updates each, v + 1 being 2 in the mean.

    It is not counted after the update in which it goes: 2/p − 1 keys by Little's law. This is twice
    what Theorem 4 says, and the reason for the default capacity.
    """
    decline = 0.02
    synopsis = CoinSynopsis(threshold_bits=0, decline=decline, seed=2)
    sizes = []
    for start in range(0, 60_000, 25):
        synopsis.update_many(np.arange(start, start + 25))
        sizes.append(len(synopsis))
    assert np.mean(sizes[100:]) == pytest.approx(2 / decline - 1, rel=0.02)
    assert synopsis.forced_evictions == 0


@pytest.mark.parametrize("frequency", [1.0, 0.3, 0.02, 0.002])
def test_the_default_capacity_suffices_for_any_stream(frequency: float) -> None:
    synopsis = CoinSynopsis.for_frequency(frequency, seed=4)
    synopsis.set_rates(0, frequency / 2)  # every row is recorded: the hardest that can happen
    synopsis.update_many(np.arange(200_000))
    assert synopsis.forced_evictions == 0
    assert len(synopsis) <= synopsis.capacity


def test_the_key_with_the_smallest_vector_makes_room() -> None:
    full, other = (CoinSynopsis(decline=0, capacity=capacity) for capacity in (3, 1))
    for key, vector in ((1, 0b1000), (2, 0b1), (3, 0b11)):
        other.state.ids[0], other.state.vectors[0], other.state.cells[0] = key, vector, 1
        full.merge(other)
    other.state.ids[0], other.state.vectors[0] = 4, 0b110
    assert [tuple(event) for event in full.merge(other)] == [(4, "append")]
    assert [full.vector(key) for key in (1, 2, 3, 4)] == [0b1000, 0, 0b11, 0b110]
    other.state.ids[0], other.state.vectors[0] = 5, 0b10000
    assert [tuple(event) for event in full.merge(other)] == [(3, "delete")]
    assert full.forced_evictions == 2


def test_a_key_above_the_threshold_stays_hot_and_is_forgotten_once_it_stays_away() -> None:
    rng = np.random.default_rng(0)
    synopsis = CoinSynopsis.for_frequency(0.05, seed=1)
    hot = 0
    for _ in range(200):  # its share is four times the threshold
        rows = np.where(rng.random(1_000) < 0.2, -1, rng.integers(0, 10**6, 1_000))
        synopsis.update_many(rows)
        hot += synopsis.is_hot(-1)
    assert hot >= 180
    # 16 shifts empty any vector; each takes 1/p recorded rows of 2^r rows in the mean.
    rows_a_shift = int(2**synopsis.threshold_bits / synopsis.decline)
    synopsis.update_many(rng.integers(0, 10**6, 40 * rows_a_shift))
    assert synopsis.vector(-1) == 0


@settings(deadline=None, max_examples=40)
@given(streams=st.tuples(keys, keys, keys))
def test_a_merge_is_the_union_of_vectors(streams: tuple[list[int], list[int], list[int]]) -> None:
    def synopsis(*numbers: int) -> CoinSynopsis:
        united = CoinSynopsis(threshold_bits=0, decline=0.05, seed=9)
        for number in numbers:
            part = CoinSynopsis(threshold_bits=0, decline=0.05, seed=number)
            part.update_many(streams[number])
            united.merge(part)
        return united

    def vectors(merged: CoinSynopsis) -> list[int]:
        return [merged.vector(key) for key in range(13)]

    a, b = (vectors(synopsis(number)) for number in range(2))
    assert vectors(synopsis(0, 1)) == [left | right for left, right in zip(a, b, strict=True)]
    assert vectors(synopsis(0, 1, 2)) == vectors(synopsis(2, 1, 0))
    nested = synopsis(0)
    nested.merge(synopsis(1, 2))
    assert vectors(nested) == vectors(synopsis(0, 1, 2))
    assert vectors(synopsis(0, 0)) == a


def test_a_merge_tells_which_keys_became_hot() -> None:
    left, right = (CoinSynopsis(threshold_bits=0, decline=0, capacity=8) for _ in range(2))
    left.update_many([1] * 50)
    right.update_many([2] * 50)
    events = left.merge(right)
    assert [tuple(event) for event in events] == [(2, "append")]
    assert left.hot_ids().tolist() == [1, 2]


def test_a_pickle_made_mid_stream_goes_on_alike() -> None:
    rows = np.random.default_rng(3).zipf(1.5, 20_000).astype(np.int64)
    synopsis = CoinSynopsis(threshold_bits=2, decline=0.05)
    synopsis.update_many(rows[:10_000])
    copy = pickle.loads(pickle.dumps(synopsis))
    assert copy.update_many(rows[10_000:]) == synopsis.update_many(rows[10_000:])
    assert np.array_equal(copy.hot_ids(), synopsis.hot_ids())


def test_other_rates_take_effect_from_the_next_row_on() -> None:
    synopsis = CoinSynopsis(threshold_bits=4, decline=0, capacity=100)
    synopsis.update_many([1] * 1_000)
    synopsis.set_rates(0, 0.0)
    synopsis.take_census()
    synopsis.update_many([1] * 77)
    assert synopsis.take_census().records == 77


def test_a_census_counts_records_and_hot_keys_since_the_last_one() -> None:
    synopsis = CoinSynopsis(threshold_bits=0, decline=0, capacity=100)
    synopsis.update_many([1] * 50 + [2] * 50)
    synopsis.take_census()
    synopsis.update_many([1] * 10 + [3])
    census = synopsis.take_census()
    assert census == (11, 10, 1, 3)
    assert synopsis.take_census() == (0, 0, 0, 3)


def test_rates_follow_from_the_frequency() -> None:
    for bits in range(1, 12):
        assert rates_for(2.0 ** (1 - bits)) == (bits, 2.0**-bits)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"threshold_bits": -1}, "threshold_bits"),
        ({"threshold_bits": 33}, "threshold_bits"),
        ({"vector_bits": 1}, "vector_bits"),
        ({"decline": 1.0}, "decline"),
        ({"decline": 1e-12}, "decline"),
        ({"decline": 0}, "capacity"),
        ({"capacity": 0}, "capacity"),
        ({"seed": "x"}, "seed"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameterError) as error:
        CoinSynopsis(**parameters)
    assert error.value.parameter == named


def test_a_merge_of_unlike_vectors_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="vector_bits=16"):
        CoinSynopsis().merge(CoinSynopsis(vector_bits=8))
