"""All groupings by name: a new scheme is one file and one line here."""

from typing import Any

from unskew.errors import UnknownNameError
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
from unskew.groupings.shuffle import Shuffle
from unskew.groupings.single import Single
from unskew.groupings.universal import Universal
from unskew.groupings.w_choices import WChoices
from unskew.groupings.wrap import Wrap
from unskew.specs import Parameter, parameters_of, parse_parameters, split_spec

GROUPINGS: dict[str, type[Grouping]] = {
    scheme.name: scheme
    for scheme in (
        KeyGrouping,
        Modulo,
        Universal,
        Shuffle,
        Single,
        TwoChoices,
        OnGreedy,
        OffGreedy,
        Optimal,
        PartialKey,
        DistributionAware,
        Popularity,
        DynamicKey,
        DChoices,
        WChoices,
        Wrap,
        Auto,
        ProactiveShuffle,
        FullKnowledge,
    )
}


def grouping_class(name: str) -> type[Grouping]:
    """Return the class of the scheme ``name``, or raise and list the valid names.

    >>> grouping_class("wrap").__name__
    'Wrap'
    """
    try:
        return GROUPINGS[name]
    except KeyError:
        raise UnknownNameError("grouping", name, GROUPINGS) from None


def grouping_parameters(scheme: type[Grouping]) -> dict[str, Parameter]:
    """Return the parameters of ``scheme`` that a spec may set: all but ``workers``."""
    return parameters_of(scheme, without=("workers",))


def default_parameters(scheme: type[Grouping]) -> dict[str, Any]:
    """Return the parameters of ``scheme`` with their defaults, without ``workers``.

    >>> default_parameters(Shuffle)
    {'seed': 0}
    """
    return {name: known.default for name, known in grouping_parameters(scheme).items()}


def make_grouping(spec: str, workers: int, *, seed: int = 0) -> Grouping:
    """Make a grouping from its name and, after a colon, parameters that differ from the default.

    >>> make_grouping("partial-key:choices=3,load=global", 10, seed=1)
    PartialKey(10, choices=3, load='global', probe_every=10000, distinct=False, hashes='mixed',
               seed=1)
    >>> make_grouping("dynamic-key:expected_keys=10k", 4).expected_keys
    10000
    """
    name, parameters = split_spec(spec)
    scheme = grouping_class(name)
    given = parse_parameters(name, parameters, grouping_parameters(scheme))
    return scheme(workers, **{"seed": seed, **given})
