"""Compile a plan to Catalyst expressions: no Python, and no library of ours, where the rows are.

A plan becomes a few plain arrays (`tables_of`) in which a row is looked up. In a batch they stand
in the query itself (`worker_column`); a stream reads them again in every micro-batch, since its
plan changes while the query runs (`with_planned_worker`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.errors import InvalidParameterError
from unskew.groupings.plan import Plan, check_plan, index_plan, slots_of
from unskew.groupings.split_tables import (
    POSITION_MASK,
    ROW_BITS,
    ROW_MASK,
    ROW_STEP,
    SOURCE_STEP,
    split_table,
)
from unskew.scheduling import Pieces

TABLES_TYPE = (
    "struct<codes: array<int>, n_codes: bigint, slots: array<int>, n_slots: bigint, "
    "hot: array<bigint>, starts: array<int>, sizes: array<int>, entries: array<int>>"
)
"""The tables of a stream's plan as a Spark type."""

Tables: TypeAlias = dict[str, NDArray[Any]]
_Lookup: TypeAlias = Callable[[str, Column], Column]
"""The element of the table of this name at a place."""

_BIGINTS = ("hot", "sizes")
_SLOTS_PER_HOT_KEY = 8  # so that a slot seldom has two of them
_MOST_SLOTS = 1 << 18
_MOST_LIVE_SLOTS = 1 << 16
_LIVE_DEPTH = 4  # hot keys that may share a slot where the expression is older than the plan


def worker_column(identity: Column, plan: Plan, *, position: Column | None = None) -> Column:
    """Return the worker (int) of each row as ``plan`` says, in generated code.

    Where no key is split the worker depends on ``identity`` alone. The rows of a split key are
    spread over its workers, in proportion to their planned loads, by ``position`` (see
    `groupings.split_tables`), which is evaluated for the rows of hot keys alone.

    Parameters
    ----------
    identity
        The result of `columns.identity`.
    plan
        A plan for identities that are hashes already (`learning.learn` makes such).
    position
        Where, in [0, 2³²), each row falls (bigint); needed only if the plan splits keys. See
        `number_position` and `contents.content_position`.

    Raises
    ------
    InvalidParameterError
        Where the plan was learned from other identities, or splits keys and there is no
        ``position``.
    """
    check_plan("worker_column", plan)
    if plan.n_split_keys and position is None:
        expected = "a column where a plan splits keys"
        raise InvalidParameterError("worker_column", "position", expected, None)
    if plan.hot_ids.size == 0:
        return _slot_worker(identity, plan)
    fine = _with_fine_slots(plan, deepest=plan.hot_ids.size, most=_MOST_SLOTS)
    tables = tables_of(fine)
    tables["firsts"] = tables["entries"][tables["starts"]]

    def lookup(name: str, at: Column) -> Column:
        return element(tables[name], at, "bigint" if name in _BIGINTS else "int")

    code = lookup("codes", slot_column(identity, fine.slot_workers.size))
    # Hot keys first: only what the first condition has twice, as this one has the identity, does
    # Spark compute once per row; after `code >= 0` it would hash the key again at every mention.
    worker: Any = sf
    for depth in range(int(_depths(fine).max())):
        entry = _entry(code, depth)
        is_it = lookup("hot", entry) == identity
        worker = worker.when(is_it, _hot_worker(lookup, entry, position))
    placed: Column = worker.when(code >= 0, code).otherwise(_slot_worker(identity, plan))
    return placed


def with_planned_worker(
    df: DataFrame, worker: str, *, tables: str, identity: str, position: Column
) -> DataFrame:
    """Return ``df`` with the column ``worker`` (int) as the plan in ``tables`` says.

    As `worker_column`, but the plan may change under the query. Null without tables.

    Parameters
    ----------
    df, worker
        Where the column is added; two more are, called ``<worker>_code`` and ``<worker>_entry``.
    tables
        A column of type `TABLES_TYPE`.
    identity
        A column of identities.
    position
        Where in [0, 2³²) each row falls (bigint); looked at for rows of hot keys alone.
    """
    plan, key = sf.col(tables), sf.col(identity)

    def lookup(name: str, at: Column) -> Column:
        found = sf.get(plan[name], at)
        return found.cast("bigint") if name in _BIGINTS else found

    # Three small steps: one large expression would repeat the lookups, and become a method that
    # is too large for the JVM to compile.
    code, entry = sf.col(f"{worker}_code"), sf.col(f"{worker}_entry")
    found = sf.when(code >= 0, sf.lit(None).cast("int"))
    for depth in range(_LIVE_DEPTH):
        found = found.when(lookup("hot", _entry(code, depth)) == key, _entry(code, depth))
    hot = _hot_worker(lookup, entry, position)
    by_slot = lookup("slots", _scaled_slot(key, plan["n_slots"]))
    return (
        df.withColumn(f"{worker}_code", lookup("codes", _scaled_slot(key, plan["n_codes"])))
        .withColumn(f"{worker}_entry", found)
        .withColumn(
            worker, sf.when(code >= 0, code).when(entry.isNotNull(), hot).otherwise(by_slot)
        )
    )


