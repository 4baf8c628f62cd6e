"""Schemes that decide row by row: their compiled loop, over the identity column alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf

from unskew.groupings.base import Grouping


def online_worker(identity: Column, grouping: Grouping) -> Column:
    """Return the worker (int) of each row, chosen by a copy of ``grouping`` in each task.

    A task is a source: it sees its own rows alone. Eight bytes a row go to Python and four come
    back; the other columns stay in the JVM. Executors need unskew.

    Parameters
    ----------
    identity
        What `keys.identity` returns.
    grouping
        Any grouping that routes identities; it travels with the query in its present state.
    """

    def route(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        own = grouping.for_source(0, 1)
        for batch in batches:
            # A copy: Arrow's own memory is read-only, and loops are compiled anew for such arrays.
            yield pa.array(own.route_many(batch.to_numpy(zero_copy_only=False).astype(np.int64)))

    # Rows that come in another order go elsewhere: not deterministic, and evaluated once a row.
    make: Any = arrow_udf  # its overloads want the kind by name, and then it warns: hints suffice
    worker: Column = make(route, "int").asNondeterministic()(identity)
    return worker
