"""What is fuzzed: each reader of files and texts, and all compiled loops.

A reader may return a result or raise its own error. Anything else is a fault, and so is a result
that cannot be used.
"""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unskew import _lowest, scheduling
from unskew.advisor.history.reading import read_history
from unskew.apps.running.sources import BatchSizes, parse_source
from unskew.errors import EventLogError, InvalidParameterError, StreamError, UnskewError
from unskew.events import PLAN_RECORD, RUN_RECORD, EventTail, RunRecordError
from unskew.events.record import iter_polls
from unskew.groupings.base import LearnedGrouping, OfflineGrouping
from unskew.groupings.flow.known_keys import KnownKeys
from unskew.groupings.plan import index_plan
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.registry import GROUPINGS, make_grouping
from unskew.scheduling import LoadArray
from unskew.sketches.bloom import Bloom
from unskew.sketches.count_min import CountMin
from unskew.sketches.hash_cells import HashCells
from unskew.sketches.space_saving import SpaceSaving
from unskew.spark.plans.saved import PlanFileError, load_plan
from unskew.spark.routing.expression import live_tables
from unskew.spark.stream.remembering import Known, known_from
from unskew.spark.worker.cost_messages import DamagedMessageError, pack, unpack
from unskew.spark.worker.live_files import LivePair, Written, as_text
from unskew.streams import parse_stream

CORPUS = Path(__file__).parent / "corpus"
_MOST_WORKERS = 300


class Target(NamedTuple):
    """Something that takes bytes from anywhere."""

    name: str
    read: Callable[[bytes, Path], None]
    """Takes the bytes, and a file to put them into; raises where that shows a fault."""
    samples: list[bytes]

    def corpus(self) -> list[bytes]:
        """Return the samples, and the files in the corpus: good ones, and what once failed."""
        files = sorted((CORPUS / self.name).glob("*"))
        return [*self.samples, *(path.read_bytes() for path in files)]


