"""Make the event of a micro-batch out of Spark's progress and what a loop of unskew learned."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from unskew.events import BatchEvent, HotKey
from unskew.groupings.plan import Plan, places_of
from unskew.spark.epochs import Epoch
from unskew.spark.loads import predicted_shares
from unskew.spark.observing import read_hot
from unskew.spark.plan_listener import Told
from unskew.spark.saved_plans import PlanStore

_MOST_HOT_KEYS = 10
_QUANTILES = (0.5, 0.95, 0.99)


class EventMaker:
    """Make events of one query; remembers what has to be known of the micro-batch before.

    Parameters
    ----------
    label
        What the query is called beside others.
    names
        The text of keys by their hash; others are shown by the hash.
    """

    def __init__(self, label: str, names: Mapping[int, str]) -> None:
        self.label = label
        self._names = names
        self._last_start: float | None = None
        self._plans: dict[Path, tuple[int, Plan | None]] = {}

    def events(self, progress: Any, told: list[Told]) -> list[BatchEvent]:
        """Return one event; one a loop, if the query has several; none of no rows."""
        rows = int(progress.numInputRows)
        if not told and not rows:
            return []
        common = self._common(progress)
        if not told:
            return [BatchEvent(grouping=self.label, rows=rows, loads=(), imbalance=0.0, **common)]
        labels = [self.label] if len(told) == 1 else [f"{self.label} {one.name}" for one in told]
        return [
            BatchEvent(grouping=label, **common, **self._of_loop(one, progress))
            for label, one in zip(labels, sorted(told, key=lambda one: one.name), strict=True)
        ]

    def _common(self, progress: Any) -> dict[str, Any]:
        started = datetime.fromisoformat(progress.timestamp).timestamp()
        seconds = progress.batchDuration / 1000.0
        before, self._last_start = self._last_start, started
        return {
            "query": progress.name or str(progress.id),
            "run": str(progress.runId),
            "batch": int(progress.batchId),
            "started": started,
            "seconds": seconds,
            "latency": None if before is None else latency_of(max(0.0, started - before), seconds),
        }

    def _of_loop(self, told: Told, progress: Any) -> dict[str, Any]:
        epoch = told.epoch
        plan = self._plan(told.folder, epoch.version)
        shares = predicted_shares(plan)
        return {
            **_of_epoch(epoch),
            "predicted_loads": None if shares is None else tuple(s * epoch.rows for s in shares),
            "hot_keys": self._hot_keys(progress.observedMetrics[told.name], epoch.rows, plan),
        }

    def _hot_keys(self, observed: Any, rows: int, plan: Plan | None) -> tuple[HotKey, ...]:
        """Return the keys with the most rows; Spark reports their hashes, and no other name."""
        ids, loads = read_hot(observed.asDict().get("hot") or "")
        hashes = ids.view("int64").tolist()
        return tuple(
            HotKey(
                self._names.get(hashes[at], f"xxhash64 {hashes[at]}"),
                min(1.0, float(loads[at]) / max(rows, 1)),
                () if plan is None else tuple(sorted(places_of(plan, ids[at]))),
            )
            for at in range(min(_MOST_HOT_KEYS, ids.size))
        )

    def _plan(self, folder: Path, version: int) -> Plan | None:
        if self._plans.get(folder, (None,))[0] != version:
            self._plans[folder] = version, PlanStore(folder).plan_of(version)
        return self._plans[folder][1]


def latency_of(gap: float, seconds: float) -> tuple[float, float, float]:
    """Return percentiles of the time from a row's arrival to the end of its micro-batch.

    It is an estimate: rows are taken to arrive steadily in the ``gap`` between the starts of the
    micro-batch before and of this one, which then takes ``seconds``.

    >>> latency_of(10.0, 2.0)
    (7.0, 11.5, 11.9)
    """
    p50, p95, p99 = (seconds + quantile * gap for quantile in _QUANTILES)
    return p50, p95, p99


def _of_epoch(epoch: Epoch) -> dict[str, Any]:
    names = (
        "rows",
        "loads",
        "busy_seconds",
        "estimated_seconds",
        "imbalance",
        "predicted_imbalance",
        "imbalance_of",
        "replication",
        "split_keys",
        "version",
        "next_version",
        "why",
        "phase",
        "messages",
    )
    return {name: getattr(epoch, name) for name in names}
