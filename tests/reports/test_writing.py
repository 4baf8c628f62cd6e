"""A report is written whole or not at all."""

import os
from pathlib import Path

import pytest

from unskew.errors import InvalidParameterError, UnskewError
from unskew.reports.page import check_report, write_page


def test_a_page_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    for page in ("<p>first λ</p>", "<p>second</p>"):
        check_report(path)
        write_page(path, page)
        assert path.read_text(encoding="utf-8") == page
    assert [each.name for each in tmp_path.iterdir()] == ["out.html"]


def test_a_write_that_fails_leaves_the_old_page_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.html"
    path.write_text("old")

    def disk_is_full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", disk_is_full)
    with pytest.raises(UnskewError, match="No space left"):
        write_page(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["out.html"]


def test_an_interrupt_while_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_page(tmp_path / "out.html", "new")
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link_and_its_target_gets_the_page(tmp_path: Path) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    write_page(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InvalidParameterError, match="Permission denied"):
            check_report(tmp_path / "out.html")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", ["", "missing/out.html", "x" * 300])
def test_paths_that_can_hold_no_file_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidParameterError, match="report: path must be"):
        check_report(tmp_path / name)
