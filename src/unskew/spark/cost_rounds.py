"""Learn what rows cost before a batch is mapped: two rounds over a small part of it."""

from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew.groupings.proactive_shuffle import ProactiveShuffle
from unskew.spark._cost_machine import ENOUGH_ROWS
from unskew.spark._timed_step import (
    WORK_DONE,
    TimedStep,
    measured_results_of,
    measures_of,
    results_of,
)
from unskew.spark.arrow_steps import map_in_arrow
from unskew.spark.class_dealing import deal_by_cost
from unskew.spark.cost_control import CostControl, RoundReport
from unskew.spark.cost_epochs import cost_fields, work_in
from unskew.spark.cost_messages import GivenControl, Matrices, matrices_of, work_done_from
from unskew.spark.loads import Loads
from unskew.spark.work_stats import map_with_stats

_LARGEST_PART = 20
_ROUNDS = 2


class LearnedBatch(NamedTuple):
    """A batch whose costs are known, each row where the schedule says."""

    placed: DataFrame
    control: CostControl
    matrices: Matrices
    rounds: list[RoundReport]
    """What learning took."""

    def mapped(self, step: TimedStep, schema: StructType, loads: Loads | None) -> DataFrame:
        """Return what ``step`` makes of it; if ``loads`` is to know, the work is timed."""
        names = self.placed.columns[:-1]
        if loads is None:
            return map_in_arrow(self.placed, results_of(step, names), schema)
        source = GivenControl(self.control.control())
        work = measured_results_of(step, names, self.matrices, source)
        report = loads.watch(self.control.workers, None).of_work(details=self._details)
        return map_with_stats(self.placed, work, schema, report)

    def _details(self, stats: str) -> dict[str, Any]:
        job = self.control.report(work_in(stats))
        every = [*self.rounds, job]
        total = job._replace(
            messages=sum(one.messages for one in every),
            message_bytes=sum(one.message_bytes for one in every),
        )
        return cost_fields(total, stats)


def learned_batch(
    keyed: DataFrame, step: TimedStep, scheme: ProactiveShuffle, learn_rows: int | None, seed: int
) -> LearnedBatch | None:
    """Learn from some rows of ``keyed`` and place all of them; None if there are too few.

    Parameters
    ----------
    keyed
        The rows, with the identity of what their cost depends on as last column.
    step
        What works on them.
    scheme
        Whose workers and matrices these are.
    learn_rows, seed
        See `part_to_learn`; the seed picks them.
    """
    workers, matrices = scheme.workers, matrices_of(scheme)
    part = part_to_learn(keyed.count(), workers, learn_rows)
    if not part:
        return None
    control = CostControl(workers, matrices)
    rounds = learn_costs(keyed, step, control, matrices, part, seed)
    placed = deal_by_cost(keyed, matrices, control.control().schedule)
    return LearnedBatch(placed, control, matrices, rounds)


def part_to_learn(total: int, workers: int, wanted: int | None) -> float:
    """Return the share of ``total`` rows to learn from, 0 if that would be too few.

    >>> [part_to_learn(total, 8, None) for total in (1_024_000, 10_000, 100)]
    [0.001, 0.05, 0.0]
    """
    size = min(ENOUGH_ROWS * workers if wanted is None else wanted, total // _LARGEST_PART)
    return size / total if size >= _ROUNDS * workers else 0.0


def learn_costs(
    df: DataFrame, step: TimedStep, control: CostControl, matrices: Matrices, part: float, seed: int
) -> list[RoundReport]:
    """Let ``control`` learn from a ``part`` of the rows of ``df``, whose results are thrown away.

    It takes two rounds of half the size: rows of the first are dealt in turn, those of the second
    by what the first has shown. Only what shows twice is taken for the speed of a worker.

    Parameters
    ----------
    df
        The rows, with the identity of what their cost depends on as last column.
    step
        What works on them.
    control, matrices
        Who learns, and the matrices that it has.
    part, seed
        The share of the rows to learn from, and what picks them.
    """
    reports = []
    for number in range(_ROUNDS):
        sample = df.sample(fraction=part / _ROUNDS, seed=seed + number)
        now = control.control()
        placed = deal_by_cost(sample, matrices, now.schedule)
        measures = measures_of(step, df.columns[:-1], matrices, GivenControl(now))
        done = map_in_arrow(placed, measures, f"{WORK_DONE} binary").toArrow()[WORK_DONE]
        reports.append(control.take(work_done_from(one) for one in done.to_pylist()))
    return reports
