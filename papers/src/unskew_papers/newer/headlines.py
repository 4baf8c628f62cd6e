"""What the abstracts of the newer schemes promise, each on its own kind of workload."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unskew.streams import drift, zipf
from unskew.streams.base import Stream
from unskew_papers.checks import Below, Near, Within
from unskew_papers.claims import SETUP, Claim, Reason
from unskew_papers.engines.simulation import queue_of
from unskew_papers.experiment import QUEUEING, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.quantities import Quantity, cell, largest
from unskew_papers.rows import Row

_KEYS = 100_000
_PHASES = 10
_LOAD = 0.9
_UNEVEN = (1.0, 2.0, 4.0)
_SLOW = 4.0
_SIZES = {
    "smoke": {"exponents": [1.0, 1.4], "rows": 500_000},
    "paper": {"exponents": [1.0, 1.2, 1.4, 1.6, 1.8, 2.0], "rows": 2_000_000},
}


def _steady(exponent: float, rows: int, seed: int) -> Stream:
    return zipf(_KEYS, exponent, rows, seed=seed)


def _changing(exponent: float, rows: int, seed: int) -> Stream:
    return drift(_KEYS, exponent, rows // _PHASES, rows, seed=seed)


def _exhibit(
    scheme: str,
    title: str,
    others: Sequence[str],
    claims: Sequence[Claim],
    *,
    workers: int,
    data: str,
    shown: str = "time",
    stream: Callable[[float, int, int], Stream] = _steady,
    factors: Sequence[float] | None = None,
) -> Exhibit:
    """Return an experiment that runs a scheme and others on the same rows and queues."""
    speed = 1.0 if factors is None else sum(1 / each for each in factors) / workers

    def run(unit: Unit, seed: int) -> Sequence[Row]:
        rows = []
        for name in (scheme, *others):
            found = queue_of(
                name,
                workers,
                stream(unit["exponent"], unit["rows"], seed),
                seed=seed,
                over_provisioning=1 / (_LOAD * speed),
                speeds=factors,
            )
            rows.append(
                {
                    "exponent": unit["exponent"],
                    "scheme": name,
                    "time": 1 + found.placement.imbalance_percent / 100,
                    "throughput": found.throughput,
                    "mean": found.mean,
                    "p99": found.p99,
                    "memory": found.placement.memory,
                    "replication": found.placement.replication,
                }
            )
        return rows

    names: Mapping[str, Any] = {"exponent": "exponents"}
    return Exhibit(
        scheme,
        title,
        Drawing(
            Chart("Zipf exponent", shown, [
                Lines("exponent", shown, by="scheme", only=(scheme, *others)),
            ], log_y=True),
        ),
        claims,
        [On(Measurement(QUEUEING, Grid(names), run, _SIZES, data, {"smoke": 5, "paper": 60}))],
    )  # fmt: skip


def _gain(field: str, of: str, over: str) -> Quantity:
    """Ask how many times the field of one scheme is that of another."""
    return cell(field, scheme=of) / cell(field, scheme=over)


def _saved(field: str, by: str, of: str) -> Quantity:
    """Ask which part of a scheme's field another one saves, at its best."""
    return largest(1 - cell(field, scheme=by) / cell(field, scheme=of), ["exponent"])


_EACH = ["exponent"]


def _reason(text: str, experiment: str) -> Reason:
    return Reason(text, kind=SETUP, shown_by=f"unskew reproduce newer/{experiment} --size paper")


_NOTHING_ELSE_WAITS = _reason(
    "Here rows wait for uneven placement alone. Arrivals are even and rows cost the same, so under "
    "shuffling none waits at all; on a cluster some do whatever the scheme.",
    "fish",
)
_AT_MOST_ALL_COPIES = _reason(
    "Shuffling holds a key on 24 workers here at most, on average. So even one worker per key "
    "would save 95.8 %; 99.96 % asks for a stream that brings every key to 2,500 workers.",
    "fish",
)
_OTHERS_HAVE_NO_FLOOR = _reason(
    "Hashing is as slow here as its hottest key, and nothing else takes time. With more skew and "
    "more workers it can be any number of times slower; jobs have other costs, and others to beat.",
    "prompt",
)
_QUEUES_GROW = _reason(
    "Under hashing a worker gets more than it can do, and its queue grows as long as the stream "
    "lasts. Latency is then a matter of how long one looks.",
    "consistent",
)
_WHOLE_KEYS = _reason(
    "A key stays whole, so no plan is faster than the worker of the hottest key. From an exponent "
    "of 1.2 on it has several times a fair share of 16 workers, under hashing and under KIP alike.",
    "kip",
)

