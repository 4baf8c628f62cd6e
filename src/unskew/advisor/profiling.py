"""Make the profile of a stream: from all of its rows, or from some that chance picks."""

from collections.abc import Callable, Iterator
from itertools import chain, pairwise

import numpy as np

from unskew._compiled import compiled
from unskew._validation import check_int
from unskew.advisor.key_counts import (
    DistinctKeys,
    KeyCounts,
    Numbers,
    count_by_key,
    identities_and_nulls,
    merged_counts,
    names_of,
)
from unskew.advisor.profile import KeyProfile
from unskew.errors import StreamError
from unskew.hashing import Ids, derive_seeds, mix
from unskew.streams.base import Batch, Stream

WINDOWS = 320
"""Stretches of time that a profile of all rows tells apart; up to twice as many where the number
of rows is not known beforehand. A fifth of them is what a scheme learns from by default."""
SAMPLE_WINDOWS = 60
"""The same for a sample, in which shorter ones would be mostly chance."""
NAMED_KEYS = 100
"""So many of the hottest keys get their names."""

OPENING = 1 << 20
"""So many rows, from the start, are kept as they came, where all are looked at: schemes that
learn, or that give a key its place once and for all, do so here. It takes 8 MB."""
MOST_PAIRS = 1 << 24
"""Counts that all windows together may hold; beyond, windows are joined, then rare keys left."""

_FIRST_WINDOW = 512
_ALL = 1 << 64


