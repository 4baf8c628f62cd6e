"""Why the tasks of a stage were uneven, and what to do about it, in plain words."""

import re
from typing import NamedTuple

from unskew.advisor.history.plans import StageWork
from unskew.advisor.snippets import GROUPS, PARTIALS, quoted_columns

SHORTEST_TO_DIVIDE = 0.5
"""Seconds: shorter tasks are not worth dividing among slots that wait."""
MUCH_GARBAGE = 0.2
"""Of the tasks' time: less is usual."""
_MUCH_SPILLED = 0.5  # of the tasks

# Stages that lose less of their own time are even enough: placing rows costs a few percent too.
_WORTH_IT = 0.1
# Nobody changes a job to win less of the whole application's time: a job has many stages, so this
# is less than `auto.WORTHWHILE`, which is about the stage whose rows are placed.
_WORTH_A_CHANGE = 0.02

_COLUMN = re.compile(r"\w+")
_GROUPS = frozenset({"FlatMapGroupsInArrow", "FlatMapGroupsInPandas"})


class _Case(NamedTuple):
    """What to say of uneven rows where one of these operators runs."""

    operators: frozenset[str]
    text: str
    code: str | None = None


_JOINS = frozenset({"SortMergeJoin", "ShuffledHashJoin"})
_CASES = (
    _Case(
        _JOINS,
        "A skewed join: hot keys. Adaptive execution splits them only where a partition is above "
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes; this cuts them where a "
        "worker is full.",
        "us.join(left, right, {keys}, workers={workers})",
    ),
    _Case(
        frozenset({"FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow"}),
        "Hot keys in a function of whole groups of two tables, which stay whole: no placement "
        "helps within a key.",
    ),
    _Case(
        frozenset({"Window", "WindowInPandas", "ArrowWindowPython", "WindowGroupLimit"}),
        "Hot keys of a window, which Spark keeps whole: us.window cuts them, in the order of the "
        "window (docs/windows.md).",
    ),
    _Case(
        _GROUPS,
        "Hot keys in a function of whole groups. This keeps them whole and gives them workers "
        "with little else; if partial results can be merged, .apply with an aggregator in place "
        "of .apply_in_arrow also splits them.",
        f"us.group_by(df, {{keys}}, workers={{workers}}){GROUPS}",
    ),
    _Case(
        frozenset({"ObjectHashAggregate", "SortAggregate", "AggregateInPandas",
                   "ArrowAggregatePython"}),
        "Hot keys in a heavy aggregate: if its partial results can be merged, an aggregator of "
        "your own, split them and merge what comes out.",
        f"us.group_by(df, {{keys}}, workers={{workers}}){PARTIALS}",
    ),
)  # fmt: skip
_COMBINED = (
    "Do nothing about hot keys: Spark combined their rows before this shuffle. Groups are unevenly "
    "many; more partitions even them out."
)


class Finding(NamedTuple):
    """What is known of an uneven stage.

    Parameters
    ----------
    lost_share
        Time lost, as a share of the time that the stage lasted.
    uneven_share, idle_share, collecting_share
        The same because of uneven tasks, and because of fewer tasks than slots; what garbage took,
        of the tasks' time.
    spilled_share, spilled_bytes
        How many of the tasks wrote to disk what did not fit into memory, and how much in all.
    slow_machine
        Whether all tasks of an executor took much longer than those of all others.
    longest
        The longest task's time, as a multiple of the mean task's.
    longest_work
        1, and by how much the task that worked longest, Python's start left out, worked longer
        than the mean task, as a multiple of the mean task's time.
    its_records
        Its rows, as a multiple of the mean task's; None where no task tells how many it read.
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
    uneven_share: float = 0.0
    idle_share: float = 0.0
    collecting_share: float = 0.0
    spilled_share: float = 0.0
    spilled_bytes: int = 0
    slow_machine: bool = False


class Advice(NamedTuple):
    """The cause, one of `CAUSES`, a hint, and code."""

    cause: str
    hint: str
    code: str | None


CAUSES = {
    "even": "less than a tenth of the stage was lost",
    "rows": "the task that worked longest had more rows, enough for half of its excess",
    "input": "the same, in a stage that reads files, so that no key made them uneven",
    "costs": "it had not",
    "machine": "it had not, and all tasks of one executor took longer than all others",
    "slots": "most was lost because there were fewer tasks than slots",
    "start": "most of the longest task's excess is the start of its Python worker",
    "gc": "a fifth of the tasks' time went by while garbage was collected",
    "spill": "tasks were even, but most wrote to disk what did not fit into memory",
    "unknown": "no task tells its rows",
}
"""Every cause, and what is seen of it."""


def cause_of(finding: Finding) -> str:
    """Return where the time of a stage went; `CAUSES` defines the words."""
    excess, work_excess = finding.longest - 1, finding.longest_work - 1
    if finding.collecting_share >= max(MUCH_GARBAGE, finding.uneven_share + finding.idle_share):
        return "gc"
    if finding.lost_share >= _WORTH_IT and finding.idle_share > finding.lost_share / 2:
        return "slots"
    if finding.lost_share < _WORTH_IT or excess <= 0:
        return "spill" if finding.spilled_share > _MUCH_SPILLED else "even"
    if work_excess < excess / 2:
        return "start"
    if finding.its_records is None:
        return "unknown"
    if finding.its_records - 1 >= work_excess / 2:
        return "input" if finding.work.reads_input else "rows"
    return "machine" if finding.slow_machine else "costs"


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
    us.group_by(df, "user", workers=8).apply_in_arrow(lambda rows: rows, df.schema)
    >>> joined = found._replace(work=StageWork(["SortMergeJoin", "Sort"], ("user",)))
    >>> print(advise(joined, 0.4).code)
    us.join(left, right, "user", workers=8)
    >>> advise(found, 0.001).hint
    'Do nothing: less than 2 % of the time is to be won.'
    """
    cause = cause_of(finding)
    if cause == "even":
        return Advice(cause, "Do nothing: its tasks are even enough.", None)
    if cause == "spill":
        size = f"{finding.spilled_bytes / 2**20:,.1f} MB"
        text = (
            f"Its tasks are even, but wrote {size} to disk that did not fit into memory; the log "
            "does not tell what that took. More partitions, or more memory per task, avoid it."
        )
        return Advice(cause, text, _PARTITIONS.format(workers=2 * finding.workers))
    if share_of_job_time < _WORTH_A_CHANGE:
        text = f"Do nothing: less than {_WORTH_A_CHANGE:.0%} of the time is to be won."
        return Advice(cause, text.replace("%", " %"), None)
    if cause == "start":
        text = "Do nothing: the longest tasks waited for their Python workers to start."
        return Advice(cause, text, None)
    if cause == "slots":
        return _for_slots(finding)
    if cause == "gc":
        text = (
            f"{finding.collecting_share:.0%} of its tasks' time went by while garbage was "
            "collected: more memory per task (spark.executor.memory, fewer spark.executor.cores), "
            "or less that is cached."
        )
        return Advice(cause, text.replace("%", " %"), None)
    if cause == "machine":
        text = (
            "All tasks of one executor took longer than those of the others: look after its "
            "machine. spark.speculation runs late tasks once more elsewhere."
        )
        return Advice(cause, text, None)
    if cause in ("rows", "input"):
        return _for_rows(finding)
    return _for_costs(finding, cause)


