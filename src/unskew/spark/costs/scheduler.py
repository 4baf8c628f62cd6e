"""The driver's side of proactive shuffle on Spark: what a round did in, the next schedule out.

A round (a micro-batch, or the slice of a batch that learns) is a barrier: all workers begin it
together, and what they did is known when it is over. Nothing here knows of Spark or of files.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.proactive.scheduler import (
    SchedulerPhase,
    ask_all,
    epoch_of,
    new_scheduler,
    note_report,
    phase_of,
    start_epoch,
    take_in_reply,
)
from unskew.groupings.proactive.worker import WorkerState, new_workers
from unskew.metrics import imbalance_percent
from unskew.sketches.cost_sketch import COST, COUNT
from unskew.spark.steps.running import read_stats
from unskew.spark.worker.cost_messages import (
    Control,
    DamagedMessageError,
    Matrices,
    Schedule,
    Standing,
    WorkDone,
    pack,
    unpack,
    work_done_from,
)

Tallies: TypeAlias = NDArray[np.float64]
"""For each worker rows, seconds and squared seconds, by cell."""

_STANDARD_ERRORS = 4.0
_FASTEST, _SLOWEST = 1 / 16, 16.0

_OLD_ROUNDS = 0.5
_REQUEST_BYTES = _REPLY_BYTES = 16  # a number of an epoch and a number of seconds


def worker_speeds(one: Tallies, other: Tallies) -> NDArray[np.float64]:
    """Return how long each worker takes for what takes a usual worker 1.

    A worker is usual unless both of two sets of rounds show the contrary: Spark may run it on
    another machine in every round, and a machine may be busy with other things for a while, so a
    speed that is to be followed must have lasted. The speed of an unusual worker is that of its
    time, compared with the usual ones (with all, if there are none).

    Costs are compared within a cell: rows of the same keys, whoever has executed them. A set shows
    a worker to be unusual if its rows took more or less than the means by over 4 standard errors:
    to follow chance would make of it an imbalance that stays. The error is the larger of two, by
    how the worker's own rows scatter, and by how all rows do: so a single row that took very long
    makes neither its own worker slow nor the others fast. For this every row counts alike,
    whatever it costs.

    Examples
    --------
    The second of two takes three times as long for the same rows:

    >>> rows, seconds = np.full((2, 1), 100.0), np.array([[100.0], [300.0]])
    >>> slow = np.stack([rows, seconds, seconds**2 / rows], axis=1)
    >>> worker_speeds(slow, slow).tolist()
    [0.5, 1.5]

    Here it did so only once, and here it had a single slow row:

    >>> even = np.ones_like(slow)
    >>> worker_speeds(slow, even).tolist()
    [1.0, 1.0]
    >>> slow[1, 1:] = [[99.0 + 201.0], [99.0 + 201.0**2]]
    >>> worker_speeds(slow, slow).tolist()
    [1.0, 1.0]
    """
    is_usual = _direction(one) * _direction(other) <= 0
    tallies = one + other
    mean = _means(tallies[is_usual] if is_usual.any() else tallies)
    rows, seconds = tallies[:, 0], np.where(mean > 0, tallies[:, 1], 0.0)
    speeds = _ratio(seconds.sum(axis=1), (rows * mean).sum(axis=1))
    return np.where(is_usual, 1.0, np.clip(speeds, _FASTEST, _SLOWEST))


def _direction(tallies: Tallies) -> NDArray[np.float64]:
    """Return 1 for a worker that is slower than chance explains, -1 for a faster one, else 0."""
    rows, total = tallies[:, 0], tallies[:, 0].sum(axis=0)
    mean = _means(tallies)
    # In units of the mean of the cell, so that every row counts alike.
    seconds = _ratio(tallies[:, 1], np.broadcast_to(mean, rows.shape))
    squares = _ratio(tallies[:, 2], np.broadcast_to(mean**2, rows.shape))
    variance = np.fmax(_ratio(squares.sum(axis=0), total) - 1.0, 0.0)
    own_scatter = (squares - 2 * seconds + rows).sum(axis=1)
    scatter = np.fmax(own_scatter, (rows * variance).sum(axis=1))
    excess = seconds.sum(axis=1) - np.where(mean > 0, rows, 0.0).sum(axis=1)
    is_clear = np.abs(excess) > _STANDARD_ERRORS * np.sqrt(scatter)
    direction: NDArray[np.float64] = np.where(is_clear, np.sign(excess), 0.0)
    return direction


def _means(tallies: Tallies) -> NDArray[np.float64]:
    return _ratio(tallies[:, 1].sum(axis=0), tallies[:, 0].sum(axis=0))


def _ratio(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)


class RoundReport(NamedTuple):
    """What one round did, for people and dashboards; the lists have one entry per worker."""

    round_number: int
    """The schedule by which its rows were routed, `NO_VERSION` where no task has found one."""
    phase: str
    """Where the scheduler stood then, and the last synchronisation that it had begun."""
    epoch: int
    rows: list[int]
    busy_seconds: list[float]
    estimated_seconds: list[float] | None
    """What the schedule expected; None where rows went round-robin."""
    speeds: list[float]
    """What the schedule took each worker's speed for, 1 for the average."""
    messages: int
    """Reports, requests and replies."""
    message_bytes: int


