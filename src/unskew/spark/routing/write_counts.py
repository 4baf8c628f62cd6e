"""Count the rows of each partition of a table that is to be written, and estimate their bytes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from unskew.groupings.plan import HASHED_MEMBER, slots_of
from unskew.groupings.whole_first import KeyLoads
from unskew.hashing import Ids, identities
from unskew.scheduling import LoadArray
from unskew.spark.columns import identity, quoted
from unskew.spark.routing.expression import slot_column
from unskew.spark.versions import to_arrow

_FINE_SLOTS = 65_536
_SLOTS = 1_024
_MOST_KEYS = 1_024  # that have places of their own
_SAMPLED_ROWS = 50_000
_ROWS_OF_A_KEY = 2_000  # by which the size of its rows is known
_CODECS = {"none": "none", "uncompressed": "none", "snappy": "snappy", "gzip": "gzip",
           "zstd": "zstd", "lz4": "lz4", "lz4_raw": "lz4"}  # fmt: skip


class PartitionCounts(NamedTuple):
    """Rows of all partitions: by fine hash slot its largest partition, and the others together."""

    ids: Ids
    rows: LoadArray
    other_rows: LoadArray
    other_keys: NDArray[np.int64]

    @property
    def partitions(self) -> int:
        """Number of distinct values of the partition columns."""
        return int(self.ids.size + self.other_keys.sum())

    @property
    def total(self) -> int:
        """Number of rows."""
        return int(self.rows.sum() + self.other_rows.sum())

    def to_place(self, row_bytes: "RowBytes | None") -> KeyLoads:
        """Return the largest partitions, and the others by slot, in rows or in bytes."""
        loads = self.rows if row_bytes is None else self.rows * row_bytes.of(self.ids)
        others = self.other_rows * (1.0 if row_bytes is None else row_bytes.mean)
        order = np.argsort(-loads, kind="stable")
        own, rest = order[:_MOST_KEYS], order[_MOST_KEYS:]
        slot_loads = np.zeros(_SLOTS)
        slots = slots_of(self.ids, HASHED_MEMBER, _SLOTS)
        np.add.at(slot_loads, slots[rest], loads[rest])
        np.add.at(slot_loads, slots, others)
        return KeyLoads(self.ids[own], loads[own], slot_loads)


class RowBytes(NamedTuple):
    """What a row takes in a Parquet file: on average, and in partitions that a sample knows."""

    mean: float
    ids: Ids
    sizes: LoadArray

    def of(self, ids: Ids) -> LoadArray:
        """Return the bytes per row of each of these partitions."""
        found = np.full(ids.size, self.mean)
        if self.ids.size:
            order = np.argsort(self.ids)
            at = np.minimum(np.searchsorted(self.ids[order], ids), order.size - 1)
            known = self.ids[order[at]] == ids
            found[known] = self.sizes[order[at[known]]]
        return found


def count_partitions(df: DataFrame, names: Sequence[str]) -> PartitionCounts:
    """Count all rows by the values of ``names``: one job, in which Spark combines at the source."""
    keys = df.select(identity(df, names).alias("id")).groupBy("id").agg(sf.count("*").alias("rows"))
    slots = keys.groupBy(slot_column(sf.col("id"), _FINE_SLOTS).alias("slot")).agg(
        sf.sum("rows").alias("rows"),
        sf.count("*").alias("keys"),
        sf.max(sf.struct("rows", "id")).alias("top"),
    )
    top_rows = sf.col("top.rows").alias("top")
    table = to_arrow(slots.select("slot", "rows", "keys", "top.id", top_rows))
    table = table.sort_by("slot")  # rows come in any order; plans should not depend on it
    top = table["top"].to_numpy().astype(float)
    others = table["rows"].to_numpy().astype(float) - top
    return PartitionCounts(identities(table["id"]), top, others, table["keys"].to_numpy() - 1)


def measure_rows(df: DataFrame, names: Sequence[str], rows: int, seed: int) -> RowBytes:
    """Return the bytes per row of Parquet, by writing a bounded sample of ``df`` in memory.

    Partition columns are not in the files. The codec is the session's.
    """
    stored = [sf.col(quoted(name)) for name in df.columns if name not in names]
    sampled = df if rows <= _SAMPLED_ROWS else df.sample(fraction=_SAMPLED_ROWS / rows, seed=seed)
    key = identity(df, names).alias("_unskew_id")
    table = to_arrow(sampled.select(key, *stored).limit(2 * _SAMPLED_ROWS))
    found = identities(table["_unskew_id"])
    table = table.drop_columns(["_unskew_id"])
    if not found.size:
        return RowBytes(1.0, np.empty(0, np.uint64), np.empty(0))
    codec = str(df.sparkSession.conf.get("spark.sql.parquet.compression.codec") or "snappy")
    codec = _CODECS.get(codec.lower(), "snappy")
    ids, counts = np.unique(found, return_counts=True)
    known = ids[counts >= _ROWS_OF_A_KEY]
    sizes = [_bytes_per_row(table.filter(pa.array(found == one)), codec) for one in known]
    return RowBytes(_bytes_per_row(table, codec), known, np.array(sizes))


def _bytes_per_row(table: pa.Table, codec: str) -> float:
    """Return the size of each column with a dictionary or without: Spark takes what is smaller."""
    columns = [table.select([name]) for name in table.column_names]
    sizes = [min(_size(one, codec, True), _size(one, codec, False)) for one in columns]
    return max(1.0, sum(sizes) / int(table.num_rows))


def _size(table: pa.Table, codec: str, dictionary: bool) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=codec, use_dictionary=dictionary)
    return int(sink.getvalue().size)
