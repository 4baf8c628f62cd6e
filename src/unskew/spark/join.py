"""Join two tables, or streams, so that the tasks that do it finish together."""

import logging

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.auto import WORTHWHILE
from unskew.groupings.plan import Plan
from unskew.spark.columns import evaluated_late, free_names, hashable_columns, quoted
from unskew.spark.joins.broadcasting import (
    THRESHOLD,
    in_bytes,
    is_broadcast,
    row_bytes,
    small_side,
)
from unskew.spark.joins.learning import Side, plan_join
from unskew.spark.joins.placing import Names, chained, salted
from unskew.spark.joins.planning import JOIN_GROUPINGS, copying_for
from unskew.spark.joins.sides import On, Sides, check_how, check_sides
from unskew.spark.loads import Loads, refuse_loads_on_stream
from unskew.spark.plans.join_plan import JoinPlan
from unskew.spark.routing.choosing import AUTO
from unskew.spark.routing.learning import WAYS
from unskew.spark.session import PARTITIONS, shuffle_partitions

_log = logging.getLogger("unskew.spark")


def join(
    left: DataFrame,
    right: DataFrame,
    on: On,
    how: str = "inner",
    workers: int | None = None,
    *,
    condition: Column | None = None,
    grouping: str = AUTO,
    plan: Plan | None = None,
    learn: str = "sample",
    salt: str | None = None,
    seed: int = 0,
    loads: Loads | None = None,
) -> DataFrame:
    """Return ``left.join(right, on, how)``, planned so that all workers have equal work.

    Work is rows in + rows out. A key that is too much for one worker is cut on the side that has
    more rows of it, or on both, and the other side's rows of that key are copied to the workers
    that hold a part. Same rows, same columns as Spark's own join, whatever data the plan is from.

    Parameters
    ----------
    left, right
        DataFrames; one of them, or both, may be streams as far as Spark joins these. Streams need
        a ``plan``.
    on
        A key column that both sides have, a list of them, or a list of pairs ``[("a", "b")]``
        of a left and a right column. As in Spark, a key that is given by one name is one column
        of the result, and keys that are given as pairs stay two columns.
    how
        inner, left, right, full, semi or anti, in all of PySpark's spellings; not cross.
    workers
        Number of partitions that share the work: those of the plan or, without one,
        ``spark.sql.shuffle.partitions``.
    condition
        What else has to hold for two rows to match. The result is then that of
        ``left.join(right, (left.key == right.key) & condition, how)``: both keys stay. Sides
        whose unmatched rows come out are not copied then, as each row has to see all others of its
        key: a full join with a condition splits no key.
    grouping
        ``auto``: Spark's own join where that is even, or where one side fits a broadcast.
        ``wrap``: follow a plan in any case.
    plan
        From ``us.plan(left, on, workers, join=right)``, of these tables or of others.
    learn
        ``sample``: bounded samples of both sides, and one count of frequent keys where a side was
        not seen whole. ``pass``: one native aggregation over both sides.
    salt
        Keeps the column by which rows were placed, under this name, so that ``groupBy(key, salt)``
        and a further join need no shuffle of this result. If ``left`` has it from an earlier join
        by the same ``plan``, its rows stay where they are, and only ``right`` is brought there.
        For joins that keep left rows: inner, left, semi, anti.
    seed
        Picks the samples.
    loads
        Tells of rows of the result per worker; see `Loads`.

    Raises
    ------
    InvalidParameterError
        For unknown columns, types that do not compare, a plan for other columns, a cross join, or a
        stream without a plan.

    Notes
    -----
    Where rows of a side come out unmatched (left, right and full joins) and are copied, the keys of
    these copies, a few, are looked for in the other side first: it is read once more. Like in any
    query that reads a table twice, it has to give the same rows both times.

    Partition w of the result is worker w; partitions beyond, where
    ``spark.sql.shuffle.partitions`` is more than ``workers``, are empty.

    Examples
    --------
    ``us.join(orders, customers, "customer", "left", workers=64)``
    """
    how = check_how("join", how)
    check_choice("join", "learn", learn, WAYS)
    check_choice("join", "grouping", grouping, JOIN_GROUPINGS)
    sides = check_sides("join", left, right, on, how, merged=condition is None)
    workers = _check_workers(left, workers, plan)
    streams = left.isStreaming, right.isStreaming
    _check_salt(left, right, salt, how, plan)
    if loads is not None:
        for df in (left, right):
            refuse_loads_on_stream("join", df)
    copying = copying_for(how, condition is None and not any(streams))
    plain = sides.joined(sides.left.df, sides.right.df, how, condition)
    if plan is None:
        if any(streams):
            hint = "learn one from tables of what the streams have brought: us.plan(…, join=…)"
            raise InvalidParameterError("join", "plan", "given for a stream", None, hint=hint)
        may_leave = grouping == AUTO and salt is None
        if may_leave and is_broadcast(plain):
            _log.info("join: Spark broadcasts a side, so its own plan is left alone")
            return _watched(plain, loads, None, sides, workers)
        worthwhile = WORTHWHILE if may_leave else None
        followed = plan_join(
            sides.question(how), workers, copying, worthwhile=worthwhile, learn=learn, seed=seed
        )
        small = _small_side(sides, followed, how) if may_leave else None
        if small is not None:
            _log.info("join: the %s side fits a broadcast", small)
            left_rows, right_rows = sides.left.df, sides.right.df
            if small == "left":
                left_rows = sf.broadcast(left_rows)
            else:
                right_rows = sf.broadcast(right_rows)
            return _watched(
                sides.joined(left_rows, right_rows, how, condition), loads, None, sides, workers
            )
    else:
        followed = check_join_plan(plan, sides, workers)
    if followed.is_hashing and salt is None:
        return _watched(plain, loads, followed, sides, workers)
    if all(streams):
        _check_partitions(left, workers)
    if salt is not None and salt in left.columns:
        joined = _chained(sides, followed.as_strips(), how, condition, salt)
    else:
        own = followed.copying_only(left=copying.left, right=copying.right)
        joined = _by_plan(sides, own, how, condition, salt, repartitioned=not all(streams))
    return _watched(joined, loads, followed, sides, workers)


