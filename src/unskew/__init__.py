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
    from unskew.errors import UnskewError
    from unskew.groupings.auto import Auto
    from unskew.groupings.base import Grouping
    from unskew.groupings.d_choices import DChoices
    from unskew.groupings.distribution_aware import DistributionAware
    from unskew.groupings.dynamic_key import DynamicKey
    from unskew.groupings.full_knowledge import FullKnowledge
    from unskew.groupings.key import KeyGrouping
    from unskew.groupings.modulo import Modulo
    from unskew.groupings.off_greedy import OffGreedy
    from unskew.groupings.on_greedy import OnGreedy
    from unskew.groupings.optimal import Optimal
    from unskew.groupings.partial_key import PartialKey
    from unskew.groupings.popularity import Popularity
    from unskew.groupings.potc import TwoChoices
    from unskew.groupings.proactive_shuffle import ProactiveShuffle
    from unskew.groupings.registry import GROUPINGS, make_grouping
    from unskew.groupings.shuffle import Shuffle
    from unskew.groupings.single import Single
    from unskew.groupings.universal import Universal
    from unskew.groupings.w_choices import WChoices
    from unskew.groupings.wrap import Wrap
    from unskew.simulator.loads import simulate
    from unskew.simulator.queueing import simulate_queue
    from unskew.simulator.results import QueueResult, SimulationResult
    from unskew.streams import (
        countries,
        countries_half,
        drift,
        file,
        from_keys,
        lognormal,
        parse_stream,
        uniform,
        with_costs,
        zipf,
    )

__version__ = "0.1.0"

__all__ = [
    "GROUPINGS",
    "Auto",
    "DChoices",
    "DistributionAware",
    "DynamicKey",
    "FullKnowledge",
    "Grouping",
    "KeyGrouping",
    "Modulo",
    "OffGreedy",
    "OnGreedy",
    "Optimal",
    "PartialKey",
    "Popularity",
    "ProactiveShuffle",
    "QueueResult",
    "Shuffle",
    "SimulationResult",
    "Single",
    "TwoChoices",
    "Universal",
    "UnskewError",
    "WChoices",
    "Wrap",
    "countries",
    "countries_half",
    "drift",
    "file",
    "from_keys",
    "lognormal",
    "make_grouping",
    "parse_stream",
    "simulate",
    "simulate_queue",
    "uniform",
    "with_costs",
    "zipf",
]

# Public names load when they are first asked for: `unskew --help` need not wait for Numba.
_MODULES = {
    "GROUPINGS": "unskew.groupings.registry",
    "Auto": "unskew.groupings.auto",
    "DChoices": "unskew.groupings.d_choices",
    "DistributionAware": "unskew.groupings.distribution_aware",
    "DynamicKey": "unskew.groupings.dynamic_key",
    "FullKnowledge": "unskew.groupings.full_knowledge",
    "Grouping": "unskew.groupings.base",
    "KeyGrouping": "unskew.groupings.key",
    "Modulo": "unskew.groupings.modulo",
    "OffGreedy": "unskew.groupings.off_greedy",
    "OnGreedy": "unskew.groupings.on_greedy",
    "Optimal": "unskew.groupings.optimal",
    "PartialKey": "unskew.groupings.partial_key",
    "Popularity": "unskew.groupings.popularity",
    "ProactiveShuffle": "unskew.groupings.proactive_shuffle",
    "QueueResult": "unskew.simulator.results",
    "Shuffle": "unskew.groupings.shuffle",
    "SimulationResult": "unskew.simulator.results",
    "Single": "unskew.groupings.single",
    "TwoChoices": "unskew.groupings.potc",
    "Universal": "unskew.groupings.universal",
    "UnskewError": "unskew.errors",
    "WChoices": "unskew.groupings.w_choices",
    "Wrap": "unskew.groupings.wrap",
    "countries": "unskew.streams",
    "countries_half": "unskew.streams",
    "drift": "unskew.streams",
    "file": "unskew.streams",
    "from_keys": "unskew.streams",
    "lognormal": "unskew.streams",
    "make_grouping": "unskew.groupings.registry",
    "parse_stream": "unskew.streams",
    "simulate": "unskew.simulator.loads",
    "simulate_queue": "unskew.simulator.queueing",
    "uniform": "unskew.streams",
    "with_costs": "unskew.streams",
    "zipf": "unskew.streams",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'unskew' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
