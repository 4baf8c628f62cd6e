"""Figures 7, 8 and 9: how much skew partial key grouping can take, and what more choices do."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.base import Grouping, LearnedGrouping
from unskew.groupings.key import KeyGrouping
from unskew.groupings.registry import make_grouping
from unskew.hashing import Ids
from unskew.simulator.observer import Observer
from unskew.streams import zipf
from unskew_papers import datasets
from unskew_papers.checks import Above, All, AtLeast, Below, Within
from unskew_papers.claims import Claim
from unskew_papers.engines.simulation import balance, loads_of
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Level, Lines
from unskew_papers.partial_key.local_loads import BALANCED, FRACTION, ORDER_OF_MAGNITUDE, ZIPF_DATA
from unskew_papers.quantities import cell, largest, smallest
from unskew_papers.rows import LARGEST, SMALLEST, Row, Rows, below, one_of

_THRESHOLD = 1.2
_LEVEL = 10.0
"""Curves for different numbers of keys are called one trend if they stay this factor together."""


def _run_skews(unit: Unit, seed: int) -> Sequence[Row]:
    stream = zipf(unit["keys"], unit["z"], unit["rows"], seed=seed)
    rows = []
    for workers in unit["workers"]:
        for scheme in ("partial-key", "wrap"):
            found = loads_of(scheme, workers, stream, seed=seed, sources=5)
            place = {"keys": unit["keys"], "z": unit["z"], "workers": workers, "scheme": scheme}
            at_the_end = found.series[-1][1] / found.rows
            rows.append({**place, **balance(found), "at_the_end": at_the_end})
    return rows


FIGURE_7 = Exhibit(
    "fig7",
    "Average imbalance of PKG as skew, keys and workers grow",
    Drawing(Chart("skew z", FRACTION,
                  [Lines("z", "fraction", by=["scheme", "keys"], label="{scheme} K={keys:,}",
                         names={"partial-key": "PKG"})],
                  each=["workers"], title="W = {workers}", log_y=True)),
    (
        Claim("withstands-skew",
              "PKG takes large skew, up to a threshold of z about 1.2, while the workers are not "
              "too many for the hottest key (W up to 1/p1).",
              "negligible imbalance below z ≈ 1.2",
              Below(BALANCED, cell("fraction"), each=["keys", "z", "workers"],
                    where={"scheme": "partial-key", "z": below(_THRESHOLD)},
                    among=lambda row: row["p1"] < 1 / row["workers"], form="{:.1e}")),
        Claim("fails-beyond",
              "Beyond, where p1 exceeds 2/W, two workers cannot take the hottest key: after m rows "
              "imbalance is at least (p1/2 − 1/W)·m.",
              "no less",
              AtLeast(1, cell("at_the_end") / (0.5 * cell("p1") - 1 / cell("workers")),
                      each=["keys", "z", "workers"], where={"scheme": "partial-key"},
                      among=lambda row: row["p1"] > 2 / row["workers"], form="{:.2f}×")),
        Claim("whatever-keys", "The trend is the same whatever the number of keys.",
              "same trend for K = 1k … 1M",
              Below(_LEVEL, largest("fraction") / smallest("fraction"), each=["workers", "z"],
                    where={"scheme": "partial-key"}, given=Above(BALANCED, smallest("fraction")),
                    form="{:.1f}×")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"keys": "keys", "z": "exponents"}), _run_skews,
            {
                "smoke": {
                    "rows": 200_000, "keys": [1_000, 100_000], "workers": [5, 10, 50, 100],
                    "exponents": [0.4, 0.8, 1.2, 1.6, 2.0],
                },
                "paper": {
                    "rows": 10_000_000, "keys": [1_000, 10_000, 100_000, 1_000_000],
                    "workers": [5, 10, 50, 100],
                    "exponents": [round(0.1 * step, 1) for step in range(1, 21)],
                },
            },
            ZIPF_DATA, {"smoke": 5, "paper": 430},
        ))
    ],
)  # fmt: skip


_BATCH = 1 << 16
_LEARN = 10
"""One row in so many, from the start, is learned from and measured for no scheme."""


def _edges(unit: Unit, seed: int) -> tuple[Ids, Ids]:
    """Return the key of every row and the key by which sources are fed, as both ends of edges."""
    name, rows = unit["data"], unit["rows"]
    if name.endswith("~"):
        ends = [datasets.load(name, rows, unit["keys"], seed + end) for end in (0, 1)]
        keys, origins = (next(end.batches(rows)).keys for end in ends)
        return keys, origins
    keys, fed_by = datasets.read_keys(name)
    return keys[:rows], (keys if fed_by is None else fed_by)[:rows]


def _run_sources(unit: Unit, seed: int) -> Sequence[Row]:
    keys, origins = _edges(unit, seed)
    sources = unit["sources"]
    owners = {
        "uniform": np.arange(keys.size) % sources,
        "skewed": KeyGrouping(sources, seed=seed).route_many(origins),
    }
    return [
        {
            "data": unit["data"],
            "sources": sources,
            "workers": workers,
            "scheme": "PKG" if scheme == "partial-key" else scheme,
            "split": split,
            "largest_source": float(np.bincount(sent_by).max() / keys.size),
            "fraction": _fraction(
                make_grouping(scheme, workers, seed=seed), keys, sent_by, sources
            ),
        }
        for workers in unit["workers"]
        for scheme in ("partial-key", "wrap")
        for split, sent_by in owners.items()
    ]


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


FIGURE_8 = Exhibit(
    "fig8",
    "Skewed against uniform splitting of the input over the sources",
    Drawing(Chart("workers W", FRACTION,
                  [Lines("workers", "fraction", by=["split", "sources"],
                         label="{split} S={sources}", only=["uniform", "skewed"])],
                  each=["data", "scheme"], title="{data}, {scheme}", log_y=True), columns=2),
    (
        Claim("does-no-harm",
              "Skew at the sources gives an imbalance similar to that of uniform splitting.",
              "similar curves",
              Below(ORDER_OF_MAGNITUDE,
                    cell("fraction", split="skewed") / cell("fraction", split="uniform"),
                    each=["data", "sources", "workers"], where={"scheme": "PKG"}, form="{:.1f}×")),
        Claim("stays-low", "Imbalance grows slightly with sources and workers and stays very low.",
              "very low absolute values",
              Below(BALANCED, cell("fraction"), each=["data", "sources", "workers", "split"],
                    where={"scheme": "PKG"}, form="{:.1e}")),
    ),
    [
        On(Measurement(
            SIMULATION,
            Grid({"data": lambda _: datasets.names_for("LJ"), "sources": "sources"}), _run_sources,
            {
                "smoke": {
                    "rows": 200_000, "keys": 100_000, "sources": [5, 10, 15, 20],
                    "workers": [5, 10, 50, 100],
                },
                "paper": {
                    "rows": 69_000_000, "keys": 4_900_000, "sources": [5, 10, 15, 20],
                    "workers": [5, 10, 50, 100],
                },
            },
            datasets.describe("LJ") + "; sources are fed by the other end of an edge, drawn apart, "
            "or by the product bought",
            {"smoke": 6, "paper": 260},
        ))
    ],
)  # fmt: skip


_DISTINCT = "PKG, distinct"


def _run_choices(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure d independent hash functions, as § 5 has them; those of a key may coincide."""
    seed += unit["draw"]
    stream = zipf(unit["keys"], 1.2, unit["rows"], seed=seed)
    schemes = [
        ("PKG", f"partial-key:choices={choices},distinct=false", choices)
        for choices in unit["choices"]
        if choices <= unit["workers"]
    ]
    schemes += [(_DISTINCT, "partial-key", 2), ("wrap", "wrap", None)]
    return [
        {
            "workers": unit["workers"],
            "scheme": label,
            "d": choices,
            **balance(loads_of(scheme, unit["workers"], stream, seed=seed, sources=5)),
        }
        for label, scheme, choices in schemes
    ]


