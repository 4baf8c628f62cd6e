"""Draw a stream from a profile: as hot, as long-tailed and as unsteady as the one it is of."""

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int
from unskew.advisor.fitting import rates_behind
from unskew.advisor.key_counts import KeyCounts, Numbers
from unskew.advisor.profile import KeyProfile
from unskew.hashing import Ids, derive_seeds
from unskew.streams.in_memory import InMemoryStream, from_keys

MOST_ROWS = 10_000_000
"""So many rows a drawn stream has at most."""

Places = NDArray[np.int32]

_DEVIATIONS = 4.0


def draw_stream(
    profile: KeyProfile, *, most_rows: int = MOST_ROWS, seed: int = 0
) -> InMemoryStream:
    """Return a stream with the rows, keys, shares and drift of the profile.

    Keys have their own identities, so that they hash as those of the real stream do. The first
    rows come as they came, and each window has the rows of the real one in an order that chance
    picks. Keys that were not looked at get identities and rows that chance picks.

    Parameters
    ----------
    profile
        What is known of the stream.
    most_rows
        A longer stream is drawn shorter, all shares alike.
    seed
        Picks the order, keys not seen and how fractions are rounded.

    Examples
    --------
    >>> profile = KeyProfile.from_counts(["hot", "a", "b"], [8, 1, 1])
    >>> stream = draw_stream(profile)
    >>> sorted(np.unique(stream.keys, return_counts=True)[1].tolist())
    [1, 1, 8]
    """
    most = check_int("draw_stream", "most_rows", most_rows, minimum=1)
    chance = np.random.default_rng(seed)
    factor = min(1.0, most / profile.rows)
    tail_ids, tail_rows = _tail(profile, chance)
    ids = np.concatenate([profile.counts.ids, tail_ids])
    windows, steady = _drifting_and_steady(profile, chance)
    spread = chance.permutation(_repeated(factor * np.concatenate([steady, tail_rows]), chance))
    parts = []
    for rows, (places, drifting) in zip(np.array_split(spread, len(windows)), windows, strict=True):
        own = places[_repeated(factor * drifting, chance)]
        parts.append(chance.permutation(np.concatenate([rows, own])))
    places = _with_real_opening(np.concatenate(parts), profile, factor)
    costs = _costs(profile, ids.size)
    return from_keys(ids[places], None if costs is None else costs[places])


def _drifting_and_steady(
    profile: KeyProfile, chance: np.random.Generator
) -> tuple[list[tuple[Places, Numbers]], Numbers]:
    """Return drifting keys and their rows for each window, and the rows of all that are steady.

    Of a stream that was looked at as a whole every window is known. In a sample a key's course in
    time is mostly chance: its rows are spread evenly unless it varies by more than that.
    """
    table = profile.counts
    if profile.sampled_share == 1.0:
        windows = [(_places(table, each), each.rows) for each in profile.windows]
        return windows, np.zeros(table.ids.size)
    rows = _scaled_up(profile, chance)
    drifts = _drifting(profile)
    scale = rows / table.rows
    windows = []
    for each in profile.windows:
        places = _places(table, each)
        kept = drifts[places]
        windows.append((places[kept], scale[places[kept]] * each.rows[kept]))
    return windows, np.where(drifts, 0.0, rows)


def _places(table: KeyCounts, window: KeyCounts) -> Places:
    return np.searchsorted(table.ids, window.ids).astype(np.int32)


def _scaled_up(profile: KeyProfile, chance: np.random.Generator) -> Numbers:
    """Return how many rows of the whole stream the sampled keys have.

    Those that the sample has, and their part of the rows that are left. That part is not the same
    as in the sample: a key of which the sample has many rows by luck has fewer in the rest, and
    what a key has there is drawn, since all having what is expected would be too even.
    """
    rows = profile.counts.rows
    if not rows.size:
        return rows
    means, variances = rates_behind(rows, profile.unseen_keys)
    seen = rows.astype(np.int64)
    rates = _drawn_rates(means[seen], variances[seen], chance)
    left = (profile.rows - profile.counted) * (1.0 - profile.unseen_share)
    whole: Numbers = rows + chance.poisson(left * rates / max(float(rates.sum()), 1e-300))
    return whole


