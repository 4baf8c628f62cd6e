"""Make the grouping that a name, a spec or an object stands for, if it runs on Spark."""

from typing import get_args

from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping, LearnedGrouping, SparkMode
from unskew.groupings.planned import PlannedGrouping
from unskew.groupings.registry import GROUPINGS, grouping_class, make_grouping
from unskew.specs import split_spec

_PLACING: tuple[SparkMode, ...] = ("plan", "round-robin", "online")


def runnable(*modes: SparkMode) -> list[str]:
    """Return the names of the schemes that place rows on Spark, in these ways or in any.

    ``auto`` is not among them: it chooses one.

    >>> runnable("round-robin")
    ['shuffle']
    """
    wanted = modes or _PLACING
    return [
        name
        for mode in get_args(SparkMode)
        for name, scheme in GROUPINGS.items()
        if scheme.spark == mode and mode in wanted and not scheme.chooses
    ]


def learning_on_streams() -> list[str]:
    """Return the names of the schemes that can go on learning while a stream runs.

    >>> learning_on_streams()
    ['distribution-aware', 'kip', 'popularity-counted', 'prompt', 'wrap']
    """
    return [name for name in runnable() if GROUPINGS[name].learns_on_streams]


def grouping_for(
    grouping: str | Grouping, workers: int, *, seed: int = 0, owner: str = "balance"
) -> Grouping:
    """Return the grouping that a name, a spec or an object stands for, if it places rows on Spark.

    One that plans comes as a copy that takes its slots from the identities that Spark computes.

    Raises
    ------
    InvalidParameterError
        In the name of ``owner``, where it cannot run on Spark (the message names those that can)
        or is for another number of workers.

    Examples
    --------
    On Spark a table travels with every query, so wrap makes do with 64 slots per worker:

    >>> grouping_for("wrap", 8).slots
    512
    >>> grouping_for("optimal", 8)
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: balance: grouping must be one of those that run on ...
    """
    if isinstance(grouping, str):
        scheme = grouping_class(split_spec(grouping)[0])
        _refuse_scheme(owner, scheme)
        defaults = scheme.spark_defaults(workers)
        grouping = make_grouping(grouping, workers, seed=seed, defaults=defaults)
    elif not isinstance(grouping, Grouping):
        raise InvalidParameterError(owner, "grouping", "a name, a spec or a Grouping", grouping)
    _refuse_scheme(owner, type(grouping))
    if grouping.workers != workers:
        raise InvalidParameterError(owner, "grouping", f"one for {workers} workers", grouping)
    _refuse_parameters(owner, grouping)
    if grouping.chooses and isinstance(grouping, LearnedGrouping) and grouping.is_built:
        expected = "one that has not been built: on Spark it learns from the rows themselves"
        raise InvalidParameterError(owner, "grouping", expected, grouping)
    if isinstance(grouping, PlannedGrouping) and not grouping.chooses:
        return grouping.planner()
    return grouping


def _refuse_scheme(owner: str, scheme: type[Grouping]) -> None:
    if scheme.spark not in _PLACING:
        expected = f"one of those that run on Spark ({', '.join(runnable())}, auto)"
        raise InvalidParameterError(owner, "grouping", expected, scheme.name)


def _refuse_parameters(owner: str, grouping: Grouping) -> None:
    for parameter, only in grouping.spark_requires.items():
        got = getattr(grouping, parameter)
        if got != only:
            raise InvalidParameterError(owner, parameter, f"{only!r} on Spark", got)
