"""Tables: what is best stands out, numbers can be read."""

import json
import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unskew.reports.measurement import Measurement, to_plain
from unskew.reports.tables import LOAD_COLUMNS, count_text, real_text
from unskew.simulator.results import SimulationResult

RESULT = SimulationResult(
    grouping="key",
    parameters={"workers": 2, "speeds": (1.0, 2.0)},
    workers=2,
    sources=1,
    rows=80,
    learned_rows=20,
    keys=4,
    p1=0.5,
    loads=(60.0, 20.0),
    imbalance_percent=50.0,
    average_imbalance_fraction=0.25,
    stddev=20.0,
    replication=1.0,
    memory=4,
    series=((80, 20.0),),
)


def rows(*percents: float) -> list[Measurement]:
    return [
        Measurement("key", "s", 0, replace(RESULT, imbalance_percent=percent), 2.0)
        for percent in percents
    ]


def test_the_least_imbalance_and_the_highest_speed_stand_out() -> None:
    measurements = rows(3.0, 1.0, 2.0)
    assert [best for _, best in LOAD_COLUMNS[0].cells(measurements)] == [False, True, False]
    faster = [
        replace(each, seconds=time) for each, time in zip(measurements, (3, 2, 1), strict=True)
    ]
    assert [best for _, best in LOAD_COLUMNS[-1].cells(faster)] == [False, False, True]


def test_what_looks_the_same_is_equally_good_and_if_all_do_none_stands_out() -> None:
    cells = LOAD_COLUMNS[0].cells(rows(1.0001, 1.0, 2.0))
    assert [best for _, best in cells] == [True, True, False]
    assert not any(best for _, best in LOAD_COLUMNS[0].cells(rows(1.0, 1.0)))


def test_what_is_not_finite_is_no_number_and_never_the_best() -> None:
    unknown = replace(rows(1.0)[0], result=replace(RESULT, replication=math.nan))
    known = replace(rows(2.0)[0], result=replace(RESULT, replication=3.0))
    worse = replace(rows(2.0)[0], result=replace(RESULT, replication=4.0))
    cells = LOAD_COLUMNS[3].cells([unknown, known, worse])
    assert cells == [("–", False), ("3.0000", True), ("4.0000", False)]
    assert unknown.to_json()["replication"] is None


def test_speed_counts_the_rows_that_were_learned_from() -> None:
    assert rows(1.0)[0].rows_per_second == 50.0


def test_json_holds_plain_values_and_whole_loads() -> None:
    fields = json.loads(json.dumps(rows(1.0)[0].to_json(), allow_nan=False))
    assert fields["loads"] == [60, 20]
    assert all(isinstance(load, int) for load in fields["loads"])
    assert fields["parameters"]["speeds"] == [1.0, 2.0]
    assert "queueing" not in fields
    assert to_plain({"inf": math.inf, "array": np.array([1.5])}) == {"inf": None, "array": [1.5]}


@given(st.floats(min_value=1e-12, max_value=1e12))
def test_a_written_number_is_right_to_three_digits(value: float) -> None:
    read = float(real_text(value).replace(",", ""))
    assert math.isclose(read, value, rel_tol=0.006)


@given(st.integers(min_value=0, max_value=10**15))
def test_a_written_count_is_exact(value: int) -> None:
    assert int(count_text(value).replace(",", "")) == value
