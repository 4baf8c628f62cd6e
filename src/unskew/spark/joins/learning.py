"""Count the keys of both sides of a join, by a sample or in one pass, and plan it."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.groupings.auto import is_worth_planning
from unskew.groupings.plan import HASHED_MEMBER, Plan, slots_of
from unskew.groupings.planned import sample_size
from unskew.hashing import Ids, distinct, identities
from unskew.scheduling import LoadArray, Pieces, sums_of
from unskew.spark.columns import quoted
from unskew.spark.joins.planning import (
    FINE_SLOTS,
    Copying,
    Counts,
    Layout,
    hashed_loads,
    lay_out,
    rows_out,
)
from unskew.spark.plans.join_plan import JoinPlan
from unskew.spark.routing.contents import MOST_DEVIATION, likely_columns
from unskew.spark.routing.expression import slot_column
from unskew.spark.routing.learning import take_sample, telling_columns
from unskew.spark.versions import to_arrow

_log = logging.getLogger("unskew.spark")
_COUNTED_KEYS = 4_096  # heaviest of a side, whose rows on the other side are counted one by one
_ENOUGH = 30  # rows in a sample by which a key is known
_DEVIATIONS = 3.0
_GAIN = 0.99  # keys are cut where the busiest worker then has at most this part of its work


class Side(NamedTuple):
    """One side of a join: its rows, and its key columns, of the types that both sides have."""

    df: DataFrame
    keys: list[str]

    @property
    def key_columns(self) -> list[Column]:
        """The key columns."""
        return [sf.col(quoted(name)) for name in self.keys]

    @property
    def identity(self) -> Column:
        """The hash (bigint) of a key without nulls: the same on both sides."""
        return sf.xxhash64(*self.key_columns)

    @property
    def is_null(self) -> Column:
        """Whether some column of the key is null, so that the row matches nothing."""
        nulls = [column.isNull() for column in self.key_columns]
        any_null = nulls[0]
        for one in nulls[1:]:
            any_null = any_null | one
        return any_null

    def matching(self) -> "Side":
        """Return the rows whose keys can match something."""
        return self._replace(df=self.df.where(~self.is_null))


class Learned(NamedTuple):
    """What is known of two sides."""

    counts: Counts
    noise: float
    """By how much a worker may look more loaded than it is, in percent: chance in samples."""
    rows: tuple[float, float]
    seed: int | None = None
    """What picked the samples; None where all rows were counted."""


class Question(NamedTuple):
    """The join that is to be planned."""

    left: Side
    right: Side
    how: str
    by: tuple[Sequence[str], Sequence[str]]
    """The key columns of either side as the user calls them."""
    types: tuple[str, ...]


def learn_join(question: Question, workers: int, *, learn: str, seed: int) -> Learned:
    """Count the rows of keys on both sides.

    ``sample``: a count and a sample of either side; then, of a side of which only a part was
    seen, one count of the rows of those keys that are frequent on the other. ``pass``: one native
    aggregation over all rows of both sides.
    """
    left, right, how = question.left, question.right, question.how
    if learn == "pass":
        counts = _count_both(left, right, how)
        rows = (
            float(counts.left.sum() + counts.slot_left.sum() + counts.null_left),
            float(counts.right.sum() + counts.slot_right.sum() + counts.null_right),
        )
        return Learned(counts, 0.0, rows)
    return _from_samples(left, right, how, workers, seed)


def plan_join(
    question: Question,
    workers: int,
    copying: Copying,
    *,
    worthwhile: float | None,
    learn: str,
    seed: int,
) -> JoinPlan:
    """Return a plan for the join of two sides, or for plain hashing if that is about as fast.

    Parameters
    ----------
    question
        What is joined, and how.
    workers
        Number of workers.
    copying
        Which side's rows may be copied.
    worthwhile
        The share of the time that a plan has to save, as for ``auto``; None plans in any case.
    learn, seed
        As for `learn_join`.
    """
    learned = learn_join(question, workers, learn=learn, seed=seed)
    return plan_learned(question, learned, workers, copying, worthwhile=worthwhile)


def plan_learned(
    question: Question,
    learned: Learned,
    workers: int,
    copying: Copying,
    *,
    worthwhile: float | None,
) -> JoinPlan:
    """Return the plan that follows from what was learned; the parameters are as for `plan_join`."""
    how = question.how
    nulls = _null_work(how, learned.counts)
    hashed = hashed_loads(learned.counts, how, workers, nulls)
    cut, whole = lay_out(learned.counts, how, workers, copying, nulls)
    layout = cut if cut.loads.max() < _GAIN * whole.loads.max() else whole
    about = f"two DataFrames, by a {'pass' if learned.seed is None else 'sample'}"
    plan = _as_plan(layout, question, hashed, learned.rows, about)
    if worthwhile is not None:
        verdict = is_worth_planning(
            "wrap",
            # Copies are work, too: what counts is the busiest worker, not how even all are.
            planned=100 * (float(layout.loads.max()) / max(float(hashed.mean()), 1e-300) - 1),
            hashing=plan.hashed_imbalance,
            noise=learned.noise,
            worthwhile=worthwhile,
        )
        if verdict.follow_plan:
            plan = replace(plan, why=verdict.why)
        else:
            plain = _hashing_layout(workers, hashed)
            plan = _as_plan(plain, question, hashed, learned.rows, about)
            plan = replace(plan, why=verdict.why, grouping="key")
        _log.info("join planned for %d workers: %s", workers, verdict.why)
    spread_by, other_spread_by = _telling(question, learned, plan)
    return replace(plan, spread_by=spread_by, other_spread_by=other_spread_by)


def _telling(
    question: Question, learned: Learned, plan: JoinPlan
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return by which columns of either side the rows of its cut keys can be spread.

    A sample of a side whose keys are cut shows it: no other side needs one of its contents. There
    are none where chance alone would make the work uneven: the fewer rows a cut key has, and the
    more comes out of each, the more they have to be counted one by one.
    """
    found: list[tuple[str, ...]] = []
    for number, side in enumerate((question.left, question.right)):
        cut, _ = plan.side(left=number == 0)
        rows = (learned.counts.left, learned.counts.right)[number]
        columns = likely_columns(side.df, side.keys) if learned.seed is not None else []
        is_even = _chance(plan, cut, learned.counts.ids, rows) <= MOST_DEVIATION
        if learned.seed is None or not (columns and cut.n_split_keys and is_even):
            found.append(())
            continue
        sample = take_sample(
            side.df,
            _known_identity(side),
            sample_size(plan.workers),
            learned.seed + number,
            columns,
            total=int(learned.rows[number]),
        )
        found.append(telling_columns(sample, cut, columns))
    return found[0], found[1]


