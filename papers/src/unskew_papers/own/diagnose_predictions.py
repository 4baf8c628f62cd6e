"""Whether what diagnose predicts of every grouping is what the simulator then measures."""

from collections.abc import Sequence
from functools import partial

from unskew.advisor.predict import FLOOR_PERCENT, all_schemes, predict
from unskew.advisor.profiling import profile_stream
from unskew.simulator.loads import count_rows, simulate
from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel
from unskew_papers.own.limits import Asked, settings, verdict
from unskew_papers.own.workloads import KEYS, SOURCES, recorded, stream_of, unseen
from unskew_papers.rows import Row, Rows

_ALL, _FIFTH = "all rows", "a fifth of the rows"
_NEAR = 0.1
_STEADY = ("zipf-0.5", "zipf-1.0", "zipf-1.4", "zipf-2.0", "LN2")


def _units(parameters: Parameters) -> Sequence[Unit]:
    real = recorded() if parameters["recorded"] else []
    return [
        {"stream": stream, "workers": workers, "rows": parameters["rows"]}
        for stream in (*parameters["streams"], *real)
        for workers in parameters["workers"]
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    seed, workers = unseen(seed), unit["workers"]
    stream = stream_of(unit["stream"], unit["rows"], seed)
    schemes = all_schemes(workers, costs=False, seed=seed)
    found = {name: simulate(scheme, stream, sources=SOURCES) for name, scheme in schemes.items()}
    profiles = {
        _ALL: profile_stream(stream),
        _FIFTH: profile_stream(stream, sample=count_rows(stream) // 5),
    }
    return [
        {
            "stream": unit["stream"],
            "workers": workers,
            "looked_at": looked_at,
            "scheme": each.grouping,
            "predicted_imbalance": each.imbalance_percent,
            "imbalance": found[each.grouping].imbalance_percent,
            "predicted_replication": each.replication,
            "replication": found[each.grouping].replication,
        }
        for looked_at, profile in profiles.items()
        for each in predict(profile, workers, sources=SOURCES, seed=seed)
    ]


def _figure(rows: Rows) -> Figure:
    panels = []
    for looked_at in rows.distinct("looked_at"):
        curves = []
        for stream in rows.distinct("stream"):
            here = [
                row
                for row in rows.where(looked_at=looked_at, stream=stream)
                if row["imbalance"] >= FLOOR_PERCENT
            ]
            measured = [row["imbalance"] for row in here]
            predicted = [row["predicted_imbalance"] for row in here]
            curves.append(Curve(stream, measured, predicted, "points"))
        panels.append(Panel("λ in %", "predicted", curves, title=looked_at, log_x=True, log_y=True))
    return Figure(panels)


def _time(row: Row, prefix: str = "") -> float:
    """Return the time of the job over that of one whose workers are even."""
    return 1 + float(row[f"{prefix}imbalance"]) / 100


def _error_of_time(row: Row) -> float:
    return abs(_time(row, "predicted_") / _time(row) - 1)


def _error_of(what: str, row: Row) -> float:
    return float(abs(row[f"predicted_{what}"] / row[what] - 1))


def _within(rows: Rows, looked_at: str, what: str) -> Verdict:
    """Hold the relative error of every scheme in every setting against the limit."""
    asked = []
    for where, here in settings(rows.where(looked_at=looked_at)):
        for row in here:
            if what == "time":
                error = _error_of_time(row)
            elif what == "imbalance" and row["imbalance"] < FLOOR_PERCENT:
                continue
            else:
                error = _error_of(what, row)
            asked.append(Asked(f"{row['scheme']} ({where})", 100 * error, 100 * _NEAR))
    return verdict(asked, " %")


def _claim(name: str, looked_at: str, what: str, says: str, explanation: str = "") -> Claim:
    return Claim(
        name,
        f"From {looked_at} {says} of every grouping is predicted within 10 % of what is then "
        "measured (our own).",
        "within 10 %",
        partial(_within, looked_at=looked_at, what=what),
        explanation,
    )


_REPLICATION, _TIME = "replication", "the time of a job, 1 + λ,"
_IMBALANCE = f"λ, where it is at least {FLOOR_PERCENT:g} %,"
_COINS = "Popularity's coin flips decide how even it is."
_CHANCE = (
    "A sample of n rows knows the share of a worker to about √(W / n), and λ is the largest of W "
    "such errors beside what it is to tell. A plan that was learned before a stream turned is as "
    "uneven as its luck: on which worker the next hot keys meet."
)
_MISSED = (
    "Of what a sample has not seen only means are known: rare keys (Zipf 2.0), bursts (households) "
    "and when hot keys change."
)

DIAGNOSE = Experiment(
    id="own/diagnose",
    title="What diagnose predicts of every grouping, and what the simulator then measures",
    runs_on=SIMULATION,
    data=f"synthetic: Zipf with {KEYS:,} keys, LN2, drifting Zipf, countries-half-80; real streams "
    f"of packages; {SOURCES} sources; seeds and streams that the predictions were not developed "
    "on (these were Zipf 0.8 and 1.2 and LN1); of all rows the first million is replayed as it "
    "came, the others are drawn by their counts",
    sizes={
        "smoke": {
            "rows": 200_000,
            "streams": ["zipf-1.4", "LN2"],
            "recorded": False,
            "workers": [10],
        },
        "paper": {
            "rows": 4_000_000,
            "streams": [*_STEADY, "drift-1.4", "countries-half-80"],
            "recorded": True,
            "workers": [10, 100],
        },
    },
    seconds={"smoke": 5, "paper": 90},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        _claim("replication", _ALL, "replication", _REPLICATION),
        _claim("time", _ALL, "time", _TIME),
        _claim("imbalance", _ALL, "imbalance", _IMBALANCE, _COINS),
        _claim("replication-sampled", _FIFTH, "replication", _REPLICATION, _MISSED),
        _claim("time-sampled", _FIFTH, "time", _TIME, _CHANCE),
        _claim("imbalance-sampled", _FIFTH, "imbalance", _IMBALANCE, f"{_COINS} {_CHANCE}"),
    ),
)
