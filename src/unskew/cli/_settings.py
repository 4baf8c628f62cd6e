"""What the user asked of a run, checked before anything starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unskew._validation import check_choice, check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.streams.base import Stream

Factors = list[float] | list[tuple[int, list[float]]]

MOST_WORKERS = 1_000_000
"""Beyond, a simulation would take all memory before it could say so."""


@dataclass(frozen=True)
class Settings:
    """The options that all groupings of a command share."""

    workers: int
    sources: int
    deal: str
    learn: float | None
    epoch: int | None
    weighted: bool
    over_provisioning: float | None
    speeds: str | None
    seed: int

    def check(self, report: Path | None) -> None:
        """Refuse what no grouping and no stream could take, and a report nobody could write."""
        check_int("unskew", "--workers", self.workers, minimum=1, maximum=MOST_WORKERS)
        check_int("unskew", "--sources", self.sources, minimum=1)
        check_choice("unskew", "--deal", self.deal, ("turn", "key"))
        if self.epoch is not None:
            check_int("unskew", "--epoch", self.epoch, minimum=1)
        if self.learn is not None:
            check_real("unskew", "--learn", self.learn, minimum=0, below=1)
        if self.over_provisioning is not None:
            check_real("unskew", "--over-provisioning", self.over_provisioning, above=0)
        parse_speeds(self.speeds)
        if report is not None:
            from unskew.reports.page import check_report

            check_report(report)

    def check_stream(self, stream: Stream, groupings: Sequence[Grouping]) -> None:
        """Refuse options and schemes that make no sense on this stream."""
        if stream.has_costs:
            return
        given = {
            "--weighted": self.weighted or None,
            "--over-provisioning": self.over_provisioning,
            "--speeds": self.speeds,
        }
        for name, value in given.items():
            if value is not None:
                expected = "left out for a stream without costs"
                raise InvalidParameterError("unskew", name, expected, value, hint=_COSTS)
        for each in groupings:
            if each.needs_costs:
                expected = "one whose rows have costs"
                raise InvalidParameterError(each.name, "stream", expected, stream.spec, hint=_COSTS)

    def measuring_the_same_rows(self, groupings: Sequence[Grouping]) -> "Settings":
        """Let all groupings skip the rows that any of them learns from."""
        from unskew.simulator.loads import learning_share

        share = max(learning_share(each, self.learn, self.epoch) for each in groupings)
        return replace(self, learn=share)


_COSTS = "add costs=64 to a drawn stream, or &cost=COLUMN to a file"


def parse_speeds(text: str | None) -> Factors | None:
    """Read factors, one a worker, or phases of them.

    >>> parse_speeds("1.1,1,0.9")
    [1.1, 1.0, 0.9]
    >>> parse_speeds("0:1,2;75000:2,1")
    [(0, [1.0, 2.0]), (75000, [2.0, 1.0])]
    """
    if text is None:
        return None
    try:
        if ":" not in text:
            return _numbers(text)
        phases = [phase.split(":") for phase in text.split(";")]
        return [(int(first), _numbers(factors)) for first, factors in phases]
    except ValueError:
        expected = "factors such as 1.1,1,0.9 or phases such as '0:1.1,1,0.9;75000:0.9,1,1.1'"
        raise InvalidParameterError("unskew", "--speeds", expected, text) from None


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]
