"""Whether wrap is as even as it promises, at what memory, and on streams that change."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unskew.errors import InvalidParameterError
from unskew.groupings.registry import GROUPINGS, make_grouping
from unskew.simulator.loads import count_rows, simulate
from unskew.streams.base import Stream
from unskew_papers.checks import Above, AtLeast, AtMost, Ordered
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
from unskew_papers.quantities import cell, count, largest, mean, smallest
from unskew_papers.rows import SMALLEST, Row, one_of, other_than

_WRAP = "wrap"
_SETTING = ["stream", "workers"]
_LEARNED = 0.2
"""Share of the rows that is learned from and not measured."""
_LEARNED_AS_MANY = 0.5
_PLANS = 40
"""Plans that follow the first one where wrap goes on learning."""
_DRAWS = 3
"""Streams on which wrap is measured in each setting; the others are on the first of them."""
_SHOWN = (
    "key",
    "shuffle",
    "partial-key",
    "distribution-aware",
    "popularity",
    "dynamic-key",
    "d-choices",
    "w-choices",
)
_PANELS = ("zipf-0.3", "zipf-0.8", "zipf-1.2", "zipf-2.0", "LN1", "LN2")


def _readings(parameters: Parameters) -> list[Mapping[str, Any]]:
    """Return streams and workers of every reading: how many rows are learned from, and how."""
    return [
        {
            "stream": stream,
            "workers": workers,
            **{name: reading[name] for name in ("rows", "learn", "plans")},
        }
        for reading in parameters["readings"]
        for stream in reading["streams"]
        for workers in reading["workers"]
    ]


def others_for(workers: int) -> list[str]:
    """Return every scheme that is not ours and needs no costs, as far as it takes so many workers.

    >>> {"shuffle", "partial-key"} <= set(others_for(5)), {"wrap", "auto"} & set(others_for(5))
    (True, set())
    """
    found = []
    for name, scheme in GROUPINGS.items():
        if scheme.needs_costs or scheme.paper == GROUPINGS[_WRAP].paper:
            continue
        try:
            make_grouping(name, workers)
        except InvalidParameterError:
            continue
        found.append(name)
    return found


def _run_even(unit: Unit, seed: int) -> Sequence[Row]:
    runs = [(_WRAP, draw) for draw in range(_DRAWS)]
    if unit["learn"] == _LEARNED and not unit["plans"]:
        runs += [(name, 0) for name in others_for(unit["workers"])]
    return [_even_row(unit, scheme, draw, unseen(seed) + draw) for scheme, draw in runs]


def _even_row(unit: Unit, scheme: str, draw: int, seed: int) -> Row:
    stream = stream_of(unit["stream"], unit["rows"], seed)
    grouping = make_grouping(scheme, unit["workers"], seed=seed)
    measured = unit["rows"] * (1 - unit["learn"])
    epoch = int(measured / unit["plans"]) if unit["plans"] else None
    result = simulate(grouping, stream, sources=SOURCES, learn=unit["learn"], epoch=epoch)
    return {
        "stream": unit["stream"],
        "workers": unit["workers"],
        "learn": unit["learn"],
        "plans": unit["plans"],
        "learned": result.learned_rows,
        "rows": result.rows,
        "scheme": scheme,
        "draw": draw,
        "imbalance": result.imbalance_percent,
        "replication": result.replication,
        "memory": result.memory,
        "keys": result.keys,
    }


_FEW, _MANY = 100, 1000
"""Numbers of workers up to which the two limits of λ hold."""
_FEW_LIMIT, _MANY_LIMIT = 1.0, 3.0
_ENOUGH = 10_000
"""Rows that a worker is to expect where the limit for many workers is asked for."""
_POINTS = 1.0


def _few(row: Row) -> bool:
    return bool(row["workers"] <= _FEW)


def _many(row: Row) -> bool:
    return bool(row["workers"] <= _MANY and row["rows"] / row["workers"] >= _ENOUGH)


def _many_of_all(row: Row) -> bool:
    everything = row["rows"] + row["learned"]
    return bool(row["workers"] <= _MANY and everything / row["workers"] >= _ENOUGH)


def _even(
    limit: float, among: Callable[[Row], bool], *, learn: float = _LEARNED, plans: int = 0
) -> AtMost:
    """Hold the worst of wrap's streams in each setting against a limit."""
    where = {"learn": learn, "plans": plans, "scheme": _WRAP}
    worst = largest("imbalance")
    return AtMost(limit, worst, each=_SETTING, where=where, among=among, form="{:.3g} %")


