"""The figures and the page of a run."""

import math

import pytest

from unskew.events import Epoch
from unskew.reports.grouping_run import GroupingRun, MeasuredBatch, Waits, quantile, share_within
from unskew.reports.page import render_run


def batch(
    number: int,
    loads: tuple[int, ...],
    *,
    seconds: float = 2.0,
    keys: int = 10,
    held: int = 12,
    dead: int = 0,
) -> MeasuredBatch:
    rows = sum(loads)
    event = Epoch(
        grouping="key", query="q", run="r", batch=number, started=0.0, seconds=seconds, rows=rows,
        loads=loads, imbalance=0.0, dead_letters=dead,
    )  # fmt: skip
    return MeasuredBatch(event, Waits(seconds, seconds, rows), keys, held)


def test_the_warm_up_does_not_count_but_a_last_micro_batch_always_does() -> None:
    batches = [batch(0, (9, 1)), batch(1, (5, 5))]
    assert GroupingRun("key", batches, warm_up=1).loads == (5, 5)
    assert GroupingRun("key", batches, warm_up=9).loads == (5, 5)
    assert GroupingRun("key", batches).loads == (14, 6)


def test_imbalance_is_the_time_that_the_busiest_workers_lose() -> None:
    # Two micro-batches whose hot worker changes: in sum even, and yet each waits for one.
    run = GroupingRun("key", [batch(0, (30, 10)), batch(1, (10, 30))])
    assert run.loads == (40, 40)
    assert run.imbalance_percent == pytest.approx(50.0)
    assert run.stddev == pytest.approx(10.0)


def test_throughput_replication_memory_and_dead_letters_are_of_all_micro_batches() -> None:
    run = GroupingRun("key", [batch(0, (10, 10), dead=2), batch(1, (20, 0), held=30, dead=1)])
    assert run.rows_per_second == pytest.approx(40 / 4.0)
    assert run.replication == pytest.approx(42 / 20)
    assert run.memory == 30
    assert run.dead_letters == 3


def test_what_is_not_known_is_null_in_json() -> None:
    run = GroupingRun("enrich", [batch(0, (), keys=0, held=0)])
    fields = run.to_json()
    assert fields["imbalance_percent"] is None
    assert fields["replication"] is None
    assert fields["memory"] is None
    assert fields["loads"] == []


def test_waits_are_weighed_by_rows() -> None:
    waits = [Waits(1.0, 3.0, rows=300), Waits(10.0, 10.0, rows=100)]
    assert quantile(waits, 0.375) == pytest.approx(2.0)
    assert quantile(waits, 0.75) == pytest.approx(3.0)
    assert quantile(waits, 0.99) == pytest.approx(10.0)
    assert share_within(waits, 2.0) == pytest.approx(0.375)
    assert math.isnan(quantile([], 0.5))


def test_the_page_names_what_was_run_and_draws_three_charts() -> None:
    runs = [GroupingRun(label, [batch(0, (9, 1)), batch(1, (5, 5))]) for label in ("key", "<wrap>")]
    page = render_run(runs, title="words", command="unskew run words", facts=[("rows", "<20>")])
    for name in ("loads", "batches", "waits"):
        assert f'id="{name}"' in page
    assert "&lt;wrap&gt;" in page
    assert "<wrap>" not in page.split("<script")[0]
    assert "&lt;20&gt;" in page
