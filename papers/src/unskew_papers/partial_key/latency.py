"""Table 3: latency of rows, by work and by aggregation period."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.base import LearnedGrouping
from unskew.groupings.registry import make_grouping
from unskew.simulator.sources import Sources
from unskew.streams.base import Batch
from unskew_papers import datasets
from unskew_papers.calibration import Calibration
from unskew_papers.claim import Claim, Verdict
from unskew_papers.closed_loop import serve
from unskew_papers.figure import Curve, Figure, Panel
from unskew_papers.partial_key.throughput import SCHEMES
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import CALIBRATED, Experiment, Parameters, Unit

WORKERS = {name: workers for name, (_, workers) in SCHEMES.items()}
_DELAYS = [(0.1, None), (0.5, None), (1.0, None)]
_AGGREGATING = 0.4
_LATENCY = {
    "PKG": {0.1: 3.81, 0.5: 6.24, 1.0: 11.01},
    "SG": {0.1: 3.66, 0.5: 6.11, 1.0: 10.82},
    "KG": {0.1: 3.65, 0.5: 9.82, 1.0: 19.35},
}
IN_FLIGHT = 88
"""PKG's 11.01 ms at 1 ms of work on 8 workers, by Little's law."""
TRANSIT_MILLISECONDS = 3.71
"""PKG's 3.81 ms at 0.1 ms of work, where hardly a message waits."""


def queue_units(parameters: Parameters) -> Sequence[Unit]:
    """Cut the work into one unit a data set and scheme."""
    names = ("rows", "keys", "settings", "workers", "calibration")
    shared = {name: parameters[name] for name in names}
    sets = datasets.names_for(parameters["set"])
    return [{"data": name, "scheme": scheme, **shared} for name in sets for scheme in SCHEMES]


def _placed(unit: Unit, seed: int) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Return worker and number of the key of every row, and how many workers there are."""
    stream = datasets.load(unit["data"], unit["rows"], unit["keys"], seed)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    scheme, workers = SCHEMES[unit["scheme"]][0], unit["workers"][unit["scheme"]]
    grouping = make_grouping(scheme, workers, seed=seed)
    if isinstance(grouping, LearnedGrouping):
        grouping.learn(keys[: keys.size // 10]).build()
    placed = Sources(grouping, 8).route(Batch(keys, None))
    return placed, np.unique(keys, return_inverse=True)[1].astype(np.int64), workers


def queue_run(unit: Unit, seed: int) -> Sequence[Row]:
    """Place every row, then serve them with each work and aggregation period."""
    placed, places, workers = _placed(unit, seed)
    costs = Calibration.of(unit["calibration"])
    rows = []
    for delay, period in unit["settings"]:
        served = serve(
            placed,
            places,
            workers,
            milliseconds=costs.row_with(delay),
            in_flight=IN_FLIGHT,
            transit_milliseconds=TRANSIT_MILLISECONDS,
            period=np.inf if period is None or unit["scheme"] == "KG" else period,
            counter_milliseconds=costs.merge,
        )
        rows.append(
            {
                "data": unit["data"],
                "scheme": unit["scheme"],
                "delay": delay,
                "period": period,
                "throughput": 1000 * served.throughput,
                "latency": served.latency,
                "counters": served.counters,
            }
        )
    return rows


def table_figure(rows: Rows) -> Figure:
    """Draw the latency over the work, beside the paper's."""
    panels = []
    for data in rows.distinct("data"):
        here = rows.where(data=data, period=None)
        curves = [Curve(name, *here.curve("delay", "latency", scheme=name)) for name in SCHEMES]
        curves += [
            Curve(f"{name} (paper)", list(found), list(found.values()), "dashed")
            for name, found in _LATENCY.items()
        ]
        panels.append(Panel("CPU delay in ms", "latency in ms", curves, title=data))
    return Figure(panels)


def _key_grouping_lags(rows: Rows) -> Verdict:
    data = rows.distinct("data")[0]
    found = {
        name: rows.value("latency", data=data, scheme=name, delay=1.0, period=None)
        for name in ("KG", "PKG")
    }
    saved = 100 * (1 - found["PKG"] / found["KG"])
    return Verdict(
        35 < saved < 55, f"{found['KG']:.1f} against {found['PKG']:.1f} ms: {saved:.0f} % less"
    )


def _level_when_idle(rows: Rows) -> Verdict:
    found = rows.values("latency", data=rows.distinct("data")[0], delay=0.1, period=None)
    return Verdict(max(found) < 1.1 * min(found), f"{min(found):.2f} … {max(found):.2f} ms")


