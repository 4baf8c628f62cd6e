"""What a stream is once its rows are placed."""

from typing import NamedTuple

from pyspark.sql import DataFrame

from unskew.spark._key_times import Timing


class PlacedStream(NamedTuple):
    """A stream whose rows are placed, and where to tell what its workers did."""

    df: DataFrame
    work_observation: str
    """The name to `observe` under, as the text column ``busy``, what work steps measured."""
    timing: Timing | None = None
    """How work steps are to time the keys, if rows are placed by that; the last column of ``df``
    has their identities then."""
