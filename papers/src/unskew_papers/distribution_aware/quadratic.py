"""Figure 5: work that grows with the square of a key's tuples."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.optimal import Optimal
from unskew_papers.claims import Claim, Verdict
from unskew_papers.distribution_aware.instances import curves_over_k
from unskew_papers.distribution_aware.mappings import (
    DATA,
    WRAP,
    Keys,
    Tally,
    chunks,
    combine,
    streams,
    trained,
)
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Figure, Panel
from unskew_papers.rows import Row, Rows

_SCHEMES = {
    "Universal": "universal",
    "DKG": "distribution-aware:quadratic=true",
    "SIA": "single",
    "wrap": WRAP,
}


def _units(parameters: Parameters) -> Sequence[Unit]:
    return chunks(parameters, [{"alpha": 1.0}])


def squares_of(keys: Keys, workers: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    """Return Σ f² of every worker, f the tuples of a key that it has; keys are numbered from 0.

    >>> squares_of(np.array([1, 1, 1]), np.array([0, 0, 1], np.int32), 2).tolist()
    [4.0, 1.0]
    """
    tuples = np.bincount(keys * k + workers, minlength=k * (int(keys.max()) + 1))
    squares: NDArray[np.float64] = np.square(tuples.reshape(-1, k), dtype=np.float64).sum(axis=0)
    return squares


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    tally = Tally()
    for number, learning, validation in streams(unit, unit["alpha"], seed):
        keys, ranks, counts = np.unique(validation, return_inverse=True, return_counts=True)
        load = partial(squares_of, ranks)
        squares = counts.astype(float) ** 2
        for k in range(1, 11):
            optimal = Optimal(k).fit(keys, squares)
            tally.add(optimal, validation, load=load, scheme="O-apx", k=k)
            for label, scheme in _SCHEMES.items():
                grouping = trained(scheme, k, learning, validation, number)
                tally.add(grouping, validation, load=load, scheme=label, k=k)
    return tally.rows()


def _figure(rows: Rows) -> Figure:
    title = "standard deviation σ of the quadratic load"
    return Figure([Panel("instances k", title, curves_over_k(rows, "sigma"))])


def _ratios(rows: Rows, first: tuple[str, str], second: tuple[str, str]) -> list[float]:
    return [
        rows.value(f"sigma_{first[1]}", scheme=first[0], k=k)
        / rows.value(f"sigma_{second[1]}", scheme=second[0], k=k)
        for k in range(2, 11)
    ]


def _dkg_leaves_the_optimum(rows: Rows) -> Verdict:
    found = _ratios(rows, ("DKG", "mean"), ("O-apx", "mean"))
    early, late = found[:3], found[3:]
    measured = f"up to {max(early):.2f} times for k < 5, {max(late):.2f} from k = 5 on"
    return Verdict(max(early) > 1.1 and max(late) < min(1.1, max(early)), measured)


def _universal_near_dkg_worst(rows: Rows) -> Verdict:
    found = _ratios(rows, ("Universal", "mean"), ("DKG", "worst"))
    measured = f"{min(found):.2f} … {max(found):.2f} of DKG's worst case"
    return Verdict(max(found) <= 1 and min(found) > 0.75, measured)


def _universal_worst_near_single(rows: Rows) -> Verdict:
    found = _ratios(rows, ("Universal", "worst"), ("SIA", "mean"))
    return Verdict(min(found) > 0.75, f"at least {min(found):.2f} of a single instance's σ")


FIGURE_5 = Experiment(
    id="distribution-aware/fig5",
    title="Standard deviation over the number of instances with quadratic cost, Zipf-1",
    runs_on=SIMULATION,
    data=DATA,
    sizes={"smoke": {"mappings": 50}, "paper": {"mappings": 10_000}},
    seconds={"smoke": 6, "paper": 540},
    units=_units,
    run=_run,
    combine=combine,
    figure=_figure,
    claims=(
        Claim(
            "dkg-leaves-the-optimum",
            "DKG's mean does not stick to O-apx for fewer than 5 instances, as it over-estimates "
            "the cost of sparse keys; from there on it does.",
            "a gap for k < 5",
            _dkg_leaves_the_optimum,
        ),
        Claim(
            "universal-near-dkg-worst",
            "Universal does on average only slightly better than DKG in the worst case.",
            "slightly below",
            _universal_near_dkg_worst,
            "The worst of few mappings is not that of the paper's 10,000: DKG's worst case lies "
            "lower here, so that Universal's mean is above it for some k.",
        ),
        Claim(
            "universal-worst-near-single",
            "Universal's worst case is close to a single instance.",
            "close",
            _universal_worst_near_single,
        ),
    ),
)
