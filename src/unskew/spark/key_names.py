"""The text of keys, by the hash that Spark reports of them."""

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew.errors import InvalidParameterError
from unskew.events import MOST_KEY_CHARACTERS
from unskew.spark.keys import identity

_MOST_KEYS = 100_000


def key_names(keys: DataFrame) -> dict[int, str]:
    """Return the text of each key in ``keys``, at most 100,000, by its 64-bit hash.

    Parameters
    ----------
    keys
        A batch DataFrame of the key columns alone, as they are in the stream: in its order, of its
        types. Null is a key.
    """
    if keys.isStreaming:
        raise InvalidParameterError("watch", "keys", "a batch DataFrame", "a stream")
    parts = [
        sf.coalesce(sf.col(f"`{name}`").cast("string"), sf.lit("null")) for name in keys.columns
    ]
    text = sf.substring(sf.concat_ws(" · ", *parts), 1, MOST_KEY_CHARACTERS + 1)
    named = keys.select(identity(keys, keys.columns).alias("hash"), text.alias("text"))
    table = named.dropDuplicates(["hash"]).limit(_MOST_KEYS).toArrow()
    return dict(zip(table["hash"].to_pylist(), table["text"].to_pylist(), strict=True))
