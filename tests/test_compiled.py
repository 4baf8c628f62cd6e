"""Compiled loops on disk: what processes that compile at the same time may leave there."""

import pickle
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import config

from unskew._compiled import compiled


def total(numbers: Any) -> Any:
    found = numbers[0]
    for number in numbers[1:]:
        found += number
    return found


WHOLE, BROKEN = np.array([1, 2, 4]), np.array([0.5, 0.25])


@pytest.fixture
def swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave on disk what a race does: the code for one type under the name of another."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    loop: Any = compiled(total)
    assert (loop(WHOLE), loop(BROKEN)) == (7, 0.75)
    one, other = sorted(tmp_path.rglob("*.nbc"))
    code = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(code)


@pytest.mark.usefixtures("swapped")
def test_numba_itself_runs_code_for_other_types() -> None:
    """If this fails, `unskew._compiled` has no longer to look after it."""
    assert numba.njit(cache=True)(total)(WHOLE) != 7


@pytest.mark.usefixtures("swapped")
def test_code_for_other_types_is_not_run() -> None:
    loop: Any = compiled(total)
    assert (loop(WHOLE), loop(BROKEN)) == (7, 0.75)
    assert not loop.stats.cache_hits


@pytest.mark.usefixtures("swapped")
def test_what_was_wrong_on_disk_is_mended() -> None:
    first: Any = compiled(total)
    first(WHOLE)
    first(BROKEN)
    second: Any = compiled(total)
    assert (second(WHOLE), second(BROKEN)) == (7, 0.75)
    assert sum(second.stats.cache_hits.values()) == 2


def test_an_index_that_names_a_module_of_another_release_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    first: Any = compiled(total)
    first(WHOLE)
    (index,) = tmp_path.rglob("*.nbi")
    with index.open("rb") as file:
        known = pickle.load(file)
    # As Numba writes it: its version, and then what it knows, which names a module that is gone.
    gone = b"cunskew.sketches._gone\nTable\n."
    index.write_bytes(pickle.dumps(known) + gone)
    again: Any = compiled(total)
    assert again(WHOLE) == 7
    third: Any = compiled(total)
    assert third(WHOLE) == 7
    assert sum(third.stats.cache_hits.values()) == 1
