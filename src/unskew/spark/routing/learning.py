"""Learn a plan from a DataFrame before it is placed."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.plan import HASHED_MEMBER, Plan, check_plan, slots_of
from unskew.groupings.planned import PlannedGrouping, sample_size
from unskew.hashing import Ids, identities
from unskew.scheduling import LoadArray
from unskew.spark.routing.contents import MOST_DEVIATION, content_deviation, content_hash
from unskew.spark.routing.expression import slot_column
from unskew.spark.versions import to_arrow
from unskew.spark.worker.row_costs import RowWeights

WAYS = ("sample", "pass")

_FINE_SLOTS = 65_536

_Planned = TypeVar("_Planned", bound=PlannedGrouping)


class Learned(NamedTuple):
    """A plan, and by which columns the rows of the keys that it splits can be spread."""

    plan: Plan
    spread_by: tuple[str, ...]
    """Empty where nothing shows that some columns tell those rows apart."""


class Sample(NamedTuple):
    """Some of ``rows`` rows: their keys, and what is in them by the first 1, 2 … columns."""

    rows: int
    ids: Ids
    contents: list[Ids]

    def weights(self, costs: RowWeights | None) -> LoadArray | None:
        """Return what each row weighs; None where all weigh the same."""
        if costs is None:
            return None
        return costs.of_sample(self.ids, min(1.0, self.ids.size / max(self.rows, 1)))


class SlotCounts(NamedTuple):
    """What was learned of a DataFrame: rows of the heaviest keys, and of all hash slots."""

    ids: Ids
    rows: LoadArray
    slot_rows: LoadArray
    slot_keys: LoadArray

    def teach(self, grouping: PlannedGrouping) -> None:
        """Let a scheme learn from them."""
        grouping.learn_counts(self.ids, self.rows, self.slot_rows)

    def weighted(self, costs: RowWeights | None) -> "SlotCounts":
        """Return what the rows cost; those of other keys than the heaviest cost the mean."""
        if costs is None:
            return self
        weights = costs.weights(self.ids)
        slot_loads = self.slot_rows.copy()
        slots = slots_of(self.ids, HASHED_MEMBER, slot_loads.size)
        np.add.at(slot_loads, slots, self.rows * (weights - 1.0))
        slot_loads += costs.per_group * self.slot_keys
        loads = self.rows * weights + costs.per_group
        return SlotCounts(self.ids, loads, slot_loads, self.slot_keys)


def learn(
    df: DataFrame,
    identity: Column,
    grouping: _Planned,
    *,
    how: str = "sample",
    rows: int | None = None,
    seed: int = 0,
    costs: RowWeights | None = None,
) -> _Planned:
    """Let ``grouping`` learn from ``df`` and make its plan; return it.

    Parameters
    ----------
    df
        What is learned from; not a stream.
    identity
        The result of `columns.identity` for it.
    grouping
        A scheme that makes plans, as `schemes.grouping_for` returns it. It is changed.
    how
        ``sample``: a count, and then the identities of a bounded sample of the rows. ``pass``: one
        native aggregation over all rows, whose counts are exact; it shuffles the distinct
        identities.
    rows
        Size of the sample: 8,000 per worker and at least 200,000 by default, by which the load
        of a worker is known to some 1 %.
    seed
        Picks the sample.
    costs
        What rows cost, by which the plan evens out work; without it, rows.

    Raises
    ------
    InvalidParameterError
        Where ``df`` is a stream, or a parameter is none of these.
    """
    check_choice("learn", "how", how, WAYS)
    refuse_stream("learn", df)
    if how == "pass":
        counts = count_all(df, identity, grouping.plan.slot_workers.size)
        counts.weighted(costs).teach(grouping)
        return grouping.build()
    size = sample_size(grouping.workers) if rows is None else rows
    size = check_int("learn", "rows", size, minimum=1)
    sample = take_sample(df, identity, size, seed)
    return grouping.learn(sample.ids, weights=sample.weights(costs)).build()


def learn_placing(
    df: DataFrame,
    identity: Column,
    grouping: Grouping,
    *,
    how: str,
    likely: Sequence[str] = (),
    costs: RowWeights | None = None,
    owner: str = "balance",
) -> Learned:
    """Return the plan of ``grouping``, which learns from ``df`` first if it has to.

    Parameters
    ----------
    df, identity, grouping, how
        As for `learn`; a scheme that need not learn has a plan, too.
    likely
        Columns that may tell the rows of a key apart; the fewest of them that do, from the first
        on, are the ones by which to spread them. Only a sample shows it.
    costs
        As for `learn`.
    owner
        Who is named in errors.

    Raises
    ------
    InvalidParameterError
        Where it was built from other identities than Spark's, or has to learn from a stream.
    NotLearnedError
        Where it has no plan, because it decides row by row.
    """
    planner = grouping.planner()
    if planner is None:
        return Learned(grouping.fixed_plan(), ())
    if planner.is_built:
        check_plan(owner, planner.plan)
        return Learned(planner.plan, ())
    refuse_stream(owner, df)
    if how == "pass":
        return Learned(learn(df, identity, planner, how="pass", costs=costs).plan, ())
    columns = likely if planner.splits_keys else ()
    sample = take_sample(df, identity, sample_size(planner.workers), planner.seed, columns)
    plan = planned(planner, sample, costs)
    return Learned(plan, telling_columns(sample, plan, columns))


def planned(planner: PlannedGrouping, sample: Sample, costs: RowWeights | None) -> Plan:
    """Return the plan that ``planner`` makes of a sample of all rows."""
    return planner.learn(sample.ids, weights=sample.weights(costs)).build().plan


def telling_columns(sample: Sample, plan: Plan, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the fewest of ``columns``, from the first on, that spread rows evenly enough."""
    if plan.n_split_keys:
        for last, contents in enumerate(sample.contents, start=1):
            deviation = content_deviation(sample.ids, contents, plan, rows=sample.rows)
            if deviation <= MOST_DEVIATION:
                return tuple(columns[:last])
    return ()


