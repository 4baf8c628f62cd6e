"""SpaceSaving against the frequent-items sketch of Apache DataSketches."""

from typing import Any

import datasketches
import numpy as np
from numpy.typing import NDArray

from benchmarks._timing import interleaved, show
from unskew.sketches.space_saving import SpaceSaving
from unskew.streams import zipf

ROWS, KEYS, CAPACITY = 500_000, 100_000, 1000
# The bound on its error is 3.5 / 2^lg of the total: with 12 the first at most 1 / CAPACITY.
LG_SIZE = 12


def main(rows: int = ROWS) -> None:
    """Count the same rows with both, for three skews, and compare time and error."""
    table = []
    for exponent in (0.8, 1.2, 2.0):
        stream = zipf(keys=KEYS, exponent=exponent, rows=rows, seed=1)
        keys = np.concatenate([batch.keys for batch in stream.batches()])
        table += _compare(exponent, keys)
    title = f"{rows:,} Zipf keys; error bounds of 1/{CAPACITY} of the total for both"
    show(title, ["exponent", "sketch", "ns per row", "× theirs", "worst error"], table)


def _compare(exponent: float, keys: NDArray[Any]) -> list[list[str]]:
    seconds = interleaved({"unskew": lambda: _ours(keys), "datasketches": lambda: _theirs(keys)})
    true = np.bincount(keys.astype(np.int64), minlength=KEYS)
    ours, theirs = _ours(keys), _theirs(keys)
    ids, counts, _ = ours.items()
    # Theirs is judged by its estimates of the same keys.
    estimates = np.array([theirs.get_estimate(key) for key in ids.tolist()])
    heaviest = ids.astype(np.int64)
    worst = {
        "unskew": np.abs(counts - true[heaviest]).max() / keys.size,
        "datasketches": np.abs(estimates - true[heaviest]).max() / keys.size,
    }
    return [
        [
            f"{exponent:g}",
            name,
            f"{1e9 * took / keys.size:.1f}",
            f"{took / seconds['datasketches']:.3f}",
            f"{worst[name]:.1e}",
        ]
        for name, took in seconds.items()
    ]


def _ours(keys: NDArray[Any]) -> SpaceSaving:
    sketch = SpaceSaving(CAPACITY)
    sketch.update_many(keys)
    return sketch


def _theirs(keys: NDArray[Any]) -> Any:
    """Row by row: the Python binding takes no arrays."""
    sketch = datasketches.frequent_items_sketch(LG_SIZE)
    for key in keys.tolist():
        sketch.update(key)
    return sketch


if __name__ == "__main__":
    main()
