"""Route rows in Python workers, over the identity column alone."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column

from unskew.groupings.base import Grouping, Workers
from unskew.hashing import Ids, identities
from unskew.spark.plans.live_file import Sent
from unskew.spark.steps.running import shipped
from unskew.spark.versions import column_step
from unskew.spark.worker.row_costs import RowWeights

Router: TypeAlias = Callable[[Ids], NDArray[Any]]
"""Says where each row of a batch goes; the batches of a task come one after the other."""


def routed_column(
    identity: Column, start: Callable[[], Router], kind: str = "int", *, sent: Sent | None = None
) -> Column:
    """Return what a router of each task's own makes of each row.

    Eight bytes per row go to Python and a number comes back; the other columns stay in the JVM.
    Executors need unskew.

    Parameters
    ----------
    identity
        A column of what `columns.identity` returns. It has to be a column of its own: where Python
        is given an expression over columns of Parquet files, Spark 4.2 and later turn all other
        columns of a row into Arrow form and back again, which costs as much as the shuffle.
    start
        Called once in each task; it travels with the query.
    kind
        Spark's type of what routers return.
    sent
        Lines that travel with the rows, for ``start`` to read.
    """
    lines = None if sent is None else sent.lines

    def route(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        router: Router | None = None
        for batch, _, *texts in batches:
            if router is None:
                if lines is not None:
                    lines.take(texts[0][0].as_py() if len(batch) else None)
                router = start()
            yield pa.array(router(identities(batch)))

    # Rows that come in another order go elsewhere: not deterministic, and evaluated once per row.
    udf = column_step(shipped(route), kind).asNondeterministic()
    # Given twice, and sent once: the optimiser would put what is used but once back in its place.
    column: Column = udf(identity, identity, *([] if sent is None else [sent.column(identity)]))
    return column


def online_worker(identity: Column, grouping: Grouping, costs: RowWeights | None = None) -> Column:
    """Return the worker (int) of each row, chosen by a copy of ``grouping`` in each task.

    A task is a source: it sees its own rows alone.

    Parameters
    ----------
    identity
        A column of its own, as for `routed_column`.
    grouping
        Any grouping that routes identities; it travels with the query in its present state.
    costs
        What rows cost, if the scheme is to even out work; without it, rows.
    """

    def start() -> Router:
        own = grouping.for_source(0, 1)

        def choose(ids: Ids) -> Workers:
            return own.route_many(ids, weights=None if costs is None else costs.weights(ids))

        return choose

    return routed_column(identity, start)
