"""How rows get to the queues: routed ahead, or with the workers' feedback."""

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.base import NO_WEIGHTS, Grouping
from unskew.groupings.full_knowledge import FullKnowledge
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.hashing import identities
from unskew.simulator._closed_loop import ClosedLoop
from unskew.simulator._queues import Arrivals, Queues, serve_many
from unskew.simulator._speeds import Phase
from unskew.simulator.loads import Run
from unskew.streams.base import Batch


class OpenRouter:
    """Route batch by batch, then serve: for schemes that hear nothing from the workers."""

    def __init__(self, run: Run, queues: Queues) -> None:
        self._run = run
        self._queues = queues

    def change_speeds(self, phase: Phase) -> None:
        """Let the workers have other speeds from now on, and tell the oracle."""
        self._queues.factors[:] = phase.factors
        for grouping in self._run.groupings:
            if isinstance(grouping, FullKnowledge):
                grouping.change_speeds(phase.factors)

    def serve(self, batch: Batch, arrivals: Arrivals) -> NDArray[np.float64]:
        """Serve a batch and return its completion times, none where it was learned from."""
        workers = self._run.take(batch)
        if workers is None:
            return np.empty(0)
        out = np.empty(workers.size)
        costs = NO_WEIGHTS if batch.costs is None else batch.costs
        serve_many(self._queues, workers, arrivals, costs, out)
        return out

    def finish(self) -> int:
        """Return how many rows the scheme itself has sent: none."""
        return 0


class ClosedRouter:
    """Proactive shuffle with its feedback."""

    def __init__(self, grouping: ProactiveShuffle, run: Run, queues: Queues, learned: int) -> None:
        self._run = run
        self._queues = queues
        self._loop = ClosedLoop(grouping, queues)
        self._still_to_skip = learned

    def change_speeds(self, phase: Phase) -> None:
        """Let the workers have other speeds from now on; the scheme has to find out."""
        self._queues.factors[:] = phase.factors

    def serve(self, batch: Batch, arrivals: Arrivals) -> NDArray[np.float64]:
        """Serve a batch and return its completion times, none for rows that others learn from."""
        if self._still_to_skip > 0:
            self._still_to_skip -= len(batch.keys)
            return np.empty(0)
        ids = identities(batch.keys)
        out, workers = np.empty(ids.size), np.empty(ids.size, np.int32)
        costs = NO_WEIGHTS if batch.costs is None else batch.costs
        self._loop.run(ids, costs, arrivals, out, workers)
        self._run.observe(batch, workers)
        return out

    def finish(self) -> int:
        """Return how many rows workers and scheduler have sent each other."""
        self._loop.finish()
        return self._loop.control_messages


def make_router(
    grouping: Grouping, run: Run, queues: Queues, learned: int
) -> OpenRouter | ClosedRouter:
    """Return what brings the rows of ``grouping`` to the queues."""
    if isinstance(grouping, ProactiveShuffle):
        return ClosedRouter(grouping, run, queues, learned)
    return OpenRouter(run, queues)
