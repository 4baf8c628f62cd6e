"""unskew on Spark: rows placed so that the tasks finish together, results exact."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.spark.aggregates import (
        approx_count_distinct,
        avg,
        collect_set,
        count,
        count_distinct,
        histogram,
        max,
        min,
        quantiles,
        sum,
        top_k,
        variance,
        weighted_mean,
    )
    from unskew.spark.aggregator import Aggregator, AggregatorLawError, check_laws
    from unskew.spark.diagnosing import diagnose
    from unskew.spark.epochs import Epoch, read_epochs
    from unskew.spark.example_aggregators import Mean, TopRows
    from unskew.spark.grouped import GroupedFrame, group_by
    from unskew.spark.loads import Loads
    from unskew.spark.local_session import session
    from unskew.spark.mapping import map_batches, map_rows
    from unskew.spark.placement import balance
    from unskew.spark.salting import salt
    from unskew.spark.saved_plans import load_plan, save_plan
    from unskew.spark.streaming import balance_stream
    from unskew.spark.watching import Watch, watch

__all__ = [
    "Aggregator",
    "AggregatorLawError",
    "Epoch",
    "GroupedFrame",
    "Loads",
    "Mean",
    "TopRows",
    "Watch",
    "approx_count_distinct",
    "avg",
    "balance",
    "balance_stream",
    "check_laws",
    "collect_set",
    "count",
    "count_distinct",
    "diagnose",
    "group_by",
    "histogram",
    "load_plan",
    "map_batches",
    "map_rows",
    "max",
    "min",
    "quantiles",
    "read_epochs",
    "salt",
    "save_plan",
    "session",
    "sum",
    "top_k",
    "variance",
    "watch",
    "weighted_mean",
]

# Names load when they are first asked for: a Python worker that runs a user's aggregator imports
# this package and need not wait for Numba.
_MODULES = {
    "Epoch": "unskew.spark.epochs",
    "read_epochs": "unskew.spark.epochs",
    "Aggregator": "unskew.spark.aggregator",
    "AggregatorLawError": "unskew.spark.aggregator",
    "GroupedFrame": "unskew.spark.grouped",
    "Loads": "unskew.spark.loads",
    "Mean": "unskew.spark.example_aggregators",
    "TopRows": "unskew.spark.example_aggregators",
    "approx_count_distinct": "unskew.spark.aggregates",
    "avg": "unskew.spark.aggregates",
    "balance": "unskew.spark.placement",
    "balance_stream": "unskew.spark.streaming",
    "check_laws": "unskew.spark.aggregator",
    "collect_set": "unskew.spark.aggregates",
    "count": "unskew.spark.aggregates",
    "count_distinct": "unskew.spark.aggregates",
    "diagnose": "unskew.spark.diagnosing",
    "group_by": "unskew.spark.grouped",
    "histogram": "unskew.spark.aggregates",
    "load_plan": "unskew.spark.saved_plans",
    "map_batches": "unskew.spark.mapping",
    "map_rows": "unskew.spark.mapping",
    "max": "unskew.spark.aggregates",
    "min": "unskew.spark.aggregates",
    "quantiles": "unskew.spark.aggregates",
    "salt": "unskew.spark.salting",
    "save_plan": "unskew.spark.saved_plans",
    "session": "unskew.spark.local_session",
    "sum": "unskew.spark.aggregates",
    "top_k": "unskew.spark.aggregates",
    "variance": "unskew.spark.aggregates",
    "Watch": "unskew.spark.watching",
    "watch": "unskew.spark.watching",
    "weighted_mean": "unskew.spark.aggregates",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'unskew.spark' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
