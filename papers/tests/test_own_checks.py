"""Our own promises: the small run says of each what is expected, and rows can contradict it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from unskew_papers.own.workloads import stream_of
from unskew_papers.registry import all_experiments
from unskew_papers.rows import Rows


def verdicts(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, bool]:
    experiment = all_experiments()[f"own/{name}"]
    return {judged["name"]: judged["holds"] for judged in experiment.judge(Rows(rows))}


def even_rows(
    workers: int = 100, learn: float = 0.2, plans: int = 0, **changes: Any
) -> list[dict[str, Any]]:
    """One setting that keeps every promise: 1,000 keys, wrap and two others, one of which splits.

    Where plans follow the first one there is only wrap.
    """
    setting = {"stream": "LN1", "workers": workers, "learn": learn, "draw": 0, "keys": 1000}
    setting["plans"] = plans
    sizes = {"learned": int(1e7 * learn), "rows": int(1e7 * (1 - learn))}
    wrap = {"scheme": "wrap", "imbalance": 0.9, "replication": 1.05, "memory": 1050}
    shuffle = {"scheme": "shuffle", "imbalance": 0.0, "replication": 9.0, "memory": 9000}
    key = {"scheme": "key", "imbalance": 80.0, "replication": 1.0, "memory": 1000}
    schemes = ({**wrap, **changes}, shuffle, key)[: 1 if plans else 3]
    return [{**setting, **sizes, **each} for each in schemes]


ALL = [*even_rows(), *even_rows(learn=0.5), *even_rows(plans=40)]


def test_rows_that_keep_every_limit_hold_every_claim_on_wrap() -> None:
    assert all(verdicts("wrap-even", ALL).values())


@pytest.mark.parametrize(
    ("changed", "contradicted"),
    [
        pytest.param({"imbalance": 1.1}, {"one-percent", "near-the-best"}, id="uneven"),
        pytest.param(
            {"imbalance": 3.1, "workers": 500},
            {"three-percent", "three-percent-of-all", "near-the-best"},
            id="uneven on many workers",
        ),
        pytest.param(
            {"imbalance": 3.1, "workers": 1000},
            {"three-percent-of-all", "near-the-best"},
            id="8,000 measured rows per worker count for one reading only",
        ),
        pytest.param({"imbalance": 1.5, "workers": 500}, {"near-the-best"}, id="another is best"),
        pytest.param({"memory": 1100}, {"memory"}, id="W keys more than there are"),
        pytest.param({"replication": 9.0}, {"replication"}, id="no less than one that splits"),
        pytest.param(
            {"imbalance": 1.1, "learn": 0.5}, {"one-percent-as-many"}, id="learned from as many"
        ),
        pytest.param(
            {"imbalance": 3.1, "plans": 40, "memory": 1100},
            {"one-percent-following", "three-percent-following"},
            id="uneven though plans follow; W − 1 is a promise for one plan",
        ),
    ],
)
def test_one_setting_contradicts_the_claims_that_it_breaks_and_no_other(
    changed: dict[str, Any], contradicted: set[str]
) -> None:
    found = verdicts("wrap-even", [*ALL, *_another_stream(changed)])
    assert {name for name, holds in found.items() if not holds} == contradicted


def test_places_that_add_up_over_plans_are_held_against_those_that_split() -> None:
    found = verdicts("wrap-even", [*even_rows(), *even_rows(plans=40, replication=9.0)])
    assert not found["replication-following"]
    assert found["replication"]


def _another_stream(changed: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**row, "stream": "LN2"} for row in even_rows(**changed)]


def drift_rows(own: float, partial_key: float, popularity: float) -> list[dict[str, Any]]:
    """One setting; with fewer plans wrap would be far worse, which does not count."""
    found = {"partial-key": partial_key, "popularity": popularity, "w-choices": 1e-9}
    rows = [{"scheme": name, "epoch": None, "fraction": value} for name, value in found.items()]
    rows += [{"scheme": "wrap", "epoch": at, "fraction": own * at / 1000} for at in (5000, 1000)]
    return [{"stream": "drift-1.2", "workers": 5, **row} for row in rows]


@pytest.mark.parametrize(
    ("fractions", "everywhere", "where_uneven"),
    [
        pytest.param((1e-3, 2e-3, 9e-3), True, True, id="half of the better"),
        pytest.param((1.1e-3, 2e-3, 9e-3), False, False, id="more than half of partial-key's"),
        pytest.param((1.1e-3, 9e-3, 2e-3), False, False, id="more than half of popularity's"),
    ],
)
def test_wrap_has_to_be_at_half_of_the_better_of_two(
    fractions: tuple[float, float, float], everywhere: bool, where_uneven: bool
) -> None:
    found = verdicts("wrap-drift", drift_rows(*fractions))
    assert found == {"half": everywhere, "half-where-uneven": where_uneven}


def test_where_partial_key_is_even_the_weaker_claim_does_not_ask() -> None:
    other = [{**row, "stream": "LN1"} for row in drift_rows(1e-3, 2e-3, 9e-3)]
    found = verdicts("wrap-drift", [*drift_rows(4e-4, 5e-4, 9e-3), *other])
    assert found == {"half": False, "half-where-uneven": True}


@pytest.mark.parametrize(
    ("auto", "best", "key", "expected"),
    [
        pytest.param(1.049, 1.0, 1.04, (True, True), id="within both limits"),
        pytest.param(1.051, 1.0, 1.04, (False, True), id="above the best by more than 5 %"),
        pytest.param(1.04, 1.0, 1.01, (True, False), id="above hashing by more than 2 %"),
    ],
)
def test_auto_is_held_against_the_best_and_against_hashing(
    auto: float, best: float, key: float, expected: tuple[bool, bool]
) -> None:
    times = {"auto": auto, "key": key, "shuffle": best, "partial-key": 2, "w-choices": 2, "wrap": 2}
    rows = [
        {"kind": "steady", "stream": "LN1", "workers": 5, "scheme": name, "time": time}
        for name, time in times.items()
    ]
    assert tuple(verdicts("auto", rows).values()) == expected


def test_the_drifting_stream_has_ten_sets_of_hot_keys_whatever_its_length() -> None:
    batches = stream_of("drift-2.0", 50_000, seed=1).batches(5_000)
    hottest = {int(np.bincount(batch.keys.astype(np.int64)).argmax()) for batch in batches}
    assert len(hottest) == 10


def predicted(imbalance: float, replication: float) -> list[dict[str, Any]]:
    """One scheme, of which λ = 20 % and a replication of 2 are measured."""
    setting = {"stream": "LN2", "workers": 5, "scheme": "key", "imbalance": 20, "replication": 2}
    found = {"predicted_imbalance": imbalance, "predicted_replication": replication}
    ways = ("all rows", "a fifth of the rows")
    return [{**setting, **found, "looked_at": way} for way in ways]


@pytest.mark.parametrize(
    ("found", "contradicted"),
    [
        pytest.param((21.9, 2.19), set(), id="within 10 %"),
        pytest.param((22.1, 1.9), {"imbalance"}, id="λ off by more than 10 %, the time by 2 %"),
        pytest.param((35.0, 2.0), {"imbalance", "time"}, id="the time as well"),
        pytest.param((20.0, 2.21), {"replication"}, id="replication"),
    ],
)
def test_predictions_are_held_against_what_is_measured(
    found: tuple[float, float], contradicted: set[str]
) -> None:
    names = {name for name, holds in verdicts("diagnose", predicted(*found)).items() if not holds}
    assert names == contradicted | {f"{name}-sampled" for name in contradicted}


def test_an_imbalance_that_is_chance_is_not_held_against_a_prediction() -> None:
    even = [{**row, "stream": "LN1", "imbalance": 0.5} for row in predicted(0.9, 2.0)]
    assert all(verdicts("diagnose", [*even, *predicted(20.0, 2.0)]).values())
