"""The kinds of work that follow a grouping: what may be done with a key's rows."""

from unskew._validation import check_choice

MERGE, ATOMIC, STATELESS, BUILTIN = "merge", "atomic", "stateless", "builtin"

WORKS = {
    MERGE: "partial results of a key can be merged, so that a key may be split",
    ATOMIC: "all rows of a key must meet in one place",
    STATELESS: "every row is worked on by itself, whatever its key",
    BUILTIN: "Spark's own aggregates (count, sum, min, max, avg …)",
}
"""Every kind of work, and what it says."""


def check_work(owner: str, parameter: str, work: object) -> str:
    """Return ``work`` if it is a kind of work, or raise and list them.

    >>> check_work("recommend", "work", "atomic")
    'atomic'
    """
    return check_choice(owner, parameter, work, WORKS)
