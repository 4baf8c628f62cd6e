"""What is said when a user's function fails inside a Spark task: who, where, at which key."""

import pyarrow as pa

from unskew.errors import UnskewError


def failure(owner: str, step: str, place: str, keys: pa.RecordBatch, error: Exception) -> Exception:
    """Return the error to raise instead of ``error``; ``keys`` begins with the row in question.

    >>> keys = pa.record_batch({"user": ["ann", "bob"]})
    >>> print(failure("Mean", "update", "worker", keys, KeyError("price")))
    Mean: update failed on worker ? at key user='ann': KeyError: 'price'
    """
    names = zip(keys.schema.names, keys.columns, strict=True)
    key = ", ".join(f"{name}={_shown(column[0])}" for name, column in names)
    return UnskewError(
        f"{owner}: {step} failed on {place} {_partition()} at key {key}: "
        f"{type(error).__name__}: {error}"
    )


def _shown(scalar: pa.Scalar) -> str:
    try:
        return repr(scalar.as_py())
    except (ValueError, OverflowError):  # a time that Python's datetime cannot hold
        return str(scalar)


def _partition() -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    return "?" if context is None else str(context.partitionId())
