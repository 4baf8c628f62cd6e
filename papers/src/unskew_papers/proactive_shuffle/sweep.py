"""Figures 4 to 9: many random streams under one changing setting."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from unskew.streams import with_costs, zipf
from unskew.streams.base import Stream
from unskew_papers.checks import Above, All, AtLeast, AtMost, Falls, Near, Ordered, Rises, Within
from unskew_papers.claims import Claim, Reason
from unskew_papers.engines.simulation import queue_of
from unskew_papers.experiment import QUEUEING, Chunks, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines, Series
from unskew_papers.quantities import Quantity, cell, largest, mean, smallest, where_largest
from unskew_papers.rows import Row, Rows, at_least, one_of, span, up_to

ROUND_ROBIN, POSG, ORACLE, WRAP = "Round Robin", "POSG", "Full Knowledge", "wrap, given the costs"
DATA = (
    "synthetic, as in the paper: 4,096 keys, Zipf, execution times of 1 … 64 ms assigned to the "
    "keys at random. wrap, which keeps keys together, is given the cost of every row"
)
DEFAULTS: dict[str, Any] = {
    "exponent": 1.0,
    "provision": 1.0,
    "w_max": 64,
    "w_n": 64,
    "workers": 5,
    "epsilon": 0.05,
}
_SMALL_GAIN = Reason(
    "Until every worker has reported, for a third of such a stream and more, POSG is Round Robin, "
    "and what has queued up by then is in the mean of both. With the text's rule for correcting "
    "the loads the gain is even smaller; this is the rule of the authors' program."
)
_CHUNK = 10
_STREAMS_OF_WRAP = {"smoke": 1, "paper": 10}
"""It makes a new plan fifty times per stream, which takes longer than all else."""
_STREAMS_OF_PAPER = 100


def stream(setting: Mapping[str, Any], rows: int, seed: int) -> Stream:
    """Draw a stream of the paper: 4,096 keys, w_n execution times of 1 … w_max milliseconds."""
    drawn = zipf(4_096, setting["exponent"], rows, seed=seed)
    return with_costs(drawn, setting["w_n"], 1.0, setting["w_max"])


def _completion_times(
    setting: Mapping[str, Any], rows: int, seed: int, *, wrap: bool
) -> dict[str, float]:
    """Return the mean completion time of every scheme on one stream, `Wrap`'s if wanted."""
    drawn = stream(setting, rows, seed)
    schemes = {
        ROUND_ROBIN: "shuffle",
        POSG: f"proactive-shuffle:epsilon={setting['epsilon']}",
        ORACLE: "full-knowledge",
        **({WRAP: "wrap"} if wrap else {}),
    }
    return {
        name: queue_of(
            scheme,
            setting["workers"],
            drawn,
            seed=seed,
            over_provisioning=setting["provision"],
            weighted=name == WRAP,
        ).mean
        for name, scheme in schemes.items()
    }


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    setting = {**DEFAULTS, unit["varied"]: unit["value"]}
    rows = []
    for number in range(unit["first"], unit["first"] + unit["streams"]):
        times = _completion_times(
            setting, unit["rows"], seed + number, wrap=number < unit["streams_of_wrap"]
        )
        rows += [
            {
                unit["varied"]: unit["value"],
                "stream": number,
                "scheme": name,
                "mean_ms": time,
                "speed_up": times[ROUND_ROBIN] / time,
            }
            for name, time in times.items()
        ]
    return rows


def _combine(varied: str, rows: Rows) -> Rows:
    """Sum the streams up: mean, largest and smallest of both metrics."""
    found = []
    for value in rows.distinct(varied):
        for scheme in rows.distinct("scheme"):
            here = rows.where(**{varied: value, "scheme": scheme})
            row: dict[str, Any] = {varied: value, "scheme": scheme, "streams": len(here)}
            for metric in ("mean_ms", "speed_up"):
                values = here.values(metric)
                row |= {
                    metric: float(np.mean(values)),
                    f"{metric}_max": max(values),
                    f"{metric}_min": min(values),
                }
            found.append(row)
    return Rows(found)


_AXES = {"mean_ms": "completion time in ms", "speed_up": "speed-up over Round Robin"}
_SHOWN = {"mean_ms": [ROUND_ROBIN, POSG, ORACLE, WRAP], "speed_up": [POSG, ORACLE, WRAP]}


def _draw(varied: str, x: str, metric: str) -> Drawing:
    """Draw the mean of every scheme, between the extremes of those that the paper is about."""
    series: list[Series] = []
    for name in _SHOWN[metric]:
        here = {"scheme": name}
        series.append(Lines(varied, metric, label=name, where=here))
        if name in (ROUND_ROBIN, POSG):
            series += [
                Lines(varied, f"{metric}_{end}", label=f"{name} {end}", style="dashed", where=here)
                for end in ("max", "min")
            ]
    return Drawing(Chart(x, _AXES[metric], series, log_x=varied == "epsilon"))


