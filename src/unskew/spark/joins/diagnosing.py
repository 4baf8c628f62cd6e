"""Predict what Spark, a broadcast and `us.join` would make of a join, and say which to use."""

import math
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import SparkSession

from unskew.groupings.auto import WORTHWHILE
from unskew.scheduling import longest_first, sums_of
from unskew.spark.joins.broadcasting import THRESHOLD, in_bytes, small_side
from unskew.spark.joins.planning import Counts, hashed_rows, rows_out
from unskew.spark.plans.join_plan import JoinPlan

_AQE = "spark.sql.adaptive"
_LARGEST_BROADCAST = 256 << 20  # what every executor can be expected to hold beside its work


class Way(NamedTuple):
    """One way to run the join."""

    name: str
    time: float | None
    """Of the busiest worker, as a multiple of an even share of all work; None if not possible."""
    seconds: float | None
    note: str


@dataclass(frozen=True, repr=False)
class JoinDiagnosis:
    """What each way to join two tables would take, and which one to use.

    Parameters
    ----------
    plan
        What `us.join` would follow.
    ways
        The ways that were compared.
    text, code
        What to do in a sentence, and the line, or the setting, that does it.
    """

    plan: JoinPlan
    ways: tuple[Way, ...]
    text: str
    code: str

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text under stable names."""
        plan = self.plan
        return {
            "on": [list(pair) for pair in zip(plan.by, plan.other_by, strict=True)],
            "how": plan.how,
            "workers": plan.workers,
            "left_rows": plan.left_rows,
            "right_rows": plan.right_rows,
            "split_keys": plan.n_split_keys,
            "copies": plan.copies,
            "predicted_loads": plan.predicted_loads.tolist(),
            "hashed_loads": plan.hashed_loads.tolist(),
            "ways": [way._asdict() for way in self.ways],
            "recommendation": {"text": self.text, "code": self.code},
        }

    def __repr__(self) -> str:
        plan = self.plan
        lines = [
            f"{plan.how} join on {', '.join(plan.by)}: {plan.left_rows:,.0f} rows on the left, "
            f"{plan.right_rows:,.0f} on the right, {plan.workers} workers",
            f"{'way':<12}{'time':>8}  note",
        ]
        for way in self.ways:
            time = "–" if way.time is None else f"{way.time:.2f}"
            seconds = "" if way.seconds is None else f" ({way.seconds:,.1f} s)"
            lines.append(f"{way.name:<12}{time:>8}{seconds}  {way.note}")
        lines.append("time: of the busiest worker; 1 is an even share of all rows in and out")
        return "\n".join([*lines, "", self.text, self.code])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{self.plan._repr_html_()}"


class Settings(NamedTuple):
    """What Spark goes by, in bytes."""

    broadcast: float
    adaptive: bool
    skewed: float
    factor: float
    advisory: float

    @classmethod
    def of(cls, spark: SparkSession) -> "Settings":
        """Return the settings of a session."""

        def value(name: str) -> str:
            return str(spark.conf.get(name))

        both = value(f"{_AQE}.enabled"), value(f"{_AQE}.skewJoin.enabled")
        return cls(
            in_bytes(value(THRESHOLD)),
            both == ("true", "true"),
            in_bytes(value(f"{_AQE}.skewJoin.skewedPartitionThresholdInBytes")),
            float(value(f"{_AQE}.skewJoin.skewedPartitionFactor")),
            in_bytes(value(f"{_AQE}.advisoryPartitionSizeInBytes")),
        )


def diagnose_join(
    counts: Counts,
    plan: JoinPlan,
    sizes: tuple[int, int],
    settings: Settings,
    cost_per_row: float | None,
) -> JoinDiagnosis:
    """Compare the ways to run a join.

    Parameters
    ----------
    counts
        What was learned of both sides.
    plan
        The plan that was made from them.
    sizes
        Bytes of a left and of a right row (`row_bytes`).
    settings
        What Spark goes by.
    cost_per_row
        Milliseconds of work per row that comes out, to predict seconds.
    """
    how, workers = plan.how, plan.workers
    out = float(rows_out(how, counts.left, counts.right).sum() + counts.slot_out.sum())
    even = float(plan.hashed_loads.mean())
    seconds = None if cost_per_row is None else out * cost_per_row / 1000 / workers

    def way(name: str, busiest: float | None, note: str) -> Way:
        time = None if busiest is None else busiest / even if even else 1.0
        return Way(name, time, time * seconds if time is not None and seconds else None, note)

    adaptive, split = _adaptive(counts, plan, sizes, settings)
    broadcast, note = _broadcast(plan, sizes, settings, out)
    ways = (
        way("plain", float(plan.hashed_loads.max()), "by the hash of the key"),
        way("AQE", adaptive, split),
        way("broadcast", broadcast, note),
        way(
            "us.join",
            float(plan.predicted_loads.max()),
            f"{plan.n_split_keys} key{'' if plan.n_split_keys == 1 else 's'} split, "
            f"{plan.copies:,.0f} copies",
        ),
    )
    return JoinDiagnosis(plan, ways, *_advice(plan, ways, sizes, settings))


def _advice(
    plan: JoinPlan, ways: tuple[Way, ...], sizes: tuple[int, int], settings: Settings
) -> tuple[str, str]:
    by_name = {way.name: way.time for way in ways}
    pairs = list(zip(plan.by, plan.other_by, strict=True))
    named = [f'"{left}"' for left, _ in pairs]
    on = named[0] if len(named) == 1 else f"[{', '.join(named)}]"
    if any(left != right for left, right in pairs):
        on = str(pairs)
    plain = f'left.join(right, {on}, "{plan.how}")'
    planned = by_name["us.join"] or 1.0
    if (by_name["plain"] or 1.0) * (1 - WORTHWHILE) <= planned:
        return "Do nothing: Spark's own join is even enough.", plain
    small = small_side(plan, plan.how, sizes, _LARGEST_BROADCAST)
    broadcast = by_name["broadcast"]
    if small is not None and broadcast is not None and broadcast <= planned * (1 + WORTHWHILE):
        if small_side(plan, plan.how, sizes, settings.broadcast) == small:
            return f"Do nothing: the {small} side is so small that Spark broadcasts it.", plain
        side = "left" if small == "left" else "right"
        code = plain.replace(side, f"sf.broadcast({side})", 1)
        return f"Broadcast the {small} side: it fits the memory of an executor.", code
    if (by_name["AQE"] or math.inf) <= planned * (1 + WORTHWHILE):
        return "Do nothing: adaptive execution splits what is too much.", plain
    code = f'us.join(left, right, {on}, "{plan.how}", workers={plan.workers})'
    return "Use us.join: it cuts hot keys where a worker is full.", code


def _broadcast(
    plan: JoinPlan, sizes: tuple[int, int], settings: Settings, out: float
) -> tuple[float | None, str]:
    """Return the busiest worker's work if every one holds the whole smaller side."""
    small = small_side(plan, plan.how, sizes, math.inf)
    if small is None:
        return None, "not for a full join"
    rows, others = plan.left_rows, plan.right_rows
    if small == "right":
        rows, others = others, rows
    size = rows * sizes[small == "right"]
    if size > _LARGEST_BROADCAST:
        return None, f"the {small} side has about {size / 2**20:,.0f} MB"
    below = "below" if size <= settings.broadcast else "above"
    note = f"the {small} side has about {size / 2**20:,.1f} MB, {below} Spark's threshold"
    return (others + out) / plan.workers + rows, note


