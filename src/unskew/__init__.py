"""Take the skew out of Spark jobs: groupings that make the tasks finish together.

>>> from unskew import PartialKey, simulate, zipf
>>> stream = zipf(keys=1_000, exponent=0.8, rows=100_000, seed=1)
>>> result = simulate(PartialKey(10), stream, sources=5)
>>> result.imbalance_percent < 1 < result.replication < 2
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # For type checkers alone: a grouping that is not listed here is found all the same.
    from unskew.errors import EventLogError as EventLogError
    from unskew.errors import InvalidGroupingError as InvalidGroupingError
    from unskew.errors import InvalidKeyError as InvalidKeyError
    from unskew.errors import InvalidParameterError as InvalidParameterError
    from unskew.errors import MissingExtraError as MissingExtraError
    from unskew.errors import NotLearnedError as NotLearnedError
    from unskew.errors import PluginWarning as PluginWarning
    from unskew.errors import StreamError as StreamError
    from unskew.errors import UnknownNameError as UnknownNameError
    from unskew.errors import UnskewError as UnskewError
    from unskew.events import RunRecordError as RunRecordError
    from unskew.groupings.adaptive import Adaptive as Adaptive
    from unskew.groupings.auto import Auto as Auto
    from unskew.groupings.base import Grouping as Grouping
    from unskew.groupings.base import LearnedGrouping as LearnedGrouping
    from unskew.groupings.choices.d_choices import DChoices as DChoices
    from unskew.groupings.choices.w_choices import WChoices as WChoices
    from unskew.groupings.consistent import Consistent as Consistent
    from unskew.groupings.dalton import Dalton as Dalton
    from unskew.groupings.distribution_aware import DistributionAware as DistributionAware
    from unskew.groupings.dynamic_key import DynamicKey as DynamicKey
    from unskew.groupings.fish import Fish as Fish
    from unskew.groupings.flex import Flex as Flex
    from unskew.groupings.flow import Flow as Flow
    from unskew.groupings.full_knowledge import FullKnowledge as FullKnowledge
    from unskew.groupings.key import KeyGrouping as KeyGrouping
    from unskew.groupings.kip import Kip as Kip
    from unskew.groupings.load_aware import LoadAware as LoadAware
    from unskew.groupings.modulo import Modulo as Modulo
    from unskew.groupings.off_greedy import OffGreedy as OffGreedy
    from unskew.groupings.on_greedy import OnGreedy as OnGreedy
    from unskew.groupings.optimal import Optimal as Optimal
    from unskew.groupings.partial_key import PartialKey as PartialKey
    from unskew.groupings.plan import Plan as Plan
    from unskew.groupings.planned import PlannedGrouping as PlannedGrouping
    from unskew.groupings.popularity import CountedPopularity as CountedPopularity
    from unskew.groupings.popularity import Popularity as Popularity
    from unskew.groupings.potc import TwoChoices as TwoChoices
    from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle as ProactiveShuffle
    from unskew.groupings.prompt import Prompt as Prompt
    from unskew.groupings.registry import GROUPINGS as GROUPINGS
    from unskew.groupings.registry import make_grouping as make_grouping
    from unskew.groupings.registry import register as register
    from unskew.groupings.shuffle import Shuffle as Shuffle
    from unskew.groupings.single import Single as Single
    from unskew.groupings.universal import Universal as Universal
    from unskew.groupings.wrap import Wrap as Wrap
    from unskew.simulator.loads import simulate as simulate
    from unskew.simulator.queueing import simulate_queue as simulate_queue
    from unskew.simulator.results import QueueResult as QueueResult
    from unskew.simulator.results import SimulationResult as SimulationResult
    from unskew.streams import countries as countries
    from unskew.streams import countries_half as countries_half
    from unskew.streams import drift as drift
    from unskew.streams import file as file
    from unskew.streams import from_keys as from_keys
    from unskew.streams import lognormal as lognormal
    from unskew.streams import parse_stream as parse_stream
    from unskew.streams import uniform as uniform
    from unskew.streams import with_costs as with_costs
    from unskew.streams import zipf as zipf

__version__ = "0.2.0.dev0"

# Public names load when they are first asked for: `unskew --help` need not wait for Numba.
_MODULES = {
    "unskew.errors": (
        "EventLogError",
        "InvalidGroupingError",
        "InvalidKeyError",
        "InvalidParameterError",
        "MissingExtraError",
        "NotLearnedError",
        "PluginWarning",
        "StreamError",
        "UnknownNameError",
        "UnskewError",
    ),
    "unskew.events": ("RunRecordError",),
    "unskew.groupings.base": ("Grouping", "LearnedGrouping"),
    "unskew.groupings.plan": ("Plan",),
    "unskew.groupings.planned": ("PlannedGrouping",),
    "unskew.groupings.registry": ("GROUPINGS", "make_grouping", "register"),
    "unskew.simulator.loads": ("simulate",),
    "unskew.simulator.queueing": ("simulate_queue",),
    "unskew.simulator.results": ("QueueResult", "SimulationResult"),
    "unskew.streams": (
        "countries",
        "countries_half",
        "drift",
        "file",
        "from_keys",
        "lognormal",
        "parse_stream",
        "uniform",
        "with_costs",
        "zipf",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    if name[:1].isupper():
        schemes = _schemes()
        if name in schemes:
            return schemes[name]
    raise AttributeError(f"module 'unskew' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_MODULE_OF, *_schemes(), "__version__"])


def _schemes() -> dict[str, Any]:
    """Return every grouping of the registry by the name of its class."""
    from unskew.groupings.registry import GROUPINGS

    return {scheme.__name__: scheme for scheme in GROUPINGS.values()}
