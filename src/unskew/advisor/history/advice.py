"""Why the tasks of a stage were uneven, and what to do about it, in plain words."""

from typing import NamedTuple

from unskew.advisor.history.plans import StageWork

# Stages that lose less of their own time are even enough: placing rows costs a few percent too.
_WORTH_IT = 0.1
# Nobody changes a job to win less of the whole application's time: a job has many stages, so this
# is less than `auto.WORTHWHILE`, which is about the stage whose rows are placed.
_WORTH_A_CHANGE = 0.02

_GROUPS = frozenset({"FlatMapGroupsInArrow", "FlatMapGroupsInPandas"})


class _Case(NamedTuple):
    """What to say of uneven rows where one of these operators runs."""

    operators: frozenset[str]
    text: str
    method: str | None = None


_CASES = (
    _Case(
        frozenset({"SortMergeJoin", "ShuffledHashJoin", "FlatMapCoGroupsInPandas",
                   "FlatMapCoGroupsInArrow"}),
        "Hot keys of a join. Spark itself splits them with adaptive execution "
        "(spark.sql.adaptive.skewJoin.enabled); unskew does not join.",
    ),
    _Case(
        frozenset({"Window", "WindowInPandas", "ArrowWindowPython", "WindowGroupLimit"}),
        "Hot keys of a window, which Spark keeps whole: no placement helps within a key.",
    ),
    _Case(
        _GROUPS,
        "Hot keys in a function of whole groups. This keeps them whole and gives them workers "
        "with little else; if partial results can be merged, .apply(aggregator, schema) in place "
        "of .apply_in_arrow also splits them.",
        "apply_in_arrow(function, schema)",
    ),
    _Case(
        frozenset({"ObjectHashAggregate", "SortAggregate", "AggregateInPandas",
                   "ArrowAggregatePython"}),
        "Hot keys in a heavy aggregate: split them and merge what comes out.",
        "agg(…)",
    ),
    _Case(
        frozenset({"HashAggregate"}),
        "Do nothing about hot keys: Spark combined their rows before this shuffle. Groups are "
        "unevenly many; more partitions even them out.",
    ),
)  # fmt: skip


class Finding(NamedTuple):
    """What is known of an uneven stage.

    Parameters
    ----------
    lost_share
        Time lost, as a share of the time that the stage lasted.
    longest
        The longest task's time, as a multiple of the mean task's.
    longest_work, its_records
        Time and rows of the task that worked longest, Python's start left out, as multiples of the
        mean task's; no rows, None, where no task tells how many it read.
    work
        What the plan tells of the stage.
    workers
        Tasks, or slots if those are more.
    """

    lost_share: float
    longest: float
    longest_work: float
    its_records: float | None
    work: StageWork
    workers: int


class Advice(NamedTuple):
    """The cause (``even``, ``rows``, ``costs``, ``start`` or ``unknown``), a hint, and code."""

    cause: str
    hint: str
    code: str | None


def cause_of(finding: Finding) -> str:
    """Return what makes the tasks uneven.

    ``start``: more than half of the longest task's excess is the start of Python. ``rows``: the
    task that works longest has more rows, enough for half of its excess. ``costs``: it has not.
    """
    excess, work_excess = finding.longest - 1, finding.longest_work - 1
    if finding.lost_share < _WORTH_IT or excess <= 0:
        return "even"
    if work_excess < excess / 2:
        return "start"
    if finding.its_records is None:
        return "unknown"
    return "rows" if finding.its_records - 1 >= work_excess / 2 else "costs"


def advise(finding: Finding, share_of_job_time: float) -> Advice:
    """Return the likely cause and what to do, "do nothing" included.

    Parameters
    ----------
    finding
        What is known of the stage.
    share_of_job_time
        What it and those like it lost, of the time that the application's jobs ran.

    Examples
    --------
    >>> work = StageWork(["FlatMapGroupsInArrow", "Sort"], ("user",))
    >>> found = Finding(0.6, 3.0, 3.0, 2.6, work, 8)
    >>> print(advise(found, 0.4).code)
    us.group_by(df, "user", workers=8).apply_in_arrow(function, schema)
    >>> advise(found, 0.001).hint
    'Do nothing: less than 2 % of the time is to be won.'
    """
    cause = cause_of(finding)
    if cause == "even":
        return Advice(cause, "Do nothing: its tasks are even enough.", None)
    if share_of_job_time < _WORTH_A_CHANGE:
        text = f"Do nothing: less than {_WORTH_A_CHANGE:.0%} of the time is to be won."
        return Advice(cause, text.replace("%", " %"), None)
    if cause == "start":
        text = "Do nothing: the longest tasks waited for their Python workers to start."
        return Advice(cause, text, None)
    if cause == "rows":
        return _for_rows(finding)
    return _for_costs(finding, cause)


def _for_rows(finding: Finding) -> Advice:
    """Advise where some tasks got more rows than others."""
    work, workers = finding.work, finding.workers
    if work.ranged:
        text = "A sort met values that occur often: sort by one more column, if that may be."
        return Advice("rows", text, None)
    if work.reads_input:
        text = (
            "Its input is uneven, not its keys: some files, or parts of them that Spark does not "
            "divide, have more rows. Rewrite them in parts of equal size, or repartition the rows "
            "before the work."
        )
        return Advice("rows", text, f"df.repartition({workers})")
    for case in _CASES:
        if case.operators.intersection(work.operators):
            grouped = f"us.group_by(df, {_named(work.keys)}, workers={workers}).{case.method}"
            return Advice("rows", case.text, grouped if case.method else None)
    text = "Hot keys: place the rows so that every worker gets as many."
    if not work.keys:
        text = "Some tasks got more rows than others; the log does not show by which key."
    return Advice("rows", text, f"us.balance(df, by={_named(work.keys)}, workers={workers})")


def _for_costs(finding: Finding, cause: str) -> Advice:
    """Advise where the numbers of rows do not explain the times, or are not known."""
    keys = finding.work.keys
    doubt = "Rows do not explain it:" if cause == "costs" else "The log has no rows. Perhaps"
    if _GROUPS.intersection(finding.work.operators):
        code = (
            f'us.group_by(df, {_named(keys)}, workers={finding.workers}, weight="measured")'
            ".apply_in_arrow(function, schema)"
        )
        return Advice(cause, f"{doubt} some keys take longer: weigh keys by measured time.", code)
    code = f"us.map_rows(df, function, schema, cost_by=…, workers={finding.workers})"
    text = f"{doubt} some rows take longer: spread them by what they cost (or a machine was slow)."
    return Advice(cause, text, code)


def _named(keys: tuple[str, ...]) -> str:
    if not keys:
        return "…"
    quoted = [f'"{key}"' for key in keys]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"
