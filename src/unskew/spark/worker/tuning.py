"""Make short Python tasks faster, at the price of settings of the user's own process.

Off unless the environment variable ``UNSKEW_TUNE_WORKERS`` is 1 on the driver. Spark's own setting
``spark.python.unix.domain.socket.enabled`` does as much against held-back acknowledgements.
"""

import gc
import os
import socket
import stat
import sys
from pathlib import Path

SWITCH = "UNSKEW_TUNE_WORKERS"
"""The environment variable of the driver that turns this on."""

_OPTION = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
_OPEN = Path("/proc/self/fd")
_modules = 0


def tune_this_process() -> None:
    """Spare the collector what is loaded, and have what Spark sends acknowledged at once."""
    rest_what_is_loaded()
    answer_at_once()


def rest_what_is_loaded() -> bool:
    """Let the collector look no more at what is there now, if modules have come since last time.

    Spark collects garbage in a Python worker after every task. With Numba loaded that takes 70 ms
    of CPU time, most of what a short task takes at all, and finds nothing: modules stay. What rests
    is freed as always when nothing refers to it any more; only circles of references that nothing
    else refers to stay, and Spark has cleared these away after the task before.

    Returns
    -------
    bool
        Whether something has been put to rest.
    """
    global _modules
    if len(sys.modules) == _modules:
        return False
    _modules = len(sys.modules)
    gc.freeze()
    return True


def answer_at_once() -> int:
    """Let the next messages from this machine be acknowledged when they come.

    Spark sends a Python worker small messages, and a second one waits until the first is
    acknowledged (Nagle's algorithm). That, Linux holds back for 40 ms, in the hope of an answer
    that could carry it; but the worker cannot answer half a message. So every task with Python
    lasts 40 ms longer than it takes. The setting lasts for a while only: call this in every task.
    What comes before a step begins, after a pause of the worker, is still held back.

    Returns
    -------
    int
        How many connections it was set for, those of a worker to its Spark and no others; 0 where
        the system has no such setting, or Spark uses other sockets.
    """
    if _OPTION is None or not _OPEN.is_dir():
        return 0
    return sum(_set(int(one.name), _OPTION) for one in _OPEN.iterdir())


def _set(number: int, option: int) -> bool:
    """Set it for an open file, if that is a connection within this machine; say whether it is."""
    try:
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            return False
        with socket.socket(fileno=os.dup(number)) as connection:
            if connection.family not in (socket.AF_INET, socket.AF_INET6):
                return False
            if connection.getpeername()[0] not in ("127.0.0.1", "::1"):
                return False
            connection.setsockopt(socket.IPPROTO_TCP, option, 1)
    except OSError:  # closed meanwhile, or not connected
        return False
    return True
