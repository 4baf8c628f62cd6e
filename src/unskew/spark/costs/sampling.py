"""Measure what rows cost on a bounded sample, before a batch is placed or mapped."""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from unskew.groupings.planned import sample_size
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.hashing import identities
from unskew.spark.columns import free_names, identity
from unskew.spark.costs.placement import place_by_cost
from unskew.spark.costs.scheduler import CostControl, RoundReport, cost_fields, work_in
from unskew.spark.loads import Loads
from unskew.spark.steps.running import map_in_arrow, map_with_stats
from unskew.spark.versions import to_arrow
from unskew.spark.worker.cost_machine import ENOUGH_ROWS
from unskew.spark.worker.cost_messages import GivenControl, Matrices, matrices_of, work_done_from
from unskew.spark.worker.row_costs import RowCosts, RowWeights
from unskew.spark.worker.timed_functions import (
    PROBED,
    WORK_DONE,
    TimedStep,
    measured_results_of,
    measures_of,
    probe_of,
    results_of,
)
from unskew.spark.worker.whole_groups import MEASURED, measuring_step

Call: TypeAlias = Callable[[pa.Table], object]

_log = logging.getLogger("unskew.spark")

# Learning takes one or two seconds of its own, and saves a tenth at best where workers are alike.
_PAYS_FROM = 15.0
_PROBES, _ROWS_OF_PROBE, _SECONDS_OF_PROBE = 4, 64, 0.25

_LARGEST_PART = 20
_ROUNDS = 2
_ALIKE = 0.5
_LEAST_OF_ROWS = 1e-3


def measured_costs(
    df: DataFrame, by: list[str], workers: int, call: Call, *, seed: int, whole_keys: bool = False
) -> RowWeights | None:
    """Return what rows of the keys of ``df`` cost, or None if there are too few to measure.

    Runs a job that works on a sample, spread round-robin over the workers; what it returns is
    thrown away. What a call takes is taken to be a part of its own, the same for all groups, and
    one in proportion to its rows (`seconds_of_calls`): a group that is large weighs its rows, one
    that is small what it costs to be called at all.

    Parameters
    ----------
    df, by
        The rows, and their key columns.
    workers
        How many tasks share the sample.
    call
        What is to be timed, on rows of one key.
    seed
        Picks the sample.
    whole_keys
        Whether every group is one call, which then weighs something, too.
    """
    part = part_to_learn(df.count(), workers, sample_size(workers))
    if not part:
        return None
    name = free_names(df, 1)[0]
    sample = df.withColumn(name, identity(df, by)).sample(fraction=part, seed=seed)
    step = measuring_step(call, [*df.columns, name], by)
    found = to_arrow(map_in_arrow(sample.repartition(workers), step, from_arrow_schema(MEASURED)))
    if not found.num_rows:
        return None
    rows, seconds = found["rows"].to_numpy(), found["seconds"].to_numpy()
    per_call = seconds_of_calls(rows, seconds) if whole_keys else 0.0
    of_rows = np.maximum(seconds - per_call, _LEAST_OF_ROWS * seconds)
    weights = RowCosts.measured(identities(found["id"]), rows, of_rows).row_weights()
    return weights._replace(per_group=per_call * rows.sum() / max(of_rows.sum(), 1e-300))


def seconds_of_calls(rows: NDArray[np.int64], seconds: NDArray[np.float64]) -> float:
    """Return what a call takes whatever its rows, from the rows and seconds of calls.

    Two equations: all calls together, and the half with the fewest rows, by their medians so that a
    call that was interrupted does not count. 0 where calls are too much alike to tell.

    Examples
    --------
    A call takes 0.5 s, and a row 0.01 s more:

    >>> rows = np.array([1, 2, 3, 50, 200])
    >>> round(seconds_of_calls(rows, 0.5 + 0.01 * rows), 3)
    0.5
    >>> seconds_of_calls(rows, 0.01 * rows), seconds_of_calls(rows[:1], np.array([2.0]))
    (0.0, 0.0)
    """
    few = rows <= np.median(rows)
    of_few, mean_rows = float(np.median(rows[few])), float(rows.mean())
    if of_few > _ALIKE * mean_rows:
        return 0.0
    few_seconds, mean_seconds = float(np.median(seconds[few])), float(seconds.mean())
    per_row = max(0.0, (mean_seconds - few_seconds) / (mean_rows - of_few))
    return max(0.0, round(few_seconds - per_row * of_few, 9))


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
        report = loads._watch(self.control.workers, None).of_work(details=self._details)
        return map_with_stats(self.placed, work, schema, report)

    def _details(self, stats: str) -> dict[str, Any]:
        job = self.control.report(work_in(stats, self.control.workers))
        every = [*self.rounds, job]
        total = job._replace(
            messages=sum(one.messages for one in every),
            message_bytes=sum(one.message_bytes for one in every),
        )
        return cost_fields(total, stats)


def learned_batch(
    keyed: DataFrame,
    step: TimedStep,
    scheme: ProactiveShuffle,
    learn_rows: int | None,
    seed: int,
    *,
    in_flight: int | None,
) -> LearnedBatch | None:
    """Learn from some rows of ``keyed`` and place all of them; None if it would not pay.

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
    in_flight
        How many calls a worker has under way at once, to judge by a few rows whether the job is
        long enough to learn for; None to learn in any case, unless there are too few rows.
    """
    workers, matrices = scheme.workers, matrices_of(scheme)
    total = keyed.count()
    part = part_to_learn(total, workers, learn_rows)
    if not part:
        return None
    if in_flight is not None:
        seconds = total * seconds_per_row(keyed, total, step, seed) / (workers * in_flight)
        if seconds < _PAYS_FROM:
            _log.info(
                "map_rows: rows go round-robin, and nothing is learned: a few of them show that "
                "%d workers have about %.2g s of work each; learning pays from %g s on",
                workers,
                seconds,
                _PAYS_FROM,
            )
            return None
    control = CostControl(workers, matrices)
    rounds = learn_costs(keyed, step, control, matrices, part, seed)
    placed = place_by_cost(keyed, matrices, control.control().schedule)
    return LearnedBatch(placed, control, matrices, rounds)


def seconds_per_row(df: DataFrame, total: int, step: TimedStep, seed: int) -> float:
    """Return about how long the work on a row takes, by a few of the ``total`` rows of ``df``."""
    share = min(1.0, _PROBES * _ROWS_OF_PROBE / total)
    sample = df.sample(fraction=share, seed=seed).repartition(_PROBES)
    probe = probe_of(step, df.columns[:-1], _SECONDS_OF_PROBE)
    rows, seconds = PROBED
    found = to_arrow(map_in_arrow(sample, probe, f"{rows} long, {seconds} double"))
    n_rows, took = (sum(found[name].to_pylist()) for name in PROBED)
    return took / n_rows if n_rows else 0.0


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

    It takes two rounds of half the size: rows of the first go round-robin, those of the second
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
        placed = place_by_cost(sample, matrices, now.schedule)
        measures = measures_of(step, df.columns[:-1], matrices, GivenControl(now))
        done = to_arrow(map_in_arrow(placed, measures, f"{WORK_DONE} binary"))[WORK_DONE]
        reports.append(control.take(work_done_from(one) for one in done.to_pylist()))
    return reports
