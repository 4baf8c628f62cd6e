"""Acknowledge at once what Spark sends to a Python worker.

Runs inside Spark's Python workers.
"""

import os
import socket
import stat
from pathlib import Path

_OPTION = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
_OPEN = Path("/proc/self/fd")


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
