"""Tables of keys that were counted elsewhere, checked."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unskew._validation import check_weights
from unskew.advisor.counts import NULL_ID, Counts, merged
from unskew.errors import InvalidParameterError
from unskew.hashing import Keys, identities

_OWNER = "KeyProfile"


def names_in(windows: Sequence[tuple[Keys, ArrayLike]]) -> dict[int, str]:
    """Return the text of every key that is text, by identity."""
    names: dict[int, str] = {}
    for keys, _ in windows:
        labels = keys.to_pylist() if hasattr(keys, "to_pylist") else list(keys)
        if labels and not isinstance(labels[0], int | np.integer):
            found = zip(identities(keys).tolist(), map(str, labels), strict=True)
            names |= dict(found)
    return names


def table_of(keys: Keys, counts: ArrayLike, costs: ArrayLike | None) -> Counts:
    """Return one table, checked and in order, without keys that have no rows."""
    ids = identities(keys)
    rows = check_weights(_OWNER, "counts", counts, ids.size)
    sums = np.empty(0) if costs is None else check_weights(_OWNER, "costs", costs, ids.size)
    order = np.argsort(ids, kind="stable")
    if np.any(ids[order][1:] == ids[order][:-1]):
        raise InvalidParameterError(_OWNER, "keys", "distinct in each window", "a key twice")
    order = order[rows[order] > 0]
    return Counts(ids[order], rows[order], sums[order] if sums.size else sums)


def with_nulls(table: Counts, rows: float) -> Counts:
    """Return the table with ``rows`` rows whose key is null."""
    costs = np.zeros(1) if table.costs.size else np.empty(0)
    return merged([table, Counts(np.array([NULL_ID]), np.array([rows]), costs)])
