"""Which groupings run on Spark, and how: as a plan, in turn, or row by row."""

from dataclasses import replace
from typing import Any

import numpy as np

from unskew.errors import InvalidParameterError
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.base import Grouping
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan
from unskew.groupings.registry import grouping_class, make_grouping
from unskew.groupings.single import Single
from unskew.hashing import Ids
from unskew.scheduling import Pieces

PLANNED = ("key", "universal", "single", "distribution-aware", "wrap", "popularity")
"""Schemes that are a table within an epoch: compiled to an expression."""
IN_TURN = ("shuffle",)
"""Schemes that do not look at the key."""
ONLINE = ("partial-key", "dynamic-key", "d-choices", "w-choices")
"""Schemes that decide row by row, in Python workers."""
RUNNABLE = (*PLANNED, *IN_TURN, *ONLINE)

_MOST_SLOTS = 65_536
_SLOTS_A_WORKER = 64


def grouping_for(grouping: str | Grouping, workers: int, *, seed: int = 0) -> Grouping:
    """Return the grouping that a name, a spec or an object stands for, if it runs on Spark.

    Raises
    ------
    InvalidParameterError
        Where it cannot run on Spark (the message names those that can) or is for another number
        of workers.

    Examples
    --------
    On Spark a table travels with every query, so wrap makes do with 64 slots a worker:

    >>> grouping_for("wrap", 8).slots
    512
    >>> grouping_for("optimal", 8)
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: unskew.spark: grouping must be one of those that ...
    """
    if isinstance(grouping, str):
        _refuse_name(grouping.partition(":")[0].strip())
        made = make_grouping(_with_few_slots(grouping, workers), workers, seed=seed)
        return _hashed(_refuse_parameters(made))
    if not isinstance(grouping, Grouping):
        raise InvalidParameterError(
            "unskew.spark", "grouping", "a name, a spec or a Grouping", grouping
        )
    _refuse_name(grouping.name)
    if grouping.workers != workers:
        raise InvalidParameterError(
            "unskew.spark", "grouping", f"one for {workers} workers", grouping
        )
    return _hashed(_refuse_parameters(grouping))


def hashed_plan(grouping: Grouping) -> Plan:
    """Return the plan of a scheme that knows no hot keys: a slot a worker, or one for all.

    >>> hashed_plan(grouping_for("key", 4)).slot_workers.tolist()
    [0, 1, 2, 3]
    >>> hashed_plan(grouping_for("single", 4)).slot_workers.tolist()
    [0]
    """
    n_slots = 1 if isinstance(grouping, Single) else grouping.workers
    return hashing_plan(grouping.workers, HASHED_MEMBER, n_slots)


def shuffling_plan(grouping: Grouping, hot_ids: Ids) -> Plan:
    """Return the plan of a scheme that deals hot keys to all workers alike and hashes the others.

    >>> shuffling_plan(grouping_for("popularity", 3), np.array([7], np.uint64))
    Plan: 3 workers, 1 key split, predicted imbalance 0.0 %
    """
    workers = grouping.workers
    placed = np.tile(np.arange(workers, dtype=np.int32), hot_ids.size)
    starts = np.arange(hot_ids.size + 1, dtype=np.int64) * workers
    pieces = Pieces(starts, placed, np.ones(placed.size))
    return replace(hashed_plan(grouping), hot_ids=hot_ids, pieces=pieces)


def runs_online(grouping: Grouping) -> bool:
    """Whether the scheme decides row by row, in Python workers."""
    return grouping.name in ONLINE


def few_slots(workers: int) -> int:
    """Return how many hash slots a compiled plan should have.

    >>> few_slots(10), few_slots(100_000)
    (1024, 65536)
    """
    return min(1 << (_SLOTS_A_WORKER * workers - 1).bit_length(), _MOST_SLOTS)


def _with_few_slots(spec: str, workers: int) -> str:
    name, _, rest = spec.partition(":")
    if name.strip() != "wrap" or "slots" in rest:
        return spec
    return f"wrap:slots={few_slots(workers)},{rest}"


def _hashed(grouping: Grouping) -> Grouping:
    """Let a scheme that has learned nothing yet learn from the identities that Spark computes."""
    if isinstance(grouping, PlannedGrouping) and not grouping.is_built:
        return grouping.for_source(0, 1)._with_hashed_keys()
    return grouping


def _refuse_name(name: str) -> None:
    grouping_class(name)
    if name not in RUNNABLE:
        raise InvalidParameterError(
            "unskew.spark",
            "grouping",
            f"one of those that run on Spark ({', '.join(RUNNABLE)})",
            name,
        )


def _refuse_parameters(grouping: Grouping) -> Grouping:
    needed: dict[str, Any] = {"hashes": "mixed", "load": "local", "adaptive": False}
    for parameter, only in needed.items():
        if getattr(grouping, parameter, only) != only:
            raise InvalidParameterError(
                "unskew.spark",
                parameter,
                f"{only!r} on Spark, where a task sees only identities, and only its own",
                getattr(grouping, parameter),
            )
    return grouping
