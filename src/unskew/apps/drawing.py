"""Made-up values, skewed as real ones are, as native expressions over a row's number."""

import pyspark.sql.functions as sf
from pyspark.sql import Column


def uniform(number: Column | str, seed: int) -> Column:
    """Return a double in [0, 1) for each number, always the same; other seeds, other draws."""
    bits = sf.shiftrightunsigned(sf.xxhash64(number, sf.lit(seed)), 11)
    return bits.cast("double") * sf.lit(2.0**-53)


def zipf_rank(number: Column | str, seed: int, *, keys: int, exponent: float) -> Column:
    """Return a rank from 0 to ``keys`` − 1 (bigint), rank r as often as about (r + 1)^−exponent.

    The inverse of the continuous distribution with that density, cut down to whole numbers:
    exponents above 1 alone.
    """
    power = 1.0 - exponent
    least = float(keys + 1) ** power
    cut = sf.lit(1.0) - uniform(number, seed) * sf.lit(1.0 - least)
    rank = sf.floor(sf.pow(cut, sf.lit(1.0 / power))) - 1
    return sf.least(sf.greatest(rank, sf.lit(0)), sf.lit(keys - 1)).cast("bigint")
