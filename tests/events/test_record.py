from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.events.test_epoch import PLAIN

from unskew.events import (
    EVENTS_FILE,
    PLAN_RECORD,
    RUN_RECORD,
    Epoch,
    EventTail,
    HotKey,
    RunRecordError,
    append_epoch,
    line_of,
    read_epochs,
    read_events,
    record,
)


def test_what_was_written_is_read_in_order(tmp_path: Path) -> None:
    written = [replace(PLAIN, batch=batch) for batch in range(20)]
    for event in written:
        append_epoch(tmp_path / "new" / "run", event)
    assert read_events(tmp_path / "new" / "run") == written


def test_a_tail_gives_each_event_once_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    tail = EventTail(tmp_path)
    assert tail.poll() == []
    append_epoch(tmp_path, PLAIN)
    line = line_of(replace(PLAIN, batch=4))
    with (tmp_path / EVENTS_FILE).open("a") as file:
        file.write(line[:30])
        file.flush()
        assert tail.poll() == [PLAIN]
        assert tail.poll() == []
        file.write(line[30:] + "\n")
    assert [event.batch for event in tail.poll()] == [4]
    assert tail.skipped == 0


def test_a_cut_line_costs_itself_and_no_other(tmp_path: Path) -> None:
    append_epoch(tmp_path, PLAIN)
    with (tmp_path / EVENTS_FILE).open("a") as file:
        file.write(line_of(PLAIN)[:50])
    assert read_events(tmp_path) == [PLAIN]
    append_epoch(tmp_path, replace(PLAIN, batch=9))
    assert [event.batch for event in read_events(tmp_path)] == [3, 9]
    tail = EventTail(tmp_path)
    tail.poll()
    assert tail.skipped == 1


def test_writers_side_by_side_never_mix_their_lines(tmp_path: Path) -> None:
    many = [replace(PLAIN, batch=batch, loads=(batch,) * 3000) for batch in range(60)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda event: append_epoch(tmp_path, event), many))
    assert sorted(event.batch for event in read_events(tmp_path)) == list(range(60))


def test_a_large_record_lets_its_older_half_go_and_a_tail_misses_nothing(
    tmp_path: Path,
) -> None:
    small = RUN_RECORD._replace(most_bytes=20 * len(line_of(PLAIN)))
    tail, seen = EventTail(tmp_path), []
    for batch in range(100):
        append_epoch(tmp_path, replace(PLAIN, batch=batch), small)
        if batch % 7 == 0:
            seen += [event.batch for event in record.iter_polls(tail)]
    seen += [event.batch for event in record.iter_polls(tail)]
    assert seen == list(range(100))
    kept = [event.batch for event in read_events(tmp_path)]
    assert kept == list(range(kept[0], 100))
    assert len(kept) < 30


def test_a_record_that_was_begun_again_is_read_from_its_begin(tmp_path: Path) -> None:
    tail = EventTail(tmp_path)
    for _ in range(3):
        append_epoch(tmp_path, PLAIN)
    assert len(tail.poll()) == 3
    (tmp_path / EVENTS_FILE).write_text("")
    append_epoch(tmp_path, replace(PLAIN, batch=0))
    assert [event.batch for event in tail.poll()] == [0]


def test_a_line_without_end_is_let_go_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "MOST_LINE_BYTES", 1000)
    monkeypatch.setattr(record, "_MOST_BYTES_PER_POLL", 600)
    (tmp_path / EVENTS_FILE).write_text("x" * 5000 + "\n" + line_of(PLAIN) + "\n")
    tail = EventTail(tmp_path)
    assert list(record.iter_polls(tail)) == [PLAIN]
    assert tail.skipped == 1


def test_a_newer_schema_is_refused_with_what_to_do(tmp_path: Path) -> None:
    append_epoch(tmp_path, PLAIN)
    newer = line_of(PLAIN).replace('"schema": 1', '"schema": 2')
    with (tmp_path / EVENTS_FILE).open("a") as file:
        file.write(newer + "\n")
    with pytest.raises(RunRecordError, match=r"schema 2.*up to 1.*upgrade"):
        read_events(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"no events\.jsonl"),
        ("", "no micro-batch"),
        ("{\nx\n", "2 damaged lines"),
    ],
    ids=["empty", "no event yet", "only damaged lines"],
)
def test_a_folder_without_a_run_is_refused_clearly(
    tmp_path: Path, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / EVENTS_FILE).write_text(text)
    with pytest.raises(RunRecordError, match=message):
        read_events(tmp_path)