def profile_stream(
    stream: Stream,
    *,
    sample: int | None = None,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> KeyProfile:
    """Read a stream once and return the profile of its keys.

    Parameters
    ----------
    stream
        The rows. Null keys count as one key.
    sample
        Look at about so many rows (never more), which chance picks evenly over the whole stream;
        at all by default, and where there are no more. The stream is read through either way, since
        only then it is known how long it is and what its end is like; of rows that are not picked
        only keys are counted.
    seed
        Picks the rows of the sample.
    on_progress
        Called with the number of rows of each batch that is done.

    Notes
    -----
    Memory grows with the keys: 16 bytes for each key of each window, at most `MOST_PAIRS` of
    them. With a sample it is bounded by that.

    Examples
    --------
    >>> from unskew.streams import zipf
    >>> profile = profile_stream(zipf(keys=1000, exponent=1.0, rows=100_000, seed=1))
    >>> profile.rows, profile.keys, round(profile.zipf_exponent, 1), profile.drift.largest < 0.01
    (100000, 1000, 1.0, True)
    """
    batches = stream.batches()
    reader: _WholeReader | _SampleReader = _WholeReader(stream)
    if sample is not None:
        first = _first_batches(batches, check_int("profile", "sample", sample, minimum=1))
        if sum(len(each.keys) for each in first) > sample:
            reader = _SampleReader(stream, sample, seed)
        batches = chain(first, batches)
    whole = isinstance(reader, _WholeReader)
    rows, opening = 0, [np.empty(0, np.uint64)]
    for batch in batches:
        reader.take(batch, rows)
        if whole and rows < OPENING:
            opening.append(identities_and_nulls(batch.keys[: OPENING - rows]))
        rows += len(batch.keys)
        if on_progress:
            on_progress(len(batch.keys))
    if rows == 0:
        raise StreamError(f"{stream.spec}: there are no rows.")
    windows = reader.windows()
    if not windows:
        raise StreamError(f"{stream.spec}: the sample has no rows. Hint: ask for a larger one")
    facts = (rows, tuple(windows), reader.tail_keys, reader.tail_rows, reader.distinct)
    return KeyProfile(
        *facts, names_of(stream, _hottest(KeyProfile(*facts))), np.concatenate(opening)
    )


def _first_batches(batches: Iterator[Batch], rows: int) -> list[Batch]:
    """Take batches until they have more rows than this, or there are none left."""
    taken: list[Batch] = []
    while sum(len(each.keys) for each in taken) <= rows:
        batch = next(batches, None)
        if batch is None:
            break
        taken.append(batch)
    return taken


class _WholeReader:
    """Count all rows, window by window; the fewer windows the more keys there are."""

    def __init__(self, stream: Stream) -> None:
        rows = stream.rows
        self._window = _FIRST_WINDOW if rows is None else max(1, -(-rows // WINDOWS))
        self._tables: list[KeyCounts] = []
        self._open: list[tuple[Ids, Numbers | None]] = []
        self._in_open = 0
        self._every: DistinctKeys | None = None
        self.tail_rows = 0.0

    def take(self, batch: Batch, _first: int) -> None:
        ids = identities_and_nulls(batch.keys)
        while ids.size:
            upto = min(ids.size, self._window - self._in_open)
            costs = None if batch.costs is None else batch.costs[-ids.size :][:upto]
            self._open.append((ids[:upto], costs))
            self._in_open += upto
            ids = ids[upto:]
            if self._in_open == self._window:
                self._close()

    def windows(self) -> list[KeyCounts]:
        if self._in_open:
            self._close()
        return self._tables

    @property
    def distinct(self) -> float | None:
        return None if self._every is None else self._every.estimate()

    @property
    def tail_keys(self) -> float:
        """How many keys were left out, estimated."""
        if self._every is None:
            return 0.0
        return max(1.0, self._every.estimate() - merged_counts(self._tables).ids.size)

    def _close(self) -> None:
        ids = np.concatenate([ids for ids, _ in self._open])
        costs = [costs for _, costs in self._open if costs is not None]
        table = count_by_key(ids, np.concatenate(costs) if costs else None)
        self._tables.append(table)
        self._open, self._in_open = [], 0
        if self._every is not None:
            self._every.add(table.ids)
        if len(self._tables) > 2 * WINDOWS:
            self._join()
        while len(self._tables) > 1 and self._pairs() > MOST_PAIRS:
            self._join()
        if self._pairs() > MOST_PAIRS:
            self._leave_rare_keys()

    def _pairs(self) -> int:
        return sum(each.ids.size for each in self._tables)

    def _join(self) -> None:
        pairs = range(0, len(self._tables), 2)
        self._tables = [merged_counts(self._tables[at : at + 2]) for at in pairs]
        self._window *= 2

    def _leave_rare_keys(self) -> None:
        """Keep the more frequent half of the keys; the others become part of the tail."""
        table = self._tables[0]
        if self._every is None:
            self._every = DistinctKeys()
            self._every.add(table.ids)
        kept = np.sort(np.argpartition(-table.rows, MOST_PAIRS // 2)[: MOST_PAIRS // 2])
        self.tail_rows += table.total - float(table.rows[kept].sum())
        costs = table.costs[kept] if table.costs.size else table.costs
        self._tables = [KeyCounts(table.ids[kept], table.rows[kept], costs)]


class _SampleReader:
    """Keep the rows whose random number is low; where they become too many, lower the bound."""

    tail_keys = tail_rows = 0.0

    def __init__(self, stream: Stream, size: int, seed: int) -> None:
        self._size = size
        self._seed = derive_seeds(seed, 1, purpose="sample")[0]
        self._bound = _ALL
        if stream.rows is not None and stream.rows > size:
            self._bound = int(_ALL * size / stream.rows)
        self._ids = np.empty(0, np.uint64)
        self._marks = np.empty(0, np.uint64)
        self._costs: Numbers | None = None
        self._parts: list[tuple[Ids, Ids, Numbers | None]] = []
        self._held = 0
        self._every = DistinctKeys()

    @property
    def distinct(self) -> float:
        return self._every.estimate()

    def take(self, batch: Batch, first: int) -> None:
        ids = identities_and_nulls(batch.keys)
        self._every.add(ids)
        marks = _marks(first, len(batch.keys), self._seed)
        picked = marks <= np.uint64(min(self._bound, _ALL - 1))
        costs = None if batch.costs is None else batch.costs[picked]
        self._parts.append((ids[picked], marks[picked], costs))
        self._held += int(picked.sum())
        if self._held > 2 * self._size:
            self._thin()

    def windows(self) -> list[KeyCounts]:
        self._thin()
        bounds = np.linspace(0, self._ids.size, SAMPLE_WINDOWS + 1).astype(int)
        spans = [slice(*span) for span in pairwise(bounds)]
        return [
            count_by_key(self._ids[span], None if self._costs is None else self._costs[span])
            for span in spans
            if span.start < span.stop
        ]

    def _thin(self) -> None:
        """Keep the rows with the lowest numbers, as many as the sample may have, in order."""
        parts = [(self._ids, self._marks, self._costs), *self._parts]
        ids, marks = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        costs = [part[2] for part in parts if part[2] is not None]
        kept = np.arange(marks.size)
        if marks.size > self._size:
            kept = np.sort(np.argpartition(marks, self._size)[: self._size])
            self._bound = int(marks[kept].max())
        self._ids, self._marks = ids[kept], marks[kept]
        self._costs = np.concatenate(costs)[kept] if costs else None
        self._parts, self._held = [], self._ids.size


@compiled
def _marks(first: int, rows: int, seed: np.uint64) -> Ids:
    marks = np.empty(rows, np.uint64)
    for i in range(rows):
        marks[i] = mix(np.uint64(first + i) * np.uint64(0x9E3779B97F4A7C15), seed)
    return marks


def _hottest(profile: KeyProfile) -> Ids:
    table = profile.counts
    named = min(NAMED_KEYS, table.ids.size)
    return table.ids[np.argpartition(-table.rows, named - 1)[:named]]
