"""Settings of Spark with which small streams, of which there are many, cost little."""

import pyspark

PARTITIONS = "spark.sql.shuffle.partitions"

FEW_STATES = {PARTITIONS: "2"}
"""States are a folder each."""

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Code for a few hundred rows: to compile it takes far longer than to run it."""

_STREAMING = "org.apache.spark.sql.execution.streaming" + (
    "" if pyspark.__version__ < "4.1" else ".checkpointing"
)
PLAIN_FILES = {
    "spark.sql.streaming.checkpointFileManagerClass": f"{_STREAMING}"
    ".FileSystemBasedCheckpointFileManager"
}
"""Where Hadoop has no native library, Spark's usual way to rename a file of a checkpoint starts a
process four times."""

IDLE = {
    "spark.sql.streaming.pollingDelay": "500ms",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
"""Queries that wait look for files this often, a dozen at a time. Batches without rows, which only
forget old windows, give out nothing."""
