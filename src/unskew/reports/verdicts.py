"""What a table comes to, in a sentence or two: who won, and why."""

from collections.abc import Sequence

from unskew.reports.grouping_run import GroupingRun

PLAIN = "key"
_ALIKE = 0.05
"""Speeds that differ by no more are level: two runs of the same thing do."""


def verdict_of_runs(runs: Sequence[GroupingRun]) -> str:
    """Say which grouping was the fastest on Spark, which were level with it, and why.

    Nothing is said of a single one.
    """
    if len(runs) < 2:
        return ""
    ranked = sorted(runs, key=lambda run: run.rows_per_second, reverse=True)
    best = ranked[0]
    near = (1.0 - _ALIKE) * best.rows_per_second
    level = [run.label for run in ranked[1:] if run.rows_per_second >= near]
    said = f"{best.label} was the fastest"
    if level:
        said += f", level with {', '.join(level)} (within {100 * _ALIKE:.0f} %)"
    plain = next((run for run in runs if run.label == PLAIN), None)
    if plain is None:
        return f"{said}."
    if plain is best or plain.label in level:
        return (
            f"{said}. Plain hashing ({PLAIN}) lost nothing: its busiest worker got "
            f"{plain.imbalance_percent:.3g} % more rows than the mean, and the time went elsewhere."
        )
    ratio = best.rows_per_second / plain.rows_per_second
    return (
        f"{said}: {ratio:.2f} times the rows per second of plain hashing ({PLAIN}), whose busiest "
        f"worker got {plain.imbalance_percent:.3g} % more rows than the mean; that of {best.label} "
        f"got {best.imbalance_percent:.3g} % more."
    )
