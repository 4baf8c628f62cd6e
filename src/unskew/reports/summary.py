"""What a table of measurements is about, in a line or two."""

from collections.abc import Sequence

from unskew.reports.measurement import Measurement
from unskew.reports.numbers import count_text, share_text


def facts(measurements: Sequence[Measurement]) -> list[tuple[str, str]]:
    """Return name and text of what all measurements have in common."""
    first = measurements[0]
    result = first.result
    return [
        ("stream", f"{first.stream}, seed {first.seed}"),
        ("workers", count_text(result.workers)),
        ("sources", count_text(result.sources)),
        ("rows", rows_text(first)),
        ("keys", f"{count_text(result.keys)}, the hottest has {share_text(result.p1)} of the rows"),
    ]


def rows_text(measurement: Measurement) -> str:
    """Say how many rows were measured, and which, where it is not all of them."""
    measured, learned = measurement.result.rows, measurement.result.learned_rows
    text = count_text(measured)
    if not learned:
        return text
    return f"{text}, measured on the last {share_text(measured / (measured + learned))}"
