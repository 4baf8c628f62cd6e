"""Give identities back the names that people know."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from unskew.advisor.counts import NULL_ID, identities_and_nulls
from unskew.hashing import Ids
from unskew.streams.base import Stream


def names_of(stream: Stream, ids: Ids) -> dict[int, str]:
    """Return what the stream calls these keys, reading on until it has found all of them.

    Hot keys come soon, so that this reads little of most streams.

    >>> from unskew.streams import from_keys
    >>> stream = from_keys(["a", "b", "a"])
    >>> list(names_of(stream, identities_and_nulls(["b"])).values())
    ['b']
    """
    names = {int(NULL_ID): "null"}
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
            yield int(identities_and_nulls(keys[place : place + 1])[0]), str(name)