def check_join_plan(plan: Plan, sides: Sides, workers: int) -> JoinPlan:
    """Return ``plan`` if it is for a join of these columns and so many workers, or raise."""
    if not isinstance(plan, JoinPlan):
        expected = "a JoinPlan, as us.plan(left, on, workers, join=right) makes it"
        raise InvalidParameterError("join", "plan", expected, plan)
    plan.check_fits_both("join", *sides.by, workers, sides.types)
    return plan


def _small_side(sides: Sides, plan: JoinPlan, how: str) -> str | None:
    """Return the side, if any, that by its counted rows is below Spark's threshold.

    Spark itself sees only the sizes of files, which say little after a filter.
    """
    left, right = sides.left.df, sides.right.df
    most = in_bytes(str(left.sparkSession.conf.get(THRESHOLD)))
    return small_side(plan, how, (row_bytes(left.schema), row_bytes(right.schema)), most)


def _by_plan(
    sides: Sides,
    plan: JoinPlan,
    how: str,
    condition: Column | None,
    salt: str | None,
    *,
    repartitioned: bool,
) -> DataFrame:
    """Return both sides joined by key and salt."""
    names = _names(sides, salt)
    keeps = (how in ("left", "full", "anti"), how in ("right", "full"))
    # A copy that may come out unmatched has to know whether its key is on the other side.
    unsure = (
        keeps[0] and bool((plan.grid_columns > 1).any()),
        keeps[1] and bool((plan.grid_rows > 1).any()),
    )
    rows = []
    for number, side in enumerate(_late(sides)):
        other = (sides.right, sides.left)[number] if unsure[number] else None
        df = salted(
            side, plan, names[number], left=number == 0, keeps_unmatched=keeps[number], other=other
        )
        if unsure[1 - number]:
            df = df.withColumn(names[number].mark, sf.lit(True))
        rows.append(_repartitioned(df, side, plan, names[number]) if repartitioned else df)
    salts = (names[0].salt, names[1].salt)
    joined = sides.joined(rows[0], rows[1], how, condition, salts)
    dropped = [name for name in salts if name != salt]
    for number in (0, 1):
        if unsure[number]:
            copied, mark = names[number].copied, names[1 - number].mark
            is_spurious = sf.coalesce(sf.col(copied), sf.lit(False)) & sf.col(mark).isNull()
            joined = joined.where(~is_spurious)
            dropped += [copied, mark]
    return joined.drop(*dropped)


