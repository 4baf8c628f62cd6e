"""Lines of PySpark that run as they are printed, with ``us``, ``df`` and what Spark has.

Functions and aggregators of the user's own are not known here: a line has one that exists and does
no more than pass rows on or count them, and `own_work` says so.
"""

from collections.abc import Sequence

_FUNCTION, _AGGREGATOR = "lambda rows: rows, df.schema", 'us.Count(), "rows long"'
GROUPS = f".apply_in_arrow({_FUNCTION})"
PARTIALS = f".apply({_AGGREGATOR})"


def own_work(code: str) -> str:
    """Say what a person has to put in place of what a line has; nothing where it is complete.

    >>> own_work("us.balance(df, by='user', workers=8)")
    ''
    """
    for stands_in in (_FUNCTION, _AGGREGATOR):
        if stands_in in code:
            return f"The line runs as it is: put your own work in place of {stands_in}."
    return ""


def quoted_columns(by: Sequence[str]) -> str:
    """Write key columns as Python: one name, or a list.

    >>> quoted_columns(["user"]), quoted_columns(["day", "user"])
    ('"user"', '["day", "user"]')
    """
    written = ['"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in by]
    return written[0] if len(written) == 1 else f"[{', '.join(written)}]"


def mapped_rows(by: Sequence[str], workers: int) -> str:
    """Return the line that spreads rows by what they cost.

    >>> mapped_rows(["caller"], 8)
    'us.map_rows(df, lambda rows: rows, df.schema, cost_by="caller", workers=8)'
    """
    return f"us.map_rows(df, {_FUNCTION}, cost_by={quoted_columns(by)}, workers={workers})"
