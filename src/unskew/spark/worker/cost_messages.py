"""Messages about costs between workers and the driver, as bytes."""

import json
import struct
import zlib
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.proactive.scheduler import SchedulerPhase, epoch_in, phase_in
from unskew.groupings.proactive.worker import CostReport, Settings, WorkerState
from unskew.hashing import Ids
from unskew.spark.worker.live_files import LiveLines

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

HASH_SHIFT = np.uint64(32)
"""By how many bits the numbers of a hash function are shifted, see `Matrices`."""

NO_VERSION = -1


class DamagedMessageError(ValueError):
    """Bytes that no message was ever written as."""


class Matrices(NamedTuple):
    """Which matrices are kept, and when they are looked at; equal for all that take part."""

    settings: Settings
    parameters: Ids
    """Their hash functions, one per row: three numbers below 2³², times 2³²."""
    columns: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns, and the two numbers of a cell."""
        return (self.parameters.shape[0], self.columns, 2)


def matrices_of(grouping: ProactiveShuffle) -> Matrices:
    """Return those that a grouping was made for.

    Their hash functions are so small that Spark can evaluate them, too: where bigints overflow it
    raises an error, so all sums stay below 2⁶³. Since identities are hashes already, no more of a
    function is needed than that it is another one in every row.

    >>> matrices_of(ProactiveShuffle(8)).shape
    (4, 54, 2)
    """
    machines = grouping.machines
    parameters = machines.parameters >> HASH_SHIFT
    parameters[:, :2] = parameters[:, :2] >> np.uint64(2) | np.uint64(1)
    columns = machines.scheduler.cells.shape[2]
    return Matrices(machines.settings, parameters << HASH_SHIFT, columns)


class Standing(NamedTuple):
    """Which schedule was followed; a later one is greater."""

    round_number: int
    """That of the schedule, `NO_VERSION` where a task found none."""
    epoch: int
    phase: SchedulerPhase


NOTHING_KNOWN = Standing(NO_VERSION, 0, SchedulerPhase.ROUND_ROBIN)


class Schedule(NamedTuple):
    """What rows are routed by until the next round."""

    pooled: NDArray[np.float64]
    """Counts and costs that all workers together have measured."""
    speeds: NDArray[np.float64]
    """How long each worker takes for what takes the mean worker 1."""
    registers: NDArray[np.int64]
    """Those of the scheduler: its phase, above all."""
    round_number: int
    """Counts the rounds, so that not every one begins with the same worker."""

    @property
    def standing(self) -> Standing:
        """Where the scheduler stood when it was made."""
        return Standing(self.round_number, epoch_in(self.registers), phase_in(self.registers))


class Control(NamedTuple):
    """All that the tasks of a round have to know."""

    schedule: Schedule
    machines: WorkerState
    """Where the machine of each worker stood when it was last heard of."""

    def to_bytes(self) -> bytes:
        """Return the bytes that `control_from` reads."""
        schedule, machines = self.schedule._asdict(), self.machines._asdict()
        return pack({**_as_arrays(schedule), **_as_arrays(machines)})


class ControlSource(Protocol):
    """Where a task finds out what it has to know; it travels to the task, so it must pickle."""

    def read(self) -> Control | None:
        """Return what is in force now, None where nothing is known."""


class GivenControl:
    """A control that travels with the query.

    Examples
    --------
    >>> GivenControl(None).read() is None
    True
    """

    def __init__(self, control: Control | None) -> None:
        self._bytes = None if control is None else control.to_bytes()

    def read(self) -> Control | None:
        """Return it."""
        return None if self._bytes is None else control_from(self._bytes)


class ControlFolder:
    """Read the control that is in force in the live file of a stream.

    Parameters
    ----------
    pair
        Its lines are the control, and what the driver alone remembers.
    """

    def __init__(self, pair: LiveLines) -> None:
        self._pair = pair

    def read(self) -> Control | None:
        """Return what is in force now, None if no file is whole: then rows go round-robin."""
        lines = self._pair.read()
        if lines is None or len(lines) != 2:
            return None
        try:
            return control_from(b64decode(lines[0]))
        except (DamagedMessageError, ValueError):
            return None


class WorkDone(NamedTuple):
    """What one worker has done in one round."""

    worker: int
    standing: Standing
    """The schedule that it found."""
    rows: int
    busy_seconds: float
    """The time inside the user's function."""
    estimated_seconds: float
    """What the schedule expected of the same rows; NaN where there was none."""
    report: CostReport | None
    """Its matrices when they were last stable; those of before would be replaced unread."""
    machine: WorkerState
    """Where its machine stands now."""
    tally: NDArray[np.float64]
    """Rows, seconds and squared seconds of this round, by cell of the first row of the matrices."""

    def to_bytes(self) -> bytes:
        """Return the bytes that `work_done_from` reads."""
        plain: dict[str, Any] = {
            "worker": self.worker,
            "standing": self.standing,
            "rows": self.rows,
            "busy_seconds": self.busy_seconds,
            "estimated_seconds": self.estimated_seconds,
            "tally": self.tally,
            "number": 0 if self.report is None else self.report.number,
            "reported": np.empty(0) if self.report is None else self.report.cells,
        }
        return pack({**_as_arrays(plain), **_as_arrays(self.machine._asdict())})


