"""What programs read: one JSON object, stable names, true numbers."""

import json
import math
from typing import Any

import pytest

from unskew._validation import check_int
from unskew.cli.main import main
from unskew.groupings.key import KeyGrouping
from unskew.groupings.registry import GROUPINGS
from unskew.simulator.loads import simulate
from unskew.simulator.queueing import simulate_queue
from unskew.streams import parse_stream

FIELDS = [
    "grouping", "workers", "sources", "rows", "keys", "p1", "loads", "imbalance_percent",
    "average_imbalance_fraction", "stddev", "replication", "memory", "seconds",
    "rows_per_second",
]  # fmt: skip
STREAM = "zipf:keys=500,exponent=1.2,rows=10000"
COSTLY = "zipf:keys=200,exponent=1.0,rows=5000,costs=8"

Capture = pytest.CaptureFixture[str]


def run_json(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    fields: dict[str, Any] = json.loads(captured.out)
    return fields


def test_simulate_prints_the_promised_fields_and_they_agree_with_each_other(
    capsys: Capture,
) -> None:
    found = run_json(capsys, "simulate", "-g", "partial-key", "-w", "7", "-s", "3",
                     "--stream", STREAM, "--seed", "1")  # fmt: skip
    assert [name for name in found if name in FIELDS] == FIELDS
    assert (found["grouping"], found["workers"], found["sources"]) == ("partial-key", 7, 3)
    assert found["rows"] == sum(found["loads"]) == 10_000
    assert all(isinstance(load, int) for load in found["loads"])
    mean = sum(found["loads"]) / 7
    assert math.isclose(found["imbalance_percent"], 100 * (max(found["loads"]) / mean - 1))
    assert math.isclose(found["replication"], found["memory"] / found["keys"])
    total = found["rows"] + found["learned_rows"]
    assert math.isclose(found["rows_per_second"], total / found["seconds"])


def test_simulate_says_what_the_library_says(capsys: Capture) -> None:
    found = run_json(capsys, "simulate", "-g", "key", "-w", "5", "--stream", STREAM, "--seed", "3")
    expected = simulate(GROUPINGS["key"](5, seed=3), parse_stream(STREAM, seed=3))
    assert found["loads"] == list(expected.loads)
    assert found["memory"] == expected.memory
    assert found["stream"] == parse_stream(STREAM).spec


def test_one_seed_gives_one_result_and_another_seed_another(capsys: Capture) -> None:
    first, again, other = (
        run_json(capsys, "simulate", "--stream", STREAM, "--seed", seed) for seed in "112"
    )
    assert first["loads"] == again["loads"] != other["loads"]


def test_a_learned_scheme_learns_from_the_share_that_was_told(capsys: Capture) -> None:
    found = run_json(capsys, "simulate", "-g", "wrap", "--learn", "0.5", "--stream", STREAM)
    assert (found["rows"], found["learned_rows"]) == (5_000, 5_000)


def test_compare_measures_all_on_the_same_rows_if_one_learns(capsys: Capture) -> None:
    found = run_json(capsys, "compare", "-g", "key", "-g", "wrap", "--stream", STREAM)
    assert [each["grouping"] for each in found["results"]] == ["key", "wrap"]
    assert [each["learned_rows"] for each in found["results"]] == [2_000, 2_000]
    assert len({(each["rows"], each["keys"], each["p1"]) for each in found["results"]}) == 1


def test_compare_measures_every_row_if_none_learns_or_all_plan_by_epoch(capsys: Capture) -> None:
    for more in (["-g", "shuffle"], ["-g", "wrap", "--epoch", "2500"]):
        found = run_json(capsys, "compare", "-g", "key", *more, "--stream", STREAM)
        assert [each["rows"] for each in found["results"]] == [10_000, 10_000]


def test_compare_tells_settings_of_one_scheme_apart(capsys: Capture) -> None:
    found = run_json(capsys, "compare", "-g", "partial-key", "-g", "partial-key:choices=4",
                     "--stream", STREAM)  # fmt: skip
    assert [each["parameters"]["choices"] for each in found["results"]] == [2, 4]


@pytest.mark.slow
def test_compare_takes_every_scheme_that_fits_in_the_order_of_the_registry(
    capsys: Capture,
) -> None:
    plain = run_json(capsys, "compare", "-w", "4", "--stream", STREAM)
    free = [name for name, scheme in GROUPINGS.items() if not scheme.needs_costs]
    assert [each["grouping"] for each in plain["results"]] == free
    assert set(plain["left_out"]) == set(GROUPINGS) - set(free)
    costly = run_json(capsys, "compare", "-w", "4", "--stream", COSTLY)
    assert [each["grouping"] for each in costly["results"]] == list(GROUPINGS)
    assert all(each["queueing"]["mean"] > 0 for each in costly["results"])


def test_a_scheme_that_refuses_so_few_workers_is_left_out_with_its_reason(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crowd(KeyGrouping):
        name = "crowd"

        def __init__(self, workers: int, *, seed: int = 0) -> None:
            check_int("Crowd", "workers", workers, minimum=5)
            super().__init__(workers, seed=seed)

    chosen = {"key": KeyGrouping, "crowd": Crowd}
    monkeypatch.setattr("unskew.groupings.registry.GROUPINGS", chosen)
    few = run_json(capsys, "compare", "-w", "4", "--stream", STREAM)
    assert [each["grouping"] for each in few["results"]] == ["key"]
    assert "an int >= 5" in few["left_out"]["crowd"]
    enough = run_json(capsys, "compare", "-w", "5", "--stream", STREAM)
    assert [each["grouping"] for each in enough["results"]] == ["key", "crowd"]


def test_queueing_is_there_for_streams_with_costs_alone(capsys: Capture) -> None:
    costly = run_json(capsys, "simulate", "-g", "shuffle", "-w", "4", "--stream", COSTLY)
    queueing = costly["queueing"]
    assert queueing["p50"] <= queueing["p95"] <= queueing["p99"] <= queueing["makespan"]
    assert queueing["mean"] > 0
    assert math.isclose(queueing["throughput"], 5_000 / queueing["makespan"])
    assert "queueing" not in run_json(capsys, "simulate", "-g", "shuffle", "--stream", STREAM)


def test_the_loads_of_schemes_that_hear_of_costs_are_those_of_the_run_with_queues(
    capsys: Capture,
) -> None:
    stream = parse_stream(COSTLY)
    for name in ("proactive-shuffle", "full-knowledge"):
        found = run_json(capsys, "simulate", "-g", name, "-w", "4", "--stream", COSTLY)
        expected = simulate_queue(GROUPINGS[name](4), stream)
        assert found["loads"] == list(expected.placement.loads)
        assert sum(found["loads"]) == found["rows"]
        assert found["queueing"]["busy"] == list(expected.busy)
        assert found["memory"] == expected.placement.memory > found["keys"]


def test_new_plans_reach_completion_times_too(capsys: Capture) -> None:
    base = ("simulate", "-g", "wrap", "-w", "4", "--stream", COSTLY)
    unplanned = run_json(capsys, *base, "--epoch", "5000")["queueing"]["mean"]
    planned = run_json(capsys, *base, "--epoch", "500")["queueing"]["mean"]
    assert planned < unplanned


def test_more_capacity_shortens_completion_and_slow_workers_lengthen_it(capsys: Capture) -> None:
    base = ("simulate", "-g", "shuffle", "-w", "2", "--stream", COSTLY)
    just, ample, slow = (
        run_json(capsys, *base, *more)["queueing"]["mean"]
        for more in ([], ["--over-provisioning", "1.5"], ["--speeds", "2,2"])
    )
    assert ample < just < slow
    phases = run_json(capsys, *base, "--speeds", "0:1,1;2500:2,2")["queueing"]["mean"]
    assert just < phases < slow


def test_weighted_loads_are_the_costs(capsys: Capture) -> None:
    found = run_json(capsys, "simulate", "-g", "key", "--weighted", "--stream", COSTLY)
    total = sum(float(batch.costs.sum()) for batch in parse_stream(COSTLY).batches()
                if batch.costs is not None)  # fmt: skip
    assert math.isclose(sum(found["loads"]), total)


def test_groupings_lists_every_scheme_with_its_defaults(capsys: Capture) -> None:
    listed = {each["name"]: each for each in run_json(capsys, "groupings")["groupings"]}
    assert list(listed) == list(GROUPINGS)
    assert listed["partial-key"]["splits_keys"]
    assert not listed["key"]["splits_keys"]
    assert listed["partial-key"]["parameters"]["choices"] == 2
    assert "Nasir" in listed["partial-key"]["paper"]


def test_streams_lists_what_the_parser_takes(capsys: Capture) -> None:
    for each in run_json(capsys, "streams")["streams"]:
        if each["name"] != "file":
            assert parse_stream(each["name"]).rows == each["parameters"]["rows"]


def test_auto_says_what_it_chose_and_why(capsys: Capture) -> None:
    found = run_json(capsys, "simulate", "-g", "auto", "-w", "5", "--stream", STREAM)
    assert found["why"].startswith("wrap: ")
    assert main(["simulate", "-g", "auto", "-w", "5", "--stream", STREAM]) == 0
    assert f"auto chose {found['why']}" in capsys.readouterr().out
    assert "why" not in run_json(capsys, "simulate", "-g", "key", "--stream", STREAM)
