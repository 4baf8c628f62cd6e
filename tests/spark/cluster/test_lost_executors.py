"""An executor is killed in the middle of its rows: no row is lost, none counts twice."""

from collections.abc import Callable
from typing import Any

import pytest

BATCH = [
    "wrap, while rows are routed",
    "wrap, while rows are worked on",
    "partial-key, while rows are routed",
    "costs, while rows are routed",
]
STREAMS = [
    "a stream that is grouped, while rows are routed",
    "a stream that is applied to, while rows are worked on",
]


@pytest.fixture(scope="module")
def in_batch(run_driver: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_driver("lost_executors_in_batch", tmp_path_factory.mktemp("batch"))


@pytest.mark.parametrize("case", BATCH)
def test_a_batch_is_exact_although_an_executor_was_killed(in_batch: Any, case: str) -> None:
    facts = in_batch[case]
    assert facts["killed"]
    assert facts["repeated"], "nobody had to take over the killed task"
    assert facts["routed_again"], "no output of the routed shuffle was lost"
    assert facts["exact"]
    assert facts["keys"] == 102


@pytest.fixture(scope="module")
def in_streams(run_driver: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_driver("lost_executors_in_streams", tmp_path_factory.mktemp("streams"))


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_is_exact_although_an_executor_was_killed(in_streams: Any, case: str) -> None:
    facts = in_streams[case]
    assert facts["repeated"], "nobody had to take over a killed task"
    assert facts["exact"]
    assert facts["rows"] == 101
    # The micro-batch in question followed a plan that the stream had learned before.
    assert facts["followed"][2] >= 1
    assert facts["counted"] == [8000] * 4
