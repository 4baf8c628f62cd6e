"""A drifting stream under four groupings, side by side, without Spark: what unskew is about."""

import threading
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unskew.dashboard.feed import Feed, FeedThread
from unskew.dashboard.serving import Closeable
from unskew.events import Epoch, HotKey
from unskew.groupings.base import Grouping, LearnedGrouping
from unskew.groupings.plan import Plan
from unskew.groupings.planned import PlannedGrouping
from unskew.groupings.registry import make_grouping
from unskew.hashing import distinct
from unskew.metrics import imbalance_percent, replication
from unskew.streams import drift

GROUPINGS = ("key", "partial-key", "wrap", "flow")
_WORKERS = 16
_ROWS = 20_000
_KEYS = 10_000
_EXPONENT = 1.2
_BATCHES_PER_PHASE = 25
_SECONDS_PER_ROW = 0.0004
_OVERHEAD_SECONDS = 0.05
_HOT_KEYS = 8
_THRESHOLD = 5.0  # points of imbalance beyond the promise at which a new plan is made
_FOREVER = 10**12


class SimulatedGrouping:
    """One grouping that routes micro-batches, and what its workers would take for them.

    Parameters
    ----------
    name
        The scheme.
    workers
        Number of workers.
    seed
        Picks the hash functions.

    Examples
    --------
    >>> keys = np.array([1, 1, 1, 2], np.uint64)
    >>> event = SimulatedGrouping("key", workers=2, seed=0).work(0, keys, started=0.0)
    >>> event.rows, max(event.loads) >= 3, event.hot_keys[0].share
    (4, True, 0.75)
    """

    def __init__(self, name: str, *, workers: int = _WORKERS, seed: int = 0) -> None:
        self.name = name
        self._grouping: Grouping = make_grouping(name, workers, seed=seed)
        self._version = 0

    def work(self, batch: int, keys: NDArray[np.uint64], *, started: float) -> Epoch:
        """Route a micro-batch, and plan again after it where the scheme does."""
        workers = self._grouping.route_many(keys)
        loads = np.bincount(workers, minlength=self._grouping.workers)
        plan, version = self._plan, self._version
        promise = None if plan is None else plan.predicted_imbalance
        why = self._replan(keys, imbalance_percent(loads), promise)
        busy = loads * _SECONDS_PER_ROW
        return Epoch(
            grouping=self.name,
            query="simulated drift",
            run="demo",
            batch=batch,
            started=started,
            seconds=float(busy.max()) + _OVERHEAD_SECONDS,
            rows=int(keys.size),
            loads=tuple(loads.tolist()),
            predicted_loads=_predicted(plan, keys.size),
            busy_seconds=tuple(busy.tolist()),
            imbalance=imbalance_percent(loads),
            predicted_imbalance=promise,
            replication=_replication(keys, workers),
            split_keys=None if plan is None else plan.n_split_keys,
            version=version if self._grouping.learns_on_streams else None,
            next_version=self._version if why else None,
            why=why,
            hot_keys=_hottest(keys, workers),
            latency=_latency(loads),
        )

    @property
    def _plan(self) -> Plan | None:
        if not isinstance(self._grouping, PlannedGrouping) or self._version == 0:
            return None
        return self._grouping.plan

    def _replan(
        self, keys: NDArray[np.uint64], imbalance: float, promise: float | None
    ) -> str | None:
        """Learn, and make a plan if it is the first or the present one broke its promise."""
        if not self._grouping.learns_on_streams:
            return None
        if promise is not None and imbalance <= promise + _THRESHOLD:
            return None
        # What was learned is over, so that the plan is made of this micro-batch alone.
        fresh = make_grouping(self.name, self._grouping.workers, seed=self._grouping.seed)
        if isinstance(fresh, LearnedGrouping):
            self._grouping = fresh.learn(keys).build()
        self._version += 1
        if promise is None:
            return "the first plan"
        return f"the hot keys changed: imbalance {imbalance:.0f} %, planned was {promise:.1f} %"


def demo_batches(seed: int = 1) -> Iterator[NDArray[np.uint64]]:
    """Yield the keys of one micro-batch after the other, without end."""
    stream = drift(
        keys=_KEYS,
        exponent=_EXPONENT,
        every=_BATCHES_PER_PHASE * _ROWS,
        rows=_FOREVER,
        hot=50,
        seed=seed,
    )
    for batch in stream.batches(_ROWS):
        yield np.asarray(batch.keys, np.uint64)


class Demo(Closeable):
    """Publish simulated micro-batches until it is closed.

    Parameters
    ----------
    feed
        Where the epochs go.
    seconds_per_batch
        Time between two micro-batches.
    seed
        Picks the keys.
    """

    def __init__(self, feed: Feed, *, seconds_per_batch: float = 0.5, seed: int = 1) -> None:
        self._feed, self._seconds, self._seed = feed, seconds_per_batch, seed
        self._stop = threading.Event()
        self._thread = FeedThread(feed, self._run, name="unskew-demo")
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._stop.set()
        self._thread.join(30.0)

    def _run(self) -> None:
        compared = [SimulatedGrouping(name) for name in GROUPINGS]
        for batch, keys in enumerate(demo_batches(self._seed)):
            started = time.time()
            for each in compared:
                self._feed.publish(each.work(batch, keys, started=started))
            if self._stop.wait(self._seconds):
                return


def _predicted(plan: Plan | None, rows: int) -> tuple[float, ...] | None:
    if plan is None or not plan.predicted_loads.any():
        return None
    shares = plan.predicted_loads / plan.predicted_loads.sum()
    return tuple((shares * rows).tolist())


def _replication(keys: NDArray[np.uint64], placed: NDArray[np.int32]) -> float:
    workers = np.uint64(placed.max()) + np.uint64(1)
    places = distinct(keys * workers + placed.astype(np.uint64))
    return replication(places.size, distinct(keys).size)


def _hottest(keys: NDArray[np.uint64], workers: NDArray[np.int32]) -> tuple[HotKey, ...]:
    found, counts = np.unique(keys, return_counts=True)
    hottest = np.argsort(-counts, kind="stable")[:_HOT_KEYS]
    return tuple(
        HotKey(
            f"user {found[at]}",
            float(counts[at] / keys.size),
            tuple(np.unique(workers[keys == found[at]]).tolist()),
        )
        for at in hottest
    )


def _latency(loads: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return how long rows wait that are there at once and are worked on one after the other."""
    places = np.concatenate([np.arange(1, load + 1) for load in loads])
    p50, p95, p99 = np.quantile(places * _SECONDS_PER_ROW, (0.5, 0.95, 0.99))
    return float(p50), float(p95), float(p99)
