"""Schemes that choose a worker when a key first appears and then remember it."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from unskew._table import ABSENT, Table, get, new_table, with_room_for
from unskew.groupings.base import Grouping, LoadVector, Weights, Workers
from unskew.hashing import Ids

_BLOCK = 1 << 16


class RememberingGrouping(Grouping):
    """Choose once for each key, by the loads at that moment; all sources share the choices.

    Memory grows with the number of distinct keys: that is the scheme, and why it is a baseline.
    """

    splits_keys: bool = False
    shares_state: bool = True
    memory_grows: ClassVar[bool] = True
    drawback: ClassVar[str] = "needs one place through which all rows go"

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        super().__init__(workers, seed=seed)
        self._loads = LoadVector(self.workers)
        self._chosen: Table = new_table(0)
        self._n_keys = 0

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        for start in range(0, ids.size, _BLOCK):  # room for a block of new keys at a time
            part = slice(start, start + _BLOCK)
            self._chosen = with_room_for(self._chosen, self._n_keys + _BLOCK)
            self._n_keys += self._remember(ids[part], weights[part], out[part])

    @abstractmethod
    def _remember(self, ids: Ids, weights: Weights, out: Workers) -> int:
        """Route, fill the table for keys that are new, and return how many these were."""

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        chosen = get(self._chosen, key_id)
        return self._choices(key_id) if chosen == ABSENT else (int(chosen),)

    @abstractmethod
    def _choices(self, key_id: np.uint64) -> tuple[int, ...]:
        """Return the workers that a key not yet seen may get."""
