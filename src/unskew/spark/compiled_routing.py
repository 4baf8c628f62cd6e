"""A plan as one Catalyst expression: no Python, and no library of ours, where the rows are."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column

from unskew.errors import InvalidParameterError
from unskew.groupings.dealing import (
    POSITION_MASK,
    ROW_BITS,
    ROW_MASK,
    ROW_STEP,
    SOURCE_STEP,
    Dealing,
    dealing_of,
)
from unskew.groupings.plan import HASHED_MEMBER, Plan, index_plan, slots_of

_SLOTS_A_HOT_KEY = 8  # so that a slot seldom has two of them
_MOST_SLOTS = 1 << 18


def worker_column(identity: Column, plan: Plan, *, position: Column | None = None) -> Column:
    """Return the worker (int) of each row as ``plan`` says, in generated code.

    Where no key is split the worker depends on ``identity`` alone. The rows of a split key are
    dealt to its workers, in proportion to their planned loads, by ``position``: exactly as
    `deal_planned` deals them. It is evaluated for the rows of hot keys alone.

    Parameters
    ----------
    identity
        What `keys.identity` returns.
    plan
        A plan for identities that are hashes already (`learning.learn` makes such).
    position
        Where, in [0, 2³²), each row falls (bigint); needed only if the plan splits keys. See
        `number_position` and `row_contents.content_position`.

    Raises
    ------
    InvalidParameterError
        Where the plan was learned from other identities, or splits keys and there is no
        ``position``.
    """
    check_plan(plan)
    if plan.n_split_keys and position is None:
        expected = "a column where a plan splits keys"
        raise InvalidParameterError("worker_column", "position", expected, None)
    if plan.hot_ids.size == 0:
        return _slot_worker(identity, plan)
    fine = _with_fine_slots(plan)
    slots = slots_of(fine.hot_ids, fine.slot_member, fine.slot_workers.size)
    order = np.argsort(slots, kind="stable")  # as in the index
    index, dealing = index_plan(fine), dealing_of(fine)
    code = _element(index.slot_codes, slot_column(identity, fine.slot_workers.size))
    # Hot keys first: only what the first condition has twice, as this one has the identity, does
    # Spark compute once a row; after `code >= 0` it would hash the key anew at every mention.
    worker: Any = sf
    for depth in range(int(np.unique(slots, return_counts=True)[1].max())):
        entry = sf.lit(depth - 1) - code  # below 0 where the slot has no hot key: finds nothing
        is_it = _element(index.hot_ids.view(np.int64), entry, "bigint") == identity
        worker = worker.when(is_it, _dealt(dealing, order, entry, position))
    placed: Column = worker.when(code >= 0, code).otherwise(_slot_worker(identity, plan))
    return placed


def number_position(row_number: Column) -> Column:
    """Return where, in [0, 2³²), each row falls (bigint) by its number, as `positions_of` does.

    Parameters
    ----------
    row_number
        A column of ``monotonically_increasing_id()``. It has to be a column of its own: the
        function itself, inside an expression, would count only those rows for which it is
        evaluated.
    """
    rows = _row(row_number) * sf.lit(ROW_STEP)
    return (rows + _source(row_number) * sf.lit(SOURCE_STEP)).bitwiseAND(sf.lit(POSITION_MASK))


def round_robin_column(workers: int, row_number: Column) -> Column:
    """Return workers (int) in turn, where neighbouring partitions start with neighbours.

    Parameters
    ----------
    workers
        Number of workers.
    row_number
        A column of ``monotonically_increasing_id()``.
    """
    return sf.pmod(_row(row_number) + _source(row_number), sf.lit(workers)).cast("int")


def check_plan(plan: Plan) -> None:
    """Raise if ``plan`` was learned from other identities than those that Spark computes."""
    if not np.array_equal(plan.slot_member, HASHED_MEMBER):
        raise InvalidParameterError(
            "unskew.spark",
            "plan",
            "one that was learned from the identities that Spark computes",
            plan,
            hint="let balance or unskew.spark.learning.learn make it",
        )


def _with_fine_slots(plan: Plan) -> Plan:
    """Cut each slot into equal parts, all on its worker, until hot keys seldom share one."""
    times = 1
    wanted = min(_SLOTS_A_HOT_KEY * plan.hot_ids.size, _MOST_SLOTS)
    while plan.slot_workers.size * times < wanted:
        times *= 2
    return replace(plan, slot_workers=np.repeat(plan.slot_workers, times))


def _slot_worker(identity: Column, plan: Plan) -> Column:
    slot = slot_column(identity, plan.slot_workers.size)
    if np.array_equal(plan.slot_workers, np.arange(plan.slot_workers.size)):
        return slot
    return _element(plan.slot_workers, slot)


def slot_column(identity: Column, n_slots: int) -> Column:
    """Return the hash slot (int) of each identity, as `slots_of` does with `HASHED_MEMBER`."""
    if n_slots == 1:
        return sf.lit(0)
    bits = n_slots.bit_length() - 1
    if n_slots == 1 << bits:
        return sf.shiftrightunsigned(identity, 64 - bits).cast("int")
    upper = sf.shiftrightunsigned(identity, 32)
    return sf.shiftrightunsigned(upper * sf.lit(n_slots).cast("bigint"), 32).cast("int")


def _dealt(
    dealing: Dealing, order: NDArray[np.int64], entry: Column, position: Column | None
) -> Column:
    if position is None:
        return _element(dealing.entries[dealing.starts[order]], entry)
    size = _element(dealing.sizes[order], entry, "bigint")
    step = sf.shiftrightunsigned(position * size, 32).cast("int")
    return _element(dealing.entries, _element(dealing.starts[order], entry) + step)


def _row(row_number: Column) -> Column:
    return row_number.bitwiseAND(sf.lit(ROW_MASK).cast("bigint"))


def _source(row_number: Column) -> Column:
    return sf.shiftrightunsigned(row_number, ROW_BITS)


def _element(values: NDArray[np.integer], at: Column, kind: str = "int") -> Column:
    """Look up ``values[at]`` in constant time.

    The text is read once, when the query is optimised; an ``array`` of so many literals would
    take the analyser seconds, and a map is searched from its start.
    """
    text = ",".join(map(str, values.tolist()))
    return sf.get(sf.split(sf.lit(text), ",").cast(f"array<{kind}>"), at)