def _sweep(
    number: int, title: str, varied: str, x: str, metric: str,
    values: Mapping[str, Sequence[float]], claims: Sequence[Claim], *, streams: int, seconds: float,
) -> Exhibit:  # fmt: skip
    """Declare a figure that varies one setting.

    Parameters
    ----------
    number, title
        Figure and what it shows.
    varied, x
        The setting (see `DEFAULTS`) and the title of its axis.
    metric
        ``mean_ms`` or ``speed_up``.
    values
        Values of the setting at each size.
    claims
        What the paper says.
    streams
        Streams at smoke size; the paper has 100.
    seconds
        About how long the paper's size takes.
    """
    sizes = {
        size: {
            "rows": 32_768,
            "streams": {"smoke": streams, "paper": _STREAMS_OF_PAPER}[size],
            "streams_of_wrap": _STREAMS_OF_WRAP[size],
            "values": list(values[size]),
        }
        for size in ("smoke", "paper")
    }
    measured = Measurement(
        QUEUEING,
        Chunks(Grid({"varied": [varied], "value": "values"}), "streams", _CHUNK),
        _run,
        sizes,
        DATA,
        {"smoke": 1 + seconds * streams / _STREAMS_OF_PAPER, "paper": seconds},
        combine=partial(_combine, varied),
    )
    return Exhibit(f"fig{number}", title, _draw(varied, x, metric), claims, [On(measured)])


def _speed_up(**setting: Any) -> Quantity:
    return cell("speed_up", scheme=POSG, **setting)


_GAIN = _speed_up() - 1
_OF_ORACLE = cell("mean_ms", scheme=POSG) / cell("mean_ms", scheme=ORACLE)
_EQUAL = 0.05
"""What counts as matching: five percent."""
_SKEWS = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]

FIGURE_4 = _sweep(
    4, "Completion time by frequency distribution", "exponent", "Zipf exponent (0 is uniform)",
    "mean_ms", {"smoke": _SKEWS, "paper": _SKEWS},
    (
        Claim("better-everywhere", "POSG is faster than Round Robin for every distribution.",
              "for every one", Above(0, _GAIN, each=["exponent"], form="{:+.1%}")),
        Claim("oracle-is-better", "Full Knowledge is faster than POSG for every distribution.",
              "for every one", AtLeast(1, _OF_ORACLE, each=["exponent"], form="{:.2f}×")),
        Claim("uniform-gain", "The gain is limited for uniform and Zipf-0.5.", "6 % on average",
              AtLeast(0.06, mean(_GAIN, ["exponent"], exponent=one_of(0.0, 0.5)), form="{:+.1%}"),
              _SMALL_GAIN),
        Claim("zipf-1-gain", "With Zipf-1.0 the gain is sizeable.", "25 %",
              AtLeast(0.25, _speed_up(exponent=1.0) - 1, form="{:+.1%}"), _SMALL_GAIN),
        Claim("worst-beats-best", "With Zipf-1.5 POSG's slowest stream is faster than Round "
              "Robin's fastest.", "max < min",
              Ordered({"Round Robin at least": cell("mean_ms_min", scheme=ROUND_ROBIN),
                       "POSG at most": cell("mean_ms_max", scheme=POSG)},
                      where={"exponent": 1.5}, form="{:.0f} ms"),
              Reason("Which execution time the hottest key has makes streams differ by more "
                     "than a factor of two, more than any scheme gains.")),
        Claim("equals-oracle", "From Zipf-2.5 on POSG matches Full Knowledge.",
              "equal (here: 5 %)",
              AtMost(1 + _EQUAL, _OF_ORACLE, each=["exponent"],
                     where={"exponent": one_of(2.5, 3.0)}, form="{:.2f}×"),
              Reason("It does once it has learned: in the second half of a stream four times as "
                     "long, with 5 % to spare, its times are within 5 %. Here the Round Robin "
                     "before, and what queued up in it, count.")),
        Claim("faster-with-skew", "All are faster on highly skewed streams.", "falling",
              Falls("mean_ms", "exponent", strictly=True, each=["scheme"], form="{:.0f}",
                    where={"scheme": one_of(ROUND_ROBIN, POSG, ORACLE),
                           "exponent": at_least(1.5)})),
    ),
    streams=20, seconds=25,
)  # fmt: skip

_WELL_SIZED = span(0.995, 1.09)
"""From 100 to 109 %."""

