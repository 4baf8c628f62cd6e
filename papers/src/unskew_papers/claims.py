"""Claims of the papers: sentences that rows can contradict, and reasons where they do."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from unskew._validation import check_choice
from unskew_papers.checks import Check, Exact
from unskew_papers.rows import Rows

SETUP, TEXT, OURS = "set-up", "text", "ours"
KINDS = {
    TEXT: "what the authors' own set-up, text or programs contradict",
    SETUP: "what differs by set-up",
    OURS: "where a limit of our own is not met",
}
"""What a reason is about, and how the summary introduces it."""


@dataclass(frozen=True)
class Reason:
    """Why claims do not hold, or overshoot; stated once, and named by every such claim.

    Parameters
    ----------
    text
        The reason. Its first sentence is the gist, which the summary shows alone.
    kind
        `TEXT`, `SETUP` or `OURS`.
    shown_by
        The test (``file.py::test_name``) or the command that shows it; without one it is only
        argued, and the report says so.
    also
        Further reasons of the same claim; ``a + b`` puts them there.

    Examples
    --------
    >>> both = Reason("Few rows.") + Reason("Short waits.", shown_by="unskew reproduce own/auto")
    >>> [each.text for each in both.parts]
    ['Few rows.', 'Short waits.']
    >>> Reason("The queues differ. Spark's have no bound.").gist
    'The queues differ.'
    """

    text: str
    kind: str = field(default=SETUP, kw_only=True)
    shown_by: str | None = field(default=None, kw_only=True)
    also: tuple["Reason", ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_choice("reason", "kind", self.kind, KINDS)

    def __add__(self, other: "Reason") -> "Reason":
        return replace(self, also=(*self.also, *other.parts))

    @property
    def parts(self) -> tuple["Reason", ...]:
        """Each reason by itself."""
        return (replace(self, also=()), *self.also)

    @property
    def gist(self) -> str:
        """The first sentence."""
        return re.split(r"(?<=[.!?]) (?=[^a-z])", self.text, maxsplit=1)[0]

    def fields(self) -> list[dict[str, Any]]:
        """Return each reason as plain fields."""
        return [
            {"text": each.text, "gist": each.gist, "kind": each.kind, "shown_by": each.shown_by}
            for each in self.parts
        ]


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
        Why it does not hold here, or overshoots; given for claims that are known to do so at some
        size, and shown only where the rows contradict.

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

    def judge(self, rows: Rows) -> dict[str, Any]:
        """Return the claim and what the rows say of it, as plain fields."""
        verdict = self.check(rows)
        return {
            "name": self.name,
            "says": self.says,
            "paper": self.paper,
            "measured": verdict.measured,
            "holds": bool(verdict.holds),
            "overshoots": bool(verdict.overshoots),
            "reasons": self.reason.fields() if self.reason and not verdict.holds else [],
        }

    def because(self, reason: Reason | None) -> "Claim":
        """Return the claim with another reason, or none."""
        return replace(self, reason=reason)


def placed_exactly(what: str = "jobs", **where: Any) -> Claim:
    """Make the claim that wherever rows are placed, results are those of a plain job."""
    return Claim("exact", "Placing rows changes no result.", "not said", Exact(what, where))
