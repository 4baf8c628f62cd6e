"""What it costs to ask for the loads of a batch job: the same job with and without `Loads`."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

import unskew.spark as us
from benchmarks._timing import interleaved, show
from benchmarks.spark_routing import run, write_rows
from unskew.spark.columns import identity
from unskew.spark.routing.learning import learn_placing
from unskew.spark.routing.schemes import grouping_for

WORKERS = 8
ROWS = 1_000_000


def main(rows: int = ROWS, rounds: int = 5) -> None:
    """Run each way to work on placed rows with and without loads, the plan given."""
    spark = us.session(master="local[2]", spark__sql__shuffle__partitions=4)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), rows)
        df = spark.read.parquet(folder)
        plan = learn_placing(
            df, identity(df, "key"), grouping_for("wrap", WORKERS), how="sample"
        ).plan

        def grouped(loads: us.Loads | None) -> us.GroupedFrame:
            return us.group_by(df, "key", workers=WORKERS, plan=plan, loads=loads)

        ways: dict[str, Callable[[us.Loads | None], DataFrame]] = {
            "balance": lambda loads: us.balance(df, "key", WORKERS, plan=plan, loads=loads),
            "agg, quantiles": lambda loads: grouped(loads).agg(us.quantiles("amount", [0.5])),
            "apply, a mean": lambda loads: grouped(loads).apply(us.Mean("amount"), "mean double"),
        }
        actions: dict[str, Callable[[], object]] = {}
        for name, way in ways.items():
            actions[name] = partial(_run, way, False)
            actions[f"{name} with loads"] = partial(_run, way, True)
        seconds = interleaved(actions, rounds)
    spark.stop()
    table = [
        [name, f"{seconds[name]:.2f}", f"{seconds[f'{name} with loads'] / seconds[name]:.2f}"]
        for name in ways
    ]
    show(f"Asking for loads, {rows:,} rows", ["", "seconds without", "with / without"], table)


def _run(way: Callable[[us.Loads | None], DataFrame], asks: bool) -> None:
    run(way(us.Loads() if asks else None))


if __name__ == "__main__":
    main()
