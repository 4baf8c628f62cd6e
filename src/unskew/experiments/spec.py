"""What an experiment is: sizes, units of work, rows, a figure and the claims about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unskew._validation import check_choice
from unskew.experiments.claim import Claim
from unskew.experiments.figure import Figure
from unskew.experiments.rows import Row, Rows

SIZES = ("smoke", "paper")
"""A reduced run of seconds, and the paper's own sizes."""

SIMULATION, QUEUEING, SPARK = "simulation", "queueing simulation", "Spark"
RUNS_ON = (SIMULATION, QUEUEING, SPARK)

Parameters = Mapping[str, Any]
"""Plain values (numbers, text, lists, None) that JSON keeps as they are."""
Unit = Mapping[str, Any]
"""A part of the work, as plain values: it is run by itself, and its rows are kept when done."""


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Parameters
    ----------
    id
        Paper and figure: ``003/fig7``.
    title
        What it shows.
    runs_on
        `SIMULATION`, `QUEUEING` or `SPARK`.
    sizes
        The parameters of each size, ``smoke`` and ``paper``.
    units
        Cuts the work for some parameters into units; their order is that of the rows.
    run
        Does one unit with a seed and returns its rows. A function of a module, so that another
        process can be told to run it.
    figure
        Draws the rows in the paper's axes.
    claims
        What the paper says about it.
    data
        Which rows it runs on, and for what they stand where the paper's cannot be had.
    seconds
        About how long each size takes on two cores.
    combine
        Makes the rows that are shown of those that the units measured, where these are parts of
        means and worst cases; left out, they are the same.
    rows_of
        Id of an experiment that measures the very rows this one shows; then `units` and `run`
        are those of the other.
    """

    id: str
    title: str
    runs_on: str
    sizes: Mapping[str, Parameters]
    units: Callable[[Parameters], Sequence[Unit]]
    run: Callable[[Unit, int], Sequence[Row]]
    figure: Callable[[Rows], Figure]
    claims: Sequence[Claim]
    data: str
    seconds: Mapping[str, float] = field(default_factory=dict)
    combine: Callable[[Rows], Rows] | None = None
    rows_of: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.id, "runs_on", self.runs_on, RUNS_ON)

    @property
    def paper(self) -> str:
        """The paper's number."""
        return self.id.partition("/")[0]

    def parameters(self, size: str) -> Parameters:
        """Return the parameters of a size."""
        return self.sizes[check_choice("reproduce", "--size", size, SIZES)]

    def judge(self, rows: Rows) -> list[dict[str, Any]]:
        """Return what the rows say of every claim."""
        return [claim.judge(rows) for claim in self.claims]
