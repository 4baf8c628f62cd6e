"""Delta Lake and Apache Iceberg, from their own packages, on a Spark version that they support."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.maven_jars import NoJarsError, cache_folder, maven_jars

pytestmark = pytest.mark.slow

SPARK = "4.1.4"
PACKAGES = {
    "delta": "io.delta:delta-spark_4.1_2.13:4.1.0",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
}
ROOT = Path(__file__).parents[3]
Facts = dict[str, dict[str, Any]]


def pyspark_folder() -> Path:
    """Return a folder with the PySpark that both support, from PyPI, once, in the user's cache."""
    folder = cache_folder(f"pyspark-{SPARK}")
    if not folder.exists():
        making = folder.with_name(f"{folder.name}-{os.getpid()}")
        command = [sys.executable, "-m", "pip", "install", "--quiet", f"pyspark=={SPARK}"]
        done = subprocess.run(
            [*command, "--target", str(making)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            shutil.rmtree(making, ignore_errors=True)
            pytest.skip(f"PySpark {SPARK} cannot be had: {done.stderr.strip()[-200:]}")
        making.rename(folder)
    return folder


@pytest.fixture(scope="module", params=PACKAGES)
def facts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """What the program says of one format, by case."""
    kind = request.param
    try:
        jars = maven_jars(f"{kind}-{PACKAGES[kind].rpartition(':')[2]}", [PACKAGES[kind]])
    except NoJarsError as error:
        pytest.skip(str(error))
    spark = pyspark_folder()
    # Spark has these itself.
    own = [path for path in jars if not path.name.startswith(("scala-", "log4j", "slf4j", "jsr"))]
    program = "tests.spark.lakehouse.tables_program"
    folder = tmp_path_factory.mktemp(kind)
    source = os.pathsep.join(map(str, (spark, ROOT / "src", ROOT)))
    env = {**os.environ, "PYTHONPATH": source, "SPARK_HOME": str(spark / "pyspark")}
    done = subprocess.run(
        [sys.executable, "-m", program, kind, str(folder), *map(str, own)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [line.partition(" ")[2] for line in done.stdout.splitlines() if "REPORT" in line]
    found: Facts = {fact.pop("case").rpartition(".")[2]: fact for fact in map(json.loads, lines)}
    assert found["version"]["spark"] == SPARK
    return {**found, "format": {"name": kind}}


def test_files_are_those_that_were_predicted(facts: Facts) -> None:
    written = facts["sales"]
    assert written["files"] == written["predicted"] <= written["partitions"] + 8 - 1
    assert sum(written["per_partition"]) - written["partitions"] == written["extra"]
    assert written["per_partition"][0] > 1
    assert written["rows"] == pytest.approx(written["predicted_rows"], rel=0.1, abs=5)
    assert sum(written["rows"]) == 60_000


def test_a_merge_from_a_balanced_source_is_exact(facts: Facts) -> None:
    merged = facts["merge"]
    assert merged["rows"] == merged["expected"] == 72_000
    assert merged["missing"] == merged["surplus"] == 0


def test_iceberg_shuffles_again_unless_its_distribution_mode_is_none(facts: Facts) -> None:
    if facts["format"]["name"] == "delta":
        assert "shuffled" not in facts  # Delta has no such mode
        return
    shuffled = facts["shuffled"]
    assert shuffled["files"] == shuffled["partitions"] < shuffled["predicted"]
