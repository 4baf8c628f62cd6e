"""Figures 12 and 13: more workers and more sources do not help where one key is too hot."""

from collections.abc import Sequence
from typing import Any

from unskew_papers.checks import All, AtLeast, Below, Falls, Within
from unskew_papers.claims import Claim, Reason, placed_exactly
from unskew_papers.dynamic_key.methods import (
    ELECTION,
    METHODS,
    METRICS,
    QUEUES,
    WAITING,
    against,
    run_in_queues,
    run_on_spark,
)
from unskew_papers.dynamic_key.real_sets import FEW_ROWS
from unskew_papers.experiment import CALIBRATED, SPARK, Exhibit, Grid, Measurement, On
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.quantities import cell, largest, smallest
from unskew_papers.rows import ALL_BUT_SMALLEST, SMALLEST, one_of

_BARELY = 0.1
"""What "barely changed" may be."""
_ONE_SERVER = Reason(
    "A key may have 51 of 100 workers, so with more workers DKG is faster; that it was not "
    "in the paper is due to its one server, which has no more cores for more workers."
)


def _in_queues(workers: Sequence[int], sources: Sequence[int]) -> Measurement:
    return Measurement(
        CALIBRATED,
        Grid({"workers": workers, "sources": sources}),
        run_in_queues,
        {"smoke": {"rows": 200_000}, "paper": {"rows": 5_000_000}},
        ELECTION + QUEUES,
        {"smoke": 4, "paper": 8},
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


def _no_help(x: str, methods: Sequence[str]) -> AtLeast:
    """Ask for no shorter a time than with the fewest."""
    others: dict[str, Any] = {x: ALL_BUT_SMALLEST}
    change = smallest("latency", **others) / cell("latency", **{x: SMALLEST}) - 1
    where = {"method": one_of(*methods)}
    return AtLeast(-_BARELY, change, each=["method"], where=where, form="{:+.1%}")


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
              "no shorter (here: by 10 %)", _no_help("workers", ("KG", "PKG"))),
        Claim("dkg-grows-slightly", "DKG's time grows slightly with more workers.",
              "slightly longer (here: 0 … 20 %)",
              Within(0, 2 * _BARELY,
                     {"least": smallest("latency", workers=ALL_BUT_SMALLEST) / _BASE - 1,
                      "most": largest("latency", workers=ALL_BUT_SMALLEST) / _BASE - 1},
                     where={"method": "DKG"}, form="{:+.0%}"),
              _ONE_SERVER),
        _better_than_pkg("workers"),
        Claim("deviations-fall", "σ in percent falls with more workers.", "for all methods",
              Falls("stddev", "workers", each=["method"],
                    where={"method": one_of("KG", "PKG", "DKG")}, form="{:.1f}")),
    ),
    [
        On(_in_queues([10, 50, 100], [5])),
        On(_on_spark([5, 10, 16], [5]),
           "twitter-election: the methods as the number of workers grows, on Spark",
           claims=[placed_exactly()], reasons={"dkg-grows-slightly": _ONE_SERVER + FEW_ROWS}),
    ],
)  # fmt: skip
FIGURE_13 = Exhibit(
    "fig13",
    "twitter-election: the methods as the number of sources grows (simulated queues)",
    _over("sources"),
    (
        Claim("sources-do-not-help",
              "More sources do not shorten the time of any method but shuffle's.",
              "no shorter (here: by 10 %)", _no_help("sources", ("KG", "PKG", "DKG"))),
        _better_than_pkg("sources"),
    ),
    [
        On(_in_queues([10], [5, 10, 15, 20])),
        On(_on_spark([10], [5, 10, 20]),
           "twitter-election: the methods as the number of sources grows, on Spark",
           claims=[placed_exactly()], reasons={}),
    ],
)  # fmt: skip
