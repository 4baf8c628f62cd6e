"""How often each key came: the table that a profile is made of."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.hashing import Ids, Keys, identities
from unskew.scheduling import sums_of

Numbers = NDArray[np.float64]

NULL_ID = np.uint64(0xB1A2_57F0_9D3C_E847)
"""Stands for null among identities; no key but by a chance of 2⁻⁶⁴ has the same."""


class Counts(NamedTuple):
    """Distinct identities, in rising order, and what was counted of each."""

    ids: Ids
    rows: Numbers
    costs: Numbers
    """Summed cost of the rows; empty where rows have none."""

    @property
    def total(self) -> float:
        """Number of rows."""
        return float(self.rows.sum())


def identities_and_nulls(keys: Keys) -> Ids:
    """Return the identity of every key; nulls share one, as they do when Spark groups.

    >>> identities_and_nulls(pa.array([7, None])).tolist() == [7, int(NULL_ID)]
    True
    """
    if not isinstance(keys, pa.Array) or not keys.null_count:
        return identities(keys)
    ids = np.full(len(keys), NULL_ID)
    present = keys.is_valid().to_numpy(zero_copy_only=False)
    if present.any():
        ids[present] = identities(keys.drop_null())
    return ids


def count(ids: Ids, costs: Numbers | None = None) -> Counts:
    """Count rows by identity.

    >>> count(np.array([9, 4, 9], np.uint64)).rows.tolist()
    [1.0, 2.0]
    """
    distinct, places, rows = np.unique(ids, return_inverse=True, return_counts=True)
    sums = np.empty(0) if costs is None else sums_of(costs, places, distinct.size)
    return Counts(distinct, rows.astype(np.float64), sums)


def merged(parts: Iterable[Counts]) -> Counts:
    """Return the sum of several tables.

    >>> one, other = (count(np.array(ids, np.uint64)) for ids in ([4, 9], [9, 9]))
    >>> [values.tolist() for values in merged([one, other])]
    [[4, 9], [1.0, 3.0], []]
    """
    tables = list(parts)
    if len(tables) == 1:
        return tables[0]
    ids, places = np.unique(np.concatenate([each.ids for each in tables]), return_inverse=True)
    rows = sums_of(np.concatenate([each.rows for each in tables]), places, ids.size)
    costs = np.concatenate([each.costs for each in tables])
    return Counts(ids, rows, sums_of(costs, places, ids.size) if costs.size else costs)
