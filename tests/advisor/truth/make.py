"""Run the jobs and keep their event logs: ``python -m tests.advisor.truth.make [JOB …]``.

The logs lie beside this file, compressed, without what names a machine.
"""

import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from tests.advisor.truth import jobs

from unskew.spark.session import session

WARM_UP = "warm-up"
"""The description of what prepares a session."""
LOGS = Path(__file__).parent / "logs"
_SETTINGS = ("spark.task.cpus", "spark.sql.adaptive.enabled", "spark.master")
_KEPT = ("LogStart", "ApplicationStart", "EnvironmentUpdate", "ExecutorAdded", "JobStart", "JobEnd",
         "StageSubmitted", "StageCompleted", "TaskEnd", "ExecutionStart", "AdaptiveExecutionUpdate",
         "ExecutionEnd")  # fmt: skip
_LONG = ("Properties", "RDD Info", "Details", "details", "physicalPlanDescription", "Stage Infos",
         "modifiedConfigs", "User", "Task Executor Metrics")  # fmt: skip
_PROGRAMS = re.compile(r"(?<= at )/[^\s\"]*/")
_PATHS = re.compile(r"(?:file:|(?<=path=))/[^\s,\]\"\\]*")

# Spark's Python workers cannot import these files.
cloudpickle.register_pickle_by_value(jobs)


def log_of(name: str) -> Path:
    """Return where the log of a job is kept."""
    return LOGS / (name.replace(" ", "-").replace(",", "") + ".zst")


def run(name: str) -> None:
    """Run one job in a session of its own, and keep its log."""
    case = jobs.CASES[name]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        logging = {
            "spark.eventLog.enabled": True,
            "spark.eventLog.dir": folder.as_uri(),
            "spark.eventLog.rolling.enabled": False,
            "spark.eventLog.compress": False,
            "spark.sql.shuffle.partitions": jobs.SLOTS,
        }
        spark = session(master=case.master, app_name=name, **{**logging, **case.settings})
        spark.sparkContext.setLogLevel("ERROR")
        _warm_up(spark.range(0, 32, 1, 2 * jobs.SLOTS), folder)
        spark.sparkContext.setJobDescription(name)
        spark.sparkContext.setLocalProperty("spark.job.description", name)
        case.job(spark, folder / "data")
        spark.stop()
        (log,) = (each for each in folder.iterdir() if each.is_file() and each.name[0] != ".")
        keep(log, log_of(name))


def _warm_up(df: DataFrame, folder: Path) -> None:
    """Start Python's workers and what writes files, which takes longer than a job."""
    df.sparkSession.sparkContext.setJobDescription(WARM_UP)
    df.mapInArrow(_wait_a_little, df.schema).write.parquet(str(folder / "warm-up"))


def _wait_a_little(batches: jobs.Batches) -> jobs.Batches:
    time.sleep(0.2)
    yield from batches


def keep(log: Path, to: Path) -> None:
    """Write a log without the events, settings and paths that the reader has no use for."""
    to.parent.mkdir(exist_ok=True)
    lines = [slim(json.loads(line)) for line in log.read_text().splitlines()]
    text = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in lines if event)
    with pa.CompressedOutputStream(str(to), "zstd") as out:
        out.write(_PROGRAMS.sub("", _PATHS.sub("file:/data", text)).encode())


def slim(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return what is kept of an event, None where that is nothing."""
    name = event["Event"].rpartition(".")[2]
    if not name.endswith(_KEPT):
        return None
    if name.endswith("EnvironmentUpdate"):
        settings = event["Spark Properties"]
        known = {each: settings[each] for each in _SETTINGS if each in settings}
        return {"Event": event["Event"], "Spark Properties": known}
    for holder in (event, event.get("Stage Info", {})):
        for field in _LONG:
            value = holder.pop(field, None)
            if field == "Properties" and value and "spark.sql.execution.id" in value:
                holder[field] = {"spark.sql.execution.id": value["spark.sql.execution.id"]}
    for info, field in (("Task Info", "Host"), ("Executor Info", "Host")):
        if field in event.get(info, {}):
            event[info][field] = "host"
    event.get("Executor Info", {}).pop("Log Urls", None)
    return event


def main(names: list[str]) -> None:
    """Run the jobs that are named, or all."""
    for name in names or jobs.CASES:
        run(name)
        print(name, log_of(name).stat().st_size, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
