from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.events.test_batch_events import PLAIN

from unskew.events import (
    EVENTS_FILE,
    EventTail,
    RunRecordError,
    append_event,
    line_of,
    read_events,
    reading,
    writing,
)


def test_what_was_written_is_read_in_order(tmp_path: Path) -> None:
    written = [replace(PLAIN, batch=batch) for batch in range(20)]
    for event in written:
        append_event(tmp_path / "new" / "run", event)
    assert read_events(tmp_path / "new" / "run") == written


def test_a_tail_gives_each_event_once_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    tail = EventTail(tmp_path)
    assert tail.poll() == []
    append_event(tmp_path, PLAIN)
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
    append_event(tmp_path, PLAIN)
    with (tmp_path / EVENTS_FILE).open("a") as file:
        file.write(line_of(PLAIN)[:50])
    assert read_events(tmp_path) == [PLAIN]
    append_event(tmp_path, replace(PLAIN, batch=9))
    assert [event.batch for event in read_events(tmp_path)] == [3, 9]
    tail = EventTail(tmp_path)
    tail.poll()
    assert tail.skipped == 1


def test_writers_side_by_side_never_mix_their_lines(tmp_path: Path) -> None:
    many = [replace(PLAIN, batch=batch, loads=(batch,) * 3000) for batch in range(60)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda event: append_event(tmp_path, event), many))
    assert sorted(event.batch for event in read_events(tmp_path)) == list(range(60))


def test_a_large_record_lets_its_older_half_go_and_a_tail_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_BYTES", 20 * len(line_of(PLAIN)))
    tail, seen = EventTail(tmp_path), []
    for batch in range(100):
        append_event(tmp_path, replace(PLAIN, batch=batch))
        if batch % 7 == 0:
            seen += [event.batch for event in reading.iter_polls(tail)]
    seen += [event.batch for event in reading.iter_polls(tail)]
    assert seen == list(range(100))
    kept = [event.batch for event in read_events(tmp_path)]
    assert kept == list(range(kept[0], 100))
    assert len(kept) < 30


def test_a_record_that_was_begun_anew_is_read_from_its_begin(tmp_path: Path) -> None:
    tail = EventTail(tmp_path)
    for _ in range(3):
        append_event(tmp_path, PLAIN)
    assert len(tail.poll()) == 3
    (tmp_path / EVENTS_FILE).write_text("")
    append_event(tmp_path, replace(PLAIN, batch=0))
    assert [event.batch for event in tail.poll()] == [0]


def test_a_line_without_end_is_let_go_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LINE_BYTES", 1000)
    monkeypatch.setattr(reading, "_MOST_BYTES_A_POLL", 600)
    (tmp_path / EVENTS_FILE).write_text("x" * 5000 + "\n" + line_of(PLAIN) + "\n")
    tail = EventTail(tmp_path)
    assert list(reading.iter_polls(tail)) == [PLAIN]
    assert tail.skipped == 1


def test_a_newer_schema_is_refused_with_what_to_do(tmp_path: Path) -> None:
    append_event(tmp_path, PLAIN)
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