def control_from(data: bytes) -> Control:
    """Return what `Control.to_bytes` was made of, or raise `DamagedMessageError`."""
    arrays = unpack(data)
    try:
        number = int(arrays["round_number"])
        schedule = Schedule(arrays["pooled"], arrays["speeds"], arrays["registers"], number)
        return Control(schedule, _machine_in(arrays))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedMessageError("a message of another kind") from error


def work_done_from(data: bytes) -> WorkDone:
    """Return what `WorkDone.to_bytes` was made of, or raise `DamagedMessageError`."""
    arrays = unpack(data)
    try:
        worker, number = int(arrays["worker"]), int(arrays["number"])
        return WorkDone(
            worker=worker,
            standing=_standing_in(arrays["standing"]),
            rows=int(arrays["rows"]),
            busy_seconds=float(arrays["busy_seconds"]),
            estimated_seconds=float(arrays["estimated_seconds"]),
            report=CostReport(worker, number, arrays["reported"]) if number else None,
            machine=_machine_in(arrays),
            tally=arrays["tally"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedMessageError("a message of another kind") from error


def pack(arrays: Arrays) -> bytes:
    """Return named arrays as few bytes.

    >>> found = unpack(pack({"a": np.arange(3), "b": np.zeros((2, 0))}))
    >>> found["a"].tolist(), found["b"].shape
    ([0, 1, 2], (2, 0))
    >>> unpack(pack({"a": np.arange(3)})[:-1])
    Traceback (most recent call last):
    unskew.spark.worker.cost_messages.DamagedMessageError: not a whole message: ...
    """
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    kinds = [[name, array.dtype.str, arrays[name].shape] for name, array in plain.items()]
    header = json.dumps(kinds, separators=(",", ":")).encode()
    content = [
        struct.pack("<I", len(header)),
        header,
        *(array.tobytes() for array in plain.values()),
    ]
    return zlib.compress(b"".join(content))


def unpack(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that were packed; they can be written to."""
    try:
        # zlib checks the content by a sum of its own.
        content = zlib.decompress(data)
        (length,) = struct.unpack_from("<I", content)
        begin, arrays = 4 + length, {}
        for name, dtype, shape in json.loads(content[4:begin]):
            array = np.frombuffer(content, dtype, int(np.prod(shape, dtype=int)), begin)
            arrays[name] = array.reshape(shape).copy()
            begin += array.nbytes
    except (zlib.error, struct.error, ValueError, TypeError) as error:
        raise DamagedMessageError(f"not a whole message: {error}") from error
    return arrays


def _as_arrays(fields: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    return {name: np.asarray(value) for name, value in fields.items()}


def _standing_in(numbers: NDArray[Any]) -> Standing:
    round_number, epoch, phase = map(int, numbers)
    return Standing(round_number, epoch, SchedulerPhase(phase))


def _machine_in(arrays: Arrays) -> WorkerState:
    return WorkerState(**{name: arrays[name] for name in WorkerState._fields})
