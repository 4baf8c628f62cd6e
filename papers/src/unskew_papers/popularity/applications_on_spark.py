"""Figures 16 to 28 on Spark: streams of four applications, sixteen workers that wait for rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unskew_papers.claims import Claim, Verdict, explain
from unskew_papers.engines.spark_jobs import SLOTS
from unskew_papers.engines.spark_streams import count_stream_on_spark
from unskew_papers.experiment import SPARK, Experiment, Parameters, Unit
from unskew_papers.popularity.application_figures import APPLICATION_FIGURES
from unskew_papers.popularity.applications import (
    APPLICATIONS,
    COMPARED,
    SETS,
    Measured,
    described,
    label,
    sets_of,
    stream_of,
)
from unskew_papers.popularity.on_spark import SCHEMES_ON_SPARK
from unskew_papers.rows import Row, Rows

FEW_WORKERS = (
    "Sixteen workers are as many as fit on this machine, the paper has 128. Two of sixteen can "
    "share a key with up to an eighth of the rows, more than the hottest has, so that PKG is "
    "nearly even; of 128 workers two cannot, as the same figure on calibrated queues shows. DKG "
    "keeps a key whole, so it loses where the hottest key exceeds a sixteenth."
)


def _units(parameters: Parameters) -> Sequence[Unit]:
    names = ("rows", "keys", "batches", "milliseconds")
    shared = {name: parameters[name] for name in names}
    sets = [each for each in sets_of(list(APPLICATIONS)) if parameters["real"] or not each["real"]]
    return [{**each, "scheme": scheme, **shared} for each in sets for scheme in COMPARED]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    row_seconds = unit["milliseconds"] / 1000
    jobs = count_stream_on_spark(
        np.array_split(keys, unit["batches"]),
        SLOTS,
        SCHEMES_ON_SPARK[unit["scheme"]],
        milliseconds=unit["milliseconds"],
        seed=seed,
    )
    fields = {
        "application": unit["application"], "data": label(unit), "scheme": unit["scheme"],
        "exact": all(job.exact for job in jobs),
    }  # fmt: skip
    through_time = [
        Measured(job.throughput * row_seconds, job.stddev_percent, job.row_seconds() / row_seconds)
        for job in jobs
    ]
    return described(through_time, fields)


def _exact(rows: Rows) -> Verdict:
    found = rows.values("exact", total=True)
    return Verdict(all(found), f"{sum(found)} of {len(found)} streams")


_EXACT = Claim("exact", "Placing rows changes no result.", "not said", _exact)
_SIZES = {
    "smoke": {
        "rows": 12_000, "keys": 2_000, "batches": 6, "milliseconds": 0.5, "real": False,
    },
    "paper": {
        "rows": 600_000, "keys": 100_000, "batches": 30, "milliseconds": 1.0, "real": True,
    },
}  # fmt: skip


_RED = ("than-pkg", "than-dkg", "steadier", "vwap-than-pkg", "hashtags-than-pkg")


def _on_spark(each: Experiment, owner: str | None) -> Experiment:
    own = () if owner else (_EXACT,)
    return replace(
        each,
        id=f"{each.id}-spark",
        title=f"{each.title.partition(' (')[0]}, 16 workers on Spark",
        runs_on=SPARK,
        data=f"{SETS}; fewer keys at smoke size. Micro-batches of a stream on Spark; a row is "
        "waiting, so that all workers run on few cores. Throughput is by the busiest worker, a "
        "row's time from the start of its micro-batch until its worker is done with it",
        sizes=_SIZES,
        seconds={"smoke": 0 if owner else 70, "paper": 0 if owner else 1450},
        units=_units,
        run=_run,
        rows_of=owner,
        claims=(*own, *explain(each.claims, FEW_WORKERS, _RED)),
    )


_FIRST = _on_spark(APPLICATION_FIGURES[0], None)
APPLICATIONS_ON_SPARK = (_FIRST, *(_on_spark(each, _FIRST.id) for each in APPLICATION_FIGURES[1:]))
