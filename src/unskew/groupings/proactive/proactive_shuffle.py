"""Proactive shuffle: rows go to the worker with the least estimated work."""

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._compiled import compiled
from unskew._validation import check_choice, check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.groupings.proactive.scheduler import (
    NO_REQUEST,
    NO_RESYNC,
    SchedulerPhase,
    SchedulerState,
    assign,
    new_scheduler,
    phase_of,
    take_in_reply,
    take_in_report,
)
from unskew.groupings.proactive.worker import (
    NO_TIME,
    Settings,
    WorkerState,
    execute,
    new_workers,
    take_report,
)
from unskew.hashing import Ids, Keys, identities
from unskew.sketches.cost_sketch import add_cost, clean_cost
from unskew.sketches.count_min import check_precision, columns_of, row_parameters, sketch_shape


class Requests(NamedTuple):
    """The request under way to each worker; an older one would be ignored, so one is enough."""

    carriers: NDArray[np.int64]
    """Which row of the worker, counted from 1, carries it; 0 where none is under way."""
    epochs: NDArray[np.int64]
    estimates: NDArray[np.float64]
    sent: NDArray[np.int64]
    """Rows given to each worker."""
    done: NDArray[np.int64]
    """Rows executed by each worker."""


class Machines(NamedTuple):
    """The scheduler's and the workers' machines, for compiled loops that let them run."""

    scheduler: SchedulerState
    workers: WorkerState
    parameters: Ids
    """Hash functions of the sketches."""
    settings: Settings
    resync_after: int
    by_time: bool
    """Whether a worker's clock shows the elapsed time, instead of its work."""


