"""Ctrl-C during a run: stop at the next batch, never in the middle of a compiled loop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar

from unskew.streams.base import Batch, Stream


@contextmanager
def stopping_between_batches(stream: Stream) -> Iterator[Stream]:
    """Give the same stream, which raises KeyboardInterrupt at its next batch after a Ctrl-C.

    An exception that reaches Numba while it hands over a result makes the process crash, so the
    signal is only taken note of. A second Ctrl-C does not wait.
    """
    watched = _WatchedStream(stream, stream.messages, stream.seed, threading.Event())

    def take_note(number: int, frame: FrameType | None) -> None:
        if watched.asked_to_stop.is_set():
            signal.default_int_handler(number, frame)
        watched.asked_to_stop.set()

    if not _raises_now():
        yield stream
        return
    before: Any = signal.signal(signal.SIGINT, take_note)
    try:
        yield watched
    finally:
        signal.signal(signal.SIGINT, before)
    watched.check()


def _raises_now() -> bool:
    """Whether Ctrl-C is an exception here: not in other threads, nor where it is ignored."""
    if threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


@dataclass(frozen=True, eq=False)
class _WatchedStream(Stream):
    name: ClassVar[str] = "watched"
    stream: Stream
    messages: int | None
    seed: int
    asked_to_stop: threading.Event

    @property
    def spec(self) -> str:
        return self.stream.spec

    @property
    def n_keys(self) -> int | None:
        return self.stream.n_keys

    @property
    def has_costs(self) -> bool:
        return self.stream.has_costs

    def check(self) -> None:
        if self.asked_to_stop.is_set():
            raise KeyboardInterrupt

    def _batches(self, size: int) -> Iterator[Batch]:
        for batch in self.stream.batches(size):
            self.check()
            yield batch
