"""Predict how even each grouping would be, and what it would cost in memory and time."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew import metrics
from unskew._validation import check_choice, check_int, check_real
from unskew.advisor.drawing import MOST_ROWS, draw_stream
from unskew.advisor.profile import KeyProfile
from unskew.groupings.base import Grouping, LearnedGrouping
from unskew.groupings.key import KeyGrouping
from unskew.groupings.planned import sample_size
from unskew.groupings.registry import make_all, schemes_to_compare
from unskew.groupings.shuffle import Shuffle
from unskew.simulator.loads import simulate
from unskew.simulator.queueing import simulate_queue
from unskew.streams.base import Stream
from unskew.streams.in_memory import InMemoryStream

MERGE, ATOMIC, STATELESS, BUILTIN = "merge", "atomic", "stateless", "builtin"

WORKS = {
    MERGE: "partial results of a key can be merged, so that a key may be split",
    ATOMIC: "all rows of a key must meet in one place",
    STATELESS: "every row is worked on by itself, whatever its key",
    BUILTIN: "Spark's own aggregates (count, sum, min, max, avg …)",
}
"""Every kind of work, and what it says."""
COOKBOOK = {
    MERGE: "199-of-200-tasks.md",
    ATOMIC: "out-of-memory-in-applyinpandas.md",
    STATELESS: "one-slow-call.md",
    BUILTIN: "199-of-200-tasks.md",
}
"""The page of docs/cookbook for each kind of work."""
FLOOR_PERCENT = 1.0
"""Below this λ is chance: a prediction then says "even", not a figure to compare."""

PLAIN = KeyGrouping.name
"""Plain hashing by key: what Spark does by itself."""

ROUND_ROBIN = Shuffle.name
"""Rows in equal numbers, whatever their keys: what Spark does where the work asks for no keys."""

SPLITS_KEYS = "splits keys"
"""The drawback of a scheme for work that needs all rows of a key together."""


def plain_for(work: str) -> str:
    """Return the scheme that stands for plain Spark.

    >>> plain_for("merge"), plain_for("stateless")
    ('key', 'shuffle')
    """
    return ROUND_ROBIN if work == STATELESS else PLAIN


def check_work(owner: str, parameter: str, work: object) -> str:
    """Return ``work`` if it is a kind of work, or raise and list them.

    >>> check_work("recommend", "work", "atomic")
    'atomic'
    """
    return check_choice(owner, parameter, work, WORKS)


@dataclass(frozen=True)
class Prediction:
    """What a grouping is expected to do.

    Parameters
    ----------
    grouping
        The scheme, with the parameters that differ from the default.
    imbalance_percent
        λ: by how many percent the busiest worker's load exceeds the mean. The load is the cost of
        the rows where they have one, and else their number.
    replication
        Workers that hold a key, on average.
    memory
        Keys held, all workers together.
    loads
        Load of each worker, in rows or in cost.
    job_seconds
        How long the busiest worker works; None where nobody said what a row costs.
    splits_keys
        Whether a key may be on several workers.
    drawback
        Why it does not come into question for the work; empty where it does.
    """

    grouping: str
    imbalance_percent: float
    replication: float
    memory: int
    loads: tuple[float, ...]
    job_seconds: float | None
    splits_keys: bool
    drawback: str

    @property
    def job_time_ratio(self) -> float:
        """Time of the job over the time it would take if all workers had the same load."""
        return 1.0 + self.imbalance_percent / 100.0

    @property
    def usable(self) -> bool:
        """Whether it comes into question for the work."""
        return not self.drawback

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text under stable names."""
        return {
            "grouping": self.grouping,
            "imbalance_percent": self.imbalance_percent,
            "job_time_ratio": self.job_time_ratio,
            "job_seconds": self.job_seconds,
            "replication": self.replication,
            "memory": self.memory,
            "splits_keys": self.splits_keys,
            "usable": self.usable,
            "drawback": self.drawback,
            "loads": list(self.loads),
        }


