"""A job over one hot key that runs out of memory with Spark's window finishes with ours."""

from collections.abc import Callable

from tests.conftest import Reports


def test_a_hot_key_that_is_too_much_for_one_task_is_not_for_eight(
    run_driver: Callable[..., Reports],
) -> None:
    found = run_driver("hot_window")
    assert "MemoryError" in found["Spark's window"]["error"]
    assert found["us.window"]["totals"] == found["us.window"]["expected"]
