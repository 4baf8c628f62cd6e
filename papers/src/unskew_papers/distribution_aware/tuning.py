"""Figures 6, 7, 8: how many buckets, and from which share a key is heavy."""

from collections.abc import Sequence
from dataclasses import replace

from unskew_papers.claims import Claim, Verdict
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

ALPHAS = (1.0, 2.0, 3.0)
HOTTEST = {1.0: 0.1, 2.0: 0.6, 3.0: 0.8}
"""The share of the hottest key, as the paper rounds it."""
TENTHS = [round(0.1 * step, 1) for step in range(1, 11)]


def _units(parameters: Parameters) -> Sequence[Unit]:
    names = ("k", "buckets", "thresholds")
    shared = {name: parameters[name] for name in names}
    return chunks(parameters, [{"alpha": alpha, **shared} for alpha in ALPHAS])


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    tally, k = Tally(), unit["k"]
    for number, learning, validation in streams(unit, unit["alpha"], seed):
        for scheme in ("optimal", WRAP):
            name = {"optimal": "O-apx", WRAP: "wrap"}[scheme]
            grouping = trained(scheme, k, learning, validation, number)
            tally.add(grouping, validation, alpha=unit["alpha"], scheme=name, mu=0, theta=0.0)
        for mu in unit["buckets"]:
            for theta in unit["thresholds"]:
                spec = f"distribution-aware:buckets_per_worker={mu},threshold={theta}"
                grouping = trained(spec, k, learning, validation, number)
                setting = {"alpha": unit["alpha"], "scheme": "DKG", "mu": mu, "theta": theta}
                tally.add(grouping, validation, **setting)
    return tally.rows()


def _figure_over(rows: Rows, x: str, title: str) -> Figure:
    curves = []
    for alpha in ALPHAS:
        for which, style in (("mean", "line"), ("worst", "dashed")):
            name = f"Zipf-{alpha:.0f}{'' if which == 'mean' else ' worst case'}"
            found = rows.curve(x, f"lambda_{which}", alpha=alpha, scheme="DKG")
            curves.append(Curve(name, *found, style))
        level = rows.value("lambda_mean", alpha=alpha, scheme="wrap")
        across = rows.distinct(x, scheme="DKG")
        curves.append(Curve(f"wrap Zipf-{alpha:.0f}", across, [level] * len(across)))
    return Figure([Panel(title, "imbalance λ in %", curves)])


def _dkg(rows: Rows, which: str, **setting: object) -> float:
    return float(rows.value(f"lambda_{which}", scheme="DKG", **setting))


def _second_bucket(rows: Rows) -> Verdict:
    parts, holds = [], True
    most = max(rows.distinct("mu"))
    for alpha in ALPHAS:
        one, two, all_of_them = (_dkg(rows, "mean", alpha=alpha, mu=mu) for mu in (1, 2, most))
        holds = holds and one - two > two - all_of_them and two < 0.9 * one
        parts.append(f"Zipf-{alpha:.0f}: {one:.1f} → {two:.1f} → {all_of_them:.1f}")
    return Verdict(holds, "; ".join(parts))


def _worst_hardly_changes(rows: Rows) -> Verdict:
    most, parts, holds = max(rows.distinct("mu")), [], True
    for alpha in ALPHAS:
        mean, worst = (
            _dkg(rows, which, alpha=alpha, mu=most) / _dkg(rows, which, alpha=alpha, mu=1)
            for which in ("mean", "worst")
        )
        holds = holds and worst > 0.75 and worst > mean
        parts.append(f"Zipf-{alpha:.0f} to {100 * worst:.0f} %")
    return Verdict(holds, "; ".join(parts))