def _chained(
    sides: Sides, plan: JoinPlan, how: str, condition: Column | None, salt: str
) -> DataFrame:
    """Return left rows that an earlier join has placed, joined where they are."""
    names = _names(sides, salt)
    left = chained(sides.left, plan, salt)
    right = salted(_late(sides)[1], plan, names[1], left=False, keeps_unmatched=False)
    right = _repartitioned(right, sides.right, plan, names[1])
    joined = sides.joined(left, right, how, condition, (salt, names[1].salt))
    return joined if sides.merged else joined.drop(names[1].salt)


def _late(sides: Sides) -> tuple[Side, Side]:
    """Return both sides evaluated late (`evaluated_late`), unless one is a stream."""
    left, right = sides.left, sides.right
    if left.df.isStreaming or right.df.isStreaming:
        return left, right
    return left._replace(df=evaluated_late(left.df)), right._replace(df=evaluated_late(right.df))


def _repartitioned(df: DataFrame, side: Side, plan: JoinPlan, names: Names) -> DataFrame:
    """Bring rows to their workers by key and salt, whatever the number of shuffle partitions is."""
    return df.repartition(plan.workers, *side.key_columns, sf.col(quoted(names.salt)))


def _names(sides: Sides, salt: str | None) -> tuple[Names, Names]:
    """Return names for the columns that either side gets; merged sides share that of the salt."""
    count = len(Names._fields)
    free = free_names(sides.left.df, 2 * count, sides.right.df)
    left, right = Names(*free[:count]), Names(*free[count:])
    if salt is not None:
        left = left._replace(salt=salt)
    return left, right._replace(salt=left.salt) if sides.merged else right


def _check_workers(left: DataFrame, workers: int | None, plan: Plan | None) -> int:
    if workers is None and isinstance(plan, Plan):
        return plan.workers
    if workers is None:
        partitions = shuffle_partitions(left.sparkSession)
        if partitions is None:
            expected = f"given where {PARTITIONS} is no number"
            raise InvalidParameterError("join", "workers", expected, workers)
        return partitions
    return check_int("join", "workers", workers, minimum=1)


def _check_partitions(df: DataFrame, workers: int) -> None:
    """Refuse a stream with less state partitions than workers, on which its rows would collide."""
    partitions = shuffle_partitions(df.sparkSession)
    if partitions is None or partitions < workers:
        expected = f"at most {PARTITIONS} ({partitions or 'auto'}) for two streams"
        hint = f"set {PARTITIONS} to the number of workers before the query first starts"
        raise InvalidParameterError("join", "workers", expected, workers, hint=hint)


def _check_salt(
    left: DataFrame, right: DataFrame, salt: str | None, how: str, plan: Plan | None
) -> None:
    if salt is None:
        return
    if how in ("right", "full"):
        expected = f"left out for a {how} join, of which right rows come out without one"
        raise InvalidParameterError("join", "salt", expected, salt)
    if salt in right.columns:
        expected = "a name that no column of the right side has"
        raise InvalidParameterError("join", "salt", expected, salt)
    if salt in left.columns and plan is None:
        expected = "given where the left side has a salt: that of the join that made it"
        raise InvalidParameterError("join", "plan", expected, None)


def _watched(
    joined: DataFrame, loads: Loads | None, plan: JoinPlan | None, sides: Sides, workers: int
) -> DataFrame:
    """Return the result, whose rows per worker are counted for ``loads``."""
    if loads is None:
        return joined
    partitions = shuffle_partitions(joined.sparkSession) or workers
    by = [name for name in sides.by[0] if joined.columns.count(name) == 1]
    watch = loads._watch(partitions if plan is None else plan.workers, plan)
    return watch.with_rows(joined, by or hashable_columns(joined)[:1])
