"""Figure 11 on Spark: a stream whose workers change their speeds halfway."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew_papers.claims import Claim, Verdict
from unskew_papers.engines.spark_streams import run_stream
from unskew_papers.experiment import SPARK, Experiment, Parameters, Unit
from unskew_papers.proactive_shuffle.mentions import ASSG
from unskew_papers.proactive_shuffle.sweep import DEFAULTS, POSG, stream
from unskew_papers.proactive_shuffle.time_series import completion_times
from unskew_papers.rows import Row, Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import Row as SparkRow

_WORKERS = 5
_SPEEDS = ((1.05, 1.025, 1.0, 0.975, 0.95), (0.90, 0.95, 1.0, 1.05, 1.10))
_SCHEMES = {ASSG: "shuffle", POSG: "proactive-shuffle:window={window}"}
_RESULT = "worker int, number long, milliseconds double"


def _units(parameters: Parameters) -> Sequence[Unit]:
    return [{"scheme": scheme, **parameters} for scheme in _SCHEMES]


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
    time.sleep(row["cost"] * _SPEEDS[row["speeds"]][worker] / 1000)
    return worker, row["number"], 1000 * (time.perf_counter() - started)


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    from unskew.spark import map_rows

    scheme = _SCHEMES[unit["scheme"]].format(**unit)
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


def _mean(rows: Rows, scheme: str, first: float, last: float) -> float:
    here = rows.where(scheme=scheme)
    return float(np.mean([row["max_ms"] for row in here if first < row["part"] <= last]))


def _exact(rows: Rows) -> Verdict:
    found = rows.values("exact")
    return Verdict(all(found), f"{sum(found)} of {len(found)} micro-batches")


def _lower_after(rows: Rows) -> Verdict:
    found = [_mean(rows, name, 0.25, 0.5) for name in (POSG, ASSG)]
    return Verdict(found[0] < found[1], f"{found[0]:.0f} ms against {found[1]:.0f} ms")


def _degrades(rows: Rows) -> Verdict:
    before, after, end = (
        _mean(rows, POSG, *part) for part in ((0.25, 0.5), (0.5, 0.625), (0.75, 1.0))
    )
    return Verdict(before < after and end < after, f"{before:.0f}, {after:.0f}, {end:.0f} ms")


_SHORT = (
    "A shorter stream: in a micro-batch of some hundred rows round robin is even but for chance, "
    "and what POSG can gain is less than that. The same on calibrated queues is "
    "proactive-shuffle/fig11."
)
FIGURE_11_ON_SPARK = Experiment(
    id="proactive-shuffle/fig11-spark",
    title="Completion times as the instances' speeds change halfway, on Spark",
    runs_on=SPARK,
    data="synthetic, as in the paper: 4,096 keys, Zipf-1.0, 64 execution times dealt to the keys, "
    "but shorter ones and fewer rows. Work is waiting. Messages come in micro-batches; the "
    "time of one is from the start of its worker's work, and claims are about the last one of a "
    "micro-batch. wrap is for keyed work",
    sizes={
        "smoke": {"batches": 8, "batch_rows": 500, "faster": 16, "window": 32},
        "paper": {"batches": 60, "batch_rows": 2_500, "faster": 8, "window": 1024},
    },
    seconds={"smoke": 20, "paper": 450},
    units=_units,
    run=_run,
    figure=completion_times,
    claims=(
        Claim("exact", "Placing rows changes no result.", "not said", _exact),
        Claim("lower-after", "Once POSG has learned, completion times are lower than with Storm's "
              "shuffle.", "lower", _lower_after, _SHORT),
        Claim("degrades-and-recovers", "When the speeds change its performance degrades, and later "
              "it recovers.", "before < after > end", _degrades, _SHORT),
    ),
)  # fmt: skip
