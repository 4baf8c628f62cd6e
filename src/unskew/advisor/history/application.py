"""One application: its events in, the stages that lost most time out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from unskew.advisor.history.logs import EventLog, EventReader, LogEvent
from unskew.advisor.history.plans import StageWork, works_by_accumulator
from unskew.advisor.history.stages import StageReport, StagesAlike, report_stage
from unskew.advisor.history.tasks import BusyTime, Slots, StageTasks, number, task_facts

_EXECUTION = "spark.sql.execution.id"
# Kinds of stages that are kept; when there are more, the half that lost least is forgotten.
_KINDS = 2000
Place = tuple[int, int]


@dataclass
class ApplicationReport:
    """What is known of one application.

    Parameters
    ----------
    id, name, spark_version, path
        Which application, and where its log is.
    stages
        How many stages had tasks.
    job_seconds
        For how long at least one job ran.
    lost_seconds
        What all stages together lost to uneven tasks; stages that ran side by side lost it at once.
    worst
        The stages that lost most, the worst first.
    notes
        What of the log could not be read.
    """

    id: str
    name: str
    spark_version: str
    path: str
    stages: int = 0
    job_seconds: float = 0.0
    lost_seconds: float = 0.0
    worst: list[StageReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def share(self, lost: float) -> float:
        """Return seconds as a share of the time that jobs ran, from 0 to 1."""
        return min(1.0, lost / self.job_seconds) if self.job_seconds else 0.0


class ApplicationReader:
    """Follow the events of one log; memory is for stages and queries that run, and the worst.

    Parameters
    ----------
    log
        The files of the application.
    top
        How many stages to keep.
    """

    def __init__(self, log: EventLog, top: int) -> None:
        self._log = log
        self._top = top
        self._report = ApplicationReport(log.path.name, "", "unknown", str(log.path))
        self._slots = Slots()
        self._busy = BusyTime()
        self._running: dict[Place, StageTasks] = {}
        self._task_seconds = 0.0
        self._task_seconds_before: dict[int, float] = {}
        self._submitted: dict[int, tuple[float, float]] = {}
        self._names: dict[int, str] = {}
        self._executions: dict[int, str] = {}
        self._stages_of_jobs: dict[object, list[int]] = {}
        self._works: dict[str, dict[int, StageWork]] = {}
        self._descriptions: dict[str, str] = {}
        self._kinds: dict[object, StagesAlike] = {}
        self._handlers: dict[str, Callable[[LogEvent], None]] = {
            "SparkListenerLogStart": self._log_start,
            "SparkListenerApplicationStart": self._application_start,
            "SparkListenerEnvironmentUpdate": self._slots.environment,
            "SparkListenerExecutorAdded": self._slots.added,
            "SparkListenerExecutorRemoved": self._slots.removed,
            "SparkListenerJobStart": self._job_start,
            "SparkListenerJobEnd": self._job_end,
            "SparkListenerStageSubmitted": self._stage_submitted,
            "SparkListenerTaskEnd": self._task_end,
            "SparkListenerStageCompleted": self._stage_completed,
            "SparkListenerSQLExecutionStart": self._plan,
            "SparkListenerSQLAdaptiveExecutionUpdate": self._plan,
            "SparkListenerSQLExecutionEnd": self._execution_end,
        }

    def read(self) -> ApplicationReport:
        """Go through the log once."""
        events = EventReader(self._log, frozenset(self._handlers))
        for name, event in events:
            try:
                self._handlers[name](event)
            except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
                events.unreadable_lines += 1  # of another shape than Spark's
        for place in list(self._running):
            self._close(place, finished=False)
        report = self._report
        report.job_seconds = self._busy.seconds()
        report.worst = [each.summed(report.job_seconds) for each in self._most_lost(self._top)]
        report.notes = _notes(self._log, events)
        return report

    def _log_start(self, event: LogEvent) -> None:
        self._report.spark_version = str(event.get("Spark Version") or "unknown")

    def _application_start(self, event: LogEvent) -> None:
        self._report.id = str(event.get("App ID") or self._report.id)
        self._report.name = str(event.get("App Name") or "")

    def _job_start(self, event: LogEvent) -> None:
        self._busy.job_start(event)
        execution = (event.get("Properties") or {}).get(_EXECUTION)
        if execution is not None:
            stages = list(event.get("Stage IDs") or [])
            self._stages_of_jobs[event.get("Job ID")] = stages
            self._executions.update(dict.fromkeys(stages, execution))

    def _job_end(self, event: LogEvent) -> None:
        self._busy.job_end(event)
        for stage in self._stages_of_jobs.pop(event.get("Job ID"), []):
            self._executions.pop(stage, None)  # of stages that were skipped, too

    def _stage_submitted(self, event: LogEvent) -> None:
        stage = _stage_of(event)[0]
        self._names[stage] = _stage_name(event)
        self._task_seconds_before[stage] = self._task_seconds
        info = event.get("Stage Info") or {}
        place = number(info.get("Submission Time")), number(info.get("Number of Tasks"))
        self._submitted[stage] = place
        execution = (event.get("Properties") or {}).get(_EXECUTION)
        if execution is not None:
            self._executions[stage] = execution

    def _task_end(self, event: LogEvent) -> None:
        task = task_facts(event)
        if task is None:
            return
        place = (int(number(event.get("Stage ID"))), int(number(event.get("Stage Attempt ID"))))
        tasks = self._running.setdefault(place, StageTasks())
        tasks.add(task, self._slots.count)
        self._busy.seen(task.launched, task.finished)
        self._task_seconds += (task.finished - task.launched) / 1e3
        if not tasks.work.operators:
            tasks.work = self._work_of(place[0], event)

    def _work_of(self, stage: int, event: LogEvent) -> StageWork:
        works = self._works.get(self._executions.get(stage, ""), {})
        counted = (event.get("Task Info") or {}).get("Accumulables") or []
        found = [works[each["ID"]] for each in counted if each.get("ID") in works]
        keyed = [work for work in found if work.keys]
        return (keyed or found or [StageWork()])[0]

    def _stage_completed(self, event: LogEvent) -> None:
        place = _stage_of(event)
        self._names.setdefault(place[0], _stage_name(event))
        self._close(place, finished=True)
        self._names.pop(place[0], None)
        self._executions.pop(place[0], None)

    def _close(self, place: Place, *, finished: bool) -> None:
        tasks = self._running.pop(place, None)
        if tasks is None:
            return
        before = self._task_seconds_before.pop(place[0], self._task_seconds)
        self._submitted.pop(place[0], None)
        done = max(0.0, self._task_seconds - before - float(tasks.seconds.sum()))
        tasks.elsewhere = done + tasks.shared_with(self._submitted.values())
        stages = report_stage(
            self._report.id, place, self._name_of(place[0]), tasks, finished=finished
        )
        report = stages.report
        self._report.stages += 1
        self._report.lost_seconds += report.lost_seconds
        kind = (report.name, report.operators, report.keys)
        if kind in self._kinds:
            self._kinds[kind].add(stages)
        else:
            self._kinds[kind] = stages
        if len(self._kinds) > _KINDS:
            kept = self._most_lost(_KINDS // 2)
            self._kinds = {kind: each for kind, each in self._kinds.items() if each in kept}

    def _most_lost(self, number_of: int) -> list[StagesAlike]:
        ordered = sorted(self._kinds.values(), key=lambda each: -each.lost_seconds)
        return ordered[:number_of]

    def _name_of(self, stage: int) -> str:
        """Return the query's description; Spark names stages of adaptive queries after threads."""
        described = self._descriptions.get(self._executions.get(stage, ""))
        return described or self._names.get(stage, "")

    def _plan(self, event: LogEvent) -> None:
        execution = str(event.get("executionId"))
        works = self._works.setdefault(execution, {})
        works.update(works_by_accumulator(event.get("sparkPlanInfo") or {}))
        # Of a stream only the first line is the same for all micro-batches.
        lines = str(event.get("description") or "").splitlines()
        if lines:
            self._descriptions[execution] = lines[0]

    def _execution_end(self, event: LogEvent) -> None:
        self._works.pop(str(event.get("executionId")), None)
        self._descriptions.pop(str(event.get("executionId")), None)


def _stage_of(event: LogEvent) -> Place:
    info: dict[str, Any] = event.get("Stage Info") or {}
    return int(number(info.get("Stage ID"))), int(number(info.get("Stage Attempt ID")))


def _stage_name(event: LogEvent) -> str:
    return str((event.get("Stage Info") or {}).get("Stage Name") or "")


def _notes(log: EventLog, events: EventReader) -> list[str]:
    notes = []
    if log.in_progress:
        notes.append("the application still ran, or was killed, when this log was read")
    if events.cut_off:
        notes.append("the log is cut off; its last event was left out")
    if events.unreadable_lines:
        notes.append(f"{events.unreadable_lines} lines could not be read and were left out")
    return notes
