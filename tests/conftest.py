"""What tests share: a Spark session per process, programs with sessions of their own, and more."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession
from tests.cheap_settings import FEW_STATES, IDLE, INTERPRETED, PARTITIONS, PLAIN_FILES

from unskew.spark.session import session

_HERE = Path(__file__).parent
# What is interpreted here is compiled where the same runs as a batch.
_CHEAP = {**FEW_STATES, **IDLE, **INTERPRETED}
# "connect" lets tests run through Spark Connect. It is a matter of the whole process: Spark's
# functions make columns of either kind.
_KIND = os.environ.get("UNSKEW_TEST_SESSION", "classic")

_SETTINGS = {PARTITIONS: "4", "spark.sql.session.timeZone": "UTC"}

# What would give the executors of a program another Python, or modules that they shall not have.
_NOT_PASSED_ON = ("PYSPARK_PYTHON", "PYTHONPATH")

Reports = dict[str, dict[str, Any]]

# A shell starts what runs behind it without Ctrl-C; processes of the tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test looks at the clock: the first example may have to compile a loop.
settings.register_profile("unskew", deadline=None)
settings.load_profile("unskew")


# Files that take longest come first, or one of two processes would have to wait for the other.
_FIRST = (
    "test_executors.py",
    "test_connect.py",
    "test_killed_driver.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE / "spark" in item.path.parents or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if _HERE / "spark" / "cluster" in item.path.parents:
            item.add_marker(pytest.mark.cluster)
        features = [marker.args[0] for marker in item.iter_markers("matrix")]
        item.user_properties += [("feature", feature) for feature in features]
    items.sort(key=lambda item: (*_FIRST, item.path.name).index(item.path.name))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two threads, four shuffle partitions, UTC; ANSI as Spark 4 has it: on."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    running = _connected() if _KIND == "connect" else _classic(warehouse)
    for name, value in (_SETTINGS | PLAIN_FILES).items():
        running.conf.set(name, value)
    yield running
    running.stop()


@pytest.fixture
def session_kind(spark: SparkSession) -> str:
    """Say which kind of session this is: classic or connect."""
    return "connect" if type(spark).__module__.startswith("pyspark.sql.connect") else "classic"


@pytest.fixture(params=["true", "false"], ids=["adaptive", "not adaptive"])
def adaptive(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test with adaptive execution, and again without."""
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield
    spark.conf.set("spark.sql.adaptive.enabled", str(before))


@pytest.fixture
def few_partitions(spark: SparkSession) -> Iterator[None]:
    """Let states of streams, a folder each, be few."""
    with _settings_for_now(spark, FEW_STATES):
        yield


@pytest.fixture
def cheap_streams(spark: SparkSession) -> Iterator[None]:
    """Let streams, of which there are many, cost little."""
    with _settings_for_now(spark, _CHEAP):
        yield


@contextmanager
def _settings_for_now(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="session")
def run_driver() -> Callable[..., Reports]:
    """Return a function that runs a program of ``cluster`` and returns its reports by case."""

    def run(program: str, *arguments: object) -> Reports:
        command = [sys.executable, "-m", f"tests.spark.cluster.{program}", *map(str, arguments)]
        env = {name: os.environ[name] for name in os.environ if name not in _NOT_PASSED_ON}
        done = subprocess.run(
            command,
            cwd=_HERE.parent,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        lines = [line.partition(" ")[2] for line in done.stdout.splitlines() if "REPORT" in line]
        return {fact.pop("case"): fact for fact in map(json.loads, lines)}

    return run


def _classic(warehouse: Path) -> SparkSession:
    static = {"spark.driver.memory": "2g", "spark.sql.warehouse.dir": str(warehouse)}
    running = session(master="local[2]", app_name="unskew tests", **static)
    running.sparkContext.setLogLevel("ERROR")
    return running


def _connected() -> SparkSession:
    """Return a session whose server this process starts."""
    os.environ["SPARK_TESTING"] = "1"  # on a free port, since another test may have a server too
    builder: SparkSession.Builder = SparkSession.builder
    running = builder.remote("local[2]").getOrCreate()
    for name, value in INTERPRETED.items():  # the classic session compiles the same queries
        running.conf.set(name, value)
    return running