def _chance(plan: JoinPlan, side: Plan, ids: Ids, rows: LoadArray) -> float:
    """Return how far chance puts a worker's work off its plan, as a share of the average.

    Of n rows with the work v a worker whose share is s gets s·v, with a variance of v² s(1 − s)/n.
    """
    order = np.argsort(ids)
    variances = np.zeros(plan.workers)
    for at in range(plan.hot_ids.size):
        first, end = plan.pieces.starts[at], plan.pieces.starts[at + 1]
        shares = side.pieces.loads[side.pieces.starts[at] : side.pieces.starts[at + 1]]
        if shares.size > 1:
            n = rows[order[np.searchsorted(ids[order], plan.hot_ids[at])]]
            work = plan.pieces.loads[first:end].sum() ** 2 / max(n, 1.0)
            typical = float(np.mean(shares * (1 - shares))) * shares.size / (end - first)
            variances[plan.pieces.workers[first:end]] += work * typical
    mean = float(plan.predicted_loads.mean())
    return float(np.sqrt(variances.max())) / mean if mean > 0 else 0.0


def _as_plan(
    layout: Layout,
    question: Question,
    hashed: LoadArray,
    rows: tuple[float, float],
    learned_from: str,
) -> JoinPlan:
    cells = layout.grid_rows * layout.grid_columns
    return JoinPlan(
        workers=hashed.size,
        slot_member=HASHED_MEMBER,
        slot_workers=layout.slot_workers,
        hot_ids=layout.ids,
        pieces=Pieces(
            np.concatenate(([0], np.cumsum(cells))).astype(np.int64),
            layout.cell_workers,
            layout.cell_loads,
        ),
        predicted_loads=layout.loads,
        by=tuple(question.by[0]),
        types=question.types,
        grouping="wrap",
        learned_from=learned_from,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        other_by=tuple(question.by[1]),
        how=question.how,
        grid_columns=layout.grid_columns,
        left_shares=layout.left_shares,
        right_shares=layout.right_shares,
        null_shares=layout.null_shares,
        hashed_loads=hashed,
        copies=layout.copies,
        left_rows=rows[0],
        right_rows=rows[1],
    )


def _hashing_layout(workers: int, loads: LoadArray) -> Layout:
    nothing, none = np.empty(0), np.empty(0, np.int64)
    return Layout(
        slot_workers=np.arange(workers, dtype=np.int32),
        ids=np.empty(0, np.uint64),
        grid_rows=none,
        grid_columns=none,
        cell_workers=np.empty(0, np.int32),
        cell_loads=nothing,
        left_shares=nothing,
        right_shares=nothing,
        null_shares=np.full(workers, 1 / workers),
        loads=loads,
        copies=0.0,
    )


