"""Make the epoch of a finished micro-batch out of Spark's progress, observations and the plan."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql.streaming.listener import StreamingQueryProgress

import unskew.spark as us
from unskew.apps.placing import Observed, Placing
from unskew.apps.running.source import DEAD_LETTERS, ArrivalTimes
from unskew.events import Epoch, HotKey
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan, places_of
from unskew.groupings.registry import make_grouping
from unskew.metrics import imbalance_percent
from unskew.reports.grouping_run import MeasuredBatch, Waits
from unskew.spark.plans.saved import PlanStore
from unskew.spark.stream.listener import seconds_of, started_at
from unskew.spark.stream.remembering import has_memory

KeyPlaces = Callable[[int], tuple[int, ...]]
"""Takes the identity of a key and gives the workers that it is on; none if that is not known."""
OBSERVED = "unskew_run"
"""Under which name micro-batches report the rows of each worker."""


def key_places(placing: Placing, epoch: us.Epoch | None) -> KeyPlaces:
    """Return where keys were in a micro-batch.

    Schemes that decide row by row leave no table, so of their keys nothing is known.

    Examples
    --------
    >>> key_places(Placing("key", 4), None)(0), key_places(Placing("partial-key", 4), None)(0)
    ((0,), ())
    """
    plan = _plan(placing, epoch)
    if plan is None:
        return lambda _: ()
    return lambda identity: tuple(sorted(places_of(plan, np.int64(identity).view(np.uint64))))


def _plan(placing: Placing, epoch: us.Epoch | None) -> Plan | None:
    version = None if epoch is None else epoch.version
    if placing.plan_path is not None and has_memory(placing.plan_path):
        return None
    if version is not None and version > 0 and placing.plan_path is not None:
        return PlanStore(Path(placing.plan_path)).plan_of(version)
    if epoch is None:
        scheme = make_grouping(placing.grouping, placing.workers, seed=placing.seed)
        is_fixed = scheme.spark == "plan" and scheme.planner() is None
        return scheme.fixed_plan() if is_fixed else None
    is_hashed = version == 0
    return hashing_plan(placing.workers, HASHED_MEMBER, placing.workers) if is_hashed else None


@dataclass(frozen=True)
class FinishedBatch:
    """A micro-batch that is done.

    Parameters
    ----------
    progress
        What Spark says of it.
    arrivals
        When its rows came.
    epoch
        What the plan loop has on record of it; None for schemes without a plan.
    places
        Where its keys were.
    """

    progress: StreamingQueryProgress
    arrivals: ArrivalTimes
    epoch: us.Epoch | None
    places: KeyPlaces

    def measured(self, label: str, workers: int) -> MeasuredBatch:
        """Return the event and what belongs to it."""
        seen = _observed_of(metrics_of(self.progress), workers)
        rows = int(self.progress.numInputRows)
        waits = self._waits(rows)
        event = Epoch(
            grouping=label,
            query=str(self.progress.name or self.progress.id),
            run=str(self.progress.runId),
            batch=int(self.progress.batchId),
            started=started_at(self.progress),
            seconds=seconds_of(self.progress),
            rows=rows,
            latency=(waits.quantile(0.50), waits.quantile(0.95), waits.quantile(0.99)),
            dead_letters=_dead_letters(metrics_of(self.progress)),
            hot_keys=_hot_keys(seen, self.places) if seen else (),
            **_placement(seen, self.epoch),
        )
        keys, held = (seen.keys, seen.pieces) if seen else (0, 0)
        return MeasuredBatch(event, waits, keys, max(keys, held))

    def _waits(self, rows: int) -> Waits:
        done = started_at(self.progress) + seconds_of(self.progress)
        oldest, newest = self.arrivals
        return Waits(max(0.0, done - newest), max(0.0, done - oldest), rows)


def metrics_of(progress: StreamingQueryProgress) -> dict[str, dict[str, Any]]:
    """Return what was observed, by name and field."""
    return {name: row.asDict() for name, row in progress.observedMetrics.items()}


def find_epoch(plan_path: Path, run: str, batch: int) -> us.Epoch | None:
    """Return what the plan loop has on record of a micro-batch, if it has."""
    for epoch in reversed(us.read_epochs(plan_path)):
        if (epoch.run, epoch.batch) == (run, batch):
            return epoch
    return None


def _observed_of(metrics: Mapping[str, Mapping[str, Any]], workers: int) -> Observed | None:
    row = metrics.get(OBSERVED)
    return Observed.read(row, workers) if row is not None else None


def _placement(seen: Observed | None, epoch: us.Epoch | None) -> dict[str, Any]:
    """Return the fields about workers and keys: counted, and of the plan."""
    loads = seen.loads if seen else epoch.loads if epoch else ()
    fields: dict[str, Any] = {
        "loads": loads,
        "imbalance": imbalance_percent(loads) if loads else 0.0,
        "replication": seen.replication if seen else epoch.replication if epoch else None,
    }
    if epoch is not None:
        names = ("predicted_imbalance", "split_keys", "version", "next_version", "why")
        fields.update({name: getattr(epoch, name) for name in (*names, "busy_seconds")})
        fields.update(phase=epoch.phase, messages=epoch.messages)
    return fields


def _hot_keys(seen: Observed, places: KeyPlaces) -> tuple[HotKey, ...]:
    rows = max(sum(seen.loads), 1)
    return tuple(
        HotKey(one.key, min(1.0, one.rows / rows), places(one.identity)) for one in seen.hottest
    )


def _dead_letters(metrics: Mapping[str, Mapping[str, Any]]) -> int:
    return int((metrics.get(DEAD_LETTERS) or {}).get("records") or 0)
