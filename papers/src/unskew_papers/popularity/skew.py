"""Figure 15: throughput as the skew grows."""

from collections.abc import Sequence

from unskew.streams import zipf
from unskew_papers.checks import AtLeast, AtMost
from unskew_papers.claims import Claim, placed_exactly
from unskew_papers.datasets import keys_of
from unskew_papers.engines.spark_jobs import count_keys_on_spark
from unskew_papers.experiment import QUEUEING, SPARK, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.popularity.stage import MODEL, SCHEMES_ON_SPARK, THROUGHPUT
from unskew_papers.popularity.workers import ZF, run_zipf_in_queues
from unskew_papers.quantities import cell, smallest
from unskew_papers.rows import SMALLEST, Row, one_of

_FEW_KEYS = 1_000


def _run_skews_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    keys = keys_of(zipf(_FEW_KEYS, unit["z"], unit["rows"], seed=seed))
    rows = []
    for name, scheme in SCHEMES_ON_SPARK.items():
        job = count_keys_on_spark(
            keys, unit["workers"], scheme, milliseconds=unit["milliseconds"], seed=seed
        )
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


_REMAINING = smallest("throughput") / cell("throughput", z=SMALLEST)

ZIPF_BY_SKEW = Measurement(
    QUEUEING, Grid({"z": "exponents"}), run_zipf_in_queues,
    {
        "smoke": {
            "rows": 300_000, "keys": 100_000, "workers": 64, "exponents": [0.5, 1.0, 2.0],
        },
        "paper": {
            "rows": 10_000_000, "keys": 10_000_000, "workers": 64,
            "exponents": [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0],
        },
    },
    f"{ZF}; {MODEL}", {"smoke": 5, "paper": 130},
)  # fmt: skip

FIGURE_15 = Exhibit(
    "fig15",
    "Throughput by skew, 64 workers (simulated workers and merges)",
    Drawing(Chart("Zipf coefficient", THROUGHPUT, [Lines("z", "throughput", by="scheme")])),
    (
        Claim("nearly-flat", "PStream's throughput hardly depends on the skew.",
              "nearly flat (here: at least 80 %)",
              AtLeast(0.8, _REMAINING, where={"scheme": "PStream"},
                      form="at least {:.0%} of that at 0.5")),
        Claim("others-fall", "That of key grouping, DKG and PKG decreases sharply.",
              "sharply (here: to half or less)",
              AtMost(0.5, _REMAINING, each=["scheme"],
                     where={"scheme": one_of("KG", "DKG", "PKG")}, form="{:.0%}")),
    ),
    [
        On(ZIPF_BY_SKEW),
        On(Measurement(
            SPARK, Grid({"z": "exponents"}), _run_skews_on_spark,
            {
                "smoke": {
                    "rows": 4_000, "milliseconds": 1.0, "workers": 16, "exponents": [0.5, 1.0, 2.0],
                },
                "paper": {
                    "rows": 100_000, "milliseconds": 1.0, "workers": 64,
                    "exponents": [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0],
                },
            },
            "synthetic: ZF with 1,000 keys; work is waiting, so that 64 workers (16 at smoke "
            "size) run on few cores, and the time is that of the busiest worker; schemes that "
            "learn have seen the rows before",
            {"smoke": 40, "paper": 950},
           ),
           "Throughput by skew, on Spark",
           draw=Drawing(Chart("Zipf coefficient", "rows per second", [
               Lines("z", "throughput", by="scheme", only=list(SCHEMES_ON_SPARK)),
               Lines("z", "by_loads", by="scheme", only=list(SCHEMES_ON_SPARK),
                     label="{scheme} by its loads", style="dashed"),
           ])),
           claims=[placed_exactly()]),
    ],
)  # fmt: skip
