"""Two files in turn: a reader finds what was written last, or before, and never anything else."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.spark.plans.live_file import LiveFile
from unskew.spark.worker.live_files import newest_whole

LINES = st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8")), max_size=3)
DAMAGE = st.sampled_from(["nothing", "cut", "changed", "gone", "both"])


def hurt(path: Path, how: str, at: int) -> None:
    data = path.read_bytes()
    if how == "cut":
        path.write_bytes(data[: at % len(data)])
    elif how == "changed":
        at %= len(data)
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    else:
        path.unlink()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LINES, DAMAGE, st.integers(0, 999)), min_size=1, max_size=6))
def test_a_reader_finds_what_was_written_last_or_before(
    steps: list[tuple[list[str], str, int]],
) -> None:
    with TemporaryDirectory() as name:
        pair, written = LiveFile(Path(name), "costs", "us"), list[list[str]]()
        paths = pair.pair.paths
        for lines, damage, at in steps:
            pair.write(lines)
            written.append(lines)
            assert pair.damaged() == []
            whole = newest_whole(paths)
            assert whole is not None
            assert whole.lines == ["us", *lines]
            hurt_paths = [] if damage == "nothing" else paths if damage == "both" else paths[:1]
            for path in hurt_paths:
                hurt(path, damage, at)
            assert pair.damaged() == [path.name for path in hurt_paths]
            whole = newest_whole(paths)
            if damage == "both":
                assert whole is None
            else:
                assert whole is not None
                assert whole.lines[1:] in written[-2:]


def test_a_writer_that_is_started_again_goes_on_and_names_what_is_damaged(tmp_path: Path) -> None:
    first = LiveFile(tmp_path, "costs", "us")
    paths = first.pair.paths
    for number in range(5):
        first.write([str(number)])
    newest = next(path for path in paths if path.read_text().endswith("\n4"))
    newest.write_text("garbage")
    again = LiveFile(tmp_path, "costs", "us")
    assert again.damaged() == [newest.name]
    again.write(["next"])
    assert again.damaged() == []
    whole = newest_whole(paths)
    assert whole is not None
    assert whole.lines == ["us", "next"]
