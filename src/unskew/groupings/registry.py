"""All groupings by name: a new scheme is one file and one line here."""

import inspect
from collections.abc import Collection
from typing import Any

from unskew.errors import InvalidParameterError, UnknownNameError
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


def default_parameters(scheme: type[Grouping]) -> dict[str, Any]:
    """Return the parameters of ``scheme`` with their defaults, without ``workers``.

    >>> default_parameters(Shuffle)
    {'seed': 0}
    """
    signature = inspect.signature(scheme.__init__).parameters
    return {
        name: parameter.default
        for name, parameter in signature.items()
        if name not in ("self", "workers")
    }


def make_grouping(spec: str, workers: int, *, seed: int = 0) -> Grouping:
    """Make a grouping from its name and, after a colon, parameters that differ from the default.

    >>> make_grouping("partial-key:choices=3,load=global", 10, seed=1)
    PartialKey(10, choices=3, load='global', probe_every=10000, distinct=False, hashes='mixed',
               seed=1)
    """
    name, _, rest = spec.partition(":")
    scheme = grouping_class(name.strip())
    given = given_parameters(name, rest, default_parameters(scheme))
    return scheme(workers, **{"seed": seed, **given})


def given_parameters(owner: str, text: str, valid: Collection[str]) -> dict[str, Any]:
    """Return what ``name=value`` pairs, with commas between them, set; all names are ``valid``.

    >>> given_parameters("wrap", "decay=0.5, seed=1", ["decay", "seed"])
    {'decay': 0.5, 'seed': 1}
    """
    given: dict[str, Any] = {}
    for assignment in filter(None, (part.strip() for part in text.split(","))):
        parameter, equals, value = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise InvalidParameterError(owner, "parameters", "name=value pairs", assignment)
        if parameter not in valid:
            raise UnknownNameError(f"parameter of {owner}", parameter, valid)
        given[parameter] = _read_value(value)
    return given


def _read_value(text: str) -> bool | int | float | str | None:
    """Read a value as a person writes it: ``3``, ``0.1``, ``true``, ``none`` or a word."""
    words: dict[str, bool | None] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
