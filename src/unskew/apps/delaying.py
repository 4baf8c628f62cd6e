"""Work that costs a row so many seconds and no processor, as paper 003 delays its workers."""

import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame


def delayed(df: DataFrame, seconds: float) -> DataFrame:
    """Return the same rows, after every task has slept so many seconds for each of its rows.

    Sleeping stands for a call that waits, and needs no processor: as many tasks as there are
    threads work at full speed on any machine. Without seconds nothing is added to the query.
    """
    if not seconds:
        return df

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(seconds * batch.num_rows)
            yield batch

    return df.mapInArrow(work, df.schema)
