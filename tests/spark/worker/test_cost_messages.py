import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.spark.costs.scheduler import CostControl
from unskew.spark.worker.cost_machine import CostMachine
from unskew.spark.worker.cost_messages import (
    DamagedMessageError,
    GivenControl,
    WorkDone,
    control_from,
    matrices_of,
    unpack,
    work_done_from,
)

MATRICES = matrices_of(ProactiveShuffle(2, window=3))


def some_work(rows: int) -> WorkDone:
    machine = CostMachine(1, MATRICES, None)
    machine.take_rows(np.arange(rows, dtype=np.uint64) % 5, np.linspace(0.001, 0.01, rows))
    return machine.finish()


@pytest.mark.parametrize("rows", [0, 1, 5, 100])
def test_what_a_worker_has_done_survives_the_way(rows: int) -> None:
    work = some_work(rows)
    read = work_done_from(work.to_bytes())
    assert (read.worker, read.rows, read.busy_seconds) == (1, rows, work.busy_seconds)
    assert np.isnan(read.estimated_seconds)
    assert (read.report is None) == (work.report is None) == (rows < 7)
    if read.report is not None and work.report is not None:
        assert (read.report.worker, read.report.number) == (1, work.report.number)
        np.testing.assert_array_equal(read.report.cells, work.report.cells)
    for mine_part, other_part in zip(read.machine, work.machine, strict=True):
        np.testing.assert_array_equal(mine_part, other_part)
    np.testing.assert_array_equal(read.tally, work.tally)


def test_a_machine_goes_on_where_it_stood() -> None:
    ids, seconds = np.arange(50, dtype=np.uint64) % 5, np.linspace(0.001, 0.01, 50)
    control = CostControl(2, MATRICES)
    first = CostMachine(1, MATRICES, None)
    first.take_rows(ids, seconds)
    control.take([first.finish()])
    later = CostMachine(1, MATRICES, GivenControl(control.control()).read())
    later.take_rows(ids, seconds)
    at_once = CostMachine(1, MATRICES, None)
    at_once.take_rows(ids, seconds)
    # Its second task leaves its own first row out.
    at_once.take_rows(ids[1:], seconds[1:])
    for mine, other in zip(later.finish().machine, at_once.finish().machine, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_messages_are_small() -> None:
    # The matrices of 4 x 54 cells, their snapshot and a report.
    assert len(some_work(5000).to_bytes()) < 10_000


@settings(deadline=None)
@given(st.binary(max_size=50))
def test_garbage_is_told_from_messages(garbage: bytes) -> None:
    with pytest.raises(DamagedMessageError):
        control_from(garbage)


@settings(deadline=None)
@given(st.data())
def test_a_damaged_message_is_refused_or_says_the_same(data: st.DataObject) -> None:
    message = some_work(40).to_bytes()
    damaged = bytearray(message)
    place = data.draw(st.integers(0, len(message) - 1))
    damaged[place] ^= data.draw(st.integers(1, 255))
    try:
        read = unpack(bytes(damaged))
    except DamagedMessageError:
        return
    # Some bits, such as those that fill the last byte, stand for nothing.
    assert {name: array.tobytes() for name, array in read.items()} == {
        name: array.tobytes() for name, array in unpack(message).items()
    }


@settings(deadline=None)
@given(st.integers(0, 200))
def test_half_a_message_is_refused(length: int) -> None:
    with pytest.raises(DamagedMessageError):
        work_done_from(some_work(40).to_bytes()[:length])


def test_a_message_of_another_kind_is_refused() -> None:
    with pytest.raises(DamagedMessageError, match="another kind"):
        control_from(some_work(3).to_bytes())
    with pytest.raises(DamagedMessageError, match="another kind"):
        work_done_from(CostControl(2, MATRICES).control().to_bytes())
