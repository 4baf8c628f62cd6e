"""Route rows to the queues: ahead of them, or with the workers' feedback in one compiled loop."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.groupings.base import NO_WEIGHTS, Grouping, Workers
from unskew.groupings.full_knowledge import FullKnowledge
from unskew.groupings.proactive.proactive_shuffle import Machines, ProactiveShuffle
from unskew.groupings.proactive.scheduler import (
    NO_REQUEST,
    SchedulerState,
    assign,
    take_in_reply,
    take_in_report,
)
from unskew.groupings.proactive.worker import NO_TIME, WorkerState, execute, take_report
from unskew.hashing import Ids, identities
from unskew.simulator._queues import Arrivals, Phase, Queues, serve, serve_many
from unskew.simulator.loads import SimulationRun
from unskew.sketches.count_min import columns_of
from unskew.streams.base import Batch

_LARGEST_CHUNK = 1 << 16
_REPORTS_PER_CHUNK = 64


class Mail(NamedTuple):
    """Messages under way, each with the time when the row that caused it ends.

    A worker has at most one reply under way that counts: a newer one belongs to a newer epoch,
    and the scheduler ignores the older.
    """

    report_times: NDArray[np.float64]
    """Infinite where the place is free."""
    report_workers: NDArray[np.int64]
    report_numbers: NDArray[np.int64]
    report_cells: NDArray[np.float64]
    reply_times: NDArray[np.float64]
    """Infinite where the worker has no reply under way."""
    reply_epochs: NDArray[np.int64]
    reply_differences: NDArray[np.float64]
    next_time: NDArray[np.float64]
    """When the next message arrives (one number)."""
    sent: NDArray[np.int64]
    """How many messages were sent in all (one number)."""


class ClosedLoop:
    """Run a `ProactiveShuffle` over queues and bring it the workers' messages in time.

    Messages under way take memory in proportion to the rows that wait in the queues.
    """

    def __init__(self, grouping: ProactiveShuffle, queues: Queues) -> None:
        self._grouping = grouping
        self._queues = queues
        self._mail = _new_mail(self._room(0), grouping.machines.scheduler.cells.shape)

    @property
    def control_messages(self) -> int:
        """Reports and replies sent so far (requests ride on rows and cost no message)."""
        return int(self._mail.sent[0])

    def run(
        self,
        ids: Ids,
        costs: NDArray[np.float64],
        arrivals: Arrivals,
        out: NDArray[np.float64],
        workers: Workers,
    ) -> None:
        """Assign and serve rows; write their completion times and their workers."""
        chunk = min(_LARGEST_CHUNK, 2 * self._grouping.window * _REPORTS_PER_CHUNK)
        for start in range(0, ids.size, chunk):
            self._make_room()
            part = slice(start, start + chunk)
            later = Arrivals(arrivals.first + start, arrivals.gap)
            _run_closed_loop(
                self._grouping.machines,
                self._mail,
                self._queues,
                later,
                ids[part],
                costs[part],
                out[part],
                workers[part],
            )

    def finish(self) -> None:
        """Deliver what is still under way, once the stream has ended."""
        _deliver_until(self._grouping.machines.scheduler, self._mail, np.finfo(np.float64).max)

    def _room(self, under_way: int) -> int:
        # A report takes two windows at least, of which a worker may have filled the most before.
        return under_way + _REPORTS_PER_CHUNK + self._grouping.workers

    def _make_room(self) -> None:
        waiting = np.isfinite(self._mail.report_times)
        needed = self._room(int(waiting.sum()))
        if needed <= waiting.size:
            return
        larger = _new_mail(2 * needed, self._grouping.machines.scheduler.cells.shape)
        for old, new in zip(self._mail, larger, strict=True):
            new[: old.shape[0]] = old
        self._mail = larger


def _new_mail(room: int, shape: tuple[int, ...]) -> Mail:
    workers = shape[0]
    return Mail(
        report_times=np.full(room, np.inf),
        report_workers=np.zeros(room, np.int64),
        report_numbers=np.zeros(room, np.int64),
        report_cells=np.zeros((room, *shape[1:])),
        reply_times=np.full(workers, np.inf),
        reply_epochs=np.zeros(workers, np.int64),
        reply_differences=np.zeros(workers),
        next_time=np.full(1, np.inf),
        sent=np.zeros(1, np.int64),
    )


@compiled
def _run_closed_loop(
    machines: Machines,
    mail: Mail,
    queues: Queues,
    arrivals: Arrivals,
    ids: Ids,
    costs: NDArray[np.float64],
    out: NDArray[np.float64],
    assigned: Workers,
) -> None:
    scheduler, workers, parameters = machines.scheduler, machines.workers, machines.parameters
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns = np.uint64(scheduler.cells.shape[2])
    for i in range(ids.size):
        arrival = (arrivals.first + i) * arrivals.gap
        if mail.next_time[0] <= arrival:
            _deliver_until(scheduler, mail, arrival)
        columns_of(ids[i], parameters, n_columns, columns)
        worker, epoch = assign(scheduler, columns, machines.resync_after)
        end = serve(queues, worker, arrival, costs[i])
        out[i] = end - arrival
        assigned[i] = worker
        cost, time = costs[i] * queues.factors[worker], end if machines.by_time else NO_TIME
        stable = execute(workers, worker, columns, cost, time, machines.settings)
        if epoch != NO_REQUEST:
            difference = workers.clocks[worker] - scheduler.estimated[worker]
            _post_reply(mail, worker, end, epoch, difference)
        if stable:
            _post_report(mail, workers, worker, end)


@compiled
def _post_reply(mail: Mail, worker: int, time: float, epoch: int, difference: float) -> None:
    mail.reply_times[worker] = time
    mail.reply_epochs[worker] = epoch
    mail.reply_differences[worker] = difference
    mail.next_time[0] = min(mail.next_time[0], time)
    mail.sent[0] += 1


@compiled
def _post_report(mail: Mail, workers: WorkerState, worker: int, time: float) -> None:
    place = np.argmax(mail.report_times)
    mail.report_times[place] = time
    mail.report_workers[place] = worker
    mail.report_numbers[place] = take_report(workers, worker, mail.report_cells[place])
    mail.next_time[0] = min(mail.next_time[0], time)
    mail.sent[0] += 1


@compiled
def _deliver_until(scheduler: SchedulerState, mail: Mail, time: float) -> None:
    """Bring the scheduler every message up to ``time``, in order; of equal ones replies first."""
    while True:
        replier, place = int(np.argmin(mail.reply_times)), int(np.argmin(mail.report_times))
        reply, report = mail.reply_times[replier], mail.report_times[place]
        mail.next_time[0] = min(reply, report)
        if mail.next_time[0] > time:
            return
        if reply <= report:
            mail.reply_times[replier] = np.inf
            epoch, difference = mail.reply_epochs[replier], mail.reply_differences[replier]
            take_in_reply(scheduler, replier, epoch, difference)
        else:
            mail.report_times[place] = np.inf
            worker, number = mail.report_workers[place], mail.report_numbers[place]
            take_in_report(scheduler, worker, number, mail.report_cells[place])


class OpenRouter:
    """Route batch by batch, then serve; tell those schemes that ask for it what waits where."""

    def __init__(self, run: SimulationRun, queues: Queues) -> None:
        self._run = run
        self._queues = queues
        self._report_every = run.groupings[0].report_every
        self._reported = np.zeros(queues.free.size)  # of `busy`, at the last report
        self._row_times: NDArray[np.float64] = np.zeros(queues.free.size)

    def change_speeds(self, phase: Phase) -> None:
        """Let the workers have other speeds from now on, and tell the oracle."""
        self._queues.factors[:] = phase.factors
        for grouping in self._run.groupings:
            if isinstance(grouping, FullKnowledge):
                grouping.change_speeds(phase.factors)

    def serve(self, batch: Batch, arrivals: Arrivals) -> NDArray[np.float64]:
        """Serve a batch and return its completion times, none where it was learned from."""
        keys, costs = batch
        size = len(keys)
        served = []
        for start in range(0, size, self._report_every or size):
            part = slice(start, start + (self._report_every or size))
            piece = Batch(keys[part], None if costs is None else costs[part])
            workers = self._run.take(piece)
            if workers is not None:
                later = Arrivals(arrivals.first + start, arrivals.gap)
                served.append(self._serve(workers, piece.costs, later))
        return np.concatenate(served) if served else np.empty(0)

    def _serve(
        self, workers: Workers, costs: NDArray[np.float64] | None, arrivals: Arrivals
    ) -> NDArray[np.float64]:
        out = np.empty(workers.size)
        serve_many(self._queues, workers, arrivals, NO_WEIGHTS if costs is None else costs, out)
        if self._report_every:
            served = np.bincount(workers, minlength=self._reported.size)
            self._report(served, (arrivals.first + workers.size) * arrivals.gap)
        return out

    def _report(self, served: NDArray[np.int64], now: float) -> None:
        """Tell every source what waits, and what rows took that came since the last report.

        Of a worker that had none, what was true before is said again, or what is on average.
        """
        took = self._queues.busy - self._reported
        self._reported = self._queues.busy.copy()
        average = took.sum() / served.sum()
        before = np.where(self._row_times > 0, self._row_times, average)
        self._row_times = np.where(served > 0, took / np.maximum(served, 1), before)
        left = np.maximum(self._queues.free - now, 0.0)
        known = self._row_times > 0
        waiting = np.divide(left, self._row_times, out=np.zeros_like(left), where=known)
        for grouping in self._run.groupings:
            grouping.note_queues(waiting, self._row_times)

    def finish(self) -> int:
        """Return how many rows the scheme itself has sent: none."""
        return 0


class ClosedRouter:
    """Proactive shuffle with its feedback."""

    def __init__(
        self, grouping: ProactiveShuffle, run: SimulationRun, queues: Queues, learned: int
    ) -> None:
        self._run = run
        self._queues = queues
        self._grouping = grouping
        self._loop = ClosedLoop(grouping, queues)
        self._still_to_learn = learned
        self._learned: list[tuple[Ids, NDArray[np.float64]]] = []

    def change_speeds(self, phase: Phase) -> None:
        """Let the workers have other speeds from now on; the scheme has to find out."""
        self._queues.factors[:] = phase.factors

    def serve(self, batch: Batch, arrivals: Arrivals) -> NDArray[np.float64]:
        """Serve a batch and return its completion times, none where it was learned from."""
        ids = identities(batch.keys)
        costs = np.ones(ids.size) if batch.costs is None else batch.costs
        if self._still_to_learn > 0:
            self._learn(ids, costs)
            return np.empty(0)
        out, workers = np.empty(ids.size), np.empty(ids.size, np.int32)
        self._loop.run(ids, costs, arrivals, out, workers)
        self._run.observe(batch, workers)
        return out

    def _learn(self, ids: Ids, costs: NDArray[np.float64]) -> None:
        """Keep rows until all are there, as they are learned from at once."""
        self._learned.append((ids, costs))
        self._still_to_learn -= ids.size
        if self._still_to_learn <= 0:
            parts = zip(*self._learned, strict=True)
            self._grouping.learn(*(np.concatenate(part) for part in parts))
            self._learned.clear()

    def finish(self) -> int:
        """Return how many rows workers and scheduler have sent each other."""
        self._loop.finish()
        return self._loop.control_messages


def make_router(
    grouping: Grouping, run: SimulationRun, queues: Queues, learned: int
) -> OpenRouter | ClosedRouter:
    """Return what brings the rows of ``grouping`` to the queues."""
    if isinstance(grouping, ProactiveShuffle):
        return ClosedRouter(grouping, run, queues, learned)
    return OpenRouter(run, queues)
