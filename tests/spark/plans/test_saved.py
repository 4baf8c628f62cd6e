import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from unskew.errors import InvalidParameterError
from unskew.groupings.plan import Plan
from unskew.groupings.wrap import Wrap
from unskew.spark.balance import balance
from unskew.spark.plans.saved import (
    DamagedPlanWarning,
    KeyPlan,
    PlanFileError,
    PlanStore,
    key_types,
    load_plan,
)
from unskew.spark.routing.schemes import grouping_for


@pytest.fixture
def grouping() -> Wrap:
    made = grouping_for("wrap", 4, seed=1)
    assert isinstance(made, Wrap)
    rng = np.random.default_rng(1)
    keys = rng.integers(-(1 << 63), 1 << 63, 50)[np.minimum(rng.geometric(0.3, 5000), 49)]
    return made.learn(keys).build()


def assert_equal(one: Plan, other: Plan) -> None:
    assert one.workers == other.workers
    for name in ("slot_member", "slot_workers", "hot_ids", "predicted_loads"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype
    for mine, others in zip(one.pieces, other.pieces, strict=True):
        np.testing.assert_array_equal(mine, others)


def save_plan(path: str | Path, plan: Plan, **about: Any) -> KeyPlan:
    made = KeyPlan.of(plan, **about)
    made.save(path)
    return made


def test_what_is_saved_is_loaded(tmp_path: Path, grouping: Wrap) -> None:
    path = tmp_path / "plan.json"
    saved = save_plan(
        path, grouping.plan, by=["a", "b"], grouping=grouping, learned_from="a test", why="drift"
    )
    loaded = load_plan(path)
    assert grouping.plan.n_split_keys > 0
    assert_equal(loaded, grouping.plan)
    assert loaded.by == ("a", "b")
    assert (loaded.grouping, loaded.parameters) == ("wrap", grouping.parameters())
    assert (loaded.learned_from, loaded.why, loaded.version) == ("a test", "drift", 1)
    assert loaded.created == saved.created
    assert json.loads(path.read_text())["format"] == 1


def test_a_saved_plan_says_its_version_and_what_it_does(tmp_path: Path, grouping: Wrap) -> None:
    saved = save_plan(tmp_path / "plan.json", grouping.plan, by="a", version=7)
    split, even = grouping.plan.n_split_keys, grouping.plan.predicted_imbalance
    expected = f"Plan v7 for a: 4 workers, {split} keys split, predicted imbalance {even:.1f} %"
    assert repr(saved) == repr(load_plan(tmp_path / "plan.json")) == expected


def test_a_plan_is_refused_for_keys_of_other_types_than_its_own(
    tmp_path: Path, grouping: Wrap
) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, grouping.plan, by=["a", "b"], types=("int", "string not null"))
    loaded = load_plan(path)
    loaded.check_fits("test", ["a", "b"], 4, ("int", "string not null"))
    loaded.check_fits("test", ["a", "b"], 4)
    for types in (("bigint", "string not null"), ("int", "string")):
        with pytest.raises(InvalidParameterError, match="keys of type"):
            loaded.check_fits("test", ["a", "b"], 4, types)


def test_a_plan_file_without_types_is_for_any(tmp_path: Path, grouping: Wrap) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, grouping.plan, by="a", types=("int",))
    fields = json.loads(path.read_text())
    del fields["types"]
    path.write_text(json.dumps(fields))
    loaded = load_plan(path)
    assert loaded.types is None
    loaded.check_fits("test", "a", 4, ("string",))


def test_types_tell_identities_apart(spark: SparkSession) -> None:
    # A null enters the identity of several columns only where there may be one.
    df = spark.range(1).selectExpr("id", "cast(id AS int) AS n", "nullif(id, 1) AS maybe")
    assert key_types(df, "id") == ("bigint",)
    assert key_types(df, ["id", "n"]) == ("bigint not null", "int not null")
    assert key_types(df, ["maybe", "n"]) == ("bigint", "int not null")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (Path("s3://bucket/plan.json"), "text where it is a URL"),
        ("file:/tmp/plan.json", "a path, or a URL of a store"),
    ],
)
def test_a_url_never_becomes_a_folder_of_this_machine(
    tmp_path: Path,
    grouping: Wrap,
    path: str | Path,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for action in (
        lambda: save_plan(path, grouping.plan, by="a"),
        lambda: load_plan(path),
        lambda: PlanStore(path),
    ):
        with pytest.raises(InvalidParameterError, match=expected):
            action()
    assert not list(tmp_path.iterdir())


def test_a_writer_that_fails_leaves_the_old_plan_and_nothing_else(
    tmp_path: Path, grouping: Wrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, grouping.plan, by="a")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        save_plan(path, grouping.plan, by="other")
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]
    assert load_plan(path).by == ("a",)


