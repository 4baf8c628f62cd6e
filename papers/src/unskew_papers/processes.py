"""Processes of our own to work in, which are gone when we are."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

_GIVES_WAY = 10
# All cores have their process: NumPy's threads would only wait for each other, busily. Memory that
# was freed is kept for the next arrays: to get it again takes longer than most sums over it.
_FOR_EACH_PROCESS = {
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(512 << 20),
}


@contextmanager
def processes(jobs: int) -> Iterator[Executor | None]:
    """Give processes to run units in, or None where this one is enough."""
    if jobs == 1:
        yield None
        return
    # Not forked: a process with Numba's or Arrow's threads cannot be copied safely.
    spawning = multiprocessing.get_context("spawn")
    with (
        _defaults_in_environment(_FOR_EACH_PROCESS),
        ProcessPoolExecutor(jobs, mp_context=spawning, initializer=_start_process) as pool,
    ):
        yield pool


@contextmanager
def _defaults_in_environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Let processes that are started meanwhile find what the user has not set otherwise."""
    missing = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


def _start_process() -> None:
    """Leave Ctrl-C to the process that keeps the rows, and give way to Spark, whose time counts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):  # not on Windows
        os.nice(_GIVES_WAY)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End where a parent that was killed could not say it: nobody waits for these results."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
