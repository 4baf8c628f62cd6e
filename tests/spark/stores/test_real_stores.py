"""Plans in HDFS, and in S3 by way of Hadoop's S3A: both run here, and S3 fails when told to."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.maven_jars import NoJarsError, maven_jars

pytestmark = pytest.mark.slow

SDK = "2.35.4"
ACCELERATOR = "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1"
# Of the AWS SDK what S3A loads here: the bundle that it depends on has 600 MB.
SDK_PARTS = ("s3", "s3-transfer-manager", "sts", "apache-client")
# Spark has these itself.
OF_SPARK = (
    "commons-codec",
    "commons-logging",
    "netty-buffer",
    "netty-codec",
    "netty-common",
    "netty-handler",
    "netty-resolver",
    "netty-transport",
    "slf4j",
)
MISSING = [name for name in ("moto", "flask", "flask_cors") if not importlib.util.find_spec(name)]
ROOT = Path(__file__).parents[3]
Facts = dict[str, dict[str, Any]]


def jars(kind: str, hadoop: str) -> list[Path]:
    """Return what Spark needs for a store, of the version of its Hadoop."""
    if kind == "hdfs":
        name = "hadoop-client-minicluster"
        return maven_jars(
            f"{name}-{hadoop}", [f"org.apache.hadoop:{name}:{hadoop}"], transitive=False
        )
    own = [f"org.apache.hadoop:hadoop-aws:{hadoop}", ACCELERATOR]
    connector = maven_jars(f"hadoop-aws-{hadoop}-alone", own, transitive=False)
    parts = [f"software.amazon.awssdk:{part}:{SDK}" for part in SDK_PARTS]
    sdk = maven_jars(f"aws-sdk-{SDK}", parts)
    return [*connector, *(path for path in sdk if not path.name.startswith(OF_SPARK))]


@pytest.fixture(scope="module", params=["hdfs", "s3a"])
def facts(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Facts:
    """What the program says of one store, by case."""
    kind = request.param
    if kind == "s3a" and MISSING:
        pytest.skip(f"an S3 on this machine needs {', '.join(MISSING)}")
    hadoop: Any = spark._jvm
    try:
        found = jars(kind, str(hadoop.org.apache.hadoop.util.VersionInfo.getVersion()))
    except NoJarsError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp(kind)
    program = "tests.spark.stores.stores_program"
    done = subprocess.run(
        [sys.executable, "-m", program, kind, str(folder), *map(str, found)],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [line.partition(" ")[2] for line in done.stdout.splitlines() if "REPORT" in line]
    return {"store": {"kind": kind}, **{fact.pop("case"): fact for fact in map(json.loads, lines)}}


def test_whoever_reads_a_saved_plan_finds_the_old_one_or_the_new(facts: Facts) -> None:
    assert facts["saved"]["errors"] == []
    assert facts["saved"]["seen"] == [4, 8], "one of the two plans was never read"
    assert facts["saved"]["names"] == ["plan.json"], "something was left beside it"
    assert facts["loaded"]["is_same"]


def test_a_plan_that_is_not_there_is_a_plan_file_error(facts: Facts) -> None:
    assert "saved/plan.json: cannot be read (no such file)" in facts["saved"]["missing"]


def test_event_logs_are_read_there(facts: Facts) -> None:
    assert (facts["history"]["name"], facts["history"]["path"]) == ("by hand", "/logs/app-1")


def test_queries_are_exact_and_follow_what_the_store_has_also_when_started_again(
    facts: Facts,
) -> None:
    """In Python tasks and in the JVM; a version of −1 would say that no task has found it."""
    names = {"hdfs": ["by-plan", "by-flow", "by-cost"], "s3a": ["by-plan", "by-weight"]}
    for name in names[facts["store"]["kind"]]:
        stream = facts[name]
        assert stream["is_exact"], name
        assert stream["batches"] == stream["versions"] == [0, 1], name
        assert stream["rows"] == [4000, 4000], name
    assert facts["by-plan"]["imbalance"][0] > 100
    assert facts["by-plan"]["imbalance"][1] < 12
    assert facts["loads"]["rows"] == 8000
    assert facts["versions"]["plans"] == [1]


def test_a_store_that_fails_every_tenth_call_stops_no_query(facts: Facts) -> None:
    if facts["store"]["kind"] == "hdfs":
        pytest.skip("S3 alone is told to fail")
    stream = facts["every-tenth"]
    assert stream["is_exact"]
    assert stream["refused"] >= 8
    assert stream["batches"] == [0, 1, 2, 3]
    # The micro-batch in which a file could not be read follows the older one, or hashing.
    assert max(stream["versions"]) == 1
    assert min(stream["imbalance"]) < 12


def test_a_store_that_is_away_delays_plans_and_what_was_learned_comes_later(facts: Facts) -> None:
    if facts["store"]["kind"] == "hdfs":
        pytest.skip("S3 alone is told to fail")
    for name, versions in (("away-by_plan", [0, 1, 1]), ("away-by_flow", [0, 3, 4])):
        stream = facts[name]
        assert stream["is_exact"], name
        assert stream["refused"] >= 20, name
        assert stream["batches"] == [2, 3, 4], "the record has what came after"
        assert stream["versions"] == versions, name
