import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.events import SCHEMA, Epoch, HotKey, epoch_from, line_of

PLAIN = Epoch(
    grouping="key",
    query="q",
    run="r",
    batch=3,
    started=12.5,
    seconds=0.5,
    rows=4,
    loads=(3, 1),
    imbalance=50.0,
)

reals = st.floats(0, 1e15)
keys = st.builds(HotKey, st.text(), st.floats(0, 1), st.lists(st.integers(0, 99)).map(tuple))


@st.composite
def epochs(draw: st.DrawFn) -> Epoch:
    loads = draw(st.lists(st.integers(0, 2**60), max_size=5))
    times = st.none() | st.lists(reals, min_size=len(loads), max_size=len(loads)).map(tuple)
    return replace(
        PLAIN,
        grouping=draw(st.text()),
        loads=tuple(loads),
        predicted_loads=draw(times),
        busy_seconds=draw(times),
        estimated_seconds=draw(times),
        imbalance=draw(reals),
        imbalance_of=draw(st.sampled_from(["rows", "busy_seconds"])),
        why=draw(st.none() | st.text()),
        hot_keys=tuple(draw(st.lists(keys, max_size=3))),
        latency=draw(st.none() | st.tuples(reals, reals, reals)),
    )


@given(epochs())
def test_an_epoch_comes_back_from_its_line_as_it_was(epoch: Epoch) -> None:
    line = line_of(epoch)
    assert "\n" not in line
    assert epoch_from(line) == epoch
    assert epoch_from(line.encode()) == epoch


def test_the_first_field_of_a_line_is_the_schema() -> None:
    assert next(iter(json.loads(line_of(PLAIN)).items())) == ("schema", SCHEMA)


def test_fields_of_a_later_release_with_the_same_schema_are_left_out() -> None:
    line = json.dumps({**json.loads(line_of(PLAIN)), "colour": "green"})
    assert epoch_from(line) == PLAIN


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch", -1),
        ("batch", 1.5),
        ("rows", True),
        ("grouping", None),
        ("loads", (1, -2)),
        ("loads", [1, 2]),
        ("loads", (1, 10**400)),
        ("predicted_loads", (1.0, 2.0, 3.0)),
        ("imbalance", float("nan")),
        ("seconds", float("inf")),
        ("seconds", 1e300),
        ("imbalance_of", "bytes"),
        ("busy_seconds", (1.0,)),
        ("latency", (1.0, 2.0)),
        ("why", 3),
        ("damaged", ("a", 3)),
        ("planning_seconds", -1.0),
        ("stats_rows", 1.5),
        ("schema", SCHEMA + 1),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        replace(PLAIN, **{field: value})
    assert caught.value.parameter == field


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "[1]",
        "{}",
        '{"schema": 1}',
        line_of(PLAIN)[:-5],
        line_of(PLAIN).replace("[3, 1]", '"<b>"'),
        line_of(PLAIN).replace("[]", '[{"key": "a"}]'),
        line_of(PLAIN).replace("50.0", "NaN"),
        "[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_line_that_is_no_epoch_is_a_value_error(line: str | bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        epoch_from(line)


def test_a_long_key_is_cut_and_says_so() -> None:
    key = HotKey("x" * 1_000_000, 1.0, (0,)).key
    assert len(key) == 200
    assert key.endswith("…")
    assert HotKey("y" * 200, 1.0, (0,)).key == "y" * 200


@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_number_of_hundreds_of_digits_is_no_epoch_and_no_other_error(digits: int) -> None:
    line = line_of(PLAIN).replace('"seconds": 0.5', '"seconds": 1' + digits * "0")
    with pytest.raises(ValueError, match=r"seconds|digits"):
        epoch_from(line)


def test_a_notebook_shows_a_sentence_and_a_bar_per_worker() -> None:
    epoch = Epoch(query="q", run="r", batch=0, rows=4, loads=(3, 1), imbalance=50.0, why="<so>")
    html = epoch._repr_html_()
    assert "4 rows on 2 workers: the busiest had 50 % more rows than the mean" in html
    assert "&lt;so&gt;" in html
    assert html.count("<rect") == 2
