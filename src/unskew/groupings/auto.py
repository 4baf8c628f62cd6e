"""Auto: look at the stream, choose plain hashing or `Wrap`, and let no worker get far ahead."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_choice, check_real
from unskew.groupings.base import Weights, Workers
from unskew.groupings.key import KeyGrouping
from unskew.groupings.plan import Plan, PlanIndex, route_planned
from unskew.groupings.wrap import Wrap
from unskew.hashing import Ids, derive_seeds, mix, to_range
from unskew.scheduling import LoadArray, sums_of
from unskew.sketches.space_saving import SpaceSaving

WORTHWHILE = 0.05
"""A plan is worth following where it takes more than this share off the time of the job."""

_WORKS = ("merge", "atomic")
_EXCESS = 0.02
_PROBES = 4
_ROOM = 0.02
_NOTHING = np.empty(0)


class Verdict(NamedTuple):
    """Whether to follow a plan in place of plain hashing, and why."""

    follow_plan: bool
    why: str


def is_worth_planning(
    name: str, *, planned: float, hashing: float, noise: float, worthwhile: float = WORTHWHILE
) -> Verdict:
    """Compare a plan with plain hashing, by the time that the busiest worker takes.

    Parameters
    ----------
    name
        The scheme that made the plan.
    planned, hashing
        The predicted imbalance of either, in percent.
    noise
        By how much hashing may look less even than it is, in percent: chance in a sample.
    worthwhile
        The share of the time that a plan has to save.

    Examples
    --------
    >>> is_worth_planning("wrap", planned=0.0, hashing=4.0, noise=0.0).follow_plan
    False
    >>> is_worth_planning("wrap", planned=0.0, hashing=80.0, noise=5.0).why
    'wrap: predicted imbalance 0.0 % in place of 80.0 % by hashing'
    """
    sure = max(planned, hashing - noise)
    saved = 1.0 - (100.0 + planned) / (100.0 + sure)
    if saved <= worthwhile:
        return Verdict(False, f"key: hashing is even enough, predicted imbalance {hashing:.1f} %")
    why = f"predicted imbalance {planned:.1f} % in place of {hashing:.1f} % by hashing"
    return Verdict(True, f"{name}: {why}")


class Auto(Wrap):
    """Hash keys where that is even, else lay them out as `Wrap` does; send no worker too much.

    It learns first. If plain hashing (`KeyGrouping`, with the same seed) would take hardly longer
    than a plan, it is followed, and a key stays whole unless the stream turns out otherwise.
    `why` says what was chosen.

    A plan knows only what it was made from. So a row whose worker is too far ahead of the others,
    by the source's own counts, goes to another worker instead, the same few for a key as long as
    they have room [1]. Whatever the stream does, what a source has sent to a worker is at most

        (1 + excess) · mean + 2 % of the worker's share of what was learned + one row.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    work
        ``merge``: partial results of a key can be merged. ``atomic``: a key's rows must stay
        together; then keys are never split, and nothing can be promised against a stream that
        changes.
    excess
        By how much a worker may be ahead of the mean.
    worthwhile
        The share of the time that a plan has to save, against hashing, to be followed.
    seed
        Picks the hash functions.

    Examples
    --------
    Even keys are hashed, skewed ones are not:

    >>> even, skewed = np.arange(50_000), np.repeat([1, 2, 3], [8000, 1000, 1000])
    >>> Auto(4).learn(even).build().why  # doctest: +ELLIPSIS
    'key: hashing is even enough, predicted imbalance ...'
    >>> grouping = Auto(4).learn(skewed).build()
    >>> grouping.why  # doctest: +ELLIPSIS
    'wrap: predicted imbalance 0.0 % in place of ... by hashing'
    >>> bool(np.bincount(grouping.route_many(skewed)).max() < 2700)
    True

    A key that nobody expected is not left to one worker:

    >>> bool(np.bincount(Auto(4).learn(even).build().route_many([7] * 8000)).max() < 2600)
    True

    References
    ----------
    [1] Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2018.
    """

    name: ClassVar[str] = "auto"
    chooses: ClassVar[bool] = True
    variants: ClassVar[Sequence[str]] = ()
    spark_requires: ClassVar[Mapping[str, Any]] = {"excess": _EXCESS}
    candidates_for: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "merge": ("wrap",),
        "atomic": ("distribution-aware", "wrap:max_replicas=1"),
    }
    """What it chooses from on Spark, for either kind of work."""

    def __init__(
        self,
        workers: int,
        *,
        work: str = "merge",
        excess: float = _EXCESS,
        worthwhile: float = WORTHWHILE,
        seed: int = 0,
    ) -> None:
        self.work = check_choice("Auto", "work", work, _WORKS)
        self.excess = check_real("Auto", "excess", excess, minimum=0)
        self.worthwhile = check_real("Auto", "worthwhile", worthwhile, minimum=0, below=1)
        self._plain = KeyGrouping(1, seed=0)  # until the number of workers is known to be good
        super().__init__(workers, max_replicas=1 if work == "atomic" else None, seed=seed)
        self._plain = KeyGrouping(self.workers, seed=seed)
        self._hashed_loads: LoadArray = np.zeros(self.workers)
        self._probe_seeds = derive_seeds(seed, _PROBES, purpose="spill")
        self._turn = np.zeros(1, np.int64)
        self._hashes, self._ever_hashed = True, False
        self._expected, self._n_sources = 0.0, 1
        self.why = "key: nothing was learned yet"

    @classmethod
    def spark_defaults(cls, workers: int) -> dict[str, Any]:  # noqa: ARG003 (it plans nothing)
        """Return nothing: on Spark it chooses a scheme, which has defaults of its own."""
        return {}

    def build(self) -> Self:
        """Choose, from all that was learned, then let what was learned decay."""
        super().build()
        self._hashed_loads *= self.decay
        return self

    def adopt(self, planner: Self) -> None:
        """Go on as ``planner`` has chosen."""
        super().adopt(planner)
        self._hashes, self.why = planner._hashes, planner.why
        self._expected = planner._expected

    def for_source(self, source: int, n_sources: int) -> Self:
        """Return an object of its own that follows the same plan and has sent nothing yet."""
        own = super().for_source(source, n_sources)
        own._hashed_loads, own._turn = self._hashed_loads.copy(), self._turn.copy()
        own._n_sources = n_sources
        return own

    def _learn(self, ids: Ids, weights: Weights) -> None:
        super()._learn(ids, weights)
        loads = weights if weights.size else np.ones(ids.size)
        self._hashed_loads += sums_of(loads, self._plain.route_many(ids), self.workers)

    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        plan = super()._make_plan(slot_loads, summary)
        mean = max(float(self._hashed_loads.mean()), 1e-300)
        hashing = float(self._hashed_loads.max()) / mean - 1.0
        # The fullest of many workers exceeds the mean by this in any sample, however even.
        chance = np.sqrt(2.0 * np.log(self.workers) * self._sum_of_squares / self.workers)
        verdict = is_worth_planning(
            Wrap.name,
            planned=plan.predicted_imbalance,
            hashing=100.0 * hashing,
            noise=100.0 * float(chance) / mean,
            worthwhile=self.worthwhile,
        )
        self._hashes, self.why = not verdict.follow_plan, verdict.why
        self._expected = summary.total
        return plan

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        self._ever_hashed |= self._hashes
        if not self.splits_keys:
            route = self._plain._route if self._hashes else super()._route
            route(ids, weights, out)
            return
        loads = self._loads.for_weights(weights)
        if self._hashes:
            self._plain._route(ids, weights, out)
        else:
            self._has_routed = self._has_routed or ids.size > 0
        room = _ROOM * self._expected / (self.workers * self._n_sources)
        limits = (1.0 + self.excess, room)
        _route_bounded(
            ids, weights, self._index, self._hashes, self._n_routed,
            loads, limits, self._probe_seeds, self._turn, out,
        )  # fmt: skip
        self._n_routed += ids.size

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        if self.splits_keys:  # a row may go wherever there is room
            return tuple(range(self.workers))
        planned = (
            set() if self._hashes and self._history is None else set(super()._candidates(key_id))
        )
        hashed = self._plain._candidates(key_id) if self._ever_hashed or self._hashes else ()
        return tuple(sorted(planned.union(hashed)))


@compiled
def _route_bounded(
    ids: Ids,
    weights: Weights,
    index: PlanIndex,
    hashed: bool,
    first_row: int,
    loads: NDArray[Any],
    limits: tuple[float, float],
    seeds: Ids,
    turn: NDArray[np.int64],
    out: Workers,
) -> None:
    """Send rows where ``out`` (hashed) or the plan says, unless that worker is too far ahead."""
    size = loads.size
    growth, room = limits[0] / size, limits[1]
    one = loads.dtype.type(1)
    total = float(loads.sum())
    for i in range(ids.size):
        weight = weights[i] if weights.size else one
        total += weight
        if hashed:
            loads[out[i]] += weight
        else:
            row = slice(i, i + 1)
            route_planned(
                ids[row], weights[row] if weights.size else weights, index, first_row + i,
                loads, _NOTHING, out[row],
            )  # fmt: skip
        worker = np.int64(out[i])
        limit = growth * total + room
        if loads[worker] - weight >= limit:
            loads[worker] -= weight
            worker = _with_room(ids[i], loads, limit, seeds, turn)
            loads[worker] += weight
            out[i] = worker


@compiled
def _with_room(
    key_id: np.uint64, loads: NDArray[Any], limit: float, seeds: Ids, turn: NDArray[np.int64]
) -> np.int64:
    """Return one of the key's other workers that has room, or any: one is below the mean."""
    size = np.uint64(loads.size)
    for seed in seeds:
        worker = to_range(mix(key_id, seed), size)
        if loads[worker] < limit:
            return worker
    for _ in range(loads.size):
        turn[0] = (turn[0] + 1) % loads.size
        if loads[turn[0]] < limit:
            return np.int64(turn[0])
    return np.int64(np.argmin(loads))
