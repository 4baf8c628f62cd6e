"""A grouping is one file: the two below are defined and registered here, and run everywhere."""

import inspect
import re
import sys
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.groupings import test_conformance
from typer.testing import CliRunner

import unskew
import unskew.spark as us
from unskew import GROUPINGS, Grouping, Plan, PlannedGrouping, register, simulate, zipf
from unskew.cli.main import app
from unskew.errors import InvalidGroupingError
from unskew.groupings.base import LearnedGrouping, OfflineGrouping, SparkMode, Weights, Workers
from unskew.groupings.key import KeyGrouping
from unskew.groupings.plan import hashing_plan
from unskew.groupings.wrap import Wrap
from unskew.hashing import Ids
from unskew.scheduling import LoadArray
from unskew.sketches.space_saving import SpaceSaving

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

WORKERS = 4
CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


class Neighbours(Grouping):
    """Send rows of a key to its hash worker and the next one, alternately."""

    name: ClassVar[str] = "neighbours"
    paper: ClassVar[str] = "a test"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        super().__init__(workers, seed=seed)
        self._rows = 0

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        turns = (self._rows + np.arange(ids.size)) % 2
        self._rows += ids.size
        out[:] = (ids % np.uint64(self.workers) + turns.astype(np.uint64)) % np.uint64(self.workers)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        first = int(key_id % np.uint64(self.workers))
        return tuple(sorted({first, (first + 1) % self.workers}))


class Backwards(PlannedGrouping):
    """Hash keys, and number the workers from the last to the first."""

    name: ClassVar[str] = "backwards"
    paper: ClassVar[str] = "a test"
    splits_keys: bool = False
    spark: ClassVar[SparkMode | None] = "plan"
    learns_on_streams: ClassVar[bool] = True

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        super().__init__(workers, n_slots=workers, n_counters=8, seed=seed)

    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        plan = hashing_plan(self.workers, self.plan.slot_member, self.workers)
        plan.slot_workers[:] = plan.slot_workers[::-1].copy()
        return plan


SCHEMES: list[type[Grouping]] = [Neighbours, Backwards]
NAMES = [scheme.name for scheme in SCHEMES]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for scheme in SCHEMES:
        register(scheme)
    yield
    for scheme in SCHEMES:
        del GROUPINGS[scheme.name]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(4_000).select((sf.col("id") * sf.col("id") % 37).alias("user"), "id")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_is_simulated(scheme: type[Grouping]) -> None:
    result = simulate(scheme(WORKERS), zipf(keys=100, exponent=1.0, rows=10_000), sources=3)
    assert sum(result.loads) == result.rows
    assert getattr(unskew, scheme.__name__) is scheme


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["compare", "diagnose", "groupings"])
def test_the_command_line_knows_it(name: str, command: str, tmp_path: Any) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("user\n" + "\n".join(str(number * number % 37) for number in range(999)))
    arguments = {
        "compare": ["compare", "--workers", "4", "--stream", "zipf:rows=10k,keys=100", "--json"],
        "diagnose": ["diagnose", str(data), "--by", "user", "--workers", "4", "--json"],
        "groupings": ["groupings", "--json"],
    }
    found = CliRunner().invoke(app, arguments[command])
    assert found.exit_code == 0, found.output
    assert name in found.output


@pytest.mark.spark
@pytest.mark.parametrize("name", NAMES)
def test_spark_places_rows_by_it_and_results_are_exact(rows: DataFrame, name: str) -> None:
    placed = us.balance(rows, "user", WORKERS, grouping=name)
    assert placed.count() == rows.count()
    assert placed.rdd.getNumPartitions() == WORKERS
    expected = sorted(map(tuple, rows.groupBy("user").agg(sf.sum("id")).collect()))
    grouped = us.group_by(rows, "user", workers=WORKERS, grouping=name)
    assert sorted(map(tuple, grouped.agg(sf.sum("id")).collect())) == expected


@pytest.mark.spark
def test_a_plan_of_it_is_followed(rows: DataFrame) -> None:
    plan = us.plan(rows, "user", WORKERS, grouping="backwards")
    assert plan.slot_workers.tolist() == [3, 2, 1, 0]
    hashed = us.plan(rows, "user", WORKERS, grouping="key")
    pairs = [
        us.balance(rows, "user", WORKERS, plan=one).select("id", sf.spark_partition_id().alias("w"))
        for one in (plan, hashed)
    ]
    first, second = (dict(map(tuple, placed.collect())) for placed in pairs)
    assert all(first[row] == WORKERS - 1 - worker for row, worker in second.items())