def _plan(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    with suppress(PlanFileError):
        plan = load_plan(path)
        routes = index_plan(plan).slot_workers
        assert routes.min() >= 0
        assert routes.max() < plan.workers
        assert np.isfinite(plan.predicted_loads).all()
        live_tables(plan)
        repr(plan), plan._repr_html_()


def _live_file(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    found = known_from(LivePair([path], "t").read(), 8)
    assert found is None or found.keys.workers.size == found.keys.starts[-1]


def _known(data: bytes, _path: Path) -> None:
    found = known_from([data.decode("latin-1")], 8)
    if found is not None:
        make_grouping("flow", 8).starting_with(found.keys).route_many(np.arange(50))  # type: ignore[attr-defined]


def _record(data: bytes, path: Path) -> None:
    for record in (PLAN_RECORD, RUN_RECORD):
        (path.parent / record.file).write_bytes(data)
        with suppress(RunRecordError):
            for epoch in iter_polls(EventTail(path.parent, record)):
                assert epoch.imbalance >= 0


def _message(data: bytes, _path: Path) -> None:
    with suppress(DamagedMessageError):
        unpack(data)


def _event_log(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    with suppress(EventLogError):
        read_history(path).to_json()


def _grouping_spec(data: bytes, _path: Path) -> None:
    with suppress(UnskewError):
        grouping = make_grouping(data.decode("utf-8", "replace"), 4)
        if not isinstance(grouping, LearnedGrouping | OfflineGrouping | ProactiveShuffle):
            grouping.route_many([1, 2, 3])


def _stream_spec(data: bytes, _path: Path) -> None:
    with suppress(UnskewError):
        parse_stream(data.decode("utf-8", "replace"))


def _source_spec(data: bytes, path: Path) -> None:
    with suppress(UnskewError):
        parse_source(data.decode("utf-8", "replace"), BatchSizes(None, None, None, path.parent))


def _file(kind: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, path: Path) -> None:
        named = path.with_suffix(kind)
        named.write_bytes(data)
        for columns in ("", "?key=key", "?key=key&cost=cost"):
            with suppress(StreamError, InvalidParameterError, UnskewError):
                for batch in parse_stream(f"file:{named}{columns}").batches(1_000):
                    assert len(batch.keys) <= 1_000

    return read


def _routing(data: bytes, _path: Path) -> None:
    """Route whatever keys and weights through any grouping with any number of workers."""
    rng = np.random.default_rng(list(data))
    name = str(rng.choice(sorted(GROUPINGS)))
    scheme = GROUPINGS[name]
    workers = int(rng.choice([1, 2, 3, 7, 64, 65, _MOST_WORKERS]))
    with suppress(UnskewError):
        grouping = make_grouping(name, workers, seed=int(rng.integers(100)))
        keys = _keys(rng)
        weights = _weights(rng, keys.size) if scheme.takes_weights and rng.random() < 0.5 else None
        if isinstance(grouping, LearnedGrouping):
            grouping.learn(keys, weights=weights).build()
        if isinstance(grouping, OfflineGrouping):
            grouping.fit(*np.unique(keys, return_counts=True))
        for _ in range(2):
            out = grouping.route_many(keys, weights=weights)
            assert out.size == keys.size
            assert keys.size == 0 or (out.min() >= 0 and out.max() < workers)
        for at in range(min(keys.size, 3)):
            assert int(out[at]) in grouping.candidates(int(keys[at].astype(np.int64)))


def _sketches(data: bytes, _path: Path) -> None:
    rng = np.random.default_rng(list(data))
    keys, other = _keys(rng), _keys(rng)
    weights = _weights(rng, keys.size) if rng.random() < 0.5 else None
    capacity = int(rng.choice([1, 2, 8, 100]))
    with suppress(UnskewError):
        one, two = SpaceSaving(capacity), SpaceSaving(capacity)
        one.update_many(keys, weights)
        two.update_many(other)
        one.merge(two)
        one.scale(0.5)
        assert len(one) <= capacity
    with suppress(UnskewError):
        counts = CountMin(epsilon=float(rng.choice([0.5, 0.01])), delta=0.1)
        counts.update_many(keys, weights)
    bloom = Bloom(int(rng.choice([1, 10, 1_000])))
    bloom.add_many(keys)
    assert bloom.contains_many(keys).all()
    with suppress(UnskewError):
        cells = HashCells(int(rng.choice([1, 64])), np.array([0, 1 << 32, 0], np.uint64))
        cells.update_many(keys.view(np.uint64), np.empty(0) if weights is None else weights)
        assert np.isfinite(cells.keys()).all()


def _scheduling(data: bytes, _path: Path) -> None:
    rng = np.random.default_rng(list(data))
    loads = _weights(rng, int(rng.integers(0, 200)))
    workers = int(rng.choice([1, 2, 3, 64, _MOST_WORKERS]))
    with suppress(UnskewError):
        places = scheduling.longest_first(loads, workers)
        assert places.size == loads.size
        assert loads.size == 0 or (places.min() >= 0 and places.max() < workers)
    with suppress(UnskewError):
        rooms = scheduling.rooms_for(float(loads.sum()), _weights(rng, workers))
        pieces = scheduling.wrap_around(loads, rooms)
        assert pieces.starts.size == loads.size + 1
    values = _weights(rng, workers)
    lowest = _lowest.new_lowest(workers)
    for _ in range(50):
        found = int(_lowest.lowest_of_any(lowest, values))
        assert values[found] == values.min()
        values[found] += float(rng.choice([0.0, 1.0, 1e-9, 1e9]))


def _keys(rng: np.random.Generator) -> NDArray[np.int64]:
    size = int(rng.choice([0, 1, 2, 17, 500]))
    extremes = np.array([0, 1, -1, 2**63 - 1, -(2**63)], np.int64)
    kinds = [
        rng.integers(-(2**63), 2**63 - 1, size),
        rng.integers(0, 3, size),
        rng.choice(extremes, size),
        np.zeros(size, np.int64),
        rng.zipf(1.3, size) % 10**6,
    ]
    return kinds[rng.integers(len(kinds))].astype(np.int64)


def _weights(rng: np.random.Generator, size: int) -> LoadArray:
    kinds = [
        rng.random(size),
        rng.choice([0.0, 1.0], size),
        rng.choice([0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e100], size),
        np.zeros(size),
        rng.pareto(0.5, size),
    ]
    found: LoadArray = np.clip(kinds[rng.integers(len(kinds))], 0.0, 1e100)
    return found


def _live_samples() -> list[bytes]:
    known = KnownKeys.nothing().after(
        np.array([7, 9], np.uint64),
        np.array([0.5, 0.1]),
        moved_ids=np.array([7, 7], np.uint64),
        moved_to=np.array([2, 5]),
        workers=8,
    )
    return [as_text(Written(3, ["t", Known(3, known).as_line()])).encode()]


def _parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"key": ["a", "b", None], "cost": [1.0, 2.5, 3.0]}), sink)
    return bytes(sink.getvalue())


