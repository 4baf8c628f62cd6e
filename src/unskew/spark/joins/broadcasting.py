"""Whether a side of a join is broadcast: by Spark's own plan, or by what its rows take."""

import contextlib
import io
import re

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew.spark.plans.join_plan import JoinPlan

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"

_JOIN = re.compile(r"(Broadcast|SortMerge|Shuffled)\w*Join")
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_ROW_BYTES, _FIELD_BYTES = 16, 8
_ASSUMED = {"string": 20, "binary": 100, "struct": 40, "array": 80, "map": 80}


def is_broadcast(joined: DataFrame) -> bool:
    """Return whether Spark itself would broadcast a side of the outermost join."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        joined.explain()
    found = _JOIN.search(shown.getvalue())
    return found is not None and found[1] == "Broadcast"


def in_bytes(text: str) -> int:
    """Return a size as Spark writes it; −1 where it is off.

    >>> in_bytes("10MB"), in_bytes("-1"), in_bytes("10485760b")
    (10485760, -1, 10485760)
    """
    digits = text.strip().lower().rstrip("b")
    unit = digits[-1:] if digits[-1:] in _UNITS else ""
    number = int(digits.removesuffix(unit) or 0)
    return number << _UNITS[unit] if number > 0 else -1


def row_bytes(schema: StructType) -> int:
    """Return about how many bytes a row takes, by the sizes that Spark assumes of types."""
    kinds = [field.dataType.typeName() for field in schema.fields]
    return _ROW_BYTES + sum(_ASSUMED.get(kind, _FIELD_BYTES) for kind in kinds)


def small_side(plan: JoinPlan, how: str, sizes: tuple[int, int], most: float) -> str | None:
    """Return the smaller side that may be broadcast and has at most so many bytes, if any."""
    may = {"right": ("inner", "left", "semi", "anti"), "left": ("inner", "right")}
    both = {"left": plan.left_rows * sizes[0], "right": plan.right_rows * sizes[1]}
    fitting = [name for name in may if how in may[name] and both[name] <= most]
    return min(fitting, key=both.__getitem__, default=None)
