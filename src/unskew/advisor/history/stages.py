"""Report on a stage: its time, its tasks, what it lost and what to do about it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew.advisor.history.advice import (
    MUCH_GARBAGE,
    SHORTEST_TO_DIVIDE,
    Advice,
    Finding,
    advise,
)
from unskew.advisor.history.tasks import LostTime, Spread, StageTasks, spread

_ENOUGH_TASKS = 2
_MUCH_SLOWER = 1.3


@dataclass(frozen=True)
class StageReport:
    """A stage and those like it, what their uneven tasks cost, and what may be done.

    Alike are stages of one application with the same name, operators and keys: those of the
    micro-batches of a stream, or of a loop. Figures are those of the worst of them.

    Parameters
    ----------
    application, stage, attempt, name
        Which stage, in Spark's words.
    alike
        How many stages it stands for.
    finished
        Whether the log tells its end; if not, the figures are of the tasks that had ended.
    tasks, slots
        Tasks that succeeded, and how many could run at a time.
    wall_seconds
        From the first task's start to the last one's end.
    even_seconds
        What the stage would have lasted with tasks of equal length.
    lost_seconds
        What all of them lasted beyond that because their tasks were uneven, or because they had
        fewer tasks than slots, or while garbage was collected; see `tasks.lost_time`.
    task_seconds, records, shuffle_bytes
        Largest and middle of the tasks: time, rows read, bytes read from a shuffle.
    keys
        By what the rows were shuffled to the stage, where its plan tells.
    operators
        What it ran, where its plan tells.
    share_of_job_time
        ``lost_seconds`` of the time that the application's jobs ran, from 0 to 1.
    advice
        The likely cause and what to do.
    """

    application: str
    stage: int
    attempt: int
    name: str
    alike: int
    finished: bool
    tasks: int
    slots: int
    wall_seconds: float
    even_seconds: float
    lost_seconds: float
    share_of_job_time: float
    task_seconds: Spread
    records: Spread
    shuffle_bytes: Spread
    keys: tuple[str, ...]
    operators: tuple[str, ...]
    advice: Advice

    def to_json(self) -> dict[str, Any]:
        """Return fields for JSON; spreads become objects with max and median."""
        fields = asdict(self) | self.advice._asdict()
        del fields["advice"]
        for name in ("task_seconds", "records", "shuffle_bytes"):
            fields[name] = getattr(self, name)._asdict()
        return fields


@dataclass
class StagesAlike:
    """The worst of some stages alike, and what they all lost."""

    report: StageReport
    finding: Finding
    alike: int = 1
    lost_seconds: float = 0.0

    def add(self, other: "StagesAlike") -> None:
        """Take in another."""
        if other.report.lost_seconds > self.report.lost_seconds:
            self.report, self.finding = other.report, other.finding
        self.alike += other.alike
        self.lost_seconds += other.lost_seconds

    def summed(self, job_seconds: float) -> StageReport:
        """Return the report of all, now that it is known for how long jobs ran."""
        share = min(1.0, self.lost_seconds / job_seconds) if job_seconds else 0.0
        return replace(
            self.report,
            alike=self.alike,
            lost_seconds=self.lost_seconds,
            share_of_job_time=share,
            advice=advise(self.finding, share),
        )


def report_stage(
    application: str, place: tuple[int, int], name: str, tasks: StageTasks, *, finished: bool
) -> StagesAlike:
    """Sum up a stage that has at least one finished task."""
    time = tasks.lost()
    finding = _finding(time, tasks)
    report = StageReport(
        application=application,
        stage=place[0],
        attempt=place[1],
        name=name,
        alike=1,
        finished=finished,
        tasks=len(tasks),
        slots=tasks.slots,
        wall_seconds=time.wall,
        even_seconds=time.even,
        lost_seconds=finding.lost_share * time.wall,
        share_of_job_time=0.0,
        task_seconds=spread(tasks.seconds),
        records=spread(tasks.records),
        shuffle_bytes=spread(tasks.shuffle_bytes),
        keys=tasks.work.keys,
        operators=tuple(tasks.work.operators),
        advice=advise(finding, 0.0),
    )
    return StagesAlike(report, finding, lost_seconds=report.lost_seconds)


def _finding(time: LostTime, tasks: StageTasks) -> Finding:
    seconds, working, records = tasks.seconds, tasks.working_seconds, tasks.records
    longest = int(working.argmax())
    uneven = time.lost / time.wall
    worth_dividing = seconds.mean() >= SHORTEST_TO_DIVIDE
    idle = time.idle / time.wall if worth_dividing else 0.0
    collecting = float(tasks.collecting_seconds.sum() / seconds.sum())
    return Finding(
        lost_share=max(uneven + idle, collecting if collecting >= MUCH_GARBAGE else 0.0),
        uneven_share=uneven,
        idle_share=idle,
        collecting_share=collecting,
        spilled_share=float((tasks.spilled > 0).mean()),
        spilled_bytes=int(tasks.spilled.sum()),
        slow_machine=_is_one_machine_slow(seconds, tasks.executors),
        longest=float(seconds.max() / seconds.mean()),
        longest_work=1.0 + float((working[longest] - working.mean()) / seconds.mean()),
        its_records=float(records[longest] / records.mean()) if records.any() else None,
        work=tasks.work,
        workers=max(len(tasks), tasks.slots),
    )


def _is_one_machine_slow(seconds: NDArray[np.float64], executors: NDArray[np.int64]) -> bool:
    """Return whether all tasks of an executor took much longer than those of all others.

    >>> _is_one_machine_slow(np.array([4.0, 4.2, 1.0, 1.1]), np.array([1, 1, 2, 2]))
    True
    >>> _is_one_machine_slow(np.array([4.0, 1.2, 1.0, 1.1]), np.array([1, 1, 2, 2]))
    False
    """
    for one in np.unique(executors):
        own, others = seconds[executors == one], seconds[executors != one]
        if min(own.size, others.size) >= _ENOUGH_TASKS and own.min() > _MUCH_SLOWER * others.max():
            return True
    return False
