"""The time of each player in each cell of a football field: four grids, four windows."""

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.apps.base import Application
from unskew.apps.placing import Placing, observed_groups
from unskew.groupings.registry import GROUPINGS
from unskew.spark.routing.schemes import runnable

READINGS_PER_SECOND = 1000
"""The recorded match has 15,000."""

_PLAYERS = 16
_STANDING = 13
_SPOT = (52.5, 38.25)
_REACH = (3.5, 3.5)
GRIDS = ((8, 13), (16, 25), (32, 50), (64, 100))
"""Rows and columns of the four grids."""
FIELD = (68.0, 105.0)
"""Metres across and along."""
WINDOW_MINUTES = (1, 5, 10, 0)
"""Lengths of the windows; 0 is the whole game."""

_LONGEST_GAP = 1_000_000
_MINUTE = 60_000_000
_CELL = ("grid", "row", "column")
_COUNT = "readings"
_RESULT = (
    "grid int, row int, column int, player int, minutes int, window timestamp, microseconds bigint"
)


def readings(numbers: NDArray[np.int64]) -> dict[str, pa.Array]:
    """Return player and position (metres) of each reading, given its number.

    Players take turns. Thirteen of sixteen move to and fro in one cell of the coarsest grid and
    three run all over the field: as each reading falls into one cell of each of four grids, the
    hottest cell has 13/16/4 of all rows, a fifth, as in the recorded match.

    >>> readings(np.arange(2))["player"].to_pylist()
    [0, 1]
    """
    player = numbers % _PLAYERS
    seconds = numbers / READINGS_PER_SECOND
    phase = player * 2.4
    stands = player < _STANDING
    x = np.where(
        stands,
        _SPOT[0] + _REACH[0] * np.sin(seconds / 7 + phase),
        52.5 * (1 + np.sin(seconds / 23 + phase)),
    )
    y = np.where(
        stands,
        _SPOT[1] + _REACH[1] * np.cos(seconds / 5 + 3 * phase),
        34.0 * (1 + np.cos(seconds / 17 + 2 * phase)),
    )
    return {
        "player": pa.array(player.astype(np.int32)),
        "x": pa.array(np.round(x, 2)),
        "y": pa.array(np.round(y, 2)),
    }