def _drawn_rates(means: Numbers, variances: Numbers, chance: np.random.Generator) -> Numbers:
    """Draw rates of given means and variances (gamma); no chance where there is no variance."""
    shapes = means**2 / np.maximum(variances, 1e-9)
    drawn: Numbers = chance.gamma(shapes) * means / np.maximum(shapes, 1e-300)
    return drawn


def _drifting(profile: KeyProfile) -> NDArray[np.bool_]:
    """Return which keys vary between windows by more than chance explains (chi-square)."""
    table = profile.counts
    squares = np.zeros(table.ids.size)
    totals = np.array([each.total for each in profile.windows])
    for each, total in zip(profile.windows, totals, strict=True):
        squares[_places(table, each)] += each.rows**2 / total
    freedom = len(totals) - 1
    surprise = (squares / table.rows**2 * table.total - 1.0) * table.rows
    limit = freedom + _DEVIATIONS * np.sqrt(2.0 * freedom)
    enough = table.rows >= 2.0 * len(totals)
    drifting: NDArray[np.bool_] = enough & (surprise > limit)
    return drifting


def _tail(profile: KeyProfile, chance: np.random.Generator) -> tuple[Ids, Numbers]:
    """Return identities and rows of keys that are in no window."""
    unseen = (profile.rows - profile.counted) * profile.unseen_share
    rest = _shared_out(profile.tail_keys, profile.tail_rows / profile.sampled_share, 1.0, chance)
    missed = _shared_out(profile.unseen_keys, unseen, _missed_shape(profile), chance)
    rows = np.concatenate([rest, missed])
    return derive_seeds(int(chance.integers(1 << 32)), rows.size, purpose="tail"), rows


def _missed_shape(profile: KeyProfile) -> float:
    """Return how alike the keys are that the sample has missed: the shape of a gamma law."""
    if not profile.unseen_keys or not profile.counts.rows.size:
        return 1.0
    means, variances = rates_behind(profile.counts.rows, profile.unseen_keys)
    return float(np.clip(means[0] ** 2 / max(variances[0], 1e-9), 0.1, 1e6))


def _shared_out(keys: float, rows: float, shape: float, chance: np.random.Generator) -> Numbers:
    """Share rows out to keys that have at least one each, where there are enough, unevenly."""
    count = round(keys)
    if count < 1:
        return np.empty(0)
    if rows <= count:
        return np.full(count, rows / count)
    shares = chance.gamma(shape, size=count)
    shared: Numbers = 1.0 + (rows - count) * shares / shares.sum()
    return shared


def _repeated(rows: Numbers, chance: np.random.Generator) -> Places:
    """Repeat each place as often as it has rows; fractions are rounded by chance."""
    down = np.floor(rows)
    whole = (down + (chance.random(rows.size) < rows - down)).astype(np.int64)
    return np.repeat(np.arange(rows.size, dtype=np.int32), whole)


def _with_real_opening(places: Places, profile: KeyProfile, factor: float) -> Places:
    """Let the stream begin as the real one did, if it is drawn in full length."""
    table = profile.counts
    found = np.minimum(np.searchsorted(table.ids, profile.opening), table.ids.size - 1)
    if factor < 1.0 or not np.array_equal(table.ids[found], profile.opening):
        return places
    first = found.astype(np.int32)
    wanted = np.bincount(first, minlength=int(places.max(initial=0)) + 1)
    order = np.argsort(places, kind="stable")
    ranks = np.empty(places.size, np.int64)
    starts = np.searchsorted(places[order], places[order])
    ranks[order] = np.arange(places.size) - starts
    return np.concatenate([first, places[ranks >= wanted[places]]])


def _costs(profile: KeyProfile, size: int) -> Numbers | None:
    """Return the mean cost of every key; those not seen cost as much as the mean row."""
    mean = profile.mean_cost
    if mean is None:
        return None
    costs = np.full(size, mean)
    table = profile.counts
    costs[: table.ids.size] = table.costs / table.rows
    return costs