class CostControl:
    """Keep the scheduler of a query from round to round.

    All workers' matrices are pooled for routing, and times the speed of a worker they are its
    own: a worker alone has measured so little that its means are half chance, and a schedule by
    them would never be even.

    Parameters
    ----------
    workers
        How many there are.
    matrices
        What `cost_messages.matrices_of` gives.

    Notes
    -----
    A worker that got no row in a round answers for itself that it has nothing to correct, so an
    epoch ends with the round whose rows have carried its requests. Workers that never got a row
    are not waited for: the schedule begins when all others have reported.

    A report by which no estimate changes, within the tolerance of the matrices, is used and asks
    nobody: all workers begin a round together, so nobody's load is off because of it. (The paper
    starts an epoch after every report; with W workers, each of which reports in another round, that
    would be 2 W messages per report.)

    A speed other than 1 is believed when it shows in even and in odd rounds (`worker_speeds`).
    """

    def __init__(self, workers: int, matrices: Matrices) -> None:
        rows, columns, _ = matrices.shape
        self.workers = workers
        self._tolerance = matrices.settings.tolerance
        self._state = new_scheduler(workers, rows, columns)
        self._machines = new_workers(workers, rows, columns)
        # Of even and of odd rounds, newer ones counting more.
        self._tallies = np.zeros((2, workers, 3, columns))
        self._has_worked = np.zeros(workers, bool)
        self._rounds = 0

    @property
    def phase(self) -> SchedulerPhase:
        """Where the scheduler stands."""
        return phase_of(self._state)

    def control(self) -> Control:
        """Return what the next round has to know."""
        schedule = Schedule(
            pooled=self._state.cells.sum(axis=0),
            speeds=worker_speeds(*self._tallies),
            registers=self._state.registers.copy(),
            round_number=self._rounds,
        )
        return Control(schedule, WorkerState._make(part.copy() for part in self._machines))

    def report(self, round_of: Iterable[WorkDone]) -> RoundReport:
        """Return what a round was, and learn nothing from it."""
        done = self._own(round_of)
        standing = self._standing_of(done)
        n_asked = self.workers if self._carried_requests(standing) else 0
        return _report(self.workers, standing, done, worker_speeds(*self._tallies), n_asked)

    def take(self, round_of: Iterable[WorkDone]) -> RoundReport:
        """Take in all that the workers of a round have to say, and return what it was."""
        done = self._own(round_of)
        report = self.report(done)
        if self._carried_requests(self._standing_of(done)):
            ask_all(self._state)
            self._take_replies(done, report.epoch)
        tallies = self._tallies[self._rounds % 2]
        tallies *= _OLD_ROUNDS
        known = self._state.cells.sum(axis=0)
        has_news = False
        for work in done:
            tallies[work.worker] += work.tally
            has_news |= self._take_work(work)
        if self.phase == SchedulerPhase.ROUND_ROBIN:
            self._begin_if_all_known()
        elif has_news and _differ(known, self._state.cells.sum(axis=0), self._tolerance):
            start_epoch(self._state)
        self._rounds += 1
        return report

    def to_bytes(self) -> bytes:
        """Return all that it knows, for `restored`."""
        return pack(self._arrays())

    @classmethod
    def restored(cls, workers: int, matrices: Matrices, data: bytes) -> Self:
        """Return the control that ``data`` was made of, or raise `DamagedMessageError`."""
        control, found = cls(workers, matrices), unpack(data)
        for name, array in control._arrays().items():
            if name not in found or found[name].shape != array.shape:
                raise DamagedMessageError(f"what was remembered has no {name}, or of another shape")
            array[...] = found[name]
        control._rounds = int(found["rounds"])
        return control

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that it knows; but for ``rounds`` these are the arrays themselves."""
        return {
            **{f"scheduler {name}": array for name, array in self._state._asdict().items()},
            **{f"machines {name}": array for name, array in self._machines._asdict().items()},
            "tallies": self._tallies,
            "has_worked": self._has_worked,
            "rounds": np.array(self._rounds),
        }

    def _standing_of(self, done: Sequence[WorkDone]) -> Standing:
        """Return the newest schedule that a worker has found: the present one if none worked."""
        present = Standing(self._rounds, epoch_of(self._state), self.phase)
        return max((work.standing for work in done), default=present)

    def _carried_requests(self, standing: Standing) -> bool:
        """Whether a round has asked the workers on behalf of the present epoch.

        One that began before the present schedule was there has not.
        """
        is_present = standing.epoch == epoch_of(self._state)
        return is_present and self.phase == standing.phase == SchedulerPhase.SEND_ALL

    def _own(self, round_of: Iterable[WorkDone]) -> list[WorkDone]:
        """Return the work of this query's workers; matrices of another shape are not its own."""
        shape = self._state.cells.shape[1:]
        return [work for work in round_of if work.machine.cells.shape[1:] == shape]

    def _take_replies(self, done: Sequence[WorkDone], epoch: int) -> None:
        differences = np.zeros(self.workers)
        for work in done:
            difference = work.busy_seconds - work.estimated_seconds
            differences[work.worker] = difference if np.isfinite(difference) else 0.0
        for worker in range(self.workers):
            take_in_reply(self._state, worker, epoch, differences[worker])
        # All workers begin the next round together, whatever this one has cost them.
        self._state.estimated[:] = 0.0

    def _take_work(self, work: WorkDone) -> bool:
        """Take in what a worker has done; return whether it has reported something new."""
        worker = work.worker
        self._has_worked[worker] |= work.rows > 0
        # A round that is run again tells again what is known: its machine may be an older one.
        if work.machine.reports[0] >= self._machines.reports[worker]:
            for mine, new in zip(self._machines, work.machine, strict=True):
                mine[worker] = new[0]
        report = work.report
        return report is not None and bool(
            note_report(self._state, worker, report.number, report.cells)
        )

    def _begin_if_all_known(self) -> None:
        has_reported = self._state.last_reports > 0
        is_known = has_reported.any() and (has_reported | ~self._has_worked).all()
        if is_known:
            start_epoch(self._state)