def _fewest_places(plans: int) -> Ordered:
    """Compare on the same rows with the schemes that have split a key there."""
    own: dict[str, Any] = {"scheme": _WRAP, "draw": 0, "plans": plans}
    others: dict[str, Any] = {"scheme": other_than(_WRAP)}
    return Ordered(
        {
            "the fewest of others": smallest("replication", **others),
            _WRAP: cell("replication", **own),
        },
        each=_SETTING,
        where={"learn": _LEARNED},
        among=lambda row: row["scheme"] == _WRAP or row["memory"] > row["keys"],
        given=Above(0, count(**own) * count(**others)),
        form="{:.5f}",
    )


_FEW_SAYS = f"λ is at most {_FEW_LIMIT:g} % up to W = {_FEW}"
_MANY_SAYS = f"λ is at most {_MANY_LIMIT:g} % up to W = {_MANY}"
_TESTS = "papers/tests/test_reasons_own.py"
_CHANCE = Reason(
    "Where no key is heavy (Zipf 0.1 to 0.5), λ is what rows have by chance. Little can flow from "
    "worker to worker there, so what each gets has to be known from the rows that were learned "
    "from; n rows know a worker's load to about √(W / n), which is 0.7 % for W = 100 and a fifth "
    "of 10 million, 1.6 % for W = 500, and the fullest worker counts. With W = 1000 the 8,000 "
    "rows that a worker then has add 1.1 % of their own, too much for Zipf 1.2 and 1.4 as well.",
    kind=OURS,
    shown_by=f"{_TESTS}::test_without_heavy_keys_wrap_is_as_uneven_as_its_sample",
)
_PERFECT_OTHERS = Reason(
    "The best of the others has λ = 0, shuffle to begin with. For 500 and 1,000 workers this asks "
    "for more than the limit of 3 % does.",
    kind=OURS,
    shown_by=f"{_TESTS}::test_without_heavy_keys_wrap_is_as_uneven_as_its_sample",
)
_FEW_KEYS = Reason(
    "With few keys and many workers W − 1 extra pieces are many. LN2 has 1,000 keys, Zipf 2.0 "
    "4,000 and LN1 15,000. Partial-key and dynamic-key have fewer there because they are out of "
    "balance: of two workers that differ by much every row goes to the same one, so that few keys "
    "are cut.",
    kind=OURS,
    shown_by=f"{_TESTS}::test_whoever_has_fewer_pieces_than_wrap_is_out_of_balance",
)
_FOLLOWING = f"planned again {_PLANS} times while the rows are measured"
_AS_MANY = "learned from as many rows as are then measured"
_BELOW_1, _BELOW_3 = f"λ ≤ {_FEW_LIMIT:g} %", f"λ ≤ {_MANY_LIMIT:g} %"

