"""Learn where the keys of a table go: a plan to look at, to keep, and to place rows by."""

from typing import cast, overload

from pyspark.sql import DataFrame

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.auto import WORTHWHILE
from unskew.groupings.base import Grouping
from unskew.spark.columns import By, check_by, identity
from unskew.spark.joins.learning import plan_join
from unskew.spark.joins.planning import JOIN_GROUPINGS, copying_for
from unskew.spark.joins.sides import On, check_how, check_sides
from unskew.spark.plans.join_plan import JoinPlan
from unskew.spark.plans.saved import KeyPlan, key_types
from unskew.spark.routing.choosing import AUTO, choose_plan
from unskew.spark.routing.contents import likely_columns
from unskew.spark.routing.learning import WAYS
from unskew.spark.routing.schemes import grouping_for, runnable


@overload
def plan(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping = AUTO,
    learn: str = "sample",
    seed: int = 0,
) -> KeyPlan: ...


@overload
def plan(
    df: DataFrame,
    by: On,
    workers: int,
    *,
    grouping: str | Grouping = AUTO,
    learn: str = "sample",
    seed: int = 0,
    join: DataFrame,
    how: str = "inner",
) -> JoinPlan: ...


def plan(
    df: DataFrame,
    by: On,
    workers: int,
    *,
    grouping: str | Grouping = AUTO,
    learn: str = "sample",
    seed: int = 0,
    join: DataFrame | None = None,
    how: str = "inner",
) -> KeyPlan:
    """Return the plan by which `balance`, `group_by` and `salt` would place the rows of ``df``.

    Give it to them as ``plan=``, for these rows or for others with the same keys: then nothing is
    learned again. ``plan.save(path)`` keeps it, and `load_plan` reads it. With ``join`` it is a
    `JoinPlan`, for `join`.

    Parameters
    ----------
    df
        A batch DataFrame: the rows themselves, or a stream's history.
    by
        The key column, or a list of several; for a join also a list of pairs, as `join` takes them.
    workers
        Number of workers, at least 1.
    grouping
        A scheme that is a table of keys, by name, spec or object. By default ``auto``: ``wrap``, or
        plain hashing where that is even enough; ``plan.why`` says which, and why.
        ``"auto:work=atomic"`` splits no key. For a join ``auto`` or ``wrap``.
    learn
        ``sample``: a count, and then the identities of a bounded sample of the rows. ``pass``: one
        native aggregation over all rows, whose counts are exact; it shuffles the distinct keys.
    seed
        Picks the sample, and the hash functions of a scheme that is given by name.
    join
        The right side of a join, of which ``df`` is the left one.
    how
        The type of that join.

    Raises
    ------
    InvalidParameterError
        For a stream, an unknown column, or a scheme that decides row by row.

    Examples
    --------
    ``us.plan(df, "user", workers=64)`` shows itself as a line and, in a notebook, as a picture of
    the predicted loads. ``us.balance(df, "user", 64, plan=plan)`` places the rows by it.
    """
    workers = check_int("plan", "workers", workers, minimum=1)
    check_choice("plan", "learn", learn, WAYS)
    for name, one in (("df", df), ("join", join)):
        if one is not None and one.isStreaming:
            hint = "learn from a batch that has read what the stream has read so far"
            raise InvalidParameterError("plan", name, "a batch DataFrame", "a stream", hint=hint)
    if join is not None:
        chosen = check_choice("plan", "grouping", grouping, JOIN_GROUPINGS)
        kind = check_how("plan", how)
        return plan_join(
            check_sides("plan", df, join, by, kind, merged=True).question(kind),
            workers,
            copying_for(kind, free=True),
            worthwhile=WORTHWHILE if chosen == AUTO else None,
            learn=learn,
            seed=seed,
        )
    names = check_by(df, cast(By, by), owner="plan", nested=True)
    scheme = grouping_for(grouping, workers, seed=seed, owner="plan")
    if scheme.spark != "plan":
        expected = f"one that makes a plan ({', '.join(runnable('plan'))}, auto)"
        raise InvalidParameterError("plan", "grouping", expected, scheme.name)
    planner = scheme.planner()
    learns = planner is not None and not planner.is_built
    likely = likely_columns(df, names)
    learned = choose_plan(df, identity(df, names), scheme, how=learn, likely=likely, owner="plan")
    return KeyPlan.of(
        learned.plan,
        by=names,
        types=key_types(df, names),
        spread_by=learned.spread_by,
        grouping=scheme,
        learned_from=f"a DataFrame, by a {learn}" if learns else "",
    )
