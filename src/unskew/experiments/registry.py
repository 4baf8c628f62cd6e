"""Which experiments there are: each ``paper_NNN`` beside this module has its own, as have we."""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from unskew import experiments
from unskew.errors import UnknownNameError
from unskew.experiments.spec import ENGINES, RUNS_ON, Experiment

_PREFIX, _OWN = "paper_", "own_checks"


@cache
def all_experiments() -> dict[str, Experiment]:
    """Return every experiment by its id, paper after paper, our own checks first."""
    found: dict[str, Experiment] = {}
    for module in sorted(each.name for each in pkgutil.iter_modules(experiments.__path__)):
        if module.startswith(_PREFIX) or module == _OWN:
            paper = import_module(f"{experiments.__name__}.{module}")
            found |= {each.id: each for each in paper.EXPERIMENTS}
    return found


def choose(names: Sequence[str], on: str | None = None) -> list[Experiment]:
    """Return the experiments that ``names`` mean: ids, numbers of papers, or ``all``.

    With ``on``, one of `ENGINES`, only those that run there.

    >>> [each.id for each in choose(["003/table2", "003/table2"])]
    ['003/table2']
    >>> [each.id for each in choose(["001"], on="queues")]
    ['001/fig11', '001/fig12']
    """
    known = all_experiments()
    chosen: dict[str, Experiment] = {}
    for name in names:
        chosen |= _meant_by(name, known)
    engines = RUNS_ON if on is None else ENGINES[on]
    return [each for each in chosen.values() if each.runs_on in engines]


def _meant_by(name: str, known: dict[str, Experiment]) -> dict[str, Experiment]:
    if name == "all":
        return known
    if name in known:
        return {name: known[name]}
    of_paper = {word: each for word, each in known.items() if each.paper == name}
    if not of_paper:
        papers = list(dict.fromkeys(each.paper for each in known.values()))
        raise UnknownNameError("experiment", name, _near(name, known) or [*papers, "all"])
    return of_paper


def _near(name: str, known: dict[str, Experiment]) -> list[str]:
    """Return the ids that someone may have meant: those that look alike, or of that paper."""
    from difflib import get_close_matches

    alike = get_close_matches(name, known, n=6, cutoff=0.5)
    paper = name.partition("/")[0]
    return alike or [word for word, each in known.items() if each.paper == paper]
