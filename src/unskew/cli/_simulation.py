"""Check the settings of a simulation, and run groupings on a stream with the clock beside them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from unskew._validation import check_choice, check_int, check_real
from unskew.cli._interrupts import stopping_between_batches
from unskew.cli._terminal import ProgressDisplay
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.reports.measurement import Measurement
from unskew.simulator.loads import Progress, simulate
from unskew.simulator.queueing import simulate_queue
from unskew.simulator.sources import FEEDS
from unskew.specs import parse_whole
from unskew.streams.base import Batch, DerivedStream, Stream

Factors = list[float] | list[tuple[int, list[float]]]

MOST_WORKERS = 1_000_000
"""Beyond, a simulation would take all memory before it could say so."""
_ROWS_TO_COMPILE_WITH = 1 << 20  # enough for a scheme to reach every loop it has

_COSTS = "add costs=64 to a drawn stream, or &cost=COLUMN to a file"


@dataclass(frozen=True)
class SimulationSettings:
    """The options that all groupings of a command share."""

    workers: int
    sources: int
    feed: str
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
        check_choice("unskew", "--feed", self.feed, FEEDS)
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

    def measuring_the_same_rows(self, groupings: Sequence[Grouping]) -> "SimulationSettings":
        """Let all groupings skip the rows that any of them learns from."""
        from unskew.simulator.loads import learning_share

        share = max(learning_share(each, self.learn, self.epoch) for each in groupings)
        return replace(self, learn=share)


def parse_speeds(text: str | None) -> Factors | None:
    """Read factors, one per worker, or phases of them.

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
        return [
            (parse_whole("unskew", "--speeds", first), _numbers(factors))
            for first, factors in phases
        ]
    except ValueError:
        expected = "factors such as 1.1,1,0.9 or phases such as '0:1.1,1,0.9;75000:0.9,1,1.1'"
        raise InvalidParameterError("unskew", "--speeds", expected, text) from None


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def measure_all(
    schemes: Mapping[str, Grouping], stream: Stream, settings: SimulationSettings, *, show: bool
) -> list[Measurement]:
    """Run every scheme, by label, on the stream, with a progress bar if that is to show."""
    rows = None
    if stream.rows is not None:
        rows = len(schemes) * stream.rows
    with ProgressDisplay(rows, wanted=show) as display, stopping_between_batches(stream) as watched:
        return [
            measure(label, scheme, watched, settings, display) for label, scheme in schemes.items()
        ]


def measure(
    label: str,
    grouping: Grouping,
    stream: Stream,
    settings: SimulationSettings,
    display: ProgressDisplay,
) -> Measurement:
    """Return what a run of ``grouping`` gives.

    A few rows go through first, so that the time of the run is not that of Numba's compiler.
    """
    display.say(f"{label}: compiling loops, first run only …")
    _run(label, grouping, _first_rows(stream), settings, lambda _: None)
    display.say(label)
    return _run(label, grouping, stream, settings, display.advance)


def _run(
    label: str,
    grouping: Grouping,
    stream: Stream,
    settings: SimulationSettings,
    on_progress: Progress,
) -> Measurement:
    shared: dict[str, Any] = {
        "sources": settings.sources,
        "learn": settings.learn,
        "epoch": settings.epoch,
        "feed": settings.feed,
        "weighted": settings.weighted,
        "on_progress": on_progress,
    }
    started = time.perf_counter()
    if not stream.has_costs:
        result = simulate(grouping, stream, **shared)
        seconds = time.perf_counter() - started
        return Measurement(label, stream.spec, settings.seed, result, seconds)
    provision = settings.over_provisioning
    queue = simulate_queue(
        grouping,
        stream,
        over_provisioning=1.0 if provision is None else provision,
        speeds=parse_speeds(settings.speeds),
        **shared,
    )
    seconds = time.perf_counter() - started
    return Measurement(label, stream.spec, settings.seed, queue.placement, seconds, queue)


@dataclass(frozen=True, eq=False)
class _FirstRows(DerivedStream):
    """The first rows of a stream, with keys of the same kind."""

    name: ClassVar[str] = "first-rows"
    first: Batch
    stream: Stream
    rows: int
    seed: int

    def _batches(self, size: int) -> Iterator[Batch]:
        keys, costs = self.first
        for first in range(0, self.rows, size):
            part = slice(first, first + size)
            yield Batch(keys[part], None if costs is None else costs[part])


def _first_rows(stream: Stream) -> _FirstRows:
    rows = next(stream.batches(_ROWS_TO_COMPILE_WITH))
    return _FirstRows(rows, stream, len(rows.keys), stream.seed)
