"""Figures 8 and 9: number of instances, and precision of the sketches."""

from unskew_papers.claims import Claim, Verdict
from unskew_papers.proactive_shuffle.sweep import POSG, SMALL_GAIN, sweep
from unskew_papers.rows import Rows


def _one_at_one(rows: Rows) -> Verdict:
    found = rows.value("speed_up", scheme=POSG, workers=1)
    return Verdict(abs(found - 1) < 1e-9, f"{found:.3f}")


def _slow_growth(rows: Rows) -> Verdict:
    found = dict(zip(*rows.curve("workers", "speed_up", scheme=POSG), strict=True))
    first, last = found[3] / found[2] - 1, found[10] / found[9] - 1
    holds = 0 < last <= 0.02 and last < first <= 0.08
    return Verdict(holds, f"2 → 3: {first:+.1%}, 9 → 10: {last:+.1%}")


FIGURE_8 = sweep(
    8, "Speed-up by number of instances", "workers", "instances k", "speed_up",
    {"smoke": [1, 2, 3, 5, 9, 10], "paper": list(range(1, 11))},
    (
        Claim("one-at-one", "With one instance nothing is gained or lost.", "1", _one_at_one),
        Claim("slow-growth", "The speed-up grows with more instances, ever more slowly.",
              "2 → 3: +4 %, 9 → 10: +1 %", _slow_growth,
              "Every worker needs two windows of 1,024 rows before it reports, so the more workers "
              "there are the less of a stream of 32,768 is left to gain on."),
    ),
    streams=10, seconds=35,
)  # fmt: skip


def _from_009(rows: Rows) -> Verdict:
    least = min(row["speed_up_min"] for row in rows.where(scheme=POSG) if row["epsilon"] <= 0.09)
    return Verdict(least > 1, f"at least {least:.2f}")


def _ten_times_more(rows: Rows) -> Verdict:
    found = [rows.value("speed_up", scheme=POSG, epsilon=e) for e in (0.1, 0.01)]
    return Verdict(found[1] / found[0] >= 1.3, f"0.1 → 0.01: {found[1] / found[0] - 1:+.1%}")


def _coarse_is_bad(rows: Rows) -> Verdict:
    found = {e: rows.value("speed_up", scheme=POSG, epsilon=e) for e in (1.0, 0.05)}
    return Verdict(found[1.0] < found[0.05], f"{found[1.0]:.2f} against {found[0.05]:.2f}")


FIGURE_9 = sweep(
    9, "Speed-up by precision of the sketches", "epsilon", "ε", "speed_up",
    {
        "smoke": [0.001, 0.01, 0.05, 0.09, 0.1, 1.0],
        "paper": [0.001, 0.003, 0.005, 0.01, 0.03, 0.05, 0.07, 0.09, 0.1, 0.3, 0.5, 0.7, 1.0],
    },
    (
        Claim("from-0.09", "From ε = 0.09 down no stream is slower than with Round Robin.",
              "minimum > 1", _from_009, SMALL_GAIN),
        Claim("ten-times-more", "Ten times the memory gives about 30 % more speed-up.", "+30 %",
              _ten_times_more,
              "Between ε = 0.1 and 0.01 nothing is gained, and about a fifth by 0.001, where most "
              "keys have a cell of their own. What limits the gain is the time until all workers "
              "have reported."),
        Claim("coarse-is-bad", "Large ε do not perform well.", "worse", _coarse_is_bad),
    ),
    streams=10, seconds=50,
)  # fmt: skip
