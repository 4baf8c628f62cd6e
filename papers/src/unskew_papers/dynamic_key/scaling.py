"""Figures 12 and 13: more workers and more sources do not help where one key is too hot."""

from collections.abc import Sequence
from typing import Any

from unskew_papers.claim import Claim, Verdict
from unskew_papers.dynamic_key.shared import (
    ELECTION,
    METHODS,
    QUEUES,
    gains,
    measure,
    panel_a_metric,
    row_seconds_of,
    stream_of,
)
from unskew_papers.figure import Figure
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import CALIBRATED, Experiment, Parameters, Unit

_BARELY = 0.1
"""What "barely changed" may be."""


def _units_of(settings: Sequence[tuple[int, int]], parameters: Parameters) -> Sequence[Unit]:
    return [
        {
            "workers": workers,
            "sources": sources,
            "rows": parameters["rows"],
            "calibration": parameters["calibration"],
        }
        for workers, sources in settings
    ]


def _worker_units(parameters: Parameters) -> Sequence[Unit]:
    return _units_of([(10, 5), (50, 5), (100, 5)], parameters)


def _source_units(parameters: Parameters) -> Sequence[Unit]:
    return _units_of([(10, 5), (10, 10), (10, 15), (10, 20)], parameters)


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of("election~", unit["rows"], seed)
    cost = row_seconds_of(unit)
    place = {"workers": unit["workers"], "sources": unit["sources"]}
    return [
        {
            **place,
            "method": method,
            **measure(method, unit["workers"], unit["sources"], stream, seed, row_seconds=cost),
        }
        for method in METHODS
    ]


def _figure_12(rows: Rows) -> Figure:
    return panel_a_metric(rows, "workers", "workers")


def _figure_13(rows: Rows) -> Figure:
    return panel_a_metric(rows, "sources", "sources")


def _changes(rows: Rows, x: str, method: str) -> list[float]:
    _, times = rows.curve(x, "latency", method=method)
    return [time / times[0] - 1 for time in times[1:]]


def _no_help(rows: Rows, x: str, methods: Sequence[str]) -> Verdict:
    found = {name: min(_changes(rows, x, name)) for name in methods}
    measured = ", ".join(f"{name} {change:+.1%}" for name, change in found.items())
    return Verdict(all(change >= -_BARELY for change in found.values()), measured)


def _workers_do_not_help(rows: Rows) -> Verdict:
    return _no_help(rows, "workers", ("KG", "PKG"))


def _sources_do_not_help(rows: Rows) -> Verdict:
    return _no_help(rows, "sources", ("KG", "PKG", "DKG"))


def _dkg_grows_slightly(rows: Rows) -> Verdict:
    changes = _changes(rows, "workers", "DKG")
    holds = all(0 <= change <= 2 * _BARELY for change in changes)
    return Verdict(holds, ", ".join(f"{change:+.0%}" for change in changes))


def _better_than_pkg(rows: Rows, x: str) -> Verdict:
    def always(_: Any) -> bool:
        return True

    shorter = gains(rows, "latency", "PKG", x, always)
    evener = gains(rows, "stddev", "PKG", x, always)
    return Verdict(
        max(shorter) < 1 and max(evener) < 1,
        f"time at most {max(shorter):.2f}×, σ at most {max(evener):.2f}×",
    )


def _better_with_workers(rows: Rows) -> Verdict:
    return _better_than_pkg(rows, "workers")


def _better_with_sources(rows: Rows) -> Verdict:
    return _better_than_pkg(rows, "sources")


def _deviations_fall(rows: Rows) -> Verdict:
    holds, measured = True, []
    for method in ("KG", "PKG", "DKG"):
        _, found = rows.curve("workers", "stddev", method=method)
        holds &= found == sorted(found, reverse=True)
        measured.append(f"{method} " + " > ".join(f"{value:.1f}" for value in found))
    return Verdict(holds, "; ".join(measured))


def _experiment(number: int, what: str, claims: Sequence[Claim], **fields: Any) -> Experiment:
    return Experiment(
        id=f"dynamic-key/fig{number}",
        title=f"twitter-election: the methods as the number of {what} grows (simulated queues)",
        runs_on=CALIBRATED,
        data=ELECTION + QUEUES,
        sizes={"smoke": {"rows": 200_000}, "paper": {"rows": 5_000_000}},
        seconds={"smoke": 4, "paper": 8},
        run=_run,
        claims=claims,
        **fields,
    )


FIGURE_12 = _experiment(
    12,
    "workers",
    (
        Claim(
            "workers-do-not-help",
            "More workers barely change the time that key grouping and PKG take.",
            "no shorter (here: by 10 %)",
            _workers_do_not_help,
        ),
        Claim(
            "dkg-grows-slightly",
            "DKG's time grows slightly with more workers.",
            "slightly longer (here: 0 … 20 %)",
            _dkg_grows_slightly,
            "A key may have 51 of 100 workers, so with more workers DKG is faster; that it was not "
            "in the paper is due to its one server, which has no more cores for more workers.",
        ),
        Claim(
            "better-than-pkg", "DKG takes less time and is more even than PKG.",
            "for every number of workers", _better_with_workers,
        ),
        Claim(
            "deviations-fall", "σ in percent falls with more workers.", "for all methods",
            _deviations_fall,
        ),
    ),
    units=_worker_units,
    figure=_figure_12,
)  # fmt: skip
FIGURE_13 = _experiment(
    13,
    "sources",
    (
        Claim(
            "sources-do-not-help",
            "More sources do not shorten the time of any method but shuffle's.",
            "no shorter (here: by 10 %)",
            _sources_do_not_help,
        ),
        Claim(
            "better-than-pkg", "DKG takes less time and is more even than PKG.",
            "for every number of sources", _better_with_sources,
        ),
    ),
    units=_source_units,
    figure=_figure_13,
)  # fmt: skip
