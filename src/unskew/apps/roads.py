"""Distinct vehicles in every cell of a map per time window, with an alert where there are many."""

from typing import ClassVar

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

import unskew.spark as us
from unskew._validation import check_int
from unskew.apps import data
from unskew.apps.base import KeyedApplication, check_length, windowed
from unskew.apps.data import uniform_draw, zipf_rank


class Roads(KeyedApplication):
    """Count the distinct vehicles of each cell in each window, and raise an alert at many [1]_.

    A worker keeps the set of vehicles of every cell that it has; sets are united by cell.

    Parameters
    ----------
    threshold
        More vehicles than that are an alert.
    window
        Length of a window.
    late
        How late a row may be before its window is closed.

    References
    ----------
    .. [1] Chen, Zhang, Jin, "Popularity-aware differentiated distributed stream processing".
    """

    name: ClassVar[str] = "roads"
    description: ClassVar[str] = (
        "distinct vehicles per map cell and window, alert above a threshold"
    )
    schema: ClassVar[str] = "at timestamp, cell string, vehicle string"
    time: ClassVar[str | None] = "at"
    key: ClassVar[tuple[str, ...]] = ("cell",)
    result_key = ("cell", "window")

    def __init__(self, *, threshold: int = 5, window: str = "1 hour", late: str = "1 hour") -> None:
        self.threshold = check_int("roads", "threshold", threshold, minimum=0)
        self.window = check_length("roads", "window", window)
        self.late = check_length("roads", "late", late, zero=True)

    def table(self, limit: int | None = None) -> pa.Table:
        """Return flights from New York: a cell is a destination, a vehicle an aircraft."""
        flights = data.flights(limit).select(["at", "destination", "tail"])
        return flights.rename_columns(["at", "cell", "vehicle"])

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return made-up positions: few cells have most of the traffic."""
        return numbers.select(
            sf.col("timestamp").alias("at"),
            sf.format_string("cell%d", zipf_rank("value", 1, keys=2_000, exponent=1.3)).alias(
                "cell"
            ),
            sf.format_string("car%d", sf.floor(uniform_draw("value", 2) * 20_000)).alias("vehicle"),
        )

    def merged(self, rows: DataFrame) -> DataFrame:
        """Return how many vehicles each cell had in each window, and whether that is an alert."""
        vehicles = sf.size(us.collect_sorted_set("vehicle")).cast("bigint")
        return (
            windowed(rows, "at", self.window, self.late)
            .groupBy(*self.result_key)
            .agg(vehicles.alias("vehicles"), (vehicles > self.threshold).alias("alert"))
        )
