"""What Python workers have loaded is looked at by the garbage collector no more."""

import gc
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType

import pytest

from unskew.spark.worker.tuning import rest_what_is_loaded


class Node:
    """Refers to itself, so that only the collector can free it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_only_new_modules_put_things_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    rest_what_is_loaded()
    resting = gc.get_freeze_count()
    assert resting > 0
    assert not rest_what_is_loaded()
    monkeypatch.setitem(sys.modules, "a_new_module", ModuleType("a_new_module"))
    assert rest_what_is_loaded()


def test_what_comes_later_is_collected_as_ever() -> None:
    rest_what_is_loaded()
    gc.disable()  # it would now and then come between
    try:
        node = weakref.ref(Node())
        assert node() is not None
    finally:
        gc.enable()
    gc.collect()
    assert node() is None
