"""Why a recommendation is what it is, a sentence each."""

from collections.abc import Iterator, Sequence

from unskew.advisor.predict import Prediction
from unskew.advisor.profile import KeyProfile
from unskew.advisor.works import ATOMIC, BUILTIN, MERGE, STATELESS

_MUCH_DRIFT = 0.1
_LITTLE_SPREAD = 0.05


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
    splitting = [
        each for each in predictions if each.splits_keys and each.drawback == "splits keys"
    ]
    ratio = min((each.job_time_ratio for each in splitting), default=1.0)
    if ratio < 0.95 * chosen.job_time_ratio:
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
