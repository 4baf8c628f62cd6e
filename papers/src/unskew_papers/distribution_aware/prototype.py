"""Figures 10, 11, 12: the scheme on an engine, with a hottest key of about a fifth."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unskew import metrics
from unskew.groupings.base import LearnedGrouping
from unskew.hashing import Ids
from unskew_papers import datasets
from unskew_papers.checks import Above, All, Below, Near, Within
from unskew_papers.claims import TEXT, Claim, Reason, placed_exactly
from unskew_papers.distribution_aware.mappings import trained, tuples_of
from unskew_papers.engines.queues import identities_on_spark
from unskew_papers.engines.spark_jobs import MODULO, count_keys_on_spark
from unskew_papers.experiment import SPARK, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Curve, Drawing, Lines
from unskew_papers.quantities import Quantity, cell, largest, smallest
from unskew_papers.rows import FIRST, Row, Rows, above, one_of, up_to

_DKG = "distribution-aware:threshold=0.1,epsilon=0.05,buckets_per_worker=2"
_SIMULATED = {"O-apx": "optimal", "Modulo": "modulo", "DKG": _DKG, "wrap": "wrap:slots=1024"}
_ON_SPARK = {"Modulo": MODULO, "DKG": _DKG, "wrap": "wrap"}
_ON_SPARK_PLANS = ("DKG", "wrap")
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
    """Return λ of every scheme; those that learn know keys by Spark's hashes."""
    from unskew.spark.routing.schemes import grouping_for

    raw = learning.astype(np.int64), validation.astype(np.int64)
    hashed = identities_on_spark(learning), identities_on_spark(validation)
    found = {}
    for label, scheme in _SIMULATED.items():
        grouping = grouping_for(scheme, k, seed=seed) if label in _ON_SPARK_PLANS else None
        if isinstance(grouping, LearnedGrouping):
            workers = grouping.learn(hashed[0]).build().route_many(hashed[1])
        else:
            workers = trained(scheme, k, *raw, seed).route_many(raw[1])
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
_TESTS = "papers/tests/test_reasons_distribution_aware.py"
_OTHER_CELLS = Reason(
    "The paper's trace cannot be had, and how uneven Modulo is depends on it. It is not the "
    "numbering of cells: counted by grid, row and column Modulo is not twice as slow either.",
    shown_by=f"{_TESTS}::test_numbering_cells_by_grid_row_and_column_makes_no_factor_of_two",
)
_COARSE = Reason(
    "Two buckets per instance are pieces too large to be spread evenly over few instances. It is "
    "no matter of learning, λ does not fall with more of it; with 20 buckets per instance and a "
    "threshold of 0.02 DKG is within a point of O-apx.",
    kind=TEXT,
    shown_by=f"{_TESTS}::test_finer_buckets_bring_the_optimum_and_more_learning_does_not",
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
              _COARSE),
        Claim("as-simulated", "Results of the engine closely match those of the simulation.",
              "equal curves",
              Below(1, {name: abs(_lambda(name, "Spark") - _lambda(name, "simulation"))
                        for name in ("DKG", "Modulo")},
                    each=["data", "k"], form="{:.1f} points of λ")),
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
              Within(0.85, 1, _used("DKG", "busy_mean"),
                     form="mean usage {:.0%} of the busiest")),
        Claim("some-are-not",
              "With Modulo most instances are under-used and one has most of the load.",
              "three of four near 0.5 GHz, below a quarter of the fourth",
              All(Below(0.6, {"mean": _used("Modulo", "busy_mean")}, form="{:.0%}"),
                  Below(0.5, {"least": _used("Modulo", "busy_least")},
                        form="{:.0%} of the busiest")),
              _OTHER_CELLS),
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
              "2 times (here: ± 10 %)",
              Near(2, _AGAINST_MODULO, share=0.1, each=["k"], beyond="above",
                   where={"data": FIRST, "k": one_of(*_TWICE)}),
              _OTHER_CELLS),
        # The clock may be off by a twentieth.
        Claim("never-slower", "DKG's throughput is at least Modulo's for every k.",
              "at or above Modulo",
              Above(0.95, _AGAINST_MODULO, each=["data", "k"], form="{:.2f}×"),
              _OTHER_CELLS),
    ),
    [On(_MEASURED)],
)  # fmt: skip
