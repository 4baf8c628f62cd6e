"""Which stage does what, by the accumulators that plans and tasks name."""

from typing import Any

import pytest

from unskew.advisor.history.advice import Finding, advise, cause_of
from unskew.advisor.history.plans import StageWork, works_by_accumulator


def node(name: str, *children: dict[str, Any], text: str = "", **metrics: int) -> dict[str, Any]:
    return {
        "nodeName": name,
        "simpleString": f"{name} {text}",
        "children": list(children),
        "metrics": [
            {"name": metric.replace("_", " "), "accumulatorId": number}
            for metric, number in metrics.items()
        ],
    }


def shuffle(text: str, child: dict[str, Any], written: int, read: int) -> dict[str, Any]:
    return node("Exchange", child, text=text, shuffle_records_written=written, records_read=read)


def test_the_two_sides_of_a_shuffle_are_counted_in_two_stages() -> None:
    scan = node("Scan parquet", number_of_output_rows=1)
    by_user = shuffle("hashpartitioning(user#0L, 8)", scan, 2, 3)
    works = works_by_accumulator(node("FlatMapGroupsInPandas", by_user, spill_size=4))
    assert works[1] is works[2]
    assert works[1] == StageWork(["Scan parquet"])
    assert works[3] is works[4]
    assert works[3] == StageWork(["FlatMapGroupsInPandas"], ("user",), shuffled=True)


def test_of_two_shuffles_each_stage_has_its_own_key() -> None:
    scan = node("Scan parquet")
    first = shuffle("hashpartitioning(a#1, b#2, 8)", scan, 1, 2)
    second = shuffle("hashpartitioning(c#3, 8)", node("Window", first), 3, 4)
    works = works_by_accumulator(node("WholeStageCodegen (1)", node("HashAggregate", second)))
    assert works[2] == works[3] == StageWork(["Window"], ("a", "b"), shuffled=True)
    assert works[4] == StageWork(["HashAggregate"], ("c",), shuffled=True)


def test_a_join_has_the_key_of_its_first_side_and_both_sides_in_one_stage() -> None:
    sides = [
        shuffle(f"hashpartitioning({name}#{n}, 8)", node("Scan parquet"), 10 + n, 20 + n)
        for n, name in enumerate(("user", "id"))
    ]
    works = works_by_accumulator(node("SortMergeJoin", *sides))
    assert works[20] is works[21]
    assert works[20].keys == ("user",)
    assert works[10] is not works[11]


def test_a_plan_without_the_fields_of_today_gives_nothing() -> None:
    assert works_by_accumulator({}) == {}
    assert works_by_accumulator({"nodeName": "Exchange", "metrics": None}) == {}


UNEVEN = Finding(0.5, 4.0, 4.0, 4.0, StageWork(), 8)


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({}, "rows"),
        ({"its_records": 1.0}, "costs"),
        ({"its_records": 0.2}, "costs"),
        ({"its_records": None}, "unknown"),
        ({"longest_work": 1.2}, "start"),
        ({"lost_share": 0.01}, "even"),
        ({"longest": 1.0, "longest_work": 1.0}, "even"),
    ],
)
def test_the_cause_is_what_the_longest_task_had_more_of(
    changed: dict[str, Any], cause: str
) -> None:
    assert cause_of(UNEVEN._replace(**changed)) == cause


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (StageWork(["FlatMapGroupsInArrow"], ("a", "b")), 'us.group_by(df, ["a", "b"], workers=8)'),
        (StageWork(["ObjectHashAggregate"], ("a",)), 'us.group_by(df, "a", workers=8).apply('),
        (StageWork(["Project"], ("a",)), 'us.balance(df, by="a", workers=8)'),
        (StageWork(), None),
        (StageWork(["Project"], ("coalesce(a, 0)",)), None),
        (StageWork(["SortMergeJoin"], ("a",)), 'us.join(left, right, "a", workers=8)'),
        (StageWork(["Window"], ("a",)), None),
        (StageWork(["HashAggregate"], ("a",), combined=True), None),
        (StageWork(["HashAggregate", "MapInArrow"], ("a",)), 'us.balance(df, by="a", workers=8)'),
        (StageWork(["Sort"], ("a",), ranged=True), None),
        (StageWork(["ObjectHashAggregate", "Scan parquet "]), "df.repartition(8)"),
        (StageWork(["BatchScan events"]), "df.repartition(8)"),
        (
            StageWork(["SortMergeJoin", "Scan parquet "], ("a",)),
            'us.join(left, right, "a", workers=8)',
        ),
        (StageWork(["FlatMapCoGroupsInArrow"], ("a",)), None),
    ],
)
def test_uneven_rows_get_the_code_that_fits_the_work_or_none(
    work: StageWork, code: str | None
) -> None:
    found = advise(UNEVEN._replace(work=work), 0.5).code
    assert found is None if code is None else str(found).startswith(code)


def test_uneven_costs_get_measured_weights_for_keys_and_map_rows_for_rows() -> None:
    costs = UNEVEN._replace(its_records=1.0)
    keyed = costs._replace(work=StageWork(["FlatMapGroupsInArrow"], ("a",)))
    assert "us.map_rows" in advise(costs, 0.5).hint
    assert 'weight="measured"' in str(advise(keyed, 0.5).code)


def test_a_join_whose_rows_do_not_explain_its_times_is_still_a_skewed_join() -> None:
    joining = UNEVEN._replace(its_records=1.0, work=StageWork(["ShuffledHashJoin"], ("a", "b")))
    advice = advise(joining, 0.5)
    assert advice.code == 'us.join(left, right, ["a", "b"], workers=8)'
    assert "more rows come out of some keys" in advice.hint


def test_where_little_is_to_be_won_nothing_is_to_be_done() -> None:
    for finding in (UNEVEN, UNEVEN._replace(its_records=None)):
        advice = advise(finding, 0.01)
        assert advice.code is None
        assert advice.hint.startswith("Do nothing")


def test_only_an_aggregate_below_the_shuffle_has_combined_its_rows() -> None:
    hashed = "hashpartitioning(k#1, 4)"
    before = shuffle(hashed, node("HashAggregate", node("Scan parquet")), 1, 2)
    after = shuffle(hashed, node("Project", node("Scan parquet")), 1, 2)
    for below, combined in ((before, True), (after, False)):
        mapping = node("HashAggregate", node("MapInArrow", below, spill_size=5))
        work = works_by_accumulator(mapping)[5]
        assert work.combined is combined
        advice = advise(UNEVEN._replace(work=work), 0.5)
        assert advice.hint.startswith("Do nothing about hot keys") is combined
