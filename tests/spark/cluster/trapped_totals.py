"""An aggregator in whose work an executor is killed."""

import pyarrow as pa
import pyarrow.compute as pc
from tests.spark.cluster.trap import Trap

from unskew.spark.aggregators import Aggregator, State


class TrappedTotals(Aggregator):
    """Count and sum of ids: what a lost or doubled row changes. Its update has a trap in it."""

    state_schema = pa.schema([("n", pa.int64()), ("total", pa.int64())])

    def __init__(self, trap: Trap) -> None:
        self.trap = trap

    def init(self) -> State:
        """Return the state of no rows."""
        return (0, 0)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """Return the state with rows added; here the executor is killed."""
        self.trap.enter()
        self.trap.wait()
        return (state[0] + batch.num_rows, state[1] + pc.sum(batch["id"]).as_py())

    def merge(self, a: State, b: State) -> State:
        """Return the state of both."""
        return (a[0] + b[0], a[1] + b[1])

    def finish(self, state: State) -> State:
        """Return the row."""
        return state
