"""A key's error is the sum over the summaries that it is in: the fewer, the smaller."""

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from unskew.apps.heavy_hitters import HeavyHitters, summary
from unskew.groupings.base import Grouping
from unskew.groupings.planned import PlannedGrouping
from unskew.groupings.registry import make_grouping

_WORKERS, _CAPACITY = 8, 200


@pytest.fixture(scope="module")
def words() -> pa.Array:
    return HeavyHitters().table(40_000)["word"].combine_chunks()


def _summaries(words: pa.Array, grouping: Grouping) -> list[pa.RecordBatch]:
    workers = pa.array(grouping.route_many(words))
    parts = [words.filter(pc.equal(workers, worker)) for worker in range(_WORKERS)]
    return [summary(iter([pa.record_batch({"word": part})]), _CAPACITY) for part in parts]


def _learned(words: pa.Array, name: str) -> Grouping:
    grouping = make_grouping(name, _WORKERS, seed=1)
    if isinstance(grouping, PlannedGrouping):
        grouping.learn(words)
        grouping.build()
    return grouping


def _errors(words: pa.Array, name: str) -> tuple[float, float]:
    """Return by how much counts of the hundred hottest words are off, and the bound, summed."""
    true = Counter(words.to_pylist())
    counts: Counter[str] = Counter()
    bounds: Counter[str] = Counter()
    for part in _summaries(words, _learned(words, name)):
        for row in part.to_pylist():
            counts[row["word"]] += row["count"]
            bounds[row["word"]] += row["error"]
    hottest = [word for word, _ in true.most_common(100)]
    assert all(counts[word] - bounds[word] <= true[word] for word in counts)
    off = sum(abs(counts[word] - true[word]) for word in hottest)
    return off, sum(bounds[word] for word in hottest)


@pytest.mark.parametrize("name", ["key", "partial-key", "wrap"])
def test_fewer_summaries_a_key_mean_a_smaller_error_than_shuffle_has(
    words: pa.Array, name: str
) -> None:
    off, bound = _errors(words, name)
    shuffled_off, shuffled_bound = _errors(words, "shuffle")
    assert off < shuffled_off / 2
    assert bound < shuffled_bound / 2


def test_a_summary_with_room_for_all_words_counts_exactly(words: pa.Array) -> None:
    part = pa.record_batch({"word": words.slice(0, 500)})
    found = summary(iter([part.slice(0, 200), part.slice(200)]), 500).to_pylist()
    assert {row["word"]: row["count"] for row in found} == Counter(part["word"].to_pylist())
    assert {row["error"] for row in found} == {0}
