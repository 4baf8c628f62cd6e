from typing import Any

import pyspark.sql.functions as sf
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from unskew.errors import InvalidParameterError
from unskew.spark.columns import check_by, identity

# Values that are equal keys stand beside each other where SQL can write one key in two ways.
TYPES = {
    "boolean": "true, false, null",
    "byte": "1Y, -1Y, 0Y, null",
    "short": "1S, -1S, null",
    "int": "1, -1, 0, 2147483647, null",
    "bigint": "1L, -1L, 9223372036854775807L, null",
    "float": "float(0.0), float('-0.0'), float('NaN'), -float('NaN'), float('Infinity'), null",
    "double": "0.0D, double('-0.0'), double('NaN'), -double('NaN'), 1.5D, null",
    "decimal": "1.0, 1.00, 1, 2.5, 12345678901234567890123456.5, null",
    "string": "'a', 'A', '', 'é', 'e\\u0301', 'a ', null",
    "char": "cast('a' AS char(3)), cast('b' AS char(3)), null",
    "binary": "X'00', X'', X'0000', null",
    "date": "DATE'2024-02-29', DATE'1969-12-31', null",
    "timestamp": "TIMESTAMP'2024-01-01 12:00:00+02:00', TIMESTAMP'2024-01-01 10:00:00Z', null",
    "timestamp_ntz": "TIMESTAMP_NTZ'2024-01-01 12:00:00', TIMESTAMP_NTZ'1900-01-01 00:00:00', null",
    "day interval": "INTERVAL '1' DAY, INTERVAL '24' HOUR, INTERVAL '1' SECOND, null",
    "month interval": "INTERVAL '1' YEAR, INTERVAL '12' MONTH, INTERVAL '1' MONTH, null",
    "array": "array(0.0D), array(double('-0.0')), array(null, 1D), array(1D, null), null",
    "struct": "struct(0.0D, 'a'), struct(double('-0.0'), 'a'), struct(null, 'a'), null",
    "nested": "array(struct(double('NaN'))), array(struct(-double('NaN'))), array(), null",
}

SHARE_PLACES = ("array", "nested")
"""What is null or empty inside an array leaves its hash as it is: such keys share a place."""


def keys_of(spark: SparkSession, values: str) -> DataFrame:
    return spark.sql(f"SELECT explode(array({values})) AS key")


@pytest.mark.parametrize("kind", TYPES)
def test_keys_that_group_together_have_one_identity_and_others_do_not(
    spark: SparkSession, kind: str
) -> None:
    df = keys_of(spark, TYPES[kind])
    n_groups = df.groupBy("key").count().count()
    with_id = df.select("key", identity(df, "key").alias("id"))
    assert with_id.distinct().count() == n_groups
    if kind not in SHARE_PLACES:
        assert with_id.select("id").distinct().count() == n_groups
    assert with_id.schema["id"].dataType.simpleString() == "bigint"
    assert with_id.where("id IS NULL").count() == 0


def test_nulls_that_swap_places_are_other_keys(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, None), (None, 1), (None, None), (1, 1)], "a int, b int")
    ids = df.select(identity(df, ["a", "b"]).alias("id")).distinct()
    assert ids.count() == 4


def test_composite_keys_group_like_spark(spark: SparkSession) -> None:
    df = spark.sql("""
        SELECT * FROM VALUES (0.0D, 'x'), (double('-0.0'), 'x'), (null, 'x'), (null, null),
        (double('NaN'), null), (double('NaN'), null), (0.0D, null) AS t(a, b)""")
    ids = df.select(identity(df, ["a", "b"]).alias("id")).distinct()
    assert ids.count() == df.groupBy("a", "b").count().count()


def test_dots_quotes_and_case_in_names_are_understood(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 2, 3)], "`a.b` int, `c``d` int, Name int")
    assert check_by(df, ["a.b", "c`d", "NAME"]) == ["a.b", "c`d", "Name"]
    assert df.select(identity(df, ["a.b", "c`d", "NAME"])).count() == 1


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("nobody", r"among the columns 'id', 'm'.*got 'nobody'"),
        (["id", "nobody"], r"among the columns 'id', 'm'.*got 'nobody'"),
        ("s.field", r"Hint: select a field"),
        ([], r"at least one"),
        (["id", "id"], r"distinct"),
        (["id", "ID"], r"distinct"),
        (7, r"a column name or a list"),
        ([7], r"a column name or a list"),
        ("twice", r"twice"),
        ("m", r"m: map<int,int>.*Hint: use array_sort\(map_entries\(m\)\)"),
        ("am", r"am\[\]: map<int,int>"),
        ("s", r"s\.m: map<int,int>"),
        ("v", r"v: variant"),
        ("i", r"i: interval"),
        ("c", r"c: string collate UTF8_LCASE.*Hint: make a column"),
        ("sc", r"sc\.x: string collate UNICODE_CI"),
    ],
)
def test_columns_that_cannot_be_keys_are_refused_and_named(
    spark: SparkSession, by: Any, message: str
) -> None:
    df = spark.sql("""
        SELECT 1 AS id, map(1, 2) AS m, array(map(1, 2)) AS am, named_struct('m', map(1, 2)) AS s,
        parse_json('1') AS v, make_interval(1) AS i, 'a' COLLATE UTF8_LCASE AS c,
        named_struct('x', 'a' COLLATE UNICODE_CI) AS sc, 1 AS twice, 2 AS twice""")
    with pytest.raises(InvalidParameterError, match=message):
        check_by(df, by)


