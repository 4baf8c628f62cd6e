"""Figures 10 and 11: completion times through a change of the instances' speeds."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.streams.base import Stream
from unskew_papers.checks import All, Near, Ordered
from unskew_papers.claims import Claim, Reason, placed_exactly
from unskew_papers.engines.calibration import Calibration
from unskew_papers.engines.simulation import queue_of
from unskew_papers.engines.spark_streams import run_stream
from unskew_papers.experiment import (
    CALIBRATED,
    QUEUEING,
    SPARK,
    Exhibit,
    Grid,
    Measurement,
    On,
    Unit,
)
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.proactive_shuffle.mentions import ASSG, with_engine_costs
from unskew_papers.proactive_shuffle.sweep import DATA, DEFAULTS, POSG, ROUND_ROBIN, WRAP, stream
from unskew_papers.quantities import Quantity, mean, median, where_largest
from unskew_papers.rows import Row, span

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import Row as SparkRow

_ROWS, _CHANGE, _STRETCH = 150_000, 75_000, 2_000
_BEFORE, _AFTER = (1.05, 1.025, 1.0, 0.975, 0.95), (0.90, 0.95, 1.0, 1.05, 1.10)
_SCHEMES = {
    ROUND_ROBIN: "shuffle",
    POSG: "proactive-shuffle",
    "POSG, twice the tolerance": "proactive-shuffle:tolerance=0.1",
    WRAP: "wrap",
}


def _run_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure completion times stretch by stretch; what an engine adds, where it is calibrated."""
    number = seed + unit["stream"]
    drawn = stream(DEFAULTS, _ROWS, number)
    if "calibration" in unit:
        drawn = with_engine_costs(drawn, Calibration.of(unit["calibration"]))
    times = {name: _times(scheme, drawn, number) for name, scheme in _SCHEMES.items()}
    rows: list[Row] = []
    for name, found in times.items():
        apart = np.flatnonzero(found != times[ROUND_ROBIN])
        diverges = int(apart[0]) if apart.size else None
        for last in range(_STRETCH, _ROWS + 1, _STRETCH):
            part = found[last - _STRETCH : last]
            rows.append(
                {
                    "stream": unit["stream"],
                    "scheme": name,
                    "rows": last,
                    "mean_ms": float(part.mean()),
                    "max_ms": float(part.max()),
                    "min_ms": float(part.min()),
                    "diverges_at": diverges,
                }
            )
    return rows


def _times(scheme: str, rows: Stream, number: int) -> NDArray[np.float64]:
    """Return the completion time of every row; both kinds of turns begin with worker 0."""
    found = queue_of(
        scheme,
        DEFAULTS["workers"],
        rows,
        seed=0 if scheme == "shuffle" else number,
        speeds=[(0, list(_BEFORE)), (_CHANGE, list(_AFTER))],
        series_every=1,
        weighted=scheme == "wrap",
    )
    return np.array(found.series)[:, 0]


_WORKERS = 5
_SPEEDS_ON_SPARK = (_BEFORE, _AFTER)
_SCHEMES_ON_SPARK = {ASSG: "shuffle", POSG: "proactive-shuffle:window={window}"}
_RESULT = "worker int, number long, milliseconds double"


