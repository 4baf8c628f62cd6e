"""Figures 13 and 14: sparse keys hashed straight to workers, and heavy keys split in two."""

from collections.abc import Mapping, Sequence
from typing import Any

from unskew_papers.checks import AtMost, Below, Ordered
from unskew_papers.claims import Claim
from unskew_papers.distribution_aware.instances import MANY, over_instances
from unskew_papers.distribution_aware.mappings import (
    DATA,
    WRAP,
    Tally,
    combine,
    in_chunks,
    streams,
    trained,
)
from unskew_papers.experiment import SIMULATION, Exhibit, Measurement, On, Unit
from unskew_papers.figures import Chart, Curve, Drawing, Lines
from unskew_papers.quantities import Quantity, cell, largest
from unskew_papers.rows import Row, Rows, one_of


def _run_variants(unit: Unit, seed: int) -> Sequence[Row]:
    tally = Tally()
    for number, learning, validation in streams(unit, unit["alpha"], seed):
        for k in unit["instances"]:
            for label, scheme in unit["schemes"].items():
                grouping = trained(scheme, k, learning, validation, number)
                tally.add(grouping, validation, scheme=label, alpha=unit["alpha"], k=k)
    return tally.rows()


def _variants(
    schemes: Mapping[str, str], instances: Sequence[int], alphas: Mapping[str, Sequence[float]],
    seconds: Mapping[str, float],
) -> Measurement:  # fmt: skip
    shared: dict[str, Any] = {"instances": list(instances), "schemes": dict(schemes)}
    return Measurement(
        SIMULATION,
        in_chunks({"alpha": "alphas"}),
        _run_variants,
        {
            size: {"mappings": mappings, "alphas": list(alphas[size]), **shared}
            for size, mappings in (("smoke", 50), ("paper", 10_000))
        },
        DATA,
        seconds,
        combine=combine,
    )


_WITHOUT_SCHEDULING = {
    "DKG": "distribution-aware:epsilon=0.05",
    "DKG WOSIM": "distribution-aware:epsilon=0.05,schedule_buckets=false",
    "wrap": WRAP,
}


def _of_wosim(column: str) -> Quantity:
    return cell(column, scheme="DKG") / cell(column, scheme="DKG WOSIM")


def _mean_and_worst(rows: Rows) -> list[Curve]:
    """Draw the worst case of a scheme right after its mean."""
    return [
        curve
        for name in rows.distinct("scheme")
        for column, label, style in (
            ("lambda_mean", "{scheme}", "line"),
            ("lambda_worst", "{scheme} worst case", "dashed"),
        )
        for curve in Lines("alpha", column, by="scheme", only=[name], label=label, style=style)(
            rows
        )
    ]


FIGURE_13 = Exhibit(
    "fig13",
    "DKG with and without scheduling of the sparse keys, over α (k = 10)",
    Drawing(Chart("α", "imbalance λ in %", [_mean_and_worst])),
    (
        Claim("beats-straight-hashing",
              "DKG outperforms the variant without bucket scheduling for all α, on average and in "
              "the worst case.",
              "below for every α",
              Below(1, {"mean": _of_wosim("lambda_mean"), "worst": _of_wosim("lambda_worst")},
                    each=["alpha"])),
    ),
    [
        On(_variants(
            _WITHOUT_SCHEDULING, [10],
            {"smoke": [0.5, 1.0, 1.5, 2.0, 3.0], "paper": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]},
            {"smoke": 3, "paper": 350},
        ))
    ],
)  # fmt: skip

_SPLIT = {
    "DKG": "distribution-aware",
    "PKG": "partial-key:distinct=false",
    "DKG PKG": "distribution-aware:split_heavy=true",
    "wrap": WRAP,
}
_BOTH = cell("lambda_mean", scheme="DKG PKG")

FIGURE_14 = Exhibit(
    "fig14",
    "DKG, PKG, and DKG with split heavy keys, over the instances (Zipf-2)",
    over_instances("imbalance λ in %", "lambda"),
    (
        Claim("both-beat-each",
              "Splitting the heavy keys within DKG is better than DKG and than PKG.",
              "below both",
              # A hundredth of a point apart counts as equal.
              AtMost(0.01, {f"above {name}": _BOTH - cell("lambda_mean", scheme=name)
                            for name in ("DKG", "PKG")}, each=["k"], where=MANY, form="{:+.2f}")),
        Claim("worst-cases",
              "The worst cases of DKG and of DKG with split keys are better than PKG's.",
              "both below",
              Ordered({"PKG": cell("lambda_worst", scheme="PKG"),
                       "the others": largest("lambda_worst", scheme=one_of("DKG", "DKG PKG"))},
                      each=["k"], where=MANY, form="{:.0f}")),
    ),
    [
        On(_variants(
            _SPLIT, range(1, 11), {"smoke": [2.0], "paper": [2.0]}, {"smoke": 4, "paper": 450}
        ), data=f"{DATA}. The two candidates of PKG may coincide, as in its authors' program; "
            "distinct ones, our default, have no worst case like that")
    ],
)  # fmt: skip
