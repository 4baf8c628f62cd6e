"""Table 3 and Figures 9, 12 and 13 on Spark: up to sixteen workers that wait for every row."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from unskew_papers.claim import explain
from unskew_papers.dynamic_key.data_sets import REAL_DATA, REAL_SETS, stand_ins
from unskew_papers.dynamic_key.on_spark import EXACT, FEW_ROWS, WAITING, keys_of, spark_row
from unskew_papers.dynamic_key.real_sets import FIGURE_9, TABLE_3
from unskew_papers.dynamic_key.scaling import FIGURE_12, FIGURE_13
from unskew_papers.dynamic_key.shared import ELECTION, METHODS, stream_of
from unskew_papers.rows import Row
from unskew_papers.spec import SPARK, Experiment, Parameters, Unit

_WORKERS, _SOURCES = 10, 5


def _set_units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "milliseconds")}
    return [
        {"published": name, "data": data, "workers": _WORKERS, "sources": _SOURCES, **shared}
        for name in REAL_SETS
        for data in stand_ins(name)
    ]


def _scaling_units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "milliseconds")}
    return [
        {"data": "election~", "workers": workers, "sources": sources, **shared}
        for workers, sources in parameters["settings"]
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    keys = keys_of(stream_of(unit["data"], unit["rows"], seed))
    names = [name for name in ("published", "data", "workers", "sources") if name in unit]
    setting = {name: unit[name] for name in names}
    return [
        {
            **setting,
            **spark_row(keys, unit["workers"], method, unit, seed, sources=unit["sources"]),
        }
        for method in METHODS
    ]


_RED = (
    "alike-on-the-others",
    "costs",
    "dkg-grows-slightly",
    "key-grouping-on-clicks",
    "throughput-ratios",
)


def _on_spark(
    each: Experiment,
    data: str,
    units: Callable[[Parameters], Sequence[Unit]],
    settings: Sequence[tuple[int, int]] = (),
) -> Experiment:
    shared = {"settings": [list(pair) for pair in settings]} if settings else {}
    return replace(
        each,
        id=f"{each.id}-spark",
        title=f"{each.title.partition(' (')[0]}, on Spark",
        runs_on=SPARK,
        data=data + WAITING,
        sizes={
            "smoke": {"rows": 4_000, "milliseconds": 0.5, **shared},
            "paper": {"rows": 100_000, "milliseconds": 1.0, **shared},
        },
        seconds={"smoke": 15, "paper": 800},
        units=units,
        run=_run,
        claims=(EXACT, *explain(each.claims, FEW_ROWS, _RED, keep=True)),
    )


TABLE_3_ON_SPARK = _on_spark(TABLE_3, REAL_DATA, _set_units)
FIGURE_9_ON_SPARK = replace(
    _on_spark(FIGURE_9, REAL_DATA, _set_units),
    rows_of=TABLE_3_ON_SPARK.id,
    seconds={"smoke": 0, "paper": 0},
)
FIGURE_12_ON_SPARK = _on_spark(FIGURE_12, ELECTION, _scaling_units, [(5, 5), (10, 5), (16, 5)])
FIGURE_13_ON_SPARK = _on_spark(FIGURE_13, ELECTION, _scaling_units, [(10, 5), (10, 10), (10, 20)])
