"""What the user asked of a run, checked before anything is loaded or started."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    from unskew.apps.running.runner import Run

_MOST_WORKERS = 10_000
_PREFERRED = "wrap"


@dataclass(frozen=True)
class RunSettings:
    """The options of ``unskew run``, as they were typed."""

    application: str
    source: str
    sink: str
    groupings: tuple[str, ...]
    workers: int
    delay: float
    master: str | None
    batch_rows: int | None
    trigger: float | None
    max_batches: int | None
    warm_up: int
    checkpoint: Path | None
    dead_letters: Path | None
    seed: int

    def check(self, report: Path | None) -> None:
        """Refuse numbers that make no sense, a report nobody could write, a missing Spark."""
        check_int("unskew run", "--workers", self.workers, minimum=1, maximum=_MOST_WORKERS)
        check_real("unskew run", "--delay", self.delay, minimum=0)
        check_int("unskew run", "--warm-up", self.warm_up, minimum=0)
        for name in ("batch_rows", "max_batches"):
            value = getattr(self, name)
            if value is not None:
                check_int("unskew run", f"--{name.replace('_', '-')}", value, minimum=1)
        if self.trigger is not None:
            check_real("unskew run", "--trigger", self.trigger, above=0)
        if len(set(self.groupings)) < len(self.groupings):
            got = ", ".join(self.groupings)
            raise InvalidParameterError("unskew run", "--grouping", "each given once", got)
        if report is not None:
            from unskew.reports.page import check_report

            check_report(report)
        if find_spec("pyspark") is None:
            raise MissingExtraError("unskew run", "pyspark", "spark")

    def to_run(self, folder: Path) -> "Run":
        """Return what is to be run, with its record in ``folder``."""
        from unskew.apps.registry import make_application
        from unskew.apps.running.runner import Run
        from unskew.apps.running.sinks import parse_sink
        from unskew.apps.running.sources import Portions, parse_source

        application = make_application(self.application)
        pool = (self.checkpoint or folder) / "input"
        # A run that is gone on with may want more than the first one.
        limit = None if self.checkpoint else self.max_batches
        portions = Portions(self.batch_rows, self.trigger, limit, pool)
        fits = application.groupings
        default = _PREFERRED if _PREFERRED in fits else fits[0]
        return Run(
            application=application,
            source=parse_source(self.source, portions),
            sink=parse_sink(self.sink),
            groupings=self.groupings or (default,),
            workers=self.workers,
            folder=folder,
            delay=self.delay / 1000,
            seed=self.seed,
            checkpoint=self.checkpoint,
            batch_rows=self.batch_rows,
            trigger=self.trigger,
            max_batches=self.max_batches,
            warm_up=self.warm_up,
            dead_letters=self.dead_letters,
        )
