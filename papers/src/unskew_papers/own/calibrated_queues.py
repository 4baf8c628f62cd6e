"""Whether calibrated queues foresee jobs on Spark that they were not calibrated on."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unskew.hashing import Ids
from unskew.streams import zipf
from unskew_papers.checks import Exact, Within
from unskew_papers.claims import OURS, Claim, Reason
from unskew_papers.datasets import keys_of
from unskew_papers.engines.calibration import Calibration
from unskew_papers.engines.queues import placed_in_queues
from unskew_papers.engines.spark_jobs import ROWS_PER_WAIT, merged, worked
from unskew_papers.experiment import SPARK, Exhibit, Grid, Measurement, On, Parameters, Unit
from unskew_papers.figures import Chart, Curve, Drawing, Lines
from unskew_papers.quantities import cell
from unskew_papers.rows import Row, Rows

_KEYS = 1_000
_AGGREGATORS = 4
_SCHEMES = {"SG": "shuffle", "KG": "key", "PKG": "partial-key", "wrap": "wrap"}
_WITHIN = 0.15
_SETTING = ("workers", "work", "z", "scheme")


class _Job(NamedTuple):
    """What a job took: its busiest worker, and from its start to the merged result."""

    busy: float
    seconds: float
    exact: bool


def _settings(parameters: Parameters) -> list[Mapping[str, Any]]:
    return [dict(zip(_SETTING, each, strict=False)) for each in parameters["settings"]]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    keys = keys_of(zipf(_KEYS, unit["z"], unit["rows"], seed=seed))
    # Other programs only ever make a job longer: the shorter of two counts.
    jobs = [_measured(unit, keys, seed) for _ in range(2)]
    return [
        {
            **{name: unit[name] for name in _SETTING},
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
        "busy_predicted": costs.busy(busiest, work, ROWS_PER_WAIT) / 1000,
        "seconds_predicted": costs.batch(busiest, work, workers, merges, ROWS_PER_WAIT) / 1000,
    }


def _diagonal(column: str, rows: Rows) -> list[Curve]:
    ends = [min(rows.values(column)), max(rows.values(column))]
    return [Curve("as predicted", ends, ends, "dashed")]


def _foreseen(column: str) -> Within:
    ratio = cell(column) / cell(f"{column}_predicted")
    return Within(1 - _WITHIN, 1 + _WITHIN, ratio, each=_SETTING, form="{:.2f}×")


CALIBRATED_QUEUES = Exhibit(
    "calibration",
    "What calibrated queues predict, and what Spark then takes",
    Drawing(*(
        Chart("predicted seconds", "measured seconds", [
            Lines(f"{column}_predicted", column, by="scheme", only=list(_SCHEMES), style="points"),
            partial(_diagonal, column),
        ], title=title)
        for column, title in (("busy", "busiest worker"), ("seconds", "whole micro-batch"))
    )),
    (
        Claim("exact", "Placing rows changes no result (our own).", "every job",
              Exact("settings")),
        Claim("busiest-worker",
              "Queues foresee how long the busiest worker works, whatever the scheme (our own).",
              f"within {_WITHIN:.0%}", _foreseen("busy")),
        Claim("whole-batch",
              "Queues foresee how long a micro-batch takes from its start to its merged result "
              "(our own).",
              f"within {_WITHIN:.0%}", _foreseen("seconds"),
              Reason("Starting a job takes as long as the work of a small one. How long depends on "
                     "what else the machine does; figures of the papers are those of the workers.",
                     kind=OURS, shown_by="unskew reproduce own/calibration")),
    ),
    [
        On(Measurement(
            SPARK, Grid({"setting": _settings, "scheme": list(_SCHEMES)}, without=["settings"]),
            _run,
            {
                "smoke": {
                    "rows": 4_000, "settings": [[4, 1.0, 1.0], [10, 1.0, 1.6], [16, 2.0, 0.5]],
                },
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
            "synthetic: Zipf with 1,000 keys; the queues know keys (by their hashes), scheme and "
            "work, and of Spark what the calibration measured with other jobs: no skew, one worker "
            "or all, no work",
            {"smoke": 30, "paper": 4800},
            calibrated=True,
        ))
    ],
)  # fmt: skip
