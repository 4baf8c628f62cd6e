"""The arena: equal seeds give equal fronts, and the front is what its definition says."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from unskew.groupings.registry import GROUPINGS, make_grouping
from unskew.simulator.arena import (
    LEARNED,
    SOURCES,
    STREAMS,
    WORKERS,
    Bout,
    front,
    run_arena,
    sentence,
    standings,
)
from unskew.simulator.loads import simulate
from unskew.streams import parse_stream

STREAM = "zipf:keys=1k,exponent=1.4,rows=20k"


def bout(name: str, imbalance: float, replication: float) -> Bout:
    return Bout("s", 4, name, imbalance, 0.0, replication, 9, 1.0, 1.0, competes=True)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=12))
def test_the_front_has_all_that_nobody_beats(
    points: Sequence[tuple[int, int]],
) -> None:
    bouts = [bout(str(at), x, y) for at, (x, y) in enumerate(points)]
    best = {each.grouping for each in front(bouts)}
    for at, (x, y) in enumerate(points):
        beaten = any((p, q) != (x, y) and p <= x and q <= y for p, q in points)
        assert (str(at) in best) == (not beaten)


def test_equal_seeds_give_equal_bouts_but_for_the_clock() -> None:
    runs = [[replace(each, ns_per_row=0.0) for each in run_arena([STREAM], [8])] for _ in range(2)]
    assert runs[0] == runs[1]


def test_every_scheme_takes_part_that_needs_no_costs_and_chooses_none() -> None:
    wanted = {name for name, one in GROUPINGS.items() if not (one.needs_costs or one.chooses)}
    bouts = run_arena([STREAM], [8])
    assert {each.grouping for each in bouts} == wanted
    assert not {"optimal", "single", "potc"} & {each.grouping for each in front(bouts)}
    assert "shuffle" in {each.grouping for each in front(bouts)}


def test_what_is_measured_is_what_simulate_measures() -> None:
    found = {each.grouping: each for each in run_arena([STREAM], [8])}
    for name in ("key", "partial-key", "flow"):
        expected = simulate(
            make_grouping(name, 8), parse_stream(STREAM), sources=SOURCES, learn=LEARNED
        )
        assert found[name].imbalance_percent == expected.imbalance_percent
        assert found[name].memory == expected.memory


def test_a_row_that_never_waits_takes_the_work_of_a_row() -> None:
    """Round-robin at 90 % load: the queue of a worker is empty when its next row comes."""
    [found] = run_arena(
        [STREAM], [10], groupings=lambda _, size: {"shuffle": make_grouping("shuffle", size)}
    )
    assert round(found.p99, 6) == 1.0


def test_standings_count_fronts_and_sentences_name_them() -> None:
    bouts = [bout("a", 1, 1), bout("b", 2, 2)]
    assert [(each.grouping, each.fronts, each.bouts) for each in standings(bouts)] == [
        ("a", 1, 1),
        ("b", 0, 1),
    ]
    assert sentence("s", bouts) == "On s the front is a with any number of workers."


def test_every_stream_that_is_built_in_is_in_the_arena() -> None:
    kinds = {parse_stream(spec).name for spec in STREAMS}
    assert kinds == {"zipf", "drift", "lognormal", "uniform", "countries", "countries-half"}
    assert WORKERS == (10, 50, 100, 1_000)