@pytest.fixture(scope="module")
def routes_of_another_process() -> dict[str, list[int]]:
    here = "tests.groupings.test_one_file_grouping"
    register_all = f"import {here} as here; [here.register(each) for each in here.SCHEMES]"
    return test_conformance.routes_elsewhere(NAMES, first=register_all)


LAWS = [
    pytest.param(scheme.name, law, id=f"{scheme.name}-{name}")
    for name, law in vars(test_conformance).items()
    if name.startswith("test_") and "spec" in signature(law).parameters
    for scheme in SCHEMES
    if test_conformance.is_asked_of(scheme(WORKERS), name)
]


@pytest.mark.parametrize(("name", "law"), LAWS)
def test_it_conforms(name: str, law: Any, request: pytest.FixtureRequest) -> None:
    law(name, *(request.getfixturevalue(each) for each in [*signature(law).parameters][1:]))


def test_the_snippet_in_contributing_is_a_grouping() -> None:
    text = CONTRIBUTING.read_text()
    [snippet] = [each for each in re.findall(r"```python\n(.*?)```", text, re.S) if "@reg" in each]
    exec(snippet, {"__name__": "contributing"})  # noqa: S102 (our own)
    try:
        loads = simulate(GROUPINGS["your-scheme"](WORKERS), zipf(100, 1.0, 10_000)).loads
        test_conformance.test_candidates_never_miss_a_worker_used("your-scheme")
    finally:
        del GROUPINGS["your-scheme"]
    assert min(loads) > 0


@pytest.mark.parametrize("base", [Grouping, OfflineGrouping, PlannedGrouping])
def test_contributing_names_all_that_can_be_declared(base: type) -> None:
    text = CONTRIBUTING.read_text()
    assert [name for name in inspect.get_annotations(base) if f"`{name}`" not in text] == []


def made(**declared: Any) -> type[Grouping]:
    body = {"name": "made", "paper": "a test", "splits_keys": False, **declared}
    routing = {"_route": Neighbours._route, "_candidates": Neighbours._candidates}
    return type("Made", (Grouping,), {**routing, **body})


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"spark": "plan"}, "makes no plan"),
        ({"spark": "natively"}, "declares spark = 'natively'"),
        ({"spark": "online", "learns_on_streams": True}, "makes no plan from counts"),
        ({"spark": "online", "remembers_on_streams": True}, "not derived from Flow"),
        ({"takes_weights": True}, "does not run there"),
        ({"name": "wrap"}, "as Wrap is already"),
        ({"_route": Grouping._route}, "does not write _route"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_whoever_declares_what_it_cannot_do_is_refused(
    declared: dict[str, Any], problem: str
) -> None:
    before = dict(GROUPINGS)
    with pytest.raises(InvalidGroupingError, match=problem):
        register(made(**declared))
    assert before == GROUPINGS


def test_only_classes_of_groupings_are_registered() -> None:
    for thing in (Wrap(4), dict, "wrap"):
        with pytest.raises(InvalidGroupingError, match="is not a class derived from Grouping"):
            register(thing)  # type: ignore[type-var] # wrong on purpose


class LearnsOnlyInTheSimulator(KeyGrouping, LearnedGrouping):
    """Learns, and has a fixed plan, but nothing that could learn on Spark."""

    is_built = False

    def build(self) -> Self:
        return self

    def adopt(self, planner: Self) -> None:
        pass

    def _learn(self, ids: Ids, weights: Weights) -> None:
        pass


@pytest.mark.parametrize(
    ("base", "declared", "problem"),
    [
        (Wrap, {"spark": "online"}, "has to learn first"),
        (KeyGrouping, {"spark": "round-robin"}, "not derived from Shuffle"),
        (KeyGrouping, {"spark": "costs"}, "not derived from ProactiveShuffle"),
        (KeyGrouping, {"variants": ("hash=3",)}, "variants: .*hash"),
        (KeyGrouping, {"spark_requires": {"hash": 3}}, "'hash', which is no parameter"),
        (LearnsOnlyInTheSimulator, {"spark": "plan"}, "no planner that could learn on Spark"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_scheme_that_would_be_placed_otherwise_on_spark_is_refused(
    base: type[Grouping], declared: dict[str, Any], problem: str
) -> None:
    scheme = type("Made", (base,), {"name": "made", **declared})
    with pytest.raises(InvalidGroupingError, match=problem):
        register(scheme)
    assert "made" not in GROUPINGS
