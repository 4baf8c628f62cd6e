"""Recommendations: the work decides what may be done, the figures whether it is worth it."""

from dataclasses import replace

import numpy as np
import pytest

from unskew.advisor.diagnosis import diagnose
from unskew.advisor.predict import predict
from unskew.advisor.profile import KeyProfile
from unskew.advisor.profiling import profile_stream
from unskew.advisor.recommend import recommend
from unskew.errors import InvalidParameterError
from unskew.streams import from_keys, uniform, with_costs, zipf

SKEWED = KeyProfile.from_counts(np.arange(1, 1001), 100_000 // np.arange(1, 1001))


def test_mergeable_work_on_skewed_keys_gets_a_scheme_that_splits() -> None:
    found = diagnose(SKEWED, 20, work="merge")
    chosen = {each.grouping: each for each in found.predictions}[
        found.recommendation.grouping or "key"
    ]
    assert chosen.splits_keys
    assert found.recommendation.load_ratio_then < 1.05
    assert found.recommendation.load_saved > 0.5


@pytest.mark.parametrize("work", ["merge", "atomic", "stateless", "builtin"])
def test_no_time_is_promised_where_nobody_said_what_rows_cost(work: str) -> None:
    silent = diagnose(SKEWED, 20, work=work).recommendation
    assert silent.time_saved is None
    assert "time" not in silent.text.replace(" times", "")
    told = diagnose(SKEWED, 20, work=work, cost_per_row=2.0).recommendation
    assert told.time_saved == told.load_saved


def test_the_verdict_says_what_it_does_not_know() -> None:
    found = " ".join(diagnose(SKEWED, 20, work="atomic").recommendation.not_known)
    assert "what rows cost" in found
    assert "what a group costs" in found
    assert "hot keys change" in found
    told = diagnose(SKEWED, 20, work="merge", cost_per_row=2.0).recommendation
    assert "what rows cost" not in " ".join(told.not_known)
    assert any("one more shuffle" in each for each in told.not_known)
    assert diagnose(SKEWED, 20, work="builtin").recommendation.not_known == ()


def test_work_on_whole_keys_gets_a_scheme_that_keeps_them_whole() -> None:
    profile = KeyProfile.from_counts(np.arange(64), np.full(64, 1000))
    found = diagnose(profile, 16, work="atomic", batch=True)
    chosen = {each.grouping: each for each in found.predictions}[
        found.recommendation.grouping or "key"
    ]
    assert not chosen.splits_keys
    assert chosen.replication == 1.0
    assert found.recommendation.load_ratio_then < found.recommendation.load_ratio_now
    assert ".apply_in_arrow(" in found.recommendation.code


def test_a_key_larger_than_a_worker_is_said_to_be_the_limit_of_whole_keys() -> None:
    found = diagnose(SKEWED, 20, work="atomic", batch=True).recommendation
    assert found.load_ratio_then >= SKEWED.p1 * 20
    assert any("--work merge" in reason for reason in found.why)


def test_rows_of_unequal_cost_are_scheduled_by_it_where_that_is_more_even() -> None:
    stream = with_costs(zipf(keys=500, exponent=1.0, rows=30_000, seed=1), values=16)
    profile = profile_stream(stream)
    seen = predict(profile, 5, work="stateless")
    found = recommend(profile, seen, work="stateless", workers=5)
    assert found.grouping is None  # so many rows are even by chance
    assert found.load_ratio_then < 1.05
    assert any("Costs of rows differ" in reason for reason in found.why)
    uneven = [
        replace(one, imbalance_percent=30.0) if one.grouping == "shuffle" else one for one in seen
    ]
    found = recommend(profile, uneven, work="stateless", workers=5, by="user")
    assert found.grouping == "proactive-shuffle"
    assert found.code.startswith("us.map_rows(df, ")
    assert found.load_ratio_now == pytest.approx(1.3)


def test_rows_of_equal_cost_stay_where_they_are() -> None:
    """Spark does not hash them by key; another shuffle would be for nothing."""
    found = diagnose(SKEWED, 20, work="stateless").recommendation
    assert found.grouping is None
    assert found.load_saved == 0
    assert "df.repartition(20)" in found.text
    assert any("keys do not matter" in reason for reason in found.why)


def test_builtin_aggregates_are_left_to_spark_however_skewed() -> None:
    found = diagnose(SKEWED, 20, work="builtin").recommendation
    assert found.grouping is None
    assert found.code.startswith("df.groupBy(")


@pytest.mark.parametrize("work", ["merge", "atomic"])
def test_harmless_skew_is_left_alone(work: str) -> None:
    profile = profile_stream(uniform(keys=50_000, rows=200_000, seed=1))
    found = diagnose(profile, 5, work=work).recommendation
    assert found.grouping is None
    assert found.text.startswith("Do nothing")


def test_one_worker_has_nothing_to_balance() -> None:
    found = diagnose(SKEWED, 1).recommendation
    assert found.grouping is None
    assert any("one worker" in reason for reason in found.why)


def test_a_chosen_scheme_is_never_predicted_to_be_slower_than_plain_hashing() -> None:
    for work in ("merge", "atomic", "stateless", "builtin"):
        for workers in (2, 7, 50):
            found = diagnose(SKEWED, workers, work=work).recommendation
            assert found.load_ratio_then <= found.load_ratio_now


def test_predictions_without_plain_hashing_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="key"):
        recommend(SKEWED, [], work="merge", workers=4)


def test_a_batch_that_is_sampled_beforehand_does_not_suffer_from_drift() -> None:
    keys = np.concatenate([np.full(20_000, 1), np.full(80_000, 2), np.arange(3, 20_003)])
    profile = profile_stream(from_keys(keys))
    alone, told = (
        {each.grouping: each for each in diagnose(profile, 10, batch=batch).predictions}["wrap"]
        for batch in (False, True)
    )
    assert told.imbalance_percent < 2 < alone.imbalance_percent
