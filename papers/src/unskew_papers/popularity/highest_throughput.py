"""Figure 33: the highest throughput of two applications by number of workers."""

from collections.abc import Sequence

from unskew_papers.claims import Claim
from unskew_papers.experiment import CALIBRATED, Experiment, Parameters, Unit
from unskew_papers.figures import Figure
from unskew_papers.popularity.applications import COMPARED, DATA, stream_of
from unskew_papers.popularity.parallelism import by_workers, faster_than, throughput_rows
from unskew_papers.rows import Row, Rows


def _parallel_units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "keys", "calibration")}
    return [
        {"application": name, "real": False, "workers": workers, **shared}
        for name in ("VWAP", "hashtags")
        for workers in parameters["workers"]
    ]


def _parallel_run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    found = throughput_rows(stream, unit, COMPARED, seed)
    return [{"application": unit["application"], **row} for row in found]


def parallel_figure(rows: Rows) -> Figure:
    """Draw a panel an application."""
    return Figure([by_workers(rows, application=name) for name in rows.distinct("application")])


def published_gains(workers: int) -> tuple[Claim, ...]:
    """Return what the paper says of its 128 workers, as claims of so many."""
    return tuple(
        Claim(
            f"{name.lower()}-than-{other.lower()}",
            f"{name}: with 128 workers PStream's throughput is higher than {other}'s.",
            f"+{by:.0%}",
            faster_than(other, by, application=name, workers=workers),
        )
        for name, other, by in (
            ("VWAP", "PKG", 0.35), ("hashtags", "PKG", 0.33),
            ("VWAP", "DKG", 0.40), ("hashtags", "DKG", 0.49),
        )
    )  # fmt: skip


FIGURE_33 = Experiment(
    id="popularity/fig33",
    title="Highest throughput by number of workers (simulated workers and merges)",
    runs_on=CALIBRATED,
    data=DATA,
    sizes={
        "smoke": {"rows": 360_000, "keys": 100_000, "workers": [32, 128]},
        "paper": {
            "rows": 10_000_000,
            "keys": 10_000_000,
            "workers": [16, 32, 48, 64, 80, 96, 112, 128],
        },
    },
    seconds={"smoke": 4, "paper": 125},
    units=_parallel_units,
    run=_parallel_run,
    figure=parallel_figure,
    claims=published_gains(128),
)