def _adaptive(
    counts: Counts, plan: JoinPlan, sizes: tuple[int, int], settings: Settings
) -> tuple[float, str]:
    """Return the busiest worker's work if Spark splits partitions that it takes for skewed."""
    loads, workers = plan.hashed_loads, plan.workers
    if not settings.adaptive:
        return float(loads.max()), "adaptive execution is off"
    if plan.how == "full":
        return float(loads.max()), "splits no full join"
    parts = np.ones(workers)
    sides = (
        (counts.left, counts.slot_left, sizes[0], ("inner", "left", "semi", "anti")),
        (counts.right, counts.slot_right, sizes[1], ("inner", "right")),
    )
    for rows, slots, size, splits in sides:
        if plan.how in splits:
            held = hashed_rows(counts.ids, rows, slots, workers) * size
            skewed = held > max(settings.skewed, settings.factor * float(np.median(held)))
            usual = float(held[~skewed].mean()) if (~skewed).any() else 0.0
            target = max(settings.advisory, usual, 1.0)
            parts = np.maximum(parts, np.where(skewed, np.ceil(held / target), 1))
    if parts.max() == 1:
        return float(loads.max()), "splits nothing: no partition is above its thresholds"
    tasks = np.repeat(loads / parts, parts.astype(np.int64))
    busiest = sums_of(tasks, longest_first(tasks, workers), workers).max()
    return float(busiest), f"splits {int((parts > 1).sum())} of {workers} partitions"
