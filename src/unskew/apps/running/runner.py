"""Run an application under one grouping after another, on the same input."""

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from unskew._stores import check_local
from unskew.apps.base import Application
from unskew.apps.placing import Placing
from unskew.apps.running.finished_batch import OBSERVED
from unskew.apps.running.following import BatchListener, OnBatch, QueryFollower
from unskew.apps.running.sinks import Sink, check_folder, file_name
from unskew.apps.running.source import Source
from unskew.errors import InvalidParameterError, UnskewError
from unskew.events import append_epoch
from unskew.groupings.registry import grouping_class, make_grouping
from unskew.reports.grouping_run import GroupingRun, MeasuredBatch
from unskew.spark.routing.choosing import AUTO
from unskew.spark.routing.schemes import grouping_for
from unskew.specs import split_spec

MARKER = "unskew-run.json"
_OF_SPARK = ("metadata", "offsets", "commits", "state")
OnStart = Callable[[str], None]


@dataclass(frozen=True)
class CheckpointOwner:
    """What a checkpoint is of; a run that differs in any of it cannot go on with it."""

    application: str
    source: str
    batch_rows: int | None


def claim_checkpoint(folder: Path, marker: CheckpointOwner) -> None:
    """Make ``folder`` the checkpoint of a run, or raise if it is that of another one.

    Raises
    ------
    UnskewError
        If it is of another application, another source or other micro-batches; of a query that
        somebody else started; or cannot be written.
    """
    check_folder("--checkpoint", folder)
    path = folder / MARKER
    if not path.exists():
        if any((folder / name).exists() for name in _OF_SPARK):
            raise _refused_checkpoint(folder, "is of a query that was not started by unskew run")
        path.write_text(json.dumps(asdict(marker)) + "\n", encoding="utf-8")
        return
    found = _read_owner(path)
    for name, value in asdict(marker).items():
        if found.get(name) != value:
            said = f"is of {name} {found.get(name)!r}, and this run is of {value!r}"
            raise _refused_checkpoint(folder, said)