def _tables(unit: Unit, seed: int) -> list[pa.Table]:
    rows = unit["batches"] * unit["batch_rows"]
    batches = list(stream(DEFAULTS, rows, seed).batches())
    keys = np.concatenate([batch.keys for batch in batches]).astype(np.int64)
    costs = np.concatenate([batch.costs for batch in batches if batch.costs is not None])
    speeds = (np.arange(rows) >= rows // 2).astype(np.int64)
    columns = {"key": keys, "cost": costs / unit["faster"], "speeds": speeds}
    whole = pa.table({**columns, "number": np.arange(rows)})
    size = unit["batch_rows"]
    return [whole.slice(first, size) for first in range(0, rows, size)]


def _work(row: "SparkRow") -> tuple[int, int, float]:
    from unskew.spark.worker.task import partition_number

    worker = partition_number() % _WORKERS
    started = time.perf_counter()
    time.sleep(row["cost"] * _SPEEDS_ON_SPARK[row["speeds"]][worker] / 1000)
    return worker, row["number"], 1000 * (time.perf_counter() - started)


def _run_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    from unskew.spark import map_rows

    scheme = _SCHEMES_ON_SPARK[unit["scheme"]].format(**unit)
    learns = unit["scheme"] == POSG

    def build(rows: "DataFrame", folder: Path) -> "DataFrame":
        where: dict[str, Any] = {"plan_path": folder} if learns else {}
        return map_rows(
            rows, _work, _RESULT, cost_by="key", workers=_WORKERS, grouping=scheme, seed=seed,
            **where,
        )  # fmt: skip

    tables = _tables(unit, seed)
    rows = []
    for number, done in enumerate(run_stream(tables, build, learns=learns), 1):
        times = _completion_times(done.rows)
        rows.append(
            {
                "scheme": unit["scheme"],
                "rows": number * unit["batch_rows"],
                "part": number / unit["batches"],
                "mean_ms": float(times.mean()),
                "max_ms": float(times.max()),
                "min_ms": float(times.min()),
                "exact": sorted(done.rows["number"].to_pylist())
                == tables[number - 1]["number"].to_pylist(),
            }
        )
    return rows


def _completion_times(done: pa.Table) -> NDArray[np.float64]:
    """Return when each row was done, from when its worker began: it does one after the other."""
    workers, took = done["worker"].to_numpy(), done["milliseconds"].to_numpy()
    parts = [np.cumsum(took[workers == worker]) for worker in range(_WORKERS)]
    return np.concatenate(parts)


def _diverges(published: int) -> Near:
    """Ask until which row POSG does what turns do, on the median stream."""
    found = median("diverges_at", scheme=POSG, rows=_ROWS)
    return Near(published, found, share=0.03, form="at {:,.0f}")


def _recovers(published: int) -> Near:
    """Ask for the stretch with the longest times after the change, on the median stream."""
    later = span(_CHANGE, _CHANGE + 25 * _STRETCH)
    worst = median(where_largest("rows", "mean_ms"), ["stream"], scheme=POSG, rows=later)
    return Near(published, worst, off=_STRETCH, form="worst until {:,.0f}")


def _ordered(**times: Quantity) -> Ordered:
    return Ordered(times, form="{:.0f} ms")


def _worse_in_between(before: Quantity, after: Quantity, end: Quantity) -> All:
    return All(_ordered(after=after, before=before), _ordered(after=after, end=end))


def _mean(scheme: str, first: int, last: int) -> Quantity:
    return mean("mean_ms", scheme=scheme, rows=span(first, last))


_LOWER_AFTER = Claim(
    "lower-after",
    "From then on its completion times are lower.",
    "lower",
    Ordered({name: _mean(name, 30_000, _CHANGE) for name in (ROUND_ROBIN, POSG)}, form="{:.0f} ms"),
)
_DEGRADES = Claim(
    "degrades-and-recovers",
    "At 75,000 its performance degrades, and later it recovers.",
    "before < after > end",
    _worse_in_between(
        _mean(POSG, _CHANGE - 10_000, _CHANGE),
        _mean(POSG, _CHANGE + _STRETCH, _CHANGE + 12_000),
        _mean(POSG, _ROWS - 10_000, _ROWS),
    ),
)
_LATER = Reason(
    "When new matrices come depends on where the workers' windows stand at the change and on how "
    "many they then take to be stable. In the paper it was two windows of every worker, here it is "
    "more than three."
)
_SHORT = Reason(
    "A shorter stream: in a micro-batch of some hundred rows round robin is even but for chance, "
    "and what POSG can gain is less than that. The same on calibrated queues is "
    "proactive-shuffle/fig11."
)


def _draw(**where: Any) -> Drawing:
    """Draw the longest, mean and shortest completion time of each scheme over the rows."""
    series = [
        Lines("rows", f"{column}_ms", label=column, style=style)
        for column, style in (("max", "dashed"), ("mean", "line"), ("min", "dashed"))
    ]
    chart = Chart("rows", "completion time in ms", series, each=["scheme"])
    return Drawing(chart, columns=2, where=where)


def _in_queues(runs_on: str, data: str) -> Measurement:
    return Measurement(
        runs_on,
        Grid({"stream": lambda parameters: range(parameters["streams"])}, without=["streams"]),
        _run_in_queues,
        {"smoke": {"streams": 3}, "paper": {"streams": 100}},
        data,
        {"smoke": 5, "paper": 120},
    )


FIGURE_10 = Exhibit(
    "fig10",
    "Completion times as the instances' speeds change at message 75,000",
    _draw(stream=0),
    (
        Claim("diverges", "POSG is Round Robin up to this message.", "10,690 (here: ± 3 %)",
              _diverges(10_690),
              Reason("Two windows of 1,024 rows on each of five workers are 10,240 rows, but at "
                     "the end of the second the sketches still change by more than μ = 0.05. With "
                     "twice the tolerance, drawn beside, it is near 10,690; the paper's prototype "
                     "took until 20,978.")),
        _LOWER_AFTER,
        _DEGRADES,
        Claim("recovers", "It recovers at this message.", "84,912 (here: ± 2,000)",
              _recovers(84_912), _LATER),
    ),
    [On(_in_queues(QUEUEING, DATA))],
)  # fmt: skip


def _last_of_batches(scheme: str, first: float, last: float) -> Quantity:
    return mean("max_ms", scheme=scheme, part=span(first, last))


FIGURE_11 = Exhibit(
    "fig11",
    "The same with the prototype's figures (simulated queues in place of Storm)",
    _draw(stream=0),
    (
        Claim("diverges", "POSG is Storm's shuffle up to this message.", "20,978 (here: ± 3 %)",
              _diverges(20_978),
              Reason("Of 100 streams 54 leave it near 16,400, at the end of the workers' third "
                     "window, and 46 near 21,000, at the end of the fourth, as the paper's one run "
                     "did.")),
        _LOWER_AFTER,
        _DEGRADES,
        Claim("recovers", "It recovers at this message.", "82,311 (here: ± 2,000)",
              _recovers(82_311), _LATER),
    ),
    [
        On(_in_queues(
            CALIBRATED, f"{DATA}; to that comes what a row takes beyond its work on Spark"
        )),
        On(Measurement(
            SPARK, Grid({"scheme": list(_SCHEMES_ON_SPARK)}), _run_on_spark,
            {
                "smoke": {"batches": 8, "batch_rows": 500, "faster": 16, "window": 32},
                "paper": {"batches": 60, "batch_rows": 2_500, "faster": 8, "window": 1024},
            },
            "synthetic, as in the paper: 4,096 keys, Zipf-1.0, 64 execution times assigned to the "
            "keys, but shorter ones and fewer rows. Work is waiting. Messages come in "
            "micro-batches; the time of one is from the start of its worker's work, and claims are "
            "about the last one of a micro-batch. wrap is for keyed work",
            {"smoke": 20, "paper": 450},
           ),
           "Completion times as the instances' speeds change halfway, on Spark",
           draw=_draw(),
           claims=[
               placed_exactly("micro-batches"),
               Claim("lower-after", "Once POSG has learned, completion times are lower than with "
                     "Storm's shuffle.", "lower",
                     Ordered({name: _last_of_batches(name, 0.25, 0.5) for name in (ASSG, POSG)},
                             form="{:.0f} ms"),
                     _SHORT),
               Claim("degrades-and-recovers", "When the speeds change its performance degrades, "
                     "and later it recovers.", "before < after > end",
                     _worse_in_between(*(_last_of_batches(POSG, *part)
                                         for part in ((0.25, 0.5), (0.5, 0.625), (0.75, 1.0)))),
                     _SHORT),
           ],
           asks=()),
    ],
)  # fmt: skip
