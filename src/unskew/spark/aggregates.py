"""Aggregates that Spark lacks, for `GroupedFrame.agg` and ``groupBy(...).agg``.

Spark computes them in two steps, a partial result on every worker and a merge by the real key, so a
key that is split over several workers comes out whole; the same holds for all aggregates of Spark's
own. Sums of doubles are the one thing that placement can touch: addition of doubles is not
associative, so the last bits depend on the order of the rows, with unskew as without (Spark itself
promises no order). Sums of integers and decimals are exact.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from pyspark.sql import Column
from pyspark.sql import functions as sf

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.spark.versions import FREQUENT_ITEMS, QUANTILES, require_functions

_MOST_BINS = 1000


def weighted_mean(value: Column | str, weight: Column | str) -> Column:
    """Return Σ value · weight / Σ weight over the rows where neither is null (double).

    Notes
    -----
    Null if no such row exists or the weights add up to 0. Computed in doubles, which cannot
    overflow; decimals are rounded to doubles first.
    """
    values, weights = _column(value).cast("double"), _column(weight).cast("double")
    both = values.isNotNull() & weights.isNotNull()
    total = sf.sum(sf.when(both, weights))
    return sf.try_divide(sf.sum(values * weights), total).alias(
        _name("weighted_mean", value, weight)
    )


def collect_sorted_set(col: Column | str) -> Column:
    """Return the distinct values that are not null as a sorted array; empty if there are none.

    Sorted, because the order in which Spark meets the values means nothing.
    """
    return sf.sort_array(sf.collect_set(col)).alias(_name("collect_sorted_set", col))


def top_k(col: Column | str, k: int, *, capacity: int = 10_000) -> Column:
    """Return the ``k`` most frequent values with their counts, most frequent first.

    Parameters
    ----------
    col
        The values; null counts as a value.
    k
        How many to return, at most ``capacity``.
    capacity
        How many distinct values a key's summary holds, at most 1,000,000.

    Returns
    -------
    Column
        ``array<struct<item, count>>``; of equally frequent values the lesser comes first.

    Notes
    -----
    Exact, and the same for every placement, for keys with at most ``capacity`` distinct values;
    beyond, an estimate by a summary of frequent items.
    """
    capacity = check_int("top_k", "capacity", capacity, minimum=1, maximum=1_000_000)
    k = check_int("top_k", "k", k, minimum=1, maximum=capacity)
    require_functions(FREQUENT_ITEMS, "top_k")
    every = sf.call_function("approx_top_k", _column(col), sf.lit(capacity), sf.lit(capacity))
    # Structs sort by their fields in turn: by falling count, then by item.
    keyed = sf.transform(every, lambda x: sf.struct((-x["count"]).alias("c"), x["item"].alias("i")))
    first = sf.slice(sf.sort_array(keyed), 1, k)
    return sf.transform(
        first, lambda x: sf.struct(x["i"].alias("item"), (-x["c"]).alias("count"))
    ).alias(_name("top_k", col))


def histogram(col: Column | str, edges: Sequence[float]) -> Column:
    """Count the values between each two neighbouring ``edges``, exactly (array of bigint).

    Parameters
    ----------
    col
        Numbers. Nulls, NaN and values outside of the edges are not counted.
    edges
        2 to 1001 rising numbers. A bin has its left edge and not its right one, but for the
        last, which has both (as in NumPy).
    """
    inner = _check_edges(edges)
    values = _column(col)
    bins = [
        sf.count_if((values >= sf.lit(low)) & (values < sf.lit(high)))
        for low, high in pairwise(inner[:-1])
    ]
    last = sf.count_if((values >= sf.lit(inner[-2])) & (values <= sf.lit(inner[-1])))
    return sf.array(*bins, last).alias(_name("histogram", col))


def quantiles(col: Column | str, ranks: Sequence[float], *, k: int = 800) -> Column:
    """Return a value near each of ``ranks`` (0 the least, 0.5 the median, 1 the greatest).

    Parameters
    ----------
    col
        Numbers, read as doubles. Nulls and NaN do not count.
    ranks
        Numbers in [0, 1], at least one.
    k
        Size of the summary (a KLL sketch), 8 to 65,535. With 99 % confidence the rank of what is
        returned is off by less than 2.3 / k^0.97 (0.35 % for 800, 1.3 % for 200).

    Returns
    -------
    Column
        Array of doubles that occur in the data, one per rank; null if there are no values.

    Notes
    -----
    Exact for keys with fewer than ``k`` values. Beyond, the summary throws coins, so two runs
    may differ within the error, whatever the placement.
    """
    checked = [check_real("quantiles", "ranks", rank, minimum=0, maximum=1) for rank in ranks]
    if not checked:
        raise InvalidParameterError("quantiles", "ranks", "at least one number in [0, 1]", ranks)
    size = check_int("quantiles", "k", k, minimum=8, maximum=65_535)
    values = sf.nanvl(_column(col).cast("double"), sf.lit(None).cast("double"))
    require_functions(QUANTILES, "quantiles")
    sketch = sf.kll_sketch_agg_double(values, sf.lit(size))
    found = sf.kll_sketch_get_quantile_double(sketch, sf.array(*map(sf.lit, checked)))
    # Spark refuses to ask a sketch of nothing.
    return sf.when(sf.count(values) > 0, found).alias(_name("quantiles", col))


def _check_edges(edges: Sequence[float]) -> list[float]:
    numbers = [float(edge) for edge in edges]
    rising = all(low < high for low, high in pairwise(numbers))
    if not 2 <= len(numbers) <= _MOST_BINS + 1 or not rising or math.isnan(numbers[0]):
        expected = f"2 to {_MOST_BINS + 1} rising numbers"
        raise InvalidParameterError("histogram", "edges", expected, list(edges))
    return numbers


def _column(col: Column | str) -> Column:
    return sf.col(col) if isinstance(col, str) else col


def _name(function: str, *cols: Column | str) -> str:
    names = [col for col in cols if isinstance(col, str)]
    return f"{function}({', '.join(names)})" if len(names) == len(cols) else function
