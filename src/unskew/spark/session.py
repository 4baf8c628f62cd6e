"""A Spark session that works on a fresh machine and stays exact when executors are lost."""

import os
import signal
import sys
import threading
import warnings

from pyspark.sql import SparkSession

from unskew.spark.versions import CHECKSUMS, version_of

_PYTHON = "spark.pyspark.python"
_DEFAULTS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
# A laptop's own host name often resolves to nothing, or to an address behind a firewall.
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

_CHECKSUM = "spark.sql.shuffle.orderIndependentChecksum"
PARTITIONS = "spark.sql.shuffle.partitions"

CHECKED = {f"{_CHECKSUM}.enabled": "true", f"{_CHECKSUM}.enableFullRetryOnMismatch": "true"}
"""The settings of Spark that make it repeat such work."""


def session(
    *, master: str = "local[*]", app_name: str = "unskew", **config: object
) -> SparkSession:
    """Return a Spark session that works on a fresh machine; the running one if there is one.

    Python workers are this Python, or what PYSPARK_PYTHON says. A session on this machine alone
    binds to the loopback address. The web page of Spark is off unless ``spark.ui.enabled`` is
    given. Results stay exact if executors are lost, also in versions of Spark that need settings
    for it (4.1).

    Parameters
    ----------
    master
        Where to run: ``local[2]`` for two cores of this machine, or the address of a cluster.
    app_name
        What the session is called in logs.
    config
        Settings of Spark, with a double underscore for a dot or given by ``**{"spark.x": …}``;
        they win over those made here. Of a session that runs already only SQL settings change.

    Examples
    --------
    ``session(master="local[2]", spark__sql__shuffle__partitions=4)``
    """
    given = {name.replace("__", "."): value for name, value in config.items()}
    # Spark itself would start whatever `python3` comes first on the PATH.
    python = given.get(_PYTHON) or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = str(python)
    loopback = _LOOPBACK if _is_local(master) else {}
    settings = {**_DEFAULTS, **CHECKED, **loopback, _PYTHON: python, **given}
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.appName(app_name).master(master)
    for name, value in settings.items():
        builder = builder.config(name, _as_text(value))
    return _started(builder)


def _started(builder: SparkSession.Builder) -> SparkSession:
    """Start Spark and only then heed a Ctrl-C, which would leave a Java behind that half started.

    Spark puts a handler of its own there once it runs.
    """
    if threading.current_thread() is not threading.main_thread():
        return builder.getOrCreate()
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):
        return builder.getOrCreate()
    pressed = threading.Event()

    def take_note(*_: object) -> None:
        pressed.set()

    signal.signal(signal.SIGINT, take_note)
    try:
        spark = builder.getOrCreate()
    finally:
        if signal.getsignal(signal.SIGINT) is take_note:
            signal.signal(signal.SIGINT, before)
    if pressed.is_set():
        spark.stop()
        raise KeyboardInterrupt
    return spark


def shuffle_partitions(spark: SparkSession) -> int | None:
    """Return the number of partitions of Spark's shuffles, None where a platform chooses it."""
    return partitions_of(spark.conf.get(PARTITIONS))


def partitions_of(text: str | None) -> int | None:
    """Return what the setting says.

    >>> partitions_of("200"), partitions_of("auto")  # as Databricks has it
    (200, None)
    """
    return int(text) if text is not None and text.isdecimal() else None


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith(("local[", "local-cluster["))


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class LostExecutorWarning(UserWarning):
    """Rows may be duplicated or lost if an executor is lost in this session."""


def warn_if_unchecked(spark: SparkSession) -> None:
    """Warn where rows that are placed by their order would not survive the loss of an executor."""
    if version_of(spark) < CHECKSUMS:
        warnings.warn(
            "unskew places these rows by the order in which they arrive. If an executor is lost, "
            f"rows may be duplicated or lost: Spark notices that only from 4.1 on, and this "
            f"session runs {spark.version}. Hint: place rows by columns (spread_by=), with a "
            "scheme that plans, or by rows that come in one order, such as those of files.",
            LostExecutorWarning,
            stacklevel=2,
        )
        return
    # Without a default of ours, which would hide that of Spark.
    off = [name for name, on in CHECKED.items() if spark.conf.get(name) != on]
    if off:
        warnings.warn(
            "unskew places these rows by the order in which they arrive. If an executor is lost, "
            f"rows may be duplicated or lost, because of "
            f"{', '.join(f'{name}=false' for name in off)}. "
            "Hint: set it to true, or use us.session().",
            LostExecutorWarning,
            stacklevel=2,
        )