class FieldGrid(Application):
    """Add up the time that each player spends in each cell, per window [1]_.

    The time between two readings of a player in a cell counts if it is at most a second. For that
    the readings of a cell have to be together: this application cannot be split, and takes the
    schemes that keep a key whole. A reading falls into one cell of each grid. On a stream each
    micro-batch gives out the times of its own readings, as plain Spark's ``applyInArrow`` does.

    References
    ----------
    .. [1] Rivetti et al., "Efficient Key Grouping for Near-Optimal Load Balancing in Stream
       Processing Systems", DEBS 2015: the third query of the DEBS 2013 Grand Challenge.
    """

    name: ClassVar[str] = "field-grid"
    description: ClassVar[str] = "time each player spends in each cell of a field, per window"
    schema: ClassVar[str] = "at timestamp, player int, x double, y double"
    time: ClassVar[str | None] = "at"
    key: ClassVar[tuple[str, ...]] = _CELL
    output_mode: ClassVar[str] = "append"

    @property
    def groupings(self) -> tuple[str, ...]:
        """The schemes that keep keys whole."""
        return tuple(name for name in runnable() if not GROUPINGS[name].splits_keys)

    def table(self, limit: int | None = None) -> pa.Table:
        """Return readings of made-up sensors, 1,000 per second: no package has the real ones."""
        numbers = np.arange(200_000 if limit is None else limit)
        start = np.datetime64("2013-06-29T15:00:00", "us")
        step = np.timedelta64(1_000_000 // READINGS_PER_SECOND, "us")
        at = pa.array(start + numbers * step).cast(pa.timestamp("us", tz="UTC"))
        return pa.table({"at": at, **readings(numbers)})

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return readings of made-up sensors."""

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                made = readings(batch["value"].to_numpy())
                yield pa.RecordBatch.from_pydict({"at": batch["timestamp"], **made})

        return numbers.select("timestamp", "value").mapInArrow(read, self.schema)

    def plain(self, df: DataFrame, placing: Placing = Placing()) -> DataFrame:  # noqa: B008 (frozen)
        """Return the times as plain Spark computes them."""
        rows = in_cells(df)
        if placing.delay:
            rows = rows.repartition(placing.workers, *_CELL)
        return rows.groupBy(*_CELL).applyInArrow(times_after(placing.delay), _RESULT)

    def balanced(self, df: DataFrame, placing: Placing) -> DataFrame:
        """Return the same times with cells placed by ``placing``."""
        grouped = placing.group(in_cells(df), list(_CELL))
        times = times_after(placing.delay)
        if placing.observe_as is None or not df.isStreaming:
            return grouped.apply_in_arrow(times, _RESULT)
        counted = grouped.apply_in_arrow(with_count(times), f"{_RESULT}, {_COUNT} bigint")
        return observed_groups(counted, _CELL, _COUNT, placing.observe_as).drop(_COUNT)


def in_cells(df: DataFrame) -> DataFrame:
    """Return a row for each reading and grid, with the cell; positions off the field are inside."""
    cells = sf.array(
        *(
            sf.struct(
                sf.lit(number).alias("grid"),
                _cell("y", FIELD[0], rows).alias("row"),
                _cell("x", FIELD[1], columns).alias("column"),
            )
            for number, (rows, columns) in enumerate(GRIDS)
        )
    )
    return df.select("at", "player", sf.inline(cells))


def _cell(position: str, metres: float, cells: int) -> Column:
    number = sf.floor(sf.col(position) / metres * cells)
    return sf.least(sf.greatest(number, sf.lit(0)), sf.lit(cells - 1)).cast("int")


def times_after(delay: float) -> Callable[[pa.Table], pa.Table]:
    """Return `times_in_cell` with so many seconds of work per row."""

    def worked(table: pa.Table) -> pa.Table:
        time.sleep(delay * table.num_rows)
        return times_in_cell(table)

    return worked


def with_count(function: Callable[[pa.Table], pa.Table]) -> Callable[[pa.Table], pa.Table]:
    """Return ``function`` with one more column: how many rows it got, in its first row.

    >>> with_count(lambda table: table)(pa.table({"n": [1, 2]}))[_COUNT].to_pylist()
    [2, None]
    """

    def counted(table: pa.Table) -> pa.Table:
        result = function(table)
        counts = [table.num_rows, *[None] * (result.num_rows - 1)]
        return result.append_column(_COUNT, pa.array(counts, pa.int64()))

    return counted


def times_in_cell(table: pa.Table) -> pa.Table:
    """Return how long each player was in the cell whose readings these are, per window.

    >>> at = pa.array([0, 500_000, 9_000_000], pa.timestamp("us", tz="UTC"))
    >>> cell = {"grid": pa.array([0] * 3, pa.int32()), "row": [1] * 3, "column": [2] * 3}
    >>> rows = times_in_cell(pa.table({"at": at, "player": pa.array([7] * 3, pa.int32()), **cell}))
    >>> rows.select(["player", "minutes", "microseconds"]).to_pylist()[0]
    {'player': 7, 'minutes': 1, 'microseconds': 500000}
    """
    ordered = table.sort_by([("player", "ascending"), ("at", "ascending")])
    at = ordered["at"].cast(pa.int64()).to_numpy()
    player = ordered["player"].to_numpy()
    gaps = np.diff(at, append=at[-1])
    same = np.append(player[1:] == player[:-1], False)
    counted = pa.table(
        {"player": player, "microseconds": np.where(same & (gaps <= _LONGEST_GAP), gaps, 0)}
    )
    parts = [_per_window(counted, at, minutes) for minutes in WINDOW_MINUTES]
    result = pa.concat_tables(parts)
    for place, name in enumerate(_CELL):
        value = pa.array([table[name][0].as_py()] * result.num_rows, pa.int32())
        result = result.add_column(place, name, value)
    return result


def _per_window(counted: pa.Table, at: NDArray[np.int64], minutes: int) -> pa.Table:
    starts = at - at % (minutes * _MINUTE) if minutes else np.zeros_like(at)
    summed = counted.append_column("window", pa.array(starts)).group_by(["player", "window"])
    total = summed.aggregate([("microseconds", "sum")])
    return pa.table(
        {
            "player": total["player"].cast(pa.int32()),
            "minutes": pa.array([minutes] * total.num_rows, pa.int32()),
            "window": total["window"].cast(pa.timestamp("us", tz="UTC")),
            "microseconds": pc.cast(total["microseconds_sum"], pa.int64()),
        }
    )
