"""Wrap: shuffle's balance at key grouping's memory; unskew's own scheme."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_capacity, check_int, check_real
from unskew.groupings.base import SparkMode, Weights, Workers
from unskew.groupings.plan import Plan, slots_of
from unskew.groupings.planned import PlannedGrouping
from unskew.groupings.wrap.estimates import known_loads
from unskew.groupings.wrap.pieces import chain_rooms, fewer_pieces, linked
from unskew.groupings.wrap.replanning import Cut, Flow, joined, owners_of, repour, settle
from unskew.hashing import Ids
from unskew.scheduling import (
    LoadArray,
    Pieces,
    longest_first,
    pour_anew,
    rooms_for,
    sums_of,
    wrap_around,
)
from unskew.sketches.hash_cells import HashCells
from unskew.sketches.space_saving import SpaceSaving

_LARGE = 1 / 3  # of a worker's share: a key that is better not placed whole
_OWN_PLACE = 1 / 20  # of a worker's share: a whole key that is worth a place of its own
_GOLDEN = 0.6180339887498949
_LIGHT = 1 / 4  # of all load: flowing keys that are no more may make the rest uneven
_CELLS = 65_536  # in which loads are learned, however few slots there are
_SPARK_SLOTS_PER_WORKER = 64
_ROUNDS = 50
_DEVIATIONS = 4  # room for the flowing keys, in standard deviations of a worker's learned load


class Wrap(PlannedGrouping):
    """Lay the largest keys end to end over the workers; cut a key only where a worker is full.

    All workers are planned to get the same load. At most ``workers − 1`` extra pieces arise in
    all, so memory is at most distinct keys + workers − 1. The plan is never less even than the
    largest load that had to be placed whole: predicted_imbalance · mean ≤ the largest slot, and
    what a stream then shows differs from that by what the sample got wrong. A later `build`
    changes the plan as little as the loads ask for.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    slots
        Hash slots in which all keys that are not hot are placed together, at least 1.
    hot_keys
        Counters for hot keys; 16 per worker and at least 4,096 by default.
    decay
        What is left of the learned loads after each `build`, in [0, 1]: 1 never forgets, 0 plans
        from the last epoch alone.
    max_replicas
        Most workers that one key may live on; 1 keeps every key whole. No limit by default.
    min_piece
        Smallest piece of a key that is worth a worker, as a share of the worker's mean load. Even
        a small piece lets load flow between two workers, so that by default none is too small.
    tolerance
        What a later plan leaves as it is, as a share of the mean load; chance always counts as
        tolerable.
    capacity
        How much each worker can do, one number above 0 per worker: loads are planned in proportion.
        All workers are alike by default.
    seed
        Picks the hash function of the slots.

    Examples
    --------
    One key has half of all rows, four workers get a quarter each, and one key is cut:

    >>> keys = ["hot", "a", "hot", "b", "hot", "c", "hot", "d"] * 100
    >>> grouping = Wrap(4, seed=1).learn(keys).build()
    >>> loads = np.bincount(grouping.route_many(keys))
    >>> int(loads.sum()), bool(loads.max() <= 202)
    (800, True)
    >>> grouping.plan
    Plan: 4 workers, 1 key split, predicted imbalance 0.0 %

    A worker that can do twice as much gets twice as much:

    >>> grouping = Wrap(3, capacity=[2, 1, 1], seed=1).learn(keys).build()
    >>> np.bincount(grouping.route_many(keys)).tolist()
    [400, 200, 200]

    Notes
    -----
    The largest keys (at most ``workers``) flow: they are laid end to end over the workers and cut
    wherever one ends. All others stay whole in their slots, which are placed by LPT. What slots
    will bring is estimated from their rows and the number of their keys (`estimates`).

    Neighbouring workers share the key that was cut between them. A row of such a key goes to the
    least loaded of the key's workers by the source's own counts: load flows along the chain of
    workers and evens out what the sample got wrong.

    A later plan keeps slots and pieces where they are while these can carry what was learned, and
    lays only what is too much for a worker into the gaps of the others. Slow drift is compared
    with the plan that is followed, not with the last epoch, so it adds up until it counts. What
    workers have received too much so far (`note_loads`) is made up for by the flowing keys and,
    where it is more than chance, by slots that move.
    """

    name: ClassVar[str] = "wrap"
    paper: ClassVar[str] = "unskew"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "plan"
    learns_on_streams: ClassVar[bool] = True
    variants: ClassVar[Sequence[str]] = ("max_replicas=1",)
    takes_weights: ClassVar[bool] = True

    @classmethod
    def spark_defaults(cls, workers: int) -> dict[str, Any]:
        """Return fewer slots: on Spark a table travels with every query.

        >>> Wrap.spark_defaults(10), Wrap.spark_defaults(100_000)
        ({'slots': 1024}, {'slots': 65536})
        """
        return {"slots": min(1 << (_SPARK_SLOTS_PER_WORKER * workers - 1).bit_length(), _CELLS)}

    def __init__(
        self,
        workers: int,
        *,
        slots: int = 65_536,
        hot_keys: int | None = None,
        decay: float = 0.5,
        max_replicas: int | None = None,
        min_piece: float = 0.0,
        tolerance: float = 0.01,
        capacity: Sequence[float] | None = None,
        seed: int = 0,
    ) -> None:
        workers = check_int("Wrap", "workers", workers, minimum=1)
        self.slots = check_int("Wrap", "slots", slots, minimum=1, maximum=1 << 24)
        if hot_keys is not None:
            hot_keys = check_int("Wrap", "hot_keys", hot_keys, minimum=1)
        self.hot_keys = hot_keys
        self.decay = check_real("Wrap", "decay", decay, minimum=0, maximum=1)
        if max_replicas is not None:
            max_replicas = check_int("Wrap", "max_replicas", max_replicas, minimum=1)
        self.max_replicas = max_replicas
        self.min_piece = check_real("Wrap", "min_piece", min_piece, minimum=0, below=1)
        self.tolerance = check_real("Wrap", "tolerance", tolerance, minimum=0)
        self.capacity = None if capacity is None else check_capacity("Wrap", capacity, workers)
        self.splits_keys = max_replicas != 1
        self._sum_of_squares = 0.0  # of the weights learned: how noisy the slots are
        self._cells: HashCells | None = None  # from the first row learned on
        counters = max(4096, 16 * workers) if hot_keys is None else hot_keys
        super().__init__(workers, n_slots=self.slots, n_counters=counters, seed=seed)

    def build(self) -> Self:
        """Make the plan from all that was learned, then let what was learned decay."""
        super().build()
        self._fade()
        self._sum_of_squares *= self.decay**2
        if self._cells is not None:
            self._cells.fade(self.decay)
        return self

    def for_source(self, source: int, n_sources: int) -> Self:
        """Return an object of its own that follows the same plan and has sent nothing yet."""
        own = super().for_source(source, n_sources)
        own._cells = None if self._cells is None else self._cells.copy()
        return own

    def _learn(self, ids: Ids, weights: Weights) -> None:
        super()._learn(ids, weights)
        self._sum_of_squares += float(weights @ weights) if weights.size else ids.size
        if self._cells is None:
            n_cells = self.slots * max(1, _CELLS // self.slots)
            self._cells = HashCells(n_cells, self.plan.slot_member)
        self._cells.update_many(ids, weights)

    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        noise = self._sum_of_squares / summary.total if summary.total else 1.0
        rest, hot = known_loads(slot_loads, summary, self._cells, self.plan.slot_member, noise)
        flows = self._flowing(hot, summary.total)
        slots = slots_of(hot.ids[~flows], self.plan.slot_member, rest.size)
        np.add.at(rest, slots, hot.loads[~flows])
        flow = Flow(hot.ids[flows], hot.loads[flows])
        if self.max_replicas == 1:
            places, pieces = self._whole(rest, flow)
        elif self.is_built:
            places, pieces = self._changed(rest, flow)
        else:
            places, pieces = self._laid_out(rest, flow)
        loads = sums_of(rest, places, self.workers)
        np.add.at(loads, pieces.workers, pieces.loads)
        return Plan(
            workers=self.workers,
            slot_member=self.plan.slot_member,
            slot_workers=places,
            hot_ids=flow.ids,
            pieces=pieces,
            predicted_loads=loads,
            capacity=None if self.capacity is None else np.array(self.capacity),
        )

    def _laid_out(self, rest: LoadArray, flow: Flow) -> tuple[Workers, Pieces]:
        """Return a first plan: slots by LPT, then the flowing keys end to end."""
        capacity = self._capacities
        level = float((rest.sum() + flow.loads.sum()) / capacity.sum())
        if self.capacity is None and self.max_replicas is None and flow.ids.size:
            rooms = chain_rooms(flow.loads, self.workers)
            light = float(rooms.sum()) <= _LIGHT * self.workers * level
            if light and float(rooms.max()) <= level:
                return self._chained(rest, flow, rooms)
        giants = self._cut_giants(flow, np.zeros(self.workers), level)
        given = sums_of(giants.loads, giants.workers, self.workers)
        places = longest_first(rest, self.workers, initial=given, capacity=capacity)
        unknown = np.flatnonzero(rest == 0)  # no row of these slots was seen: hash them
        places[unknown] = _in_proportion(unknown.size, capacity)
        placed = sums_of(rest, places, self.workers)
        return places, self._end_to_end(flow, giants, placed, level)

    def _chained(self, rest: LoadArray, flow: Flow, rooms: LoadArray) -> tuple[Workers, Pieces]:
        """Return a first plan in which flowing keys join all workers, and slots fill them up."""
        places = longest_first(rest, self.workers, initial=rooms)
        unknown = np.flatnonzero(rest == 0)  # no row of these slots was seen: hash them
        places[unknown] = _in_proportion(unknown.size, self._capacities)
        pieces = wrap_around(flow.loads, rooms)
        levels = rooms + sums_of(rest, places, self.workers)
        pour_anew(pieces, self._capacities, levels, _ROUNDS)
        cut = Cut(owners_of(pieces), pieces.workers, pieces.loads)
        return places, self._limited(cut, flow, self.min_piece * float(levels.mean()))

    def _changed(self, rest: LoadArray, flow: Flow) -> tuple[Workers, Pieces]:
        """Return the present plan with what the loads ask for changed.

        What a worker lacks so far is room for more, and what it has too much leaves it less, if it
        is more than chance makes of the worst worker. Flowing keys make up for the rest. New pieces
        of them arise where more than chance asks for it: one standard deviation over the whole
        run; since the last plan, in which chance evens out, what it makes of the worst worker.
        """
        capacity = self._capacities
        level = float((rest.sum() + flow.loads.sum()) / capacity.sum())
        slack = self._slack(level)
        ahead, deviations = self._ahead(level)
        worst = _largest_deviate(self.workers)
        counts = (deviations <= 0) | (deviations > worst)
        rooms = level - np.where(counts, ahead, 0.0) / capacity
        places = settle(rest, self.plan.slot_workers, capacity, rooms=rooms, slack=slack)
        there = sums_of(rest, places, self.workers) + ahead
        by_chance = (deviations > 0) & (deviations <= 1)
        tolerated = np.where(by_chance, ahead, 0.0) / capacity + slack * worst
        cut = repour(flow, self.plan, there, capacity, slack=tolerated)
        return places, self._limited(cut, flow, self.min_piece * level)

    def _whole(self, rest: LoadArray, flow: Flow) -> tuple[Workers, Pieces]:
        """Return a plan that cuts no key: slots and keys are placed, or stay, as they are."""
        capacity = self._capacities
        loads = np.concatenate((flow.loads, rest))
        if self.is_built:
            level = float(loads.sum() / capacity.sum())
            before = np.concatenate((self._whole_places(flow.ids), self.plan.slot_workers))
            places = settle(
                loads,
                before,
                capacity,
                rooms=np.full(self.workers, level),
                slack=self._slack(level),
            )
        else:
            places = longest_first(loads, self.workers, capacity=capacity)
            unknown = np.flatnonzero(loads == 0)  # to those that are not full already
            level = float(loads.sum() / capacity.sum())
            full = sums_of(loads, places, self.workers) > level * capacity
            places[unknown] = _in_proportion(unknown.size, np.where(full, 0.0, capacity))
        starts = np.arange(flow.ids.size + 1, dtype=np.int64)
        return places[flow.ids.size :], Pieces(starts, places[: flow.ids.size], flow.loads)

    def _whole_places(self, ids: Ids) -> Workers:
        """Return where whole keys are now: at a place of their own, or with their slot."""
        plan = self.plan
        places = plan.slot_workers[slots_of(ids, plan.slot_member, plan.slot_workers.size)]
        own, new, old = np.intersect1d(ids, plan.hot_ids, return_indices=True)
        if own.size:
            places[new] = plan.pieces.workers[plan.pieces.starts[old]]
        return places

    def _cut_giants(self, flow: Flow, placed: LoadArray, level: float) -> Cut:
        """Cut keys that could not lie end to end on ``max_replicas`` workers into equal pieces."""
        most = self.max_replicas
        if most is None or most >= self.workers:
            return Cut.nothing()
        giants = np.flatnonzero(flow.loads > (most - 1) * level)
        levels = placed / self._capacities
        workers = np.empty((giants.size, most), np.int32)
        for row, key in enumerate(giants):
            workers[row] = np.argsort(levels, kind="stable")[:most]
            levels[workers[row]] += flow.loads[key] / most / self._capacities[workers[row]]
        loads = np.repeat(flow.loads[giants] / most, most)
        return Cut(np.repeat(giants, most), workers.ravel(), loads)

    def _end_to_end(self, flow: Flow, giants: Cut, placed: LoadArray, level: float) -> Pieces:
        """Lay all flowing keys but the giants, which are cut already, over the rooms."""
        placed = placed + sums_of(giants.loads, giants.workers, self.workers)
        others = np.delete(np.arange(flow.ids.size), giants.owners)
        loads = flow.loads[others]
        laid = wrap_around(loads, rooms_for(float(loads.sum()), placed, self._capacities))
        cut = Cut(others[owners_of(laid)], laid.workers, laid.loads)
        return self._limited(giants.and_also(cut), flow, self.min_piece * level)

    def _limited(self, cut: Cut, flow: Flow, smallest: float) -> Pieces:
        """Return pieces through which load flows to all workers, and no more than these take."""
        pieces = linked(joined(cut, flow.ids.size), self.workers)
        pieces = fewer_pieces(pieces, self.workers)
        cut = Cut(owners_of(pieces), pieces.workers, pieces.loads)
        return joined(cut, flow.ids.size, smallest=smallest, most=self.max_replicas)

    def _flowing(self, hot: Flow, total: float) -> NDArray[np.bool_]:
        """Return which keys are laid end to end; the others stay whole in their slots.

        Few keys that each span many workers even out more than many that join two each. So it is
        those that would leave a worker little room, and then as many as it takes to fill the
        deviation that a worker's load is expected to have. A key that flows already goes on until
        it has half of what makes one flow. Keys that may not be cut get places of their own.
        """
        capacity = self._capacities
        share = total * float(capacity.min() / capacity.sum())  # of the worker with least room
        if self.max_replicas == 1:
            return hot.loads >= _OWN_PLACE * share
        too_large = int(np.count_nonzero(hot.loads >= _LARGE * share))
        deviation = float(np.sqrt(self._sum_of_squares * self.workers))
        enough = int(np.searchsorted(np.cumsum(hot.loads), _DEVIATIONS * deviation)) + 1
        # Of W keys one at least has room on a worker, if that is like all others.
        most = self.workers - (self.capacity is None)
        # A key that is expected to bring nothing has nothing to flow, and would get no piece.
        bringing = int(np.count_nonzero(hot.loads > 0))
        count = min(max(too_large, enough), most, bringing)
        flows: NDArray[np.bool_] = np.arange(hot.loads.size) < count
        if count and self.is_built:
            least = 0.5 * hot.loads[count - 1]
            flows |= np.isin(hot.ids, self.plan.hot_ids) & (hot.loads >= least)
        return flows

    def _slack(self, level: float) -> float:
        """Return by how much a worker may exceed the level before anything is moved."""
        by_chance = float(np.sqrt(self._sum_of_squares / self.workers))
        return max(self.tolerance * level, by_chance)

    def _ahead(self, level: float) -> tuple[LoadArray, LoadArray]:
        """Return what each worker has received too much, also in standard deviations of chance.

        At most half a worker's share counts, so that no plan is made for the past alone.
        """
        if self._received is None:
            return np.zeros(self.workers), np.zeros(self.workers)
        capacity = self._capacities
        fair = capacity * (self._received.sum() / capacity.sum())
        noise = self._sum_of_squares / (level * capacity.sum()) if level > 0 else 1.0
        ahead = self._received - fair
        deviations = ahead / np.sqrt(np.maximum(noise * fair, np.finfo(float).tiny))
        most = 0.5 * level * capacity
        return np.clip(ahead, -most, most), deviations

    @property
    def _capacities(self) -> LoadArray:
        return np.ones(self.workers) if self.capacity is None else np.array(self.capacity)


def _largest_deviate(workers: int) -> float:
    """Return how far, in standard deviations, the worst of the workers is off by chance.

    >>> 2.4 < _largest_deviate(20) < 2.5
    True
    """
    return max(1.0, float(np.sqrt(2 * np.log(workers))))


def _in_proportion(count: int, capacity: LoadArray) -> Workers:
    """Spread ``count`` items round-robin over the workers, or in proportion to what they can do."""
    if np.all(capacity == capacity[0]):
        return (np.arange(count) % capacity.size).astype(np.int32)
    bounds = np.cumsum(capacity) / capacity.sum()
    spread = (np.arange(count) * _GOLDEN) % 1.0
    return np.minimum(np.searchsorted(bounds, spread, "right"), capacity.size - 1).astype(np.int32)
