from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.matrix("a lost executor, rows placed by columns")
def test_rows_placed_by_content_survive_an_executor_on_every_version(
    run_driver: Callable[..., Any], tmp_path: Path
) -> None:
    expected = {"splits": True, "exact": True, "killed": True, "repeated": True}
    assert run_driver("lost_executor", tmp_path) == {"by content": expected}
