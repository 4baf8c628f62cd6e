"""Figures 16 to 28: throughput, latency and σ of four applications with 128 workers."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import CALIBRATED, Experiment
from unskew_papers.figures import Curve, Figure, Panel, lines
from unskew_papers.popularity.applications import APPLICATIONS, COMPARED, DATA, run, units
from unskew_papers.popularity.latencies import latency_panel
from unskew_papers.popularity.parallelism import THROUGHPUT
from unskew_papers.rows import Rows

_NONE = {"smoke": 0.0, "paper": 0.0}
"""What figures take that show rows of another."""


def _windows(rows: Rows) -> Rows:
    return Rows(row for row in rows if row.get("window") is not None)


def _each_set(rows: Rows, application: str) -> list[tuple[str, Rows]]:
    here = rows.where(application=application)
    return [(data, here.where(data=data)) for data in here.distinct("data")]


def _throughput_figure(application: str, rows: Rows) -> Figure:
    panels = []
    for data, here in _each_set(_windows(rows), application):
        curves = [(name, here.curve("window", "throughput", scheme=name)) for name in COMPARED]
        panels.append(Panel("window", THROUGHPUT, lines(curves), title=data))
    return Figure(panels)


def _latency_figure(application: str, rows: Rows) -> Figure:
    found = Rows(row for row in rows if row.get("percent") is not None)
    return Figure([latency_panel(here, data) for data, here in _each_set(found, application)])


def _variation_figure(application: str, rows: Rows) -> Figure:
    panels = []
    for data, here in _each_set(_windows(rows), application):
        for name in COMPARED:
            curves = [
                Curve(f"{name} {p}", *here.curve("window", p, scheme=name), style)
                for p, style in (("p10", "dashed"), ("p50", "line"), ("p90", "dashed"))
            ]
            panels.append(Panel("window", "latency", curves, title=f"{data}: {name}", log_y=True))
    return Figure(panels, columns=4)


def _total(rows: Rows, data: str, scheme: str, column: str) -> float:
    return float(rows.value(column, total=True, data=data, scheme=scheme))


def _at_least_times(application: str, other: str, times: float, rows: Rows) -> Verdict:
    found = {
        data: _total(rows, data, "PStream", "throughput") / _total(rows, data, other, "throughput")
        for data, _ in _each_set(rows, application)
    }
    measured = ", ".join(f"{data} {value:.1f}×" for data, value in found.items())
    return Verdict(min(found.values()) >= times, measured)


def _lower_by(application: str, other: str, share: float, rows: Rows) -> Verdict:
    found = {
        data: 1 - _total(rows, data, "PStream", "latency") / _total(rows, data, other, "latency")
        for data, _ in _each_set(rows, application)
    }
    measured = ", ".join(f"{data} {-value:+.0%}" for data, value in found.items())
    return Verdict(min(found.values()) >= share, measured)


def _steadier(application: str, rows: Rows) -> Verdict:
    holds, measured = True, []
    for data, here in _each_set(_windows(rows), application):
        worst = {name: max(here.values("p90", scheme=name)) for name in ("PStream", "PKG", "DKG")}
        holds &= worst["PStream"] < min(worst["PKG"], worst["DKG"])
        measured.append(f"{data}: " + ", ".join(f"{name} {p:.0f}" for name, p in worst.items()))
    return Verdict(holds, "; ".join(measured))


def _claims(
    application: str, check: Callable[..., Verdict], says: str, published: dict[str, float],
    form: str,
) -> tuple[Claim, ...]:  # fmt: skip
    return tuple(
        Claim(
            f"than-{other.lower()}", says.format(other=other), form.format(value),
            partial(check, application, other, value),
        )
        for other, value in published.items()
    )  # fmt: skip


def _figures_of(application: str, owner: Experiment | None) -> list[Experiment]:
    known = APPLICATIONS[application]
    first = Experiment(
        id=f"popularity/fig{known.figures[0]}",
        title=f"{application}: throughput through time (simulated workers and merges)",
        runs_on=CALIBRATED,
        data=DATA,
        sizes={
            "smoke": {"rows": 600_000, "keys": 100_000},
            "paper": {"rows": 10_000_000, "keys": 10_000_000},
        },
        seconds={"smoke": 10 if owner is None else 0, "paper": 35 if owner is None else 0},
        units=units,
        run=run,
        figure=partial(_throughput_figure, application),
        claims=_claims(
            application, _at_least_times, "PStream's throughput is a multiple of {other}'s.",
            known.throughput, "{:.1f}×",
        ),
        rows_of=owner.id if owner else None,
    )  # fmt: skip
    return [
        first,
        replace(
            first, id=f"popularity/fig{known.figures[1]}",
            title=f"{application}: distribution of the latency (simulated queues)",
            figure=partial(_latency_figure, application),
            rows_of=(owner or first).id, seconds=_NONE,
            claims=_claims(
                application, _lower_by, "PStream's mean latency is lower than {other}'s.",
                known.latency, "−{:.0%}",
            ),
        ),
        replace(
            first, id=f"popularity/fig{known.figures[2]}",
            title=f"{application}: latency through time (simulated queues)",
            figure=partial(_variation_figure, application),
            rows_of=(owner or first).id, seconds=_NONE,
            claims=(
                Claim(
                    "steadier", "PStream's latency stays low when the hot keys change, that of PKG "
                    "and DKG does not.", "lowest 90th percentile at its worst",
                    partial(_steadier, application),
                ),
            ),
        ),
    ]  # fmt: skip


_FIRST = _figures_of("word count", None)
_OTHERS = [each for name in ("VWAP", "hashtags", "roads") for each in _figures_of(name, _FIRST[0])]


def _deviation_figure(rows: Rows) -> Figure:
    panels = []
    for name in ("VWAP", "hashtags"):
        for data, here in _each_set(_windows(rows), name):
            curves = [(s, here.curve("window", "stddev_percent", scheme=s)) for s in COMPARED]
            panels.append(Panel("window", "σ in % of the mean", lines(curves), title=data))
    return Figure(panels)


def _evener(application: str, other: str, share: float, rows: Rows) -> Verdict:
    data = f"{APPLICATIONS[application].symbol}~"
    found = [_total(rows, data, name, "stddev_percent") for name in ("PStream", other)]
    return Verdict(1 - found[0] / found[1] >= share, f"{found[0] / found[1] - 1:+.0%}")


_DEVIATIONS = {
    ("VWAP", "DKG"): 0.16,
    ("hashtags", "DKG"): 0.25,
    ("VWAP", "PKG"): 0.49,
    ("hashtags", "PKG"): 0.40,
}
FIGURE_28 = replace(
    _FIRST[0],
    id="popularity/fig28",
    title="Standard deviation of the loads through time (simulated workers)",
    figure=_deviation_figure,
    rows_of=_FIRST[0].id,
    seconds=_NONE,
    claims=tuple(
        Claim(
            f"{name.lower()}-than-{other.lower()}",
            f"{name}: PStream's loads deviate less than {other}'s.",
            f"−{share:.0%}",
            partial(_evener, name, other, share),
        )
        for (name, other), share in _DEVIATIONS.items()
    ),
)


APPLICATION_FIGURES = (*_FIRST, *_OTHERS, FIGURE_28)
