"""What a diagnosis says, in lines and columns that tables and pages share."""

from collections.abc import Callable
from dataclasses import dataclass

from unskew.advisor.diagnosis import Diagnosis
from unskew.advisor.predict import Prediction
from unskew.advisor.works import WORKS
from unskew.reports.columns import UNKNOWN
from unskew.reports.numbers import count_text, real_text, replication_text, share_text


@dataclass(frozen=True)
class PredictionColumn:
    """One figure of every prediction: what stands above it, what it says and how it is written."""

    title: str
    meaning: str
    text: Callable[[Prediction], str]
    only_with_times: bool = False

    def shown(self, diagnosis: Diagnosis) -> bool:
        """Whether there is anything to show."""
        times = any(each.job_seconds is not None for each in diagnosis.predictions)
        return times or not self.only_with_times


COLUMNS = (
    PredictionColumn(
        "predicted λ %",
        "by how much the busiest worker exceeds the mean load; 0 is even",
        lambda each: real_text(each.imbalance_percent),
    ),
    PredictionColumn(
        "job time",
        "1 is that of a perfectly even job",
        lambda each: f"{each.job_time_ratio:.2f}",
    ),
    PredictionColumn(
        "seconds",
        "how long the busiest worker works",
        lambda each: UNKNOWN if each.job_seconds is None else real_text(each.job_seconds),
        only_with_times=True,
    ),
    PredictionColumn(
        "replication",
        "workers that hold a key, on average; 1 needs no merge",
        lambda each: replication_text(each.replication),
    ),
    PredictionColumn(
        "memory", "keys held, all workers together", lambda each: count_text(each.memory)
    ),
)
"""The figures of each prediction."""


def facts(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Return name and text of what is known of the keys."""
    profile = diagnosis.profile
    about = "" if profile.keys_exact else "about "
    rows = count_text(profile.rows)
    if profile.sampled_share < 1.0:
        rows += f", of which {count_text(profile.counted)} were looked at"
    lines = [
        ("data", diagnosis.stream),
        ("rows", rows),
        (
            "keys",
            f"{about}{count_text(profile.keys)}, the hottest has {share_text(profile.p1)} of the "
            f"rows; Zipf exponent about {profile.zipf_exponent:.2f}",
        ),
        ("drift", _drift_text(diagnosis)),
        ("workers", count_text(diagnosis.workers)),
        ("sources", count_text(diagnosis.sources)),
        ("work", f"{diagnosis.work}: {WORKS[diagnosis.work]}"),
    ]
    if profile.null_share:
        lines.insert(3, ("nulls", f"{share_text(profile.null_share)} of the rows have no key"))
    return lines


def _drift_text(diagnosis: Diagnosis) -> str:
    drift = diagnosis.profile.drift
    if drift.windows < 2:
        return "not known: rows of a table have no order, unless a column of time is named"
    return (
        f"from one twentieth to the next {share_text(drift.mean)} of the rows go to other hot "
        f"keys, {share_text(drift.largest)} at most"
    )


def shown_predictions(diagnosis: Diagnosis) -> list[Prediction]:
    """Return those that come into question first, each kind by time, then by memory."""
    return sorted(
        diagnosis.predictions,
        key=lambda each: (not each.usable, round(each.job_time_ratio, 2), each.memory),
    )
