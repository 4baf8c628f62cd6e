"""Whether auto, which chooses by itself, loses time to the best of what could be chosen."""

from collections.abc import Sequence

from unskew_papers.claims import Claim, Verdict
from unskew_papers.engines.simulation import loads_of
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel, lines
from unskew_papers.own.limits import Asked, settings, verdict
from unskew_papers.own.workloads import (
    DRIFTING,
    KEYS,
    SOURCES,
    STEADY,
    recorded,
    stream_of,
    unseen,
)
from unskew_papers.rows import Row, Rows

_AUTO, _KEY = "auto", "key"
_CHOICES = (_KEY, "shuffle", "partial-key", "w-choices", "wrap")
_LEARNED = 0.2
_NEAR_THE_BEST, _NEAR_KEY = 1.05, 1.02


def _units(parameters: Parameters) -> Sequence[Unit]:
    real = [("recorded", name) for name in recorded()] if parameters["recorded"] else []
    drawn = [(kind, name) for kind in ("steady", "drifting") for name in parameters[kind]]
    return [
        {"kind": kind, "stream": name, "workers": workers, "rows": parameters["rows"]}
        for kind, name in (*drawn, *real)
        for workers in parameters["workers"]
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["stream"], unit["rows"], unseen(seed))
    rows = []
    for scheme in (_AUTO, *_CHOICES):
        result = loads_of(
            scheme, unit["workers"], stream, seed=unseen(seed), sources=SOURCES, learn=_LEARNED
        )
        rows.append(
            {
                "kind": unit["kind"],
                "stream": unit["stream"],
                "workers": unit["workers"],
                "rows": result.rows,
                "scheme": scheme,
                "time": 1 + result.imbalance_percent / 100,
                "replication": result.replication,
                "why": result.why,
            }
        )
    return rows


def _ratio(here: Rows, others: Sequence[str]) -> float:
    """Return auto's time in a setting, divided by the shortest of the others'."""
    best = min(here.value("time", scheme=name) for name in others)
    return float(here.value("time", scheme=_AUTO) / best)


def _figure(rows: Rows) -> Figure:
    panels = []
    for kind in rows.distinct("kind"):
        curves: list[Curve] = lines(
            [
                (stream, _ratios(rows.where(stream=stream)))
                for stream in rows.distinct("stream", kind=kind)
            ]
        )
        panels.append(
            Panel("workers W", "time of auto / best", curves, title=f"{kind} streams", log_x=True)
        )
    return Figure(panels)


def _ratios(rows: Rows) -> tuple[list[int], list[float]]:
    workers = rows.distinct("workers")
    return workers, [_ratio(rows.where(workers=each), _CHOICES) for each in workers]


def _at_most(rows: Rows, others: Sequence[str], limit: float) -> Verdict:
    asked = [Asked(where, _ratio(here, others), limit) for where, here in settings(rows)]
    return verdict(asked, " times")


def _near_the_best(rows: Rows) -> Verdict:
    return _at_most(rows, _CHOICES, _NEAR_THE_BEST)


def _never_above_key(rows: Rows) -> Verdict:
    return _at_most(rows, [_KEY], _NEAR_KEY)


AUTO = Experiment(
    id="own/auto",
    title="Job time of auto, which chooses by itself, against the best single scheme",
    runs_on=SIMULATION,
    data=f"synthetic: Zipf with {KEYS:,} keys, LN1, LN2, drifting Zipf, countries-half-80; real "
    "streams of packages (words of speeches, supermarket purchases, flights); the time of a job is "
    f"that of its fullest worker, 1 + λ; {SOURCES} sources; a fifth is learned from and not "
    "measured",
    sizes={
        "smoke": {
            "rows": 200_000,
            "steady": ["zipf-0.5", "zipf-1.2"],
            "drifting": ["drift-1.2", "countries-half-80"],
            "recorded": False,
            "workers": [10, 50],
        },
        "paper": {
            "rows": 2_000_000,
            "steady": STEADY,
            "drifting": DRIFTING,
            "recorded": True,
            "workers": [5, 10, 50, 100, 500, 1000],
        },
    },
    seconds={"smoke": 4, "paper": 120},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim(
            "near-the-best",
            f"auto is within 5 % of the best of {', '.join(_CHOICES[:-1])} and {_CHOICES[-1]}, on "
            "every stream (our own).",
            f"at most {_NEAR_THE_BEST:g} times",
            _near_the_best,
        ),
        Claim(
            "never-above-key",
            "auto is never worse than plain hashing by more than 2 % (our own).",
            f"at most {_NEAR_KEY:g} times",
            _never_above_key,
        ),
    ),
)