def refuse_stream(owner: str, df: DataFrame) -> None:
    """Raise if ``df`` is a stream, of which nothing can be counted before it runs."""
    if df.isStreaming:
        raise InvalidParameterError(
            owner, "df", "a batch DataFrame", "a stream", hint="give a plan that was made before"
        )


def take_sample(
    df: DataFrame,
    identity: Column,
    rows: int,
    seed: int,
    columns: Sequence[str] = (),
    *,
    total: int | None = None,
) -> Sample:
    """Return the identities of about so many rows, and hashes of what is in ``columns``.

    ``total`` is how many rows there are, where that is known.
    """
    total = df.count() if total is None else total
    # A limit costs a shuffle; it is for rows that have come since they were counted.
    sampled = df.limit(2 * rows) if total <= rows else df.sample(fraction=rows / total, seed=seed)
    hashes = [content_hash(identity, columns[: last + 1]) for last in range(len(columns))]
    named = [hashed.alias(f"content{last}") for last, hashed in enumerate(hashes)]
    table = to_arrow(sampled.select(identity.alias("id"), *named))
    ids, *contents = (identities(column) for column in table.columns)
    return Sample(total, ids, contents)


def count_all(df: DataFrame, identity: Column, n_slots: int) -> SlotCounts:
    """Count all rows by fine hash slot, with the heaviest key of each: one job, few rows back."""
    times = max(1, _FINE_SLOTS // n_slots)
    keys = df.select(identity.alias("id")).groupBy("id").agg(sf.count("*").alias("rows"))
    slots = keys.groupBy(slot_column(sf.col("id"), n_slots * times).alias("slot")).agg(
        sf.sum("rows").alias("rows"),
        sf.count("*").alias("keys"),
        sf.max(sf.struct("rows", "id")).alias("top"),
    )
    columns = ("slot", "rows", "keys", "top.id", sf.col("top.rows").alias("top"))
    table = to_arrow(slots.select(*columns))
    table = table.sort_by("slot")  # rows come in any order; plans should not depend on it
    sums = [np.zeros(n_slots), np.zeros(n_slots)]
    for total, name in zip(sums, ("rows", "keys"), strict=True):
        np.add.at(total, table["slot"].to_numpy() // times, table[name].to_numpy())
    return SlotCounts(identities(table["id"]), table["top"].to_numpy().astype(float), *sums)
