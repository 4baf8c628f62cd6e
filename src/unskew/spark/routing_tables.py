"""A plan as the few plain arrays that a running query looks rows up in."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.groupings.dealing import dealing_of
from unskew.groupings.plan import Plan, index_plan, slots_of
from unskew.scheduling import Pieces

TABLES_TYPE = (
    "struct<codes: array<int>, n_codes: bigint, slots: array<int>, n_slots: bigint, "
    "hot: array<bigint>, starts: array<int>, sizes: array<int>, entries: array<int>>"
)
"""The tables as a Spark type: `tables_of` gives their values, `with_planned_worker` reads them."""

_DEPTH = 4  # hot keys that may share a slot: the expression is written before the plan is known
_SLOTS_A_HOT_KEY = 8
_MOST_SLOTS = 1 << 16


def tables_of(plan: Plan) -> dict[str, Any]:
    """Return the tables of ``plan``, ready for JSON.

    ``codes`` says for a fine hash slot the worker, or −1 − the first hot key in it; ``slots`` the
    worker of a slot for keys that are not hot; ``starts``, ``sizes`` and ``entries`` how the rows
    of a hot key are dealt (see `unskew.groupings.dealing`).

    >>> from unskew.groupings.plan import HASHED_MEMBER, hashing_plan
    >>> tables_of(hashing_plan(2, HASHED_MEMBER, 4))["codes"]
    [0, 1, 0, 1]
    """
    fine = _at_most_deep(_with_fine_slots(plan))
    slots = slots_of(fine.hot_ids, fine.slot_member, fine.slot_workers.size)
    order = np.argsort(slots, kind="stable")  # as in the index
    index, dealing = index_plan(fine), dealing_of(fine)
    return {
        "codes": index.slot_codes.tolist(),
        "n_codes": int(index.slot_codes.size),
        "slots": plan.slot_workers.tolist(),
        "n_slots": int(plan.slot_workers.size),
        "hot": index.hot_ids.view(np.int64).tolist(),
        "starts": dealing.starts[order].tolist(),
        "sizes": dealing.sizes[order].tolist(),
        "entries": dealing.entries.tolist(),
    }


def with_planned_worker(
    df: DataFrame, worker: str, *, tables: str, identity: str, position: Column
) -> DataFrame:
    """Return ``df`` with the column ``worker`` (int) as the plan in ``tables`` says.

    As `compiled_routing.worker_column`, but the plan may change under the query, and the rows of a
    split key are dealt by a position that is given. Null without tables.

    Parameters
    ----------
    df, worker
        Where the column is added; two more are, called ``<worker>_code`` and ``<worker>_entry``.
    tables
        A column of type `TABLES_TYPE`.
    identity
        A column of what `keys.identity` returns.
    position
        Where in [0, 2³²) each row falls (bigint); looked at for rows of hot keys alone.
    """
    # Three small steps: one large expression would repeat the lookups, and become a method that
    # is too large for the JVM to compile.
    plan, key = sf.col(tables), sf.col(identity)
    code, entry = sf.col(f"{worker}_code"), sf.col(f"{worker}_entry")
    found = sf.when(code >= 0, sf.lit(None).cast("int"))
    for depth in range(_DEPTH):
        place = sf.lit(depth - 1) - code
        found = found.when(sf.get(plan["hot"], place) == key, place)
    dealt = _dealt(plan, entry, position)
    by_slot = sf.get(plan["slots"], _slot(key, plan["n_slots"]))
    return (
        df.withColumn(f"{worker}_code", sf.get(plan["codes"], _slot(key, plan["n_codes"])))
        .withColumn(f"{worker}_entry", found)
        .withColumn(
            worker, sf.when(code >= 0, code).when(entry.isNotNull(), dealt).otherwise(by_slot)
        )
    )


def _slot(identity: Column, n_slots: Column) -> Column:
    upper = sf.shiftrightunsigned(identity, 32)
    return sf.shiftrightunsigned(upper * n_slots, 32).cast("int")


def _dealt(tables: Column, entry: Column, position: Column) -> Column:
    size = sf.get(tables["sizes"], entry).cast("bigint")
    step = sf.shiftrightunsigned(position * size, 32).cast("int")
    return sf.get(tables["entries"], sf.get(tables["starts"], entry) + step)


def _with_fine_slots(plan: Plan) -> Plan:
    """Cut each slot into equal parts, all on its worker, until few hot keys share one."""
    fine = plan
    while fine.slot_workers.size < _MOST_SLOTS and (
        fine.slot_workers.size < _SLOTS_A_HOT_KEY * plan.hot_ids.size or _depths(fine).max() > 1
    ):
        fine = replace(fine, slot_workers=np.repeat(fine.slot_workers, 2))
    return fine


def _depths(plan: Plan) -> NDArray[np.int64]:
    slots = slots_of(plan.hot_ids, plan.slot_member, plan.slot_workers.size)
    return np.bincount(slots, minlength=1)


def _at_most_deep(plan: Plan) -> Plan:
    """Let hot keys beyond the depth of a slot go with their slot: the lightest ones."""
    if _depths(plan).max() <= _DEPTH:
        return plan
    slots = slots_of(plan.hot_ids, plan.slot_member, plan.slot_workers.size)
    starts, workers, loads = plan.pieces
    weights = np.add.reduceat(loads, starts[:-1])
    order = np.lexsort((-weights, slots))
    first = np.searchsorted(slots[order], slots[order])
    kept = np.sort(order[np.arange(order.size) - first < _DEPTH])
    counts = np.diff(starts)
    chosen = np.repeat(np.isin(np.arange(counts.size), kept), counts)
    new_starts = np.concatenate(([0], np.cumsum(counts[kept])))
    return replace(
        plan,
        hot_ids=plan.hot_ids[kept],
        pieces=Pieces(new_starts, workers[chosen], loads[chosen]),
    )
