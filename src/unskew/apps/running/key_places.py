"""On which workers a key is, where a plan or its hash alone says so."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from unskew.apps.placing import Placing
from unskew.events import Epoch
from unskew.groupings.key import KeyGrouping
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan, places_of
from unskew.spark.plans.saved import PlanStore

KeyPlaces = Callable[[int], tuple[int, ...]]
"""Takes the identity of a key and gives the workers that it is on; none if that is not known."""


def key_places(placing: Placing, epoch: Epoch | None) -> KeyPlaces:
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


def _plan(placing: Placing, epoch: Epoch | None) -> Plan | None:
    if epoch is not None and epoch.version > 0 and placing.plan_path is not None:
        return PlanStore(Path(placing.plan_path)).plan_of(epoch.version)
    is_hashed = placing.grouping == KeyGrouping.name if epoch is None else epoch.version == 0
    return hashing_plan(placing.workers, HASHED_MEMBER, placing.workers) if is_hashed else None
