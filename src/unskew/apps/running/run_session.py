"""The Spark session of a run."""

import os

from pyspark.sql import SparkSession

import unskew.spark as us
from unskew.apps.running.kafka import CONNECTOR, package_settings
from unskew.errors import UnskewError

_MOST_PARTITIONS_OF_STATE = 4  # each has files of its own to write in every micro-batch


def run_session(
    master: str | None, *, workers: int, waits: bool, packages: tuple[str, ...] = ()
) -> SparkSession:
    """Return a session for a run, as quiet as a table on the terminal needs it.

    Parameters
    ----------
    master
        Where to run. By default this machine: a thread per worker if rows only wait, since that
        needs no processor, and else a thread per processor.
    workers
        How many workers there are.
    waits
        Whether work is to wait.
    packages
        What the JVM has to load beside Spark, by coordinates.
    """
    here = f"local[{workers}]" if waits else "local[*]"
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": min(workers, _MOST_PARTITIONS_OF_STATE),
        "spark.sql.streaming.numRecentProgressUpdates": 1000,
        **package_settings(packages),
    }
    try:
        spark = us.session(master=master or here, app_name="unskew run", **settings)
    except Exception as error:
        raise _refused(error, packages) from None
    spark.sparkContext.setLogLevel(os.environ.get("UNSKEW_LOG_LEVEL", "OFF"))
    return spark


def _refused(error: Exception, packages: tuple[str, ...]) -> UnskewError:
    if packages and "JAVA_GATEWAY_EXITED" in str(error):
        names = ", ".join(sorted(set(packages)))
        hint = f"the log above has what Ivy said; {CONNECTOR} names another version, or jars"
        return UnskewError(f"unskew run: Spark could not load {names}. Hint: {hint}")
    text = " ".join(str(error).split())[:300]
    return UnskewError(f"unskew run: no Spark session could be started: {text}")
