"""Read the history of one or many applications."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unskew._stores import StorePath, located
from unskew._validation import check_int
from unskew.advisor.history.application import ApplicationReader, ApplicationReport
from unskew.advisor.history.logs import find_logs
from unskew.advisor.history.stages import StageReport
from unskew.errors import EventLogError


@dataclass(frozen=True)
class History:
    """The stages that lost most time to uneven tasks, of all applications that were read.

    Parameters
    ----------
    applications
        What was read, the one that lost most first.
    stages
        The worst stages of all, the worst first.
    skipped
        Files of a folder that are no event logs, and why.
    """

    applications: list[ApplicationReport]
    stages: list[StageReport]
    skipped: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return one object with stable names."""
        return {
            "applications": [_application_fields(each) for each in self.applications],
            "stages": [each.to_json() for each in self.stages],
            "skipped": self.skipped,
        }


def read_history(
    path: str | Path, *, top: int = 10, on_log: Callable[[str], None] | None = None
) -> History:
    """Return the stages that lost most time to uneven tasks.

    Parameters
    ----------
    path
        An event log, a rolling folder (``eventlog_v2_…``), or the folder that
        ``spark.eventLog.dir`` names, with the logs of many applications. The URL of one in a store
        (``s3a://…``) needs a Spark session, which copies it to this machine for as long.
    top
        How many stages to return, at least 1.
    on_log
        Called with the name of each log before it is read.

    Raises
    ------
    EventLogError
        If there is no log, or none that can be read.
    """
    top = check_int("read_history", "top", top, minimum=1)
    place = located("read_history", "path", path)
    if isinstance(place, StorePath):
        with TemporaryDirectory(prefix="unskew-history-") as copied:
            local = Path(copied) / place.name
            try:
                place.copy(local)
            except FileNotFoundError:
                raise EventLogError(f"{place}: no such file or folder.") from None
            found = read_history(local, top=top, on_log=on_log)
            for application in found.applications:
                application.path = application.path.replace(str(local), str(place))
            return found
    logs = find_logs(place)
    applications, skipped = [], []
    for log in logs:
        if on_log is not None:
            on_log(log.path.name)
        try:
            applications.append(ApplicationReader(log, top).read())
        except EventLogError as error:
            if len(logs) == 1:
                raise
            skipped.append(str(error))
    if not applications:
        raise EventLogError(f"{path}: none of its {len(logs)} files can be read; {skipped[0]}")
    applications.sort(key=lambda each: -each.lost_seconds)
    stages = [stage for each in applications for stage in each.worst]
    stages.sort(key=lambda stage: -stage.lost_seconds)
    return History(applications, stages[:top], skipped)


def _application_fields(each: ApplicationReport) -> dict[str, Any]:
    return {
        "id": each.id,
        "name": each.name,
        "spark_version": each.spark_version,
        "path": each.path,
        "stages": each.stages,
        "job_seconds": each.job_seconds,
        "lost_seconds": each.lost_seconds,
        "share_of_job_time": each.share(each.lost_seconds),
        "notes": each.notes,
    }
