"""Made-up positions of football players, with the skew of the recorded match of paper 000."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

READINGS_A_SECOND = 1000
"""The recorded match has 15,000."""

_PLAYERS = 16
_STANDING = 13
_SPOT = (52.5, 38.25)
_REACH = (3.5, 3.5)


def readings(numbers: NDArray[np.int64]) -> dict[str, pa.Array]:
    """Return player and position (metres) of each reading, given its number.

    Players take turns. Thirteen of sixteen move to and fro in one cell of the coarsest grid and
    three run all over the field: as each reading falls into one cell of each of four grids, the
    hottest cell has 13/16/4 of all rows, a fifth, as in the recorded match.

    >>> readings(np.arange(2))["player"].to_pylist()
    [0, 1]
    """
    player = numbers % _PLAYERS
    seconds = numbers / READINGS_A_SECOND
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
