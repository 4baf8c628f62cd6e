"""Figure 8: sources that each see an uneven part of the stream."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.base import Grouping, LearnedGrouping
from unskew.groupings.key import KeyGrouping
from unskew.groupings.registry import make_grouping
from unskew.hashing import Ids
from unskew.simulator.observer import Observer
from unskew_papers import datasets
from unskew_papers.claim import Claim, Verdict
from unskew_papers.figure import Figure, Panel, lines
from unskew_papers.partial_key.shared import BALANCED, FRACTION, ORDER_OF_MAGNITUDE
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import SIMULATION, Experiment, Parameters, Unit

_BATCH = 1 << 16
_LEARN = 10
"""One row in so many, from the start, is learned from and measured for no scheme."""


def _units(parameters: Parameters) -> Sequence[Unit]:
    return [
        {
            "data": name,
            "sources": sources,
            "workers": parameters["workers"],
            "rows": parameters["rows"],
            "keys": parameters["keys"],
        }
        for name in datasets.names_for("LJ")
        for sources in parameters["sources"]
    ]


def _edges(unit: Unit, seed: int) -> tuple[Ids, Ids]:
    """Return the key of every row and the key by which sources are fed, as both ends of edges."""
    name, rows = unit["data"], unit["rows"]
    if name.endswith("~"):
        ends = [datasets.load(name, rows, unit["keys"], seed + end) for end in (0, 1)]
        keys, origins = (next(end.batches(rows)).keys for end in ends)
        return keys, origins
    keys, fed_by = datasets.read_keys(name)
    return keys[:rows], (keys if fed_by is None else fed_by)[:rows]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    keys, origins = _edges(unit, seed)
    sources = unit["sources"]
    owners = {
        "uniform": np.arange(keys.size) % sources,
        "skewed": KeyGrouping(sources, seed=seed).route_many(origins),
    }
    rows = []
    for workers in unit["workers"]:
        for scheme in ("partial-key", "wrap"):
            for split, sent_by in owners.items():
                grouping = make_grouping(scheme, workers, seed=seed)
                rows.append(
                    {
                        "data": unit["data"],
                        "sources": sources,
                        "workers": workers,
                        "scheme": "PKG" if scheme == "partial-key" else scheme,
                        "split": split,
                        "largest_source": float(np.bincount(sent_by).max() / keys.size),
                        "fraction": _fraction(grouping, keys, sent_by, sources),
                    }
                )
    return rows


def _fraction(grouping: Grouping, keys: Ids, sent_by: NDArray[np.integer], n_sources: int) -> float:
    """Route every row by the source that has it, and return the average imbalance."""
    learned = keys.size // _LEARN
    if isinstance(grouping, LearnedGrouping):
        grouping.learn(keys[:learned]).build()
    sources, observer = grouping.for_sources(n_sources), Observer(grouping.workers)
    for start in range(learned, keys.size, _BATCH):
        batch, owners = keys[start : start + _BATCH], sent_by[start : start + _BATCH]
        workers = np.empty(batch.size, np.int32)
        for number, source in enumerate(sources):
            own = np.flatnonzero(owners == number)
            workers[own] = source.route_many(batch[own])
        observer.observe(batch, workers)
    return observer.average_imbalance_fraction


def _figure(rows: Rows) -> Figure:
    panels = []
    for data in rows.distinct("data"):
        for scheme in rows.distinct("scheme"):
            here = rows.where(data=data, scheme=scheme)
            curves = lines(
                [
                    (
                        f"{split} S={sources}",
                        here.curve("workers", "fraction", split=split, sources=sources),
                    )
                    for split in ("uniform", "skewed")
                    for sources in rows.distinct("sources")
                ]
            )
            title = f"{data}, {scheme}"
            panels.append(Panel("workers W", FRACTION, curves, title=title, log_y=True))
    return Figure(panels, columns=2)


def _does_no_harm(rows: Rows) -> Verdict:
    ratios = [
        row["fraction"]
        / rows.value(
            "fraction",
            **{name: row[name] for name in ("data", "sources", "workers", "scheme")},
            split="uniform",
        )
        for row in rows.where(scheme="PKG", split="skewed")
    ]
    return Verdict(
        max(ratios) < ORDER_OF_MAGNITUDE,
        f"{np.exp(np.mean(np.log(ratios))):.1f} times on average, {max(ratios):.1f} at most",
    )


def _stays_low(rows: Rows) -> Verdict:
    worst = max(rows.where(scheme="PKG"), key=lambda row: row["fraction"])
    setting = f"W = {worst['workers']}, S = {worst['sources']}, {worst['split']}"
    return Verdict(worst["fraction"] < BALANCED, f"{worst['fraction']:.1e} at most ({setting})")


FIGURE_8 = Experiment(
    id="partial-key/fig8",
    title="Skewed against uniform splitting of the input over the sources",
    runs_on=SIMULATION,
    data=datasets.describe("LJ") + "; sources are fed by the other end of an edge, drawn apart, "
    "or by the product bought",
    sizes={
        "smoke": {
            "rows": 200_000,
            "keys": 100_000,
            "sources": [5, 10, 15, 20],
            "workers": [5, 10, 50, 100],
        },
        "paper": {
            "rows": 69_000_000,
            "keys": 4_900_000,
            "sources": [5, 10, 15, 20],
            "workers": [5, 10, 50, 100],
        },
    },
    seconds={"smoke": 6, "paper": 260},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim(
            "does-no-harm",
            "Skew at the sources gives an imbalance similar to that of uniform splitting.",
            "similar curves",
            _does_no_harm,
        ),
        Claim(
            "stays-low",
            "Imbalance grows slightly with sources and workers and stays very low.",
            "very low absolute values",
            _stays_low,
        ),
    ),
)
