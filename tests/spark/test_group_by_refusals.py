"""What cannot be grouped as asked is refused when the query is built; reprs say what will be."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark.grouped_cases import SPREAD, SUMS, SumAndCount, skewed_rows, spread

from unskew.errors import InvalidParameterError, UnknownNameError, UnskewError
from unskew.groupings.distribution_aware import DistributionAware
from unskew.groupings.plan import HASHED_MEMBER, hashing_plan
from unskew.spark.aggregators import Mean, State
from unskew.spark.group_by import GroupedFrame, group_by
from unskew.spark.plans.saved import PlanStore

_SPLITTING = ["shuffle", "wrap", "popularity", "partial-key", "d-choices"]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(skewed_rows())


@pytest.mark.parametrize("grouping", [*_SPLITTING, DistributionAware(3, split_heavy=True)])
def test_whole_groups_refuse_every_scheme_that_splits_keys(rows: DataFrame, grouping: Any) -> None:
    placed = group_by(rows, "user", workers=3, grouping=grouping)
    with pytest.raises(InvalidParameterError, match=r"distribution-aware\b.*see apply") as refused:
        placed.apply_in_arrow(spread, SPREAD)
    assert refused.value.parameter == "grouping"


@pytest.mark.parametrize(
    ("by", "workers", "grouping", "error"),
    [
        ("usr", 2, None, InvalidParameterError),
        ([], 2, None, InvalidParameterError),
        ("user", 0, None, InvalidParameterError),
        ("user", 2, "wrapp", UnknownNameError),
        ("user", 2, "optimal", InvalidParameterError),
        ("user", 2, DistributionAware(3), InvalidParameterError),
    ],
)
def test_what_cannot_run_is_refused_when_the_query_is_built(
    rows: DataFrame, by: Any, workers: int, grouping: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        group_by(rows, by, workers=workers, grouping=grouping)


def test_a_map_is_no_key(spark: SparkSession) -> None:
    df = spark.range(1).select(sf.create_map(sf.lit(1), sf.lit(2)).alias("m"))
    with pytest.raises(InvalidParameterError, match="m"):
        group_by(df, "m", workers=2)


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda placed: placed.agg(), "exprs"),
        (lambda placed: placed.apply(Mean, "mean double"), "aggregator"),
        (lambda placed: placed.apply(Mean("x"), "user double"), "schema"),
        (lambda placed: placed.apply(Mean("x"), pa.schema([])), "schema"),
        (lambda placed: placed.apply_in_arrow("spread", SPREAD), "func"),
        (lambda placed: placed.apply_in_arrow(lambda a, b, c: a + b + c, SPREAD), "func"),
    ],
)
def test_bad_arguments_are_refused_when_the_query_is_built(
    rows: DataFrame, build: Any, parameter: str
) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        build(group_by(rows, "user", workers=2, grouping="key"))
    assert refused.value.parameter == parameter


def test_a_schema_that_cannot_fit_is_refused_when_the_query_is_built(rows: DataFrame) -> None:
    placed = group_by(rows, "user", workers=2, grouping="key")
    with pytest.raises(UnskewError, match=r"SumAndCount: the result .* n must be string, got 0"):
        placed.apply(SumAndCount(), "total bigint, n string")
    with pytest.raises(UnskewError, match=r"the result must be a tuple of \(total\)"):
        placed.apply(SumAndCount(), "total bigint")

    class Wrong(SumAndCount):
        state_schema = "total bigint, n string"

    with pytest.raises(UnskewError, match=r"Wrong: the state .* n must be string"):
        placed.apply(Wrong(), SUMS)


def test_an_aggregator_that_knows_no_result_of_no_rows_is_taken(rows: DataFrame) -> None:
    class Share(SumAndCount):
        def finish(self, state: State) -> State:
            return (state[1] / state[1],)

    built = group_by(rows, "user", workers=2, grouping="key").apply(
        Share(), "share double not null"
    )
    assert built.columns == ["user", "share"]


def test_repr_says_what_will_be_done(rows: DataFrame) -> None:
    default: GroupedFrame = group_by(rows, ["user", "day"], workers=8)
    for word in ("user, day", "8 workers", "wrap", "distribution-aware", "merged by key"):
        assert word in repr(default)
    assert "distribution-aware" not in repr(
        group_by(rows, "user", workers=8, grouping="partial-key")
    )


def test_repr_says_what_a_plan_does(rows: DataFrame, tmp_path: Path) -> None:
    plan = hashing_plan(8, HASHED_MEMBER, 8)
    saved = PlanStore(tmp_path).save(plan, by="user")
    assert repr(plan) in repr(group_by(rows, "user", workers=8, plan=plan))
    assert repr(saved) in repr(group_by(rows, "user", workers=8, plan=saved))
