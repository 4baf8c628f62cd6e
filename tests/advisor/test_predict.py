"""Predictions: what is drawn is what was profiled, and the simulator then measures the same."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.advisor import profiling
from unskew.advisor.drawing import draw_stream
from unskew.advisor.predict import FLOOR_PERCENT, predict
from unskew.advisor.profile import KeyProfile
from unskew.advisor.profiling import profile_stream
from unskew.errors import InvalidParameterError
from unskew.groupings.registry import make_grouping
from unskew.simulator.loads import simulate
from unskew.simulator.queueing import simulate_queue
from unskew.streams import from_keys, parse_stream, with_costs, zipf

ROWS = 120_000
NOT_DEVELOPED_ON = [
    f"zipf:exponent=0.5,rows={ROWS}",
    f"zipf:exponent=1.0,rows={ROWS}",
    f"zipf:exponent=1.6,rows={ROWS}",
    f"zipf:exponent=2.0,rows={ROWS}",
    f"LN2:rows={ROWS}",
    f"countries:rows={ROWS}",
    f"drift:rows={ROWS},every=12000",
]
STEADY = ("key", "universal", "shuffle", "partial-key", "d-choices", "w-choices", "optimal")
"""Schemes whose figures do not hang on the order of a few rows."""


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=400))
def test_a_drawn_stream_has_exactly_the_rows_that_were_counted(keys: list[int]) -> None:
    drawn = draw_stream(profile_stream(from_keys(keys)), seed=3)
    assert Counter(drawn.keys.tolist()) == Counter(keys)


def test_a_drawn_stream_begins_as_the_real_one_and_changes_when_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profiling, "OPENING", 500)
    keys = np.repeat(np.arange(10, dtype=np.uint64), 3200)
    keys[:500] = np.random.default_rng(1).permutation(500) % 3
    drawn = draw_stream(profile_stream(from_keys(keys))).keys
    assert drawn[:500].tolist() == keys[:500].tolist()
    assert np.mean(drawn == keys) > 0.98


def test_a_sample_is_drawn_as_long_as_the_whole_with_about_as_many_keys() -> None:
    stream = zipf(keys=20_000, exponent=1.0, rows=ROWS, seed=1)
    whole = profile_stream(stream)
    drawn = draw_stream(profile_stream(stream, sample=20_000))
    assert abs(drawn.rows / ROWS - 1) < 0.02
    assert abs(np.unique(drawn.keys).size / whole.keys - 1) < 0.05


def test_a_long_stream_is_drawn_shorter_with_the_same_shares() -> None:
    profile = KeyProfile.from_counts([1, 2, 3], [8_000_000, 1_000_000, 1_000_000])
    drawn = draw_stream(profile, most_rows=10_000)
    assert abs(drawn.rows - 10_000) <= 3
    assert abs(np.mean(drawn.keys == 1) - 0.8) < 0.01


def test_keys_that_are_in_no_table_are_drawn_too() -> None:
    profile = KeyProfile.from_counts([1], [600], tail_keys=100, tail_rows=400)
    keys, rows = np.unique(draw_stream(profile).keys, return_counts=True)
    assert keys.size == pytest.approx(101, abs=5)
    assert rows.sum() == pytest.approx(1000, abs=50)


@pytest.mark.parametrize("spec", NOT_DEVELOPED_ON)
def test_predictions_are_within_a_tenth_of_what_is_then_measured(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiling, "OPENING", 1000)  # or the stream would be known row by row
    stream = parse_stream(spec, seed=2)
    profile = profile_stream(stream)
    for workers in (10, 50):
        schemes = {name: make_grouping(name, workers, seed=2) for name in STEADY}
        for each in predict(profile, workers, sources=3, groupings=schemes, seed=7):
            measured = simulate(schemes[each.grouping], stream, sources=3)
            real = measured.imbalance_percent
            assert abs(each.imbalance_percent - real) <= max(0.1 * real, FLOOR_PERCENT)
            assert each.replication == pytest.approx(measured.replication, rel=0.1)
            assert each.memory == pytest.approx(measured.memory, rel=0.1)


@pytest.mark.parametrize("spec", NOT_DEVELOPED_ON[:5])
def test_a_sample_predicts_the_time_of_a_job_within_a_tenth(spec: str) -> None:
    stream = parse_stream(spec, seed=2)
    profile = profile_stream(stream, sample=ROWS // 3)
    schemes = {name: make_grouping(name, 10, seed=2) for name in (*STEADY, "wrap")}
    for each in predict(profile, 10, groupings=schemes, seed=7):
        real = simulate(schemes[each.grouping], stream).imbalance_percent
        assert each.job_time_ratio == pytest.approx(1 + real / 100, rel=0.1)


def test_a_scheme_that_learned_from_the_same_rows_is_predicted_exactly() -> None:
    stream = zipf(exponent=1.2, rows=ROWS, seed=4)
    found = {each.grouping: each for each in predict(profile_stream(stream), 20, seed=4)}
    measured = simulate(make_grouping("wrap", 20, seed=4), stream)
    assert found["wrap"].imbalance_percent == pytest.approx(measured.imbalance_percent)
    assert found["wrap"].replication == pytest.approx(measured.replication)


def test_with_costs_the_load_is_the_cost_of_the_rows() -> None:
    stream = with_costs(zipf(keys=300, rows=20_000, seed=1), values=8)
    found = {each.grouping: each for each in predict(profile_stream(stream), 5, seed=1)}
    for name in ("shuffle", "key", "proactive-shuffle"):
        busy = simulate_queue(make_grouping(name, 5, seed=1), stream, weighted=True).busy
        assert found[name].job_time_ratio == pytest.approx(max(busy) / np.mean(busy), rel=0.02)
        assert found[name].job_seconds == pytest.approx(max(busy) / 1000, rel=0.02)


def test_bad_questions_are_refused() -> None:
    profile = KeyProfile.from_counts([1, 2], [3, 4])
    for arguments in ({"workers": 0}, {"workers": 2, "work": "magic"}):
        with pytest.raises(InvalidParameterError):
            predict(profile, **arguments)
    with pytest.raises(InvalidParameterError, match="cost_per_row"):
        predict(profile, 2, cost_per_row=0)
