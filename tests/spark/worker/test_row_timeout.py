import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from unskew.errors import UnskewError
from unskew.spark.worker.task import RowTimeout, TimeLimit


def limited(function: Callable[[], object], seconds: float) -> None:
    with TimeLimit(seconds) as limit:
        limit.start()
        function()


def test_a_function_that_catches_every_exception_is_stopped_all_the_same() -> None:
    def stubborn() -> None:
        while True:
            with suppress(Exception):
                time.sleep(60)

    with pytest.raises(RowTimeout):
        limited(stubborn, 0.02)


def test_an_alarm_that_rings_while_an_object_is_freed_rings_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow:
        def __del__(self) -> None:
            time.sleep(0.5)

    lost: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)

    def frees_and_hangs() -> None:
        Slow()
        time.sleep(60)

    with pytest.raises(RowTimeout):
        limited(frees_and_hangs, 0.02)
    assert len(lost) == 1


def test_each_row_has_the_whole_time_and_nothing_rings_afterwards() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with TimeLimit(0.5) as limit:
        for _ in range(3):
            limit.start()
            left, _ = signal.getitimer(signal.ITIMER_REAL)
            assert 0.4 < left <= 0.5
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_the_handler_of_others_is_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(KeyError):
        limited(lambda: dict[str, int]()["price"], 5)
    assert signal.getsignal(signal.SIGALRM) is before


def test_outside_the_main_thread_it_says_that_it_cannot_work() -> None:
    errors: list[Exception] = []

    def elsewhere() -> None:
        try:
            limited(lambda: None, 1)
        except UnskewError as error:
            errors.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "row_timeout needs" in str(errors[0])


def test_no_limit_touches_nothing() -> None:
    with TimeLimit(None) as limit:
        limit.start()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
