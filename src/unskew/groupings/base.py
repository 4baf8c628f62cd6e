"""The contract of a grouping: the object that tells a row which worker it goes to."""

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._validation import check_int, check_weights
from unskew.errors import NotLearnedError
from unskew.hashing import Ids, Key, Keys, identities

if TYPE_CHECKING:
    from unskew.groupings.plan import Plan
    from unskew.groupings.planned import PlannedGrouping

Workers: TypeAlias = NDArray[np.int32]
Weights: TypeAlias = NDArray[np.float64]

SparkMode: TypeAlias = Literal["plan", "round-robin", "online", "costs"]
"""How a scheme runs on Spark: as a plan, which is one native expression; round-robin,
whatever the key; row by row in Python tasks; or by what rows cost, in `map_rows` alone."""

NO_WEIGHTS: Weights = np.empty(0, np.float64)
"""Stands for "every row weighs one" where a compiled loop wants an array."""


class Grouping(ABC):
    """Decide for every key of a stream which worker its row goes to.

    One object serves one source: it may remember what it has sent, but never sees what other
    sources send (unless `shares_state`). Equal objects that are given equal keys give equal
    answers in every process and on every machine, and an object pickles at any moment.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Picks the hash functions; equal seeds give equal answers in every process.

    Notes
    -----
    A subclass stores its parameters under their own names (so that `parameters` and ``repr`` find
    them) and writes `_route` and `_candidates`. Both are given *identities* (see `hashing`).

    What a scheme can do is declared below, on its class, and read everywhere: a class that cannot
    do what it declares is refused when it is registered (`registry.register`).
    """

    name: ClassVar[str]
    """What the registry and the command line call it."""
    paper: ClassVar[str]
    """Where it was published."""
    splits_keys: bool
    """Whether one key may reach several workers, so that a correct result needs a merge."""
    shares_state: bool = False
    """Whether all sources must use one object (a global view), instead of one object each."""
    needs_costs: ClassVar[bool] = False
    """Whether it makes sense only on a stream whose rows have costs."""
    memory_grows: ClassVar[bool] = False
    """Whether it remembers every key, so that its memory has no bound."""
    groups_keys: ClassVar[bool] = True
    """Whether it keeps the rows of a key together as far as it can, for work that goes by key."""
    drawback: ClassVar[str] = ""
    """Why it should not be recommended, in a few words; empty where it may be."""
    variants: ClassVar[Sequence[str]] = ()
    """Parameters, as in a spec, with which it is worth considering besides its defaults."""
    chooses: ClassVar[bool] = False
    """Whether it only chooses among other schemes."""
    spark: ClassVar[SparkMode | None] = None
    """How it runs on Spark; None if it does not."""
    spark_requires: ClassVar[Mapping[str, Any]] = {}
    """Parameters that can have but one value on Spark, where a task sees only identities, and
    only its own."""
    learns_on_streams: ClassVar[bool] = False
    """Whether it can go on learning plans while a stream of Spark runs."""
    remembers_on_streams: ClassVar[bool] = False
    """Whether its tasks on a stream of Spark can start with what the last ones found out."""
    takes_weights: ClassVar[bool] = False
    """Whether it can even out work instead of rows on Spark (``weight="measured"``)."""
    report_every: int = 0
    """After how many rows it hears what waits at the workers (`note_queues`), where there are
    queues; 0 is never."""
    why: str = ""
    """What a scheme that chooses has chosen, and why, in words; empty for all others."""

    @property
    def reads_keys(self) -> bool:
        """Whether it must be given the keys themselves, because identities do not do."""
        return False

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        self.workers = check_int(type(self).__name__, "workers", workers, minimum=1)
        self.seed = check_int(type(self).__name__, "seed", seed)

    def route(self, key: Key, *, weight: float = 1.0) -> int:
        """Return the worker, 0 … workers − 1, of the next row."""
        weights = None if weight == 1.0 else [weight]
        return int(self.route_many([key], weights=weights)[0])

    def route_many(self, keys: Keys, *, weights: ArrayLike | None = None) -> Workers:
        """Return the worker of every row, as `route` would one after the other.

        Parameters
        ----------
        keys
            Integers, text or bytes; an Arrow or NumPy array or any sequence. Left untouched.
        weights
            What each row costs (bytes, milliseconds …), finite and at least 0; 1 by default.
        """
        ids = identities(keys)
        out = np.empty(ids.size, np.int32)
        self._route(ids, self._check_weights(weights, ids.size), out)
        return out

    def candidates(self, key: Key) -> tuple[int, ...]:
        """Return every worker that may hold state of ``key``: a merge has to visit them all."""
        return self._candidates(identities([key])[0])

    def for_source(self, source: int, n_sources: int) -> Self:
        """Return an object of its own for one of ``n_sources`` sources, in the present state."""
        return self if self.shares_state else copy.deepcopy(self)

    def for_sources(self, n_sources: int) -> list[Self]:
        """Return the objects that ``n_sources`` sources use; this object stays as it is.

        Where sources share their state, it is one object, named ``n_sources`` times.
        """
        if self.shares_state:
            return [copy.deepcopy(self)] * n_sources
        return [self.for_source(source, n_sources) for source in range(n_sources)]

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's parameters with their present values.

        >>> from unskew.groupings.key import KeyGrouping
        >>> KeyGrouping(4).parameters()
        {'workers': 4, 'hashes': 'mixed', 'seed': 0}
        """
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    @classmethod
    def spark_defaults(cls, workers: int) -> dict[str, Any]:  # noqa: ARG003 (for subclasses)
        """Return the parameters whose default is another one on Spark."""
        return {}

    @classmethod
    def learns_on_spark(cls) -> bool:
        """Whether it has to learn a plan before it can place rows on Spark."""
        return cls.spark == "plan" and cls.planner is not Grouping.planner

    def planner(self) -> "PlannedGrouping | None":
        """Return what learns plans for this scheme on Spark; None if it has nothing to learn."""
        return None

    def fixed_plan(self) -> "Plan":
        """Return the plan that this scheme follows on Spark without having learned anything."""
        raise NotLearnedError(f"{self.name} has no plan: it decides row by row.")

    def note_queues(self, waiting: Weights, row_times: Weights) -> None:  # noqa: B027 (optional)
        """Take in how many rows wait at each worker, and how long a row takes there on average."""

    @abstractmethod
    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        """Write the worker of every identity to ``out``; empty ``weights`` mean all are 1."""

    @abstractmethod
    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        """Return every worker that may hold state of the key with this identity."""

    def _check_weights(self, weights: ArrayLike | None, size: int) -> Weights:
        if weights is None:
            return NO_WEIGHTS
        return check_weights(type(self).__name__, "weights", weights, size)

    def __repr__(self) -> str:
        values = self.parameters()
        first = values.pop("workers")
        shown = [str(first), *(f"{name}={value!r}" for name, value in values.items())]
        return f"{type(self).__name__}({', '.join(shown)})"


class LearnedGrouping(Grouping):
    """A grouping that first watches a part of the stream and then makes a plan of it.

    Until the first `build` it routes like plain hashing. `learn` may be called often and at any
    time; each `build` makes the plan for the rows that follow.
    """

    def learn(self, keys: Keys, *, weights: ArrayLike | None = None) -> Self:
        """Watch ``keys`` without routing them."""
        ids = identities(keys)
        self._learn(ids, self._check_weights(weights, ids.size))
        return self

    @property
    @abstractmethod
    def is_built(self) -> bool:
        """Whether a plan has been made or adopted."""

    @abstractmethod
    def build(self) -> Self:
        """Make the plan from all that was learned; from now on routing follows it."""

    @abstractmethod
    def adopt(self, planner: Self) -> None:
        """Go on with the plan of ``planner`` (a source takes what the driver has built)."""

    def note_loads(self, loads: Weights) -> None:
        """Take in what every worker has received since the start, before the next `build`."""

    @abstractmethod
    def _learn(self, ids: Ids, weights: Weights) -> None:
        """Watch identities; empty ``weights`` mean all are 1."""


class OfflineGrouping(Grouping):
    """A grouping that is given the true load of every key before the stream starts.

    No running system knows this; such schemes show how good a placement could be.
    """

    shares_state: bool = True
    drawback: ClassVar[str] = "knows all rows beforehand"
    knows_measured_part_only: ClassVar[bool] = False
    """Whether it is given the loads of the measured rows alone, not those of the whole stream."""

    def fit(self, keys: Keys, loads: ArrayLike) -> Self:
        """Make the placement from distinct ``keys`` and the load that each will bring."""
        ids = identities(keys)
        self._fit(ids, self._check_weights(loads, ids.size))
        return self

    @abstractmethod
    def _fit(self, ids: Ids, loads: Weights) -> None:
        """Make the placement from distinct identities and their loads."""


class LoadVector:
    """What one source has sent to each worker: whole numbers until the first weighted row.

    Integers make the compiled loops a third faster than floats; floats are exact for as many
    unweighted rows (2⁵³) as any stream has.
    """

    def __init__(self, workers: int) -> None:
        self.values: NDArray[Any] = np.zeros(workers, np.int64)

    def for_weights(self, weights: Weights) -> NDArray[Any]:
        """Return the loads in the type that rows of these weights need."""
        if weights.size and self.values.dtype != np.float64:
            self.values = self.values.astype(np.float64)
        return self.values
