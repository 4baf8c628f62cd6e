"""Send a Python step to the executors so that it can say what is missing there."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark import cloudpickle

Step: TypeAlias = Callable[[Iterator[Any]], Iterator[Any]]


def shipped(step: Step) -> Step:
    """Return ``step`` in a form that loads without unskew, and fails with advice if it must.

    Spark unpacks a function before it calls it. A step of ours refers to our modules, so that on
    an executor without them the user would read of an error inside of Spark's unpacking. This one
    refers to nothing: it unpacks the step itself.

    Parameters
    ----------
    step
        From an iterator of batches to one; for ``mapInArrow`` or ``arrow_udf``.

    Examples
    --------
    >>> def double(numbers):
    ...     return (2 * number for number in numbers)
    >>> list(shipped(double)([1, 2]))
    [2, 4]
    """
    packed = cloudpickle.dumps(step)

    # Only names of its own: a global of this module would have to be imported over there. Hints,
    # from which Spark reads the kind of an arrow_udf, are text for the same reason.
    def unpack_and_run(batches: "Iterator[pa.Array]") -> "Iterator[pa.Array]":
        import pickle
        import sys

        try:
            run = pickle.loads(packed)  # noqa: S301 (our own step, packed by our own driver)
            from unskew.spark._loaded_for_good import rest_what_is_loaded
            from unskew.spark._quick_answers import answer_at_once
        except (ImportError, AttributeError) as error:
            raise ImportError(
                f"unskew: this step cannot start with {sys.executable} ({type(error).__name__}: "
                f"{error}). It runs in the Python of every executor, which needs unskew in the "
                "version of the driver, its libraries, and what your own functions import. Hint: "
                "see docs/cluster.md, for instance spark-submit --archives env.tar.gz#env"
            ) from error
        rest_what_is_loaded()
        answer_at_once()
        yield from run(batches)

    unpack_and_run.__name__ = step.__name__  # by which Spark calls a column
    return unpack_and_run
