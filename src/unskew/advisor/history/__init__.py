"""Read Spark event logs and find the stages that lost most time to uneven tasks.

No Spark is needed: a log is a file of JSON lines. `tasks.lost_time` defines the time that is lost.
"""

from unskew.advisor.history.application import ApplicationReport
from unskew.advisor.history.reading import History, read_history
from unskew.advisor.history.stages import StageReport

__all__ = ["ApplicationReport", "History", "StageReport", "read_history"]
