"""A claim of a paper as a question to the rows, with an answer that can be no."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from unskew_papers.rows import Rows


@dataclass(frozen=True)
class Verdict:
    """What the rows say of a claim.

    Parameters
    ----------
    holds
        Whether the claim holds.
    measured
        The figures that decided it, as text to stand beside the paper's.
    """

    holds: bool
    measured: str


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper that rows can contradict.

    Parameters
    ----------
    name
        A short name, unique within the experiment.
    says
        What the paper says, in our own words.
    paper
        The paper's figure.
    check
        Asks the rows.
    explanation
        Why it does not hold here; said of claims that are known not to hold at some size, and
        shown only where the rows contradict.

    Examples
    --------
    >>> claim = Claim("even", "Shuffle is even.", "λ = 0",
    ...               lambda rows: Verdict(rows[0]["λ"] < 0.1, f"λ = {rows[0]['λ']}"))
    >>> claim.judge(Rows([{"λ": 5.0}]))["holds"]
    False
    """

    name: str
    says: str
    paper: str
    check: Callable[[Rows], Verdict]
    explanation: str = ""

    def judge(self, rows: Rows) -> dict[str, Any]:
        """Return the claim and what the rows say of it, as plain fields."""
        verdict = self.check(rows)
        return {
            "name": self.name,
            "says": self.says,
            "paper": self.paper,
            "measured": verdict.measured,
            "holds": bool(verdict.holds),
            "explanation": "" if verdict.holds else self.explanation,
        }


def explain(
    claims: Iterable[Claim], reason: str, only: Collection[str], *, keep: bool = False
) -> tuple[Claim, ...]:
    """Return the claims of another run, of which those in ``only`` are known not to hold here.

    All others go unexplained: a reason that stands ready for whatever may fail explains nothing.

    Parameters
    ----------
    claims
        Claims, with what explained them there.
    reason
        Why they do not hold here.
    only
        Names of those that do not.
    keep
        Whether what explained one there is a reason here, too.

    Examples
    --------
    >>> even = Claim("even", "", "", lambda rows: Verdict(True, ""), "Few rows.")
    >>> explain([even], "Short waits.", ["even"], keep=True)[0].explanation
    'Few rows. Short waits.'
    >>> explain([even], "Short waits.", [])[0].explanation
    ''
    """
    return tuple(
        replace(claim, explanation=_joined(claim, reason, keep) if claim.name in only else "")
        for claim in claims
    )


def _joined(claim: Claim, reason: str, keep: bool) -> str:
    return f"{claim.explanation} {reason}".strip() if keep else reason
