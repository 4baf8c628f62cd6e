"""What Spark has to be told so that results stay exact when executors are lost.

When an executor is lost, Spark makes its shuffle output again. Rows that are dealt in the order in
which they come may then go elsewhere, and be counted twice or not at all, unless Spark compares
checksums and repeats what depends on them: its default from 4.2 on.
"""

import warnings

from pyspark.sql import SparkSession

_CHECKSUM = "spark.sql.shuffle.orderIndependentChecksum"
CHECKED = {f"{_CHECKSUM}.enabled": "true", f"{_CHECKSUM}.enableFullRetryOnMismatch": "true"}
"""The settings of Spark that make it repeat such work."""


class LostExecutorWarning(UserWarning):
    """Rows may be doubled or lost if an executor is lost in this session."""


def warn_if_unchecked(spark: SparkSession) -> None:
    """Warn where rows that are dealt in their order would not survive the loss of an executor."""
    # Without a default of ours, which would hide that of Spark.
    off = [name for name, on in CHECKED.items() if spark.conf.get(name) != on]
    if off:
        warnings.warn(
            "unskew deals these rows in the order in which they come. If an executor is lost, rows "
            f"may be doubled or lost, because of {', '.join(f'{name}=false' for name in off)}. "
            "Hint: set it to true, or use us.session().",
            LostExecutorWarning,
            stacklevel=2,
        )