_PARTITIONS = 'spark.conf.set("spark.sql.shuffle.partitions", "{workers}")'
_COALESCES = 'spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")'


def _for_slots(finding: Finding) -> Advice:
    """Advise where a stage had fewer tasks than slots."""
    work = finding.work
    text = "It has fewer tasks than there are slots, and some of those wait: "
    if work.single:
        text += "all rows meet in one task (an order, a limit or a window over all rows)."
        return Advice("slots", text, None)
    if work.coalesced:
        text += (
            "adaptive execution joined partitions that are small in bytes, but not in work "
            "(spark.sql.adaptive.coalescePartitions.*)."
        )
        return Advice("slots", text, _COALESCES)
    if work.reads_input:
        text += (
            "so many files or parts of files there are. Repartition the rows before the work, or "
            "read smaller parts (spark.sql.files.maxPartitionBytes)."
        )
        return Advice("slots", text, f"df.repartition({finding.workers})")
    if work.keys:
        text += "so many partitions its shuffle has."
        return Advice("slots", text, _PARTITIONS.format(workers=finding.workers))
    text += "so many partitions its rows were put into. Repartition them before the work."
    return Advice("slots", text, f"df.repartition({finding.workers})")


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
        return Advice("input", text, f"df.repartition({workers})")
    if work.combined:
        return _with_code("rows", _COMBINED, None, finding)
    for case in _CASES:
        if case.operators.intersection(work.operators):
            return _with_code("rows", case.text, case.code, finding)
    text = "Hot keys: place the rows so that every worker gets as many."
    if not work.keys:
        text = (
            "Some tasks got more rows than others; the log does not show by which key: find it "
            "(unskew diagnose DATA --by COLUMN), and place the rows with us.balance."
        )
    return _with_code("rows", text, "us.balance(df, by={keys}, workers={workers})", finding)


def _with_code(cause: str, hint: str, code: str | None, finding: Finding) -> Advice:
    """Return advice whose line of code names the keys; without one where no columns are known."""
    keys = finding.work.keys
    if code is None or not keys:
        return Advice(cause, hint, None)
    if not all(map(_COLUMN.fullmatch, keys)):
        hint += f" Its key is an expression, {', '.join(keys)}: make a column of it first."
        return Advice(cause, hint, None)
    return Advice(cause, hint, code.format(keys=quoted_columns(keys), workers=finding.workers))


def _for_costs(finding: Finding, cause: str) -> Advice:
    """Advise where the numbers of rows do not explain the times, or are not known."""
    doubt = "Rows do not explain it:" if cause == "costs" else "The log has no rows. Perhaps"
    if _GROUPS.intersection(finding.work.operators):
        text = f"{doubt} some keys take longer: weigh keys by measured time."
        code = f'us.group_by(df, {{keys}}, workers={{workers}}, weight="measured"){GROUPS}'
        return _with_code(cause, text, code, finding)
    if _JOINS.intersection(finding.work.operators):
        text = (
            f"A skewed join. {doubt} more rows come out of some keys than of others: plan it by "
            "rows in and rows out."
        )
        code = "us.join(left, right, {keys}, workers={workers})"
        return _with_code(cause, text, code, finding)
    text = (
        f"{doubt} some rows take longer: spread them by what they cost, with us.map_rows and the "
        "column that tells it as cost_by (or a machine was slow)."
    )
    return Advice(cause, text, None)
