"""A claim that asks the same of many settings: in how many it holds, and where it does not."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from unskew_papers.claims import Verdict
from unskew_papers.rows import Rows

_MOST_NAMED = 8


class Asked(NamedTuple):
    """One setting: what was measured there, and what it may be at most."""

    where: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the limit is kept."""
        return self.value <= self.limit


def settings(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """Yield name and rows of each stream with each number of workers.

    >>> [where for where, _ in settings(Rows([{"stream": "LN1", "workers": 5}]))]
    ['LN1, W = 5']
    """
    for stream in rows.distinct("stream"):
        of_stream = rows.where(stream=stream)
        for workers in of_stream.distinct("workers"):
            yield f"{stream}, W = {workers}", of_stream.where(workers=workers)


def verdict(asked: Sequence[Asked], unit: str = "") -> Verdict:
    """Say whether every setting keeps its limit; where not, name those that are furthest off.

    A claim that asks nothing does not hold.

    >>> verdict([Asked("W = 5", 0.2, 1.0), Asked("W = 9", 1.5, 1.0)], " %").measured
    '1 of 2 settings; not W = 9: 1.5 %'
    >>> verdict([]).holds
    False
    """
    failed = sorted((each for each in asked if not each.holds), key=_excess, reverse=True)
    measured = tally(len(asked), [f"{each.where}: {each.value:.3g}{unit}" for each in failed])
    if asked and not failed:
        closest = max(asked, key=_excess)
        measured += f", {closest.value:.3g}{unit} where it is closest ({closest.where})"
    return Verdict(bool(asked) and not failed, measured)


def tally(asked: int, failed: Sequence[str], what: str = "settings") -> str:
    """Say how many are as they should be, and name the first of those that are not.

    >>> tally(3, ["W = 5"], "pairs")
    '2 of 3 pairs; not W = 5'
    """
    text = f"{asked - len(failed)} of {asked} {what}"
    if failed:
        text += f"; not {', '.join(failed[:_MOST_NAMED])}"
    others = len(failed) - _MOST_NAMED
    return f"{text} and {others} more" if others > 0 else text


def _excess(asked: Asked) -> float:
    return asked.value - asked.limit
