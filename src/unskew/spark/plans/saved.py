"""Plans as files: readable JSON, versioned, never half written."""

import json
import re
import warnings
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from unskew._stores import AnyPath, StoreError, located, write_whole
from unskew._validation import check_int
from unskew.errors import InvalidParameterError, UnskewError
from unskew.groupings.base import Grouping
from unskew.groupings.plan import HASHED_MEMBER, Plan, check_plan, refuse_inconsistent
from unskew.scheduling import Pieces
from unskew.spark.columns import By, key_fields

FORMAT = 1
_FILE_NAME = re.compile(r"plan-(\d{6,18})\.json")
_MOST_BYTES = 1 << 26
_MOST_WHOLE, _MOST_DIGITS = (1 << 31) - 1, 20
_LEAST_REAL, _MOST_REAL = 1e-100, 1e100


class PlanFileError(UnskewError):
    """A file that holds no plan, only a part of one, or one of a later format."""


class DamagedPlanWarning(UserWarning):
    """The newest plan of a store cannot be read; an older one is used."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyPlan(Plan):
    """A plan for the key columns of a table: what it is for, and where it came from.

    Parameters
    ----------
    by
        The key columns, in the order in which they are hashed.
    types
        Types of the key columns (`key_types`); None where they are not known.
    spread_by
        Columns that tell the rows of a split key apart, as a sample has shown; see `balance`.
    grouping
        Name of the scheme that made it; its ``parameters`` beside it.
    learned_from
        What it was learned from, in words.
    version
        Number of the plan, at least 1.
    created
        When it was made (ISO 8601, UTC).

    Examples
    --------
    It says in a line what it does:

    >>> from unskew.groupings.plan import hashing_plan
    >>> KeyPlan.of(hashing_plan(64, HASHED_MEMBER, 64), by="user", version=7)
    Plan v7 for user: 64 workers, 0 keys split, predicted imbalance 0.0 %
    """

    by: tuple[str, ...] = ()
    types: tuple[str, ...] | None = None
    spread_by: tuple[str, ...] = ()
    grouping: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    learned_from: str = ""
    version: int = 1
    created: str = ""

    @classmethod
    def of(
        cls,
        plan: Plan,
        *,
        by: By,
        types: tuple[str, ...] | None = None,
        spread_by: tuple[str, ...] = (),
        grouping: Grouping | None = None,
        learned_from: str = "",
        why: str | None = None,
        version: int = 1,
    ) -> Self:
        """Return ``plan`` with what it is for; the other fields are as for the class."""
        check_plan("KeyPlan", plan)
        tables = {one.name: getattr(plan, one.name) for one in fields(Plan)}
        return cls(
            **{**tables, "why": plan.why if why is None else why},
            by=(by,) if isinstance(by, str) else tuple(by),
            types=types,
            spread_by=spread_by,
            grouping=grouping.name if grouping else "",
            parameters=grouping.parameters() if grouping else {},
            learned_from=learned_from,
            version=check_int("KeyPlan", "version", version, minimum=1),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def __repr__(self) -> str:
        return f"Plan v{self.version} for {', '.join(self.by)}: {self.summary}"

    def save(self, path: str | AnyPath) -> None:
        """Write the plan to ``path`` in one step: a reader sees the old file or the new one.

        Parameters
        ----------
        path
            A file in a folder that exists, or as text the URL of one in a store that Spark reaches
            (``s3a://…``, ``hdfs://…``); `load_plan` reads it.

        Raises
        ------
        StoreError
            Where a store cannot be reached, in three attempts.
        """
        write_whole(located("Plan.save", "path", path), _as_text(self))

    def own_fields(self) -> dict[str, Any]:
        """Return what a file of this kind of plan has beside the fields that all have."""
        return {}

    def check_fits(
        self, owner: str, by: By, workers: int, types: tuple[str, ...] | None = None
    ) -> None:
        """Raise, in the name of ``owner``, unless it is for these key columns and workers.

        If both sides know the types of the key columns these must be the same: equal numbers of
        other types have other identities.
        """
        wanted = (by,) if isinstance(by, str) else tuple(by)
        if wanted != self.by:
            expected = f"one for the key columns {', '.join(wanted)}"
            raise InvalidParameterError(owner, "plan", expected, ", ".join(self.by))
        if workers != self.workers:
            raise InvalidParameterError(owner, "plan", f"one for {workers} workers", self.workers)
        if types is not None and self.types is not None and types != self.types:
            expected = f"one for keys of type {', '.join(types)}"
            hint = f"it was learned for {', '.join(self.by)}; cast them, or learn again"
            raise InvalidParameterError(owner, "plan", expected, ", ".join(self.types), hint=hint)


def key_types(df: DataFrame, by: By) -> tuple[str, ...]:
    """Return the types of the key columns, as far as the identity of a key depends on them."""
    fields = key_fields(df, by)
    # Whether a column may be null enters the identity of keys of several columns alone.
    several = len(fields) > 1
    return tuple(
        field.dataType.simpleString() + ("" if field.nullable or not several else " not null")
        for field in fields
    )


def load_plan(path: str | AnyPath) -> KeyPlan:
    """Read a plan that `KeyPlan.save` has written; that of a join is a `JoinPlan`.

    Every field is checked before anything is made of it: a file that is damaged, edited or made up
    is refused, with the field that is wrong, in bounded time and memory.

    Parameters
    ----------
    path
        A file or, as text, the URL of one in a store that Spark reaches (``s3a://…``).

    Raises
    ------
    PlanFileError
        Where there is no such file or it holds no whole plan of a known format.
    StoreError
        Where a store cannot be reached, in three attempts.
    """
    file = located("load_plan", "path", path)
    try:
        size = file.stat().st_size
        if size > _MOST_BYTES:
            raise PlanFileError(f"{path}: {size:,} bytes are no plan, {_MOST_BYTES:,} at most are.")
        found = Fields(json.loads(file.read_text(encoding="utf-8"), parse_int=_parse_int))
        if found.whole("format", 0, _MOST_WHOLE) != FORMAT:
            raise PlanFileError(f"{path}: format {found['format']} is not known here, {FORMAT} is.")
        return _from_fields(found)
    except OSError as error:
        raise PlanFileError(f"{path}: cannot be read ({error.strerror}).") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise PlanFileError(
            f"{path}: not a whole plan ({error or type(error).__name__})."
        ) from error


class Fields:
    """The fields of a plan file, each of the kind that is asked for, or a ValueError that names it.

    Parameters
    ----------
    found
        What JSON has made of the file.

    Examples
    --------
    >>> fields = Fields({"workers": 4, "slot_workers": [0, 7]})
    >>> fields.whole("workers", 1, 100)
    4
    >>> fields.wholes("slot_workers", 0, 3)
    Traceback (most recent call last):
    ValueError: slot_workers must be a list of whole numbers from 0 to 3
    >>> fields.text("why")
    Traceback (most recent call last):
    ValueError: why is missing
    """

    def __init__(self, found: object) -> None:
        if not isinstance(found, dict):
            raise ValueError("it holds no fields")  # noqa: TRY004 (a file, not a parameter)
        self._found = found

    def has(self, name: str) -> bool:
        """Whether there is such a field, and it is not null."""
        return self._found.get(name) is not None

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            raise ValueError(f"{name} is missing")
        return self._found[name]

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        value = self[name]
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"{name} must be a whole number from {least} to {most}")
        return value

    def real(self, name: str, *, least: float = 0.0) -> float:
        """Return a finite number that is not below ``least``."""
        return float(self._real_list(name, [self[name]], least)[0])

    def wholes(self, name: str, least: int, most: int) -> NDArray[np.int64]:
        """Return a list of whole numbers within bounds, as an array."""
        values = self[name]
        if not isinstance(values, list) or not all(
            type(value) is int and least <= value <= most for value in values
        ):
            raise ValueError(f"{name} must be a list of whole numbers from {least} to {most}")
        return np.array(values, np.int64)

    def reals(self, name: str, *, least: float = 0.0) -> NDArray[np.float64]:
        """Return a list of finite numbers that are not below ``least``, as an array.

        Very small ones and very large ones are refused, too: sums and ratios of them are neither.
        """
        values = self[name]
        if not isinstance(values, list):
            raise ValueError(f"{name} must be a list of numbers")  # noqa: TRY004
        return self._real_list(name, values, least)

    def text(self, name: str) -> str:
        """Return text."""
        if not isinstance(self[name], str):
            raise ValueError(f"{name} must be text")  # noqa: TRY004
        return str(self[name])

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        values = self[name]
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError(f"{name} must be a list of text")
        return tuple(values)

    @staticmethod
    def _real_list(name: str, values: list[Any], least: float) -> NDArray[np.float64]:
        for value in values:
            if type(value) not in (int, float) or not (
                value == least == 0 or max(least, _LEAST_REAL) <= value <= _MOST_REAL
            ):
                raise ValueError(
                    f"{name} must be finite numbers, {least:g} or more, "
                    f"0 or from {_LEAST_REAL:g} to {_MOST_REAL:g}"
                )
        return np.array(values, np.float64)


def _parse_int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def plan_files(folder: str | AnyPath) -> list[int]:
    """Return the numbers of all plan files in a folder, damaged or not, in rising order."""
    place = located("PlanStore", "folder", folder)
    if not place.is_dir():
        return []
    found = (_FILE_NAME.fullmatch(file.name) for file in place.iterdir())
    return sorted(int(match[1]) for match in found if match)


class PlanStore:
    """All plans of a job in one folder, ``plan-000001.json`` and so on; for one writer.

    Parameters
    ----------
    folder
        Made if it is not there.
    """

    def __init__(self, folder: str | AnyPath) -> None:
        self.folder = located("PlanStore", "folder", folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._reported: set[str] = set()

    def versions(self) -> list[int]:
        """Return the numbers of all plan files, damaged or not, in rising order."""
        return plan_files(self.folder)

    def path_of(self, version: int) -> AnyPath:
        """Return the file of a version."""
        return self.folder / f"plan-{version:06d}.json"

    def save(self, plan: Plan, *, by: By, **about: Any) -> KeyPlan:
        """Write ``plan`` as the next version (``about`` as for `KeyPlan.of`)."""
        version = max(self.versions(), default=0) + 1
        numbered = KeyPlan.of(plan, by=by, version=version, **about)
        numbered.save(self.path_of(version))
        return numbered

    def plan_of(self, version: int | None) -> Plan | None:
        """Return the plan of a version; None if there is none, or none that can be read."""
        if not version or version < 0:
            return None
        path = self.path_of(version)
        try:
            return load_plan(path) if path.exists() else None
        except (PlanFileError, StoreError):
            return None

    def latest(self) -> KeyPlan | None:
        """Return the newest plan that can be read, None if there is none.

        A newer one that cannot be read is reported once, with a `DamagedPlanWarning`.
        """
        for version in reversed(self.versions()):
            try:
                return self.load(version)
            except PlanFileError as error:
                self._report(str(error))
        return None

    def load(self, version: int) -> KeyPlan:
        """Read the plan of a version, which is the number of the file, whatever is in it."""
        return replace(load_plan(self.path_of(version)), version=version)

    def _report(self, message: str) -> None:
        if message not in self._reported:
            self._reported.add(message)
            warnings.warn(f"{message} An older plan is used.", DamagedPlanWarning, stacklevel=3)


def _as_text(plan: KeyPlan) -> str:
    """Return the JSON of a plan, one field per line, the tables at the end."""
    fields = {
        "format": FORMAT,
        "version": plan.version,
        "created": plan.created,
        "workers": plan.workers,
        "by": list(plan.by),
        "types": list(plan.types) if plan.types else None,
        "spread_by": list(plan.spread_by),
        "grouping": plan.grouping,
        "parameters": plan.parameters,
        "learned_from": plan.learned_from,
        "why": plan.why,
        "predicted_loads": plan.predicted_loads.tolist(),
        "capacity": None if plan.capacity is None else plan.capacity.tolist(),
        "hot_keys": plan.hot_ids.view(np.int64).tolist(),
        "piece_starts": plan.pieces.starts.tolist(),
        "piece_workers": plan.pieces.workers.tolist(),
        "piece_loads": plan.pieces.loads.tolist(),
        "slot_workers": plan.slot_workers.tolist(),
        **plan.own_fields(),
    }
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _from_fields(found: Fields) -> KeyPlan:
    workers = found.whole("workers", 1, _MOST_WHOLE)
    spread_by = "spread_by" if found.has("spread_by") else "deal_by"  # what older files call it
    capacity = found.reals("capacity", least=_LEAST_REAL) if found.has("capacity") else None
    parameters = found["parameters"]
    if not isinstance(parameters, dict):
        raise ValueError("parameters must be names with values")  # noqa: TRY004
    plan = KeyPlan(
        workers=workers,
        slot_member=HASHED_MEMBER,
        slot_workers=found.wholes("slot_workers", 0, workers - 1).astype(np.int32),
        hot_ids=found.wholes("hot_keys", -(1 << 63), (1 << 63) - 1).view(np.uint64),
        pieces=Pieces(
            found.wholes("piece_starts", 0, _MOST_WHOLE),
            found.wholes("piece_workers", 0, workers - 1).astype(np.int32),
            found.reals("piece_loads"),
        ),
        predicted_loads=found.reals("predicted_loads"),
        capacity=capacity,
        by=found.texts("by"),
        # Older files have neither of these.
        types=found.texts("types") if found.has("types") else None,
        spread_by=found.texts(spread_by) if found.has(spread_by) else (),
        parameters=parameters,
        version=found.whole("version", 1, _MOST_WHOLE),
        grouping=found.text("grouping"),
        learned_from=found.text("learned_from"),
        why=found.text("why"),
        created=found.text("created"),
    )
    refuse_inconsistent(plan)
    if found.has("other_by"):
        from unskew.spark.plans.join_plan import JoinPlan

        return JoinPlan.with_own_fields(plan, found)
    return plan
