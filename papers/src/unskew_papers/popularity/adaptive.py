"""Figures 29 to 32: a threshold that adapts itself against fixed ones.

On Spark hot keys are predicted beside the engine, as the paper has it.
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from unskew.groupings.popularity import Popularity
from unskew.groupings.registry import make_grouping
from unskew.hashing import Ids
from unskew_papers.checks import AtLeast, AtMost
from unskew_papers.claims import Claim, Reason, placed_exactly
from unskew_papers.datasets import keys_of
from unskew_papers.engines.queues import identities_on_spark
from unskew_papers.engines.spark_jobs import SLOTS, JobResult, counted, frame, summed_up
from unskew_papers.engines.spark_streams import count_stream_on_spark
from unskew_papers.experiment import (
    CALIBRATED,
    SPARK,
    Exhibit,
    Grid,
    Measurement,
    On,
    Parameters,
    Unit,
)
from unskew_papers.figures import Chart, Curve, Drawing
from unskew_papers.popularity.applications import DATA, SETS, WORKERS, label, sets_of, stream_of
from unskew_papers.popularity.stage import THROUGHPUT, merge_cost_of, windows_of
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
    scheme, cost = scheme_of(unit["run"], seed, bits=_BITS), merge_cost_of(unit)
    windows = windows_of(scheme, WORKERS, stream, seed=seed, merge_cost=cost)
    pairs = [(window.throughput, window.stddev_percent) for window in windows]
    return _described(pairs, unit, scheme)


def _run_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    keys = keys_of(stream_of(unit["application"], False, unit["rows"], unit["keys"], seed))
    batches = np.array_split(keys, unit["batches"])
    scheme, work = scheme_of(unit["run"], seed, bits=_BITS_ON_SPARK), unit["milliseconds"]
    if scheme == "wrap":
        jobs = count_stream_on_spark(batches, SLOTS, scheme, milliseconds=work, seed=seed)
    else:
        jobs = _predicting(batches, scheme, work, seed)
    pairs = [(job.throughput * work / 1000, job.stddev_percent) for job in jobs]
    return _described(pairs, unit, scheme, exact=all(job.exact for job in jobs))


def _predicting(
    batches: Sequence[Ids], scheme: str, milliseconds: float, seed: int
) -> list[JobResult]:
    """Run a job per micro-batch; the predictor sees its rows and says what is hot in the next."""
    from unskew.groupings.plan import shuffling_plan
    from unskew.spark import balance

    predictor = make_grouping(scheme, SLOTS, seed=seed)
    if not isinstance(predictor, Popularity):
        raise TypeError(f"{scheme} predicts nothing")
    jobs = []
    for keys in batches:
        plan = shuffling_plan(predictor.workers, predictor.hot_ids())
        job = counted(balance(frame(keys), "key", SLOTS, plan=plan, seed=seed), milliseconds)
        started = time.perf_counter()
        found = job.toArrow()
        jobs.append(summed_up(found, keys, SLOTS, time.perf_counter() - started))
        predictor.route_many(identities_on_spark(keys))
    return jobs


def _described(
    windows: Sequence[tuple[float, float]], unit: Unit, scheme: str, **facts: bool
) -> list[Row]:
    """Return throughput and σ of every window, and the means of the second half with ``facts``."""
    kind = unit["run"].partition(" ")[0]
    fields = {
        "application": unit["application"], "data": label(unit), "run": unit["run"],
        "kind": "tuned" if kind == "f" else kind, "scheme": scheme,
    }  # fmt: skip
    through_time = [
        {**fields, "window": number, "throughput": throughput, "stddev_percent": deviation}
        for number, (throughput, deviation) in enumerate(windows, 1)
    ]
    throughput, deviation = np.mean(windows[len(windows) // 2 :], axis=0).tolist()
    means = {"throughput": throughput, "stddev_percent": deviation}
    return [*through_time, {**fields, "total": True, **means, **facts}]


def _sets(parameters: Parameters) -> list[Mapping[str, Any]]:
    return sets_of(["word count", "hashtags"], real="batches" not in parameters)


_UNITS = Grid({"set": _sets, "run": _runs}, without=["random", "tuned"])
_QUEUES = Measurement(
    CALIBRATED,
    _UNITS,
    _run_in_queues,
    {
        "smoke": {
            "rows": 360_000, "keys": 100_000, "random": 4, "tuned": [0.005, 0.0005],
        },
        "paper": {
            "rows": 10_000_000, "keys": 10_000_000, "random": 10,
            "tuned": [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001],
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
            "rows": 8_000, "keys": 2_000, "batches": 4, "milliseconds": 0.5, "random": 2,
            "tuned": [0.005],
        },
        "paper": {
            "rows": 300_000, "keys": 100_000, "batches": 30, "milliseconds": 1.0,
            "random": 10, "tuned": [0.05, 0.02, 0.01, 0.005, 0.002, 0.001],
        },
    },
    f"{SETS}; fewer keys at smoke size. A job per micro-batch, work is waiting; the "
    "predictor sees all rows beside the engine and its hot keys are the next one's plan",
    {"smoke": 30, "paper": 4500},
)  # fmt: skip

_TUNED_IS_BEST = Reason(
    "The best of several fixed thresholds is by its nature at least as fast as a threshold that "
    "moves about the same values; the adaptive one minimises time and memory together, not time."
)
_LOW_IS_FAST = Reason(
    "A threshold that is too low costs memory, not throughput, as long as the aggregators keep up, "
    "and half of those drawn are low. Those that are too high are beaten by 40 % and more."
)
_FEW_ROWS = Reason(
    "With sixteen workers and some thousand rows per micro-batch chance moves σ by more than "
    "thresholds do."
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


def _exhibit(
    number: int, application: str, column: str, published: Mapping[str, tuple[float, str]],
    says: Mapping[str, str], reasons: Mapping[str, Reason],
) -> Exhibit:  # fmt: skip
    """Declare a figure: by how much the adaptive threshold is better than random and tuned ones."""
    where = {"application": application, "total": True}
    faster = column == "throughput"
    claims = []
    for than, (by, text) in published.items():
        check = (
            AtLeast(by, _GAIN[than], each=["data"], where=where, form="{:+.0%}")
            if faster
            else AtMost(-by, _DEVIATION[than], each=["data"], where=where, form="{:+.0%}")
        )
        claims.append(Claim(f"than-{than}", says[than], text, check, reasons.get(than)))
    title = (
        f"{application}: {'throughput' if faster else 'σ of the loads'} with an adaptive "
        "threshold, random ones and a tuned one"
    )
    chart = Chart(
        "window", THROUGHPUT if faster else "σ in % of the mean", [partial(_curves, column)],
        each=["data"], where={"application": application},
    )  # fmt: skip
    reasons_on_spark = {c.name: c.reason + _FEW_ROWS if c.reason else _FEW_ROWS for c in claims}
    exact = [placed_exactly("streams")] if number == _FIRST_FIGURE else []
    on_spark = On(_SPARK, f"{title}, 16 workers on Spark", claims=exact, reasons=reasons_on_spark)
    return Exhibit(
        f"fig{number}",
        f"{title} (simulated workers and merges)",
        Drawing(chart),
        claims,
        [On(_QUEUES), on_spark],
    )


_FASTER = {
    "random": "It is faster than random thresholds.",
    "tuned": "It is faster than a threshold tuned by hand.",
}
_EVENER = {
    "random": "Its loads deviate less than with random thresholds.",
    "tuned": "Its loads deviate less than with a tuned threshold.",
}
_FIRST_FIGURE = 29
ADAPTIVE_FIGURES = [
    _exhibit(29, "word count", "throughput",
             {"random": (0.17, "+17 … +42 %"), "tuned": (0.0, "faster")}, _FASTER,
             {"random": _LOW_IS_FAST}),
    _exhibit(30, "word count", "stddev_percent",
             {"random": (0.24, "−24 … −32 %"), "tuned": (0.091, "−9.1 %")}, _EVENER,
             {"random": _LOW_IS_FAST}),
    _exhibit(31, "hashtags", "throughput",
             {"random": (0.27, "+27 … +46 %"), "tuned": (0.195, "+19.5 %")}, _FASTER,
             {"random": _LOW_IS_FAST, "tuned": _TUNED_IS_BEST}),
    _exhibit(32, "hashtags", "stddev_percent",
             {"random": (0.35, "−35 %"), "tuned": (0.145, "−14.5 %")}, _EVENER,
             {"random": _LOW_IS_FAST}),
]  # fmt: skip
