"""Whether calibrated queues foresee jobs on Spark that they were not calibrated on."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unskew.hashing import Ids
from unskew.streams import zipf
from unskew_papers.claims import Claim, Verdict
from unskew_papers.engines.calibration import Calibration
from unskew_papers.engines.queues import placed_in_queues
from unskew_papers.engines.spark_jobs import ROWS_A_WAIT, merged, worked
from unskew_papers.experiment import SPARK, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel
from unskew_papers.rows import Row, Rows

_KEYS = 1_000
_AGGREGATORS = 4
_SCHEMES = {"SG": "shuffle", "KG": "key", "PKG": "partial-key", "wrap": "wrap"}
_WITHIN = 0.15


class _Job(NamedTuple):
    """What a job took: its busiest worker, and from its start to the merged result."""

    busy: float
    seconds: float
    exact: bool


def _units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "calibration")}
    return [
        {"workers": workers, "work": work, "z": z, "scheme": scheme, **shared}
        for workers, work, z in parameters["settings"]
        for scheme in _SCHEMES
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = zipf(_KEYS, unit["z"], unit["rows"], seed=seed)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    # Other programs only ever make a job longer: the shorter of two counts.
    jobs = [_measured(unit, keys, seed) for _ in range(2)]
    names = ("workers", "work", "z", "scheme")
    return [
        {
            **{name: unit[name] for name in names},
            "busy": min(job.busy for job in jobs),
            "seconds": min(job.seconds for job in jobs),
            "exact": all(job.exact for job in jobs),
            **_predicted(unit, keys, seed),
        }
    ]


def _measured(unit: Unit, keys: Ids, seed: int) -> _Job:
    scheme = _SCHEMES[unit["scheme"]]
    partials = worked(keys, unit["workers"], scheme, milliseconds=unit["work"], seed=seed)
    job = merged(partials, _AGGREGATORS)
    started = time.perf_counter()
    found = job.toArrow().sort_by("key")
    seconds = time.perf_counter() - started
    names, counts = np.unique(keys.astype(np.int64), return_counts=True)
    exact = np.array_equal(found["key"], names) and np.array_equal(found["n"], counts)
    return _Job(float(max(found["busy"].to_numpy())), seconds, bool(exact))


def _predicted(unit: Unit, keys: Ids, seed: int) -> dict[str, Any]:
    """Return what queues say that know keys, scheme and calibration, and nothing of the job."""
    costs = Calibration.of(unit["calibration"])
    scheme, workers, work = _SCHEMES[unit["scheme"]], unit["workers"], unit["work"]
    placed = placed_in_queues(keys, workers, scheme, seed=seed)
    busiest = int(np.bincount(placed).max())
    partials = np.unique(np.column_stack([keys.astype(np.int64), placed]), axis=0).shape[0]
    merges = partials // _AGGREGATORS
    return {
        "busy_predicted": costs.busy(busiest, work, ROWS_A_WAIT) / 1000,
        "seconds_predicted": costs.batch(busiest, work, workers, merges, ROWS_A_WAIT) / 1000,
    }


def _figure(rows: Rows) -> Figure:
    panels = []
    for column, title in (("busy", "busiest worker"), ("seconds", "whole micro-batch")):
        curves = [
            Curve(name, *rows.curve(f"{column}_predicted", column, scheme=name), "points")
            for name in _SCHEMES
        ]
        ends = [min(rows.values(column)), max(rows.values(column))]
        curves.append(Curve("as predicted", ends, ends, "dashed"))
        panels.append(Panel("predicted seconds", "measured seconds", curves, title=title))
    return Figure(panels)


def _exact(rows: Rows) -> Verdict:
    found = rows.values("exact")
    return Verdict(all(found), f"{sum(found)} of {len(found)} settings")


def _foreseen(rows: Rows, column: str) -> Verdict:
    ratios = [row[column] / row[f"{column}_predicted"] for row in rows]
    holds = all(abs(ratio - 1) <= _WITHIN for ratio in ratios)
    median = float(np.median(ratios))
    return Verdict(
        holds, f"{min(ratios):.2f} … {max(ratios):.2f} times the prediction, median {median:.2f}"
    )


def _busy_is_foreseen(rows: Rows) -> Verdict:
    return _foreseen(rows, "busy")


def _batch_is_foreseen(rows: Rows) -> Verdict:
    return _foreseen(rows, "seconds")


CALIBRATED_QUEUES = Experiment(
    id="own/calibration",
    title="What calibrated queues predict, and what Spark then takes",
    runs_on=SPARK,
    data="synthetic: Zipf with 1,000 keys; the queues know keys (by their hashes), scheme and "
    "work, and of Spark what the calibration measured with other jobs: no skew, one worker or "
    "all, no work",
    sizes={
        "smoke": {"rows": 4_000, "settings": [[4, 1.0, 1.0], [10, 1.0, 1.6], [16, 2.0, 0.5]]},
        "paper": {
            "rows": 40_000,
            "settings": [
                [workers, work, z]
                for workers in (2, 4, 8, 12, 16)
                for work in (0.5, 1.0)
                for z in (0.5, 1.0, 1.5, 2.0)
            ],
        },
    },
    seconds={"smoke": 30, "paper": 4800},
    units=_units,
    run=_run,
    figure=_figure,
    calibrated=True,
    claims=(
        Claim("exact", "Placing rows changes no result (our own).", "every job", _exact),
        Claim(
            "busiest-worker",
            "Queues foresee how long the busiest worker works, whatever the scheme (our own).",
            f"within {_WITHIN:.0%}",
            _busy_is_foreseen,
        ),
        Claim(
            "whole-batch",
            "Queues foresee how long a micro-batch takes from its start to its merged result "
            "(our own).",
            f"within {_WITHIN:.0%}",
            _batch_is_foreseen,
            "Starting a job takes as long as the work of a small one, and how long depends on "
            "what else the machine does. Figures of the papers are those of the workers.",
        ),
    ),
)
