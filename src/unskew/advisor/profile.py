"""The profile of a stream's keys: how many, how hot, how steady."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unskew._validation import check_int, check_real
from unskew.advisor.drift import Drift, measure_drift
from unskew.advisor.fitting import fit_zipf, unseen_keys, unseen_share
from unskew.advisor.key_counts import (
    NULL_ID,
    KeyCounts,
    checked_counts,
    merged_counts,
    names_in,
    with_nulls,
)
from unskew.errors import StreamError
from unskew.hashing import Ids, Keys

_OWNER = "KeyProfile"


class TopKey(NamedTuple):
    """A hot key, as people know it, and its part of the rows."""

    key: str | None
    """None is null; a key may also be the text "null"."""
    share: float
    rows: int

    @property
    def label(self) -> str:
        """The key as it is shown: null is told apart from the text.

        >>> [TopKey(key, 1.0, 1).label for key in ("ada", "null", None)]
        ['ada', '"null"', 'null']
        """
        if self.key is None:
            return "null"
        return '"null"' if self.key == "null" else self.key


@dataclass(frozen=True, eq=False)
class KeyProfile:
    """What is known of the keys of a stream, from all of its rows or from a sample.

    Parameters
    ----------
    rows
        Number of rows of the stream.
    windows
        How often each key came in each stretch of time, in the rows that were looked at. Nulls
        count as one key, with the identity `NULL_ID`.
    tail_keys, tail_rows
        Keys that are in no window although their rows were looked at, and these rows: the rest
        beside a table of the hottest keys.
    distinct
        Number of distinct keys of the whole stream, where something has counted it; estimated
        from the counts where it is None.
    names
        What people call the keys, by identity.
    opening
        Identities of the first rows, as they came: some schemes decide by them once and for all.
    drift_seen
        How much the hot keys change, where something has measured it; by default what the windows
        show.

    Notes
    -----
    Where only a part of the rows was looked at, shares are those of the part, and keys that it
    missed are estimated: `keys_exact` tells.

    Examples
    --------
    >>> profile = KeyProfile.from_counts(["hot", "a", "b"], [8, 1, 1])
    >>> profile.keys, profile.p1, profile.top(1)
    (3, 0.8, [TopKey(key='hot', share=0.8, rows=8)])
    """

    rows: int
    windows: tuple[KeyCounts, ...]
    tail_keys: float = 0.0
    tail_rows: float = 0.0
    distinct: float | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    opening: Ids = field(default_factory=lambda: np.empty(0, np.uint64))
    drift_seen: Drift | None = None

    @classmethod
    def from_counts(cls, keys: Keys, counts: ArrayLike, **options: Any) -> "KeyProfile":
        """Make a profile of one table: distinct keys and the rows of each.

        See `from_windows` for what else can be said.
        """
        return cls.from_windows([(keys, counts)], **options)

    @classmethod
    def from_windows(
        cls,
        windows: Sequence[tuple[Keys, ArrayLike]],
        *,
        rows: int | None = None,
        tail_keys: float = 0,
        tail_rows: float = 0,
        null_rows: float = 0,
        distinct: float | None = None,
        names: Mapping[int, str] | None = None,
        costs: Sequence[ArrayLike] | None = None,
    ) -> "KeyProfile":
        """Make a profile of tables that were counted elsewhere, one for each stretch of time.

        Parameters
        ----------
        windows
            Distinct keys, or their 64-bit hashes, and the rows of each.
        rows
            Rows of the whole stream, where the tables are of a sample; by default all that is
            counted.
        tail_keys, tail_rows
            Further keys that are in no table, and their rows, where only hot keys are.
        null_rows
            Rows whose key is null, which are in no table.
        distinct
            Distinct keys of the whole stream, null among them, where the tables are of a sample
            but the keys were counted (`approx_count_distinct`).
        names
            What people call the keys, by identity; by default what ``windows`` call them.
        costs
            Summed cost of the rows of each key, a table for each window.
        """
        tables = [
            checked_counts(keys, counts, None if costs is None else costs[number])
            for number, (keys, counts) in enumerate(windows)
        ]
        if check_real(_OWNER, "null_rows", null_rows, minimum=0):
            tables = [with_nulls(each, null_rows / len(tables)) for each in tables]
        tables = [each for each in tables if each.total > 0]
        counted = sum(each.total for each in tables) + check_real(
            _OWNER, "tail_rows", tail_rows, minimum=0
        )
        if counted <= 0:
            raise StreamError("the table of keys has no rows: there is nothing to profile.")
        whole = round(counted) if rows is None else check_int(_OWNER, "rows", rows, minimum=1)
        return cls(
            max(whole, round(counted)),
            tuple(tables),
            check_real(_OWNER, "tail_keys", tail_keys, minimum=0),
            float(tail_rows),
            None if distinct is None else check_real(_OWNER, "distinct", distinct, minimum=0),
            names_in(windows) if names is None else names,
        )

    @cached_property
    def counts(self) -> KeyCounts:
        """How often each key came, over all windows."""
        return merged_counts(self.windows)

    @property
    def counted(self) -> int:
        """Number of rows that were looked at."""
        return round(self.counts.total + self.tail_rows)

    @property
    def sampled_share(self) -> float:
        """Which part of the rows was looked at."""
        return min(1.0, self.counted / self.rows)

    @cached_property
    def unseen_keys(self) -> float:
        """Estimated number of keys of which no row was looked at."""
        if self.distinct is not None:
            return max(0.0, self.distinct - self.counts.ids.size - self.tail_keys)
        return unseen_keys(self.counts.rows, self.sampled_share)

    @property
    def unseen_share(self) -> float:
        """Estimated share of such keys in the rows that were not looked at."""
        return unseen_share(self.counts.rows) if self.unseen_keys >= 1 else 0.0

    @property
    def keys(self) -> int:
        """Number of distinct keys, null among them."""
        return round(self.counts.ids.size + self.tail_keys + self.unseen_keys)

    @property
    def keys_exact(self) -> bool:
        """Whether `keys` was counted, not estimated."""
        return self.sampled_share == 1.0 and self.tail_keys == 0

    @property
    def p1(self) -> float:
        """Share of the hottest key."""
        return float(self.counts.rows.max()) / self.counted

    @property
    def null_share(self) -> float:
        """Share of the rows whose key is null."""
        return float(self.counts.rows[self.counts.ids == NULL_ID].sum()) / self.counted

    @cached_property
    def zipf_exponent(self) -> float:
        """The exponent of the Zipf law that is nearest."""
        return fit_zipf(self.counts.rows, self.keys)

    @cached_property
    def drift(self) -> Drift:
        """How much the hot keys change."""
        return measure_drift(self.windows) if self.drift_seen is None else self.drift_seen

    @property
    def mean_cost(self) -> float | None:
        """Mean cost of a row; None where rows have none."""
        costs = self.counts.costs
        return float(costs.sum()) / self.counts.total if costs.size else None

    @property
    def cost_spread(self) -> float:
        """Standard deviation of a row's cost over its mean, as far as keys explain it."""
        if not self.mean_cost:
            return 0.0
        table = self.counts
        means = table.costs / table.rows
        variance = float(table.rows @ (means - self.mean_cost) ** 2) / table.total
        return float(np.sqrt(variance)) / self.mean_cost

    def top(self, count: int = 10) -> list[TopKey]:
        """Return the hottest keys, hottest first; those without a name by their identity.

        >>> KeyProfile.from_counts(["null"], [3], null_rows=5).top()
        [TopKey(key=None, share=0.625, rows=5), TopKey(key='null', share=0.375, rows=3)]
        """
        table = self.counts
        order = np.lexsort((table.ids, -table.rows))[:count]
        return [
            TopKey(
                self._name(table.ids[place]),
                float(table.rows[place]) / self.counted,
                round(float(table.rows[place]) / self.sampled_share),
            )
            for place in order
        ]

    def _name(self, key_id: np.uint64) -> str | None:
        if key_id == NULL_ID:
            return None
        return self.names.get(int(key_id), str(int(key_id.astype(np.int64))))

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text under stable names."""
        return {
            "rows": self.rows,
            "counted_rows": self.counted,
            "keys": self.keys,
            "keys_exact": self.keys_exact,
            "p1": self.p1,
            "zipf_exponent": self.zipf_exponent,
            "null_share": self.null_share,
            "drift": {
                "mean": self.drift.mean,
                "largest": self.drift.largest,
                "overall": self.drift.overall,
                "windows": self.drift.windows,
            },
            "mean_cost": self.mean_cost,
            "top_keys": [each._asdict() for each in self.top()],
        }
