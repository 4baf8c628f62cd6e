"""The experiments of all papers, and what names on the command line mean."""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module

from unskew.errors import UnknownNameError
from unskew_papers.experiment import ENGINES, RUNS_ON, Experiment

SCHEMES = {
    "own": "Our own checks",
    "distribution-aware": "Rivetti et al. 2015, distribution-aware key grouping (called DKG there)",
    "proactive-shuffle": "Rivetti et al. 2016, proactive online shuffle grouping (POSG)",
    "popularity": "Chen, Zhang, Jin, popularity-aware grouping (PStream)",
    "partial-key": "Nasir et al. 2015, partial key grouping (PKG)",
    "dynamic-key": "Dalabasmaz, Can, dynamic key grouping (also called DKG, in this paper)",
    "newer": "Schemes since 2016: one headline claim each",
}
"""Our own checks and the schemes, each a sub-package, with their papers; in the report's order."""

# Papers were numbered before they were named after their schemes; older notes still say 003/fig7.
_NUMBERS = {
    "000": "distribution-aware",
    "001": "proactive-shuffle",
    "002": "popularity",
    "003": "partial-key",
    "004": "dynamic-key",
}


@cache
def all_experiments() -> dict[str, Experiment]:
    """Return every experiment by its id, our own checks first."""
    return by_id(each for scheme in SCHEMES for each in experiments_of(scheme))


def experiments_of(scheme: str) -> Sequence[Experiment]:
    """Return what the sub-package of a scheme declares."""
    declared: Sequence[Experiment] = import_module(
        f"unskew_papers.{scheme.replace('-', '_')}"
    ).EXPERIMENTS
    return declared


def by_id(experiments: Iterable[Experiment]) -> dict[str, Experiment]:
    """Return experiments by their ids, which must differ."""
    found: dict[str, Experiment] = {}
    for each in experiments:
        if each.id in found:
            raise ValueError(f"two experiments have the id {each.id!r}")
        found[each.id] = each
    return found


def choose(names: Sequence[str], on: str | None = None) -> list[Experiment]:
    """Return the experiments that ``names`` mean: ids, schemes, or ``all``.

    With ``on``, one of `ENGINES`, only those that run there.

    >>> [each.id for each in choose(["partial-key/table2", "003/table2"])]
    ['partial-key/table2']
    >>> [each.id for each in choose(["proactive-shuffle"], on="queues")]
    ['proactive-shuffle/fig11', 'proactive-shuffle/fig12']
    """
    known = all_experiments()
    chosen: dict[str, Experiment] = {}
    for name in names:
        chosen |= _meant_by(_by_scheme(name), known)
    engines = RUNS_ON if on is None else ENGINES[on]
    return [each for each in chosen.values() if each.runs_on in engines]


def _by_scheme(name: str) -> str:
    number, slash, figure = name.partition("/")
    return f"{_NUMBERS.get(number, number)}{slash}{figure}"


def _meant_by(name: str, known: dict[str, Experiment]) -> dict[str, Experiment]:
    if name == "all":
        return known
    if name in known:
        return {name: known[name]}
    of_scheme = {word: each for word, each in known.items() if each.scheme == name}
    if not of_scheme:
        schemes = list(dict.fromkeys(each.scheme for each in known.values()))
        raise UnknownNameError("experiment", name, _near(name, known) or [*schemes, "all"])
    return of_scheme


def _near(name: str, known: dict[str, Experiment]) -> list[str]:
    """Return the ids that someone may have meant: those that look alike, or of that scheme."""
    from difflib import get_close_matches

    alike = get_close_matches(name, known, n=6, cutoff=0.5)
    scheme = name.partition("/")[0]
    return alike or [word for word, each in known.items() if each.scheme == scheme]
