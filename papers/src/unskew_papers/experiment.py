"""An experiment: sizes, units of work, rows, a figure and the claims about it.

A table or figure of a paper is declared as an `Exhibit`: what it shows, the claims about it, and on
which engines it is measured. `declared` makes of it an `Experiment` for each engine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from unskew._validation import check_choice
from unskew_papers.claims import Claim, Reason
from unskew_papers.figures import Figure
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
Sizes = Mapping[str, Parameters]
Values = str | Sequence[Any] | Callable[[Parameters], Iterable[Any]]
Draw = Callable[[Rows], Figure]


@dataclass(frozen=True)
class Grid:
    """Units of work: every combination of the values of some axes.

    Parameters
    ----------
    axes
        Fields of a unit, and their values: those of a parameter by its name, values, or a function
        of all parameters. A mapping as a value gives several fields at once.
    without
        Parameters that a unit does not carry; it carries all others that no axis is named by.

    Examples
    --------
    >>> Grid({"z": "exponents", "workers": [5, 10]})({"exponents": [0.5], "rows": 100})
    [{'z': 0.5, 'workers': 5, 'rows': 100}, {'z': 0.5, 'workers': 10, 'rows': 100}]
    """

    axes: Mapping[str, Values] = field(default_factory=dict)
    without: Sequence[str] = ()

    def __call__(self, parameters: Parameters) -> list[Unit]:
        """Cut the work for some parameters into units; their order is that of the rows."""
        named = {values for values in self.axes.values() if isinstance(values, str)}
        left_out = {*named, *self.without}
        kept = {name: value for name, value in parameters.items() if name not in left_out}
        every = [self._values(axis, parameters) for axis in self.axes]
        units: list[Unit] = []
        for combination in product(*every):
            unit: dict[str, Any] = {}
            for fields in combination:
                unit |= fields
            units.append({**unit, **{n: v for n, v in kept.items() if n not in unit}})
        return units

    def _values(self, axis: str, parameters: Parameters) -> list[Mapping[str, Any]]:
        values = self.axes[axis]
        if isinstance(values, str):
            values = parameters[values]
        found = values(parameters) if callable(values) else values
        return [value if isinstance(value, Mapping) else {axis: value} for value in found]


@dataclass(frozen=True)
class Chunks:
    """A grid whose units are cut again: so much is lost when a run is stopped.

    Parameters
    ----------
    grid
        The grid.
    of
        The parameter that says how often each of its units is done.
    size
        How often a unit is done at most.

    Examples
    --------
    >>> Chunks(Grid({"z": [1.0]}), "draws", 50)({"draws": 70})
    [{'z': 1.0, 'draws': 50, 'first': 0}, {'z': 1.0, 'draws': 20, 'first': 50}]
    """

    grid: Grid
    of: str
    size: int

    def __call__(self, parameters: Parameters) -> list[Unit]:
        """Cut the work for some parameters into units."""
        times = parameters[self.of]
        return [
            {**unit, self.of: min(self.size, times - first), "first": first}
            for unit in self.grid(parameters)
            for first in range(0, times, self.size)
        ]


@dataclass(frozen=True)
class Measurement:
    """How rows come about on one engine; several exhibits may show the same.

    Parameters
    ----------
    runs_on
        `SIMULATION`, `QUEUEING`, `CALIBRATED` or `SPARK`.
    units
        Cuts the work for some parameters into units; their order is that of the rows.
    run
        Does one unit with a seed and returns its rows.
    sizes
        The parameters of each size, ``smoke`` and ``paper``.
    data
        Which rows it runs on, and for what they stand where the paper's cannot be had.
    seconds
        About how long each size takes on two cores.
    combine
        Makes the rows that are shown of those that the units measured, where these are parts of
        means and worst cases; left out, they are the same.
    calibrated
        Whether the parameters have to have a ``calibration``, the fields of a `Calibration`;
        always so where it runs on `CALIBRATED`.
    """

    runs_on: str
    units: Callable[[Parameters], Sequence[Unit]]
    run: Callable[[Unit, int], Sequence[Row]]
    sizes: Sizes
    data: str
    seconds: Mapping[str, float]
    combine: Callable[[Rows], Rows] | None = None
    calibrated: bool = False


@dataclass(frozen=True)
class On:
    """An exhibit on one engine, and in what it differs there.

    Parameters
    ----------
    measured
        Where its rows come from.
    title, data, draw
        Other than the exhibit's, and than the measurement's.
    claims
        Claims that are asked there only; they come first.
    asks
        Names of the exhibit's claims that are asked there; by default all.
    reasons
        Why claims do not hold there, by their names; all others then go unexplained, as a reason
        that stands ready for whatever may fail explains nothing. By default the claims' own.
    """

    measured: Measurement
    title: str | None = None
    data: str | None = None
    draw: Draw | None = None
    claims: Sequence[Claim] = ()
    asks: Sequence[str] | None = None
    reasons: Mapping[str, Reason] | None = None

    def asked(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """Return what is asked there, with the reasons that count there."""
        kept = [each for each in claims if self.asks is None or each.name in self.asks]
        reasons = self.reasons
        if reasons is not None:
            kept = [each.because(reasons.get(each.name)) for each in kept]
        return (*self.claims, *kept)


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of a paper.

    Parameters
    ----------
    name
        Its name, such as ``fig7``.
    title
        What it shows.
    draw
        Draws the rows in the paper's axes.
    claims
        What the paper says about it.
    on
        The engines on which it is measured. The first has the exhibit's name, one on Spark beside
        another is called ``fig7-spark``.
    """

    name: str
    title: str
    draw: Draw
    claims: Sequence[Claim]
    on: Sequence[On]


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper on one engine.

    Parameters
    ----------
    id
        Scheme and figure: ``partial-key/fig7``.
    title, figure, claims
        As in `Exhibit`; ``figure`` draws the rows.
    runs_on, sizes, units, run, data, seconds, combine, calibrated
        As in `Measurement`. ``run`` is a function of a module, so that another process can be
        asked to run it.
    rows_of
        Id of an experiment that measures the very rows this one shows; then `units` and `run`
        are those of the other.
    """

    id: str
    title: str
    runs_on: str
    sizes: Sizes
    units: Callable[[Parameters], Sequence[Unit]]
    run: Callable[[Unit, int], Sequence[Row]]
    figure: Draw
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
        """Whether it has to be given what an engine costs."""
        return self.calibrated or self.runs_on == CALIBRATED

    def parameters(self, size: str) -> Parameters:
        """Return the parameters of a size."""
        return self.sizes[check_choice("reproduce", "--size", size, SIZES)]

    def judge(self, rows: Rows) -> list[dict[str, Any]]:
        """Return what the rows say of every claim."""
        return [claim.judge(rows) for claim in self.claims]


def declared(scheme: str, exhibits: Iterable[Exhibit]) -> tuple[Experiment, ...]:
    """Return the experiments of a scheme's exhibits, one for each engine.

    Of those that show the same measurement, the first measures the rows.
    """
    owners: dict[int, str] = {}
    made = []
    for exhibit in exhibits:
        for place, on in enumerate(exhibit.on):
            name = exhibit.name if place == 0 else f"{exhibit.name}-spark"
            experiment_id = f"{scheme}/{name}"
            owner = owners.setdefault(id(on.measured), experiment_id)
            rows_of = None if owner == experiment_id else owner
            made.append(_experiment(experiment_id, exhibit, on, rows_of))
    return tuple(made)


def _experiment(experiment_id: str, exhibit: Exhibit, on: On, rows_of: str | None) -> Experiment:
    measured = on.measured
    return Experiment(
        id=experiment_id,
        title=on.title or exhibit.title,
        runs_on=measured.runs_on,
        sizes=measured.sizes,
        units=measured.units,
        run=measured.run,
        figure=on.draw or exhibit.draw,
        claims=on.asked(exhibit.claims),
        data=on.data or measured.data,
        seconds=dict.fromkeys(measured.seconds, 0.0) if rows_of else measured.seconds,
        combine=measured.combine,
        rows_of=rows_of,
        calibrated=measured.calibrated,
    )
