"""Recommend one grouping, or none, and say why in words that need no paper to be understood."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unskew.advisor.predict import (
    ATOMIC,
    BUILTIN,
    MERGE,
    PLAIN,
    SPLITS_KEYS,
    STATELESS,
    Prediction,
    check_work,
)
from unskew.advisor.profile import KeyProfile
from unskew.errors import InvalidParameterError
from unskew.groupings.auto import WORTHWHILE, is_worth_planning
from unskew.groupings.registry import grouping_class
from unskew.specs import split_spec

_MUCH_DRIFT = 0.1
_LITTLE_SPREAD = 0.05
ABOUT_AS_FAST = 0.05
"""Of schemes that differ in time by no more than this, the one with the least memory is taken."""


def reasons(
    profile: KeyProfile,
    predictions: Sequence[Prediction],
    plain: Prediction,
    chosen: Prediction,
    work: str,
    workers: int,
) -> tuple[str, ...]:
    """Return what speaks for ``chosen``, and what to know about it."""
    return (
        *_about_keys(profile, workers, work),
        *_about_work(profile, plain, chosen, work),
        *_about_limits(profile, predictions, chosen, work, workers),
        *_about_time(profile, work),
    )


def _about_keys(profile: KeyProfile, workers: int, work: str) -> Iterator[str]:
    if workers == 1:
        yield "There is one worker: nothing has to be balanced."
        return
    if work in (STATELESS, BUILTIN):
        return
    hottest = profile.top(1)[0].key
    if profile.keys == 1:
        only = "null" if profile.null_share == 1 else repr(hottest)
        yield f"All rows have one key, {only}: with whole keys one worker does everything."
        return
    load = profile.p1 * workers
    yield (
        f"The hottest key, {hottest!r}, has {100 * profile.p1:.3g} % of the rows, "
        f"{load:.2g} times a worker's fair share."
    )
    if profile.keys < workers:
        yield (
            f"There are fewer keys ({profile.keys}) than workers ({workers}): "
            "with whole keys some workers get nothing."
        )
    if profile.null_share > 0.5 / workers:
        yield (
            f"Null is a key too, with {100 * profile.null_share:.3g} % of the rows: "
            "if these rows are not needed, filter them out first."
        )


def _about_work(
    profile: KeyProfile, plain: Prediction, chosen: Prediction, work: str
) -> Iterator[str]:
    if work == BUILTIN:
        yield (
            "count, sum, min, max and avg send at most one row for each key and map task through "
            "the shuffle, however hot the key is; placing rows could only add cost."
        )
    elif work == STATELESS and profile.cost_spread <= _LITTLE_SPREAD:
        yield "Rows are worked on by themselves and cost the same, so their keys do not matter."
    elif work == STATELESS:
        yield (
            f"Costs of rows differ by {100 * profile.cost_spread:.0f} % of their mean (standard "
            "deviation): equal numbers of rows are not equal work."
        )
    elif chosen is plain:
        yield f"The busiest worker gets only {plain.imbalance_percent:.2g} % more than the mean."
    elif chosen.splits_keys:
        extra = chosen.memory - plain.memory
        yield (
            f"{chosen.grouping} splits hot keys and holds {max(extra, 0):,} partial results more "
            f"than the {plain.memory:,} of plain hashing; they are merged by key."
        )
    else:
        yield f"{chosen.grouping} keeps every key whole: nothing has to be merged."


def _about_limits(
    profile: KeyProfile,
    predictions: Sequence[Prediction],
    chosen: Prediction,
    work: str,
    workers: int,
) -> Iterator[str]:
    """Say what no scheme that keeps keys whole can do, and what splitting them would bring."""
    if work != ATOMIC or profile.p1 * workers <= 1.0:
        return
    splitting = [each for each in predictions if each.drawback == SPLITS_KEYS]
    ratio = min((each.job_time_ratio for each in splitting), default=1.0)
    if ratio < (1.0 - WORTHWHILE) * chosen.job_time_ratio:
        yield (
            f"As long as the hottest key stays whole, no scheme gets below "
            f"{profile.p1 * workers:.2f} times an even job. If its partial results could be merged "
            f"(--work merge), it would be {ratio:.2f} times."
        )


def _about_time(profile: KeyProfile, work: str) -> Iterator[str]:
    if work in (MERGE, ATOMIC) and profile.drift.largest > _MUCH_DRIFT:
        yield (
            f"The hot keys change: up to {100 * profile.drift.largest:.0f} % of the rows go to "
            "other hot keys from one stretch of time to the next. On a stream give plan_path=, "
            "so that the plan follows."
        )
    if not profile.keys_exact and profile.sampled_share < 1.0:
        yield (
            f"{profile.counted:,} of {profile.rows:,} rows were looked at: "
            "figures are those of a sample."
        )


@dataclass(frozen=True)
class Recommendation:
    """What to do.

    Parameters
    ----------
    grouping
        The scheme to use; None where plain Spark does as well.
    text
        The recommendation in a sentence.
    code
        The line of PySpark that does it.
    why
        The reasons, a sentence each.
    time_ratio_now, time_ratio_then
        Predicted time of the job over that of a perfectly even one: hashed by key, as Spark does,
        and as recommended.
    """

    grouping: str | None
    text: str
    code: str
    why: tuple[str, ...]
    time_ratio_now: float
    time_ratio_then: float

    @property
    def time_saved(self) -> float:
        """Share of the job's time that is saved."""
        return max(0.0, 1.0 - self.time_ratio_then / self.time_ratio_now)

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text under stable names."""
        return {
            "grouping": self.grouping,
            "text": self.text,
            "code": self.code,
            "why": list(self.why),
            "time_ratio_now": self.time_ratio_now,
            "time_ratio_then": self.time_ratio_then,
            "time_saved": self.time_saved,
        }


def recommend(
    profile: KeyProfile,
    predictions: Sequence[Prediction],
    *,
    work: str,
    workers: int,
    by: str = "key",
) -> Recommendation:
    """Choose among the groupings that were predicted for this work.

    The fastest is taken; of those that are about as fast, the one that holds the fewest keys. If
    plain hashing is no more than 5 % slower, or Spark's own aggregates do the work, it says to do
    nothing.

    Parameters
    ----------
    profile
        What is known of the keys.
    predictions
        What `predict` says for the same work; plain hashing, ``key``, must be among them.
    work
        ``merge``, ``atomic``, ``stateless`` or ``builtin``.
    workers
        Number of workers.
    by
        What the key column is called, for the line of code.

    Examples
    --------
    >>> from unskew.advisor.predict import predict
    >>> profile = KeyProfile.from_counts(["hot", "a", "b"], [8000, 1000, 1000])
    >>> advice = recommend(profile, predict(profile, 4), work="merge", workers=4, by="user")
    >>> advice.code
    'us.group_by(df, "user", workers=4, grouping="wrap").apply(aggregator, schema)'
    >>> predictions = predict(profile, 4, work="builtin")
    >>> recommend(profile, predictions, work="builtin", workers=4).grouping is None
    True
    """
    work = check_work("recommend", "work", work)
    plain = _named(predictions, PLAIN)
    best = _best(predictions, plain, work)
    verdict = is_worth_planning(
        best.grouping,
        planned=100.0 * (best.job_time_ratio - 1.0),
        hashing=100.0 * (plain.job_time_ratio - 1.0),
        noise=0.0,
    )
    chosen = best if verdict.follow_plan and work != BUILTIN else plain
    grouping = None if chosen is plain else chosen.grouping
    return Recommendation(
        grouping=grouping,
        text=_text(grouping, plain, chosen, work),
        code=code_line(grouping, work, by=by, workers=workers),
        why=reasons(profile, predictions, plain, chosen, work, workers),
        time_ratio_now=plain.job_time_ratio,
        time_ratio_then=chosen.job_time_ratio,
    )


def code_line(grouping: str | None, work: str, *, by: str, workers: int) -> str:
    """Return the line of PySpark that does work with a grouping; None is plain Spark.

    >>> code_line(None, "merge", by="user", workers=8)
    'df.groupBy("user")  # as it is'
    """
    column = f'"{by}"'
    if grouping is None and work == STATELESS:
        return "df  # as it is"
    if grouping is None:
        return f"df.groupBy({column})" + (".agg(…)" if work == BUILTIN else "") + "  # as it is"
    if grouping_class(split_spec(grouping)[0]).spark == "costs":
        return f"us.map_rows(df, function, schema, cost_by={column}, workers={workers})"
    if work == STATELESS:
        return f'us.balance(df, by={column}, workers={workers}, grouping="{grouping}")'
    grouped = f'us.group_by(df, {column}, workers={workers}, grouping="{grouping}")'
    return grouped + (
        ".apply_in_arrow(function, schema)" if work == ATOMIC else ".apply(aggregator, schema)"
    )


def _named(predictions: Sequence[Prediction], name: str) -> Prediction:
    for each in predictions:
        if each.grouping == name:
            return each
    got = [each.grouping for each in predictions]
    raise InvalidParameterError("recommend", "predictions", f"with one for {name!r}", got)


def _best(predictions: Sequence[Prediction], plain: Prediction, work: str) -> Prediction:
    """Return the fastest usable scheme; of those about as fast the smallest, then the fastest.

    Work that knows no keys holds none, so that memory does not matter to it.
    """
    usable = [each for each in predictions if each.usable] or [plain]
    fastest = min(each.job_time_ratio for each in usable)
    close = [each for each in usable if each.job_time_ratio <= (1 + ABOUT_AS_FAST) * fastest]
    if work == STATELESS:
        return min(close, key=lambda each: each.job_time_ratio)
    return min(close, key=lambda each: (each.memory, each.job_time_ratio))


def _text(grouping: str | None, plain: Prediction, chosen: Prediction, work: str) -> str:
    if work == BUILTIN:
        return "Do nothing: Spark's own aggregates combine rows before the shuffle."
    now = f"{plain.job_time_ratio:.2f} times"
    if grouping is None:
        return f"Do nothing: plain hashing takes {now} the time of a perfectly even job."
    saved = 1.0 - chosen.job_time_ratio / plain.job_time_ratio
    return (
        f"Use {grouping}: the job should take {chosen.job_time_ratio:.2f} times the time of a "
        f"perfectly even one instead of {now}, {100 * saved:.0f} % less."
    )
