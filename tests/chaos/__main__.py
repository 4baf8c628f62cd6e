"""Run jobs of every verb on a cluster whose executors fail: ``make chaos``.

Each run is drawn from its seed: the verb, the grouping, what fails and when. Its result must be
that of the plain job, every row once. If not, the command that repeats the run is printed.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession
from tests.chaos.faults import FAULTS, STREAM_FAULTS, Scene, faults
from tests.chaos.streams import STREAMS, StreamRun
from tests.chaos.verbs import JOBS, ROWS, counted, failing, skewed
from tests.spark.cluster.driver import cluster_session, stop

from unskew.spark.routing.schemes import runnable
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE

_PATIENT = {
    "spark.task.maxFailures": 20,
    "spark.stage.maxConsecutiveAttempts": 30,
    "spark.deploy.maxExecutorRetries": -1,
    "spark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout": "300s",
    "spark.network.timeout": "60s",
    "spark.ui.enabled": False,
    STATE_STORE: ROCKSDB,
}

_STREAM_SECONDS = 12.0  # within which faults happen to a stream


def main() -> int:
    """Run as many seeds as asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=30, help="how many seeds to run")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    given = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="unskew-chaos-"))
    config = {**_PATIENT, "spark.local.dir": str(scratch), "spark.speculation": given.seed % 2 == 0}
    spark = cluster_session(**config)
    plain = skewed(spark.range(ROWS, numPartitions=5)).cache()
    expected = {name: counted(job(plain, "key")) for name, (_, job) in JOBS.items()}
    plain.unpersist()
    tried: Counter[str] = Counter()
    wrong = 0
    for seed in range(given.seed, given.seed + given.runs):
        wrong += not _is_exact(spark, seed, expected, tried, scratch)
    stop(spark)
    shutil.rmtree(scratch, ignore_errors=True)
    for name, count in sorted(tried.items()):
        sys.stdout.write(f"{count:5}  {name}\n")
    sys.stdout.write(f"{given.runs} runs, {wrong} with another result than plain Spark\n")
    return 1 if wrong else 0


def _is_exact(
    spark: SparkSession,
    seed: int,
    expected: dict[str, Counter[str]],
    tried: Counter[str],
    scratch: Path,
) -> bool:
    random = Random(seed)
    name = random.choice(sorted([*JOBS, *STREAMS]))
    rows = skewed(spark.range(ROWS, numPartitions=5))
    fail = failing(random)
    started = time.monotonic()
    if name in STREAMS:
        verb = STREAMS[name]
        grouping, kind = random.choice(verb.groupings), random.choice(sorted(STREAM_FAULTS))
        run = StreamRun(rows, verb, grouping)
        wanted, scene = expected[verb.equals], Scene(scratch, run.plans, run.stop, _STREAM_SECONDS)
        job = partial(run.result, fail)
    else:
        grouping = random.choice(runnable("plan", "online", "round-robin"))
        kind = random.choice(sorted(FAULTS))
        wanted, scene = expected[name], Scene(scratch)
        job = partial(JOBS[name][0], fail(rows), grouping)
    problem = ""
    with faults(kind, random, scene) as happened:
        try:
            found = counted(job())
        except Exception as error:
            found, problem = Counter(), f"{type(error).__name__}: {str(error)[:300]}"
    what = "; ".join(happened) or "no fault"
    took = time.monotonic() - started
    sys.stdout.write(f"seed {seed}: {name}, {grouping}, {took:.1f} s, {what}\n")
    tried.update([f"verb {name}", *(f"fault {one.partition(':')[0]}" for one in happened)])
    if found == wanted:
        return True
    lost = sum((wanted - found).values())
    added = sum((found - wanted).values())
    sys.stdout.write(
        f"WRONG: {lost} rows lost, {added} too many. {problem}\n"
        f"  python -m tests.chaos --runs 1 --seed {seed}\n"
    )
    return False


if __name__ == "__main__":
    sys.exit(main())
