import json

import pytest
from tests.dashboard.dashboard_cases import event, hostile_event

from unskew.dashboard.model import MOST_FRAMES, MOST_GROUPINGS, MOST_PLANS, RunModel
from unskew.events import HotKey


def test_the_last_moment_is_that_of_the_last_event() -> None:
    model = RunModel("run")
    model.take(event("key", 1))
    model.take(event("wrap", 1, loads=(25, 25, 26, 24), replication=1.01, version=3))
    first, second = model.state(latest_only=True)["groupings"]
    assert (first["name"], first["frames"][0]["imbalance"]) == ("key", 100.0)
    frame = second["frames"][0]
    assert frame["imbalance"] == pytest.approx(4.0)
    assert frame["rows_per_second"] == 200.0
    assert (frame["replication"], frame["version"]) == (1.01, 3)
    assert frame["loads"]["values"] == [25, 25, 26, 24]


def test_totals_are_over_all_events_though_frames_are_thinned() -> None:
    model = RunModel("run")
    for batch in range(2 * MOST_FRAMES):
        model.take(event("key", batch, dead_letters=2, busy_seconds=(1.0, 0.5, 0.25, 0.25)))
    (grouping,) = model.state()["groupings"]
    assert grouping["totals"]["rows"] == 2 * MOST_FRAMES * 100
    assert grouping["totals"]["dead_letters"] == 4 * MOST_FRAMES
    assert grouping["totals"]["busy_seconds"] == pytest.approx(4 * MOST_FRAMES)
    assert model.tracks["key"].totals.worker_rows[0] == 100 * MOST_FRAMES


@pytest.mark.parametrize("batches", [1, MOST_FRAMES, MOST_FRAMES + 1, 1500])
def test_frames_stay_bounded_in_order_with_the_first_and_all_recent_ones(batches: int) -> None:
    model = RunModel("run")
    for batch in range(batches):
        model.take(event("key", batch, loads=(1,)))
    steps = [frame["step"] for frame in model.tracks["key"].frames]
    assert len(steps) <= MOST_FRAMES
    assert steps == sorted(set(steps))
    assert steps[0] == 0
    recent = min(batches, MOST_FRAMES // 2)
    assert steps[-recent:] == list(range(batches - recent, batches))


def test_a_run_that_begins_anew_goes_on_on_the_axis() -> None:
    model = RunModel("run")
    for batch in (5, 6, 0, 1, 9):
        model.take(event("key", batch))
    frames = model.tracks["key"].frames
    assert [frame["step"] for frame in frames] == [5, 6, 7, 8, 9]
    assert [frame["batch"] for frame in frames] == [5, 6, 0, 1, 9]


def test_more_groupings_than_a_page_shows_are_dropped_and_counted() -> None:
    model = RunModel("run")
    for number in range(MOST_GROUPINGS + 3):
        model.take(event(f"g{number}"))
    assert len(model.tracks) == MOST_GROUPINGS
    assert model.state()["dropped"] == 3


def test_plans_are_listed_with_why_the_last_hundred_of_them() -> None:
    model = RunModel("run")
    model.take(event("wrap", 0))
    assert not model.tracks["wrap"].plans
    for batch in range(1, MOST_PLANS + 5):
        model.take(event("wrap", batch, next_version=batch, why=f"reason {batch}"))
    plans = model.state()["groupings"][0]["plans"]
    assert len(plans) == MOST_PLANS
    assert (plans[-1]["version"], plans[-1]["why"]) == (MOST_PLANS + 4, f"reason {MOST_PLANS + 4}")


def test_a_frame_does_not_grow_with_workers_and_keys() -> None:
    workers = 10_000
    keys = tuple(HotKey(f"key {number}" * 30, 0.001, tuple(range(5000))) for number in range(50))
    big = event(loads=tuple(range(workers)), busy_seconds=(0.1,) * workers, hot_keys=keys)
    update = RunModel("run").take(big)
    assert update is not None
    assert len(json.dumps(update)) < 10_000
    assert update["frame"]["hot_keys"][0]["worker_count"] == 5000


def test_without_loads_nothing_is_said_about_balance() -> None:
    update = RunModel("run").take(event(loads=(), rows=70))
    assert update is not None
    frame = update["frame"]
    assert (frame["imbalance"], frame["sigma"], frame["loads"]) == (None, None, None)
    assert frame["rows_per_second"] == 140.0


def test_hostile_text_is_cut_and_spelled_out_and_encodes_as_utf8() -> None:
    model = RunModel("run")
    model.take(hostile_event())
    text = json.dumps(model.state(), ensure_ascii=False, allow_nan=False)
    text.encode()
    keys = [key["key"] for key in model.state()["groupings"][0]["frames"][0]["hot_keys"]]
    assert keys[0] == "<script>window.hacked = 1</script>"  # text stays what it is
    assert keys[2] == "a\\x00b\\x1b[31mred\\r\\nline"
    assert keys[3] == "user\\u202egnp.exe"
    assert keys[4] == "שלום עולם"
    assert len(keys[5]) == 100
    assert keys[6] == "lone \\ud800 half"