HEADLINES = (
    _exhibit(
        "fish",
        "Latency against W-Choices and memory against shuffling, where hot keys change",
        ("w-choices", "shuffle"),
        (
            Claim("mean", "Its mean latency is up to 87.12 % below that of W-Choices.", "−87.12 %",
                  Near(0.8712, _saved("mean", "fish", "w-choices"), share=0.2, beyond="above")),
            Claim("p99", "Its 99th percentile is up to 76.34 % below that of W-Choices.",
                  "−76.34 %",
                  Near(0.7634, _saved("p99", "fish", "w-choices"), share=0.2, beyond="above"),
                  _NOTHING_ELSE_WAITS),
            Claim("memory", "Its memory is up to 99.96 % below that of shuffling.", "−99.96 %",
                  Near(0.9996, _saved("memory", "fish", "shuffle"), off=0.0004),
                  _AT_MOST_ALL_COPIES),
        ),
        workers=128,
        shown="p99",
        stream=_changing,
        data=f"drift: Zipf with {_KEYS:,} keys, hot keys replaced {_PHASES - 1} times; 128 workers "
        "that serve first in, first out, at 90 % load; one source",
    ),
    _exhibit(
        "flex",
        "Throughput and latency against hashing, skew from 1 to 2",
        ("key",),
        (
            Claim("throughput", "Its throughput is up to 7.3 times that of others.", "7.3 times",
                  Near(7.3, largest(_gain("time", "key", "flex"), _EACH), share=0.2,
                       beyond="above"),
                  _OTHERS_HAVE_NO_FLOOR),
            Claim("latency", "Its latency is up to 85 % below that of others.", "−85 %",
                  Near(0.85, _saved("mean", "flex", "key"), share=0.1, beyond="above"),
                  _QUEUES_GROW),
        ),
        workers=64,
        data=f"synthetic: Zipf with {_KEYS:,} keys; 64 workers that serve first in, first out, at "
        "90 % load; one source; others are taken to be hashing",
    ),
    _exhibit(
        "dalton",
        "Throughput against hashing, skew from 1 to 2",
        ("key",),
        (
            Claim("throughput", "Its throughput is 1.3 to 6.7 times that of others.",
                  "1.3 to 6.7 times",
                  Within(1.3, 6.7, _gain("time", "key", "dalton"), each=_EACH, beyond="above")),
        ),
        workers=16,
        data=f"synthetic: Zipf with {_KEYS:,} keys; 16 workers; one source; others are taken to be "
        "hashing, and throughput to be that of the busiest worker",
    ),
    _exhibit(
        "kip",
        "Speed-up over hashing, skew from 1 to 2",
        ("key",),
        (
            Claim("speed-up", "Jobs are 1.5 to 6 times as fast as with hashing.",
                  "1.5 to 6 times",
                  Within(1.5, 6.0, _gain("time", "key", "kip"), each=_EACH, beyond="above"),
                  _WHOLE_KEYS),
        ),
        workers=16,
        data=f"synthetic: Zipf with {_KEYS:,} keys; 16 workers; a plan after each fiftieth of the "
        "rows; a job takes as long as its busiest worker",
    ),
    _exhibit(
        "prompt",
        "Throughput against hashing, skew from 1 to 2",
        ("key",),
        (
            Claim("throughput", "Throughput is up to 200 % above that of others.", "+200 %",
                  Near(2.0, largest(_gain("time", "key", "prompt"), _EACH) - 1, share=0.2,
                       beyond="above"),
                  _OTHERS_HAVE_NO_FLOOR),
        ),
        workers=16,
        data=f"synthetic: Zipf with {_KEYS:,} keys; 16 workers; a plan after each fiftieth of the "
        "rows, which stands for a micro-batch; others are taken to be hashing",
    ),
    _exhibit(
        "consistent",
        "Latency against hashing, on machines of which some are slower",
        ("key",),
        (
            Claim("latency", "Latency is 3.44 times better than with hashing.", "3.44 times",
                  Near(3.44, largest(_gain("mean", "key", "consistent"), _EACH), share=0.2,
                       beyond="above"),
                  _QUEUES_GROW),
        ),
        workers=12,
        shown="mean",
        factors=_UNEVEN * 4,
        data=f"synthetic: Zipf with {_KEYS:,} keys; 12 workers that take 1, 2 or 4 times as long "
        "for a row, at 90 % load; one source",
    ),
    _exhibit(
        "load-aware",
        "Completion times against round-robin, with one slow worker",
        ("shuffle",),
        (
            Claim("p99", "The 99th percentile is below that of round-robin.", "not published",
                  Below(1.0, _gain("p99", "load-aware", "shuffle"), each=_EACH)),
        ),
        workers=10,
        shown="p99",
        factors=(_SLOW, *[1.0] * 9),
        data=f"synthetic: Zipf with {_KEYS:,} keys; 10 workers, of which one takes 4 times as long "
        "for a row, at 90 % load; one source",
    ),
    _exhibit(
        "adaptive",
        "Throughput against round-robin, with one slow worker",
        ("shuffle",),
        (
            Claim("throughput", "Throughput is up to about 3 times that of round-robin.",
                  "3 times",
                  Near(3.0, largest(_gain("throughput", "adaptive", "shuffle"), _EACH), share=0.25,
                       beyond="above")),
        ),
        workers=10,
        shown="throughput",
        factors=(_SLOW, *[1.0] * 9),
        data=f"synthetic: Zipf with {_KEYS:,} keys; 10 workers, of which one takes 4 times as long "
        "for a row, at 90 % load, as back pressure would keep it; one source",
    ),
)  # fmt: skip
"""An experiment per scheme."""
