"""The volume-weighted average price of every symbol, per window."""

from typing import ClassVar

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew.apps import data
from unskew.apps.base import KeyedApplication, check_length, windowed
from unskew.apps.data import uniform_draw, zipf_rank


class Vwap(KeyedApplication):
    """Average the prices of each symbol in each window, weighted by what was bought [1]_.

    Prices are whole cents: sums are exact in any order, so the average is, too.

    Parameters
    ----------
    window
        Length of a window.
    late
        How late a row may be before its window is closed.

    References
    ----------
    .. [1] Chen, Zhang, Jin, "Popularity-aware differentiated distributed stream processing".
    """

    name: ClassVar[str] = "vwap"
    description: ClassVar[str] = "volume-weighted average price of each symbol per window"
    schema: ClassVar[str] = "at timestamp, symbol bigint, price bigint, quantity bigint"
    time: ClassVar[str | None] = "at"
    key: ClassVar[tuple[str, ...]] = ("symbol",)
    result_key = ("symbol", "window")

    def __init__(self, *, window: str = "1 day", late: str = "1 day") -> None:
        self.window = check_length("vwap", "window", window)
        self.late = check_length("vwap", "late", late, zero=True)

    def table(self, limit: int | None = None) -> pa.Table:
        """Return what households bought in a year; a symbol is a manufacturer."""
        bought = data.purchases(limit).select(["at", "manufacturer", "price", "quantity"])
        return bought.rename_columns(["at", "symbol", "price", "quantity"])

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return made-up trades, symbols by a Zipf distribution."""
        return numbers.select(
            sf.col("timestamp").alias("at"),
            zipf_rank("value", 1, keys=5_000, exponent=1.4).alias("symbol"),
            (sf.lit(100) + sf.floor(uniform_draw("value", 2) * 10_000))
            .cast("bigint")
            .alias("price"),
            (sf.lit(1) + sf.floor(uniform_draw("value", 3) * 500)).cast("bigint").alias("quantity"),
        )

    def merged(self, rows: DataFrame) -> DataFrame:
        """Return average price, in cents, and volume of every symbol and window."""
        turnover, volume = sf.sum(sf.col("price") * sf.col("quantity")), sf.sum("quantity")
        return (
            windowed(rows, "at", self.window, self.late)
            .groupBy(*self.result_key)
            .agg(sf.try_divide(turnover, volume).alias("vwap"), volume.alias("volume"))
        )
