"""Costs for the rows of a stream: how long a row takes depends on its key."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.streams._sampler import shuffled_order
from unskew.streams.base import Batch, DerivedStream, Stream


def with_costs(
    stream: Stream,
    values: int = 64,
    minimum: float = 1.0,
    maximum: float = 64.0,
    *,
    seed: int | None = None,
) -> "CostsStream":
    """Give every key an execution time, assigned at random and evenly [1].

    There are ``values`` times, evenly spaced from ``minimum`` to ``maximum`` milliseconds. Each
    goes to the same number of keys (to within one), and all rows of a key cost the same.

    Parameters
    ----------
    stream
        A stream whose keys are known beforehand, such as `zipf`'s.
    values
        Number of unlike execution times; one value is all ``minimum``.
    minimum, maximum
        Shortest and longest execution time in milliseconds.
    seed
        Assigns the times to the keys; the stream's own by default.

    Examples
    --------
    >>> from unskew.streams import uniform
    >>> stream = with_costs(uniform(keys=8, rows=1000), values=4, minimum=1, maximum=4)
    >>> keys, costs = next(stream.batches())
    >>> np.unique(costs).tolist()
    [1.0, 2.0, 3.0, 4.0]
    >>> len(set(zip(keys.tolist(), costs.tolist())))
    8

    References
    ----------
    [1] Rivetti et al., "Online Scheduling for Shuffle Grouping in Distributed Stream Processing
        Systems", 2016.
    """
    if stream.has_costs or stream.n_keys is None:
        expected = "a stream of known keys without costs"
        hint = "the costs of a file are in a column of their own: file:PATH?key=COLUMN&cost=COLUMN"
        raise InvalidParameterError("with_costs", "stream", expected, stream.spec, hint=hint)
    values = check_int("with_costs", "values", values, minimum=1)
    minimum = check_real("with_costs", "minimum", minimum, minimum=0.0)
    maximum = check_real("with_costs", "maximum", maximum, minimum=minimum)
    cost_seed = stream.seed if seed is None else check_int("with_costs", "seed", seed)
    return CostsStream(stream, values, minimum, maximum, cost_seed, stream.rows, stream.seed)


@dataclass(frozen=True, eq=False)
class CostsStream(DerivedStream):
    """What `with_costs` returns."""

    name: ClassVar[str] = "costs"
    stream: Stream
    values: int
    minimum: float
    maximum: float
    cost_seed: int
    rows: int | None
    seed: int

    @property
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""
        costs = f"costs={self.values},cost_min={self.minimum},cost_max={self.maximum}"
        seed = "" if self.cost_seed == self.seed else f",cost_seed={self.cost_seed}"
        return f"{self.stream.spec},{costs}{seed}"

    @property
    def has_costs(self) -> bool:
        """Whether every row has a cost."""
        return True

    @cached_property
    def _cost_of_key(self) -> NDArray[np.float64]:
        order = shuffled_order(self.n_keys or 0, self.cost_seed, purpose="costs")
        times = np.linspace(self.minimum, self.maximum, self.values)
        costs = np.empty(order.size)
        costs[order] = times[np.arange(order.size) * self.values // order.size]
        return costs

    def _batches(self, size: int) -> Iterator[Batch]:
        for keys, _ in self.stream.batches(size):
            yield Batch(keys, self._cost_of_key[keys])
