"""All groupings by name: those of this package, and those that other packages bring.

A scheme is one file (or one sub-package) in this folder: it is found, not listed. Another package
brings its schemes by an entry point of the group ``unskew.groupings`` that names the class, and a
program registers one of its own with `register`.
"""

import inspect
import pkgutil
import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar, get_args

from unskew import groupings
from unskew.errors import (
    InvalidGroupingError,
    InvalidParameterError,
    PluginWarning,
    UnknownNameError,
    UnskewError,
)
from unskew.groupings.base import Grouping, LearnedGrouping, OfflineGrouping, SparkMode
from unskew.groupings.flow import Flow
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.shuffle import Shuffle
from unskew.specs import Parameter, parameters_of, parse_parameters, split_spec

GROUPINGS: dict[str, type[Grouping]] = {}
"""Every scheme by its name: baselines first, then published schemes, then unskew's own."""

_ENTRY_POINTS = "unskew.groupings"
_Scheme = TypeVar("_Scheme", bound=type[Grouping])


def register(scheme: _Scheme) -> _Scheme:
    """Add a scheme to the registry; use it as a decorator.

    From then on the scheme runs wherever a grouping is named: in `simulate`, on the command line,
    in the advisor, and on Spark as its class declares.

    Raises
    ------
    InvalidGroupingError
        Where the class cannot do what it declares, or another scheme has its name.

    Examples
    --------
    >>> class Broken(Grouping):
    ...     name, paper, splits_keys, spark = "broken", "none", False, "plan"
    ...     def _route(self, ids, weights, out): ...
    ...     def _candidates(self, key_id): ...
    >>> register(Broken)
    Traceback (most recent call last):
    unskew.errors.InvalidGroupingError: Broken: declares spark = 'plan', but makes no plan. ...
    """
    if not (isinstance(scheme, type) and issubclass(scheme, Grouping)):
        raise InvalidGroupingError(f"{scheme!r} is not a class derived from Grouping.")
    problem = _problem(scheme)
    if problem:
        raise InvalidGroupingError(f"{scheme.__name__}: {problem}")
    GROUPINGS[scheme.name] = scheme
    return scheme


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

    >>> default_parameters(grouping_class("shuffle"))
    {'seed': 0}
    """
    return {name: known.default for name, known in grouping_parameters(scheme).items()}


def make_grouping(
    spec: str, workers: int, *, seed: int = 0, defaults: dict[str, Any] | None = None
) -> Grouping:
    """Make a grouping from its name and, after a colon, parameters that differ from the default.

    Parameters
    ----------
    spec
        A name such as ``wrap``, or a name and parameters: ``wrap:decay=0.5,slots=1k``.
    workers, seed
        As every grouping has them; a seed in the spec wins.
    defaults
        What parameters are that the spec does not name, where that is not the class's default.

    Examples
    --------
    >>> make_grouping("partial-key:choices=3,load=global", 10, seed=1)
    PartialKey(10, choices=3, load='global', probe_every=10000, distinct=True, hashes='mixed',
               seed=1)
    >>> make_grouping("dynamic-key:expected_keys=10k", 4).expected_keys
    10000
    """
    name, parameters = split_spec(spec)
    scheme = grouping_class(name)
    given = parse_parameters(name, parameters, grouping_parameters(scheme))
    return scheme(workers, **{"seed": seed, **(defaults or {}), **given})


def schemes_to_compare() -> dict[str, type[Grouping]]:
    """Return every scheme but those that only choose among the others, by spec, with variants.

    >>> [spec for spec in schemes_to_compare() if spec.startswith("wrap")]
    ['wrap', 'wrap:max_replicas=1']
    """
    return {
        spec: scheme
        for name, scheme in GROUPINGS.items()
        if not scheme.chooses
        for spec in (name, *(f"{name}:{variant}" for variant in scheme.variants))
    }


def make_all(
    schemes: Mapping[str, type[Grouping]], workers: int, *, costs: bool, seed: int = 0
) -> tuple[dict[str, Grouping], dict[str, str]]:
    """Make the groupings of some specs, and say of those that cannot be made why.

    Parameters
    ----------
    schemes
        Classes by spec: `GROUPINGS`, or what `schemes_to_compare` gives.
    workers, seed
        As for `make_grouping`.
    costs
        Whether rows have costs; some schemes make no sense without.

    Examples
    --------
    >>> made, left_out = make_all(GROUPINGS, 4, costs=False)
    >>> "wrap" in made, left_out["proactive-shuffle"]
    (True, 'needs a stream with costs')
    """
    made: dict[str, Grouping] = {}
    left_out: dict[str, str] = {}
    for spec, scheme in schemes.items():
        if scheme.needs_costs and not costs:
            left_out[spec] = "needs a stream with costs"
            continue
        try:
            made[spec] = make_grouping(spec, workers, seed=seed)
        except InvalidParameterError as error:  # such as one that needs more workers
            left_out[spec] = str(error)
    return made, left_out


def _problem(scheme: type[Grouping]) -> str:
    """Say what is wrong with a class, or nothing."""
    missing = [one for one in ("name", "paper", "splits_keys") if not hasattr(scheme, one)]
    if missing:
        return f"declares no {missing[0]}."
    if inspect.isabstract(scheme):
        return f"does not write {', '.join(sorted(scheme.__abstractmethods__))}."
    if GROUPINGS.get(scheme.name, scheme) is not scheme:
        return f"is called {scheme.name!r}, as {GROUPINGS[scheme.name].__name__} is already."
    parameters = inspect.signature(scheme).parameters
    if "workers" not in parameters or "seed" not in parameters:
        return "takes no workers or no seed."
    if scheme.spark not in (None, *get_args(SparkMode)):
        return f"declares spark = {scheme.spark!r}; valid: {', '.join(get_args(SparkMode))}, None."
    return _problem_with_parameters(scheme) or _problem_on_spark(scheme)


def _problem_with_parameters(scheme: type[Grouping]) -> str:
    known = grouping_parameters(scheme)
    unknown = [name for name in scheme.spark_requires if name not in known]
    if unknown:
        return f"spark_requires names {unknown[0]!r}, which is no parameter of it."
    for variant in scheme.variants:
        try:
            parse_parameters(scheme.name, variant, known)
        except UnskewError as error:
            return f"variants: {error}"
    return ""


def _problem_on_spark(scheme: type[Grouping]) -> str:
    plans = _writes(scheme, "planner")
    if scheme.spark == "plan" and not plans:
        hint = "Hint: derive it from PlannedGrouping, or write planner or fixed_plan."
        if not _writes(scheme, "fixed_plan"):
            return f"declares spark = 'plan', but makes no plan. {hint}"
        if issubclass(scheme, LearnedGrouping):
            return f"learns, but has no planner that could learn on Spark. {hint}"
    if scheme.spark == "online" and issubclass(scheme, LearnedGrouping | OfflineGrouping):
        return "declares spark = 'online', but has to learn first. Hint: declare 'plan' or None."
    for mode, base in (("round-robin", Shuffle), ("costs", ProactiveShuffle)):
        if scheme.spark == mode and not issubclass(scheme, base):
            return f"declares spark = {mode!r}, but is not derived from {base.__name__}."
    if scheme.remembers_on_streams and not issubclass(scheme, Flow):
        return "declares remembers_on_streams, but is not derived from Flow."
    if scheme.learns_on_streams and not (scheme.spark == "plan" and plans):
        return "declares learns_on_streams, but makes no plan from counts."
    if scheme.takes_weights and scheme.spark is None:
        return "declares takes_weights, which is about Spark, but does not run there."
    return ""


def _writes(scheme: type[Grouping], method: str) -> bool:
    return getattr(scheme, method) is not getattr(Grouping, method)


def _built_in() -> list[type[Grouping]]:
    """Return the schemes of this package in the order of the registry."""
    found = []
    for module in pkgutil.walk_packages(groupings.__path__, f"{groupings.__name__}."):
        if module.name != __name__:
            for value in vars(import_module(module.name)).values():
                is_own = isinstance(value, type) and value.__module__ == module.name
                if is_own and issubclass(value, Grouping) and "name" in vars(value):
                    found.append(value)
    own = [scheme for scheme in found if not scheme.__name__.startswith("_")]
    return sorted(own, key=lambda scheme: (_rank(scheme), scheme.name))


def _rank(scheme: type[Grouping]) -> int:
    return 0 if scheme.paper.startswith("baseline") else 2 if scheme.paper == "unskew" else 1


for _scheme in _built_in():
    register(_scheme)
for _entry in entry_points(group=_ENTRY_POINTS):
    try:
        register(_entry.load())
    except Exception as _error:  # whatever a plug-in of others does, ours go on
        warnings.warn(
            f"The grouping {_entry.name!r} of {_entry.value} was left out: {_error}",
            PluginWarning,
            stacklevel=1,
        )
