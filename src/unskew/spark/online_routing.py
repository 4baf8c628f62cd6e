"""Schemes that decide row by row: their compiled loop, over the identity column alone."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf

from unskew.groupings.base import Grouping
from unskew.hashing import identities
from unskew.spark._shipping import shipped
from unskew.spark.key_costs import KeyCosts


def online_worker(identity: Column, grouping: Grouping, costs: KeyCosts | None = None) -> Column:
    """Return the worker (int) of each row, chosen by a copy of ``grouping`` in each task.

    A task is a source: it sees its own rows alone. Eight bytes a row go to Python and four come
    back; the other columns stay in the JVM. Executors need unskew.

    Parameters
    ----------
    identity
        A column of what `keys.identity` returns. It has to be a column of its own: where Python
        is given an expression over columns of Parquet files, Spark 4.2 and later turn all other
        columns of a row into Arrow form and back again, which costs as much as the shuffle.
    grouping
        Any grouping that routes identities; it travels with the query in its present state.
    costs
        What rows cost, if the scheme is to even out work; without it, rows.
    """

    def route(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        own = grouping.for_source(0, 1)
        for batch, _ in batches:
            ids = identities(batch)
            weights = None if costs is None else costs.weights(ids)
            yield pa.array(own.route_many(ids, weights=weights))

    # Rows that come in another order go elsewhere: not deterministic, and evaluated once a row.
    make: Any = arrow_udf  # its overloads want the kind by name, and then it warns: hints suffice
    udf = make(shipped(route), "int").asNondeterministic()
    # Given twice, and sent once: the optimiser would put what is used but once back in its place.
    worker: Column = udf(identity, identity)
    return worker