_EVEN_CLAIMS = (
    Claim("one-percent", f"{_FEW_SAYS}, on every stream, the worst of three draws (our own).",
          _BELOW_1, _even(_FEW_LIMIT, _few), _CHANCE),
    Claim("three-percent",
          f"{_MANY_SAYS}, where a worker may expect {_ENOUGH:,} of the measured rows (our own).",
          _BELOW_3, _even(_MANY_LIMIT, _many), _CHANCE),
    Claim("three-percent-of-all",
          f"{_MANY_SAYS}, where a worker may expect {_ENOUGH:,} of all rows, those that are "
          "learned from among them (our own).",
          _BELOW_3, _even(_MANY_LIMIT, _many_of_all),
          _CHANCE),
    Claim("memory", "Workers hold at most W − 1 keys more than there are (our own).",
          "memory ≤ distinct keys + W − 1",
          AtMost(cell("workers") - 1, cell("memory") - cell("keys"),
                 each=[*_SETTING, "learn", "draw"], where={"scheme": _WRAP, "plans": 0},
                 form="{:,} keys more than there are")),
    Claim("near-the-best",
          "On λ it is no worse than the best of all other schemes by more than a point (our own).",
          f"at most {_POINTS:g} point above",
          AtMost(_POINTS, largest("imbalance", scheme=_WRAP)
                 - smallest("imbalance", scheme=other_than(_WRAP)),
                 each=_SETTING, where={"learn": _LEARNED, "plans": 0}, form="{:.3g} points"),
          _CHANCE + _PERFECT_OTHERS),
    Claim("replication",
          "Its replication is strictly below that of every scheme that splits keys (our own).",
          "below each, on the same rows", _fewest_places(0),
          _FEW_KEYS),
    Claim("one-percent-as-many", f"{_FEW_SAYS}, {_AS_MANY} (our own, a finer reading).", _BELOW_1,
          _even(_FEW_LIMIT, _few, learn=_LEARNED_AS_MANY),
          _CHANCE),
    Claim("three-percent-as-many",
          f"{_MANY_SAYS} where a worker may expect {_ENOUGH:,}, {_AS_MANY} (our own, a finer "
          "reading).",
          _BELOW_3, _even(_MANY_LIMIT, _many, learn=_LEARNED_AS_MANY),
          _CHANCE),
    Claim("one-percent-following", f"{_FEW_SAYS}, {_FOLLOWING} (our own).", _BELOW_1,
          _even(_FEW_LIMIT, _few, plans=_PLANS),
          _CHANCE),
    Claim("three-percent-following",
          f"{_MANY_SAYS} where a worker may expect {_ENOUGH:,}, {_FOLLOWING} (our own).", _BELOW_3,
          _even(_MANY_LIMIT, _many, plans=_PLANS)),
    Claim("replication-following",
          "Its replication, all places that a key has had under any plan, is strictly below that "
          f"of every scheme that splits keys, {_FOLLOWING} (our own).",
          "below each, on the same rows", _fewest_places(_PLANS),
          Reason("Popularity splits hardly any key where none is popular. It is as uneven there "
                 "as plain hashing.", kind=OURS,
                 shown_by=f"{_TESTS}::test_whoever_has_fewer_pieces_than_wrap_is_out_of_balance")),
)  # fmt: skip


def _reading(
    rows: int, learn: float, plans: int, streams: Sequence[str], workers: Sequence[int]
) -> dict[str, Any]:
    shared = {"rows": rows, "learn": learn, "plans": plans}
    return {**shared, "streams": list(streams), "workers": list(workers)}


WRAP_EVEN = Exhibit(
    "wrap-even",
    "How even wrap is after it has learned, and how many keys workers hold",
    Drawing(
        Chart("workers W", "λ in %", [
            Lines("workers", "imbalance", by="scheme", only=_SHOWN),
            Lines("workers", mean("imbalance"), label=f"{_WRAP}, mean of {_DRAWS} streams",
                  where={"scheme": _WRAP}),
            Lines("workers", largest("imbalance"), label=f"{_WRAP}, worst of them", style="dashed",
                  where={"scheme": _WRAP}),
        ], each=["stream"], only=_PANELS, log_x=True, log_y=True),
        where={"learn": _LEARNED, "plans": 0},
    ),
    _EVEN_CLAIMS,
    [
        On(Measurement(
            SIMULATION, Grid({"reading": _readings}, without=["readings"]), _run_even,
            {
                "smoke": {"readings": [
                    _reading(800_000, _LEARNED, 0, ["zipf-0.3", "LN2"], [10, 50]),
                    _reading(2_020_000, _LEARNED_AS_MANY, 0, ["zipf-0.1"], [10, 101]),
                    _reading(800_000, _LEARNED, _PLANS, ["zipf-0.3"], [10, 50]),
                ]},
                "paper": {"readings": [
                    _reading(10_000_000, _LEARNED, 0, STEADY, [5, 10, 50, 100, 500, 1000]),
                    _reading(20_000_000, _LEARNED_AS_MANY, 0,
                             ["zipf-0.1", "zipf-0.3", "zipf-0.5"], [100, 500, 1000]),
                    _reading(10_000_000, _LEARNED, _PLANS,
                             ["zipf-0.1", "zipf-0.3", "zipf-0.5", "zipf-0.8", "zipf-1.0"],
                             [50, 100, 500, 1000]),
                ]},
            },
            f"synthetic: Zipf with {KEYS:,} keys, LN1, LN2; {SOURCES} sources; seeds that wrap was "
            "not developed on; a fifth of the rows is learned from and not measured, in a second "
            f"reading as many rows as are then measured; in a third, {_PLANS} plans follow the "
            "first one",
            {"smoke": 8, "paper": 600},
        ))
    ],
)  # fmt: skip