def predict(
    profile: KeyProfile,
    workers: int,
    *,
    sources: int = 1,
    work: str = MERGE,
    cost_per_row: float | None = None,
    batch: bool = False,
    groupings: Mapping[str, Grouping] | None = None,
    most_rows: int = MOST_ROWS,
    seed: int = 0,
    on_progress: Callable[[str, int], None] | None = None,
) -> list[Prediction]:
    """Predict what `simulate` would measure on the stream that the profile is of.

    A stream drawn from the profile goes through every grouping, as the real one would.

    Parameters
    ----------
    profile
        What is known of the keys.
    workers, sources
        Numbers of workers and sources.
    work
        What follows the grouping: ``merge``, ``atomic``, ``stateless`` or ``builtin``.
    cost_per_row
        Milliseconds of work per row, where the profile has no costs of its own.
    batch
        Whether a scheme that learns is shown a sample of all rows beforehand, as in a Spark batch.
        By default it learns from the first fifth, as `simulate` has it.
    groupings
        The schemes, by label; by default all of the registry that can be made for so many workers.
    most_rows
        Rows to draw at most; of a longer stream λ is that of the shorter one, in which chance
        makes loads a little less even.
    seed
        Picks the hash functions and what is drawn.
    on_progress
        Called with the label of a scheme and the rows of each batch that is done.

    Notes
    -----
    Counts are replayed, so what is left open is the order of rows within a window, and with a
    sample its error: a worker's share of n sampled rows is known to about √(W / n). Where λ is
    below `FLOOR_PERCENT` it is made of such chances and no prediction can be right in relative
    terms; compare 1 + λ, the time of the job, instead.

    Examples
    --------
    >>> profile = KeyProfile.from_counts(range(1, 101), [10_000 // rank for rank in range(1, 101)])
    >>> by_name = {each.grouping: each for each in predict(profile, 8)}
    >>> by_name["wrap"].imbalance_percent < 1 < 50 < by_name["key"].imbalance_percent
    True
    """
    workers = check_int("predict", "workers", workers, minimum=1)
    work = check_work("predict", "work", work)
    if cost_per_row is not None:
        cost_per_row = check_real("predict", "cost_per_row", cost_per_row, above=0)
    stream = draw_stream(profile, most_rows=most_rows, seed=seed)
    schemes = make_all(schemes_to_compare(), workers, costs=stream.has_costs, seed=seed)[0]
    predictions = []
    for label, scheme in (schemes if groupings is None else groupings).items():

        def done(rows: int, label: str = label) -> None:
            if on_progress:
                on_progress(label, rows)

        ready = _with_plan(scheme, stream, seed) if batch else scheme
        loads, memory, keys = _run(ready, stream, sources, done)
        replication = metrics.replication(memory, keys)
        # A scheme that learns is measured on the rest: bring all to the whole stream.
        loads *= profile.rows * (profile.mean_cost or 1.0) / max(loads.sum(), 1.0)
        predictions.append(
            Prediction(
                grouping=label,
                imbalance_percent=metrics.imbalance_percent(loads),
                replication=replication,
                memory=round(replication * profile.keys),
                loads=tuple(loads.tolist()),
                job_seconds=_seconds(loads, stream, cost_per_row),
                splits_keys=bool(scheme.splits_keys),
                drawback=drawback_of(scheme, work),
            )
        )
    return predictions


def drawback_of(scheme: Grouping, work: str) -> str:
    """Say why a scheme does not come into question for some work; nothing where it does.

    >>> from unskew.groupings.partial_key import PartialKey
    >>> drawback_of(PartialKey(4), "atomic")
    'splits keys'
    """
    if scheme.drawback:
        return scheme.drawback
    if work == ATOMIC and scheme.splits_keys:
        return SPLITS_KEYS
    if work != STATELESS and scheme.needs_costs:
        return "only for rows that are worked on by themselves"
    if work == STATELESS and scheme.groups_keys:
        return "groups by key, which the work does not ask for"
    if work == BUILTIN and scheme.name != PLAIN:
        return "Spark combines rows before the shuffle anyway"
    return ""


def _with_plan(scheme: Grouping, stream: InMemoryStream, seed: int) -> Grouping:
    """Return the scheme with a plan from a sample of all rows, if it is one that learns."""
    if not isinstance(scheme, LearnedGrouping) or scheme.is_built:
        return scheme
    chance = np.random.default_rng(seed)
    rows = chance.permutation(stream.rows)[: sample_size(scheme.workers)]
    weights = None if stream.costs is None else stream.costs[rows]
    return copy.deepcopy(scheme).learn(stream.keys[rows], weights=weights).build()


def _run(
    scheme: Grouping, stream: Stream, sources: int, done: Callable[[int], None]
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int, int]:
    """Return the loads, the memory and the number of keys of a run."""
    if not stream.has_costs:
        result = simulate(scheme, stream, sources=sources, on_progress=done)
        return np.array(result.loads, np.float64), result.memory, result.keys
    queue = simulate_queue(scheme, stream, sources=sources, weighted=True, on_progress=done)
    return np.array(queue.busy), queue.placement.memory, queue.placement.keys


def _seconds(
    loads: np.ndarray[Any, np.dtype[np.float64]], stream: Stream, cost_per_row: float | None
) -> float | None:
    if stream.has_costs:
        return float(loads.max()) / 1000.0
    return None if cost_per_row is None else float(loads.max()) * cost_per_row / 1000.0
