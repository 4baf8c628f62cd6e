import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from unskew._files import append_line, write_atomically


@pytest.fixture
def private() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("private")
def test_files_have_the_mode_that_the_user_gives_to_new_ones(tmp_path: Path) -> None:
    write_atomically(tmp_path / "plan.json", "{}")
    append_line(tmp_path / "record.jsonl", b"{}")
    assert [mode(path) for path in tmp_path.iterdir()] == [0o600, 0o600]


def test_what_a_link_points_to_is_neither_written_nor_added_to(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("as it was")
    for name in ("plan.json", "record.jsonl"):
        (tmp_path / name).symlink_to(precious)
    write_atomically(tmp_path / "plan.json", "{}")
    with pytest.raises(OSError, match="record"):
        append_line(tmp_path / "record.jsonl", b"{}")
    assert precious.read_text() == "as it was"
    assert (tmp_path / "plan.json").read_text() == "{}"


def test_a_write_that_fails_leaves_the_old_text_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("plan.json", "old")]
