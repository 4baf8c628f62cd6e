"""Claims of the papers: sentences that rows can contradict, and reasons where they do."""

from dataclasses import dataclass, replace
from typing import Any

from unskew_papers.checks import Check, Exact
from unskew_papers.rows import Rows


@dataclass(frozen=True)
class Reason:
    """Why claims do not hold; stated once, and named by every claim that it is the reason of.

    Parameters
    ----------
    text
        The reason.

    Examples
    --------
    >>> (Reason("Few rows.") + Reason("Short waits.")).text
    'Few rows. Short waits.'
    """

    text: str

    def __add__(self, other: "Reason") -> "Reason":
        return Reason(f"{self.text} {other.text}")


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
    reason
        Why it does not hold here; given for claims that are known not to hold at some size, and
        shown only where the rows contradict.

    Examples
    --------
    >>> from unskew_papers.checks import Below
    >>> from unskew_papers.quantities import cell
    >>> claim = Claim("even", "Shuffle is even.", "λ = 0", Below(0.1, cell("λ")))
    >>> claim.judge(Rows([{"λ": 5.0}]))["holds"]
    False
    """

    name: str
    says: str
    paper: str
    check: Check
    reason: Reason | None = None

    @property
    def explanation(self) -> str:
        """The reason as text; empty where there is none."""
        return self.reason.text if self.reason else ""

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

    def because(self, reason: Reason | None) -> "Claim":
        """Return the claim with another reason, or none."""
        return replace(self, reason=reason)


def placed_exactly(what: str = "jobs", **where: Any) -> Claim:
    """Make the claim that wherever rows are placed, results are those of a plain job."""
    return Claim("exact", "Placing rows changes no result.", "not said", Exact(what, where))
