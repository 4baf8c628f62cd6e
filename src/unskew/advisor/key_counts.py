"""Count keys: rows by key, names of keys, and distinct keys in little memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from unskew._compiled import compiled
from unskew._validation import check_weights
from unskew.errors import InvalidParameterError
from unskew.hashing import Ids, Keys, distinct, identities, mix
from unskew.scheduling import sums_of
from unskew.streams.base import Stream

Numbers = NDArray[np.float64]

NULL_ID = np.uint64(0xB1A2_57F0_9D3C_E847)
"""Stands for null among identities; no key but by a chance of 2⁻⁶⁴ has the same."""
_OWNER = "KeyProfile"
_SIZE = 1 << 14
_SEED = np.uint64(0x5851F42D4C957F2D)


class KeyCounts(NamedTuple):
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


def count_by_key(ids: Ids, costs: Numbers | None = None) -> KeyCounts:
    """Count rows by identity.

    >>> count_by_key(np.array([9, 4, 9], np.uint64)).rows.tolist()
    [1.0, 2.0]
    """
    distinct, places, rows = np.unique(ids, return_inverse=True, return_counts=True)
    sums = np.empty(0) if costs is None else sums_of(costs, places, distinct.size)
    return KeyCounts(distinct, rows.astype(np.float64), sums)


def merged_counts(parts: Iterable[KeyCounts]) -> KeyCounts:
    """Return the sum of several tables.

    >>> one, other = (count_by_key(np.array(ids, np.uint64)) for ids in ([4, 9], [9, 9]))
    >>> [values.tolist() for values in merged_counts([one, other])]
    [[4, 9], [1.0, 3.0], []]
    """
    tables = list(parts)
    if len(tables) == 1:
        return tables[0]
    ids, places = np.unique(np.concatenate([each.ids for each in tables]), return_inverse=True)
    rows = sums_of(np.concatenate([each.rows for each in tables]), places, ids.size)
    costs = np.concatenate([each.costs for each in tables])
    return KeyCounts(ids, rows, sums_of(costs, places, ids.size) if costs.size else costs)


def names_in(windows: Sequence[tuple[Keys, ArrayLike]]) -> dict[int, str]:
    """Return the text of every key that is text, by identity."""
    names: dict[int, str] = {}
    for keys, _ in windows:
        labels = keys.to_pylist() if hasattr(keys, "to_pylist") else list(keys)
        if labels and not isinstance(labels[0], int | np.integer):
            found = zip(identities(keys).tolist(), map(str, labels), strict=True)
            names |= dict(found)
    return names


def checked_counts(keys: Keys, counts: ArrayLike, costs: ArrayLike | None) -> KeyCounts:
    """Return one table, checked and in order, without keys that have no rows."""
    ids = identities(keys)
    rows = check_weights(_OWNER, "counts", counts, ids.size)
    sums = np.empty(0) if costs is None else check_weights(_OWNER, "costs", costs, ids.size)
    order = np.argsort(ids, kind="stable")
    if np.any(ids[order][1:] == ids[order][:-1]):
        raise InvalidParameterError(_OWNER, "keys", "distinct in each window", "a key twice")
    order = order[rows[order] > 0]
    return KeyCounts(ids[order], rows[order], sums[order] if sums.size else sums)


def with_nulls(table: KeyCounts, rows: float) -> KeyCounts:
    """Return the table with ``rows`` rows whose key is null."""
    costs = np.zeros(1) if table.costs.size else np.empty(0)
    return merged_counts([table, KeyCounts(np.array([NULL_ID]), np.array([rows]), costs)])


def names_of(stream: Stream, ids: Ids) -> dict[int, str]:
    """Return what the stream calls these keys, reading on until it has found all of them.

    Hot keys come soon, so that this reads little of most streams.

    >>> from unskew.streams import from_keys
    >>> stream = from_keys(["a", "b", "a"])
    >>> list(names_of(stream, identities_and_nulls(["b"])).values())
    ['b']
    """
    names: dict[int, str] = {}
    wanted = set(ids.tolist()) - {int(NULL_ID)}
    for key, name in _spelled(stream, np.array(sorted(wanted), np.uint64)):
        names[key] = name
        wanted.discard(key)
        if not wanted:
            break
    return {key: names[key] for key in ids.tolist() if key in names}


def _spelled(stream: Stream, wanted: Ids) -> Iterator[tuple[int, str]]:
    if not wanted.size:
        return
    for keys, _ in stream.batches():
        found, places = np.unique(identities_and_nulls(keys), return_index=True)
        for place in places[np.isin(found, wanted)].tolist():
            key = keys[place]
            name = key.as_py() if isinstance(key, pa.Scalar) else key
            yield int(identities_and_nulls(keys[place : place + 1])[0]), _shown(name)


def _shown(key: object) -> str:
    """Write a key; of several columns each, a null without quotes and the text null with them.

    >>> _shown({"day": None, "user": "null", "item": "a"})
    'null, "null", a'
    """
    if not isinstance(key, dict):
        return str(key)
    return ", ".join(
        "null" if each is None else '"null"' if each == "null" else str(each)
        for each in key.values()
    )


class DistinctKeys:
    """Estimate the number of distinct identities, within about 1 %; exact for few [1].

    If the k-th smallest of evenly spread hashes is at a share u of their range, there are about
    (k − 1)/u of them, with a relative standard deviation of 1/√k.

    Examples
    --------
    >>> sketch = DistinctKeys()
    >>> sketch.add(np.array([7, 8, 7], np.uint64))
    >>> sketch.estimate()
    2.0
    >>> sketch.add(np.arange(1_000_000, dtype=np.uint64))
    >>> abs(sketch.estimate() - 1_000_000) < 30_000
    True

    References
    ----------
    [1] Bar-Yossef et al., "Counting Distinct Elements in a Data Stream", 2002.
    """

    def __init__(self) -> None:
        self._smallest = np.empty(0, np.uint64)

    def add(self, ids: Ids) -> None:
        """Take in identities, which may come often."""
        hashes = _mixed(ids, _SEED)
        if self._smallest.size == _SIZE:
            hashes = hashes[hashes < self._smallest[-1]]
        if hashes.size:
            self._smallest = distinct(np.concatenate([self._smallest, hashes]))[:_SIZE]

    def estimate(self) -> float:
        """Return how many distinct identities there were, about."""
        if self._smallest.size < _SIZE:
            return float(self._smallest.size)
        return (_SIZE - 1) / (float(self._smallest[-1]) / 2.0**64)


@compiled
def _mixed(ids: Ids, seed: np.uint64) -> Ids:
    out = np.empty(ids.size, np.uint64)
    for i in range(ids.size):
        out[i] = mix(ids[i], seed)
    return out
