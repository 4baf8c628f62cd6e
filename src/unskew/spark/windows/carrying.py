"""Run windows within the pieces of cut keys, and carry over the cuts what crosses them.

Rows are brought to their workers in one shuffle. A worker has a stretch of each key, in order, and
Spark's own window functions run over it. At most workers − 1 keys are cut; of each of their pieces
a small record is made before, in a job that looks at the rows of these keys alone. What the records
of the pieces before and after say is joined to the rows by a broadcast.
"""

from collections.abc import Iterable, Mapping

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql.types import DataType

from unskew.spark.columns import evaluated_late, quoted
from unskew.spark.versions import local_rows
from unskew.spark.windows.functions import Carried, LocalWindow, Side, WindowColumn
from unskew.spark.windows.ranges import Ranges

_PIECE, _STEER, _TIE, _COPY, _NUMBER, _ROWS, _EDGES, _AT, _CUT, _BEFORE, _AFTER = (
    f"_unskew_{name}"
    for name in (
        *("piece", "steer", "tie", "copy", "number", "rows", "edges", "at", "cut"),
        *("before", "after"),
    )
)
_SIDES: dict[Side, tuple[int, int]] = {
    "before": (Window.unboundedPreceding, -1),
    "after": (1, Window.unboundedFollowing),
    "all": (Window.unboundedPreceding, Window.unboundedFollowing),
}
_NOT_HASHABLE = ("map<", "variant", "geometry", "geography", " collate ")


class CutWindow:
    """Rows on their workers, with what their keys have elsewhere carried to them.

    Parameters
    ----------
    df
        The rows.
    ranges
        Where they go.
    exact
        Whether it matters which of two rows that are equal in the order comes first.
    """

    def __init__(self, df: DataFrame, ranges: Ranges, *, exact: bool) -> None:
        self.df, self.ranges = df, ranges
        rows = evaluated_late(df).withColumn(_PIECE, ranges.piece(df))
        rows = rows.withColumn(_STEER, ranges.steering(df, sf.col(_PIECE)))
        self._ties = [_TIE] if exact else []
        if exact:
            fields = [field for field in df.schema.fields if _is_hashable(field.dataType)]
            rows = rows.withColumn(
                _TIE, sf.xxhash64(*(sf.col(quoted(field.name)) for field in fields))
            )
        self._rows = rows
        self._keys = [sf.col(quoted(name)) for name in ranges.by]
        self._group = [sf.col(_STEER), *self._keys]

    def window(self, *, has_copies: bool = False) -> LocalWindow:
        """Return the windows within a piece."""
        whole = Window.partitionBy(*self._group)
        order = [column.sort for column in self.ranges.order]
        return LocalWindow(
            whole.orderBy(*order),
            whole.orderBy(*order, *self._ties),
            whole,
            ~sf.col(_COPY) if has_copies else None,
        )

    def cut_rows(self) -> DataFrame:
        """Return the rows of keys that are cut, as far as they are not yet brought to workers."""
        return self._rows.where(self.ranges.is_cut(self.df))

    def sorted(self, rows: DataFrame) -> DataFrame:
        """Return rows on their workers, and sorted there as all windows need it."""
        order = [column.sort for column in self.ranges.order]
        placed = rows.repartition(self.ranges.workers, _STEER)
        return placed.sortWithinPartitions(*self._group, *order, *self._ties)

    def all_sorted(self, copies: DataFrame | None = None) -> DataFrame:
        """Return all rows on their workers, with ``copies`` of others that are looked at."""
        rows = self._rows.drop(_PIECE)
        if copies is not None:
            rows = rows.withColumn(_COPY, sf.lit(False)).unionByName(
                copies.withColumn(_COPY, sf.lit(True)), allowMissingColumns=True
            )
        return self.sorted(rows)

    def records(self, rows: DataFrame, aggregates: Mapping[str, Column]) -> DataFrame:
        """Return a small local DataFrame: a row for each piece of a cut key, in one partition."""
        named = [column.alias(name) for name, column in aggregates.items()]
        found = rows.groupBy(_PIECE, *self._group).agg(sf.count(sf.lit(1)).alias(_ROWS), *named)
        return local_rows(found).coalesce(1)

    def of_key(self, side: Side | None = None) -> WindowSpec:
        """Return the window over the records of a key, in order; of the pieces on one side."""
        pieces = Window.partitionBy(*self._keys).orderBy(_PIECE)
        return pieces if side is None else pieces.rowsBetween(*_SIDES[side])

    def carried_to(self, df: DataFrame, records: DataFrame, columns: Iterable[str]) -> DataFrame:
        """Return ``df`` with ``columns`` of its piece's record, null where there is none."""
        names = {f"{_AT}_{number}": name for number, name in enumerate(self.ranges.by)}
        keys = [sf.col(quoted(name)).alias(new) for new, name in names.items()]
        known = local_rows(records.select(sf.col(_STEER).alias(_CUT), *keys, *columns))
        same = sf.col(_STEER) == sf.col(_CUT)
        for new, name in names.items():
            same = same & sf.col(quoted(name)).eqNullSafe(sf.col(new))
        return df.join(sf.broadcast(known), same, "left")


