"""What a round by costs did, in the words of the loads report."""

from typing import Any

from unskew.metrics import imbalance_percent
from unskew.spark.cost_control import RoundReport
from unskew.spark.cost_messages import DamagedMessageError, WorkDone, work_done_from
from unskew.spark.work_stats import read_stats


def work_in(stats: str) -> list[WorkDone]:
    """Return what workers said, out of the text of their stats; what makes no sense is left out."""
    found = []
    for one in read_stats(stats):
        try:
            found.append(work_done_from(one.payload or b""))
        except DamagedMessageError:
            continue
    return found


def cost_fields(report: RoundReport, stats: str) -> dict[str, Any]:
    """Return the fields of an `Epoch` that tell of a round; ``stats`` is what it all came in.

    >>> report = RoundReport(3, "RUN", 2, [4, 1], [2.0, 2.0], [2.5, 1.5], [1.0, 1.0], 6, 160)
    >>> fields = cost_fields(report, "[]")
    >>> fields["imbalance"], fields["predicted_imbalance"], fields["imbalance_of"]
    (0.0, 25.0, 'busy_seconds')
    """
    estimated = report.estimated_seconds
    return {
        "version": report.round_number,
        "rows": sum(report.rows),
        "loads": tuple(report.rows),
        "imbalance": imbalance_percent(report.busy_seconds),
        "predicted_imbalance": None if estimated is None else imbalance_percent(estimated),
        "imbalance_of": "busy_seconds",
        "busy_seconds": tuple(report.busy_seconds),
        "estimated_seconds": None if estimated is None else tuple(estimated),
        "phase": report.phase,
        "messages": report.messages,
        "message_bytes": report.message_bytes,
        "stats_rows": len(read_stats(stats)),
        "stats_bytes": len(stats),
    }
