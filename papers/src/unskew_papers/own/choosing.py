"""Whether auto chooses well, and whether what diagnose predicts is what is then measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from unskew.advisor.predict import FLOOR_PERCENT, predict
from unskew.advisor.profiling import profile_stream
from unskew.groupings.registry import make_all, schemes_to_compare
from unskew.simulator.loads import count_rows, simulate
from unskew_papers.checks import AtMost
from unskew_papers.claims import OURS, Claim, Reason
from unskew_papers.engines.simulation import loads_of
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Parameters, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.own.workloads import DRIFTING, KEYS, SOURCES, STEADY, recorded, stream_of, unseen
from unskew_papers.quantities import Quantity, cell, smallest
from unskew_papers.rows import Row, at_least, one_of

_AUTO, _KEY = "auto", "key"
_CHOICES = (_KEY, "shuffle", "partial-key", "w-choices", "wrap")
_LEARNED = 0.2
_NEAR_THE_BEST, _NEAR_KEY = 1.05, 1.02
_SETTING = ["stream", "workers"]


def _streams(parameters: Parameters) -> list[Mapping[str, Any]]:
    real = [("recorded", name) for name in recorded()] if parameters["recorded"] else []
    drawn = [(kind, name) for kind in ("steady", "drifting") for name in parameters[kind]]
    return [{"kind": kind, "stream": name} for kind, name in (*drawn, *real)]


def _run_auto(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["stream"], unit["rows"], unseen(seed))
    rows = []
    for scheme in (_AUTO, *_CHOICES):
        result = loads_of(
            scheme, unit["workers"], stream, seed=unseen(seed), sources=SOURCES, learn=_LEARNED
        )
        rows.append(
            {
                "kind": unit["kind"],
                "stream": unit["stream"],
                "workers": unit["workers"],
                "rows": result.rows,
                "scheme": scheme,
                "time": 1 + result.imbalance_percent / 100,
                "replication": result.replication,
                "why": result.why,
            }
        )
    return rows


def _of_best(*others: str) -> Quantity:
    """Ask for auto's time, divided by the shortest of the others'."""
    return cell("time", scheme=_AUTO) / smallest("time", scheme=one_of(*others))


AUTO = Exhibit(
    "auto",
    "Job time of auto, which chooses by itself, against the best single scheme",
    Drawing(Chart("workers W", "time of auto / best",
                  [Lines("workers", _of_best(*_CHOICES), by="stream")],
                  each=["kind"], title="{kind} streams", log_x=True)),
    (
        Claim("near-the-best",
              f"auto is within 5 % of the best of {', '.join(_CHOICES[:-1])} and {_CHOICES[-1]}, "
              "on every stream (our own).",
              f"at most {_NEAR_THE_BEST:g} times",
              AtMost(_NEAR_THE_BEST, _of_best(*_CHOICES), each=_SETTING, form="{:.3g}×")),
        Claim("never-above-key",
              "auto is never worse than plain hashing by more than 2 % (our own).",
              f"at most {_NEAR_KEY:g} times",
              AtMost(_NEAR_KEY, _of_best(_KEY), each=_SETTING, form="{:.3g}×")),
    ),
    [
        On(Measurement(
            SIMULATION,
            Grid({"streams": _streams, "workers": "workers"},
                 without=["steady", "drifting", "recorded"]),
            _run_auto,
            {
                "smoke": {
                    "rows": 200_000, "steady": ["zipf-0.5", "zipf-1.2"],
                    "drifting": ["drift-1.2", "countries-half-80"], "recorded": False,
                    "workers": [10, 50],
                },
                "paper": {
                    "rows": 2_000_000, "steady": STEADY, "drifting": DRIFTING, "recorded": True,
                    "workers": [5, 10, 50, 100, 500, 1000],
                },
            },
            f"synthetic: Zipf with {KEYS:,} keys, LN1, LN2, drifting Zipf, countries-half-80; real "
            "streams of packages (words of speeches, supermarket purchases, flights); the time of "
            f"a job is that of its fullest worker, 1 + λ; {SOURCES} sources; a fifth is learned "
            "from and not measured",
            {"smoke": 4, "paper": 120},
        ))
    ],
)  # fmt: skip


_ALL, _FIFTH = "all rows", "a fifth of the rows"
_NEAR = 0.1
_STEADY = ("zipf-0.5", "zipf-1.0", "zipf-1.4", "zipf-2.0", "LN2")


def _predicted_streams(parameters: Parameters) -> list[str]:
    return [*parameters["streams"], *(recorded() if parameters["recorded"] else [])]


def _run_diagnose(unit: Unit, seed: int) -> Sequence[Row]:
    seed, workers = unseen(seed), unit["workers"]
    stream = stream_of(unit["stream"], unit["rows"], seed)
    schemes, _ = make_all(schemes_to_compare(), workers, costs=False, seed=seed)
    found = {name: simulate(scheme, stream, sources=SOURCES) for name, scheme in schemes.items()}
    profiles = {
        _ALL: profile_stream(stream),
        _FIFTH: profile_stream(stream, sample=count_rows(stream) // 5),
    }
    return [
        {
            "stream": unit["stream"],
            "workers": workers,
            "looked_at": looked_at,
            "scheme": each.grouping,
            "predicted_imbalance": each.imbalance_percent,
            "imbalance": found[each.grouping].imbalance_percent,
            "predicted_replication": each.replication,
            "replication": found[each.grouping].replication,
        }
        for looked_at, profile in profiles.items()
        for each in predict(profile, workers, sources=SOURCES, seed=seed)
    ]


def _time(prefix: str = "") -> Quantity:
    """Ask for the time of a job over that of one whose workers are even."""
    return cell(f"{prefix}imbalance") / 100 + 1


_ERRORS: Mapping[str, tuple[Quantity, Mapping[str, Any]]] = {
    "replication": (cell("predicted_replication") / cell("replication"), {}),
    "time": (_time("predicted_") / _time(), {}),
    # Below the floor λ is chance.
    "imbalance": (
        cell("predicted_imbalance") / cell("imbalance"),
        {"imbalance": at_least(FLOOR_PERCENT)},
    ),
}
_WORDS = {
    "replication": "replication",
    "time": "the time of a job, 1 + λ,",
    "imbalance": f"λ, where it is at least {FLOOR_PERCENT:g} %,",
}
_SHOWN = "unskew reproduce own/diagnose --size paper"
_COINS = Reason("Popularity's coin flips decide how even it is.", kind=OURS, shown_by=_SHOWN)
_CHANCE = Reason(
    "A sample of n rows knows the share of a worker only to about √(W / n). λ is the largest of W "
    "such errors beside what it is to tell; and a plan that was learned before a stream turned is "
    "as uneven as its luck: on which worker the next hot keys meet.",
    kind=OURS,
    shown_by=_SHOWN,
)
_MISSED = Reason(
    "Of what a sample has not seen only means are known. That is so of rare keys (Zipf 2.0), of "
    "bursts (households) and of when hot keys change.",
    kind=OURS,
    shown_by=_SHOWN,
)


def _foreseen(name: str, looked_at: str, reason: Reason | None = None) -> Claim:
    what = name.removesuffix("-sampled")
    ratio, where = _ERRORS[what]
    return Claim(
        name,
        f"From {looked_at} {_WORDS[what]} of every grouping is predicted within 10 % of what is "
        "then measured (our own).",
        "within 10 %",
        AtMost(100 * _NEAR, 100 * abs(ratio - 1), each=[*_SETTING, "scheme"],
               where={"looked_at": looked_at, **where}, form="{:.3g} %"),
        reason,
    )  # fmt: skip


DIAGNOSE = Exhibit(
    "diagnose",
    "What diagnose predicts of every grouping, and what the simulator then measures",
    Drawing(Chart("λ in %", "predicted",
                  [Lines("imbalance", "predicted_imbalance", by="stream", style="points",
                         where={"imbalance": at_least(FLOOR_PERCENT)}, as_measured=True)],
                  each=["looked_at"], log_x=True, log_y=True)),
    (
        _foreseen("replication", _ALL),
        _foreseen("time", _ALL),
        _foreseen("imbalance", _ALL, _COINS),
        _foreseen("replication-sampled", _FIFTH, _MISSED),
        _foreseen("time-sampled", _FIFTH, _CHANCE),
        _foreseen("imbalance-sampled", _FIFTH, _COINS + _CHANCE),
    ),
    [
        On(Measurement(
            SIMULATION,
            Grid({"stream": _predicted_streams, "workers": "workers"},
                 without=["streams", "recorded"]),
            _run_diagnose,
            {
                "smoke": {
                    "rows": 200_000, "streams": ["zipf-1.4", "LN2"], "recorded": False,
                    "workers": [10],
                },
                "paper": {
                    "rows": 4_000_000, "streams": [*_STEADY, "drift-1.4", "countries-half-80"],
                    "recorded": True, "workers": [10, 100],
                },
            },
            f"synthetic: Zipf with {KEYS:,} keys, LN2, drifting Zipf, countries-half-80; real "
            f"streams of packages; {SOURCES} sources; seeds and streams that the predictions were "
            "not developed on (these were Zipf 0.8 and 1.2 and LN1); of all rows the first million "
            "is replayed as it came, the others are drawn by their counts",
            {"smoke": 5, "paper": 90},
        ))
    ],
)  # fmt: skip
