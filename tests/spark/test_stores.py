"""Files by URL: through Hadoop in a classic session, through readers and writers in Connect.

The URLs are of Hadoop's own local file system; real stores are in ``stores/``.
"""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from pyspark.sql import SparkSession
from tests.advisor.history.log_cases import completed, executor, job, started, task, write

import unskew.spark as us
from unskew._stores import StoreError, StorePath, files_of, located
from unskew.advisor.history import read_history
from unskew.errors import EventLogError, InvalidParameterError
from unskew.events import PLAN_RECORD, Epoch, append_epoch, read_epochs, record
from unskew.groupings.plan import HASHED_MEMBER, shuffling_plan
from unskew.spark.plans.live_file import LiveFile, plan_folder
from unskew.spark.plans.saved import KeyPlan, PlanStore


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> StorePath:
    """A folder of this machine as a store, with a blank in its name."""
    (tmp_path / "of a team").mkdir()
    return StorePath(f"file:{tmp_path}/of a team/", files_of("test", "folder", "file:", spark))


def epoch(batch: int) -> Epoch:
    return Epoch(query="q", run="r", batch=batch, rows=4, loads=(3, 1), imbalance=50.0)


def test_a_url_keeps_its_slashes(spark: SparkSession) -> None:
    for url in ("s3a://bucket/plans", "dbfs:/plans", "hdfs:///plans", "abfss://c@a.net/p q"):
        found = located("test", "path", url, spark=spark)
        assert isinstance(found, StorePath)
        assert str(found / "a.json") == f"{url}/a.json"
        assert (found / "a.json").name == "a.json"
    assert located("test", "path", "C:/plans") == Path("C:/plans")


def test_what_is_written_is_read_and_replaced(folder: StorePath) -> None:
    path = folder / "new" / "plan.json"
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        path.read_bytes()
    path_of_folder = folder / "new"
    path_of_folder.mkdir()
    for text in ('{"a": "ü"}', "{\n}", ""):
        path.write_bytes(text.encode())
        assert path.read_text().rstrip("\n") == text
        assert path.exists()
    assert [each.name for each in path_of_folder.iterdir()] == ["plan.json"]
    assert path_of_folder.is_dir()
    assert [each.name for each in path_of_folder.glob("*.json")] == ["plan.json"]
    assert list(path_of_folder.glob("*.txt")) == []


def test_a_store_without_a_rename_that_replaces_is_written_too(
    folder: StorePath, session_kind: str
) -> None:
    if session_kind == "connect":
        pytest.skip("Connect does not rename")
    files: Any = folder.files
    files._conf.unset("fs.AbstractFileSystem.file.impl")  # as dbfs has none
    for text in ("one", "two"):
        (folder / "plan.json").write_bytes(text.encode())
        assert (folder / "plan.json").read_text() == text
    assert [path.name for path in folder.iterdir()] == ["plan.json"]


def test_a_folder_of_other_files_is_not_replaced_by_a_file(
    folder: StorePath, tmp_path: Path
) -> None:
    (tmp_path / "of a team" / "data").mkdir()
    (tmp_path / "of a team" / "data" / "precious").write_text("as it was")
    with pytest.raises(StoreError):
        (folder / "data").write_bytes(b"{}")
    assert [path.name for path in (tmp_path / "of a team").iterdir()] == ["data"]
    assert (tmp_path / "of a team" / "data" / "precious").read_text() == "as it was"


def test_a_saved_plan_is_loaded_and_one_that_is_not_there_is_none(folder: StorePath) -> None:
    plan = KeyPlan.of(shuffling_plan(4, np.array([7], np.uint64)), by="user", version=3)
    plan.save(folder / "plan.json")
    loaded = us.load_plan(folder / "plan.json")
    assert (str(loaded), loaded.by, loaded.hot_ids.tolist()) == (str(plan), ("user",), [7])
    with pytest.raises(us.PlanFileError, match=r"none\.json: cannot be read"):
        us.load_plan(folder / "none.json")