class ProactiveShuffle(Grouping):
    """Send each row to the worker whose estimated total execution time is smallest [1].

    Workers sketch what rows cost (by key) and report once their sketches are stable; the
    scheduler, one for all sources, adds up the estimated cost of what it gives to each worker and
    corrects the sums whenever a report comes. Without reports rows go round-robin.
    Meant for operators without state: every worker may come to hold every key.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    window
        Rows that a worker executes between two looks at its sketch (N).
    tolerance
        Largest relative change of the sketched costs that counts as stable (μ).
    compare
        Which cells of a sketch that change is taken over: ``"all"``, or the ``"corner"`` of as many
        columns as there are rows, to which the authors' program [2] looks.
    epsilon, delta
        Precision of the sketches: round(e/ε) columns, ⌈log₂ 1/δ⌉ rows.
    clock
        What a worker's load is corrected to. ``"elapsed"``: the time when it ended a row, so that
        a worker which stood idle does not count as behind. ``"work"``: the cost of all its rows.
    resync
        Correct the loads also after every ``window`` rows per worker without a report.
    seed
        Picks the hash functions of the sketches.

    Notes
    -----
    The text of [1] corrects to the work and only after reports; the authors' program [2] corrects
    to the elapsed time, and in between, too. The defaults follow the program: on the streams of
    [1] up to Zipf-1.0 the text's rule is on average slower than plain round-robin, since it sends
    an idle worker all the work that it has missed. ``clock="work", resync=False`` is the text.

    Cells of a sketch that were empty at the last look do not count as changed: otherwise, under
    skew, there would be new keys for ever and never a report.

    Weights given to `route_many` are ignored: the scheme learns costs from `executed` alone.
    Memory is 40 bytes times workers · rows · columns, whatever the stream. A window should be
    much larger than the number of workers, or epochs begin faster than they can end.

    Examples
    --------
    Two workers learn that key 7 costs 9 and key 8 costs 1; then one slow row weighs as much as
    nine fast ones:

    >>> grouping = ProactiveShuffle(2, window=2, resync=False)
    >>> for worker in (0, 1):
    ...     grouping.executed(worker, [7, 8, 7, 8], [9.0, 1.0, 9.0, 1.0])
    >>> grouping.phase.name
    'SEND_ALL'
    >>> requests = grouping.route_many([8, 8])
    >>> for worker in (0, 1):
    ...     grouping.executed(worker, [8], [1.0])
    >>> grouping.phase.name
    'RUN'
    >>> grouping.route_many([7] + [8] * 10).tolist()
    [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]

    References
    ----------
    [1] Rivetti et al., "Proactive Online Scheduling for Shuffle Grouping", 2016.
    [2] https://github.com/rivetti/osg_storm
    """

    name: ClassVar[str] = "proactive-shuffle"
    paper: ClassVar[str] = "Rivetti et al. 2016 (POSG)"
    splits_keys: bool = True
    shares_state: bool = True
    needs_costs: ClassVar[bool] = True
    groups_keys: ClassVar[bool] = False
    spark: ClassVar[SparkMode | None] = "costs"

    def __init__(
        self,
        workers: int,
        *,
        window: int = 1024,
        tolerance: float = 0.05,
        compare: str = "all",
        epsilon: float = 0.05,
        delta: float = 0.1,
        clock: str = "elapsed",
        resync: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        owner = type(self).__name__
        self.window = check_int(owner, "window", window, minimum=1)
        self.tolerance = check_real(owner, "tolerance", tolerance, minimum=0)
        self.compare = check_choice(owner, "compare", compare, ["all", "corner"])
        self.epsilon, self.delta = check_precision(owner, epsilon, delta)
        self.clock = check_choice(owner, "clock", clock, ["elapsed", "work"])
        if not isinstance(resync, bool):
            raise InvalidParameterError(owner, "resync", "True or False", resync)
        self.resync = resync
        rows, columns = sketch_shape(self.epsilon, self.delta)
        self.machines = Machines(
            scheduler=new_scheduler(self.workers, rows, columns),
            workers=new_workers(self.workers, rows, columns),
            parameters=row_parameters(self.seed, rows),
            settings=Settings(
                self.window,
                self.tolerance,
                columns if self.compare == "all" else min(rows, columns),
            ),
            resync_after=self.window * self.workers if resync else NO_RESYNC,
            by_time=self.clock == "elapsed",
        )
        self._requests = _no_requests(self.workers)

    @property
    def phase(self) -> SchedulerPhase:
        """Where the scheduler stands."""
        return phase_of(self.machines.scheduler)

    @property
    def estimated(self) -> NDArray[np.float64]:
        """Estimated load of every worker: when it will have done all its rows (a copy)."""
        return self.machines.scheduler.estimated.copy()

    def executed(
        self, worker: int, keys: Keys, costs: ArrayLike, *, ended: ArrayLike | None = None
    ) -> None:
        """Tell that ``worker`` has executed rows, in the order given.

        What the worker then has to say reaches the scheduler at once.

        Parameters
        ----------
        worker
            Who has executed them.
        keys, costs
            Their keys and what each one cost; a negative or not finite cost counts as 0.
        ended
            When each row ended, on a clock that all workers started together. Without it, workers
            are taken to be never idle. Not used with ``clock="work"``.
        """
        owner = type(self).__name__
        checked = check_int(owner, "worker", worker, minimum=0, maximum=self.workers - 1)
        ids = identities(keys)
        times = np.full(ids.size, NO_TIME)
        if ended is not None:
            times = self._numbers("ended", ended, ids.size)
        measured = self._numbers("costs", costs, ids.size)
        _execute_many(self.machines, self._requests, checked, ids, measured, times)

    def learn(self, keys: Keys, costs: ArrayLike) -> None:
        """Begin with what rows have cost before the first one is routed.

        Every worker has executed its share of them, in turns, has reported, stable or not, and
        stands idle: the next rows, one per worker, ask for the clocks, then the scheme is greedy.

        Examples
        --------
        >>> grouping = ProactiveShuffle(2)
        >>> grouping.learn([7, 7, 8, 8], [9.0, 9.0, 1.0, 1.0])
        >>> grouping.phase.name, grouping.estimated.tolist()
        ('SEND_ALL', [0.0, 0.0])
        >>> grouping.route_many([7, 8]).tolist(), grouping.estimated.tolist()
        ([0, 1], [9.0, 1.0])
        """
        ids = identities(keys)
        _learn_many(self.machines, ids, self._numbers("costs", costs, ids.size))

    def _numbers(self, parameter: str, values: ArrayLike, size: int) -> NDArray[np.float64]:
        numbers = np.ascontiguousarray(values, dtype=np.float64)
        if numbers.shape != (size,):
            expected, got = f"one number per key ({size})", f"shape {numbers.shape}"
            raise InvalidParameterError(type(self).__name__, parameter, expected, got)
        return numbers

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        _assign_many(self.machines, self._requests, ids, out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return tuple(range(self.workers))


def _no_requests(workers: int) -> Requests:
    def zeros() -> NDArray[np.int64]:
        return np.zeros(workers, np.int64)

    return Requests(zeros(), zeros(), np.zeros(workers), zeros(), zeros())


@compiled
def _assign_many(machines: Machines, requests: Requests, ids: Ids, out: Workers) -> None:
    scheduler, parameters = machines.scheduler, machines.parameters
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns = np.uint64(scheduler.cells.shape[2])
    for i in range(ids.size):
        columns_of(ids[i], parameters, n_columns, columns)
        worker, epoch = assign(scheduler, columns, machines.resync_after)
        requests.sent[worker] += 1
        if epoch != NO_REQUEST:
            requests.carriers[worker] = requests.sent[worker]
            requests.epochs[worker] = epoch
            requests.estimates[worker] = scheduler.estimated[worker]
        out[i] = worker


@compiled
def _learn_many(machines: Machines, ids: Ids, costs: NDArray[np.float64]) -> None:
    scheduler, workers, parameters = machines.scheduler, machines.workers, machines.parameters
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns = np.uint64(scheduler.cells.shape[2])
    report = np.empty(scheduler.cells.shape[1:])
    n_workers = scheduler.estimated.size
    for i in range(ids.size):
        columns_of(ids[i], parameters, n_columns, columns)
        add_cost(workers.cells[i % n_workers], columns, clean_cost(costs[i]))
    for worker in range(n_workers):
        number = take_report(workers, worker, report)
        take_in_report(scheduler, worker, number, report)


@compiled
def _execute_many(
    machines: Machines,
    requests: Requests,
    worker: int,
    ids: Ids,
    costs: NDArray[np.float64],
    ended: NDArray[np.float64],
) -> None:
    scheduler, workers, parameters = machines.scheduler, machines.workers, machines.parameters
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns = np.uint64(scheduler.cells.shape[2])
    report = np.empty(scheduler.cells.shape[1:])
    for i in range(ids.size):
        columns_of(ids[i], parameters, n_columns, columns)
        time = ended[i] if machines.by_time else NO_TIME
        stable = execute(workers, worker, columns, costs[i], time, machines.settings)
        requests.done[worker] += 1
        if 0 < requests.carriers[worker] <= requests.done[worker]:
            requests.carriers[worker] = 0
            difference = workers.clocks[worker] - requests.estimates[worker]
            take_in_reply(scheduler, worker, requests.epochs[worker], difference)
        if stable:
            number = take_report(workers, worker, report)
            take_in_report(scheduler, worker, number, report)
