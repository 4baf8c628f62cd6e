"""Figure 9: how much has to be learned."""

from collections.abc import Sequence

from unskew_papers.claims import Claim, Verdict
from unskew_papers.distribution_aware.mappings import (
    DATA,
    LEARN,
    WRAP,
    Tally,
    chunks,
    combine,
    streams,
    trained,
)
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel
from unskew_papers.rows import Row, Rows

_ENOUGH = {3.0: 100, 2.0: 1_000, 1.0: 10_000}
_SIZES = [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, LEARN]
_SCHEMES = {"DKG": "distribution-aware", "wrap": WRAP}


def _units(parameters: Parameters) -> Sequence[Unit]:
    return chunks(parameters, [{"alpha": alpha} for alpha in sorted(_ENOUGH)])


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    tally = Tally()
    for number, learning, validation in streams(unit, unit["alpha"], seed):
        for size in _SIZES:
            for label, scheme in _SCHEMES.items():
                grouping = trained(scheme, 2, learning[:size], validation, number)
                tally.add(grouping, validation, alpha=unit["alpha"], scheme=label, m=size)
    return tally.rows()


def _figure(rows: Rows) -> Figure:
    curves = []
    for scheme in _SCHEMES:
        for alpha in sorted(_ENOUGH):
            here = rows.where(scheme=scheme, alpha=alpha)
            name = f"Zipf-{alpha:.0f}" if scheme == "DKG" else f"{scheme} Zipf-{alpha:.0f}"
            curves.append(Curve(name, *here.curve("m", "sigma_mean")))
            if scheme == "DKG":
                curves.append(
                    Curve(f"{name} worst case", *here.curve("m", "sigma_worst"), "dashed")
                )
    return Figure([Panel("training set m", "standard deviation σ", curves, log_x=True)])


def _learns_fast(rows: Rows) -> Verdict:
    """Call it learned when the mean σ is at most a tenth above that of the whole training set."""
    parts, holds = [], True
    for alpha, enough in _ENOUGH.items():
        sizes, found = rows.curve("m", "sigma_mean", scheme="DKG", alpha=alpha)
        learned = [m for m, sigma in zip(sizes, found, strict=True) if sigma <= 1.1 * found[-1]]
        holds = holds and min(learned) <= enough
        parts.append(f"Zipf-{alpha:.0f}: {min(learned):,}")
    return Verdict(holds, "; ".join(parts))


def _faster_with_skew(rows: Rows) -> Verdict:
    at = 100
    excess = {
        alpha: rows.value("sigma_mean", scheme="DKG", alpha=alpha, m=at)
        / rows.value("sigma_mean", scheme="DKG", alpha=alpha, m=LEARN)
        for alpha in sorted(_ENOUGH)
    }
    measured = ", ".join(f"Zipf-{alpha:.0f} {ratio:.2f} times" for alpha, ratio in excess.items())
    values = list(excess.values())
    return Verdict(values == sorted(values, reverse=True), f"after {at} tuples σ is {measured}")


FIGURE_9 = Experiment(
    id="distribution-aware/fig9",
    title="Standard deviation of DKG over the size of the training set (k = 2)",
    runs_on=SIMULATION,
    data=DATA,
    sizes={"smoke": {"mappings": 50}, "paper": {"mappings": 10_000}},
    seconds={"smoke": 4, "paper": 850},
    units=_units,
    run=_run,
    combine=combine,
    figure=_figure,
    claims=(
        Claim(
            "learns-fast",
            "Few tuples suffice to learn from.",
            "fewer than 100, 1,000 and 10,000 for Zipf-3, Zipf-2 and Zipf-1",
            _learns_fast,
        ),
        Claim(
            "faster-with-skew",
            "The more skewed, the faster it learns.",
            "faster for stronger skew",
            _faster_with_skew,
        ),
    ),
)
