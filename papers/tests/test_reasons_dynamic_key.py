"""What the reasons under claims about dynamic-key say, shown by runs of seconds."""

import numpy as np
import pytest

from unskew.groupings.registry import make_grouping
from unskew_papers.datasets import keys_of
from unskew_papers.dynamic_key.methods import METHODS, ROOM, stream_of
from unskew_papers.engines.queues import serve_with_back_pressure
from unskew_papers.engines.simulation import loads_of, queue_of

ROWS, PAPER_ROWS = 300_000, 5_320_000
SCALE = PAPER_ROWS / ROWS
PROGRAM, PRINTED = METHODS["DKG"], "dynamic-key"
PUBLISHED = 4529 / 1344
"""Throughput of DKG, divided by key grouping's (Table 3)."""


def seconds(scheme: str, room: int, data: str = "election~") -> float:
    """Seconds for all rows where each stands for many of the paper's, of 1 ms each."""
    found = serve_with_back_pressure(
        scheme, 10, stream_of(data, ROWS, seed=0), seed=0, sources=10,
        room=max(1, round(room / SCALE)), row_seconds=0.001 * SCALE,
    )  # fmt: skip
    return found.seconds


def speed_up(scheme: str, room: int) -> float:
    return seconds("key", room) / seconds(scheme, room)


def gain(data: str, room: int) -> float:
    return seconds("partial-key", room, data) / seconds(PROGRAM, room, data) - 1


def test_without_minutes_or_without_full_queues_dkg_is_faster_than_published() -> None:
    assert speed_up(PROGRAM, ROOM) == pytest.approx(PUBLISHED, rel=0.2)
    assert speed_up(PRINTED, ROOM) > 1.2 * PUBLISHED
    # Queues that are never full: event time passes as if shuffle had placed the rows.
    stream, rate = stream_of("election~", ROWS, seed=0), ROWS / 532
    free = queue_of(f"{PROGRAM},rate={rate}", 10, stream, seed=0, sources=10)
    by_key = queue_of("key", 10, stream, seed=0, sources=10)
    assert by_key.makespan / free.makespan > 1.2 * PUBLISHED


def test_at_30_percent_the_gain_depends_on_the_room() -> None:
    """Published are +8 %; a buffer of Storm's holds 1,024 rows, and there are several of them."""
    one, ten = (gain("country-skew-r30", room) for room in (1_024, ROOM))
    assert 0 < one < 0.08 < ten


@pytest.mark.parametrize("data", ["ticker~", "pageviews~", "country-skew-r10"])
def test_with_a_tenth_of_the_rows_on_one_key_dkg_is_behind(data: str) -> None:
    """So it is in Figure 11, too, under 30 %, while Figure 9 calls such results similar."""
    assert -0.2 < gain(data, ROOM) < -0.05


def test_dist_costs_depend_on_the_number_of_rows() -> None:
    """Published are 1.24 for DKG, with 5.3 million rows."""
    few, many = (
        loads_of(f"dynamic-key:rate={rows / 1000}", 10, stream_of("election~", rows, 0), seed=0)
        for rows in (4_000, 1_000_000)
    )
    assert few.replication > 1.15 * 1.2414
    assert many.replication == pytest.approx(1.2414, rel=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_key_grouping_cannot_be_faster_than_a_choice_of_two(seed: int) -> None:
    keys = keys_of(stream_of("clicks~", ROWS, seed))
    busiest = {
        scheme: np.bincount(make_grouping(scheme, 10, seed=seed).route_many(keys)).max()
        for scheme in ("key", "partial-key")
    }
    assert ROWS / 10 <= busiest["partial-key"] < 1.01 * ROWS / 10
    assert busiest["partial-key"] < busiest["key"] < 1.15 * ROWS / 10
