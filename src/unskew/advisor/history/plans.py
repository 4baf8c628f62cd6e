"""Read from the plan of a SQL query what a stage does, and by which key its rows came.

Spark logs the plan as a tree whose nodes name their accumulators, and each finished task names the
accumulators that it counted in. So a stage knows its nodes exactly, with adaptive execution too,
and where a query has many shuffles. The counters of a shuffle are of two stages: those of writing
of the one before it, those of reading of the one after.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_SHUFFLE = "Exchange"
_CUTS = {_SHUFFLE, "BroadcastExchange", "Subquery", "SubqueryBroadcast"}
_WRAPPERS = re.compile(
    r"WholeStageCodegen.*|InputAdapter|AQEShuffleRead|CustomShuffleReader|AdaptiveSparkPlan"
    r"|\w*QueryStage|ColumnarToRow|ReusedExchange"
)
_READS = {"AQEShuffleRead", "CustomShuffleReader"}
_WRITES = re.compile(r"data size|number of partitions|shuffle (bytes|records|write).*")
_PARTITIONING = re.compile(r"\b(hash|range)partitioning\((.*)", re.DOTALL)
_EXPRESSION_ID = re.compile(r"#\d+L?\b")
_SCAN = re.compile(r"(Batch)?Scan\b.*")
_ORDER = re.compile(r" (ASC|DESC) NULLS (FIRST|LAST)$")


@dataclass
class StageWork:
    """What one stage does.

    Parameters
    ----------
    operators
        Names of its plan nodes, the last to run first.
    keys
        Columns or expressions by which its rows were shuffled; of the first shuffle of a join.
    ranged
        Whether that shuffle was by ranges, for a sort.
    combined
        Whether an aggregate stood right before that shuffle, so that each key sent it one row per
        task. What is aggregated in the stage itself, or after it, says nothing of that.
    coalesced
        Whether adaptive execution joined partitions of that shuffle.
    single
        Whether that shuffle brought all rows to one task.
    shuffled
        Whether its rows came by a shuffle at all.
    """

    operators: list[str] = field(default_factory=list)
    keys: tuple[str, ...] = ()
    ranged: bool = False
    combined: bool = False
    coalesced: bool = False
    single: bool = False
    shuffled: bool = False

    @property
    def reads_input(self) -> bool:
        """Whether its rows come from files or tables, and from no shuffle."""
        return not (self.keys or self.shuffled) and any(map(_SCAN.fullmatch, self.operators))


def works_by_accumulator(plan: Mapping[str, Any]) -> dict[int, StageWork]:
    """Return which accumulator is counted in which work, for a plan as Spark logs it."""
    found: dict[int, StageWork] = {}
    pending = [(plan, StageWork())]
    while pending:
        node, work = pending.pop()
        below = _take_in(node, work, found)
        pending.extend((child, below) for child in reversed(node.get("children") or []))
    return found


def _take_in(node: Mapping[str, Any], work: StageWork, found: dict[int, StageWork]) -> StageWork:
    """Note the node's accumulators, and return the work that its children belong to."""
    name = str(node.get("nodeName", ""))
    text = str(node.get("simpleString", ""))
    cut = name in _CUTS
    below = StageWork() if cut else work
    work.coalesced |= name in _READS and "coalesced" in text
    if cut:
        _name_keys(text, work)
        _describe_shuffle(node, text, work)
    elif not _WRAPPERS.fullmatch(name):
        work.operators.append(name)
    for metric in node.get("metrics") or []:
        writes = cut and _WRITES.fullmatch(str(metric.get("name", "")))
        found[metric.get("accumulatorId", -1)] = below if writes else work
    return below


def _describe_shuffle(node: Mapping[str, Any], text: str, work: StageWork) -> None:
    work.shuffled |= node.get("nodeName") == _SHUFFLE
    work.single |= "SinglePartition" in text
    below = _first_below(node)
    work.combined |= below.endswith("Aggregate")


def _first_below(node: Mapping[str, Any]) -> str:
    """Return the operator whose rows a shuffle gets."""
    while children := node.get("children") or []:
        node = children[0]
        name = str(node.get("nodeName", ""))
        if not _WRAPPERS.fullmatch(name):
            return name
    return ""


def _name_keys(text: str, work: StageWork) -> None:
    keys, ranged = partitioning_keys(text)
    if keys and not work.keys:
        work.keys, work.ranged = keys, ranged


def partitioning_keys(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the keys in the text of a shuffle, and whether it is by ranges.

    >>> partitioning_keys("Exchange hashpartitioning(user#0L, coalesce(day#3, 0), 200), REPART…")
    (('user', 'coalesce(day, 0)'), False)
    >>> partitioning_keys("Exchange rangepartitioning(x#1 ASC NULLS FIRST, 4)")
    (('x',), True)
    >>> partitioning_keys("Exchange SinglePartition")
    ((), False)
    """
    named = _PARTITIONING.search(text)
    if named is None:
        return (), False
    *keys, _ = _arguments(named[2])  # the last is the number of partitions
    plain = (_ORDER.sub("", _EXPRESSION_ID.sub("", key)) for key in keys)
    return tuple(plain), named[1] == "range"


def _arguments(text: str) -> Iterator[str]:
    """Split at the commas of the outermost level, up to the parenthesis that closes it."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        if depth == 0 and letter in ",)":
            yield text[start:place].strip()
            start = place + 1
            if letter == ")":
                return
        depth += (letter in "([") - (letter in ")]")
    yield text[start:].strip()  # cut short by Spark: better some of the keys than none
