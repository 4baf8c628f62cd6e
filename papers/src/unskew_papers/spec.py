"""What an experiment is: sizes, units of work, rows, a figure and the claims about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unskew._validation import check_choice
from unskew_papers.claim import Claim
from unskew_papers.figure import Figure
from unskew_papers.rows import Row, Rows

SIZES = ("smoke", "paper")
"""A reduced run of seconds, and the paper's own sizes."""

SIMULATION, QUEUEING, SPARK = "simulation", "queueing simulation", "Spark"
CALIBRATED = "queues calibrated on Spark"
"""What stands for an engine where the workers are more than a machine has room for."""
RUNS_ON = {
    SIMULATION: "rows are placed and counted, nothing has a clock",
    QUEUEING: "workers have queues, and rows the costs that the paper gives them",
    CALIBRATED: "queues in place of an engine, with costs that a run of Spark has shown "
    "(own/calibration says how well such queues foresee Spark)",
    SPARK: "jobs and streams of Spark on this machine, whose workers wait for every row",
}
"""What an experiment can run on, and what that means."""
ENGINES = {"simulation": (SIMULATION, QUEUEING), "queues": (CALIBRATED,), "spark": (SPARK,)}
"""What they are called where some are chosen: those that need no Spark at all come first."""

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
        Scheme and figure: ``partial-key/fig7``.
    title
        What it shows.
    runs_on
        `SIMULATION`, `QUEUEING`, `CALIBRATED` or `SPARK`.
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
    calibrated
        Whether the parameters have to have a ``calibration``, the fields of a `Calibration`;
        always so where it runs on `CALIBRATED`.
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
    calibrated: bool = False

    def __post_init__(self) -> None:
        check_choice(self.id, "runs_on", self.runs_on, RUNS_ON)

    @property
    def scheme(self) -> str:
        """The scheme whose paper it is of, or ``own``."""
        return self.id.partition("/")[0]

    @property
    def needs_calibration(self) -> bool:
        """Whether it has to be told what an engine costs."""
        return self.calibrated or self.runs_on == CALIBRATED

    def parameters(self, size: str) -> Parameters:
        """Return the parameters of a size."""
        return self.sizes[check_choice("reproduce", "--size", size, SIZES)]

    def judge(self, rows: Rows) -> list[dict[str, Any]]:
        """Return what the rows say of every claim."""
        return [claim.judge(rows) for claim in self.claims]