def _differ(one: NDArray[np.float64], other: NDArray[np.float64], tolerance: float) -> bool:
    """Tell whether mean costs of cells differ by more than ``tolerance`` of their sum.

    As for a worker's own windows, only cells count that have rows in both.

    >>> _differ(np.array([[[2, 2.0], [1, 9.0]]]), np.array([[[4, 4.1], [0, 0.0]]]), 0.05)
    False
    >>> _differ(np.array([[[2, 2.0], [1, 9.0]]]), np.array([[[4, 4.4], [0, 0.0]]]), 0.05)
    True
    """
    is_in_both = (one[..., COUNT] > 0) & (other[..., COUNT] > 0)
    before, now = (cells[is_in_both, COST] / cells[is_in_both, COUNT] for cells in (one, other))
    return bool(np.abs(before - now).sum() > tolerance * before.sum())


def _report(
    workers: int,
    standing: Standing,
    done: Sequence[WorkDone],
    speeds: NDArray[np.float64],
    n_asked: int,
) -> RoundReport:
    rows, busy, estimated = np.zeros(workers, np.int64), np.zeros(workers), np.zeros(workers)
    for work in done:
        rows[work.worker] += work.rows
        busy[work.worker] += work.busy_seconds
        estimated[work.worker] += np.nan_to_num(work.estimated_seconds)
    is_scheduled = standing.phase != SchedulerPhase.ROUND_ROBIN
    reports = [work.report for work in done if work.report is not None]
    return RoundReport(
        round_number=standing.round_number,
        phase=standing.phase.name,
        epoch=standing.epoch,
        rows=rows.tolist(),
        busy_seconds=busy.tolist(),
        estimated_seconds=estimated.tolist() if is_scheduled else None,
        speeds=speeds.tolist(),
        messages=len(reports) + 2 * n_asked,
        message_bytes=sum(report.cells.nbytes for report in reports)
        + n_asked * (_REQUEST_BYTES + _REPLY_BYTES),
    )


def work_in(stats: str, workers: int) -> list[WorkDone]:
    """Return what workers reported, from the text of their stats; what is damaged is left out."""
    found = []
    for one in read_stats(stats, workers):
        try:
            found.append(work_done_from(one.payload or b"")._replace(worker=one.worker))
        except DamagedMessageError:
            continue
    return found


def cost_fields(report: RoundReport, stats: str) -> dict[str, Any]:
    """Return the fields of an `Epoch` that tell of a round; ``stats`` is what it all came in.

    >>> report = RoundReport(3, "RUN", 2, [4, 1], [2.0, 2.0], [2.5, 1.5], [1.0, 1.0], 6, 160)
    >>> fields = cost_fields(report, "[]")
    >>> fields["imbalance"], fields["predicted_imbalance"], fields["imbalance_of"]
    (0.0, 25.0, 'busy_seconds')
    """
    estimated = report.estimated_seconds
    return {
        "version": report.round_number,
        "rows": sum(report.rows),
        "loads": tuple(report.rows),
        "imbalance": imbalance_percent(report.busy_seconds),
        "predicted_imbalance": None if estimated is None else imbalance_percent(estimated),
        "imbalance_of": "busy_seconds",
        "busy_seconds": tuple(report.busy_seconds),
        "estimated_seconds": None if estimated is None else tuple(estimated),
        "phase": report.phase,
        "messages": report.messages,
        "message_bytes": report.message_bytes,
        "stats_rows": len(read_stats(stats, len(report.rows))),
        "stats_bytes": len(stats),
    }
