"""unskew on Spark: rows placed so that the tasks finish together, results exact.

Each public verb is a module of this package, with the verb's own name.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew._stores import StoreError as StoreError
    from unskew.dashboard.serving import BusyPortError as BusyPortError
    from unskew.errors import InvalidParameterError as InvalidParameterError
    from unskew.errors import MissingExtraError as MissingExtraError
    from unskew.errors import NotLearnedError as NotLearnedError
    from unskew.errors import StreamError as StreamError
    from unskew.errors import UnknownNameError as UnknownNameError
    from unskew.errors import UnskewError as UnskewError
    from unskew.events import Epoch as Epoch
    from unskew.events import HotKey as HotKey
    from unskew.events import read_epochs as read_epochs
    from unskew.groupings.plan import Plan as Plan
    from unskew.spark.aggregates import collect_sorted_set as collect_sorted_set
    from unskew.spark.aggregates import histogram as histogram
    from unskew.spark.aggregates import quantiles as quantiles
    from unskew.spark.aggregates import top_k as top_k
    from unskew.spark.aggregates import weighted_mean as weighted_mean
    from unskew.spark.aggregators import Aggregator as Aggregator
    from unskew.spark.aggregators import AggregatorLawError as AggregatorLawError
    from unskew.spark.aggregators import Count as Count
    from unskew.spark.aggregators import Mean as Mean
    from unskew.spark.aggregators import TopRows as TopRows
    from unskew.spark.aggregators import check_laws as check_laws
    from unskew.spark.balance import balance as balance
    from unskew.spark.balance import balance_stream as balance_stream
    from unskew.spark.check_placement import PlacementCheck as PlacementCheck
    from unskew.spark.check_placement import check_placement as check_placement
    from unskew.spark.diagnose import TableDiagnosis as TableDiagnosis
    from unskew.spark.diagnose import diagnose as diagnose
    from unskew.spark.diagnose_write import WriteDiagnosis as WriteDiagnosis
    from unskew.spark.diagnose_write import diagnose_write as diagnose_write
    from unskew.spark.for_write import WritePlan as WritePlan
    from unskew.spark.for_write import for_write as for_write
    from unskew.spark.for_write import write_plan as write_plan
    from unskew.spark.group_by import GroupedFrame as GroupedFrame
    from unskew.spark.group_by import group_by as group_by
    from unskew.spark.join import join as join
    from unskew.spark.joins.diagnosing import JoinDiagnosis as JoinDiagnosis
    from unskew.spark.loads import Loads as Loads
    from unskew.spark.map_rows import map_batches as map_batches
    from unskew.spark.map_rows import map_rows as map_rows
    from unskew.spark.plan import plan as plan
    from unskew.spark.plans.join_plan import JoinPlan as JoinPlan
    from unskew.spark.plans.saved import DamagedPlanWarning as DamagedPlanWarning
    from unskew.spark.plans.saved import KeyPlan as KeyPlan
    from unskew.spark.plans.saved import PlanFileError as PlanFileError
    from unskew.spark.plans.saved import load_plan as load_plan
    from unskew.spark.salt import salt as salt
    from unskew.spark.session import LostExecutorWarning as LostExecutorWarning
    from unskew.spark.session import session as session
    from unskew.spark.sessions import sessions as sessions
    from unskew.spark.versions import SparkVersionError as SparkVersionError
    from unskew.spark.watch import Watch as Watch
    from unskew.spark.watch import watch as watch
    from unskew.spark.window import WindowedFrame as WindowedFrame
    from unskew.spark.window import window as window
    from unskew.spark.windows.functions import WindowColumn as WindowColumn

# Names load when they are first asked for: a Python worker that runs a user's aggregator imports
# this package and need not wait for Numba.
_MODULES = {
    "unskew.dashboard.serving": ("BusyPortError",),
    "unskew.errors": (
        "InvalidParameterError",
        "MissingExtraError",
        "NotLearnedError",
        "StreamError",
        "UnknownNameError",
        "UnskewError",
    ),
    "unskew._stores": ("StoreError",),
    "unskew.events": ("Epoch", "HotKey", "read_epochs"),
    "unskew.groupings.plan": ("Plan",),
    "unskew.spark.aggregates": (
        "collect_sorted_set",
        "histogram",
        "quantiles",
        "top_k",
        "weighted_mean",
    ),
    "unskew.spark.aggregators": (
        "Aggregator",
        "AggregatorLawError",
        "Count",
        "Mean",
        "TopRows",
        "check_laws",
    ),
    "unskew.spark.balance": ("balance", "balance_stream"),
    "unskew.spark.check_placement": ("PlacementCheck", "check_placement"),
    "unskew.spark.diagnose": ("TableDiagnosis", "diagnose"),
    "unskew.spark.diagnose_write": ("WriteDiagnosis", "diagnose_write"),
    "unskew.spark.for_write": ("WritePlan", "for_write", "write_plan"),
    "unskew.spark.group_by": ("GroupedFrame", "group_by"),
    "unskew.spark.join": ("join",),
    "unskew.spark.joins.diagnosing": ("JoinDiagnosis",),
    "unskew.spark.loads": ("Loads",),
    "unskew.spark.map_rows": ("map_batches", "map_rows"),
    "unskew.spark.plan": ("plan",),
    "unskew.spark.plans.join_plan": ("JoinPlan",),
    "unskew.spark.plans.saved": (
        "DamagedPlanWarning",
        "PlanFileError",
        "KeyPlan",
        "load_plan",
    ),
    "unskew.spark.salt": ("salt",),
    "unskew.spark.session": ("LostExecutorWarning", "session"),
    "unskew.spark.sessions": ("sessions",),
    "unskew.spark.versions": ("SparkVersionError",),
    "unskew.spark.watch": ("Watch", "watch"),
    "unskew.spark.window": ("WindowedFrame", "window"),
    "unskew.spark.windows.functions": ("WindowColumn",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'unskew.spark' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return list(__all__)


class _Package(ModuleType):
    """A package whose attribute ``balance`` stays the verb when its module of that name loads."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULE_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