def with_window_columns(
    df: DataFrame, ranges: Ranges, columns: Mapping[str, WindowColumn]
) -> DataFrame:
    """Return ``df`` with columns over its windows, each as Spark's own function would have it."""
    reach = (
        max(column.reach[0] for column in columns.values()),
        max(column.reach[1] for column in columns.values()),
    )
    exact = any(reach) or any(
        total.needs_order for column in columns.values() for total in column.totals
    )
    cut = CutWindow(df, ranges, exact=exact and bool(ranges.cut_keys))
    if not ranges.cut_keys:
        return _finished(cut, _with_local(cut, cut.all_sorted(), columns, copies=False), columns)
    records = _records(cut, columns, reach, exact=exact)
    copies = _copies(cut, records, reach) if any(reach) else None
    local = _with_local(cut, cut.all_sorted(copies), columns, copies=any(reach))
    totals = {
        name: total.merge(sf.col(name)).over(cut.of_key(total.side))
        for column in columns.values()
        for name, total in zip(_total_names(columns, column), column.totals, strict=True)
    }
    sides = {
        _BEFORE: sf.count(sf.lit(1)).over(cut.of_key("before")) > 0,
        _AFTER: sf.count(sf.lit(1)).over(cut.of_key("after")) > 0,
    }
    known = records.withColumns({**totals, **sides})
    carried = cut.carried_to(local, known, [*totals, *sides])
    return _finished(cut, carried, columns)


def _total_names(columns: Mapping[str, WindowColumn], column: WindowColumn) -> list[str]:
    at = list(columns.values()).index(column)
    return [f"_unskew_total_{at}_{number}" for number in range(len(column.totals))]


def _records(
    cut: CutWindow, columns: Mapping[str, WindowColumn], reach: tuple[int, int], *, exact: bool
) -> DataFrame:
    """Return what is known of each piece: totals, and copies of its first and last rows."""
    rows, window = cut.cut_rows(), cut.window()
    aggregates, steps = {}, {}
    for column in columns.values():
        for name, total in zip(_total_names(columns, column), column.totals, strict=True):
            if total.needs_order:
                everything = window.exact.rowsBetween(*_SIDES["all"])
                steps[name] = total.of_piece.over(everything)
                aggregates[name] = sf.first(name)
            else:
                aggregates[name] = total.of_piece
    if any(reach):
        read = {name for column in columns.values() for name in column.reads if any(column.reach)}
        read |= {column.name for column in cut.ranges.order}
        kept = [sf.col(quoted(name)) for name in sorted(read - set(cut.ranges.by))]
        steps[_NUMBER] = sf.row_number().over(window.exact)
        steps[_ROWS] = sf.count(sf.lit(1)).over(window.whole)
        near = (sf.col(_NUMBER) <= reach[1]) | (sf.col(_NUMBER) > sf.col(_ROWS) - reach[0])
        row = sf.struct(_NUMBER, *kept, _TIE)
        rows_near = sf.collect_list(sf.when(near, row))
        aggregates[_EDGES] = sf.array_sort(rows_near, lambda a, b: a[_NUMBER] - b[_NUMBER])
    return cut.records(cut.sorted(rows).withColumns(steps) if exact else rows, aggregates)


def _copies(cut: CutWindow, records: DataFrame, reach: tuple[int, int]) -> DataFrame:
    """Return copies of rows for other workers: the last before a piece, and the first after it."""
    before = sf.flatten(sf.collect_list(_EDGES).over(cut.of_key("before")))
    after = sf.flatten(sf.collect_list(_EDGES).over(cut.of_key("after")))
    sides = records.withColumns({_BEFORE: before, _AFTER: after})
    first = sf.greatest(sf.size(_BEFORE) - reach[0] + 1, sf.lit(1))
    looked_at = sf.concat(
        sf.slice(_BEFORE, first, sf.lit(reach[0])),
        sf.slice(_AFTER, sf.lit(1), sf.lit(reach[1])),
    )
    keys = [sf.col(quoted(name)) for name in cut.ranges.by]
    rows = sides.select(_STEER, *keys, sf.explode(looked_at).alias(_AT))
    return local_rows(rows.select(_STEER, *keys, f"{_AT}.*").drop(_NUMBER))


def _with_local(
    cut: CutWindow, rows: DataFrame, columns: Mapping[str, WindowColumn], *, copies: bool
) -> DataFrame:
    """Return the rows with the results of their pieces, under names of our own."""
    window = cut.window(has_copies=copies)
    found = rows.withColumns(
        {_local_name(name): column.local(window) for name, column in columns.items()}
    )
    if window.is_own is None:
        return found
    numbers = {
        _local_name(name): _from_one(sf.col(quoted(_local_name(name))), window)
        for name, column in columns.items()
        if column.counts_from_one
    }
    return (found.withColumns(numbers) if numbers else found).where(window.is_own)


def _from_one(number: Column, window: LocalWindow) -> Column:
    """Return a number that is 1 at the first row of the piece, where copies stand before it."""
    first = sf.min(window.own(number)).over(window.whole)
    return sf.coalesce(number - first + 1, sf.lit(0))


def _local_name(name: str) -> str:
    return f"_unskew_local_{name}"


def _finished(cut: CutWindow, rows: DataFrame, columns: Mapping[str, WindowColumn]) -> DataFrame:
    """Return the columns of the table and the results, of the types that Spark gives them."""
    kept = [sf.col(quoted(name)) for name in cut.df.columns]
    is_cut, no = sf.lit(False), sf.lit(False)
    if cut.ranges.cut_keys:
        is_cut = sf.col(_CUT).isNotNull()
    results = []
    for name, column in columns.items():
        local = result = sf.col(quoted(_local_name(name)))
        if column.finish is not None:
            totals = [sf.lit(None)] * len(column.totals)
            before = after = no
            if cut.ranges.cut_keys:
                totals = [sf.col(total) for total in _total_names(columns, column)]
                before, after = (sf.coalesce(sf.col(side), no) for side in (_BEFORE, _AFTER))
            result = column.finish(local, Carried(is_cut, before, after, totals))
        if column.kind is not None:
            result = result.cast(column.kind)
        results.append(result.alias(name))
    return rows.select(*kept, *results)


def _is_hashable(kind: DataType) -> bool:
    return not any(name in kind.simpleString() for name in _NOT_HASHABLE)
