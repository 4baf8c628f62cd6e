"""Run the cases that need executors of their own, all on one cluster: a driver program.

Arguments: the folder, a Python with nothing, and a Python with all that unskew needs but unskew.
Starting a cluster, and its first query, takes longer than most cases.
"""

import sys

from tests.spark.cluster import bare_executors, lost_executors_in_batch, lost_executors_in_streams
from tests.spark.cluster.driver import cluster_session, stop

if __name__ == "__main__":
    nothing, almost = sys.argv[2:]
    running = cluster_session(**{"spark.pyspark.python": nothing})
    bare_executors.run_cases(running, almost)
    running.sparkContext.pythonExec = sys.executable
    lost_executors_in_batch.run_cases(running)
    lost_executors_in_streams.run_cases(running)
    stop(running)
