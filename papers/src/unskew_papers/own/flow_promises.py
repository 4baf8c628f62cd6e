"""Whether flow is even at next to no copies, on streams of every kind, nothing left out."""

from collections.abc import Callable, Sequence
from typing import Any

from unskew.groupings.registry import make_grouping
from unskew.simulator.loads import simulate
from unskew_papers.checks import Above, AtMost, Ordered
from unskew_papers.claims import OURS, Claim, Reason
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Parameters, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.own.workloads import (
    DRIFTING,
    KEYS,
    PHASES,
    SOURCES,
    STEADY,
    recorded,
    stream_of,
    unseen,
)
from unskew_papers.quantities import cell, count, smallest
from unskew_papers.rows import Row, other_than

_FLOW, _W_CHOICES = "flow", "w-choices"
_SCHEMES = (_FLOW, "partial-key", "d-choices", _W_CHOICES, "dynamic-key", "popularity", "key")
"""Schemes that need not learn first."""
_SETTING = ["stream", "workers"]
_FLAT = ("zipf-0.1", "zipf-0.3", "zipf-0.5")
"""Streams without a hot key."""
_CHANGING = (*DRIFTING, "burst-1.0", "burst-1.2", "burst-1.4")

_FEW, _MANY = 100, 1_000
_ENOUGH, _ENOUGH_FOR_MANY, _ENOUGH_IF_FLAT = 5_000, 10_000, 100_000
_EVEN, _EVEN_FOR_MANY, _EVEN_IF_FLAT = 0.5, 2.0, 2.0
_OUT_OF_BALANCE = 5.0
"""λ in percent from which on a scheme is no rival, however few copies it makes."""


def _streams(parameters: Parameters) -> list[str]:
    wanted = parameters["recorded"]
    real = [name for name in recorded() if wanted is None or name in wanted]
    return [*parameters["streams"], *real]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["stream"], unit["rows"], unseen(seed))
    rows = []
    for scheme in _SCHEMES:
        grouping = make_grouping(scheme, unit["workers"], seed=unseen(seed))
        result = simulate(grouping, stream, sources=SOURCES, learn=0)
        rows.append(
            {
                "stream": unit["stream"],
                "workers": unit["workers"],
                "rows": result.rows,
                "keys": result.keys,
                "scheme": scheme,
                "imbalance": result.imbalance_percent,
                "fraction": result.average_imbalance_fraction,
                "replication": result.replication,
                "memory": result.memory,
            }
        )
    return rows


def _is_flat(row: Row) -> bool:
    return row["stream"] in _FLAT


def _per_worker(row: Row) -> float:
    return float(row["rows"] / row["workers"])


def _own(limit: float, of: Any, among: Callable[[Row], bool], form: str) -> AtMost:
    return AtMost(limit, of, each=_SETTING, where={"scheme": _FLOW}, among=among, form=form)


_SHOWN_BY = "unskew reproduce own/flow --size paper"
_BURSTS = Reason(
    "A key that is hot for a moment only, again and again, gets other workers each time. So it is "
    "with purchases, each many rows of one household or store, and with hot keys that are replaced "
    "every 1,000 rows; partial-key gives such keys two workers once and for all. Of the few keys "
    "of countries-half, all hot, each source gives its own ones a third worker where W is 5 or 10.",
    kind=OURS,
    shown_by=_SHOWN_BY,
)
_NEARLY_PLAIN = Reason(
    "Popularity splits hardly any key where none is popular. It is as uneven there as plain "
    "hashing, which is below 5 % with few workers.",
    kind=OURS,
    shown_by=_SHOWN_BY,
)
_PATIENT = Reason(
    "Where no key is hot, a worker may be 1 % above the mean. For W = 10 that is 1e-3 of the load.",
    kind=OURS,
    shown_by=_SHOWN_BY,
)
_CHANCE_OF_MANY = Reason(
    "A source sends each of 1,000 workers 2,000 rows, 2.2 % more or less by chance. Evening that "
    "out costs copies of warm keys.",
    kind=OURS,
    shown_by=_SHOWN_BY,
)

