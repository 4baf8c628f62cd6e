"""Figures 12 and 13: more workers and more sources do not help where one key is too hot."""

from collections.abc import Sequence
from typing import Any

from unskew_papers.checks import Above, All, Below, Falls, Within
from unskew_papers.claims import Claim, placed_exactly
from unskew_papers.dynamic_key.methods import (
    ELECTION,
    METHODS,
    METRICS,
    QUEUES,
    SPLITTERS,
    WAITING,
    against,
    run_in_queues,
    run_on_spark,
)
from unskew_papers.dynamic_key.real_sets import NO_MINUTES
from unskew_papers.experiment import CALIBRATED, SPARK, Exhibit, Grid, Measurement, On
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.quantities import cell, largest, smallest
from unskew_papers.rows import ALL_BUT_SMALLEST, SMALLEST, one_of

_BARELY = 0.1
"""What "barely changed" may be."""
_ROWS = 5_320_000


def _in_queues(workers: Sequence[int], sources: Sequence[int]) -> Measurement:
    return Measurement(
        CALIBRATED,
        Grid({"workers": workers, "sources": sources}),
        run_in_queues,
        {
            size: {"rows": rows, "paper_rows": _ROWS}
            for size, rows in {"smoke": 300_000, "paper": _ROWS}.items()
        },
        ELECTION + QUEUES,
        {"smoke": 8, "paper": 40},
    )


def _on_spark(workers: Sequence[int], sources: Sequence[int]) -> Measurement:
    return Measurement(
        SPARK,
        Grid({"data": ["election~"], "workers": workers, "sources": sources}),
        run_on_spark,
        {
            "smoke": {"rows": 4_000, "milliseconds": 0.5},
            "paper": {"rows": 100_000, "milliseconds": 1.0},
        },
        ELECTION + WAITING,
        {"smoke": 15, "paper": 800},
    )


def _barely(x: str, methods: Sequence[str]) -> Within:
    """Ask for about the time that the fewest take."""
    others: dict[str, Any] = {x: ALL_BUT_SMALLEST}
    with_fewest = cell("latency", **{x: SMALLEST})
    changes = {
        "least": smallest("latency", **others) / with_fewest - 1,
        "most": largest("latency", **others) / with_fewest - 1,
    }
    where = {"method": one_of(*methods)}
    return Within(-_BARELY, _BARELY, changes, each=["method"], where=where, form="{:+.1%}")


def _better_than_pkg(x: str) -> Claim:
    return Claim(
        "better-than-pkg",
        "DKG takes less time and is more even than PKG.",
        f"for every number of {x}",
        All(
            Below(1, {"time": against("latency", "PKG")}, each=[x], form="{:.2f}×"),
            Below(1, {"σ": against("stddev", "PKG")}, each=[x], form="{:.2f}×"),
        ),
    )


def _over(x: str) -> Drawing:
    charts = [
        Chart(x, title, [Lines(x, metric, by="method", only=list(METHODS))])
        for metric, title in METRICS.items()
    ]
    return Drawing(*charts, columns=2)


_BASE = cell("latency", workers=SMALLEST)

FIGURE_12 = Exhibit(
    "fig12",
    "twitter-election: the methods as the number of workers grows (simulated queues)",
    _over("workers"),
    (
        Claim("workers-do-not-help",
              "More workers barely change the time that key grouping and PKG take.",
              "barely (here: 10 %)", _barely("workers", ("KG", "PKG"))),
        Claim("dkg-grows", "DKG's time grows with more workers (\"slightly\", the paper says).",
              "longer than with 10",
              Above(0, {"least": smallest("latency", workers=ALL_BUT_SMALLEST) / _BASE - 1,
                        "most": largest("latency", workers=ALL_BUT_SMALLEST) / _BASE - 1},
                    where={"method": "DKG"}, form="{:+.0%}")),
        _better_than_pkg("workers"),
        Claim("deviations-fall", "σ in percent falls with more workers.", "for all methods",
              Falls("stddev", "workers", each=["method"],
                    where={"method": one_of("KG", "PKG", "DKG")}, form="{:.1f}")),
    ),
    [
        On(_in_queues([10, 50, 100], [SPLITTERS])),
        On(_on_spark([5, 10, 16], [5]),
           "twitter-election: the methods as the number of workers grows, on Spark",
           claims=[placed_exactly()],
           reasons={"dkg-grows": NO_MINUTES}),
    ],
)  # fmt: skip
FIGURE_13 = Exhibit(
    "fig13",
    "twitter-election: the methods as the number of sources grows (simulated queues)",
    _over("sources"),
    (
        Claim("sources-do-not-help",
              "More sources do not shorten the time of any method but shuffle's.",
              "no effect (here: 10 %)", _barely("sources", ("KG", "PKG", "DKG"))),
        _better_than_pkg("sources"),
    ),
    [
        On(_in_queues([10], [5, 10, 15, 20])),
        On(_on_spark([10], [5, 10, 20]),
           "twitter-election: the methods as the number of sources grows, on Spark",
           claims=[placed_exactly()], reasons={}),
    ],
)  # fmt: skip
