"""The record of one epoch, which is one micro-batch under one grouping, as a line of JSON."""

import json
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any

from unskew._bars import bars_of
from unskew._validation import check_choice, check_int, check_real
from unskew.errors import InvalidParameterError

SCHEMA = 1
"""The version of the record that this release writes; it reads all up to it."""

_MOST_INT, _MOST_REAL = (1 << 63) - 1, 1e15  # sums of them stay finite, whoever wrote the file

MOST_KEY_CHARACTERS = 200
"""A key's text is cut to this: a record is for eyes, and a key may be a megabyte long."""

_OPTIONAL_INTS = (
    "split_keys", "version", "next_version", "messages", "message_bytes", "stats_rows",
    "stats_bytes",
)  # fmt: skip
_OPTIONAL_REALS = ("started", "seconds", "planning_seconds", "predicted_imbalance", "replication")


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
class Epoch:
    """One micro-batch under one grouping: how even its workers were, what became of the plan.

    `unskew run` and `unskew.spark.watch` know all of it. The loop that plans on the driver does not
    know how long Spark took, nor what the grouping is called beside others: its records have no
    ``grouping``, ``started`` and ``seconds``.

    None stands for what was not measured or does not apply.

    Parameters
    ----------
    schema
        Version of the record; leave it out.
    grouping
        The label of what is compared, such as ``wrap``; empty where nothing is compared.
    query, run, batch
        Spark's names for the query and its run, and the number of the micro-batch.
    started, seconds
        When the micro-batch began (Unix time), and how long it took.
    planning_seconds
        How long the driver took to learn from the micro-batch and to plan.
    rows, loads, predicted_loads
        Rows of the micro-batch, and of each worker, actual and as the plan had it.
    busy_seconds, estimated_seconds
        How long each worker worked, by its own clock, and what the schedule by costs had expected.
        Of `map_rows` and `map_batches`: the time inside the user's function.
    imbalance, predicted_imbalance, imbalance_of
        By how many percent the most loaded worker exceeds the mean, actual and as the plan or the
        schedule had promised; of ``rows`` or of ``busy_seconds``.
    replication
        On how many workers a key is, on average; an estimate.
    split_keys
        Keys that live on several workers under the driver's present plan.
    version
        The plan that the rows followed; 0 for plain hashing, before there was one, and −1 where no
        plan file was whole. Of a schedule by costs: the number of the round that made it. Where
        rows are weighted by costs: how many micro-batches those were learned from.
    next_version, why
        The plan that was made after this micro-batch, if any, and the reason.
    damaged
        Plan files that were found damaged since the last micro-batch.
    hot_keys
        The hottest keys, hottest first.
    latency
        Seconds that a row waited for its result: the 50th, 95th and 99th percentile.
    dead_letters
        Rows of this micro-batch that could not be worked on and were put aside.
    phase
        Where the scheduler by costs stands: ``ROUND_ROBIN``, ``SEND_ALL`` or ``RUN``.
    messages, message_bytes
        Reports of costs, requests and replies between the workers and that scheduler.
    stats_rows, stats_bytes
        In what they travelled to the driver: one row per worker, and all of them as text.

    Examples
    --------
    >>> epoch = Epoch(
    ...     grouping="key", query="counts", run="1", batch=0, started=0.0, seconds=1.5,
    ...     rows=4, loads=(3, 1), imbalance=50.0,
    ... )
    >>> epoch_from(line_of(epoch)) == epoch
    True
    >>> line_of(epoch)[:30]
    '{"schema": 1, "grouping": "key'
    """

    schema: int = SCHEMA
    grouping: str = ""
    query: str
    run: str
    batch: int
    started: float | None = None
    seconds: float | None = None
    planning_seconds: float | None = None
    rows: int
    loads: tuple[int, ...]
    predicted_loads: tuple[float, ...] | None = None
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
    damaged: tuple[str, ...] = ()
    hot_keys: tuple[HotKey, ...] = ()
    latency: tuple[float, float, float] | None = None
    dead_letters: int = 0
    phase: str | None = None
    messages: int | None = None
    message_bytes: int | None = None
    stats_rows: int | None = None
    stats_bytes: int | None = None

    def __post_init__(self) -> None:
        check_int("Epoch", "schema", self.schema, minimum=1, maximum=SCHEMA)
        _check_texts(self)
        for name in ("batch", "rows", "dead_letters"):
            check_int("Epoch", name, getattr(self, name), minimum=0, maximum=_MOST_INT)
        for name in _OPTIONAL_INTS:
            if (value := getattr(self, name)) is not None:
                check_int("Epoch", name, value, minimum=-1, maximum=_MOST_INT)
        check_real("Epoch", "imbalance", self.imbalance, minimum=0, maximum=_MOST_REAL)
        for name in _OPTIONAL_REALS:
            if (value := getattr(self, name)) is not None:
                check_real("Epoch", name, value, minimum=0, maximum=_MOST_REAL)
        check_choice("Epoch", "imbalance_of", self.imbalance_of, ("rows", "busy_seconds"))
        _check_lists(self)

    @property
    def rows_per_second(self) -> float | None:
        """Rows over the time that the micro-batch took; None where that is not known."""
        return self.rows / self.seconds if self.seconds else None

    def _repr_html_(self) -> str:
        """Return how even the micro-batch was, in a sentence, and a bar for each worker."""
        work = "work" if self.imbalance_of == "busy_seconds" else "rows"
        said = (
            f"{self.rows:,} rows on {len(self.loads)} workers: the busiest had "
            f"{self.imbalance:.3g} % more {work} than the mean"
        )
        why = f"<br>{escape(self.why)}" if self.why else ""
        return f"<div><b>{said}</b>{why}</div>{bars_of(self.loads, 'rows per worker')}"