def test_what_is_no_folder_is_refused_clearly(tmp_path: Path) -> None:
    with pytest.raises(RunRecordError, match="no such folder"):
        read_events(tmp_path / "run")
    (tmp_path / "run").touch()
    with pytest.raises(RunRecordError, match="it is a file"):
        read_events(tmp_path / "run")


def test_a_folder_has_two_records_that_do_not_mix(tmp_path: Path) -> None:
    append_epoch(tmp_path, PLAIN)
    append_epoch(tmp_path, replace(PLAIN, batch=9), PLAN_RECORD)
    assert read_events(tmp_path) == read_epochs(tmp_path, RUN_RECORD) == [PLAIN]
    assert [epoch.batch for epoch in read_epochs(tmp_path)] == [9]
    assert read_epochs(tmp_path / "not-there") == []


OLD_EVENT = (
    '{"schema": 1, "grouping": "wrap", "query": "q", "run": "r", "batch": 7, "started": 12.5, '
    '"seconds": 0.5, "rows": 4, "loads": [3, 1], "predicted_loads": [2.5, 1.5], '
    '"busy_seconds": null, "estimated_seconds": null, "imbalance": 50.0, '
    '"predicted_imbalance": 25.0, "imbalance_of": "rows", "replication": 1.5, "split_keys": 1, '
    '"version": 2, "next_version": 3, "why": "imbalance", "hot_keys": [{"key": "a", "share": 0.5, '
    '"workers": [0, 1]}], "latency": [1.0, 2.0, 3.0], "dead_letters": 0, "phase": null, '
    '"messages": null}'
)
OLD_EPOCH = (
    '{"query": "q", "run": "r", "batch": 7, "version": -1, "rows": 4, "loads": [3, 1], '
    '"imbalance": 50.0, "predicted_imbalance": null, "split_keys": null, "next_version": null, '
    '"why": null, "seconds": 0.01, "damaged": ["plan-000002.json"], "replication": null, '
    '"busy_seconds": [0.25, 0.5], "imbalance_of": "busy_seconds", "estimated_seconds": null, '
    '"phase": "RUN", "messages": 12, "message_bytes": 340, "stats_rows": 2, "stats_bytes": 99}'
)


def test_events_of_earlier_releases_are_read(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(OLD_EVENT + "\n")
    (epoch,) = read_events(tmp_path)
    assert (epoch.grouping, epoch.started, epoch.seconds) == ("wrap", 12.5, 0.5)
    assert (epoch.hot_keys, epoch.planning_seconds) == ((HotKey("a", 0.5, (0, 1)),), None)


def test_epochs_of_earlier_releases_are_read(tmp_path: Path) -> None:
    (tmp_path / "epochs-older.jsonl").write_text(OLD_EPOCH + "\n")
    (tmp_path / "epochs.jsonl").write_text(OLD_EPOCH.replace('"batch": 7', '"batch": 8') + "\n")
    older, epoch = read_epochs(tmp_path)
    assert (older.batch, epoch.batch) == (7, 8)
    assert (epoch.grouping, epoch.started, epoch.seconds) == ("", None, None)
    assert (epoch.planning_seconds, epoch.damaged) == (0.01, ("plan-000002.json",))
    assert (epoch.messages, epoch.message_bytes, epoch.stats_rows, epoch.stats_bytes) == (
        12, 340, 2, 99,
    )  # fmt: skip


def test_an_epoch_that_only_the_planning_loop_knows_comes_back(tmp_path: Path) -> None:
    epoch = Epoch(
        query="q", run="r", batch=0, rows=2, loads=(1, 1), imbalance=0.0, planning_seconds=0.1,
        damaged=("plan-000001.json",), stats_rows=2,
    )  # fmt: skip
    append_epoch(tmp_path, epoch, PLAN_RECORD)
    assert read_epochs(tmp_path) == [epoch]
    assert epoch.rows_per_second is None
