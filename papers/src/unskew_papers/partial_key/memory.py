"""Figures 10b and 10c: throughput against memory as the aggregation period grows."""

from dataclasses import replace

from unskew_papers import datasets
from unskew_papers.claim import Claim, Verdict
from unskew_papers.figure import Curve, Figure, Panel
from unskew_papers.partial_key.latency import FEW_IN_FLIGHT, QUEUE_DATA, TABLE_3, WORKERS
from unskew_papers.rows import Rows


def memory_figure(rows: Rows) -> Figure:
    """Draw the throughput over the counters of a worker, a point a period."""
    panels = []
    for data in rows.distinct("data"):
        here = rows.where(data=data)
        names = [name for name in rows.distinct("scheme") if name != "KG"]
        curves = [Curve(name, *here.curve("counters", "throughput", scheme=name)) for name in names]
        most = max(row["counters"] for row in here if row["scheme"] != "KG")
        level = here.values("throughput", scheme="KG")[0]
        curves.append(Curve("KG", [0, most], [level, level], "dashed"))
        panels.append(Panel("counters a worker", "keys a second", curves, title=data))
    return Figure(panels)


def _better_on_both(rows: Rows) -> Verdict:
    against, gains = [], []
    for row in rows.where(scheme="PKG"):
        other = rows.where(data=row["data"], period=row["period"], scheme="SG")[0]
        gains.append((row["throughput"] / other["throughput"], row["counters"] / other["counters"]))
        if row["throughput"] <= other["throughput"] or row["counters"] >= other["counters"]:
            against.append(f"{row['data']}, T = {row['period']:,} ms")
    faster, smaller = zip(*gains, strict=True)
    measured = (
        f"throughput {min(faster):.2f} … {max(faster):.2f} times, "
        f"counters {min(smaller):.2f} … {max(smaller):.2f} times"
    )
    return Verdict(not against, measured)


def _pays_off(rows: Rows) -> Verdict:
    """Compare with key grouping at the two longer periods."""
    ratios = []
    for data in rows.distinct("data"):
        level = rows.values("throughput", data=data, scheme="KG")[0]
        periods = sorted(rows.distinct("period"))[1:]
        ratios += [
            rows.value("throughput", data=data, scheme="PKG", period=period) / level
            for period in periods
        ]
    return Verdict(min(ratios) > 1, f"{min(ratios):.2f} … {max(ratios):.2f} times key grouping's")


def _published_gain(rows: Rows) -> Verdict:
    data, period = rows.distinct("data")[0], max(rows.distinct("period"))
    here = rows.where(data=data, period=period)
    gain = here.value("throughput", scheme="PKG") / here.value("throughput", scheme="KG") - 1
    saved = 1 - here.value("counters", scheme="PKG") / here.value("counters", scheme="SG")
    return Verdict(
        gain > 1.5 and 0.2 < saved < 0.4, f"{100 * gain:+.0f} % and {-100 * saved:+.0f} %"
    )


def _sizes(symbol: str, delay: float, key_workers: int) -> dict[str, dict[str, object]]:
    workers = {**WORKERS, "KG": key_workers}
    shared = {"set": symbol, "workers": workers}
    return {
        "smoke": {
            **shared,
            "rows": 300_000,
            "keys": 100_000,
            "settings": [(delay, period) for period in (1_000, 3_000, 6_000)],
        },
        "paper": {
            **shared,
            "rows": 5_000_000,
            "keys": 3_100_000,
            "settings": [(delay, period) for period in (10_000, 30_000, 60_000)],
        },
    }


FIGURE_10B = replace(
    TABLE_3,
    id="partial-key/fig10b",
    title="Throughput against memory for growing aggregation periods, WP (0.4 ms of work)",
    sizes=_sizes("WP", 0.4, 10),
    figure=memory_figure,
    claims=(
        Claim(
            "better-on-both",
            "For all aggregation periods PKG has a higher throughput than shuffle with less "
            "memory.",
            "above and to the left",
            _better_on_both,
            f"Memory is less, throughput is not more. {FEW_IN_FLIGHT}",
        ),
        Claim(
            "pays-off",
            "From an aggregation period of 30 s on PKG's throughput is higher than key grouping's.",
            "above KG for T ≥ 30 s",
            _pays_off,
        ),
    ),
)

FIGURE_10C = replace(
    TABLE_3,
    id="partial-key/fig10c",
    title="Throughput against memory for growing aggregation periods, TW",
    data=datasets.describe("TW") + QUEUE_DATA + "; 0.1 ms of work; smoke has periods of a tenth",
    sizes=_sizes("TW", 0.1, 16),
    figure=memory_figure,
    claims=(
        Claim(
            "better-on-both",
            "For all aggregation periods PKG has a higher throughput than shuffle with less "
            "memory.",
            "above and to the left",
            _better_on_both,
            f"Memory is less, throughput is more on one set only. {FEW_IN_FLIGHT}",
        ),
        Claim(
            "published-gain",
            "With a period of a minute PKG has nearly 175 % more throughput than key grouping and "
            "30 % less memory than shuffle.",
            "+175 % and −30 %",
            _published_gain,
            "Memory comes out as published. For throughput the paper gave key grouping 16 workers "
            "and PKG 8, and still the latter won: its engine was at another limit than the work "
            "of rows, which is all that the queues know.",
        ),
    ),
)