def _null_work(how: str, counts: Counts) -> float:
    """Return the work of rows with a null key, of sides whose unmatched rows come out."""
    left = counts.null_left if how in ("left", "full", "anti") else 0.0
    right = counts.null_right if how in ("right", "full") else 0.0
    return 2.0 * (left + right)  # each comes in, and goes out


class _Keys(NamedTuple):
    """Distinct keys of a sample, and how often each was seen."""

    ids: Ids
    rows: LoadArray


def _from_samples(left: Side, right: Side, how: str, workers: int, seed: int) -> Learned:
    size = sample_size(workers)
    samples = [
        take_sample(side.df, _known_identity(side), size, seed + number)
        for number, side in enumerate((left, right))
    ]
    shares = [one.ids.size / one.rows if one.ids.size else 1.0 for one in samples]
    seen = [_counted(one.ids) for one in samples]
    nulls = [_take_nulls(one) for one in seen]
    keys = [one for one, _ in nulls]
    ids = distinct(np.concatenate([keys[0].ids, keys[1].ids]))
    found = [_aligned(ids, one) for one in keys]
    exact = [_counted_here(side, share, keys[1 - number]) for number, (side, share) in
             enumerate(zip((left, right), shares, strict=True))]  # fmt: skip
    rows = [one / share for one, share in zip(found, shares, strict=True)]
    sure = [(one >= _ENOUGH) | (share >= 1.0) for one, share in zip(found, shares, strict=True)]
    for number, counted in enumerate(exact):
        if counted is not None:
            at = np.searchsorted(ids, counted.ids)
            rows[number][at], sure[number][at] = counted.rows, True
    kept = _heaviest(rows[0], rows[1], how, sure[0] & sure[1], workers)
    counts = _counts(ids, rows[0], rows[1], how, kept, smooth=max(shares) < 1.0)
    fewest = min((one.ids.size for one in samples if one.ids.size < one.rows), default=0)
    noise = _DEVIATIONS * 100 * float(np.sqrt(workers / fewest)) if fewest else 0.0
    return Learned(
        counts._replace(null_left=nulls[0][1] / shares[0], null_right=nulls[1][1] / shares[1]),
        noise,
        (float(samples[0].rows), float(samples[1].rows)),
        seed,
    )


_NULL = np.uint64(0)
"""The identity that stands for null keys while learning; a key with this hash is taken for one."""


def _known_identity(side: Side) -> Column:
    return sf.when(side.is_null, sf.lit(0).cast("bigint")).otherwise(side.identity)


def _counted(ids: Ids) -> _Keys:
    found, rows = np.unique(ids, return_counts=True)
    return _Keys(found, rows.astype(np.float64))


def _take_nulls(keys: _Keys) -> tuple[_Keys, float]:
    is_null = keys.ids == _NULL
    return _Keys(keys.ids[~is_null], keys.rows[~is_null]), float(keys.rows[is_null].sum())


def _aligned(ids: Ids, keys: _Keys) -> LoadArray:
    rows = np.zeros(ids.size)
    rows[np.searchsorted(ids, keys.ids)] = keys.rows
    return rows


def _counted_here(side: Side, share: float, other: _Keys) -> _Keys | None:
    """Count, on a side that was seen in part, the keys that are frequent on the other one.

    A key with a million rows on one side and two on the other would mostly be missing from a
    sample of the other, or there as if it had a hundred rows.
    """
    frequent = other.ids[other.rows >= _ENOUGH]
    if share >= 1.0 or frequent.size == 0:
        return None
    order = np.argsort(-other.rows[other.rows >= _ENOUGH], kind="stable")
    heaviest = np.sort(frequent[order[:_COUNTED_KEYS]])
    wanted = sf.split(sf.lit(",".join(map(str, np.sort(heaviest.view(np.int64)).tolist()))), ",")
    ids = side.df.sparkSession.range(1).select(sf.explode(wanted.cast("array<bigint>")).alias("id"))
    rows = side.df.select(_known_identity(side).alias("id"))
    table = to_arrow(rows.join(sf.broadcast(ids), "id").groupBy("id").count())
    counted = _Keys(identities(table["id"]), table["count"].to_numpy().astype(np.float64))
    order = np.argsort(counted.ids)
    found = _Keys(counted.ids[order], counted.rows[order])
    return _Keys(heaviest, _aligned(heaviest, found))