def test_connect_reads_what_a_classic_session_has_left(
    folder: StorePath, tmp_path: Path, session_kind: str
) -> None:
    """And the other way round: there a file is a folder with one part."""
    plan = KeyPlan.of(shuffling_plan(4, np.array([7], np.uint64)), by="user")
    other = tmp_path / "of a team" / "plan.json"
    plan.save(tmp_path / "plain.json")
    text = (tmp_path / "plain.json").read_bytes()
    if session_kind == "connect":
        other.write_bytes(text)
    else:
        other.mkdir()
        (other / "_SUCCESS").touch()
        (other / "part-00000-1-c000.txt").write_bytes(text)
    assert us.load_plan(folder / "plan.json").by == ("user",)


def test_a_running_query_finds_its_files_in_a_classic_session_only(
    folder: StorePath, spark: SparkSession, session_kind: str
) -> None:
    if session_kind == "connect":
        with pytest.raises(InvalidParameterError, match="local or mounted path in Connect"):
            plan_folder("test", folder, spark)
    else:
        assert plan_folder("test", folder, spark) == folder


def test_a_live_file_is_gone_on_with_and_damage_is_named(
    folder: StorePath, tmp_path: Path, session_kind: str
) -> None:
    if session_kind == "connect":
        pytest.skip("running queries are refused there")
    file = LiveFile(folder / "plans", "costs", "us")
    for number in range(5):
        file.write([str(number)])
    assert file.damaged() == []
    newest = next((tmp_path / "of a team" / "plans").glob("costs-*.txt"))
    newest.write_text("garbage")
    (newest.parent / f".{newest.name}.crc").unlink()
    again = LiveFile(folder / "plans", "costs", "us")
    assert again.damaged() == [newest.name]
    assert again.read("test") in (["3"], ["4"])
    again.write(["next"])
    assert again.damaged() == []
    assert again.read("test") == ["next"]


def test_a_record_in_a_store_lets_its_older_half_go(
    folder: StorePath, monkeypatch: pytest.MonkeyPatch, session_kind: str
) -> None:
    if session_kind == "connect":
        pytest.skip("running queries are refused there")
    monkeypatch.setattr(record, "_MOST_BYTES_IN_STORE", 2000)
    assert read_epochs(folder) == []
    for batch in range(30):
        append_epoch(folder, epoch(batch), PLAN_RECORD)
        found = [one.batch for one in read_epochs(folder)]
        assert found == list(range(batch + 1))[-len(found) :]
        assert len(found) >= min(batch + 1, 3)
    assert len(found) < 20


def test_event_logs_are_copied_and_read(
    folder: StorePath, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "of a team" / "logs"
    for name in ("app-1", "app-2"):
        write(
            logs / name, [started(), executor(2), *job(500), task(3, 1000, 9000, 10), completed(3)]
        )
    write(logs / "eventlog_v2_app-3" / "events_1_app-3", [started(), executor(1), *job(500)])
    copies: list[Path] = []
    copy = StorePath.copy

    def noted(store: StorePath, target: Path) -> None:
        copies.append(target)
        copy(store, target)

    monkeypatch.setattr(StorePath, "copy", noted)
    history = read_history(cast(Any, folder / "logs"))
    assert len(history.applications) == 3
    assert history.skipped == []
    assert not copies[0].exists(), "the copy was left"
    (one,) = read_history(cast(Any, folder / "logs" / "app-1")).applications
    assert one.path == f"file:{logs}/app-1"
    with pytest.raises(EventLogError, match="none: no such file or folder"):
        read_history(cast(Any, folder / "none"))


def test_versions_of_plans_are_numbered_on(folder: StorePath, session_kind: str) -> None:
    if session_kind == "connect":
        pytest.skip("running queries are refused there")
    plan = shuffling_plan(4, np.array([7], np.uint64), member=HASHED_MEMBER)
    for number in (1, 2):
        assert PlanStore(folder / "plans").save(plan, by="user").version == number
    store: Any = PlanStore(folder / "plans")
    assert store.versions() == [1, 2]
    latest = store.latest()
    assert (latest.version, latest.by) == (2, ("user",))
    assert store.plan_of(3) is None
