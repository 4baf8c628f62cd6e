"""Schemes that decide row by row: their compiled loop, over the identity column alone."""

from pyspark.sql import Column

from unskew.groupings.base import Grouping, Workers
from unskew.hashing import Ids
from unskew.spark.key_costs import KeyCosts
from unskew.spark.routing_step import Router, routed_column


def online_worker(identity: Column, grouping: Grouping, costs: KeyCosts | None = None) -> Column:
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