def _medians(rows: Rows) -> Rows:
    """Return the median over all draws of each number of workers and choices."""
    return Rows(
        {
            **setting,
            **{name: float(np.median(here.values(name))) for name in ("fraction", "replication")},
        }
        for setting, here in rows.each("workers", "scheme", "d")
    )


def _suffices(workers: int, choices: int) -> All:
    """Ask for balance with so many choices, and for none with two."""
    where = {"scheme": "PKG", "workers": workers}
    two, many = cell("fraction", d=2), cell("fraction", d=choices)
    return All(
        AtLeast(BALANCED, {"d=2:": two}, where=where, form="{:.1e}"),
        Below(BALANCED, {f"d={choices}:": many}, where=where, form="{:.1e}"),
    )


def _wrap_level(label: str, workers: object) -> Level:
    level = cell("fraction", scheme="wrap", workers=workers)
    return Level(label, level, "d", {"scheme": "PKG"})


FIGURE_9 = Exhibit(
    "fig9",
    "Average imbalance as the number of choices grows (z = 1.2, a million keys)",
    Drawing(Chart("choices d", FRACTION,
                  [Lines("d", "fraction", by="workers", label="W={workers}",
                         where={"scheme": "PKG"}),
                   _wrap_level("wrap W=5", SMALLEST), _wrap_level("wrap W=100", LARGEST)],
                  log_y=True)),
    (
        Claim("four-for-five", "Four choices restore the balance of five workers, where two do "
              "not.", "d = 4 for W = 5", _suffices(5, 4)),
        Claim("nine-for-forty", "Nine choices restore the balance of forty workers, where two do "
              "not.", "d = 9 for W = 40", _suffices(40, 9)),
        Claim("tens-for-more", "With 50 or 100 workers a few tens of choices lower the imbalance.",
              "a few tens for W = 50, 100",
              Within(10, 50, smallest("d", scheme="PKG", fraction=below(BALANCED)),
                     each=["workers"], where={"workers": one_of(50, 100)}, form="d={}")),
        Claim("less-memory-than-shuffle",
              "The memory stays below shuffle grouping's upper bound of W counters per key.",
              "below W·K",
              Below(1, cell("replication") / cell("workers"), each=["workers", "d"],
                    where={"scheme": "PKG"}, form="{:.2f} of W")),
    ),
    [
        On(Measurement(
            SIMULATION,
            Grid({"workers": "workers", "draw": lambda size: range(size["draws"])},
                 without=["draws"]),
            _run_choices,
            {
                "smoke": {
                    "rows": 200_000, "keys": 1_000_000, "workers": [5, 40, 50, 100], "draws": 5,
                    "choices": [2, 3, 4, 7, 9, 10, 15, 20, 40],
                },
                "paper": {
                    "rows": 10_000_000, "keys": 1_000_000, "draws": 5,
                    "workers": [5, 10, 20, 30, 40, 50, 100],
                    "choices": [2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30, 40, 50],
                },
            },
            f"{ZIPF_DATA}; medians of five draws", {"smoke": 20, "paper": 400}, combine=_medians,
        ))
    ],
)  # fmt: skip
