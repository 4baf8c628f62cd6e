"""Event logs written by hand, in the shapes of several versions of Spark."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]


def task(stage: int, launched: int, finished: int, records: int | None = None) -> Event:
    """Return the end of a task; without a number of records in the shape of old versions."""
    metrics = {} if records is None else {"Shuffle Read Metrics": {"Total Records Read": records}}
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Task End Reason": {"Reason": "Success"},
        "Task Info": {"Launch Time": launched, "Finish Time": finished},
        "Task Metrics": metrics,
    }


def completed(stage: int, name: str = "collect at job.py:7") -> Event:
    return {
        "Event": "SparkListenerStageCompleted",
        "Stage Info": {"Stage ID": stage, "Stage Name": name},
    }


def executor(cores: int, name: str = "1") -> Event:
    return {
        "Event": "SparkListenerExecutorAdded",
        "Executor ID": name,
        "Executor Info": {"Total Cores": cores},
    }


def started(name: str = "by hand") -> Event:
    return {"Event": "SparkListenerApplicationStart", "App Name": name, "App ID": f"app-{name}"}


def job(start: int, number: int = 0) -> list[Event]:
    return [{"Event": "SparkListenerJobStart", "Job ID": number, "Submission Time": start}]


def write(path: Path, events: Iterable[Event], *, end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Spark writes no blanks between names and values.
    lines = (json.dumps(event, separators=(",", ":")) for event in events)
    path.write_text("\n".join(lines) + end)
    return path
