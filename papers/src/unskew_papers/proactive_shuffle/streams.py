"""Figures 4 to 7: the streams' distribution, rate and execution times."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from unskew_papers.claims import Claim, Verdict
from unskew_papers.proactive_shuffle.sweep import ORACLE, POSG, ROUND_ROBIN, SMALL_GAIN, sweep
from unskew_papers.rows import Rows

_SKEWS = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
_EQUAL = 0.05
"""What counts as matching: five percent."""


def _gain(rows: Rows, exponent: float) -> float:
    return float(rows.value("speed_up", scheme=POSG, exponent=exponent)) - 1


def _better_everywhere(rows: Rows) -> Verdict:
    found = [_gain(rows, exponent) for exponent in rows.distinct("exponent")]
    return Verdict(min(found) > 0, ", ".join(f"{gain:+.1%}" for gain in found))


def _oracle_is_better(rows: Rows) -> Verdict:
    ratios = [
        rows.value("mean_ms", scheme=POSG, exponent=exponent)
        / rows.value("mean_ms", scheme=ORACLE, exponent=exponent)
        for exponent in rows.distinct("exponent")
    ]
    return Verdict(
        min(ratios) >= 1, f"POSG's times are {min(ratios):.2f} … {max(ratios):.2f} of it"
    )


def _gain_at_least(exponents: Sequence[float], least: float) -> Callable[[Rows], Verdict]:
    def check(rows: Rows) -> Verdict:
        found = [_gain(rows, exponent) for exponent in exponents]
        return Verdict(float(np.mean(found)) >= least, ", ".join(f"{gain:+.1%}" for gain in found))

    return check


def _worst_beats_best(rows: Rows) -> Verdict:
    worst = rows.value("mean_ms_max", scheme=POSG, exponent=1.5)
    best = rows.value("mean_ms_min", scheme=ROUND_ROBIN, exponent=1.5)
    return Verdict(worst < best, f"POSG at most {worst:.0f} ms, Round Robin at least {best:.0f} ms")


def _equals_oracle(rows: Rows) -> Verdict:
    ratios = [
        rows.value("mean_ms", scheme=POSG, exponent=exponent)
        / rows.value("mean_ms", scheme=ORACLE, exponent=exponent)
        for exponent in (2.5, 3.0)
    ]
    return Verdict(max(ratios) <= 1 + _EQUAL, ", ".join(f"{ratio:.2f}×" for ratio in ratios))


def _faster_with_skew(rows: Rows) -> Verdict:
    holds = True
    for scheme in (ROUND_ROBIN, POSG, ORACLE):
        times = [rows.value("mean_ms", scheme=scheme, exponent=each) for each in _SKEWS[3:]]
        holds &= all(left > right for left, right in pairwise(times))
    return Verdict(holds, "from Zipf-1.5 on" if holds else "not for all")


FIGURE_4 = sweep(
    4, "Completion time by frequency distribution", "exponent", "Zipf exponent (0 is uniform)",
    "mean_ms", {"smoke": _SKEWS, "paper": _SKEWS},
    (
        Claim("better-everywhere", "POSG is faster than Round Robin for every distribution.",
              "for every one", _better_everywhere),
        Claim("oracle-is-better", "Full Knowledge is faster than POSG for every distribution.",
              "for every one", _oracle_is_better),
        Claim("uniform-gain", "The gain is limited for uniform and Zipf-0.5.", "6 % on average",
              _gain_at_least([0.0, 0.5], 0.06), SMALL_GAIN),
        Claim("zipf-1-gain", "With Zipf-1.0 the gain is sizeable.", "25 %",
              _gain_at_least([1.0], 0.25), SMALL_GAIN),
        Claim("worst-beats-best", "With Zipf-1.5 POSG's slowest stream is faster than Round "
              "Robin's fastest.", "max < min", _worst_beats_best,
              "Which execution time the hottest key was dealt makes streams differ by more than a "
              "factor of two, more than any scheme gains."),
        Claim("equals-oracle", "From Zipf-2.5 on POSG matches Full Knowledge.",
              "equal (here: 5 %)", _equals_oracle,
              "It does once it has learned: in the second half of a stream four times as long, "
              "with 5 % to spare, its times are within 5 %. Here the Round Robin before, and what "
              "queued up in it, count."),
        Claim("faster-with-skew", "All are faster on highly skewed streams.", "falling",
              _faster_with_skew),
    ),
    streams=20, seconds=25,
)  # fmt: skip


def _speed_ups(rows: Rows, low: float, high: float) -> dict[float, float]:
    sizes, found = rows.curve("provision", "speed_up", scheme=POSG)
    return {size: value for size, value in zip(sizes, found, strict=True) if low <= size <= high}


def _well_sized(rows: Rows) -> Verdict:
    found = _speed_ups(rows, 1.0, 1.09).values()
    return Verdict(min(found) >= 1.15, f"{min(found):.2f} … {max(found):.2f}")


def _peak(rows: Rows) -> Verdict:
    found = _speed_ups(rows, 0.9, 1.2)
    best = max(found, key=lambda size: found[size])
    holds = found[best] >= 1.26 and 1.01 <= best <= 1.03
    return Verdict(holds, f"{found[best]:.2f} at {best:.0%}")


def _oversized(rows: Rows) -> Verdict:
    found = rows.value("speed_up", scheme=POSG, provision=1.15)
    return Verdict(abs(found - 1.07) <= 0.02, f"{found:.2f}")


def _less_at_both_ends(rows: Rows) -> Verdict:
    found = _speed_ups(rows, 0.9, 1.2)
    middle = max(value for size, value in found.items() if 1.0 <= size <= 1.09)
    ends = [found[size] for size in (0.95, 0.98, 1.15)]
    return Verdict(max(ends) < middle, f"{max(ends):.2f} against {middle:.2f}")


FIGURE_5 = sweep(
    5, "Speed-up by over-provisioning", "provision", "over-provisioning", "speed_up",
    {
        "smoke": [0.95, 0.98, 1.0, 1.02, 1.05, 1.09, 1.15],
        "paper": [round(0.95 + 0.01 * step, 2) for step in range(21)],
    },
    (
        Claim("well-sized", "From 100 to 109 % the mean speed-up is at least so much.", "1.15",
              _well_sized, SMALL_GAIN),
        Claim("peak", "The speed-up has its peak at 102 %.", "1.26 at 102 %", _peak, SMALL_GAIN),
        Claim("oversized", "At 115 % there is some speed-up left.", "1.07", _oversized),
        Claim("less-at-both-ends", "Too small and too large systems gain less.",
              "less at 95 … 98 and 115 %", _less_at_both_ends),
    ),
    streams=20, seconds=80,
)  # fmt: skip


def _mean_speed_up(varied: str) -> Callable[[Rows], Verdict]:
    def check(rows: Rows) -> Verdict:
        _, found = rows.curve(varied, "speed_up", scheme=POSG)
        mean = float(np.mean(found))
        return Verdict(
            abs(mean - 1.19) <= 0.05, f"{mean:.2f} ({min(found):.2f} … {max(found):.2f})"
        )

    return check


def _grows(rows: Rows) -> Verdict:
    _, found = rows.curve("w_max", "mean_ms", scheme=ROUND_ROBIN)
    return Verdict(found == sorted(found), f"{found[0]:.0f} … {found[-1]:.0f} ms")


def _variance_falls(rows: Rows) -> Verdict:
    spread = {
        values: rows.value("mean_ms_max", scheme=ROUND_ROBIN, w_n=values)
        - rows.value("mean_ms_min", scheme=ROUND_ROBIN, w_n=values)
        for values in (2, 64)
    }
    return Verdict(spread[64] < spread[2], f"range {spread[2]:.0f} ms at 2, {spread[64]:.0f} at 64")


FIGURE_6 = sweep(
    6, "Completion time by longest execution time", "w_max", "w_max in ms", "mean_ms",
    {"smoke": [8, 32, 64, 128], "paper": [4, 8, 16, 32, 64, 128, 256, 512, 1024]},
    (
        Claim("grows", "Completion times grow with w_max.", "growing", _grows),
        Claim("speed-up", "The mean speed-up is about the same whatever w_max.", "1.19",
              _mean_speed_up("w_max"), SMALL_GAIN),
    ),
    streams=10, seconds=35,
)  # fmt: skip
FIGURE_7 = sweep(
    7, "Completion time by number of execution times", "w_n", "w_n", "mean_ms",
    {"smoke": [2, 8, 16, 64], "paper": [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]},
    (
        Claim("variance-falls", "Streams differ less with more execution times.", "falling",
              _variance_falls),
        Claim("speed-up", "The mean speed-up is about the same whatever w_n.", "1.19",
              _mean_speed_up("w_n"), SMALL_GAIN),
    ),
    streams=10, seconds=35,
)  # fmt: skip
