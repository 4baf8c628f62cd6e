"""What schemes make of machines of unequal speed, and of machines that change."""

from collections.abc import Sequence

from unskew.groupings.base import Grouping
from unskew.groupings.flow import Flow
from unskew.groupings.registry import make_grouping
from unskew.simulator.queueing import simulate_queue
from unskew.streams import zipf
from unskew_papers.checks import AtMost
from unskew_papers.claims import Claim
from unskew_papers.experiment import QUEUEING, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Bars, Chart, Drawing
from unskew_papers.own.workloads import unseen
from unskew_papers.quantities import cell, smallest
from unskew_papers.rows import Row, one_of

_WORKERS = 12
_EPOCHS = 50
_LOAD = 0.8
_LOST = 1000.0
_FOLLOWS, _TOLD = "flow:follow_speeds=true", "flow, told"
_SCHEMES = (
    "key", "shuffle", "partial-key", "w-choices", "fish", "flex", "dalton", "consistent",
    "load-aware", "adaptive", "kip", "prompt", "wrap", "flow", _FOLLOWS, _TOLD,
)  # fmt: skip
_SEE_QUEUES = ("fish", "consistent", "load-aware", "adaptive")
_UNEVEN = [1.0, 2.0, 4.0] * (_WORKERS // 3)
_ALIKE = [1.0] * _WORKERS

Phases = list[tuple[int, list[float]]]


def _phases(cluster: str, rows: int) -> Phases:
    """Return what each worker multiplies the time of a row by, from which row on."""
    first_is = {"slows": 3.0, "lost": _LOST, "added": _LOST}
    if cluster == "1:2:4":
        return [(0, _UNEVEN)]
    other = [first_is[cluster], *_ALIKE[1:]]
    return [(0, other), (rows // 2, _ALIKE)] if cluster == "added" else [
        (0, _ALIKE), (rows // 2, other),
    ]  # fmt: skip


def _grouping(scheme: str, phases: Phases, seed: int) -> Grouping:
    if scheme == _TOLD:  # of the speeds at the start
        return Flow(_WORKERS, capacity=[1 / each for each in phases[0][1]], seed=seed)
    return make_grouping(scheme, _WORKERS, seed=seed)


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    rows = unit["rows"]
    phases = _phases(unit["cluster"], rows)
    speed = min(sum(1 / each for each in factors) for _, factors in phases) / _WORKERS
    stream = zipf(unit["keys"], 1.2, rows, seed=unseen(seed))
    found = []
    for scheme in _SCHEMES:
        result = simulate_queue(
            _grouping(scheme, phases, unseen(seed)),
            stream,
            speeds=phases,
            over_provisioning=1 / (_LOAD * speed),
            epoch=rows // _EPOCHS,
            series_every=rows // _EPOCHS,
        )
        means = [mean for _, mean, _ in result.series]
        change = _EPOCHS // 2
        found.append(
            {
                "cluster": unit["cluster"],
                "scheme": scheme,
                "before": means[change - 1],
                "epoch": means[change],
                "after": means[change + 1],
                "end": means[-1],
                "p99": result.p99,
                "replication": result.placement.replication,
            }
        )
    return found


UNEVEN = Exhibit(
    "uneven",
    "Completion times on machines of unequal speed, and through a change",
    Drawing(
        Chart("scheme", "99th percentile, in rows", [
            Bars("p99", "{scheme}", "p99"),
        ], each=["cluster"], log_y=True),
        columns=2,
    ),
    (
        Claim("adapts",
              "Where flow follows speeds, the second epoch after a change is no slower than twice "
              "the last one before it and twice a row more (our own).",
              "at most 2 · before + 2",
              AtMost(0.0, cell("after", scheme=_FOLLOWS) - 2 * cell("before", scheme=_FOLLOWS) - 2,
                     each=["cluster"], form="{:.2f}"),
              ),
        Claim("as-the-best",
              "Its p99 is at most four times that of the best scheme that sees queues, or a dozen "
              "rows (our own).",
              "at most 4 · best + 12",
              AtMost(0.0, cell("p99", scheme=_FOLLOWS)
                     - 4 * smallest("p99", scheme=one_of(*_SEE_QUEUES)) - 12,
                     each=["cluster"], form="{:.1f}"),
              ),
        Claim("fewer-copies",
              "Its copies are at most a quarter of those of any scheme that sees queues (our own).",
              "at most 0.25 times",
              AtMost(0.25, (cell("replication", scheme=_FOLLOWS) - 1)
                     / (smallest("replication", scheme=one_of(*_SEE_QUEUES)) - 1),
                     each=["cluster"], form="{:.2f} times"),
              ),
    ),
    [
        On(Measurement(
            QUEUEING,
            Grid({"cluster": ["1:2:4", "slows", "lost", "added"]}),
            _run,
            {
                "smoke": {"rows": 500_000, "keys": 100_000},
                "paper": {"rows": 1_000_000, "keys": 100_000},
            },
            "synthetic: Zipf 1.2; 12 workers at 80 % of what they can do at their slowest; workers "
            "that take 1, 2 or 4 times as long for a row, one that takes 3 times as long from the "
            "middle on, one that is lost there or comes there (a lost one takes 1,000 times as "
            "long); one source; a seed that flow was not developed on",
            {"smoke": 5, "paper": 30},
        ))
    ],
)  # fmt: skip
