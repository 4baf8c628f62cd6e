"""Laws of the kinds of checks: what holds at the limits, and what is said of it."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew_papers.checks import (
    Above,
    All,
    AtLeast,
    AtMost,
    Below,
    Check,
    Equal,
    Exact,
    Falls,
    Near,
    Ordered,
    Rises,
    Within,
)
from unskew_papers.quantities import (
    Computed,
    cell,
    count,
    first,
    largest,
    level,
    mean,
    median,
    slope,
    smallest,
    spread,
    where_largest,
    where_smallest,
)
from unskew_papers.rows import (
    ALL_BUT_SMALLEST,
    FIRST,
    GIVEN,
    LARGEST,
    SMALLEST,
    Rows,
    above,
    at_least,
    below,
    one_of,
    other_than,
    span,
    up_to,
)

numbers = st.floats(-1e6, 1e6)


def rows_of(*values: float | None) -> Rows:
    return Rows([{"k": place, "x": value} for place, value in enumerate(values)])


@given(numbers, numbers)
def test_one_sided_limits_differ_only_where_they_are_reached(number: float, limit: float) -> None:
    rows = rows_of(number)
    found = [kind(limit, cell("x"))(rows).holds for kind in (AtMost, Below, AtLeast, Above)]
    assert found == [number <= limit, number < limit, number >= limit, number > limit]


@given(numbers, numbers, numbers)
def test_within_is_at_least_and_at_most(number: float, low: float, high: float) -> None:
    rows = rows_of(number)
    both = All(AtLeast(low, cell("x")), AtMost(high, cell("x")))
    assert Within(low, high, cell("x"))(rows).holds == both(rows).holds


@pytest.mark.parametrize(
    ("number", "beyond", "expected"),
    [
        (90.0, "above", (True, False)),
        (120.0, "above", (False, True)),
        (80.0, "above", (False, False)),
        (80.0, "below", (False, True)),
        (120.0, None, (False, False)),
    ],
)
def test_beyond_the_band_is_an_overshoot_on_the_side_that_is_named(
    number: float, beyond: str | None, expected: tuple[bool, bool]
) -> None:
    near = Near(100, cell("x"), share=0.1, beyond=beyond)
    within = Within(90, 110, cell("x"), beyond=beyond)
    for check in (near, within, All(near, within)):
        found = check(rows_of(number))
        assert (found.holds, found.overshoots) == expected


def test_an_overshoot_beside_a_failure_is_a_failure() -> None:
    near = Near(100, cell("x"), share=0.1, beyond="above", each=["k"])
    assert not near(rows_of(120.0, 80.0)).overshoots
    both = All(Near(100, cell("x"), share=0.1, beyond="above"), Below(50, cell("x")))
    assert not both(rows_of(120.0)).overshoots


def test_twice_the_standard_error_widens_the_band() -> None:
    rows = Rows([{"x": 1.30, "error": 0.05}])
    assert Near(1.2, cell("x"), error=cell("error"))(rows).holds
    assert not Near(1.19, cell("x"), error=cell("error"))(rows).holds


@pytest.mark.parametrize(
    ("number", "holds"), [(89.0, False), (91.0, True), (109.0, True), (111.0, False)]
)
def test_near_has_a_band_on_both_sides(number: float, holds: bool) -> None:
    assert Near(100, cell("x"), share=0.1)(rows_of(number)).holds == holds
    assert Near(100, cell("x"), off=10)(rows_of(number)).holds == holds
    named = Near({"one": 100}, {"one": cell("x")}, share=0.05, off=5)
    assert named(rows_of(number)).holds == holds


def test_every_setting_has_to_keep_the_limit() -> None:
    rows = rows_of(1.0, 2.0, 3.0)
    assert AtMost(3, cell("x"), each=["k"])(rows).holds
    assert not AtMost(2, cell("x"), each=["k"])(rows).holds
    assert AtMost(2, cell("x"), each=["k"], where={"k": below(2)})(rows).holds
    assert AtMost(2, cell("x"), each=["k"], among=lambda row: row["x"] < 3)(rows).holds
    assert AtMost(2, cell("x"), each=["k"], given=Below(3, cell("x")))(rows).holds


@pytest.mark.parametrize(
    "check",
    [
        AtMost(2, cell("x"), each=["k"], where={"k": 9}),
        AtLeast(0, smallest("x", k=9)),
        Ordered({"one": cell("x")}, where={"k": 9}),
        Falls("x", "k", where={"k": 9}),
        Exact("jobs"),
    ],
)
def test_what_asks_nothing_does_not_hold(check: Check) -> None:
    assert not check(rows_of(1.0)).holds


def test_a_limit_may_be_a_quantity() -> None:
    rows = Rows([{"k": 5, "x": 4.0}, {"k": 9, "x": 9.0}])
    assert not AtMost(cell("k") - 1, cell("x"), each=["k"])(rows).holds
    assert AtMost(cell("k"), cell("x"), each=["k"])(rows).holds


@given(st.lists(numbers, min_size=1, max_size=6))
def test_curves_fall_or_rise_as_sorting_has_it(values: list[float]) -> None:
    rows = rows_of(*values)
    assert Falls("x", "k")(rows).holds == (values == sorted(values, reverse=True))
    assert Rises("x", "k")(rows).holds == (values == sorted(values))
    strictly = all(left > right for left, right in pairwise(values))
    assert Falls("x", "k", strictly=True)(rows).holds == strictly


def test_order_has_slack_and_what_is_negligible_counts_as_equal() -> None:
    rows = Rows([{"a": 1.0, "b": 1.05}])
    pair = {"a": cell("a"), "b": cell("b")}
    assert not Ordered(pair)(rows).holds
    assert Ordered(pair, slack=1.1)(rows).holds
    assert Ordered(pair, negligible=2.0)(rows).holds
    same = {"a": cell("a"), "again": cell("a")}
    assert not Ordered(same)(rows).holds
    assert Ordered(same, or_equal=True)(rows).holds
    assert Equal(same)(rows).holds
    assert not Equal(pair)(rows).holds


def test_few_figures_are_all_named_and_of_many_those_that_are_furthest_off() -> None:
    few, many = rows_of(1.0, 2.0), rows_of(*map(float, range(20)))
    assert AtMost(1, cell("x"), each=["k"])(few).measured == "k = 0: 1.00, k = 1: 2.00"
    assert AtMost(99, cell("x"), each=["k"])(many).measured == "0.00 … 19.00 over 20 settings"
    said = AtMost(9, cell("x"), each=["k"], form="{:.0f} %")(many).measured
    assert said.startswith("0 … 19 %, right in 10 of 20 settings; not k = 19: 19 %, k = 18: 18 %")
    assert said.endswith("and 2 more")
    said = AtLeast(10, cell("x"), each=["k"], form="{:.0f}")(many).measured
    assert "; not k = 0: 0, k = 1: 1" in said


def test_what_is_said_of_an_order_is_true() -> None:
    rows = Rows([{"a": 1.0, "b": 2.0}])
    said = Ordered({"a": cell("a"), "b": cell("b"), "b again": cell("b")}, form="{:g}")(rows)
    assert said.measured == "a 1 < b 2 = b again 2"


def test_exact_counts_the_rows_that_say_whether_they_are() -> None:
    rows = Rows([{"k": 1, "exact": True}, {"k": 2, "exact": False}, {"k": 3}])
    assert Exact("jobs")(rows).measured == "1 of 2 jobs"
    assert Exact("jobs", {"k": 1})(rows).holds


ROWS = Rows(
    [
        {"s": "a", "k": 3, "x": 1.0},
        {"s": "a", "k": 5, "x": 4.0},
        {"s": "b", "k": 3, "x": 9.0},
        {"s": "b", "k": 7, "x": None},
    ]
)


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        (cell("x", s="b", k=3), 9.0),
        (first("x"), 1.0),
        (largest("x"), 9.0),
        (smallest("x", s="a"), 1.0),
        (mean("x", s="a"), 2.5),
        (median("x"), 4.0),
        (spread("x"), 8.0),
        (count(k=3), 2),
        (largest(count(), ["k"]), 2),
        (where_largest("k", "x", s="a"), 5),
        (where_smallest("k", abs(cell("x") - 4), s="a"), 5),
        (slope("k", "x", s="a"), 1.5),
        (level("k", "x", s="a"), -3.5),
        (1 - cell("x", k=5) / largest("x"), 1 - 4 / 9),
        (2 * cell("x", k=5) + 1, 9.0),
        (Computed(lambda rows, power: len(rows) ** power, {"power": 2}), 16),
    ],
)
def test_quantities_are_read_off_the_rows(quantity: Computed, expected: float) -> None:
    found = quantity.of(ROWS)
    assert found is not None
    assert math.isclose(found, expected)


def test_what_cannot_be_read_off_is_no_number() -> None:
    assert largest("x", s="c").of(ROWS) is None
    assert (largest("x", s="c") / 2).of(ROWS) is None
    assert (cell("x", k=5) / (cell("x", k=5) - 4)).of(ROWS) is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (below(5), [3, 3]),
        (up_to(5), [3, 5, 3]),
        (above(3), [5, 7]),
        (at_least(5), [5, 7]),
        (span(3, 5), [5]),
        (one_of(3, 7), [3, 3, 7]),
        (other_than(3), [5, 7]),
        (SMALLEST, [3, 3]),
        (LARGEST, [7]),
        (FIRST, [3, 3]),
        (ALL_BUT_SMALLEST, [5, 7]),
        (GIVEN, [3, 5, 3, 7]),
    ],
)
def test_conditions_and_picks(wanted: object, found: list[int]) -> None:
    assert ROWS.values("k", k=wanted) == found


def test_no_value_meets_no_condition_and_a_pick_is_among_rows_that_match_in_all_else() -> None:
    assert ROWS.values("k", x=GIVEN) == [3, 5, 3]
    assert ROWS.values("k", x=other_than(1.0)) == [5, 3]
    assert ROWS.values("k", s="a", k=LARGEST) == [5]
