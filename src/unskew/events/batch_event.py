"""What one micro-batch did under one grouping, and the line of JSON that says so."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from unskew._validation import check_choice, check_int, check_real
from unskew.errors import InvalidParameterError

SCHEMA = 1
"""The version of the record that this release writes; it reads all up to it."""

MOST_KEY_CHARACTERS = 200
"""A key's text is cut to this: a record is for eyes, and a key may be a megabyte long."""


@dataclass(frozen=True)
class HotKey:
    """A key with many rows.

    Parameters
    ----------
    key
        The key as text, cut to 200 characters (the last is then an ellipsis).
    share
        Its part of the rows, from 0 to 1.
    workers
        The workers that it is placed on.

    Examples
    --------
    >>> HotKey("anna", 0.25, (3, 4))
    HotKey(key='anna', share=0.25, workers=(3, 4))
    >>> len(HotKey("a" * 1_000_000, 0.5, (0,)).key)
    200
    """

    key: str
    share: float
    workers: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.key, str):
            raise InvalidParameterError("HotKey", "key", "text", self.key)
        check_real("HotKey", "share", self.share, minimum=0, maximum=1)
        _check_integers("HotKey", "workers", self.workers)
        if len(self.key) > MOST_KEY_CHARACTERS:
            object.__setattr__(self, "key", self.key[: MOST_KEY_CHARACTERS - 1] + "…")


@dataclass(frozen=True, kw_only=True)
class BatchEvent:
    """One micro-batch under one grouping.

    Parameters
    ----------
    schema
        Version of the record; leave it out.
    grouping
        The label of what is compared, such as ``wrap``.
    query, run, batch
        Names of the query and its run, and the number of the micro-batch.
    started, seconds
        When the micro-batch began (Unix time), and how long it took.
    rows, loads
        Rows of the micro-batch, and of each worker.
    busy_seconds, estimated_seconds
        What each worker worked, and what had been expected of it.
    imbalance, predicted_imbalance, imbalance_of
        By how many percent the most loaded worker exceeds the mean, actual and as the plan had
        promised; of ``rows`` or of ``busy_seconds``.
    replication
        On how many workers a key is, on average.
    split_keys
        Keys that live on several workers.
    version, next_version, why
        The plan that was followed; the plan that was made after it, if any, and the reason.
    hot_keys
        The hottest keys, hottest first.
    latency
        Seconds that a row waited for its result: the 50th, 95th and 99th percentile.
    dead_letters
        Rows of this micro-batch that could not be worked on and were put aside.
    phase, messages
        Where the scheduler by costs stands, and the messages it exchanged with the workers.

    None stands for what was not measured or does not apply.

    Examples
    --------
    >>> event = BatchEvent(
    ...     grouping="key", query="counts", run="1", batch=0, started=0.0, seconds=1.5,
    ...     rows=4, loads=(3, 1), imbalance=50.0,
    ... )
    >>> event_from(line_of(event)) == event
    True
    >>> line_of(event)[:30]
    '{"schema": 1, "grouping": "key'
    """

    schema: int = SCHEMA
    grouping: str
    query: str
    run: str
    batch: int
    started: float
    seconds: float
    rows: int
    loads: tuple[int, ...]
    busy_seconds: tuple[float, ...] | None = None
    estimated_seconds: tuple[float, ...] | None = None
    imbalance: float
    predicted_imbalance: float | None = None
    imbalance_of: str = "rows"
    replication: float | None = None
    split_keys: int | None = None
    version: int | None = None
    next_version: int | None = None
    why: str | None = None
    hot_keys: tuple[HotKey, ...] = ()
    latency: tuple[float, float, float] | None = None
    dead_letters: int = 0
    phase: str | None = None
    messages: int | None = None

    def __post_init__(self) -> None:
        check_int("BatchEvent", "schema", self.schema, minimum=1, maximum=SCHEMA)
        _check_texts(self)
        for name in ("batch", "rows", "dead_letters"):
            check_int("BatchEvent", name, getattr(self, name), minimum=0)
        for name in ("split_keys", "version", "next_version", "messages"):
            if getattr(self, name) is not None:
                check_int("BatchEvent", name, getattr(self, name), minimum=-1)
        for name in ("started", "seconds", "imbalance"):
            check_real("BatchEvent", name, getattr(self, name), minimum=0)
        for name in ("predicted_imbalance", "replication"):
            if getattr(self, name) is not None:
                check_real("BatchEvent", name, getattr(self, name), minimum=0)
        check_choice("BatchEvent", "imbalance_of", self.imbalance_of, ("rows", "busy_seconds"))
        _check_lists(self)


def line_of(event: BatchEvent) -> str:
    """Return an event as one line of JSON, without the line's end."""
    return json.dumps(asdict(event))


def event_from(line: str | bytes) -> BatchEvent:
    """Return the event that a line holds; fields that this release does not know are left out.

    Raises
    ------
    ValueError
        If the line is no event.
    """
    try:
        return BatchEvent(**_as_tuples(json.loads(line)))
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"no event: {error}") from None


def _as_tuples(known: dict[str, Any]) -> dict[str, Any]:
    values = {name: known[name] for name in _FIELDS if name in known}
    hot = values.get("hot_keys", [])
    values["hot_keys"] = tuple(
        HotKey(key["key"], key["share"], tuple(key["workers"])) for key in hot
    )
    lists = {name: tuple(item) for name, item in values.items() if isinstance(item, list)}
    return {**values, **lists}


_FIELDS = [field.name for field in fields(BatchEvent)]


def _check_texts(event: BatchEvent) -> None:
    for name in ("grouping", "query", "run"):
        if not isinstance(getattr(event, name), str):
            raise InvalidParameterError("BatchEvent", name, "text", getattr(event, name))
    for name in ("why", "phase"):
        if not isinstance(getattr(event, name), str | None):
            raise InvalidParameterError("BatchEvent", name, "text or None", getattr(event, name))


def _check_lists(event: BatchEvent) -> None:
    _check_integers("BatchEvent", "loads", event.loads)
    for name in ("busy_seconds", "estimated_seconds"):
        values = getattr(event, name)
        if values is not None:
            _check_numbers(name, values)
            if len(values) != len(event.loads):
                expected = f"one number a worker ({len(event.loads)})"
                raise InvalidParameterError("BatchEvent", name, expected, f"{len(values)} numbers")
    if event.latency is not None:
        _check_numbers("latency", event.latency)
        if len(event.latency) != 3:
            raise InvalidParameterError("BatchEvent", "latency", "three numbers", event.latency)


def _check_integers(owner: str, parameter: str, values: object) -> None:
    if not isinstance(values, tuple):
        raise InvalidParameterError(owner, parameter, "a tuple of ints >= 0", values)
    for value in values:
        check_int(owner, parameter, value, minimum=0)


def _check_numbers(parameter: str, values: object) -> None:
    if not isinstance(values, tuple):
        raise InvalidParameterError("BatchEvent", parameter, "a tuple of numbers >= 0", values)
    for value in values:
        check_real("BatchEvent", parameter, value, minimum=0)
