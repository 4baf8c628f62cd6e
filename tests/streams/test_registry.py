"""Specs: what can be written, and what is said about what cannot."""

import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError, UnknownNameError
from unskew.streams import (
    STREAMS,
    Stream,
    countries,
    countries_half,
    drift,
    lognormal,
    parse_stream,
    uniform,
    with_costs,
    zipf,
)

DRAWN = [name for name in STREAMS if name != "file"]


@pytest.mark.parametrize(
    ("spec", "stream"),
    [
        ("zipf", zipf(seed=7)),
        ("zipf:", zipf(seed=7)),
        ("zipf:keys=9,exponent=1.5,rows=8", zipf(9, 1.5, 8, seed=7)),
        (" zipf: rows = 8 , keys = 9 ", zipf(9, rows=8, seed=7)),
        ("lognormal:variant=LN2", lognormal("LN2", seed=7)),
        ("lognormal:mu=1,sigma=0.5,rows=8", lognormal(mu=1, sigma=0.5, rows=8, seed=7)),
        ("LN1", lognormal("LN1", seed=7)),
        ("LN2:rows=8", lognormal("LN2", rows=8, seed=7)),
        ("uniform:keys=9", uniform(9, seed=7)),
        ("countries:skew=12.5", countries(12.5, seed=7)),
        ("countries-half", countries_half(seed=7)),
        ("drift:keys=99,every=10,hot=3", drift(99, every=10, hot=3, seed=7)),
        ("zipf:keys=9,costs=4", with_costs(zipf(9, seed=7), 4)),
        (
            "drift:costs=4,cost_min=2,cost_max=3.5,cost_seed=1",
            with_costs(drift(seed=7), 4, 2, 3.5, seed=1),
        ),
    ],
    ids=str,
)
def test_a_spec_is_the_call_that_it_reads_like(spec: str, stream: Stream) -> None:
    assert parse_stream(spec, seed=7) == stream


@pytest.mark.parametrize(
    "text", ["5000000", "5_000_000", "5e6", "5E6", "5M", "5m", "5000k", "0.005G", "5.0M"]
)
def test_numbers_may_be_written_in_many_ways(text: str) -> None:
    assert parse_stream(f"zipf:rows={text}").rows == 5_000_000


@given(st.floats(0, 100))
def test_every_float_comes_back_from_a_spec_exactly(exponent: float) -> None:
    stream = zipf(10, exponent, 10)
    assert parse_stream(stream.spec) == stream


@pytest.mark.parametrize("name", DRAWN)
def test_defaults_in_the_list_are_those_of_a_bare_name(name: str) -> None:
    known = STREAMS[name].parameters
    given = {word: one.default for word, one in known.items() if one.default is not None}
    own = {word: value for word, value in given.items() if not word.startswith("cost")}
    spec = name + ":" + ",".join(f"{word}={value}" for word, value in own.items())
    assert parse_stream(spec) == parse_stream(name)


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_is_described_with_its_parameters(name: str) -> None:
    info = STREAMS[name]
    assert info.summary.endswith(".")
    assert len(info.summary) <= 100
    assert not set("`[]") & set(info.summary)
    assert not {"seed", "path"} & set(info.parameters)
    for parameter in info.parameters.values():
        assert parameter.kind in (int, float, str)
        assert parameter.default is not inspect.Parameter.empty


@pytest.mark.parametrize("spec", ["zip", "", "ZIPF", ":keys=1", "zipf keys=1", "costs"])
def test_an_unknown_stream_is_answered_with_the_list(spec: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse_stream(spec)
    assert caught.value.kind == "stream"
    assert caught.value.valid == [*STREAMS, "LN1", "LN2"]


@pytest.mark.parametrize("name", DRAWN)
def test_an_unknown_parameter_is_answered_with_the_list(name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse_stream(f"{name}:mesages=3")
    assert caught.value.kind == f"parameter of {name}"
    assert caught.value.valid == list(STREAMS[name].parameters)


@pytest.mark.parametrize(
    ("spec", "parameter", "got"),
    [
        ("zipf:keys=many", "keys", "many"),
        ("zipf:keys=", "keys", ""),
        ("zipf:keys=1.5", "keys", "1.5"),
        ("zipf:keys=k", "keys", "k"),
        ("zipf:keys=1e400", "keys", "1e400"),
        ("zipf:keys=1e9", "keys", 1_000_000_000),
        ("zipf:keys=0", "keys", 0),
        ("zipf:keys=-1k", "keys", -1000),
        ("zipf:rows=0", "rows", 0),
        ("zipf:exponent=steep", "exponent", "steep"),
        ("zipf:exponent=nan", "exponent", "nan"),
        ("zipf:exponent=inf", "exponent", "inf"),
        ("zipf:exponent=-0.1", "exponent", -0.1),
        ("zipf:keys", "parameters", "keys"),
        ("zipf:keys=1,,rows=2", "parameters", ""),
        ("zipf:keys=1,keys=2", "keys", "keys=2"),
        ("zipf:seed=1", "seed", "seed=1"),
        ("zipf:costs=0", "costs", 0),
        ("zipf:cost_min=2", "costs", None),
        ("zipf:costs=2,cost_min=-1", "cost_min", -1.0),
        ("zipf:costs=2,cost_min=3,cost_max=2", "cost_max", 2.0),
        ("uniform:keys=0", "keys", 0),
        ("uniform:keys=1e10", "keys", 10_000_000_000),
        ("lognormal:variant=LN3", "variant", "LN3"),
        ("lognormal:variant=LN1,mu=1,sigma=1", "variant", "LN1"),
        ("LN1:variant=LN2", "variant", "variant=LN2"),
        ("lognormal:mu=1", "sigma", None),
        ("lognormal:sigma=1", "mu", None),
        ("lognormal:mu=1,sigma=-1", "sigma", -1.0),
        ("lognormal:mu=1,sigma=20", "sigma", 20.0),
        ("countries:skew=100.5", "skew", 100.5),
        ("countries-half:skew=-1", "skew", -1.0),
        ("drift:keys=1", "keys", 1),
        ("drift:keys=10,hot=6", "hot", 6),
        ("drift:every=0", "every", 0),
        ("file:", "path", ""),
    ],
)
def test_a_bad_value_is_named(spec: str, parameter: str, got: object) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        parse_stream(spec)
    assert (caught.value.parameter, caught.value.got) == (parameter, got)
    assert caught.value.owner == spec.partition(":")[0].replace("LN1", "lognormal")


@pytest.mark.parametrize("spec", [None, 7, b"zipf"])
def test_a_spec_is_text(spec: Any) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        parse_stream(spec)
    assert (caught.value.owner, caught.value.parameter) == ("parse_stream", "spec")


@pytest.mark.parametrize("size", [0, -1, 1.5, "many"])
def test_batches_have_at_least_one_row(size: Any) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        zipf(rows=10).batches(size)
    assert caught.value.parameter == "size"
