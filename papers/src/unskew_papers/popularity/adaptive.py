"""Figures 29 to 32: a threshold that adapts itself against fixed ones.

On Spark hot keys are predicted beside the engine, as the paper has it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unskew_papers.checks import Above, Check, Near, Within
from unskew_papers.claims import Claim, Reason, placed_exactly
from unskew_papers.datasets import keys_of
from unskew_papers.experiment import (
    QUEUEING,
    SPARK,
    Exhibit,
    Grid,
    Measurement,
    On,
    Parameters,
    Unit,
)
from unskew_papers.figures import Chart, Curve, Drawing, Lines
from unskew_papers.popularity.applications import (
    DATA,
    POINTS,
    SETS,
    WORKERS,
    label,
    sets_of,
    stream_of,
)
from unskew_papers.popularity.stage import (
    THROUGHPUT,
    Window,
    stream_on_spark,
    windows_of,
)
from unskew_papers.quantities import Quantity, cell, largest, median, where_largest
from unskew_papers.rows import GIVEN, Row, Rows

_LOWEST, _HIGHEST = -5.0, -0.5
"""Random thresholds lie between 10⁻⁵ and 0.3, evenly in their logarithm; the paper has no range."""
_BITS, _BITS_ON_SPARK = 4, 2
"""One row of four reaches the synopsis: micro-batches of some thousand have no more to teach."""


def _runs(parameters: Parameters) -> list[str]:
    """Return the names of all that is compared on one set."""
    random = [f"random {number + 1}" for number in range(parameters["random"])]
    return ["adaptive", "wrap", *random, *(f"f = {f:g}" for f in parameters["tuned"])]


def scheme_of(run: str, seed: int, *, bits: int) -> str:
    """Return the scheme that a name stands for; one row of 2^bits reaches its synopsis.

    >>> scheme_of("f = 0.02", 0, bits=4), scheme_of("wrap", 0, bits=4)
    ('popularity:frequency=0.02,threshold_bits=4', 'wrap')
    """
    if run == "wrap":
        return "wrap"
    if run == "adaptive":
        return f"popularity:adaptive=true,threshold_bits={bits}"
    kind, _, number = run.partition(" ")
    frequency = float(run.removeprefix("f = ")) if kind == "f" else _random(int(number), seed)
    return f"popularity:frequency={frequency:.3g},threshold_bits={bits}"


def _random(number: int, seed: int) -> float:
    draws = np.random.default_rng(seed).uniform(_LOWEST, _HIGHEST, 100)
    return 10 ** float(draws[number - 1])


def _run_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    scheme = scheme_of(unit["run"], seed, bits=_BITS)
    return _described(list(windows_of(scheme, WORKERS, stream, seed=seed)), unit, scheme)


def _run_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    keys = keys_of(stream_of(unit["application"], False, unit["rows"], unit["keys"], seed))
    batches = np.array_split(keys, unit["batches"])
    scheme, work = scheme_of(unit["run"], seed, bits=_BITS_ON_SPARK), unit["milliseconds"]
    jobs = stream_on_spark(batches, unit["workers"], scheme, milliseconds=work, seed=seed)
    measured = [_Measured(job.throughput * work / 1000, job.stddev_percent) for job in jobs]
    return _described(measured, unit, scheme, exact=all(job.exact for job in jobs))


class _Measured(NamedTuple):
    """What a job of Spark did, as `Window` has it."""

    throughput: float
    stddev_percent: float
    threshold: float | None = None


def _described(
    windows: Sequence[Window | _Measured], unit: Unit, scheme: str, **facts: bool
) -> list[Row]:
    """Return what was measured in every window, and the means of the second half with ``facts``."""
    kind = unit["run"].partition(" ")[0]
    fields = {
        "application": unit["application"], "data": label(unit), "run": unit["run"],
        "kind": "tuned" if kind == "f" else kind, "scheme": scheme,
    }  # fmt: skip
    through_time = [
        {
            **fields, "window": number, "throughput": each.throughput,
            "stddev_percent": each.stddev_percent, "threshold": each.threshold,
        }
        for number, each in enumerate(windows, 1)
    ]  # fmt: skip
    later = windows[len(windows) // 2 :]
    means = {
        "throughput": float(np.mean([each.throughput for each in later])),
        "stddev_percent": float(np.mean([each.stddev_percent for each in later])),
        "threshold": later[-1].threshold,
    }
    return [*through_time, {**fields, "total": True, **means, **facts}]


def _sets(parameters: Parameters) -> list[Mapping[str, Any]]:
    return sets_of(["word count", "hashtags"], real="batches" not in parameters)


_UNITS = Grid({"set": _sets, "run": _runs}, without=["random", "tuned"])
_QUEUES = Measurement(
    QUEUEING,
    _UNITS,
    _run_in_queues,
    {
        "smoke": {
            "rows": 360_000, "keys": 100_000, "random": 4, "tuned": [0.005, 0.0005, 2e-5],
        },
        "paper": {
            "rows": 10_000_000, "keys": 10_000_000, "random": 10,
            "tuned": [0.05, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5],
        },
    },
    DATA,
    {"smoke": 6, "paper": 120},
)  # fmt: skip
_SPARK = Measurement(
    SPARK,
    _UNITS,
    _run_on_spark,
    {
        "smoke": {
            "rows": 8_000, "keys": 2_000, "workers": 16, "batches": 4, "milliseconds": 0.5,
            "random": 2, "tuned": [0.005],
        },
        "paper": {
            "rows": 320_000, "keys": 100_000, "workers": 128, "batches": 8, "milliseconds": 1.0,
            "random": 10, "tuned": [0.02, 0.005, 0.002, 0.0005, 0.0001],
        },
    },
    f"{SETS}; fewer keys, and 16 workers, at smoke size. A job per micro-batch, work is "
    "waiting; the predictor sees all rows beside the engine, and its hot keys are the next one's "
    "plan",
    {"smoke": 30, "paper": 4000},
)  # fmt: skip

_AT_THE_FLOOR = Reason(
    "The adaptive threshold goes to the lowest that it may have and stays there. Of very many keys "
    "so few are hot that w_S·H, their share of the keys, stays below w_T·F_L at every threshold in "
    "reach: the chords cross below a sixteenth of the first threshold, for which there is memory "
    "(the trace is drawn). A fixed threshold there is as fast and as even. Where a window has few "
    "rows per key, one ten times as high is faster, as it needs fewer merges, and less even.",
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_the_adaptive_threshold_ends_at_its_floor_where_a_fixed_one_is_as_good",
)
_LOW_IS_FAST = Reason(
    "What random thresholds cost is a matter of their range, which the paper does not give. Drawn "
    "from 10⁻⁵ to 0.3, those below a twentieth of a worker's share are alike, and those far above "
    "it leave most workers idle: the median gain is what share of them is high.",
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_thresholds_below_a_fair_share_are_alike_and_those_above_are_slow",
)
_FEW_ROWS = Reason(
    "On Spark a micro-batch has some thousand rows, so that chance moves σ by more than thresholds "
    "do."
)


def _curves(column: str, rows: Rows) -> list[Curve]:
    """Draw thresholds through time; of the tuned ones the fastest, as a person would find it."""
    windows = rows.where(window=GIVEN)
    tuned = max(rows.where(total=True, kind="tuned"), key=lambda row: row["throughput"])["run"]
    random = [name for name in windows.distinct("run") if name.startswith("random")]
    return [
        Curve(name, *windows.curve("window", column, run=name), style)
        for names, style in ((["adaptive", "wrap", tuned], "line"), (random, "dashed"))
        for name in names
    ]


def _of_adaptive(column: str, other: Quantity) -> Quantity:
    return cell(column, kind="adaptive") / other - 1


_GAIN = {
    "random": _of_adaptive("throughput", median("throughput", kind="random")),
    "tuned": _of_adaptive("throughput", largest("throughput", kind="tuned")),
}
_DEVIATION = {
    "random": _of_adaptive("stddev_percent", median("stddev_percent", kind="random")),
    "tuned": _of_adaptive(
        "stddev_percent", where_largest("stddev_percent", "throughput", kind="tuned")
    ),
}


_FASTER = {
    "random": "It is faster than random thresholds.",
    "tuned": "It is faster than a threshold tuned by hand.",
}
_EVENER = {
    "random": "Its loads deviate less than with random thresholds.",
    "tuned": "Its loads deviate less than with a tuned threshold.",
}
_FIRST_FIGURE = 29


def _exhibit(
    number: int, application: str, column: str, published: Mapping[str, tuple[str, Check]],
    reasons: Mapping[str, Reason],
) -> Exhibit:  # fmt: skip
    """Declare a figure: by how much the adaptive threshold is better than random and tuned ones."""
    faster = column == "throughput"
    says = _FASTER if faster else _EVENER
    claims = [
        Claim(f"than-{than}", says[than], text, check, reasons.get(than))
        for than, (text, check) in published.items()
    ]
    title = (
        f"{application}: {'throughput' if faster else 'σ of the loads'} with an adaptive "
        "threshold, random ones and a tuned one"
    )
    here = {"application": application}
    charts = [
        Chart(
            "window", THROUGHPUT if faster else "σ in % of the mean",
            [partial(_curves, column)], each=["data"], where=here,
        ),
        Chart(
            "window", "threshold f",
            [Lines("window", "threshold", label="adaptive", where={"kind": "adaptive"})],
            each=["data"], where={**here, "threshold": GIVEN, "window": GIVEN}, log_y=True,
        ),
    ]  # fmt: skip
    reasons_on_spark = {c.name: c.reason + _FEW_ROWS if c.reason else _FEW_ROWS for c in claims}
    exact = [placed_exactly("streams")] if number == _FIRST_FIGURE else []
    on_spark = On(
        _SPARK, f"{title}, on Spark", draw=Drawing(charts[0]), claims=exact,
        reasons=reasons_on_spark,
    )  # fmt: skip
    return Exhibit(
        f"fig{number}",
        f"{title} (simulated workers and merges)",
        Drawing(*charts),
        claims,
        [On(_QUEUES), on_spark],
    )


def _near(application: str, quantity: Quantity, by: float, beyond: str) -> Check:
    return Near(by, quantity, off=POINTS, beyond=beyond, each=["data"],
                where={"application": application, "total": True}, form="{:+.0%}")  # fmt: skip


def _within(application: str, quantity: Quantity, low: float, high: float, beyond: str) -> Check:
    return Within(low, high, quantity, beyond=beyond, each=["data"],
                  where={"application": application, "total": True}, form="{:+.0%}")  # fmt: skip


ADAPTIVE_FIGURES = [
    _exhibit(29, "word count", "throughput", {
        "random": ("+17 … +42 %",
                   _within("word count", _GAIN["random"], 0.17, 0.42, "above")),
        "tuned": ("faster", Above(0, _GAIN["tuned"], each=["data"], form="{:+.1%}",
                                  where={"application": "word count", "total": True})),
    }, {"random": _LOW_IS_FAST, "tuned": _AT_THE_FLOOR}),
    _exhibit(30, "word count", "stddev_percent", {
        "random": ("−24 … −32 %",
                   _within("word count", _DEVIATION["random"], -0.32, -0.24, "below")),
        "tuned": ("−9.1 %", _near("word count", _DEVIATION["tuned"], -0.091, "below")),
    }, {"random": _LOW_IS_FAST, "tuned": _AT_THE_FLOOR}),
    _exhibit(31, "hashtags", "throughput", {
        "random": ("+27 … +46 %", _within("hashtags", _GAIN["random"], 0.27, 0.46, "above")),
        "tuned": ("+19.5 %", _near("hashtags", _GAIN["tuned"], 0.195, "above")),
    }, {"random": _LOW_IS_FAST, "tuned": _AT_THE_FLOOR}),
    _exhibit(32, "hashtags", "stddev_percent", {
        "random": ("−35 %", _near("hashtags", _DEVIATION["random"], -0.35, "below")),
        "tuned": ("−14.5 %", _near("hashtags", _DEVIATION["tuned"], -0.145, "below")),
    }, {"random": _LOW_IS_FAST, "tuned": _AT_THE_FLOOR}),
]  # fmt: skip
