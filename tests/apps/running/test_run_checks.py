"""What cannot succeed is refused before a query starts, and says why."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.apps.running.run_cases import asked

from unskew.apps.running.kafka import CONNECTOR, connector, package_settings
from unskew.apps.running.runner import MARKER, CheckpointOwner, claim_checkpoint
from unskew.apps.running.sources import BatchSizes, parse_source
from unskew.cli.main import main
from unskew.errors import InvalidParameterError, UnknownNameError, UnskewError

MARK = CheckpointOwner("wordcount", "built-in", 100)


@pytest.mark.parametrize(
    ("more", "parameter"),
    [
        ({"source": "paper"}, "--source"),
        ({"source": "rate:many"}, "--source"),
        ({"source": "files:"}, "--source"),
        ({"source": "kafka:words"}, "--source"),
        ({"sink": "paper"}, "--sink"),
        ({"sink": "kafka:@127.0.0.1:1"}, "--sink"),
        ({"groupings": ["optimal"]}, "--grouping"),
        ({"groupings": ["key", "wrap"], "source": "rate:10"}, "--max-batches"),
    ],
    ids=lambda one: str(one),
)
def test_what_makes_no_sense_is_refused_by_name(
    tmp_path: Path, more: dict[str, Any], parameter: str
) -> None:
    groupings = more.pop("groupings", ["key"])
    with pytest.raises(InvalidParameterError) as refused:
        asked(tmp_path, *groupings, **more)
    assert refused.value.parameter == parameter


@pytest.mark.parametrize(
    ("app", "said"),
    [
        ("wordcount:window=soon", "wordcount: window must be a length"),
        ("vwap:window=5", "vwap: window must be a length"),
        ("roads:late=1 month", "roads: late must be a length"),
        ("roads:window=0 hours", "roads: window must be a length"),
        ("hashtags:k=20,capacity=10", r"hashtags: k must be an int in \[1, 10\]"),
        ("wordcount:windows=1 hour", "unknown parameter of wordcount 'windows'"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_told_before_spark_is_asked(
    tmp_path: Path, app: str, said: str
) -> None:
    with pytest.raises(UnskewError, match=said):
        asked(tmp_path, app=app)


def test_unknown_names_are_told_with_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="wordcount"):
        asked(tmp_path, app="wordcounts")
    with pytest.raises(UnknownNameError, match="partial-key"):
        asked(tmp_path, "partial")


def test_a_sink_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InvalidParameterError, match="a folder that can be written"):
        asked(tmp_path / "run", sink=f"parquet:{tmp_path / 'file' / 'out'}")


def test_a_folder_without_files_or_with_two_formats_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    with pytest.raises(InvalidParameterError, match="a folder"):
        asked(tmp_path / "run", source=f"files:{folder}")
    folder.mkdir()
    with pytest.raises(InvalidParameterError, match="none"):
        asked(tmp_path / "run", source=f"files:{folder}")
    (folder / "a.csv").touch()
    (folder / "b.json").touch()
    with pytest.raises(InvalidParameterError, match="csv and json"):
        asked(tmp_path / "run", source=f"files:{folder}")


def test_a_broker_that_is_not_there_is_told_with_its_address(tmp_path: Path) -> None:
    with pytest.raises(UnskewError, match=r"no Kafka broker answers at 127\.0\.0\.1:1 "):
        asked(tmp_path, source="kafka:words@127.0.0.1:1")


def test_a_checkpoint_belongs_to_one_application_and_source(tmp_path: Path) -> None:
    claim_checkpoint(tmp_path, MARK)
    claim_checkpoint(tmp_path, MARK)
    for other in (
        CheckpointOwner("vwap", "built-in", 100),
        CheckpointOwner("wordcount:window=1 hour", "built-in", 100),
        CheckpointOwner("wordcount", "rate:5", 100),
        CheckpointOwner("wordcount", "built-in", 200),
    ):
        with pytest.raises(UnskewError, match="a folder of its own"):
            claim_checkpoint(tmp_path, other)
    assert json.loads((tmp_path / MARKER).read_text())["application"] == "wordcount"


def test_a_checkpoint_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    with pytest.raises(UnskewError, match="not started by unskew run"):
        claim_checkpoint(tmp_path, MARK)
    assert not (tmp_path / MARKER).exists()


def test_a_damaged_marker_is_told(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text("{")
    with pytest.raises(UnskewError, match="damaged"):
        claim_checkpoint(tmp_path, MARK)


@pytest.mark.parametrize("option", ["--checkpoint", "--run-dir", "--dead-letters"])
def test_a_url_is_no_folder_of_a_run_and_makes_none(
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "wordcount", option, "s3a://bucket/run"]) == 2
    assert f"{option} must be a local or mounted path, got 's3a:/bucket/run'" in (
        " ".join(capsys.readouterr().err.split())
    )
    assert list(tmp_path.iterdir()) == []


def test_the_connector_is_of_sparks_version_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import pyspark

    monkeypatch.delenv(CONNECTOR, raising=False)
    assert connector().endswith(f":{pyspark.__version__}")
    monkeypatch.setenv(CONNECTOR, "4.0.0")
    assert connector() == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
    monkeypatch.setenv("UNSKEW_IVY_SETTINGS", "/ivy.xml")
    assert package_settings((connector(),)) == {
        "spark.jars.packages": connector(),
        "spark.jars.ivySettings": "/ivy.xml",
    }
    jars = f"{tmp_path / 'a.jar'},s3a://jars/b.jar"
    monkeypatch.setenv(CONNECTOR, jars)
    with pytest.raises(InvalidParameterError, match=r"paths of jars that exist, got '.*/a\.jar'"):
        package_settings((connector(),))
    (tmp_path / "a.jar").touch()
    assert package_settings((connector(),)) == {"spark.jars": jars}
    assert package_settings(()) == {}


def test_a_rate_is_written_as_any_other_number(tmp_path: Path) -> None:
    sizes = BatchSizes(None, None, None, tmp_path)
    assert parse_source("rate:2.5k", sizes) == parse_source("rate:2500", sizes)
