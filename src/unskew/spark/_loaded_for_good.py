"""Spare Python's garbage collector what a worker process has loaded for good.

Runs inside Spark's Python workers.
"""

import gc
import sys

_modules = 0


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
