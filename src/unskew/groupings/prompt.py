"""Prompt: micro-batches are packed into blocks of equal size, and few keys are cut for it."""

import math
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int
from unskew.groupings.base import SparkMode
from unskew.groupings.plan import Plan, slots_of
from unskew.groupings.planned import PlannedGrouping
from unskew.scheduling import LoadArray, Pieces, sums_of
from unskew.sketches.space_saving import SpaceSaving

_SLOTS_PER_WORKER = 64
_FEWEST_COUNTERS, _COUNTERS_PER_WORKER = 1024, 16


class Prompt(PlannedGrouping):
    """Pack each micro-batch into blocks of equal size and numbers of keys, cutting few keys [1].

    While a micro-batch is gathered its rows are counted by key. Keys with more rows than the mean
    of all keys are large: each first leaves as much as that mean in a block, one block after the
    other, then all other keys are dealt out to and fro over the blocks, so that each gets about as
    many keys, and last what is left of the large keys goes where it fits best; it is cut only
    where it fits nowhere. Blocks here are workers.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    counters
        Keys that are counted one by one, at least 1; 16 per worker, at least 1,024, by default.
    seed
        Picks the hash function.

    Notes
    -----
    The order of the three phases and where a key is cut are those of the paper's algorithm for
    the Map stage, as the authors of Dalton wrote it down in their program; the paper's body could
    not be read here. Its second algorithm, which assigns what each Map task made to Reduce tasks,
    has no place here, as partial results are merged by key.

    Decided: Prompt sees a micro-batch whole before it places a row, while a grouping is asked row
    by row; the plan is therefore made of the rows before (a sample, or the last epoch). Keys that
    have no counter are dealt out by hash slot, 64 per worker, and the number of keys that the mean
    is taken of is estimated from how many slots are empty, or is that of the slots where none is.
    What is left of a large key and fits nowhere fills the emptiest worker, and so on.

    Predicted loads are within a row of the mean wherever the dealing out leaves room below it.

    Examples
    --------
    A key has half of all rows: it is cut, and the loads are even:

    >>> keys = np.arange(40_000) % 1_000
    >>> keys[::2] = -1
    >>> grouping = Prompt(4).learn(keys).build()
    >>> loads = np.bincount(grouping.route_many(keys))
    >>> grouping.plan.n_split_keys >= 1, bool(loads.max() < 1.02 * loads.mean())
    (True, True)

    References
    ----------
    [1] Abdelhamid et al., "Prompt: Dynamic Data-Partitioning for Distributed Micro-batch Stream
       Processing Systems", SIGMOD 2020.
    """

    name: ClassVar[str] = "prompt"
    paper: ClassVar[str] = "Abdelhamid et al. 2020 (Prompt)"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "plan"
    learns_on_streams: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True

    def __init__(self, workers: int, *, counters: int | None = None, seed: int = 0) -> None:
        workers = check_int("Prompt", "workers", workers, minimum=1)
        if counters is not None:
            counters = check_int("Prompt", "counters", counters, minimum=1)
        self.counters = counters
        super().__init__(
            workers,
            n_slots=_SLOTS_PER_WORKER * workers,
            n_counters=counters or max(_FEWEST_COUNTERS, _COUNTERS_PER_WORKER * workers),
            seed=seed,
        )

    @property
    def most_hot_keys(self) -> int:
        """As many keys can be large as are counted one by one."""
        return self._summary.capacity

    def build(self) -> Self:
        """Make the plan from what was learned since the last one."""
        super().build()
        self._fade()  # to nothing
        return self

    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        ids, counts, errors = summary.items()
        certain = counts - errors
        mean = summary.total / max(_estimated_keys(slot_loads), ids.size, 1)
        large = certain > mean
        order = np.argsort(-certain[large], kind="stable")
        ids, loads = ids[large][order], certain[large][order]
        rest = slot_loads.copy()
        np.subtract.at(rest, slots_of(ids, self.plan.slot_member, rest.size), loads)
        rest = np.maximum(rest, 0.0)
        packed = _pack(loads, rest, mean, self.workers)
        return Plan(
            workers=self.workers,
            slot_member=self.plan.slot_member,
            slot_workers=packed.slot_workers,
            hot_ids=ids,
            pieces=packed.pieces,
            predicted_loads=packed.loads,
        )


class _Packed(NamedTuple):
    slot_workers: NDArray[np.int32]
    pieces: Pieces
    loads: LoadArray


def _pack(large: LoadArray, slots: LoadArray, first: float, workers: int) -> _Packed:
    """Place large keys, the largest first, and slots of other keys."""
    size = (float(large.sum()) + float(slots.sum())) / workers
    own = np.arange(large.size) % workers
    placed = sums_of(np.full(large.size, first), own, workers)
    to_and_fro = np.concatenate([np.arange(workers), np.arange(workers)[::-1]])
    slot_workers = np.empty(slots.size, np.int32)
    slot_workers[np.argsort(-slots, kind="stable")] = np.resize(to_and_fro, slots.size)
    placed += sums_of(slots, slot_workers, workers)
    pieces: list[tuple[list[int], list[float]]] = []
    for key, load in enumerate(large.tolist()):
        places, loads = [int(own[key])], [first]
        _place_rest(load - first, placed, size, places, loads)
        pieces.append((places, loads))
    starts = np.cumsum([0, *(len(places) for places, _ in pieces)], dtype=np.int64)
    there = np.array([place for places, _ in pieces for place in places], np.int32)
    amounts = np.array([load for _, loads in pieces for load in loads], np.float64)
    return _Packed(slot_workers, Pieces(starts, there, amounts), placed)


def _place_rest(
    rest: float, placed: LoadArray, size: float, places: list[int], loads: list[float]
) -> None:
    """Place what is left of a key: with its first piece, or where it fits best, or cut."""
    while rest > 0:
        room = size - placed
        fits = np.flatnonzero(room >= rest)
        if room[places[0]] >= rest:
            worker = places[0]
        elif fits.size:
            worker = int(fits[room[fits].argmin()])
        else:
            worker = int(room.argmax())
        # A worker that is full takes all that is left: rounding may leave no room anywhere.
        part = min(rest, float(room[worker])) if room[worker] > 1e-9 * size else rest
        placed[worker] += part
        rest -= part
        if worker in places:
            loads[places.index(worker)] += part
        else:
            places.append(worker)
            loads.append(part)


def _estimated_keys(slot_loads: LoadArray) -> float:
    """Estimate how many keys fell into the slots (linear counting).

    >>> round(_estimated_keys(np.repeat([1.0, 0.0], 50)))
    69
    """
    empty = max(1, int(np.count_nonzero(slot_loads == 0)))
    return slot_loads.size * math.log(slot_loads.size / empty)