FIGURE_5 = _sweep(
    5, "Speed-up by over-provisioning", "provision", "over-provisioning", "speed_up",
    {
        "smoke": [0.95, 0.98, 1.0, 1.02, 1.05, 1.09, 1.15],
        "paper": [round(0.95 + 0.01 * step, 2) for step in range(21)],
    },
    (
        Claim("well-sized", "From 100 to 109 % the mean speed-up is at least so much.", "1.15",
              AtLeast(1.15, _speed_up(), each=["provision"], where={"provision": _WELL_SIZED}),
              _SMALL_GAIN),
        Claim("peak", "The speed-up has its peak at 102 %.", "1.26 at 102 %",
              All(AtLeast(1.26, largest("speed_up"), where={"scheme": POSG}),
                  Within(1.01, 1.03, where_largest("provision", "speed_up"),
                         where={"scheme": POSG}, form="at {:.0%}")),
              _SMALL_GAIN),
        Claim("oversized", "At 115 % there is some speed-up left.", "1.07",
              Near(1.07, _speed_up(provision=1.15), off=0.02)),
        Claim("less-at-both-ends", "Too small and too large systems gain less.",
              "less at 95 … 98 and 115 %",
              Ordered({"well sized": largest("speed_up", provision=_WELL_SIZED),
                       "at the ends": largest("speed_up", provision=one_of(0.95, 0.98, 1.15))},
                      where={"scheme": POSG})),
    ),
    streams=20, seconds=80,
)  # fmt: skip


def _mean_speed_up(varied: str) -> Claim:
    return Claim(
        "speed-up",
        f"The mean speed-up is about the same whatever {varied}.",
        "1.19",
        Near(1.19, mean("speed_up", scheme=POSG), off=0.05),
        _SMALL_GAIN,
    )


def _range_of_streams(values: int) -> Quantity:
    here = {"scheme": ROUND_ROBIN, "w_n": values}
    return cell("mean_ms_max", **here) - cell("mean_ms_min", **here)


FIGURE_6 = _sweep(
    6, "Completion time by longest execution time", "w_max", "w_max in ms", "mean_ms",
    {"smoke": [8, 32, 64, 128], "paper": [4, 8, 16, 32, 64, 128, 256, 512, 1024]},
    (
        Claim("grows", "Completion times grow with w_max.", "growing",
              Rises("mean_ms", "w_max", where={"scheme": ROUND_ROBIN}, form="{:.0f}")),
        _mean_speed_up("w_max"),
    ),
    streams=10, seconds=35,
)  # fmt: skip
FIGURE_7 = _sweep(
    7, "Completion time by number of execution times", "w_n", "w_n", "mean_ms",
    {"smoke": [2, 8, 16, 64], "paper": [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]},
    (
        Claim("variance-falls", "Streams differ less with more execution times.", "falling",
              Ordered({f"range at {values}:": _range_of_streams(values) for values in (2, 64)},
                      form="{:.0f} ms")),
        _mean_speed_up("w_n"),
    ),
    streams=10, seconds=35,
)  # fmt: skip

_FIRST_STEP = _speed_up(workers=3) / _speed_up(workers=2) - 1
_LAST_STEP = _speed_up(workers=10) / _speed_up(workers=9) - 1

FIGURE_8 = _sweep(
    8, "Speed-up by number of instances", "workers", "instances k", "speed_up",
    {"smoke": [1, 2, 3, 5, 9, 10], "paper": list(range(1, 11))},
    (
        Claim("one-at-one", "With one instance nothing is gained or lost.", "1",
              Near(1, _speed_up(workers=1), off=1e-9, form="{:.3f}")),
        Claim("slow-growth", "The speed-up grows with more instances, ever more slowly.",
              "2 → 3: +4 %, 9 → 10: +1 %",
              All(AtMost(0.08, {"2 → 3:": _FIRST_STEP}, form="{:+.1%}"),
                  Within(0, 0.02, {"9 → 10:": _LAST_STEP}, form="{:+.1%}"),
                  Ordered({"the first step": _FIRST_STEP, "the last": _LAST_STEP}, form="{:+.1%}")),
              Reason("Every worker needs two windows of 1,024 rows before it reports, so the more "
                     "workers there are the less of a stream of 32,768 is left to gain on.")),
    ),
    streams=10, seconds=35,
)  # fmt: skip

FIGURE_9 = _sweep(
    9, "Speed-up by precision of the sketches", "epsilon", "ε", "speed_up",
    {
        "smoke": [0.001, 0.01, 0.05, 0.09, 0.1, 1.0],
        "paper": [0.001, 0.003, 0.005, 0.01, 0.03, 0.05, 0.07, 0.09, 0.1, 0.3, 0.5, 0.7, 1.0],
    },
    (
        Claim("from-0.09", "From ε = 0.09 down no stream is slower than with Round Robin.",
              "minimum > 1",
              Above(1, smallest("speed_up_min", scheme=POSG, epsilon=up_to(0.09)),
                    form="at least {:.2f}"),
              _SMALL_GAIN),
        Claim("ten-times-more", "Ten times the memory gives about 30 % more speed-up.", "+30 %",
              AtLeast(0.3, _speed_up(epsilon=0.01) / _speed_up(epsilon=0.1) - 1, form="{:+.1%}"),
              Reason("Between ε = 0.1 and 0.01 nothing is gained, and about a fifth by 0.001, "
                     "where most keys have a cell of their own. What limits the gain is the time "
                     "until all workers have reported.")),
        Claim("coarse-is-bad", "Large ε do not perform well.", "worse",
              Ordered({f"ε = {each}:": _speed_up(epsilon=each) for each in (0.05, 1.0)})),
    ),
    streams=10, seconds=50,
)  # fmt: skip
