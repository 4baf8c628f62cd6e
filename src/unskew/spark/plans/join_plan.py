"""The plan of a join: where both sides' rows of every key go, and what that is expected to give."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError
from unskew.groupings.plan import HASHED_MEMBER, Plan
from unskew.metrics import imbalance_percent
from unskew.scheduling import LoadArray, Pieces
from unskew.spark.plans.saved import Fields, KeyPlan


@dataclass(frozen=True, eq=False, repr=False)
class JoinPlan(KeyPlan):
    """A `KeyPlan` for both sides of a join, made so that workers have equal work.

    Work is rows in + rows out. The pieces of a hot key are the cells of a grid, row by row: the
    left rows of the key are cut into its rows, the right ones into its columns. One column: the
    left side is cut and the right one copied; one row: the other way round; one cell: the key is
    whole. A row is copied to all cells of its own row, or column, of the grid.

    Parameters
    ----------
    other_by
        The key columns of the right side; ``by`` are those of the left one.
    how
        The type of join that it was made for.
    other_spread_by
        As ``spread_by``, for the right side.
    grid_columns
        Number of columns of each hot key's grid.
    left_shares, right_shares
        What part of a hot key's rows each row, or column, of its grid gets.
    null_shares
        What part of the rows with a null key each worker gets.
    hashed_loads
        The work that plain hashing would give each worker.
    copies
        Rows that are sent more than once, each time but the first.
    left_rows, right_rows
        Rows of either side.
    """

    other_by: tuple[str, ...] = ()
    how: str = "inner"
    other_spread_by: tuple[str, ...] = ()
    grid_columns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    left_shares: LoadArray = field(default_factory=lambda: np.empty(0))
    right_shares: LoadArray = field(default_factory=lambda: np.empty(0))
    null_shares: LoadArray = field(default_factory=lambda: np.empty(0))
    hashed_loads: LoadArray = field(default_factory=lambda: np.empty(0))
    copies: float = 0.0
    left_rows: float = 0.0
    right_rows: float = 0.0

    @property
    def is_hashing(self) -> bool:
        """Whether plain hashing was found to be even enough, so that nothing is to be done."""
        return self.grouping == "key"

    @property
    def hashed_imbalance(self) -> float:
        """The percentage of imbalance λ that plain hashing would have."""
        return imbalance_percent(self.hashed_loads)

    @property
    def summary(self) -> str:
        """What it is and promises, in a few words."""
        return (
            f"{super().summary} (hashing {self.hashed_imbalance:.1f} %), {self.copies:,.0f} copies"
        )

    def __repr__(self) -> str:
        keys = [
            left if left == right else f"{left} = {right}"
            for left, right in zip(self.by, self.other_by, strict=True)
        ]
        return f"Plan v{self.version} of the {self.how} join on {', '.join(keys)}: {self.summary}"

    @property
    def grid_rows(self) -> NDArray[np.int64]:
        """Number of rows of each hot key's grid."""
        rows: NDArray[np.int64] = np.diff(self.pieces.starts) // self.grid_columns
        return rows

    def check_fits_both(
        self, owner: str, by: list[str], other_by: list[str], workers: int, types: tuple[str, ...]
    ) -> None:
        """Raise, in the name of ``owner``, unless it is for these columns, types and workers."""
        self.check_fits(owner, by, workers, types)
        if tuple(other_by) != self.other_by:
            expected = f"one for the key columns {', '.join(other_by)} of the right side"
            raise InvalidParameterError(owner, "plan", expected, ", ".join(self.other_by))

    def copying_only(self, *, left: bool, right: bool) -> Self:
        """Return the plan with grids that copy no rows of a side that may not be copied.

        Of the cells that would have held copies only the first ones stay; predictions are kept.
        """
        if (left or not (self.grid_columns > 1).any()) and (
            right or not (self.grid_rows > 1).any()
        ):
            return self
        grids = [self._cells(at) for at in range(self.hot_ids.size)]
        kept = [cells[: None if right else 1, : None if left else 1] for cells in grids]
        return self._with_grids(kept, left=left, right=right)

    def as_strips(self) -> Self:
        """Return the plan by which right rows go to every worker where rows of their key are.

        That is where a result of this plan is, which may be joined once more.
        """
        counts = np.diff(self.pieces.starts)
        return replace(
            self,
            grid_columns=np.ones_like(self.grid_columns),
            left_shares=1 / np.repeat(counts, counts),
            right_shares=np.ones(counts.size),
        )

    def _cells(self, at: int) -> NDArray[np.int64]:
        """Return the numbers of a key's pieces as its grid."""
        first, end = self.pieces.starts[at], self.pieces.starts[at + 1]
        return np.arange(first, end).reshape(-1, int(self.grid_columns[at]))

    def _with_grids(self, kept: list[NDArray[np.int64]], *, left: bool, right: bool) -> Self:
        chosen = np.concatenate([cells.ravel() for cells in kept])
        sizes = [cells.size for cells in kept]
        pieces = Pieces(
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            self.pieces.workers[chosen],
            self.pieces.loads[chosen],
        )
        whole = np.ones(len(kept))
        return replace(
            self,
            pieces=pieces,
            grid_columns=np.array([cells.shape[1] for cells in kept], np.int64),
            left_shares=self.left_shares if right else whole,
            right_shares=self.right_shares if left else whole,
        )

    def side(self, *, left: bool) -> tuple[Plan, list[list[int]]]:
        """Return the plan of one side alone, and the groups of workers that it names.

        Its "workers" below ``workers`` are workers; number ``workers`` + i stands for all workers
        of group i: a row that is sent there is copied to each of them.
        """
        codes: list[int] = []
        groups: list[list[int]] = []
        for at in range(self.hot_ids.size):
            cells = self.pieces.workers[self._cells(at)]
            for meets in cells if left else cells.T:
                codes.append(int(meets[0]) if meets.size == 1 else self.workers + len(groups))
                if meets.size > 1:
                    groups.append(meets.tolist())
        counts = self.grid_rows if left else self.grid_columns
        pieces = Pieces(
            np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            np.array(codes, np.int32),
            self.left_shares if left else self.right_shares,
        )
        return (
            Plan(
                workers=self.workers + len(groups),
                slot_member=HASHED_MEMBER,
                slot_workers=self.slot_workers,
                hot_ids=self.hot_ids,
                pieces=pieces,
                predicted_loads=np.zeros(self.workers + len(groups)),
            ),
            groups,
        )

    def own_fields(self) -> dict[str, Any]:
        """Return what a file has beside the fields of a `KeyPlan`."""
        return {
            "other_by": list(self.other_by),
            "how": self.how,
            "other_spread_by": list(self.other_spread_by),
            "copies": self.copies,
            "left_rows": self.left_rows,
            "right_rows": self.right_rows,
            "hashed_loads": self.hashed_loads.tolist(),
            "null_shares": self.null_shares.tolist(),
            "grid_columns": self.grid_columns.tolist(),
            "left_shares": self.left_shares.tolist(),
            "right_shares": self.right_shares.tolist(),
        }

    @classmethod
    def with_own_fields(cls, plan: KeyPlan, found: Fields) -> Self:
        """Return ``plan`` with what `own_fields` has written, or raise if that does not fit."""
        joined = cls(
            **vars(plan),
            other_by=found.texts("other_by"),
            how=found.text("how"),
            other_spread_by=found.texts("other_spread_by"),
            copies=found.real("copies"),
            left_rows=found.real("left_rows"),
            right_rows=found.real("right_rows"),
            hashed_loads=found.reals("hashed_loads"),
            null_shares=found.reals("null_shares"),
            grid_columns=found.wholes("grid_columns", 1, plan.workers),
            left_shares=found.reals("left_shares"),
            right_shares=found.reals("right_shares"),
        )
        joined.refuse_broken()
        return joined

    def refuse_broken(self) -> None:
        """Raise ValueError unless grids, shares and pieces fit together."""
        cells = np.diff(self.pieces.starts)
        whole = (
            len(self.by) == len(self.other_by)
            and self.grid_columns.size == self.hot_ids.size
            and bool(np.all(self.grid_columns > 0))
            and bool(np.all(cells % self.grid_columns == 0))
            and self.left_shares.size == self.grid_rows.sum()
            and self.right_shares.size == self.grid_columns.sum()
            and self.null_shares.size == self.hashed_loads.size == self.workers
            and all(
                np.unique(self.pieces.workers[self._cells(at)]).size == cells[at]
                for at in range(cells.size)
            )
        )
        if not whole:
            raise ValueError("its grids do not fit together")
