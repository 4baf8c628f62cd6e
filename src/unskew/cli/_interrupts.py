"""Ctrl-C for all commands: take note of it, and stop where that is safe.

A simulation stops at its next batch, never in the middle of a compiled loop; a run on Spark after
the running micro-batch; a long experiment after the unit that runs; a page at once.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar

from unskew.streams.base import Batch, DerivedStream, Stream


@contextmanager
def stopping_between_batches(stream: Stream) -> Iterator[Stream]:
    """Give the same stream, which raises KeyboardInterrupt at its next batch after a Ctrl-C.

    An exception that reaches Numba while it hands over a result makes the process crash, so the
    signal is only taken note of. A second Ctrl-C does not wait.
    """
    with noting_interrupts() as interrupt:
        yield _WatchedStream(stream, stream.rows, stream.seed, interrupt)
        interrupt.check()


@dataclass(frozen=True)
class Interrupt:
    """Whether Ctrl-C was pressed, to be asked where it is safe to stop."""

    asked_to_stop: threading.Event

    def wait(self) -> None:
        """Wait until Ctrl-C is pressed."""
        self.asked_to_stop.wait()

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self.asked_to_stop.is_set():
            raise KeyboardInterrupt


@contextmanager
def noting_interrupts() -> Iterator[Interrupt]:
    """Only take note of Ctrl-C; a second one does not wait.

    To be entered after a Spark session was started, since Spark puts a handler of its own.
    """
    interrupt = Interrupt(threading.Event())

    def take_note(number: int, frame: FrameType | None) -> None:
        if interrupt.asked_to_stop.is_set():
            signal.default_int_handler(number, frame)
        interrupt.asked_to_stop.set()

    if not _may_be_interrupted():
        yield interrupt
        return
    before: Any = signal.signal(signal.SIGINT, take_note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


def _may_be_interrupted() -> bool:
    """Whether Ctrl-C comes here: not to other threads, nor where it is ignored."""
    if threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None)


@dataclass(frozen=True, eq=False)
class _WatchedStream(DerivedStream):
    name: ClassVar[str] = "watched"
    stream: Stream
    rows: int | None
    seed: int
    interrupt: Interrupt

    def _batches(self, size: int) -> Iterator[Batch]:
        for batch in self.stream.batches(size):
            self.interrupt.check()
            yield batch
