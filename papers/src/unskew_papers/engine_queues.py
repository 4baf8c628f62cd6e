"""Where a job on Spark would put its rows, found without running it: what queues are fed with."""

import numpy as np
import pyarrow as pa

from unskew.groupings.base import Grouping, LearnedGrouping, Workers
from unskew.groupings.key import KeyGrouping
from unskew.groupings.plan import HASHED_MEMBER, slots_of
from unskew.hashing import Ids
from unskew.simulator.sources import Sources
from unskew.streams.base import Batch
from unskew_papers.engine import SOURCES, local_spark


def placed_in_queues(keys: Ids, workers: int, scheme: str, *, seed: int) -> Workers:
    """Return the worker of every row; a scheme that learns has seen all of them before.

    Parameters
    ----------
    keys
        The key of every row.
    workers, scheme, seed
        As for `engine.count_keys_on_spark`. Keys have the identities that Spark gives them, so
        that the same ones fall on the same workers; all else is the simulator's.
    """
    from unskew.spark.schemes import grouping_for

    return _routed(identities_on_spark(keys), grouping_for(scheme, workers, seed=seed))


def _routed(ids: Ids, grouping: Grouping) -> Workers:
    if isinstance(grouping, KeyGrouping):  # Spark hashes by an expression of its own
        return slots_of(ids, HASHED_MEMBER, grouping.workers).astype(np.int32)
    if isinstance(grouping, LearnedGrouping):
        grouping.learn(ids).build()
    return Sources(grouping, SOURCES).route(Batch(ids, None))


def identities_on_spark(keys: Ids) -> Ids:
    """Return the hash by which Spark knows the key of every row."""
    from unskew.spark.keys import identity

    names, places = np.unique(keys.astype(np.int64), return_inverse=True)
    frame = local_spark().createDataFrame(pa.table({"key": names}))
    found = frame.select("key", identity(frame, ["key"]).alias("id")).toArrow().sort_by("key")
    hashes: Ids = found["id"].to_numpy().astype(np.int64).view(np.uint64)
    return hashes[places]
