"""Wrap: shuffle's balance at key grouping's memory; unskew's own scheme."""

from typing import ClassVar, NamedTuple, Self

import numpy as np

from unskew._validation import check_int, check_real
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.base import Weights
from unskew.groupings.plan import Plan, slots_of
from unskew.hashing import Ids
from unskew.scheduling import Loads, longest_first, wrap_around
from unskew.sketches.space_saving import SpaceSaving

_LARGE = 1 / 3  # of a worker's share: a key that is better not placed whole
_DEVIATIONS = 8  # room for the flowing keys, in standard deviations of a worker's learned load


class Wrap(PlannedGrouping):
    """Lay the largest keys end to end over the workers; cut a key only where a worker is full.

    All workers are planned to get the same load. At most ``n_workers − 1`` extra pieces arise in
    all, so memory is at most distinct keys + n_workers − 1.

    Parameters
    ----------
    n_workers
        Number of downstream workers, at least 1.
    slots
        Hash slots in which all keys that are not hot are placed together, at least 1.
    hot_keys
        Counters for hot keys; 16 a worker and at least 4,096 by default.
    decay
        What is left of the learned loads after each `build`, in [0, 1]: 1 never forgets, 0 plans
        from the last epoch alone.
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

    Notes
    -----
    The largest keys (at most ``n_workers``) flow; all others stay whole in their slots, which are
    placed by LPT. The flowing keys then fill the room that is left on each worker, one after the
    other (McNaughton's wrap-around).

    Neighbouring workers share the key that was cut between them. A row of such a key goes to the
    least loaded of the key's workers by the source's own counts: load flows along the chain of
    workers and evens out what the sample got wrong.
    """

    name: ClassVar[str] = "wrap"
    paper: ClassVar[str] = "unskew"
    splits_keys: bool = True

    def __init__(
        self,
        n_workers: int,
        *,
        slots: int = 65_536,
        hot_keys: int | None = None,
        decay: float = 0.5,
        seed: int = 0,
    ) -> None:
        n_workers = check_int("Wrap", "n_workers", n_workers, minimum=1)
        self.slots = check_int("Wrap", "slots", slots, minimum=1, maximum=1 << 24)
        if hot_keys is not None:
            hot_keys = check_int("Wrap", "hot_keys", hot_keys, minimum=1)
        self.hot_keys = hot_keys
        self.decay = check_real("Wrap", "decay", decay, minimum=0, maximum=1)
        self._sum_of_squares = 0.0  # of the weights learned: how noisy the slots are
        counters = max(4096, 16 * n_workers) if hot_keys is None else hot_keys
        super().__init__(n_workers, n_slots=self.slots, n_counters=counters, seed=seed)

    def build(self) -> Self:
        """Make the plan from all that was learned, then let what was learned decay."""
        super().build()
        self._slot_loads *= self.decay
        self._summary.scale(self.decay)
        self._sum_of_squares *= self.decay**2
        return self

    def _learn(self, ids: Ids, weights: Weights) -> None:
        super()._learn(ids, weights)
        self._sum_of_squares += float(weights @ weights) if weights.size else ids.size

    def _make_plan(self, slot_loads: Loads, summary: SpaceSaving) -> Plan:
        hot = _sure_loads(summary)
        slots = slots_of(hot.ids, self.plan.slot_member, slot_loads.size)
        rest = slot_loads.copy()
        np.subtract.at(rest, slots, hot.loads)
        noise = self._sum_of_squares / summary.total if summary.total else 1.0
        rest = _without_noise(np.maximum(rest, 0.0), noise)
        flowing = self._count_flowing(hot.loads, summary.total)
        np.add.at(rest, slots[flowing:], hot.loads[flowing:])
        places = longest_first(rest, self.n_workers)
        unknown = np.flatnonzero(rest == 0)  # no row of these slots was seen: hash them
        places[unknown] = np.arange(unknown.size) % self.n_workers
        loads = np.zeros(self.n_workers)
        np.add.at(loads, places, rest)
        pieces = wrap_around(hot.loads[:flowing], _rooms(loads, float(hot.loads[:flowing].sum())))
        np.add.at(loads, pieces.workers, pieces.loads)
        return Plan(
            n_workers=self.n_workers,
            slot_member=self.plan.slot_member,
            slot_workers=places,
            hot_ids=hot.ids[:flowing],
            pieces=pieces,
            predicted_loads=loads,
        )

    def _count_flowing(self, loads: Loads, total: float) -> int:
        """Return how many keys, largest first, are laid end to end; the others stay whole.

        Few keys that each span many workers even out more than many that join two each. So it is
        those that would leave a worker little room, and then as many as it takes to fill the
        deviation that a worker's load is expected to have.
        """
        too_large = int(np.count_nonzero(loads >= _LARGE * total / self.n_workers))
        deviation = float(np.sqrt(self._sum_of_squares * self.n_workers))
        enough = int(np.searchsorted(np.cumsum(loads), _DEVIATIONS * deviation)) + 1
        return min(max(too_large, enough), self.n_workers, int(loads.size))


class _Hot(NamedTuple):
    ids: Ids
    loads: Loads


def _sure_loads(summary: SpaceSaving) -> _Hot:
    """Return the keys whose load is known for at least one half, largest first."""
    ids, counts, errors = summary.items()
    sure = counts - errors
    known = np.flatnonzero(sure > 0.5 * counts)
    order = known[np.argsort(-sure[known], kind="stable")]
    return _Hot(ids[order], sure[order])


def _without_noise(loads: Loads, noise: float) -> Loads:
    """Draw the loads towards their mean by that part of their variance that is chance.

    A slot that happened to get many rows of the sample will get fewer of the stream, and one that
    got none will not get none. For Poisson counts this is the best linear estimate; ``noise`` is
    the variance of a load over its mean, 1 where every row weighs 1.
    """
    mean, variance = float(loads.mean()), float(loads.var())
    by_chance = min(1.0, mean * noise / variance) if variance > 0 else 1.0
    return mean + (1.0 - by_chance) * (loads - mean)


def _rooms(placed: Loads, flowing: float) -> Loads:
    """Return what each worker can take of the flowing load so that all end equal.

    Workers that hold more than the common level already get nothing: the level is raised (water
    filling) until the rooms of the others hold exactly the flowing load.
    """
    ordered = np.sort(placed)
    counts = np.arange(1, ordered.size + 1)
    levels: Loads = (flowing + np.cumsum(ordered)) / counts
    filled = int(np.flatnonzero(levels > ordered)[-1]) if np.any(levels > ordered) else 0
    return np.maximum(float(levels[filled]) - placed, 0.0)
