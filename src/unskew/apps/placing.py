"""Place an application's rows, delay its work, and observe where every row went."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

import unskew.spark as us
from unskew._validation import check_real
from unskew.groupings.registry import grouping_class
from unskew.spark.columns import By, identity, quoted, unused_name
from unskew.spark.routing.choosing import AUTO
from unskew.spark.stream.counters import distinct, frequent, worker_counts
from unskew.specs import split_spec

_HOTTEST = 5
_BETWEEN = "\x00"  # between the identity of a key and how it is spelled
_PRECISION = 14  # distinct keys are counted within about 1 %


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


@dataclass(frozen=True)
class Placing:
    """Where rows are worked on, and how much work a row is.

    Parameters
    ----------
    grouping
        A scheme by name or spec.
    workers
        How many partitions share the work.
    delay
        Seconds of work per row, done by sleeping, as published experiments delay their workers. A
        batch of rows sleeps once for all of them.
    plan_path
        On a stream, the folder of a scheme that learns (`learns`); other schemes leave it alone.
    loads
        On a batch, filled with what the workers got.
    observe_as
        On a stream, the name under which every micro-batch reports the rows of each worker in
        ``progress.observedMetrics``; `Observed.read` reads it. It looks at every row.
    seed
        For the scheme.

    Examples
    --------
    >>> Placing("wrap", workers=4).learns, Placing("partial-key", workers=4).learns
    (True, False)
    """

    grouping: str = AUTO
    workers: int = 8
    delay: float = 0.0
    plan_path: str | Path | None = None
    loads: us.Loads | None = None
    observe_as: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_real("Placing", "delay", self.delay, minimum=0)

    @property
    def learns(self) -> bool:
        """Whether a stream needs ``plan_path``: the scheme goes on from what it has seen."""
        scheme = grouping_class(split_spec(self.grouping)[0])
        goes_on = scheme.learns_on_streams or scheme.remembers_on_streams
        return scheme.chooses or goes_on or scheme.spark == "costs"

    def place(self, df: DataFrame, by: By) -> DataFrame:
        """Return the rows of a batch or a stream on their workers."""
        if df.isStreaming and self.learns and self.plan_path is not None:
            placed = us.balance_stream(
                df,
                by,
                self.workers,
                plan_path=self.plan_path,
                grouping=self.grouping,
                seed=self.seed,
            )
        else:
            placed = us.balance(
                df, by, self.workers, grouping=self.grouping, seed=self.seed, loads=self.loads
            )
        if self.observe_as is None or not df.isStreaming:
            return placed
        return observed(placed, by, self.workers, self.observe_as)

    def group(self, df: DataFrame, by: By) -> us.GroupedFrame:
        """Return rows that are to be worked on by key, in Python; see `observed_groups`."""
        return us.group_by(
            df,
            by,
            workers=self.workers,
            grouping=self.grouping,
            plan_path=self.plan_path if df.isStreaming and self.learns else None,
            loads=self.loads,
            seed=self.seed,
        )


class HotKeyRows(NamedTuple):
    """One of the keys with the most rows."""

    key: str
    """Spelled."""
    rows: int
    identity: int
    """What routing knows it by."""


class Observed(NamedTuple):
    """The report of a micro-batch on its placed rows."""

    loads: tuple[int, ...]
    """Rows of each worker, exact."""
    keys: int
    """Distinct keys, to some 1 %."""
    pieces: int
    """Keys, each counted on every worker that has it, to some 1 %: counters in memory."""
    hottest: tuple[HotKeyRows, ...]
    """The keys with the most rows."""

    @property
    def replication(self) -> float | None:
        """On how many workers a key is, on average; None without keys."""
        return max(1.0, self.pieces / self.keys) if self.keys else None

    @classmethod
    def read(cls, metrics: Mapping[str, Any], workers: int) -> "Observed":
        """Return what the row of ``progress.observedMetrics`` says.

        >>> row = {"loads": '[{"item":1,"count":3}]', "keys": 2, "pieces": 3, "hottest": "[]"}
        >>> Observed.read(row, 2)
        Observed(loads=(0, 3), keys=2, pieces=3, hottest=())
        """
        loads = [0] * workers
        for one in json.loads(metrics["loads"] or "[]"):
            loads[one["item"]] += one["count"]
        hottest = [_read_hot(one) for one in json.loads(metrics["hottest"] or "[]")]
        return cls(tuple(loads), metrics["keys"] or 0, metrics["pieces"] or 0, tuple(hottest))


def observed(placed: DataFrame, by: By, workers: int, name: str) -> DataFrame:
    """Return placed rows, which are counted on their way by worker and by key."""

    def counts(place: Column, spelled: Column) -> list[Column]:
        return [
            worker_counts(place, workers).alias("loads"),
            sf.to_json(frequent(spelled, _HOTTEST, 1024)).alias("hottest"),
        ]

    return _observed(placed, by, name, counts)


def observed_groups(results: DataFrame, by: By, rows: str, name: str) -> DataFrame:
    """Return what workers made of whole groups, and count the rows that these had.

    The groups of a micro-batch have to be few: each is an entry in the report.

    Parameters
    ----------
    results
        Rows on the workers that made them, some of every group.
    by
        The columns of the key.
    rows
        A column that has the number of rows of a group in one of the group's results, and null in
        all others.
    name
        As in `Placing.observe_as`.
    """

    def counts(place: Column, spelled: Column) -> list[Column]:
        of_group = sf.col(quoted(rows))
        worked = sf.struct(place.alias("item"), of_group.alias("count"))
        loads = sf.collect_list(sf.when(of_group.isNotNull(), worked))
        groups = sf.collect_list(
            sf.when(of_group.isNotNull(), sf.struct(of_group.alias("count"), spelled.alias("item")))
        )
        hottest = sf.slice(sf.sort_array(groups, asc=False), 1, _HOTTEST)
        return [sf.to_json(loads).alias("loads"), sf.to_json(hottest).alias("hottest")]

    return _observed(results, by, name, counts)


def _observed(
    df: DataFrame, by: By, name: str, counts: Callable[[Column, Column], list[Column]]
) -> DataFrame:
    """Observe what ``counts`` makes of a row's place and spelled key, and how many keys are."""
    columns = [by] if isinstance(by, str) else list(by)
    # Spark observes only what is deterministic: the partition has to be a column first.
    place = unused_name("_place", df.columns)
    key = identity(df, columns)
    parts = [sf.coalesce(sf.col(quoted(one)).cast("string"), sf.lit("null")) for one in columns]
    spelled = sf.concat(key.cast("string"), sf.lit(_BETWEEN), sf.concat_ws(" ", *parts))
    keys = [
        distinct(key, _PRECISION).alias("keys"),
        distinct(sf.xxhash64(key, place), _PRECISION).alias("pieces"),
    ]
    numbered = df.withColumn(place, sf.spark_partition_id())
    return numbered.observe(name, *counts(sf.col(place), spelled), *keys).drop(place)


def _read_hot(one: Mapping[str, Any]) -> HotKeyRows:
    identity, _, key = one["item"].partition(_BETWEEN)
    return HotKeyRows(key, one["count"], int(identity))
