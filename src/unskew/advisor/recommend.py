"""Recommend one grouping, or none, and say why in words that need no paper to be understood."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unskew.advisor.predict import (
    ATOMIC,
    BUILTIN,
    FLOOR_PERCENT,
    MERGE,
    SPLITS_KEYS,
    STATELESS,
    Prediction,
    check_work,
    plain_for,
)
from unskew.advisor.profile import KeyProfile
from unskew.advisor.snippets import GROUPS, PARTIALS, mapped_rows, own_work, quoted_columns
from unskew.errors import InvalidParameterError
from unskew.groupings.auto import WORTHWHILE, is_worth_planning
from unskew.groupings.registry import grouping_class
from unskew.groupings.wrap import Wrap
from unskew.specs import split_spec

_MUCH_DRIFT = 0.1
_LITTLE_SPREAD = 0.05
_EVEN_PERCENT = 10.0
ABOUT_THE_SAME = 0.05
"""Schemes whose times, or whose memories, differ by no more than this are about the same."""


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
    hottest = profile.top(1)[0]
    shown = "null" if hottest.key is None else repr(hottest.key)
    if profile.keys == 1:
        yield f"All rows have one key, {shown}: with whole keys one worker does everything."
        return
    load = profile.p1 * workers
    yield (
        f"The hottest key, {shown}, has {100 * profile.p1:.3g} % of the rows, "
        f"{load:,.2f} times a worker's fair share."
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
        yield (
            "Rows are worked on by themselves and cost the same, so their keys do not matter, only "
            "how many rows each partition has."
        )
    elif work == STATELESS:
        yield (
            f"Costs of rows differ by {100 * profile.cost_spread:.0f} % of their mean (standard "
            "deviation): equal numbers of rows are not equal work."
        )
    elif chosen is plain:
        yield _about_plain(plain, work)
    elif chosen.splits_keys:
        extra = chosen.memory - plain.memory
        yield (
            f"{chosen.grouping} splits hot keys and holds {max(extra, 0):,} partial results more "
            f"than the {plain.memory:,} of plain hashing; they are merged by key."
        )
    else:
        yield f"{chosen.grouping} keeps every key whole: nothing has to be merged."


def _about_plain(plain: Prediction, work: str) -> str:
    """Say how uneven plain hashing is, which nothing that comes into question beats."""
    if plain.imbalance_percent <= _EVEN_PERCENT:
        return f"The busiest worker gets only {plain.imbalance_percent:.1f} % more than the mean."
    kept = " that keeps keys whole" if work == ATOMIC else ""
    return (
        f"The busiest worker gets {plain.job_time_ratio:,.2f} times the mean load, and no scheme"
        f"{kept} makes that much less."
    )


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
            f"{profile.counted:,} of {profile.rows:,} rows, which chance picked over all of them, "
            "were looked at: figures are those of this sample."
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
    load_ratio_now, load_ratio_then
        Predicted load of the busiest worker over the mean: hashed by key, as Spark does, and as
        recommended. The load is rows, or what they cost where that is known.
    time_is_known
        Whether rows have a time, so that load is time.
    not_known
        What the prediction leaves out, a sentence each.
    """

    grouping: str | None
    text: str
    code: str
    why: tuple[str, ...]
    load_ratio_now: float
    load_ratio_then: float
    time_is_known: bool
    not_known: tuple[str, ...]

    @property
    def load_saved(self) -> float:
        """Share of the busiest worker's load that is saved."""
        return max(0.0, 1.0 - self.load_ratio_then / self.load_ratio_now)

    @property
    def time_saved(self) -> float | None:
        """Share of the time of the work that is saved; None where nobody said what rows cost."""
        return self.load_saved if self.time_is_known else None

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text under stable names."""
        return {
            "grouping": self.grouping,
            "text": self.text,
            "code": self.code,
            "why": list(self.why),
            "not_known": list(self.not_known),
            "load_ratio_now": self.load_ratio_now,
            "load_ratio_then": self.load_ratio_then,
            "load_saved": self.load_saved,
            "time_saved": self.time_saved,
        }


def recommend(
    profile: KeyProfile,
    predictions: Sequence[Prediction],
    *,
    work: str,
    workers: int,
    by: str | Sequence[str] = "key",
) -> Recommendation:
    """Choose among the groupings that were predicted for this work.

    The fastest is taken; of those that are about as fast, the one that holds the fewest keys, and
    of those that hold about as few the fastest; ``wrap`` where less than 1 % is between them. If
    plain Spark is no more than 5 % slower, or its own aggregates do the work, it says to do
    nothing.
    Plain Spark hashes by key; where the work asks for no keys, every worker gets as many rows.

    Parameters
    ----------
    profile
        What is known of the keys.
    predictions
        What `predict` says for the same work; that of plain Spark (`plain_for`) must be among them.
    work
        ``merge``, ``atomic``, ``stateless`` or ``builtin``.
    workers
        Number of workers.
    by
        What the key column is called, or the key columns, for the line of code.

    Examples
    --------
    >>> from unskew.advisor.predict import predict
    >>> profile = KeyProfile.from_counts(["hot", "a", "b"], [8000, 1000, 1000])
    >>> advice = recommend(profile, predict(profile, 4), work="merge", workers=4, by="user")
    >>> advice.code
    'us.group_by(df, "user", workers=4, grouping="wrap").apply(us.Count(), "rows long")'
    >>> predictions = predict(profile, 4, work="builtin")
    >>> recommend(profile, predictions, work="builtin", workers=4).grouping is None
    True
    """
    work = check_work("recommend", "work", work)
    plain = _named(predictions, plain_for(work))
    best = _best(predictions, plain, work)
    verdict = is_worth_planning(
        best.grouping,
        planned=100.0 * (best.job_time_ratio - 1.0),
        hashing=100.0 * (plain.job_time_ratio - 1.0),
        noise=0.0,
    )
    chosen = best if verdict.follow_plan and work != BUILTIN else plain
    grouping = None if chosen is plain else chosen.grouping
    code = code_line(grouping, work, by=by, workers=workers)
    why = reasons(profile, predictions, plain, chosen, work, workers)
    return Recommendation(
        grouping=grouping,
        text=_text(grouping, plain, chosen, work, workers),
        code=code,
        why=(*why, own_work(code)) if own_work(code) else why,
        load_ratio_now=plain.job_time_ratio,
        load_ratio_then=chosen.job_time_ratio,
        time_is_known=plain.job_seconds is not None,
        not_known=() if workers == 1 else _not_known(profile, plain, chosen, work),
    )


def _not_known(
    profile: KeyProfile, plain: Prediction, chosen: Prediction, work: str
) -> tuple[str, ...]:
    """Say what the figures leave out, as far as it could change the answer."""
    if work == BUILTIN or (chosen is plain and work == STATELESS):
        return ()
    found = []
    if plain.job_seconds is None:
        found.append(
            "what rows cost: loads are rows, and rows are time only if all take as long "
            "(--cost-per-row, --cost)"
        )
    if work == ATOMIC:
        found.append(
            "what a group costs besides its rows: where groups and not rows take the time, evening "
            "out rows may put the work in the wrong place "
            '(us.group_by(…, weight="measured") finds out)'
        )
    if chosen is not plain:
        found.append(
            "what placing costs: one more shuffle of the rows"
            + (" and the merging of partial results" if chosen.splits_keys else "")
            + ", unless the job has that shuffle anyway"
        )
    if profile.drift.windows < 2 and work in (MERGE, ATOMIC):
        found.append("whether the hot keys change in the course of time")
    return tuple(found)


def code_line(grouping: str | None, work: str, *, by: str | Sequence[str], workers: int) -> str:
    """Return the line of PySpark that does work with a grouping; None is plain Spark.

    It runs as it is, where ``us`` is `unskew.spark` and ``df`` the rows. See `snippets`.

    >>> code_line(None, "merge", by="user", workers=8)
    'df.groupBy("user")  # as it is'
    """
    names = [by] if isinstance(by, str) else by
    column = quoted_columns(names)
    if grouping is None and work == STATELESS:
        return "df  # as it is"
    if grouping is None:
        return f"df.groupBy({column})" + (".count()" if work == BUILTIN else "") + "  # as it is"
    if grouping_class(split_spec(grouping)[0]).spark == "costs":
        return mapped_rows(names, workers)
    if work == STATELESS:
        return f'us.balance(df, by={column}, workers={workers}, grouping="{grouping}")'
    grouped = f'us.group_by(df, {column}, workers={workers}, grouping="{grouping}")'
    return grouped + (GROUPS if work == ATOMIC else PARTIALS)


def _named(predictions: Sequence[Prediction], name: str) -> Prediction:
    for each in predictions:
        if each.grouping == name:
            return each
    got = [each.grouping for each in predictions]
    raise InvalidParameterError("recommend", "predictions", f"with one for {name!r}", got)


def _best(predictions: Sequence[Prediction], plain: Prediction, work: str) -> Prediction:
    """Return the fastest usable scheme; of those about as fast the smallest, then the fastest.

    A difference within chance, in time or in memory, decides nothing.

    Work that knows no keys holds none, so that memory does not matter to it.
    """
    usable = [each for each in predictions if each.usable] or [plain]
    if work != STATELESS:
        usable = _about_least(usable, lambda each: each.job_time_ratio)
        usable = _about_least(usable, lambda each: each.memory)
    level = min(each.job_time_ratio for each in usable) + FLOOR_PERCENT / 100.0
    return min(
        usable,
        key=lambda each: (
            each.job_time_ratio > level,
            each.grouping != Wrap.name,
            each.job_time_ratio,
            each.memory,
        ),
    )


def _about_least(
    predictions: Sequence[Prediction], figure: Callable[[Prediction], float]
) -> list[Prediction]:
    """Keep those whose figure is about that of the least."""
    most = (1 + ABOUT_THE_SAME) * min(map(figure, predictions))
    return [each for each in predictions if figure(each) <= most]


def _text(
    grouping: str | None, plain: Prediction, chosen: Prediction, work: str, workers: int
) -> str:
    if work == BUILTIN:
        return "Do nothing: Spark's own aggregates combine rows before the shuffle."
    if grouping is None and work == STATELESS:
        return f"Do nothing; if partitions have unequal numbers of rows, df.repartition({workers})."
    now = f"{plain.job_time_ratio:.2f} times"
    if grouping is None:
        return f"Do nothing: under plain hashing the busiest worker gets {now} the mean load."
    saved = 1.0 - chosen.job_time_ratio / plain.job_time_ratio
    then = f"{chosen.job_time_ratio:.2f} times"
    if plain.job_seconds is None:
        return f"Use {grouping}: the busiest worker gets {then} the mean of the rows, not {now}."
    return (
        f"Use {grouping}: the work should take {then} the time of a perfectly even job instead of "
        f"{now}, {100 * saved:.0f} % less."
    )
