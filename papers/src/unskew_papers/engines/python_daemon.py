"""What Spark forks its Python workers from, with all that they import already there.

A worker that imports PyArrow, pandas and unskew by itself takes seconds of a core and some 90 MB of
its own. Forked from a process that has them, 128 workers start together and share them; what is
frozen is not copied when a worker collects its garbage.
"""

import gc

import pandas as pd
import pyarrow.compute as pc
from pyspark import daemon, worker

from unskew.spark.routing import online

IMPORTED = (online, pc, pd, worker)

if __name__ == "__main__":
    gc.freeze()
    daemon.manager()
