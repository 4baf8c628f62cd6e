"""Ctrl-C: finish the running micro-batch, then stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """Give an event that a first Ctrl-C sets; a second one is raised as ever.

    To be entered when the session is there, since Spark puts a handler of its own.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def take_note(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    before: Any = signal.signal(signal.SIGINT, take_note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
