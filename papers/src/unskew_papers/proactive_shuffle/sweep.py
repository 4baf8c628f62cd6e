"""Many random streams under one changing setting: completion times and speed-ups."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from unskew.streams import with_costs, zipf
from unskew.streams.base import Stream
from unskew_papers.claims import Claim
from unskew_papers.engines.simulation import queue_of
from unskew_papers.experiment import QUEUEING, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel
from unskew_papers.rows import Row, Rows

ROUND_ROBIN, POSG, ORACLE, WRAP = "Round Robin", "POSG", "Full Knowledge", "wrap, told the costs"
DATA = (
    "synthetic, as in the paper: 4,096 keys, Zipf, execution times of 1 … 64 ms dealt to the keys "
    "at random. wrap, which keeps keys together, is told the cost of every row"
)
DEFAULTS: dict[str, Any] = {
    "exponent": 1.0,
    "provision": 1.0,
    "w_max": 64,
    "w_n": 64,
    "workers": 5,
    "epsilon": 0.05,
}
SMALL_GAIN = (
    "Until every worker has reported, for a third of such a stream and more, POSG is Round Robin, "
    "and what has queued up by then is in the mean of both. With the text's rule for correcting "
    "the loads the gain is even smaller; this is the rule of the authors' program."
)
_CHUNK = 10
_STREAMS_OF_WRAP = {"smoke": 1, "paper": 10}
"""It makes a new plan fifty times a stream, which takes longer than all else."""


def stream(setting: Mapping[str, Any], rows: int, seed: int) -> Stream:
    """Draw a stream of the paper: 4,096 keys, w_n execution times of 1 … w_max milliseconds."""
    drawn = zipf(4_096, setting["exponent"], rows, seed=seed)
    return with_costs(drawn, setting["w_n"], 1.0, setting["w_max"])


def completion_times(
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


def _units(varied: str, parameters: Parameters) -> Sequence[Unit]:
    return [
        {
            "varied": varied,
            "value": value,
            "rows": parameters["rows"],
            "first": first,
            "last": min(first + _CHUNK, parameters["streams"]),
            "wrap_until": parameters["streams_of_wrap"],
        }
        for value in parameters["values"]
        for first in range(0, parameters["streams"], _CHUNK)
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    setting = {**DEFAULTS, unit["varied"]: unit["value"]}
    rows = []
    for number in range(unit["first"], unit["last"]):
        times = completion_times(
            setting, unit["rows"], seed + number, wrap=number < unit["wrap_until"]
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


def _figure(varied: str, x: str, metric: str, shown: Sequence[str], rows: Rows) -> Figure:
    curves = []
    for name in shown:
        curves.append(Curve(name, *rows.curve(varied, metric, scheme=name)))
        curves += [
            Curve(f"{name} {end}", *rows.curve(varied, f"{metric}_{end}", scheme=name), "dashed")
            for end in ("max", "min")
            if name in (ROUND_ROBIN, POSG)
        ]
    title = "completion time in ms" if metric == "mean_ms" else "speed-up over Round Robin"
    return Figure([Panel(x, title, curves, log_x=varied == "epsilon")])


def sweep(
    number: int,
    title: str,
    varied: str,
    x: str,
    metric: str,
    values: Mapping[str, Sequence[float]],
    claims: Sequence[Claim],
    *,
    streams: int,
    seconds: float,
) -> Experiment:
    """Make the experiment of a figure that varies one setting.

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
    shown = [ROUND_ROBIN, POSG, ORACLE, WRAP] if metric == "mean_ms" else [POSG, ORACLE, WRAP]
    units: Callable[[Parameters], Sequence[Unit]] = partial(_units, varied)
    return Experiment(
        id=f"proactive-shuffle/fig{number}",
        title=title,
        runs_on=QUEUEING,
        data=DATA,
        sizes={
            size: {
                "rows": 32_768,
                "streams": {"smoke": streams, "paper": 100}[size],
                "streams_of_wrap": _STREAMS_OF_WRAP[size],
                "values": list(values[size]),
            }
            for size in ("smoke", "paper")
        },
        seconds={"smoke": 1 + seconds * streams / 100, "paper": seconds},
        units=units,
        run=_run,
        combine=partial(_combine, varied),
        figure=partial(_figure, varied, x, metric, shown),
        claims=claims,
    )
