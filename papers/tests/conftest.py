"""Fixtures of the papers' tests; the Spark session is the one that the library's tests have."""

from typing import Any

import pytest
from tests.conftest import few_partitions, spark

__all__ = ["few_partitions", "spark"]

# What takes longest comes first, or one of two processes would have to wait for the other.
_FIRST = "test_figures_on_spark.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    items.sort(key=lambda item: item.path.name != _FIRST)


@pytest.fixture
def squares(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a small experiment of our own in the place of all others."""
    from papers.tests.squares import only_squares

    return only_squares(monkeypatch)
