"""Word counts from a topic to a topic, on a real broker that is restarted on the way."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark
import pytest
from tests.apps.running.kafka_wordcount import MALFORMED, WORDS
from tests.kafka_broker import NoBrokerError, kafka_jars
from tests.maven_jars import NoJarsError, is_cached, maven_jars

from unskew.apps.running.kafka import CONNECTOR, connector

# Where a mirror of Maven Central lags behind: parts of the last release that are all there.
_OLDER = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)


def connector_for_tests() -> dict[str, str]:
    """Return the environment in which Spark finds its connector.

    Of Spark's own version by its own means, if Maven finds that; else older jars.
    """
    if os.environ.get(CONNECTOR):
        return {}
    try:
        if not is_cached("connector-older"):
            maven_jars(f"connector-{pyspark.__version__}", [connector()])
            return {}
    except NoJarsError:
        pass
    jars = maven_jars("connector-older", _OLDER, transitive=False)
    return {CONNECTOR: ",".join(map(str, jars))}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    try:
        kafka_jars()
        environment = connector_for_tests()
    except (NoBrokerError, NoJarsError) as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("kafka")
    command = [sys.executable, "-m", "tests.apps.running.kafka_wordcount", str(folder)]
    with subprocess.Popen(
        command,
        cwd=Path(__file__).parents[3],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=1800)
        finally:
            with suppress(ProcessLookupError):  # whatever happened, no broker stays behind
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, err[-4000:]
    (line,) = [line for line in out.splitlines() if line.startswith("REPORT ")]
    found: dict[str, Any] = json.loads(line.removeprefix("REPORT "))
    return found


@pytest.mark.kafka
@pytest.mark.slow
def test_counts_are_exact_though_the_broker_is_restarted(report: dict[str, Any]) -> None:
    assert report["restarts"] == 1
    assert report["batches"] > 1
    assert report["wrong"] == []
    assert report["equal"]


@pytest.mark.kafka
@pytest.mark.slow
def test_records_that_are_no_rows_are_counted(report: dict[str, Any]) -> None:
    assert report["rows"] == len(WORDS) + len(MALFORMED)
    assert report["dead_letters"] == len(MALFORMED)


@pytest.mark.kafka
@pytest.mark.slow
def test_a_missing_topic_and_a_missing_broker_are_told_before_the_query(
    report: dict[str, Any],
) -> None:
    assert "has no topic 'nothing'" in report["no_topic"]
    assert "no Kafka broker answers" in report["no_broker"]


@pytest.mark.kafka
@pytest.mark.slow
def test_the_skew_of_a_topic_is_found(report: dict[str, Any]) -> None:
    found = report["diagnosed"]
    assert found["code"] is None or found["code"] == 0
    records = len(WORDS) + len(MALFORMED)
    assert found["profile"]["rows"] == records
    assert found["profile"]["top_keys"][0]["key"] == "the"
    assert found["profile"]["p1"] == pytest.approx(WORDS.count("the") / records)
