"""Figure 4: how the standard deviation is spread over the mappings."""

from collections import Counter
from collections.abc import Callable, Sequence

from unskew import metrics
from unskew_papers.claims import Claim, Verdict
from unskew_papers.distribution_aware.mappings import (
    DATA,
    WRAP,
    chunks,
    streams,
    trained,
    tuples_of,
)
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel
from unskew_papers.rows import Row, Rows

_SCHEMES = {"DKG": "distribution-aware", "Universal": "universal", "wrap": WRAP}
_INSTANCES = (2, 5)
_BIN = 200


def _units(parameters: Parameters) -> Sequence[Unit]:
    return chunks(parameters, [{"alpha": 2.0}])


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    """Count how often σ, rounded to the nearest multiple of 200, comes up."""
    counts: Counter[tuple[str, int, int]] = Counter()
    for number, learning, validation in streams(unit, unit["alpha"], seed):
        for k in _INSTANCES:
            for label, scheme in _SCHEMES.items():
                workers = trained(scheme, k, learning, validation, number).route_many(validation)
                sigma = metrics.stddev(tuples_of(workers, k))
                counts[label, k, _BIN * round(sigma / _BIN)] += 1
    return _as_rows(counts)


def _as_rows(counts: Counter[tuple[str, int, int]]) -> list[Row]:
    return [
        {"scheme": scheme, "k": k, "sigma": sigma, "count": count}
        for (scheme, k, sigma), count in sorted(counts.items())
    ]


def _combine(rows: Rows) -> Rows:
    counts: Counter[tuple[str, int, int]] = Counter()
    for row in rows:
        counts[row["scheme"], row["k"], row["sigma"]] += row["count"]
    return Rows(_as_rows(counts))


def _figure(rows: Rows) -> Figure:
    panels = []
    for k in _INSTANCES:
        bins = range(0, max(rows.values("sigma", k=k)) + _BIN, _BIN)
        curves = []
        for name in _SCHEMES:
            found = dict(zip(*rows.curve("sigma", "count", scheme=name, k=k), strict=True))
            curves.append(Curve(name, list(bins), [found.get(each, 0) for each in bins], "bars"))
        panels.append(Panel("standard deviation σ", "runs", curves, title=f"k = {k}"))
    return Figure(panels, columns=1)


def _band(rows: Rows, scheme: str, k: int) -> tuple[int, int]:
    found = rows.values("sigma", scheme=scheme, k=k)
    return min(found), max(found)


def _never_better(rows: Rows) -> Verdict:
    pairs = [(_band(rows, "Universal", k)[0], _band(rows, "DKG", k)[1]) for k in _INSTANCES]
    measured = "; ".join(
        f"k = {k}: Universal from {low:,}, DKG up to {high:,}"
        for k, (low, high) in zip(_INSTANCES, pairs, strict=True)
    )
    return Verdict(all(low >= high for low, high in pairs), measured)


def _spans(low: int, high: int) -> Callable[[Rows], Verdict]:
    def check(rows: Rows) -> Verdict:
        found = _band(rows, "Universal", 2)
        near = abs(found[0] - low) <= 2 * _BIN and abs(found[1] - high) <= 2 * _BIN
        return Verdict(near, f"{found[0]:,} … {found[1]:,}")

    return check


def _narrow(rows: Rows) -> Verdict:
    """Ask for a tenth of the width of Universal's band."""
    shares = []
    for k in _INSTANCES:
        ours, theirs = _band(rows, "DKG", k), _band(rows, "Universal", k)
        shares.append((ours[1] - ours[0]) / (theirs[1] - theirs[0]))
    return Verdict(max(shares) <= 0.1, f"at most {100 * max(shares):.0f} % of Universal's width")


FIGURE_4 = Experiment(
    id="distribution-aware/fig4",
    title="Distribution of the standard deviation over the runs, Zipf-2",
    runs_on=SIMULATION,
    data=DATA,
    sizes={"smoke": {"mappings": 200}, "paper": {"mappings": 10_000}},
    seconds={"smoke": 4, "paper": 60},
    units=_units,
    run=_run,
    combine=_combine,
    figure=_figure,
    claims=(
        Claim(
            "never-better",
            "Universal does no better than DKG's worst result, for 2 and for 5 instances.",
            "no overlap",
            _never_better,
            "In 200 mappings it holds. Of 10,000 the luckiest of Universal and the unluckiest of "
            "DKG meet for k = 2 and overlap by one bin of 200 for k = 5.",
        ),
        Claim(
            "universal-spans",
            "With two instances Universal's σ spans a wide range.",
            "2,800 … 9,600",
            _spans(2800, 9600),
        ),
        Claim(
            "dkg-is-narrow",
            "DKG's σ stays in a small interval for both numbers of instances.",
            "extremely small variance",
            _narrow,
            "The limit, a tenth of Universal's width, is ours. It holds in 200 mappings; the "
            "extremes of 10,000 lie further apart.",
        ),
    ),
)
