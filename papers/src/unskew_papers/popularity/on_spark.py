"""Figure 15 on Spark: sixteen workers that wait for every row."""

from collections.abc import Sequence

import numpy as np

from unskew.streams import zipf
from unskew_papers.claims import Claim, Verdict
from unskew_papers.engines.spark_jobs import SLOTS, count_keys_on_spark
from unskew_papers.experiment import SPARK, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel, lines
from unskew_papers.popularity.skew_claims import SKEW_CLAIMS
from unskew_papers.rows import Row, Rows

SCHEMES_ON_SPARK = {
    "SG": "shuffle",
    "KG": "key",
    "DKG": "distribution-aware",
    "PKG": "partial-key",
    "PStream": "popularity:threshold_bits=2",
    "wrap": "wrap",
}
"""One row of four reaches the synopsis: a job of some thousand rows has no more to learn from."""
_KEYS = 1_000


def _units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "milliseconds")}
    return [{"z": z, **shared} for z in parameters["exponents"]]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = zipf(_KEYS, unit["z"], unit["rows"], seed=seed)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    rows = []
    for name, scheme in SCHEMES_ON_SPARK.items():
        job = count_keys_on_spark(keys, SLOTS, scheme, milliseconds=unit["milliseconds"], seed=seed)
        rows.append(
            {
                "z": unit["z"],
                "scheme": name,
                "throughput": keys.size / max(job.busy),
                "by_loads": 1000 / unit["milliseconds"] * sum(job.loads) / max(job.loads),
                "job_seconds": job.seconds,
                "counters": job.partials,
                "exact": job.exact,
            }
        )
    return rows


def _figure(rows: Rows) -> Figure:
    measured = [(name, rows.curve("z", "throughput", scheme=name)) for name in SCHEMES_ON_SPARK]
    bounds = [
        Curve(f"{name} by its loads", *rows.curve("z", "by_loads", scheme=name), "dashed")
        for name in SCHEMES_ON_SPARK
    ]
    return Figure([Panel("Zipf coefficient", "rows a second", [*lines(measured), *bounds])])


def _exact(rows: Rows) -> Verdict:
    found = rows.values("exact")
    return Verdict(all(found), f"{sum(found)} of {len(found)} jobs")


FIGURE_15_ON_SPARK = Experiment(
    id="popularity/fig15-spark",
    title="Throughput by skew with 16 workers, on Spark",
    runs_on=SPARK,
    data="synthetic: ZF with 1,000 keys; work is waiting, so that 16 workers run on few cores, and "
    "the time is that of the busiest worker; schemes that learn have seen the rows before",
    sizes={
        "smoke": {"rows": 4_000, "milliseconds": 1.0, "exponents": [0.5, 1.0, 2.0]},
        "paper": {
            "rows": 100_000,
            "milliseconds": 1.0,
            "exponents": [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0],
        },
    },
    seconds={"smoke": 40, "paper": 950},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim("exact", "Placing rows changes no result.", "not said", _exact),
        *SKEW_CLAIMS,
    ),
)
