"""Run everything that needs no Python on executors that have none of our libraries, and show
what those are told who need them.
"""

import sys

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark.cluster.driver import report, sorted_rows

import unskew.spark as us
from unskew.spark.routing.schemes import runnable

# So that what is missing on executors is unskew, and not this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

WORKERS = 4


def rows(spark: SparkSession) -> DataFrame:
    """Return rows with a hot key, null among the keys; sums of ``x`` are exact in any order."""
    number = sf.col("id")
    return spark.range(6000, numPartitions=3).select(
        sf.when(number % 2 == 0, sf.lit("hot"))
        .when(number % 7 != 0, sf.concat(sf.lit("k"), number % 53))
        .alias("k"),
        (number % 997).alias("i"),
        ((number * 31) % 641 / 32).alias("x"),
        sf.concat(sf.lit("w"), number % 23).alias("w"),
    )


def aggregates() -> list[Column]:
    """Return all that unskew ships, each in a form that is exact."""
    return [
        sf.count("*").alias("n"),
        sf.sum("i").alias("sum"),
        sf.min("w").alias("min"),
        sf.max("x").alias("max"),
        sf.avg("i").alias("avg"),
        us.weighted_mean("x", "i").alias("weighted"),
        sf.var_samp("i").alias("variance"),
        sf.count_distinct("w").alias("distinct"),
        sf.approx_count_distinct("i").alias("about"),
        us.collect_sorted_set("w").alias("set"),
        us.top_k("w", 3).alias("top"),
        us.histogram("x", [0.0, 5.0, 10.0, 21.0]).alias("histogram"),
        us.quantiles("i", [0.0, 0.5, 1.0], k=8000).alias("quantiles"),
    ]


def rounded(df: DataFrame) -> list[str]:
    """Return all rows; the variance, whose last bits depend on order, to ten digits."""
    return sorted_rows(df.withColumn("variance", sf.round("variance", 4)))


def compare_schemes(spark: SparkSession) -> None:
    """Report for each scheme whether it gives what plain Spark gives."""
    df = rows(spark)
    expected = rounded(df.groupBy("k").agg(*aggregates()))
    for scheme in runnable("plan", "round-robin"):
        got = rounded(us.group_by(df, "k", workers=WORKERS, grouping=scheme).agg(*aggregates()))
        salted = us.salt(df, "k", WORKERS, grouping=scheme).drop("salt")
        report(scheme, exact=got == expected, keys=len(got), salted=salted.count())


def compare_joins(spark: SparkSession) -> None:
    """Report for each type of join whether it gives what plain Spark gives."""
    left, right = rows(spark), rows(spark).where("i < 40").select("k", sf.col("w").alias("v"))
    for how in ("inner", "left", "full", "anti"):
        joined = us.join(left, right, "k", how, WORKERS, grouping="wrap")
        counts = [df.groupBy(*df.columns).count() for df in (joined, left.join(right, "k", how))]
        report(f"{how} join", exact=sorted_rows(counts[0]) == sorted_rows(counts[1]))


def whole_group(table: pa.Table) -> pa.Table:
    """Return the key of a group."""
    return table.slice(0, 1).select(["k"])


def show_failures(spark: SparkSession) -> None:
    """Report what those are told who use what needs unskew there."""
    grouped = us.group_by(rows(spark), "k", workers=WORKERS, grouping="key")
    online = us.group_by(rows(spark), "k", workers=WORKERS, grouping="partial-key")
    needy = {
        "online": online.agg(sf.count("*").alias("count")),
        "apply": grouped.apply(us.Mean("i"), "mean double"),
        "apply_in_arrow": grouped.apply_in_arrow(whole_group, "k string"),
    }
    for case, df in needy.items():
        try:
            df.collect()
        except PythonException as error:
            report(case, message=str(error))


def executor_modules(spark: SparkSession) -> list[str]:
    """Return the Python of the executors and which of the modules they find."""

    def look(_: int) -> list[str]:
        import importlib.util
        import sys

        names = ("unskew", "numba", "numpy", "pyarrow")
        return [sys.executable, *(name for name in names if importlib.util.find_spec(name))]

    found: list[str] = spark.sparkContext.parallelize([0], 1).map(look).first()
    return found


def run_cases(spark: SparkSession, almost: str) -> None:
    """Run all cases: first with the Python of the session, which has nothing, then with another."""
    report("with nothing", modules=executor_modules(spark))
    compare_schemes(spark)
    compare_joins(spark)
    spark.sparkContext.pythonExec = almost
    report("with almost all", modules=executor_modules(spark))
    show_failures(spark)
