"""Specs: what can be written after a name, for groupings, streams and applications alike."""

from collections.abc import Sequence
from typing import Any

import pytest

from unskew.errors import InvalidParameterError, UnknownNameError
from unskew.groupings.registry import make_grouping
from unskew.groupings.wrap import Wrap
from unskew.specs import Parameter, parameters_of, parse_parameters, split_spec
from unskew.streams import parse_stream

WRITTEN = ["10000", "10_000", "1e4", "1E4", "10k", "10K", "0.01M", "10.0k"]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_number_is_written_alike_for_groupings_and_streams(text: str) -> None:
    grouping: Any = make_grouping(f"dynamic-key:expected_keys={text},rate={text}", 4)
    stream: Any = parse_stream(f"zipf:keys={text},rows=1")
    assert grouping.expected_keys == grouping.rate == stream.keys == 10_000
    assert (type(grouping.expected_keys), type(grouping.rate)) == (int, float)


@pytest.mark.parametrize("make", [lambda spec: make_grouping(spec, 4), parse_stream])
@pytest.mark.parametrize(
    ("parameters", "named"),
    [("{0}=many", "{0}"), ("{0}=1.5", "{0}"), ("{0}=1,{0}=2", "{0}"), ("{0}", "parameters")],
)
def test_a_bad_value_is_answered_alike_for_groupings_and_streams(
    make: Any, parameters: str, named: str
) -> None:
    name, word = ("zipf", "keys") if make is parse_stream else ("dynamic-key", "expected_keys")
    with pytest.raises(InvalidParameterError) as caught:
        make(f"{name}:{parameters.format(word)}")
    assert (caught.value.owner, caught.value.parameter) == (name, named.format(word))


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("False", False), ("none", "yes"), ("1", "yes")]
)
def test_a_truth_value_is_true_or_false(text: str, value: object) -> None:
    valid = {"distinct": Parameter(bool, default=False)}
    if value == "yes":
        with pytest.raises(InvalidParameterError, match="true or false"):
            parse_parameters("partial-key", f"distinct={text}", valid)
    else:
        assert parse_parameters("partial-key", f"distinct={text}", valid) == {"distinct": value}


def test_none_is_a_value_only_where_the_annotation_allows_it() -> None:
    valid = {"hot": Parameter(int, optional=True), "keys": Parameter(int), "name": Parameter(str)}
    assert parse_parameters("wrap", "hot=none,name=none", valid) == {"hot": None, "name": "none"}
    with pytest.raises(InvalidParameterError, match="keys must be a whole number"):
        parse_parameters("wrap", "keys=none", valid)


def test_a_spec_cannot_hold_a_sequence() -> None:
    with pytest.raises(InvalidParameterError, match="wrap: capacity must be given in Python"):
        make_grouping("wrap:capacity=3", 4)


def test_an_unknown_parameter_is_answered_with_the_list() -> None:
    with pytest.raises(UnknownNameError) as caught:
        make_grouping("wrap:slot=3", 4)
    assert "slots" in caught.value.valid
    assert "workers" not in caught.value.valid


def test_a_separator_at_the_end_is_ignored_and_one_in_the_middle_is_not() -> None:
    valid = {"a": Parameter(int), "b": Parameter(int)}
    assert parse_parameters("x", "a=1,", valid) == {"a": 1}
    with pytest.raises(InvalidParameterError, match="written name=value"):
        parse_parameters("x", "a=1,,b=2", valid)


def test_types_come_from_annotations_or_else_from_defaults() -> None:
    def annotated(a: int, b: Sequence[float] | None = None, c: str = "x") -> None: ...
    def bare(a=3, b=None): ...  # type: ignore[no-untyped-def]

    assert {name: one.kind for name, one in parameters_of(annotated).items()} == {
        "a": int, "b": Sequence, "c": str,
    }  # fmt: skip
    assert {name: one.kind for name, one in parameters_of(bare).items()} == {"a": int, "b": str}


def test_a_class_has_the_parameters_of_its_constructor() -> None:
    assert parameters_of(Wrap, without=["workers"])["hot_keys"] == Parameter(int, None, True)
    assert "self" not in parameters_of(Wrap)


def test_blanks_around_a_name_and_its_parameters_do_not_count() -> None:
    assert split_spec("  wrap : decay = 0.5 ") == ("wrap", "decay = 0.5")
    assert split_spec("wrap") == ("wrap", "")