def _published(rows: Rows) -> Verdict:
    """Compare the cells that were not used to calibrate."""
    data = rows.distinct("data")[0]
    parts, holds = [], True
    for name, cells in _LATENCY.items():
        for delay, wanted in cells.items():
            if (name, delay) in (("PKG", 0.1), ("PKG", 1.0)):
                continue
            got = rows.value("latency", data=data, scheme=name, delay=delay, period=None)
            holds = holds and abs(got / wanted - 1) < 0.25
            parts.append(f"{name} {delay} ms: {got:.1f} ({wanted})")
    return Verdict(holds, "; ".join(parts))


def _by_period(rows: Rows, scheme: str) -> list[float]:
    """Return the latencies for growing aggregation periods."""
    here = rows.where(data=rows.distinct("data")[0], scheme=scheme, delay=_AGGREGATING)
    return here.curve("period", "latency")[1]


def _short_periods_cost(rows: Rows) -> Verdict:
    found = {name: _by_period(rows, name) for name in ("PKG", "SG")}
    measured = "; ".join(
        f"{name} {' → '.join(f'{value:.2f}' for value in values)} ms"
        for name, values in found.items()
    )
    falling = all(values == sorted(values, reverse=True) for values in found.values())
    return Verdict(falling, measured)


def _alike_with_aggregation(rows: Rows) -> Verdict:
    pairs = zip(_by_period(rows, "PKG"), _by_period(rows, "SG"), strict=True)
    ratios = [split / shuffled for split, shuffled in pairs]
    return Verdict(
        min(ratios) > 0.95 and max(ratios) < 1.05, f"{min(ratios):.2f} … {max(ratios):.2f} times"
    )


FEW_IN_FLIGHT = (
    "A matter of the model: most of the 88 rows are in transit at 0.4 ms of work, so that "
    "only few wait at the workers. Shuffle deals them in turn; with PKG one of the workers runs "
    "out of them now and then, which costs about a tenth."
)
QUEUE_DATA = (
    f"; a closed loop of queues, {IN_FLIGHT} rows in flight, each {TRANSIT_MILLISECONDS} ms "
    "under way besides its work, which gives PKG's published latency at 0.1 and 1 ms; what a row "
    "costs beyond its work, and handing over a counter, as measured on Spark"
)


def settings(periods: Sequence[int]) -> list[tuple[float, int | None]]:
    """Return pairs of work and aggregation period, both in milliseconds."""
    return [*_DELAYS, *((_AGGREGATING, period) for period in periods)]


TABLE_3 = Experiment(
    id="partial-key/table3",
    title="Latency of a message by work and by aggregation period",
    runs_on=CALIBRATED,
    data=datasets.describe("WP") + QUEUE_DATA + "; smoke has periods of a tenth",
    sizes={
        "smoke": {
            "set": "WP",
            "rows": 300_000,
            "keys": 100_000,
            "workers": WORKERS,
            "settings": settings([1_000, 3_000, 6_000]),
        },
        "paper": {
            "set": "WP",
            "rows": 5_000_000,
            "keys": 2_900_000,
            "workers": WORKERS,
            "settings": settings([10_000, 30_000, 60_000]),
        },
    },
    seconds={"smoke": 5, "paper": 120},
    units=queue_units,
    run=queue_run,
    figure=table_figure,
    claims=(
        Claim(
            "key-grouping-lags",
            "When the workers are heavily loaded PKG's latency is up to 45 % below key grouping's.",
            "11.01 against 19.35 ms at 1 ms of work",
            _key_grouping_lags,
            "Different data and hash function: the busiest of our ten workers has 18 % of the "
            "load, by the paper's latency it had 22 %.",
        ),
        Claim(
            "level-when-idle",
            "With little work all schemes have the same latency.",
            "3.65 … 3.81 ms at 0.1 ms",
            _level_when_idle,
        ),
        Claim(
            "published-cells",
            "The latencies that were not used to calibrate come out as published (within 25 %).",
            "3.65 … 19.35 ms",
            _published,
        ),
        Claim(
            "short-periods-cost",
            "Longer aggregation periods lower the latency.",
            "PKG 6.93, 6.79, 6.47 ms for 10, 30, 60 s",
            _short_periods_cost,
        ),
        Claim(
            "alike-with-aggregation",
            "PKG and shuffle have similar latencies with aggregation.",
            "6.93 against 7.01 ms and less apart",
            _alike_with_aggregation,
            FEW_IN_FLIGHT,
        ),
    ),
)