def line_of(epoch: Epoch) -> str:
    """Return an epoch as one line of JSON, without the line's end."""
    return json.dumps(asdict(epoch))


def epoch_from(line: str | bytes) -> Epoch:
    """Return the epoch that a line holds; fields that this release does not know are left out.

    Lines that the planning loop of earlier releases wrote had no schema and no grouping, and called
    ``seconds`` what is `Epoch.planning_seconds` now.

    Raises
    ------
    ValueError
        If the line is no epoch.
    """
    try:
        return Epoch(**_arguments_of(json.loads(line)))
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"no epoch: {error}") from None


def _arguments_of(known: dict[str, Any]) -> dict[str, Any]:
    values = {name: known[name] for name in _FIELDS if name in known}
    if "schema" not in known and "grouping" not in known and "seconds" in values:
        values["planning_seconds"] = values.pop("seconds")
    hot = values.get("hot_keys", [])
    values["hot_keys"] = tuple(
        HotKey(key["key"], key["share"], tuple(key["workers"])) for key in hot
    )
    lists = {name: tuple(item) for name, item in values.items() if isinstance(item, list)}
    return {**values, **lists}


_FIELDS = [field.name for field in fields(Epoch)]


def _check_texts(epoch: Epoch) -> None:
    for name in ("grouping", "query", "run"):
        if not isinstance(getattr(epoch, name), str):
            raise InvalidParameterError("Epoch", name, "text", getattr(epoch, name))
    if not (isinstance(epoch.damaged, tuple) and all(isinstance(p, str) for p in epoch.damaged)):
        raise InvalidParameterError("Epoch", "damaged", "a tuple of texts", epoch.damaged)
    for name in ("why", "phase"):
        if not isinstance(getattr(epoch, name), str | None):
            raise InvalidParameterError("Epoch", name, "text or None", getattr(epoch, name))


def _check_lists(epoch: Epoch) -> None:
    _check_integers("Epoch", "loads", epoch.loads)
    for name in ("predicted_loads", "busy_seconds", "estimated_seconds"):
        values = getattr(epoch, name)
        if values is not None:
            _check_numbers(name, values)
            if len(values) != len(epoch.loads):
                expected = f"one number per worker ({len(epoch.loads)})"
                raise InvalidParameterError("Epoch", name, expected, f"{len(values)} numbers")
    if epoch.latency is not None:
        _check_numbers("latency", epoch.latency)
        if len(epoch.latency) != 3:
            raise InvalidParameterError("Epoch", "latency", "three numbers", epoch.latency)


def _check_integers(owner: str, parameter: str, values: object) -> None:
    if not isinstance(values, tuple):
        raise InvalidParameterError(owner, parameter, "a tuple of ints >= 0", values)
    for value in values:  # thousands of workers: the full check only where this one fails
        if type(value) is not int or not 0 <= value <= _MOST_INT:
            check_int(owner, parameter, value, minimum=0, maximum=_MOST_INT)


def _check_numbers(parameter: str, values: object) -> None:
    if not isinstance(values, tuple):
        raise InvalidParameterError("Epoch", parameter, "a tuple of numbers >= 0", values)
    for value in values:
        if type(value) is not float or not 0 <= value <= _MOST_REAL:
            check_real("Epoch", parameter, value, minimum=0, maximum=_MOST_REAL)
