"""Figures 10, 11, 12: the scheme on an engine, with a hottest key of about a fifth."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unskew import metrics
from unskew.hashing import Ids
from unskew_papers import datasets
from unskew_papers.checks import Above, All, AtLeast, Below
from unskew_papers.claims import Claim, Reason, placed_exactly
from unskew_papers.distribution_aware.mappings import trained, tuples_of
from unskew_papers.engines.spark_jobs import MODULO, count_keys_on_spark
from unskew_papers.experiment import SPARK, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Curve, Drawing, Lines
from unskew_papers.quantities import Quantity, cell, largest, smallest
from unskew_papers.rows import FIRST, Row, Rows, above, one_of, up_to

_DKG = "distribution-aware:threshold=0.1,epsilon=0.05,buckets_per_worker=2"
_SIMULATED = {"O-apx": "optimal", "Modulo": "modulo", "DKG": _DKG, "wrap": "wrap:slots=1024"}
_ON_SPARK = {"Modulo": MODULO, "DKG": _DKG, "wrap": "wrap"}
_TWICE = (4, 5, 6, 8, 10)
_FOUR = 4
"""Instances of Figure 11."""


def _halves(unit: Unit, seed: int) -> tuple[Ids, Ids]:
    """Return the half to learn from and the half that is measured; numbers say nothing of rank."""
    stream = datasets.load(unit["data"], 2 * unit["rows"], 8_504, seed)
    keys = datasets.keys_of(stream).astype(np.int64)
    names = np.random.default_rng(seed).permutation(int(keys.max()) + 1)
    shuffled = names[keys].astype(np.uint64)
    return shuffled[: unit["rows"]], shuffled[unit["rows"] :]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    """Place the same rows in simulation and on Spark."""
    learning, validation = _halves(unit, seed)
    setting = {"data": unit["data"], "k": unit["k"]}
    simulated = [
        {**setting, "scheme": label, "where": "simulation", "lambda": found}
        for label, found in _simulated(unit["k"], learning, validation, seed).items()
    ]
    on_spark = [
        {
            **setting,
            "scheme": label,
            "where": "Spark",
            **_on_spark(unit, scheme, learning, validation, seed),
        }
        for label, scheme in _ON_SPARK.items()
    ]
    return simulated + on_spark


def _simulated(k: int, learning: Ids, validation: Ids, seed: int) -> dict[str, float]:
    """Return λ of every scheme."""
    first, second = learning.astype(np.int64), validation.astype(np.int64)
    found = {}
    for label, scheme in _SIMULATED.items():
        workers = trained(scheme, k, first, second, seed).route_many(second)
        found[label] = metrics.imbalance_percent(tuples_of(workers, k))
    return found


def _on_spark(unit: Unit, scheme: str, learning: Ids, validation: Ids, seed: int) -> dict[str, Any]:
    job = count_keys_on_spark(
        validation,
        unit["k"],
        scheme,
        milliseconds=unit["milliseconds"],
        learn_from=learning,
        seed=seed,
    )
    shares = np.array(job.busy) / max(job.busy)
    return {
        "lambda": metrics.imbalance_percent(job.loads),
        "throughput": job.throughput,
        "busy_mean": float(shares.mean()),
        "busy_least": float(shares.min()),
        "busy": job.busy,
        "exact": job.exact,
    }


_MEASURED = Measurement(
    SPARK,
    Grid({"data": lambda _: datasets.names_for("DEBS"), "k": "instances"}),
    _run,
    {
        "smoke": {"rows": 4_000, "milliseconds": 0.5, "instances": [2, 4, 6, 8, 10]},
        "paper": {"rows": 100_000, "milliseconds": 0.5, "instances": list(range(1, 11))},
    },
    datasets.describe("DEBS") + "; work is waiting, so that all instances run on few cores",
    {"smoke": 60, "paper": 1250},
)
_OTHER_NAMES = Reason(
    "Different data: how evenly Modulo spreads the cells depends on how they are numbered. Ours "
    "are numbered at random, the paper's by row, column and grid, which meets even k badly."
)
_AGAINST_MODULO = cell("throughput", scheme="DKG", where="Spark") / cell(
    "throughput", scheme="Modulo", where="Spark"
)


def _lambda(scheme: str, where: str) -> Quantity:
    return cell("lambda", scheme=scheme, where=where)


FIGURE_10 = Exhibit(
    "fig10",
    "Imbalance over the number of instances, simulated and on the engine",
    Drawing(Chart("instances k", "imbalance λ in %", [
        Lines("k", "lambda", by="scheme", label="{scheme} (simulation)",
              where={"where": "simulation"}),
        Lines("k", "lambda", by="scheme", label="{scheme} (Spark)", style="points",
              where={"where": "Spark"}),
    ], each=["data"])),
    (
        Claim("near-optimal", "DKG sticks to O-apx for all k.", "equal curves",
              Below(5, _lambda("DKG", "Spark") - _lambda("O-apx", "simulation"),
                    each=["data", "k"], form="{:+.1f} points of λ"),
              Reason("It does from 6 instances on. With fewer, two buckets an instance for four "
                     "fifths of the tuples are pieces too large to be spread evenly, and they were "
                     "learned from thousands of tuples, not from the paper's millions.")),
        Claim("as-simulated", "Results of the engine closely match those of the simulation.",
              "equal curves",
              Below(5, {name: abs(_lambda(name, "Spark") - _lambda(name, "simulation"))
                        for name in ("DKG", "Modulo")},
                    each=["data", "k"], form="{:.1f} points of λ"),
              Reason("They are equal from 6 instances on. With fewer it depends on the hash "
                     "function which cells share one of the 4 to 10 buckets, and engine and "
                     "simulation do not hash alike: a third hash gives λ = 10.1 % for 2 instances, "
                     "where these two give 17.7 and 7.5.")),
        Claim("optimum-leaves-zero",
              "With a hottest key of about a fifth O-apx is even up to 5 instances and cannot be "
              "from 6 on.",
              "0 % for k = 2 … 5, then growing",
              All(Below(1, {"up to k = 5 at most": largest("lambda", k=up_to(5))},
                        where={"scheme": "O-apx"}, form="{:.2f} %"),
                  Above(1, {"from 6 on at least": smallest("lambda", k=above(5))},
                        where={"scheme": "O-apx"}, form="{:.1f} %"))),
    ),
    [On(_MEASURED)],
)  # fmt: skip


def _busy_bars(rows: Rows) -> list[Curve]:
    """Draw how long each instance worked, the busiest first."""
    here = rows.where(k=_FOUR, where="Spark")
    names = [str(number) for number in range(_FOUR)]
    return [
        Curve(name, names, sorted(here.value("busy", scheme=name), reverse=True), "bars")
        for name in _ON_SPARK
    ]


def _used(scheme: str, column: str) -> Quantity:
    return cell(column, scheme=scheme, data=FIRST, k=_FOUR, where="Spark")


FIGURE_11 = Exhibit(
    "fig11",
    "Use of four instances",
    Drawing(Chart("instance, busiest first", "seconds of work", [_busy_bars], each=["data"])),
    (
        Claim("all-are-used",
              "With DKG all instances are used alike: the mean is close to the most that Modulo "
              "reaches.",
              "2 to 2.5 GHz on all four",
              Above(0.85, _used("DKG", "busy_mean"), form="mean usage {:.0%} of the busiest")),
        Claim("some-are-not",
              "With Modulo most instances are under-used and one has most of the load.",
              "three of four near 0.5 GHz",
              All(Below(0.6, {"mean": _used("Modulo", "busy_mean")}, form="{:.0%}"),
                  Below(0.5, {"least": _used("Modulo", "busy_least")},
                        form="{:.0%} of the busiest")),
              _OTHER_NAMES),
    ),
    [
        On(_MEASURED, data=f"{_MEASURED.data}; time at work instead of hertz, by instance instead "
           "of by second")
    ],
)  # fmt: skip

FIGURE_12 = Exhibit(
    "fig12",
    "Throughput over the number of instances",
    Drawing(Chart("instances k", "tuples per second",
                  [Lines("k", "throughput", by="scheme", only=list(_ON_SPARK),
                         where={"where": "Spark"})], each=["data"])),
    (
        placed_exactly(where="Spark"),
        Claim("twice", "DKG delivers twice the throughput of Modulo for k = 4, 5, 6, 8 and 10.",
              "2 times",
              AtLeast(1.8, _AGAINST_MODULO, each=["k"],
                      where={"data": FIRST, "k": one_of(*_TWICE)}),
              _OTHER_NAMES),
        # The clock may be off by a twentieth.
        Claim("never-slower", "DKG's throughput is at least Modulo's for every k.",
              "at or above Modulo",
              Above(0.95, _AGAINST_MODULO, each=["data", "k"], form="{:.2f}×"),
              Reason("For k = 2 Modulo happens to be even.") + _OTHER_NAMES),
    ),
    [On(_MEASURED)],
)  # fmt: skip
