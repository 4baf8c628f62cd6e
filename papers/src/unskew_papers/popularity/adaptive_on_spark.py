"""Figures 29 to 32 on Spark: hot keys are predicted beside the engine, as the paper has it."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unskew.groupings.popularity import Popularity
from unskew.groupings.registry import make_grouping
from unskew.hashing import Ids
from unskew_papers.claims import Claim
from unskew_papers.engines.queues import identities_on_spark
from unskew_papers.engines.spark_jobs import SLOTS, JobResult, counted, frame, summed_up
from unskew_papers.engines.spark_streams import count_stream_on_spark
from unskew_papers.experiment import SPARK, Experiment, Parameters, Unit
from unskew_papers.popularity.adaptive import ADAPTIVE_FIGURES, described, runs, scheme_of
from unskew_papers.popularity.applications import SETS, sets_of, stream_of
from unskew_papers.rows import Row

_BITS = 2
"""One row of four reaches the synopsis: micro-batches of some thousand have no more to teach."""


def _units(parameters: Parameters) -> Sequence[Unit]:
    names = ("rows", "keys", "batches", "milliseconds")
    shared = {name: parameters[name] for name in names}
    return [
        {**each, "run": name, **shared}
        for each in sets_of(["word count", "hashtags"])
        if not each["real"]
        for name in runs(parameters)
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], False, unit["rows"], unit["keys"], seed)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    batches = np.array_split(keys, unit["batches"])
    scheme, work = scheme_of(unit["run"], seed, bits=_BITS), unit["milliseconds"]
    if scheme == "wrap":
        jobs = count_stream_on_spark(batches, SLOTS, scheme, milliseconds=work, seed=seed)
    else:
        jobs = _predicting(batches, scheme, work, seed)
    pairs = [(job.throughput * work / 1000, job.stddev_percent) for job in jobs]
    return described(pairs, unit, scheme)


def _predicting(
    batches: Sequence[Ids], scheme: str, milliseconds: float, seed: int
) -> list[JobResult]:
    """Run a job a micro-batch; the predictor sees its rows and tells the next one what is hot."""
    from unskew.groupings.plan import shuffling_plan
    from unskew.spark import balance

    predictor = make_grouping(scheme, SLOTS, seed=seed)
    if not isinstance(predictor, Popularity):
        raise TypeError(f"{scheme} predicts nothing")
    jobs = []
    for keys in batches:
        plan = shuffling_plan(predictor.workers, predictor.hot_ids())
        job = counted(balance(frame(keys), "key", SLOTS, plan=plan, seed=seed), milliseconds)
        started = time.perf_counter()
        found = job.toArrow()
        jobs.append(summed_up(found, keys, SLOTS, time.perf_counter() - started))
        predictor.route_many(identities_on_spark(keys))
    return jobs


_FEW_ROWS = (
    "With sixteen workers and some thousand rows a micro-batch chance moves σ by more than "
    "thresholds do."
)


def _explained(claim: Claim) -> Claim:
    return replace(claim, reason=f"{claim.explanation} {_FEW_ROWS}".strip())


def _on_spark(each: Experiment, owner: str | None) -> Experiment:
    return replace(
        each,
        id=f"{each.id}-spark",
        title=f"{each.title.partition(' (')[0]}, 16 workers on Spark",
        runs_on=SPARK,
        data=f"{SETS}; fewer keys at smoke size. A job a micro-batch, work is waiting; the "
        "predictor sees all rows beside the engine and its hot keys are the next one's plan",
        sizes={
            "smoke": {
                "rows": 8_000, "keys": 2_000, "batches": 4, "milliseconds": 0.5, "random": 2,
                "tuned": [0.005],
            },
            "paper": {
                "rows": 300_000, "keys": 100_000, "batches": 30, "milliseconds": 1.0,
                "random": 10, "tuned": [0.05, 0.02, 0.01, 0.005, 0.002, 0.001],
            },
        },
        seconds={"smoke": 0 if owner else 30, "paper": 0 if owner else 4500},
        units=_units,
        run=_run,
        rows_of=owner,
        claims=tuple(_explained(claim) for claim in each.claims),
    )  # fmt: skip


_FIRST = _on_spark(ADAPTIVE_FIGURES[0], None)
ADAPTIVE_ON_SPARK = (_FIRST, *(_on_spark(each, _FIRST.id) for each in ADAPTIVE_FIGURES[1:]))
