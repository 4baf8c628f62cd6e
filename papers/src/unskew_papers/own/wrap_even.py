"""Whether wrap is as even as it promises on streams that stay as they are, and at what memory."""

from collections.abc import Sequence
from itertools import product

from unskew.errors import InvalidParameterError
from unskew.groupings.registry import GROUPINGS, make_grouping
from unskew.simulator.loads import simulate
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel, lines
from unskew_papers.own.workloads import KEYS, SOURCES, STEADY, stream_of, unseen
from unskew_papers.own.wrap_promises import (
    CLAIMS,
    LEARNED,
    LEARNED_AS_MANY,
    PLANS,
    WRAP,
    worst_and_mean,
)
from unskew_papers.rows import Row, Rows

_DRAWS = 3
"""Streams on which wrap is measured in each setting; the others are on the first of them."""
_SHOWN = (
    "key",
    "shuffle",
    "partial-key",
    "distribution-aware",
    "popularity",
    "dynamic-key",
    "d-choices",
    "w-choices",
)
_PANELS = ("zipf-0.3", "zipf-0.8", "zipf-1.2", "zipf-2.0", "LN1", "LN2")


def _units(parameters: Parameters) -> Sequence[Unit]:
    return [
        {
            "stream": stream,
            "workers": workers,
            "rows": reading["rows"],
            "learn": reading["learn"],
            "plans": reading["plans"],
        }
        for reading in parameters["readings"]
        for stream, workers in product(reading["streams"], reading["workers"])
    ]


def others_for(workers: int) -> list[str]:
    """Return every scheme that is not ours and needs no costs, as far as it takes so many workers.

    >>> {"shuffle", "partial-key"} <= set(others_for(5)), {"wrap", "auto"} & set(others_for(5))
    (True, set())
    """
    found = []
    for name, scheme in GROUPINGS.items():
        if scheme.needs_costs or scheme.paper == GROUPINGS[WRAP].paper:
            continue
        try:
            make_grouping(name, workers)
        except InvalidParameterError:
            continue
        found.append(name)
    return found


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    runs = [(WRAP, draw) for draw in range(_DRAWS)]
    if unit["learn"] == LEARNED and not unit["plans"]:
        runs += [(name, 0) for name in others_for(unit["workers"])]
    return [_measured(unit, scheme, draw, unseen(seed) + draw) for scheme, draw in runs]


def _measured(unit: Unit, scheme: str, draw: int, seed: int) -> Row:
    stream = stream_of(unit["stream"], unit["rows"], seed)
    grouping = make_grouping(scheme, unit["workers"], seed=seed)
    measured = unit["rows"] * (1 - unit["learn"])
    epoch = int(measured / unit["plans"]) if unit["plans"] else None
    result = simulate(grouping, stream, sources=SOURCES, learn=unit["learn"], epoch=epoch)
    return {
        "stream": unit["stream"],
        "workers": unit["workers"],
        "learn": unit["learn"],
        "plans": unit["plans"],
        "learned": result.learned_rows,
        "rows": result.rows,
        "scheme": scheme,
        "draw": draw,
        "imbalance": result.imbalance_percent,
        "replication": result.replication,
        "memory": result.memory,
        "keys": result.keys,
    }


def _figure(rows: Rows) -> Figure:
    panels = []
    here = rows.where(learn=LEARNED, plans=0)
    for stream in (name for name in _PANELS if name in here.distinct("stream")):
        curves = lines(
            [
                (name, here.curve("workers", "imbalance", stream=stream, scheme=name))
                for name in _SHOWN
            ]
        )
        curves += _own_curves(here.where(stream=stream))
        panels.append(Panel("workers W", "λ in %", curves, title=stream, log_x=True, log_y=True))
    return Figure(panels)


def _own_curves(rows: Rows) -> list[Curve]:
    workers = rows.distinct("workers", scheme=WRAP)
    worst, mean = zip(*(worst_and_mean(rows.where(workers=w)) for w in workers), strict=True)
    return [
        Curve(f"{WRAP}, mean of {_DRAWS} streams", workers, mean),
        Curve(f"{WRAP}, worst of them", workers, worst, "dashed"),
    ]


WRAP_EVEN = Experiment(
    id="own/wrap-even",
    title="How even wrap is after it has learned, and how many keys workers hold",
    runs_on=SIMULATION,
    data=f"synthetic: Zipf with {KEYS:,} keys, LN1, LN2; {SOURCES} sources; seeds that wrap was "
    "not developed on; a fifth of the rows is learned from and not measured, in a second reading "
    f"as many rows as are then measured; in a third, {PLANS} plans follow the first one",
    sizes={
        "smoke": {
            "readings": [
                {
                    "rows": 800_000,
                    "learn": LEARNED,
                    "plans": 0,
                    "streams": ["zipf-0.3", "LN2"],
                    "workers": [10, 50],
                },
                {
                    "rows": 2_020_000,
                    "learn": LEARNED_AS_MANY,
                    "plans": 0,
                    "streams": ["zipf-0.1"],
                    "workers": [10, 101],
                },
                {
                    "rows": 800_000,
                    "learn": LEARNED,
                    "plans": PLANS,
                    "streams": ["zipf-0.3"],
                    "workers": [10, 50],
                },
            ]
        },
        "paper": {
            "readings": [
                {
                    "rows": 10_000_000,
                    "learn": LEARNED,
                    "plans": 0,
                    "streams": STEADY,
                    "workers": [5, 10, 50, 100, 500, 1000],
                },
                {
                    "rows": 20_000_000,
                    "learn": LEARNED_AS_MANY,
                    "plans": 0,
                    "streams": ["zipf-0.1", "zipf-0.3", "zipf-0.5"],
                    "workers": [100, 500, 1000],
                },
                {
                    "rows": 10_000_000,
                    "learn": LEARNED,
                    "plans": PLANS,
                    "streams": ["zipf-0.1", "zipf-0.3", "zipf-0.5", "zipf-0.8", "zipf-1.0"],
                    "workers": [50, 100, 500, 1000],
                },
            ]
        },
    },
    seconds={"smoke": 8, "paper": 600},
    units=_units,
    run=_run,
    figure=_figure,
    claims=CLAIMS,
)