def _read_owner(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise _refused_checkpoint(path.parent, f"has a damaged {MARKER}")
    return found


def _refused_checkpoint(folder: Path, said: str) -> UnskewError:
    hint = "give every application and source a folder of its own, or leave the option out"
    return UnskewError(f"unskew run: --checkpoint: {folder} {said}. Hint: {hint}")


class _RunControl(NamedTuple):
    """Whether the run is to end, and whom to notify of micro-batches."""

    asked_to_stop: threading.Event
    on_batch: OnBatch


@dataclass(frozen=True)
class ApplicationRun:
    """What is to be run; `check` first, then `run`.

    Parameters
    ----------
    application
        What to compute.
    source, sink
        Where rows come from, and where results go.
    groupings
        Schemes by name or spec, one run each.
    workers, delay, seed
        As in `Placing`.
    folder
        For the record of the run (``events.jsonl``), plans, and checkpoints.
    checkpoint
        A folder to go on from; by default every run starts from the beginning.
    batch_rows, trigger, max_batches
        As in `BatchSizes`.
    warm_up
        Micro-batches of each grouping that are not measured.
    dead_letters
        Folder for records that are no rows, as text; by default they are only counted.
    """

    application: Application
    source: Source
    sink: Sink
    groupings: Sequence[str]
    workers: int
    folder: Path
    delay: float = 0.0
    seed: int = 0
    checkpoint: Path | None = None
    batch_rows: int | None = None
    trigger: float | None = None
    max_batches: int | None = None
    warm_up: int = 1
    dead_letters: Path | None = None

    def check(self) -> None:
        """Raise if it can be known before Spark starts that the run cannot succeed."""
        self._check_groupings()
        if len(self.groupings) > 1 and not self.sink.takes_many:
            expected = "one grouping alone with this sink"
            got = ", ".join(self.groupings)
            raise InvalidParameterError("unskew run", "--grouping", expected, got)
        if len(self.groupings) > 1 and self.source.endless and self.max_batches is None:
            expected = "given where several groupings share a source that has no end"
            raise InvalidParameterError("unskew run", "--max-batches", expected, None)
        self.source.check()
        self.sink.check()
        check_folder("--run-dir", self.folder)
        if self.checkpoint is not None:
            check_local("unskew run", "--checkpoint", self.checkpoint)
        for label in self.groupings if self.checkpoint else ():
            claim_checkpoint(self._checkpoint(label), self._marker())
        if self.dead_letters is not None:
            check_folder("--dead-letters", self.dead_letters)

    def run(
        self,
        spark: SparkSession,
        *,
        asked_to_stop: threading.Event | None = None,
        on_start: OnStart = lambda _: None,
        on_batch: OnBatch = lambda _: None,
        listener: BatchListener | None = None,
    ) -> list[GroupingRun]:
        """Run all groupings and return what they did; fewer if somebody asked to stop.

        Parameters
        ----------
        spark
            The session.
        asked_to_stop
            Set it to end after the running micro-batch.
        on_start
            Called with the label of each grouping before it runs.
        on_batch
            Called with every micro-batch.
        listener
            Who hears of micro-batches, where several runs share one; by default one of its own.
        """
        control = _RunControl(asked_to_stop or threading.Event(), on_batch)
        self.source.check_on(spark)
        self.sink.check_on(spark)
        done: list[GroupingRun] = []
        with BatchListener(spark) if listener is None else nullcontext(listener) as listening:
            for label in self.groupings:
                if control.asked_to_stop.is_set():
                    break
                on_start(label)
                batches = self._run_one(spark, label, listening, control, first=not done)
                said = self.sink.summary(spark, label)
                done.append(GroupingRun(label, batches, self.warm_up, [said] if said else []))
        return done

    def _check_groupings(self) -> None:
        for label in self.groupings:
            name, _ = split_spec(label)
            scheme = grouping_class(name)
            # What chooses among the others chooses what fits the work.
            if name not in self.application.groupings and not scheme.chooses:
                fitting = f"one that fits {self.application.name}"
                expected = f"{fitting} ({', '.join((*self.application.groupings, AUTO))})"
                raise InvalidParameterError("unskew run", "--grouping", expected, label)
            make_grouping(label, self.workers, seed=self.seed)
            if scheme.spark != "costs":
                grouping_for(label, self.workers, seed=self.seed, owner="unskew run")

    def _run_one(
        self,
        spark: SparkSession,
        label: str,
        listener: BatchListener,
        control: _RunControl,
        *,
        first: bool,
    ) -> list[MeasuredBatch]:
        checkpoint = self._checkpoint(label)
        opened = self.source.open(spark, self.application, checkpoint / "input")
        placing = self._placing(label)
        query = self._started(self.application.balanced(opened.rows, placing), label)
        aside = self._put_aside(opened.malformed, checkpoint) if first else None

        def note(batch: MeasuredBatch) -> None:
            append_epoch(self.folder, batch.epoch)
            control.on_batch(batch)

        try:
            return QueryFollower(
                query=query,
                listener=listener,
                label=label,
                source=self.source,
                placing=placing,
                feeder=opened.feeder,
                max_batches=self.max_batches,
                asked_to_stop=control.asked_to_stop,
                on_batch=note,
            ).follow()
        finally:
            if aside is not None:
                aside.processAllAvailable()
                aside.stop()

    def _started(self, results: DataFrame, label: str) -> StreamingQuery:
        writer = self.sink.writer(results, self.application, label)
        if self.sink.spec != "memory":  # its query is called as the table is
            writer = writer.queryName(f"{self.application.name} {label}")
        moments = self.source.trigger(self.trigger, to_the_end=len(self.groupings) > 1)
        place = str(self._checkpoint(label) / "query")
        return writer.option("checkpointLocation", place).trigger(**moments).start()

    def _put_aside(self, malformed: DataFrame | None, checkpoint: Path) -> StreamingQuery | None:
        """Write records that are no rows, in a query beside the first grouping's."""
        if malformed is None or self.dead_letters is None:
            return None
        writer = malformed.writeStream.format("text").option("path", str(self.dead_letters))
        return writer.option("checkpointLocation", str(checkpoint / "dead-letters")).start()

    def _placing(self, label: str) -> Placing:
        return Placing(
            grouping=label,
            workers=self.workers,
            delay=self.delay,
            plan_path=self._checkpoint(label) / "plans",
            observe_as=OBSERVED,
            seed=self.seed,
        )

    def _checkpoint(self, label: str) -> Path:
        base = self.folder / "queries" if self.checkpoint is None else self.checkpoint
        return (base / file_name(label)).resolve()

    def _marker(self) -> CheckpointOwner:
        return CheckpointOwner(self.application.spec, self.source.spec, self.batch_rows)