_CLAIMS = (
    Claim("even",
          f"λ is at most {_EVEN:g} % up to W = {_FEW} where a worker gets {_ENOUGH:,} rows and "
          "some keys are hot (our own).",
          f"λ ≤ {_EVEN:g} %",
          _own(_EVEN, cell("imbalance"),
               lambda row: row["workers"] <= _FEW and _per_worker(row) >= _ENOUGH
               and not _is_flat(row), "{:.3g} %")),
    Claim("even-many",
          f"λ is at most {_EVEN_FOR_MANY:g} % up to W = {_MANY:,} where a worker gets "
          f"{_ENOUGH_FOR_MANY:,} rows and some keys are hot (our own).",
          f"λ ≤ {_EVEN_FOR_MANY:g} %",
          _own(_EVEN_FOR_MANY, cell("imbalance"),
               lambda row: _per_worker(row) >= _ENOUGH_FOR_MANY and not _is_flat(row),
               "{:.3g} %")),
    Claim("average",
          f"The average imbalance is at most 5e-4 of the load where a worker gets {_ENOUGH:,} rows "
          "(our own).",
          "at most 5e-4",
          _own(5e-4, cell("fraction"), lambda row: _per_worker(row) >= _ENOUGH, "{:.2g}"),
          _PATIENT),
    Claim("fewest-copies",
          "Its replication is below that of every scheme that splits keys and whose λ is below "
          f"{_OUT_OF_BALANCE:g} % (our own).",
          "below each, on the same rows",
          Ordered(
              {"the fewest of others": smallest("replication", scheme=other_than(_FLOW)),
               _FLOW: cell("replication", scheme=_FLOW)},
              each=_SETTING,
              among=lambda row: row["scheme"] == _FLOW
              or (row["imbalance"] < _OUT_OF_BALANCE and row["memory"] > row["keys"]),
              given=Above(0, count(scheme=other_than(_FLOW))),
              form="{:.4f}",
          ),
          _BURSTS + _NEARLY_PLAIN),
    Claim("changing-copies",
          "On streams that change, its copies (replication − 1) are at most half of those of "
          "W-Choices (our own).",
          "at most 0.5 times",
          AtMost(0.5, (cell("replication", scheme=_FLOW) - 1)
                 / (cell("replication", scheme=_W_CHOICES) - 1),
                 each=_SETTING, among=lambda row: row["stream"] in _CHANGING,
                 form="{:.2f} times"),
          _BURSTS),
    Claim("memory",
          "Workers hold at most 1.05 times as many keys as there are keys and workers, Zipf 0.8 "
          "to 1.4 (our own).",
          "memory ≤ 1.05 · (keys + W)",
          _own(1.05, cell("memory") / (cell("keys") + cell("workers")),
               lambda row: row["stream"] in ("zipf-0.8", "zipf-1.0", "zipf-1.2", "zipf-1.4"),
               "{:.3f} times"),
          _CHANCE_OF_MANY),
    Claim("flat-even",
          f"Where no key is hot, λ is at most {_EVEN_IF_FLAT:g} % up to W = {_FEW} where a worker "
          f"gets {_ENOUGH_IF_FLAT:,} rows (our own).",
          f"λ ≤ {_EVEN_IF_FLAT:g} %",
          _own(_EVEN_IF_FLAT, cell("imbalance"),
               lambda row: _is_flat(row) and row["workers"] <= _FEW
               and _per_worker(row) >= _ENOUGH_IF_FLAT, "{:.3g} %")),
    Claim("flat-memory",
          "Where no key is hot, workers hold at most 1.10 times as many keys as there are, up to "
          f"W = {_FEW} (our own).",
          "memory ≤ 1.10 · keys",
          _own(1.10, cell("replication"),
               lambda row: _is_flat(row) and row["workers"] <= _FEW, "{:.3f} times")),
)  # fmt: skip

FLOW = Exhibit(
    "flow",
    "How even flow is without learning anything, and how many copies of keys it makes",
    Drawing(
        Chart("workers W", "λ in %", [
            Lines("workers", "imbalance", by="scheme", only=_SCHEMES),
        ], each=["stream"], log_x=True, log_y=True),
        columns=4,
    ),
    _CLAIMS,
    [
        On(Measurement(
            SIMULATION,
            Grid({"stream": _streams, "workers": "workers"}, without=["streams", "recorded"]),
            _run,
            {
                "smoke": {
                    "rows": 1_000_000, "recorded": [], "workers": [10, 50],
                    "streams": ["zipf-0.3", "zipf-1.2", "drift-1.2", "burst-1.0"],
                },
                "paper": {
                    "rows": 10_000_000, "recorded": None, "workers": [5, 10, 50, 100, 1000],
                    "streams": [*STEADY, *_CHANGING],
                },
            },
            f"synthetic: Zipf with {KEYS:,} keys, LN1, LN2; drift-z, whose hot keys are replaced "
            f"{PHASES - 1} times; burst-z, where that happens every 1,000 rows; countries-half-80; "
            f"real streams of packages in time order; {SOURCES} sources; nothing is learned "
            "beforehand and nothing left out of the measure; seeds that flow was not developed on",
            {"smoke": 5, "paper": 1500},
        ))
    ],
)  # fmt: skip