def test_a_plan_cut_off_anywhere_is_refused(tmp_path: Path, grouping: Wrap) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, grouping.plan, by="a")
    whole = path.read_bytes().rstrip()
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        with pytest.raises(PlanFileError):
            load_plan(path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"workers": 3},
        {"slot_workers": []},
        {"slot_workers": [-1]},
        {"hot_keys": [1]},
        {"piece_loads": []},
        {"piece_starts": "text"},
        {"predicted_loads": [1.0]},
    ],
    ids=str,
)
def test_a_plan_that_contradicts_itself_is_refused(
    tmp_path: Path, grouping: Wrap, change: dict[str, Any]
) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, grouping.plan, by="a")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(PlanFileError, match=r"plan\.json"):
        load_plan(path)


_TINY = [5e-324, 5e-324, 1e-323]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("slot_workers", "[1099511627776]"),
        ("slot_workers", '[true, "2", 3.9]'),
        ("workers", "Infinity"),
        ("workers", "4.9"),
        ("workers", "true"),
        ("workers", "9" * 10_000),
        ("version", '"x"'),
        ("version", "0"),
        ("piece_loads", json.dumps(_TINY)),
        ("piece_loads", "[1e308, 1e308, 1e308]"),
        ("predicted_loads", "[NaN, 1, 1, 1]"),
        ("predicted_loads", "[-1, 1, 1, 1]"),
        ("capacity", "[0, 1, 1, 1]"),
        ("capacity", '["a", 1, 1, 1]'),
        ("capacity", json.dumps([1] * 40_000 + ["9" * 10_000])),
        ("hot_keys", "[7, 7]"),
        ("by", "7"),
        ("why", "[" * 100_000 + "]" * 100_000),
        ("parameters", "[]"),
    ],
    ids=lambda value: value[:40],
)
def test_whatever_is_in_a_field_is_refused_by_its_name_and_nothing_else_comes_out(
    tmp_path: Path, grouping: Wrap, field: str, text: str
) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, grouping.plan, by="a")
    found = json.loads(path.read_text())
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    edited = [
        f"{json.dumps(field)}: {text}" if line.startswith(f'"{field}"') else line for line in lines
    ]
    path.write_text("{" + ",".join(edited) + "}")
    with pytest.raises(PlanFileError, match=r"plan\.json: not a whole plan"):
        load_plan(path)


def test_a_plan_that_was_copied_has_the_number_of_its_file(tmp_path: Path, grouping: Wrap) -> None:
    store = PlanStore(tmp_path)
    store.save(grouping.plan, by="a")
    (tmp_path / "plan-000002.json").write_text(store.path_of(1).read_text())
    latest = store.latest()
    assert latest is not None
    assert latest.version == 2


def test_no_file_is_a_plan_file_error(tmp_path: Path) -> None:
    with pytest.raises(PlanFileError, match="No such file"):
        load_plan(tmp_path / "none.json")


def test_a_plan_of_other_identities_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError):
        save_plan(tmp_path / "plan.json", Wrap(4).plan, by="a")


def test_a_store_numbers_its_plans_and_returns_the_last(tmp_path: Path, grouping: Wrap) -> None:
    store = PlanStore(tmp_path / "plans")
    assert store.latest() is None
    for version in (1, 2, 3):
        assert store.save(grouping.plan, by="a", why=f"number {version}").version == version
    assert PlanStore(tmp_path / "plans").versions() == [1, 2, 3]
    latest = store.latest()
    assert latest is not None
    assert (latest.version, latest.why) == (3, "number 3")
    assert store.path_of(3).name == "plan-000003.json"


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"format": 1}', "\0\0\0"])
def test_a_damaged_newer_plan_is_reported_once_and_never_overwritten(
    tmp_path: Path, grouping: Wrap, damage: str
) -> None:
    store = PlanStore(tmp_path)
    store.save(grouping.plan, by="a")
    (tmp_path / "plan-000002.json").write_text(damage)
    with pytest.warns(DamagedPlanWarning, match="plan-000002"):
        latest = store.latest()
    assert latest is not None
    assert latest.version == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = store.latest()
    assert again is not None
    assert again.version == 1
    assert store.save(grouping.plan, by="a").version == 3


def test_balance_takes_a_saved_plan_for_the_same_keys_and_workers_alone(
    spark: SparkSession, tmp_path: Path, grouping: Wrap
) -> None:
    saved = save_plan(tmp_path / "plan.json", grouping.plan, by="id")
    df = spark.range(100).selectExpr("id", "id AS other")
    assert balance(df, "id", 4, plan=saved).count() == 100
    for by, workers in (("id", 5), ("other", 4), (["id", "other"], 4)):
        with pytest.raises(InvalidParameterError, match="plan must be one for"):
            balance(df, by, workers, plan=saved)
