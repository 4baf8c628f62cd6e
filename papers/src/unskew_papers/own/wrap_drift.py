"""Whether wrap stays even on streams that change, the time it takes to learn included."""

from collections.abc import Sequence

from unskew.groupings.registry import make_grouping
from unskew.simulator.loads import count_rows, simulate
from unskew.streams.base import Stream
from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Figure, Panel, lines
from unskew_papers.own.limits import Asked, settings, verdict
from unskew_papers.own.workloads import (
    DRIFTING,
    KEYS,
    PHASES,
    SOURCES,
    recorded,
    stream_of,
    unseen,
)
from unskew_papers.rows import Row, Rows

_WRAP, _PARTIAL_KEY, _POPULARITY = "wrap", "partial-key", "popularity"
_OTHERS = (_PARTIAL_KEY, _POPULARITY, "w-choices")
_EPOCHS = (5_000, 1_000, 200)
"""Rows after which wrap plans anew, as far as a stream then has no more plans than were asked."""
_HALF = 0.5
_UNEVEN = 1e-3
"""Average imbalance from which on partial-key is out of balance, as in its paper's figures."""


def _units(parameters: Parameters) -> Sequence[Unit]:
    wanted = parameters["recorded"]
    real = [name for name in recorded() if wanted is None or name in wanted]
    return [
        {
            "stream": stream,
            "workers": workers,
            "rows": parameters["rows"],
            "plans": parameters["plans"],
        }
        for stream in (*parameters["streams"], *real)
        for workers in parameters["workers"]
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["stream"], unit["rows"], unseen(seed))
    rows = count_rows(stream)
    epochs = [each for each in _EPOCHS if rows // each <= unit["plans"]]
    runs = [(_WRAP, epoch) for epoch in epochs] + [(name, None) for name in _OTHERS]
    return [_measured(unit, stream, scheme, epoch, unseen(seed)) for scheme, epoch in runs]


def _measured(unit: Unit, stream: Stream, scheme: str, epoch: int | None, seed: int) -> Row:
    """Measure every row, those before the first plan among them."""
    grouping = make_grouping(scheme, unit["workers"], seed=seed)
    result = simulate(grouping, stream, sources=SOURCES, learn=0, epoch=epoch)
    return {
        "stream": unit["stream"],
        "workers": unit["workers"],
        "rows": result.rows,
        "scheme": scheme,
        "epoch": epoch,
        "fraction": result.average_imbalance_fraction,
        "replication": result.replication,
    }


def _figure(rows: Rows) -> Figure:
    panels = []
    for stream in rows.distinct("stream"):
        here = rows.where(stream=stream)
        curves = [(name, here.curve("workers", "fraction", scheme=name)) for name in _OTHERS]
        curves += [
            (
                f"{_WRAP}, a plan every {epoch:,} rows",
                here.curve("workers", "fraction", scheme=_WRAP, epoch=epoch),
            )
            for epoch in here.distinct("epoch", scheme=_WRAP)
        ]
        title = f"{stream}, {here[0]['rows']:,} rows"
        panels.append(
            Panel("workers W", "average imbalance", lines(curves), title=title, log_y=True)
        )
    return Figure(panels, columns=4)


def _at_most_half(rows: Rows, uneven_from: float) -> Verdict:
    """Compare wrap, planning as often as was measured, with the better of the two others."""
    asked = []
    for where, here in settings(rows):
        found = {name: here.value("fraction", scheme=name) for name in _OTHERS}
        if found[_PARTIAL_KEY] >= uneven_from:
            shortest = min(here.distinct("epoch", scheme=_WRAP))
            own = here.value("fraction", scheme=_WRAP, epoch=shortest)
            better = min(found[_PARTIAL_KEY], found[_POPULARITY])
            asked.append(Asked(where, own / better, _HALF))
    return verdict(asked, " times the better")


def _everywhere(rows: Rows) -> Verdict:
    return _at_most_half(rows, 0.0)


def _where_uneven(rows: Rows) -> Verdict:
    return _at_most_half(rows, _UNEVEN)


WRAP_DRIFT = Experiment(
    id="own/wrap-drift",
    title="Average imbalance of wrap on streams that change, learning included",
    runs_on=SIMULATION,
    data=f"synthetic: drift-z, Zipf with {KEYS:,} keys whose hot ones are replaced {PHASES - 1} "
    "times; countries-half-80, of which one country has 80 % from the middle on; real streams of "
    "packages (words of speeches, supermarket purchases and flights, in time order); "
    f"{SOURCES} sources; nothing is left out of the measure",
    sizes={
        "smoke": {
            "rows": 100_000,
            "plans": 100,
            "streams": ["drift-1.2", "countries-half-80"],
            "recorded": ["stores"],
            "workers": [5, 50],
        },
        "paper": {
            "rows": 10_000_000,
            "plans": 2_100,
            "streams": DRIFTING,
            "recorded": None,
            "workers": [5, 10, 50, 100],
        },
    },
    seconds={"smoke": 9, "paper": 1400},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim(
            "half",
            "The average imbalance, learning included, is at most half of partial-key's and of "
            "popularity's, on every stream and W (our own).",
            "at most 0.5 times the better of the two",
            _everywhere,
            "Few workers or little skew: partial-key is within some rows of perfect there, and "
            "whoever has to learn first cannot be at half of that. Households and stores: a "
            "purchase is many rows of one of them, so that the last rows say little of the next.",
        ),
        Claim(
            "half-where-uneven",
            f"The same where partial-key's is above {_UNEVEN:g} of the load (our own, a weaker "
            "one).",
            "at most 0.5 times the better of the two",
            _where_uneven,
        ),
    ),
)