_PARTIAL_KEY, _POPULARITY = "partial-key", "popularity"
_OTHERS = (_PARTIAL_KEY, _POPULARITY, "w-choices")
_EPOCHS = (5_000, 1_000, 200)
"""Rows after which wrap plans again, as far as a stream then has no more plans than were asked."""
_HALF = 0.5
_UNEVEN = 1e-3
"""Average imbalance from which on partial-key is out of balance, as in its paper's figures."""


def _streams(parameters: Parameters) -> list[str]:
    wanted = parameters["recorded"]
    real = [name for name in recorded() if wanted is None or name in wanted]
    return [*parameters["streams"], *real]


def _run_drift(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["stream"], unit["rows"], unseen(seed))
    rows = count_rows(stream)
    epochs = [each for each in _EPOCHS if rows // each <= unit["plans"]]
    runs = [(_WRAP, epoch) for epoch in epochs] + [(name, None) for name in _OTHERS]
    return [_drift_row(unit, stream, scheme, epoch, unseen(seed)) for scheme, epoch in runs]


def _drift_row(unit: Unit, stream: Stream, scheme: str, epoch: int | None, seed: int) -> Row:
    """Measure every row, those before the first plan among them."""
    grouping = make_grouping(scheme, unit["workers"], seed=seed)
    result = simulate(grouping, stream, sources=SOURCES, learn=0, epoch=epoch)
    return {
        "stream": unit["stream"],
        "workers": unit["workers"],
        "rows": result.rows,
        "scheme": scheme,
        "epoch": epoch,
        "fraction": result.average_imbalance_fraction,
        "replication": result.replication,
    }


def _at_most_half(uneven_from: float) -> AtMost:
    """Compare wrap, planning as often as was measured, with the better of the two others."""
    own = cell("fraction", scheme=_WRAP, epoch=SMALLEST)
    better = smallest("fraction", scheme=one_of(_PARTIAL_KEY, _POPULARITY))
    given = AtLeast(uneven_from, cell("fraction", scheme=_PARTIAL_KEY))
    return AtMost(_HALF, own / better, each=_SETTING, given=given, form="{:.3g} times the better")


WRAP_DRIFT = Exhibit(
    "wrap-drift",
    "Average imbalance of wrap on streams that change, learning included",
    Drawing(
        Chart("workers W", "average imbalance", [
            Lines("workers", "fraction", by="scheme", only=_OTHERS),
            Lines("workers", "fraction", by="epoch", where={"scheme": _WRAP},
                  label=f"{_WRAP}, a plan every {{epoch:,}} rows"),
        ], each=["stream", "rows"], title="{stream}, {rows:,} rows", log_y=True),
        columns=4,
    ),
    (
        Claim("half",
              "The average imbalance, learning included, is at most half of partial-key's and of "
              "popularity's, on every stream and W (our own).",
              "at most 0.5 times the better of the two", _at_most_half(0.0),
              Reason("Whoever has to learn first cannot be at half of next to nothing. With few "
                     "workers or little skew partial-key is within some rows of perfect; and of "
                     "households and stores the last rows say little of the next, as a purchase is "
                     "many rows of one of them.", kind=OURS,
                     shown_by="unskew reproduce own/wrap-drift")),
        Claim("half-where-uneven",
              f"The same where partial-key's is above {_UNEVEN:g} of the load (our own, a weaker "
              "one).",
              "at most 0.5 times the better of the two", _at_most_half(_UNEVEN)),
    ),
    [
        On(Measurement(
            SIMULATION,
            Grid({"stream": _streams, "workers": "workers"}, without=["streams", "recorded"]),
            _run_drift,
            {
                "smoke": {
                    "rows": 100_000, "plans": 100, "streams": ["drift-1.2", "countries-half-80"],
                    "recorded": ["stores"], "workers": [5, 50],
                },
                "paper": {
                    "rows": 10_000_000, "plans": 2_100, "streams": DRIFTING, "recorded": None,
                    "workers": [5, 10, 50, 100],
                },
            },
            f"synthetic: drift-z, Zipf with {KEYS:,} keys whose hot ones are replaced {PHASES - 1} "
            "times; countries-half-80, of which one country has 80 % from the middle on; real "
            "streams of packages (words of speeches, supermarket purchases and flights, in time "
            f"order); {SOURCES} sources; nothing is left out of the measure",
            {"smoke": 9, "paper": 1400},
        ))
    ],
)  # fmt: skip
