"""Figures 29 to 32: a threshold that adapts itself against fixed ones."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import CALIBRATED, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel
from unskew_papers.popularity.applications import (
    DATA,
    WORKERS,
    label,
    sets_of,
    stream_of,
)
from unskew_papers.popularity.parallelism import THROUGHPUT
from unskew_papers.popularity.stage import merge_cost_of, windows_of
from unskew_papers.rows import Row, Rows

_LOWEST, _HIGHEST = -5.0, -0.5
"""Random thresholds lie between 10⁻⁵ and 0.3, evenly in their logarithm; the paper has no range."""


def _units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "keys", "calibration")}
    return [
        {**each, "run": name, **shared}
        for each in sets_of(["word count", "hashtags"])
        for name in runs(parameters)
    ]


def runs(parameters: Parameters) -> list[str]:
    """Return the names of all that is compared on one set."""
    random = [f"random {number + 1}" for number in range(parameters["random"])]
    return ["adaptive", "wrap", *random, *(f"f = {f:g}" for f in parameters["tuned"])]


def scheme_of(run: str, seed: int, *, bits: int) -> str:
    """Return the scheme that a name stands for; one row of 2^bits reaches its synopsis.

    >>> scheme_of("f = 0.02", 0, bits=4), scheme_of("wrap", 0, bits=4)
    ('popularity:frequency=0.02,threshold_bits=4', 'wrap')
    """
    if run == "wrap":
        return "wrap"
    if run == "adaptive":
        return f"popularity:adaptive=true,threshold_bits={bits}"
    kind, _, number = run.partition(" ")
    frequency = float(run.removeprefix("f = ")) if kind == "f" else _random(int(number), seed)
    return f"popularity:frequency={frequency:.3g},threshold_bits={bits}"


def _random(number: int, seed: int) -> float:
    draws = np.random.default_rng(seed).uniform(_LOWEST, _HIGHEST, 100)
    return 10 ** float(draws[number - 1])


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    scheme, cost = scheme_of(unit["run"], seed, bits=4), merge_cost_of(unit)
    windows = windows_of(scheme, WORKERS, stream, seed=seed, merge_cost=cost)
    pairs = [(window.throughput, window.stddev_percent) for window in windows]
    return described(pairs, unit, scheme)


def described(windows: Sequence[tuple[float, float]], unit: Unit, scheme: str) -> list[Row]:
    """Return throughput and σ of every window, and the means of the second half."""
    kind = unit["run"].partition(" ")[0]
    fields = {
        "application": unit["application"], "data": label(unit), "run": unit["run"],
        "kind": "tuned" if kind == "f" else kind, "scheme": scheme,
    }  # fmt: skip
    through_time = [
        {**fields, "window": number, "throughput": throughput, "stddev_percent": deviation}
        for number, (throughput, deviation) in enumerate(windows, 1)
    ]
    throughput, deviation = np.mean(windows[len(windows) // 2 :], axis=0).tolist()
    means = {"throughput": throughput, "stddev_percent": deviation}
    return [*through_time, {**fields, "total": True, **means}]


def _totals(rows: Rows, data: str) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows.where(data=data, total=True):
        pair = (row["throughput"], row["stddev_percent"])
        found.setdefault(row["kind"], []).append(pair)
    return found


def _tuned(rows: Rows, data: str) -> str:
    """Return the fixed threshold that a person would find by trying: the fastest."""
    tried = rows.where(data=data, total=True, kind="tuned")
    return str(max(tried, key=lambda row: row["throughput"])["run"])


def _figure(application: str, column: str, title: str, rows: Rows) -> Figure:
    panels = []
    for data in rows.distinct("data", application=application):
        here = Rows(row for row in rows.where(data=data) if row.get("window") is not None)
        shown = ["adaptive", "wrap", _tuned(rows, data)]
        random = [name for name in here.distinct("run") if name.startswith("random")]
        curves = [
            Curve(name, *here.curve("window", column, run=name), style)
            for names, style in ((shown, "line"), (random, "dashed"))
            for name in names
        ]
        panels.append(Panel("window", title, curves, title=data))
    return Figure(panels)


def _sets(application: str, rows: Rows) -> list[str]:
    return rows.distinct("data", application=application)


def _faster(application: str, than: str, by: float, rows: Rows) -> Verdict:
    """Compare with the fastest of the fixed thresholds of a kind: all of them are beaten."""
    found = {}
    for data in _sets(application, rows):
        totals = _totals(rows, data)
        found[data] = totals["adaptive"][0][0] / max(pair[0] for pair in totals[than]) - 1
    measured = ", ".join(f"{data} {value:+.0%}" for data, value in found.items())
    return Verdict(min(found.values()) >= by, measured)


def _faster_than_median(application: str, by: float, rows: Rows) -> Verdict:
    found = {}
    for data in _sets(application, rows):
        totals = _totals(rows, data)
        middle = float(np.median([pair[0] for pair in totals["random"]]))
        found[data] = totals["adaptive"][0][0] / middle - 1
    measured = ", ".join(f"{data} {value:+.0%}" for data, value in found.items())
    return Verdict(min(found.values()) >= by, measured)


def _evener(application: str, than: str, by: float, rows: Rows) -> Verdict:
    found = {}
    for data in _sets(application, rows):
        totals = _totals(rows, data)
        other = (
            max(totals["tuned"])[1]
            if than == "tuned"
            else float(np.median([pair[1] for pair in totals["random"]]))
        )
        found[data] = 1 - totals["adaptive"][0][1] / other
    measured = ", ".join(f"{data} {-value:+.0%}" for data, value in found.items())
    return Verdict(min(found.values()) >= by, measured)


_TUNED_IS_BEST = (
    "The best of several fixed thresholds is by its nature at least as fast as a threshold that "
    "moves about the same values; the adaptive one minimises time and memory together, not time."
)


_LOW_IS_FAST = (
    "A threshold that is too low costs memory, not throughput, as long as the aggregators keep up, "
    "and half of those drawn are low. Those that are too high are beaten by 40 % and more."
)


def _experiment(
    number: int, application: str, throughput: bool, claims: tuple[Claim, ...]
) -> Experiment:
    column = "throughput" if throughput else "stddev_percent"
    title = THROUGHPUT if throughput else "σ in % of the mean"
    return Experiment(
        id=f"popularity/fig{number}",
        title=f"{application}: {'throughput' if throughput else 'σ of the loads'} with an adaptive "
        "threshold, random ones and a tuned one (simulated workers and merges)",
        runs_on=CALIBRATED,
        data=DATA,
        sizes={
            "smoke": {
                "rows": 360_000, "keys": 100_000, "random": 4, "tuned": [0.005, 0.0005],
            },
            "paper": {
                "rows": 10_000_000, "keys": 10_000_000, "random": 10,
                "tuned": [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001],
            },
        },
        seconds={"smoke": 6, "paper": 120} if number == 29 else {"smoke": 0, "paper": 0},
        units=_units,
        run=_run,
        figure=partial(_figure, application, column, title),
        claims=claims,
        rows_of=None if number == 29 else "popularity/fig29",
    )  # fmt: skip


FIGURE_29 = _experiment(
    29, "word count", True,
    (
        Claim("than-random", "It is faster than random thresholds.", "+17 … +42 %",
              partial(_faster_than_median, "word count", 0.17), _LOW_IS_FAST),
        Claim("than-tuned", "It is faster than a threshold tuned by hand.", "faster",
              partial(_faster, "word count", "tuned", 0.0)),
    ),
)  # fmt: skip
FIGURE_30 = _experiment(
    30, "word count", False,
    (
        Claim("than-random", "Its loads deviate less than with random thresholds.", "−24 … −32 %",
              partial(_evener, "word count", "random", 0.24), _LOW_IS_FAST),
        Claim("than-tuned", "Its loads deviate less than with a tuned threshold.", "−9.1 %",
              partial(_evener, "word count", "tuned", 0.091)),
    ),
)  # fmt: skip
FIGURE_31 = _experiment(
    31, "hashtags", True,
    (
        Claim("than-random", "It is faster than random thresholds.", "+27 … +46 %",
              partial(_faster_than_median, "hashtags", 0.27), _LOW_IS_FAST),
        Claim("than-tuned", "It is faster than a threshold tuned by hand.", "+19.5 %",
              partial(_faster, "hashtags", "tuned", 0.195), _TUNED_IS_BEST),
    ),
)  # fmt: skip
FIGURE_32 = _experiment(
    32, "hashtags", False,
    (
        Claim("than-random", "Its loads deviate less than with random thresholds.", "−35 %",
              partial(_evener, "hashtags", "random", 0.35), _LOW_IS_FAST),
        Claim("than-tuned", "Its loads deviate less than with a tuned threshold.", "−14.5 %",
              partial(_evener, "hashtags", "tuned", 0.145)),
    ),
)  # fmt: skip
ADAPTIVE_FIGURES = (FIGURE_29, FIGURE_30, FIGURE_31, FIGURE_32)