FIGURE_6 = Experiment(
    id="distribution-aware/fig6",
    title="Imbalance of DKG over the buckets a worker (Θ = 1, k = 2)",
    runs_on=SIMULATION,
    data=DATA,
    sizes={
        "smoke": {"mappings": 100, "k": 2, "buckets": [1, 2, 4, 10], "thresholds": [1.0]},
        "paper": {
            "mappings": 10_000,
            "k": 2,
            "buckets": list(range(1, 11)),
            "thresholds": [1.0],
        },
    },
    seconds={"smoke": 4, "paper": 400},
    units=_units,
    run=_run,
    combine=combine,
    figure=lambda rows: _figure_over(rows, "mu", "buckets a worker μ"),
    claims=(
        Claim(
            "second-bucket",
            "A second bucket a worker cuts the mean imbalance sharply, more help little.",
            "a sharp fall from μ = 1 to 2",
            _second_bucket,
            "For Zipf-3 the cut is a little less than the tenth that we call sharp: the hottest "
            "key alone makes 66 of the 83 points, and no bucket can change that. It is still more "
            "than all further buckets bring.",
        ),
        Claim(
            "worst-hardly-changes",
            "The worst case is only slightly affected by μ.",
            "slightly",
            _worst_hardly_changes,
            "It holds for Zipf-3. For Zipf-1 no key is large, so that smaller pieces can always be "
            "dealt more evenly: more buckets lower the worst case as much as the mean, from 32 to "
            "5 % also over 700 mappings. Zipf-2 lies between.",
        ),
    ),
)


def _drops_at_the_hottest_key(rows: Rows) -> Verdict:
    """Ask for most of the whole fall at the step where Θ reaches the hottest key."""
    parts, holds = [], True
    for alpha, share in HOTTEST.items():
        above, reached, least = (
            _dkg(rows, "mean", alpha=alpha, theta=theta)
            for theta in (
                min(t for t in TENTHS if t > share),
                share,
                min(rows.distinct("theta", scheme="DKG")),
            )
        )
        fall, whole = above - reached, above - least
        holds = holds and fall > 0 and fall >= 0.9 * whole
        parts.append(f"Zipf-{alpha:.0f}: {above:.1f} → {reached:.1f} → {least:.1f}")
    return Verdict(holds, "; ".join(parts))


def _mean_and_worst_meet(rows: Rows) -> Verdict:
    ratios = [
        _dkg(rows, "worst", alpha=alpha, theta=HOTTEST[alpha])
        / _dkg(rows, "mean", alpha=alpha, theta=HOTTEST[alpha])
        for alpha in (2.0, 3.0)
    ]
    measured = ", ".join(f"{ratio:.2f} times" for ratio in ratios)
    return Verdict(max(ratios) < 1.1, measured)


def _equals_the_optimum(rows: Rows) -> Verdict:
    gaps = [
        _dkg(rows, "mean", alpha=alpha, theta=HOTTEST[alpha])
        - rows.value("lambda_mean", alpha=alpha, scheme="O-apx")
        for alpha in (2.0, 3.0)
    ]
    return Verdict(max(gaps) < 0.1, f"at most {max(gaps):.2f} points of λ above")


FIGURE_7 = replace(
    FIGURE_6,
    id="distribution-aware/fig7",
    title="Imbalance of DKG over the threshold of heavy keys (μ = 1, k = 2)",
    sizes={
        "smoke": {"mappings": 100, "k": 2, "buckets": [1], "thresholds": [0.01, 0.05, *TENTHS]},
        "paper": {
            "mappings": 10_000,
            "k": 2,
            "buckets": [1],
            "thresholds": [0.01, 0.05, *TENTHS],
        },
    },
    seconds={"smoke": 10, "paper": 380},
    figure=lambda rows: _figure_over(rows, "theta", "threshold Θ"),
    claims=(
        Claim(
            "drops-at-the-hottest-key",
            "Mean and worst case drop once Θ reaches the hottest key's share; lower thresholds "
            "do not improve much.",
            "at 0.8, 0.6 and 0.1 for Zipf-3, Zipf-2 and Zipf-1",
            _drops_at_the_hottest_key,
            "It holds for Zipf-3 and Zipf-2. For Zipf-1 thresholds of 0.05 and 0.01 make more keys "
            "heavy, which are then placed one by one, and that goes on helping.",
        ),
        Claim(
            "mean-and-worst-meet",
            "From there on mean and worst case are very close for Zipf-2 and Zipf-3.",
            "very close",
            _mean_and_worst_meet,
            "The limit of 1.1 is ours. It holds for the worst of few mappings; that of 10,000 is "
            "at 1.11 for Zipf-2.",
        ),
        Claim(
            "equals-the-optimum",
            "With Θ = 0.8 for Zipf-3 and 0.6 for Zipf-2 the mean is O-apx's.",
            "equal",
            _equals_the_optimum,
        ),
    ),
)
