"""Run an application under one grouping after another, on the same input."""

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from unskew.apps.base import Application
from unskew.apps.placing import Placing
from unskew.apps.running.batch_events import OBSERVED
from unskew.apps.running.checkpoint import Marker, claim
from unskew.apps.running.listening import BatchListener
from unskew.apps.running.one_grouping import Follower, OnBatch
from unskew.apps.running.opened import Source
from unskew.apps.running.sinks import Sink, check_folder, file_name
from unskew.errors import InvalidParameterError
from unskew.events import append_epoch
from unskew.groupings.registry import grouping_class, make_grouping
from unskew.reports.grouping_run import GroupingRun, MeasuredBatch
from unskew.spark.routing.schemes import grouping_for, runnable

OnStart = Callable[[str], None]


class _Told(NamedTuple):
    """Who may end a run, and who is told of it."""

    asked_to_stop: threading.Event
    on_batch: OnBatch


@dataclass(frozen=True)
class Run:
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
        A folder to go on from; by default every run begins anew.
    batch_rows, trigger, max_batches
        As in `Portions`.
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
        for label in self.groupings if self.checkpoint else ():
            claim(self._checkpoint(label), self._marker())
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
            Told the label of each grouping before it runs.
        on_batch
            Told of every micro-batch.
        listener
            Who hears of micro-batches, where several runs share one; by default one of its own.
        """
        told = _Told(asked_to_stop or threading.Event(), on_batch)
        self.source.check_on(spark)
        self.sink.check_on(spark)
        done: list[GroupingRun] = []
        with BatchListener(spark) if listener is None else nullcontext(listener) as heard:
            for label in self.groupings:
                if told.asked_to_stop.is_set():
                    break
                on_start(label)
                batches = self._run_one(spark, label, heard, told, first=not done)
                said = self.sink.summary(spark, label)
                done.append(GroupingRun(label, batches, self.warm_up, [said] if said else []))
        return done

    def _check_groupings(self) -> None:
        for label in self.groupings:
            name = label.partition(":")[0].strip()
            grouping_class(name)
            if name not in self.application.groupings:
                fitting = f"one that fits {self.application.name}"
                expected = f"{fitting} ({', '.join(self.application.groupings)})"
                raise InvalidParameterError("unskew run", "--grouping", expected, label)
            make_grouping(label, self.workers, seed=self.seed)
            if name in runnable():
                grouping_for(label, self.workers, seed=self.seed)

    def _run_one(
        self, spark: SparkSession, label: str, listener: BatchListener, told: _Told, *, first: bool
    ) -> list[MeasuredBatch]:
        checkpoint = self._checkpoint(label)
        opened = self.source.open(spark, self.application, checkpoint / "input")
        placing = self._placing(label)
        query = self._started(self.application.balanced(opened.rows, placing), label)
        aside = self._put_aside(opened.malformed, checkpoint) if first else None

        def note(batch: MeasuredBatch) -> None:
            append_epoch(self.folder, batch.epoch)
            told.on_batch(batch)

        try:
            return Follower(
                query=query,
                listener=listener,
                label=label,
                source=self.source,
                placing=placing,
                feeder=opened.feeder,
                max_batches=self.max_batches,
                asked_to_stop=told.asked_to_stop,
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

    def _marker(self) -> Marker:
        return Marker(self.application.spec, self.source.spec, self.batch_rows)
