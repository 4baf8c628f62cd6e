"""How many tasks could run at a time."""

from collections.abc import Mapping
from typing import Any

from unskew.advisor.history.tasks import number


class Slots:
    """The cores of the executors that are there, divided by what a task takes.

    >>> slots = Slots()
    >>> slots.added({"Executor ID": "1", "Executor Info": {"Total Cores": 8}})
    >>> slots.environment({"Spark Properties": {"spark.task.cpus": "2"}})
    >>> slots.count
    4
    """

    def __init__(self) -> None:
        self._cores: dict[str, int] = {}
        self._cores_a_task = 1

    @property
    def count(self) -> int:
        """The slots at this moment; 0 if the log names no executors."""
        return sum(cores // self._cores_a_task for cores in self._cores.values())

    def environment(self, event: Mapping[str, Any]) -> None:
        """Take in the settings."""
        cores = (event.get("Spark Properties") or {}).get("spark.task.cpus")
        self._cores_a_task = max(1, int(number(cores)))

    def added(self, event: Mapping[str, Any]) -> None:
        """Take in an executor that came."""
        cores = int(number((event.get("Executor Info") or {}).get("Total Cores")))
        self._cores[str(event.get("Executor ID"))] = cores

    def removed(self, event: Mapping[str, Any]) -> None:
        """Take in an executor that went."""
        self._cores.pop(str(event.get("Executor ID")), None)
