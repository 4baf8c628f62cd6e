"""The parts of a run that need no Spark: feeding files, arrivals."""

from pathlib import Path

from unskew.apps.running.file_sources import FileFeeder
from unskew.apps.running.source import SourceBatch
from unskew.apps.running.sources import Generated


def test_a_feeder_puts_one_file_at_a_time_and_none_twice(tmp_path: Path) -> None:
    pool, watched = tmp_path / "pool", tmp_path / "watched"
    pool.mkdir()
    watched.mkdir()
    files = [pool / f"{number}.parquet" for number in range(3)]
    for file in files:
        file.write_text(file.name)
    feeder = FileFeeder(files, watched)
    assert feeder.feed()
    assert [path.name for path in watched.iterdir()] == ["0.parquet"]
    again = FileFeeder(files, watched)
    assert [again.feed(), again.feed(), again.feed()] == [True, True, False]
    assert {path.name: path.read_text() for path in watched.iterdir()} == {
        file.name: file.name for file in files
    }


def test_made_up_rows_come_at_their_rate_however_late_they_are_taken_up() -> None:
    source = Generated(100, period=2.0)
    in_time = source.arrivals(SourceBatch(0, started=50.0, first_started=50.0, metrics={}))
    late = source.arrivals(SourceBatch(3, started=99.0, first_started=50.0, metrics={}))
    assert in_time == (48.0, 50.0)
    assert late == (54.0, 56.0)