_EPOCH = (
    b'{"schema": 1, "grouping": "key", "query": "q", "run": "r", "batch": 3, "started": 12.5, '
    b'"seconds": 0.5, "planning_seconds": null, "rows": 4, "loads": [3, 1], "predicted_loads": '
    b'[2.0, 2.0], "busy_seconds": [0.1, 0.2], "imbalance": 50.0, "damaged": ["a.txt"], '
    b'"hot_keys": [{"key": "anna", "share": 0.5, "workers": [0, 1]}], "latency": [0.1, 0.2, 0.3]}\n'
)
_GROUPING_SPECS = [
    *(b"wrap:decay=0.5,slots=1k", b"wrap:capacity=1", b"partial-key:choices=3,load=global"),
    *(b"flow:excess=0.01,slack=2", b"distribution-aware:threshold=0.1", b"d-choices"),
    *(b"popularity:adaptive=true", b"proactive-shuffle:epsilon=0.05"),
    b"dynamic-key:expected_keys=10k",
]
_STREAM_SPECS = [
    *(b"zipf:keys=100k,exponent=1.2,rows=5e6", b"drift:every=1000", b"uniform:keys=10,rows=20"),
    *(b"zipf:keys=4096,exponent=1.0,rows=100000,costs=64", b"lognormal:"),
    b"file:/no/such?key=a&cost=b",
]
_SOURCE_SPECS = [b"rate:10k", b"files:/no/such", b"kafka:host:9092/topic", b"built-in"]
_SEEDS = [bytes([number, 0, 0, 0]) for number in range(40)]

TARGETS = [
    Target("plan", _plan, []),
    Target("live-file", _live_file, _live_samples()),
    Target("known-keys", _known, [_live_samples()[0].split(b"\n")[-1]]),
    Target("record", _record, [_EPOCH, 3 * _EPOCH]),
    Target("cost-message", _message, [pack({"a": np.arange(3), "b": np.zeros((2, 3))})]),
    Target("event-log", _event_log, []),
    Target("grouping-spec", _grouping_spec, _GROUPING_SPECS),
    Target("stream-spec", _stream_spec, _STREAM_SPECS),
    Target("source-spec", _source_spec, _SOURCE_SPECS),
    Target("csv", _file(".csv"), [b"key,cost\na,1\nb,2.5\n", b'"key"\tcost\n"a\n",1e9\n']),
    Target("parquet", _file(".parquet"), [_parquet()]),
    Target("text", _file(".txt"), ["To be, or not to be: “that” is — the question.\n".encode()]),
    Target("routing", _routing, _SEEDS),
    Target("sketches", _sketches, _SEEDS),
    Target("scheduling", _scheduling, _SEEDS),
]


def run(target: Target, data: bytes) -> None:
    """Give a target some bytes; raises what the target let out, or what was wrong."""
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
        target.read(data, Path(folder) / "input")


def _fast_folder() -> str | None:
    memory = Path("/dev/shm")  # noqa: S108 (a folder of our own is made in it)
    return str(memory) if memory.is_dir() else None
