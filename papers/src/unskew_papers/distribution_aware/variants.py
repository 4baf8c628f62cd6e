"""Figures 13 and 14: sparse keys hashed straight to workers, and heavy keys split in two."""

from collections.abc import Sequence
from dataclasses import replace

from unskew_papers.claims import Claim, Verdict
from unskew_papers.distribution_aware.instances import curves_over_k
from unskew_papers.distribution_aware.mappings import (
    DATA,
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


def _units(parameters: Parameters) -> Sequence[Unit]:
    schemes = parameters["schemes"]
    settings = [
        {"alpha": alpha, "instances": parameters["instances"], "schemes": schemes}
        for alpha in parameters["alphas"]
    ]
    return chunks(parameters, settings)


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    tally = Tally()
    for number, learning, validation in streams(unit, unit["alpha"], seed):
        for k in unit["instances"]:
            for label, scheme in unit["schemes"].items():
                grouping = trained(scheme, k, learning, validation, number)
                tally.add(grouping, validation, scheme=label, alpha=unit["alpha"], k=k)
    return tally.rows()


def _over_alpha(rows: Rows) -> Figure:
    curves = []
    for name in rows.distinct("scheme"):
        curves.append(Curve(name, *rows.curve("alpha", "lambda_mean", scheme=name)))
        worst = rows.curve("alpha", "lambda_worst", scheme=name)
        curves.append(Curve(f"{name} worst case", *worst, "dashed"))
    return Figure([Panel("α", "imbalance λ in %", curves)])


def _beats_straight_hashing(rows: Rows) -> Verdict:
    ratios = {
        alpha: [
            rows.value(column, scheme="DKG", alpha=alpha)
            / rows.value(column, scheme="DKG WOSIM", alpha=alpha)
            for column in ("lambda_mean", "lambda_worst")
        ]
        for alpha in rows.distinct("alpha")
    }
    measured = ", ".join(
        f"{alpha}: {mean:.2f}/{worst:.2f}" for alpha, (mean, worst) in ratios.items()
    )
    return Verdict(
        all(max(pair) < 1 for pair in ratios.values()), f"mean/worst of WOSIM's by α: {measured}"
    )


_WOSIM = {
    "DKG": "distribution-aware:epsilon=0.05",
    "DKG WOSIM": "distribution-aware:epsilon=0.05,schedule_buckets=false",
    "wrap": WRAP,
}
FIGURE_13 = Experiment(
    id="distribution-aware/fig13",
    title="DKG with and without scheduling of the sparse keys, over α (k = 10)",
    runs_on=SIMULATION,
    data=DATA,
    sizes={
        "smoke": {
            "mappings": 50,
            "instances": [10],
            "alphas": [0.5, 1.0, 1.5, 2.0, 3.0],
            "schemes": _WOSIM,
        },
        "paper": {
            "mappings": 10_000,
            "instances": [10],
            "alphas": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
            "schemes": _WOSIM,
        },
    },
    seconds={"smoke": 3, "paper": 350},
    units=_units,
    run=_run,
    combine=combine,
    figure=_over_alpha,
    claims=(
        Claim(
            "beats-straight-hashing",
            "DKG outperforms the variant without bucket scheduling for all α, on average and in "
            "the worst case.",
            "below for every α",
            _beats_straight_hashing,
        ),
    ),
)


def _over_k(rows: Rows) -> Figure:
    return Figure([Panel("instances k", "imbalance λ in %", curves_over_k(rows, "lambda"))])


def _both_beat_each(rows: Rows) -> Verdict:
    """Compare the means for k = 2 … 10, a hundredth of a point apart counting as equal."""
    against = []
    for k in range(2, 11):
        both = rows.value("lambda_mean", scheme="DKG PKG", k=k)
        for name in ("DKG", "PKG"):
            other = rows.value("lambda_mean", scheme=name, k=k)
            if both > other + 0.01:
                against.append(f"k = {k}: {both:.2f} > {name} {other:.2f}")
    return Verdict(not against, "; ".join(against) or "below both for every k")


def _worst_cases(rows: Rows) -> Verdict:
    against = []
    for k in range(2, 11):
        split = rows.value("lambda_worst", scheme="PKG", k=k)
        for name in ("DKG", "DKG PKG"):
            worst = rows.value("lambda_worst", scheme=name, k=k)
            if worst >= split:
                against.append(f"k = {k}: {name} {worst:.0f} ≥ {split:.0f}")
    return Verdict(not against, "; ".join(against) or "below PKG's for every k")


_SPLIT = {
    "DKG": "distribution-aware",
    "PKG": "partial-key",
    "DKG PKG": "distribution-aware:split_heavy=true",
    "wrap": WRAP,
}
FIGURE_14 = replace(
    FIGURE_13,
    id="distribution-aware/fig14",
    title="DKG, PKG, and DKG with split heavy keys, over the instances (Zipf-2)",
    sizes={
        "smoke": {
            "mappings": 50,
            "instances": list(range(1, 11)),
            "alphas": [2.0],
            "schemes": _SPLIT,
        },
        "paper": {
            "mappings": 10_000,
            "instances": list(range(1, 11)),
            "alphas": [2.0],
            "schemes": _SPLIT,
        },
    },
    seconds={"smoke": 4, "paper": 450},
    figure=_over_k,
    claims=(
        Claim(
            "both-beat-each",
            "Splitting the heavy keys within DKG is better than DKG and than PKG.",
            "below both",
            _both_beat_each,
        ),
        Claim(
            "worst-cases",
            "The worst cases of DKG and of DKG with split keys are better than PKG's.",
            "both below",
            _worst_cases,
        ),
    ),
)
