"""The sentence over a table says what the table shows."""

import pytest

from unskew.events import Epoch
from unskew.reports.grouping_run import GroupingRun, MeasuredBatch, Waits
from unskew.reports.verdicts import verdict_of_runs


def run_of(label: str, seconds: float, imbalance: float) -> GroupingRun:
    epoch = Epoch(
        grouping=label,
        query="q",
        run="r",
        batch=0,
        started=0.0,
        seconds=seconds,
        rows=1000,
        loads=(round(500 + 5 * imbalance), round(500 - 5 * imbalance)),
        imbalance=imbalance,
    )
    return GroupingRun(label, [MeasuredBatch(epoch, Waits(1.0, 1.0, 1000), keys=9, held=9)])


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([run_of("wrap", 1.0, 1.0)], ""),
        (
            [run_of("key", 3.0, 80.0), run_of("wrap", 2.0, 4.4)],
            "wrap was the fastest: 1.50 times the rows per second of plain hashing (key), whose "
            "busiest worker got 80 % more rows than the mean; that of wrap got 4.4 % more.",
        ),
        (
            [run_of("key", 2.0, 5.0), run_of("wrap", 2.05, 0.5)],
            "key was the fastest, level with wrap (within 5 %). Plain hashing (key) lost nothing: "
            "its busiest worker got 5 % more rows than the mean, and the time went elsewhere.",
        ),
        (
            [run_of("flow", 2.0, 5.0), run_of("wrap", 1.0, 0.5), run_of("auto", 1.04, 0.5)],
            "wrap was the fastest, level with auto (within 5 %).",
        ),
    ],
)
def test_who_was_the_fastest_and_why(runs: list[GroupingRun], said: str) -> None:
    assert verdict_of_runs(runs) == said
