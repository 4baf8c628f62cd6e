"""Ctrl-C: noted at first, raised the second time, left alone where it is ignored."""

import signal
import threading

import pytest

from unskew.cli._interrupts import noting_interrupts, stopping_between_batches
from unskew.streams import zipf


def test_a_first_interrupt_is_noted_and_a_second_one_raised() -> None:
    before = signal.getsignal(signal.SIGINT)
    with noting_interrupts() as interrupt:
        interrupt.check()
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked_to_stop.is_set()
        interrupt.wait()
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_handler_of_another_such_as_sparks_is_replaced_and_put_back() -> None:
    def of_another(*_: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGINT, of_another)
    try:
        with noting_interrupts() as interrupt:
            signal.raise_signal(signal.SIGINT)
            assert interrupt.asked_to_stop.is_set()
        assert signal.getsignal(signal.SIGINT) is of_another
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with noting_interrupts() as interrupt:
            signal.raise_signal(signal.SIGINT)
            assert not interrupt.asked_to_stop.is_set()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_thread_beside_the_main_one_leaves_the_handler_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def look() -> None:
        with noting_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_stream_stops_at_its_next_batch() -> None:
    read = []
    with (  # noqa: PT012 (the whole reading is what is stopped)
        pytest.raises(KeyboardInterrupt),
        stopping_between_batches(zipf(9, rows=100)) as stream,
    ):
        for batch in stream.batches(10):
            read.append(len(batch.keys))
            signal.raise_signal(signal.SIGINT)
    assert read == [10]