def tables_of(plan: Plan) -> Tables:
    """Return the arrays that rows are looked up in.

    ``codes`` says for a hash slot the worker, or −1 − the first hot key in it; ``hot`` the identity
    of each hot key; ``starts``, ``sizes`` and ``entries`` how the rows of a hot key are spread (see
    `unskew.groupings.split_tables`).

    >>> from unskew.groupings.plan import HASHED_MEMBER, hashing_plan
    >>> tables_of(hashing_plan(2, HASHED_MEMBER, 4))["codes"].tolist()
    [0, 1, 0, 1]
    """
    slots = slots_of(plan.hot_ids, plan.slot_member, plan.slot_workers.size)
    order = np.argsort(slots, kind="stable")  # as in the index
    index, table = index_plan(plan), split_table(plan)
    return {
        "codes": index.slot_codes,
        "hot": index.hot_ids.view(np.int64),
        "starts": table.starts[order],
        "sizes": table.sizes[order],
        "entries": table.entries,
    }


def live_tables(plan: Plan) -> dict[str, Any]:
    """Return the tables of a stream's plan, ready for JSON, as `TABLES_TYPE` has them.

    The expression of a stream is written before its plan is known. It looks at no more than four
    hot keys per slot; beyond, the lightest of them go with their slot.
    """
    fine = _with_fine_slots(plan, deepest=1, most=_MOST_LIVE_SLOTS)
    tables = tables_of(_at_most_deep(fine))
    return {
        **{name: table.tolist() for name, table in tables.items()},
        "n_codes": int(tables["codes"].size),
        "slots": plan.slot_workers.tolist(),
        "n_slots": int(plan.slot_workers.size),
    }


def number_position(row_number: Column) -> Column:
    """Return where, in [0, 2³²), each row falls (bigint) by its number.

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
    """Return workers (int) round-robin, where neighbouring partitions start with neighbours.

    Parameters
    ----------
    workers
        Number of workers.
    row_number
        A column of ``monotonically_increasing_id()``.
    """
    return sf.pmod(_row(row_number) + _source(row_number), sf.lit(workers)).cast("int")


def slot_column(identity: Column, n_slots: int) -> Column:
    """Return the hash slot (int) of each identity, as `slots_of` does with `HASHED_MEMBER`."""
    if n_slots == 1:
        return sf.lit(0)
    bits = n_slots.bit_length() - 1
    if n_slots == 1 << bits:
        return sf.shiftrightunsigned(identity, 64 - bits).cast("int")
    return _scaled_slot(identity, sf.lit(n_slots).cast("bigint"))


def _slot_worker(identity: Column, plan: Plan) -> Column:
    slot = slot_column(identity, plan.slot_workers.size)
    if np.array_equal(plan.slot_workers, np.arange(plan.slot_workers.size)):
        return slot
    return element(plan.slot_workers, slot)


def _scaled_slot(identity: Column, n_slots: Column) -> Column:
    upper = sf.shiftrightunsigned(identity, 32)
    return sf.shiftrightunsigned(upper * n_slots, 32).cast("int")


def _entry(code: Column, depth: int) -> Column:
    """Return the number of a slot's hot key; below 0, where nothing is found, if it has none."""
    return sf.lit(depth - 1) - code


def _hot_worker(lookup: _Lookup, entry: Column, position: Column | None) -> Column:
    if position is None:
        return lookup("firsts", entry)
    step = sf.shiftrightunsigned(position * lookup("sizes", entry), 32).cast("int")
    return lookup("entries", lookup("starts", entry) + step)


def _row(row_number: Column) -> Column:
    return row_number.bitwiseAND(sf.lit(ROW_MASK).cast("bigint"))


def _source(row_number: Column) -> Column:
    return sf.shiftrightunsigned(row_number, ROW_BITS)


def element(values: NDArray[np.integer], at: Column, kind: str = "int") -> Column:
    """Look up ``values[at]`` in constant time."""
    return sf.get(literal_array(values, kind), at)


def literal_array(values: NDArray[np.integer], kind: str = "int") -> Column:
    """Return an array of numbers as one literal.

    The text is read once, when the query is optimised; an ``array`` of so many literals would
    take the analyser seconds, and a map is searched from its start.
    """
    return sf.split(sf.lit(",".join(map(str, values.tolist()))), ",").cast(f"array<{kind}>")


def _with_fine_slots(plan: Plan, *, deepest: int, most: int) -> Plan:
    """Cut each slot into equal parts, all on its worker, until few hot keys share one."""
    fine = plan
    while fine.slot_workers.size < most and (
        fine.slot_workers.size < _SLOTS_PER_HOT_KEY * plan.hot_ids.size
        or _depths(fine).max() > deepest
    ):
        fine = replace(fine, slot_workers=np.repeat(fine.slot_workers, 2))
    return fine


def _depths(plan: Plan) -> NDArray[np.int64]:
    """Return how many hot keys each slot has."""
    slots = slots_of(plan.hot_ids, plan.slot_member, plan.slot_workers.size)
    return np.bincount(slots, minlength=1)


def _at_most_deep(plan: Plan) -> Plan:
    """Let hot keys beyond the depth of a slot go with their slot: the lightest ones."""
    if _depths(plan).max() <= _LIVE_DEPTH:
        return plan
    slots = slots_of(plan.hot_ids, plan.slot_member, plan.slot_workers.size)
    starts, workers, loads = plan.pieces
    weights = np.add.reduceat(loads, starts[:-1])
    order = np.lexsort((-weights, slots))
    first = np.searchsorted(slots[order], slots[order])
    kept = np.sort(order[np.arange(order.size) - first < _LIVE_DEPTH])
    counts = np.diff(starts)
    chosen = np.repeat(np.isin(np.arange(counts.size), kept), counts)
    new_starts = np.concatenate(([0], np.cumsum(counts[kept])))
    return replace(
        plan,
        hot_ids=plan.hot_ids[kept],
        pieces=Pieces(new_starts, workers[chosen], loads[chosen]),
    )