def test_names_between_back_quotes_are_those_without(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 2)], "`a.b` int, `c``d` int")
    assert check_by(df, ["`a.b`", "`c``d`"]) == ["a.b", "c`d"]
    with pytest.raises(InvalidParameterError, match="distinct"):
        check_by(df, ["a.b", "`a.b`"])
    with pytest.raises(InvalidParameterError, match="among the columns"):
        check_by(df, "`nobody`")


def test_a_field_of_a_struct_is_a_key_like_a_column(spark: SparkSession) -> None:
    df = spark.sql("""
        SELECT named_struct('z', z, 'in', named_struct('Y', id % 3)) AS s, z, id % 3 AS y
        FROM (SELECT id, if(id % 5 = 0, null, id % 7) AS z FROM range(100))""")
    same = identity(df, ["s.z", "s.in.y"]) == identity(df, ["z", "y"])
    assert df.where(same).count() == 100
    assert df.where(identity(df, "s.z") == identity(df, "z")).count() == 100
    assert check_by(df, ["S.Z", "s.in.y"], nested=True) == ["s.z", "s.in.Y"]
    for wrong in ("s.q", "s.z.q", "z.s", "s."):
        with pytest.raises(InvalidParameterError, match="among the columns"):
            check_by(df, wrong, nested=True)


def test_a_column_with_a_dot_goes_before_a_field(spark: SparkSession) -> None:
    df = spark.sql("SELECT named_struct('z', id) AS s, id % 2 AS `s.z` FROM range(10)")
    assert df.select(identity(df, "s.z")).distinct().count() == 2


def test_every_verb_takes_a_field_of_a_struct(spark: SparkSession) -> None:
    df = spark.sql("""
        SELECT named_struct('z', if(id % 2 = 0, 0, id % 40)) AS s, id, 1 AS one FROM range(4000)""")
    flat = df.select("s.z", "id", "one")
    placed = us.balance(df, "s.z", 4, grouping="wrap")
    assert placed.columns == df.columns
    assert sorted(placed.collect()) == sorted(df.collect())
    loads = placed.groupBy(sf.spark_partition_id()).count().collect()
    assert max(row["count"] for row in loads) < 1100
    plan = us.plan(df, "s.z", 4, grouping="wrap")
    assert plan.by == ("s.z",)
    assert us.balance(df, "s.z", 4, plan=plan).count() == 4000
    salted = us.salt(df, "s.z", 4)
    assert salted.columns == [*df.columns, "salt"]
    counted = us.group_by(df, "s.z", workers=4, grouping="flow").apply(us.Count(), "rows long")
    expected = flat.groupBy("z").count().collect()
    assert counted.columns == ["z", "rows"]
    assert sorted(map(tuple, counted.collect())) == sorted(map(tuple, expected))
    said = us.diagnose(df, "s.z", 4)
    assert said.profile.keys == us.diagnose(flat, "z", 4).profile.keys
    mapped = us.map_rows(df, lambda row: (row.id,), "id long", cost_by="s.z", workers=2)
    assert sorted(row.id for row in mapped.collect()) == list(range(4000))


def test_an_error_shows_the_struct_that_the_field_is_of(spark: SparkSession) -> None:
    df = spark.sql("SELECT named_struct('z', 7) AS s")
    wrong = us.map_rows(df, lambda _: (1 // 0,), "id long", cost_by="s.z", workers=1)
    with pytest.raises(PySparkException, match=r"at key s=\{'z': 7\}: ZeroDivisionError"):
        wrong.collect()


def test_the_hint_for_maps_groups_as_spark_groups_maps(spark: SparkSession) -> None:
    df = spark.sql("""
        SELECT map_from_arrays(k, transform(k, one -> one % 2)) AS m
        FROM (SELECT if(id % 2 = 0, array(1, 2), array(2, 1)) AS k FROM range(10))""")
    entries = df.withColumn("m", sf.expr("array_sort(map_entries(m))"))
    assert us.balance(entries, "m", 2).select(identity(entries, "m")).distinct().count() == 1