def _heaviest(
    left: LoadArray, right: LoadArray, how: str, sure: NDArray[np.bool_], workers: int
) -> NDArray[np.int64]:
    """Return the keys with most work, of those whose rows are known well enough."""
    work = np.where(sure, left + right + rows_out(how, left, right), 0.0)
    most = min(max(_COUNTED_KEYS, 64 * workers), int(sure.sum()))
    return np.sort(np.argsort(-work, kind="stable")[:most])


def _counts(
    ids: Ids,
    left: LoadArray,
    right: LoadArray,
    how: str,
    kept: NDArray[np.int64],
    *,
    smooth: bool,
) -> Counts:
    """Keep the keys ``kept`` one by one, and sum up the others by hash slot."""
    out = rows_out(how, left, right)
    rest = np.delete(np.arange(ids.size), kept)
    slots = slots_of(ids[rest], HASHED_MEMBER, FINE_SLOTS)
    slot_left, slot_right, slot_out = (
        sums_of(one[rest], slots, FINE_SLOTS) for one in (left, right, out)
    )
    if smooth:
        slot_out = _smoothed(slot_left, slot_right, float(slot_out.sum()))
    return Counts(ids[kept], left[kept], right[kept], slot_left, slot_right, slot_out)


def _smoothed(left: LoadArray, right: LoadArray, out: float) -> LoadArray:
    """Spread what the rows of all cold keys give over their slots, by the rows in these.

    Of two samples the product of a cold key's counts is hardly known, but the sum of all is. Where
    a slot has a part more than the average of either side's rows, as much more comes out of it.
    """
    relative = [one / one.mean() for one in (left, right) if one.any()]
    if not relative:
        return np.zeros_like(left)
    parts: LoadArray = np.maximum(sum(relative) - (len(relative) - 1.0), 0.0)
    return parts * (out / float(parts.sum()))


def _count_both(left: Side, right: Side, how: str) -> Counts:
    """Count all rows of both sides by fine hash slot, with the heaviest key of each: one job."""
    sides = [
        side.df.select(
            side.identity.alias("id"),
            side.is_null.alias("null"),
            sf.lit(1 - number).cast("bigint").alias("l"),
            sf.lit(number).cast("bigint").alias("r"),
        )
        for number, side in enumerate((left, right))
    ]
    both = sides[0].unionAll(sides[1])
    keys = both.groupBy("id", "null").agg(
        sf.sum("l").cast("double").alias("l"), sf.sum("r").cast("double").alias("r")
    )
    l, r = sf.col("l"), sf.col("r")  # noqa: E741 (as the columns are called)
    keys = keys.withColumn("out", _rows_out_column(how, l, r))
    keys = keys.withColumn("work", l + r + sf.col("out"))
    slots = keys.groupBy("null", slot_column(sf.col("id"), FINE_SLOTS).alias("slot")).agg(
        sf.sum("l").alias("l"),
        sf.sum("r").alias("r"),
        sf.sum("out").alias("out"),
        sf.max(sf.struct((l + r + sf.col("out")).alias("work"), "l", "r", "out", "id")).alias(
            "top"
        ),
    )
    top = [sf.col(f"top.{name}").alias(f"top_{name}") for name in ("l", "r", "out", "id")]
    table = to_arrow(slots.select("null", "slot", "l", "r", "out", *top))
    table = table.sort_by("slot")  # rows come in any order; plans should not depend on it
    nulls, table = table.filter(table["null"]), table.filter(pc.invert(table["null"]))
    slot = table["slot"].to_numpy()
    slot_left, slot_right, slot_out = (
        sums_of(table[name].to_numpy() - table[f"top_{name}"].to_numpy(), slot, FINE_SLOTS)
        for name in ("l", "r", "out")
    )
    return Counts(
        identities(table["top_id"]),
        table["top_l"].to_numpy(),
        table["top_r"].to_numpy(),
        slot_left,
        slot_right,
        slot_out,
        null_left=float(sum(nulls["l"].to_pylist())),
        null_right=float(sum(nulls["r"].to_pylist())),
    )


def _rows_out_column(how: str, left: Column, right: Column) -> Column:
    """Return the same as `rows_out`, in Spark."""
    if how == "semi":
        return sf.when(right > 0, left).otherwise(0.0)
    if how == "anti":
        return sf.when(right > 0, 0.0).otherwise(left)
    out = left * right
    if how in ("left", "full"):
        out = sf.when(right > 0, out).otherwise(left)
    if how in ("right", "full"):
        out = sf.when(left > 0, out).otherwise(right)
    return out
