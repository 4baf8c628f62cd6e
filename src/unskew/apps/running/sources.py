"""Read what the user says of the source."""

from dataclasses import dataclass
from pathlib import Path

from unskew._validation import check_int
from unskew.apps.running.built_in import BuiltIn
from unskew.apps.running.files import Files
from unskew.apps.running.generated import Generated
from unskew.apps.running.kafka import Topic
from unskew.apps.running.kafka_source import KafkaSource
from unskew.apps.running.opened import Source
from unskew.errors import InvalidParameterError

FORMS = "built-in, rate:ROWS_A_SECOND, files:DIR or kafka:TOPIC@HOST:PORT"
_BATCH_ROWS = 20_000
_RATE = 10_000


@dataclass(frozen=True)
class Portions:
    """How a source is cut into micro-batches.

    Parameters
    ----------
    batch_rows
        Rows of a micro-batch; None for what the source does by itself.
    trigger
        Seconds from the start of a micro-batch to the start of the next; None for at once.
    max_batches
        After how many it is enough; None for all.
    pool
        Folder for the files of built-in data.
    """

    batch_rows: int | None
    trigger: float | None
    max_batches: int | None
    pool: Path


def parse_source(text: str, portions: Portions) -> Source:
    """Return the source that a text such as ``files:DIR`` stands for.

    >>> parse_source("rate:500", Portions(None, 2.0, None, Path())).rows_a_batch
    1000
    >>> parse_source("paper", Portions(None, None, None, Path()))
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: unskew run: --source must be built-in, …
    """
    kind, _, rest = text.partition(":")
    rows = portions.batch_rows or _BATCH_ROWS
    if text == "built-in":
        return BuiltIn(rows, portions.max_batches, portions.pool)
    if kind == "rate":
        return _generated(rest, portions)
    if kind == "files" and rest:
        return Files(Path(rest), None if portions.trigger else 1)
    if kind == "kafka":
        return KafkaSource(Topic.parse("--source", rest), rows)
    raise InvalidParameterError("unskew run", "--source", FORMS, text)


def _generated(text: str, portions: Portions) -> Generated:
    if text and not text.isdecimal():
        raise InvalidParameterError("unskew run", "--source", FORMS, f"rate:{text}")
    rate = check_int("unskew run", "--source rate", int(text or _RATE), minimum=1)
    if portions.batch_rows is not None:
        return Generated(rate, portions.batch_rows / rate, portions.max_batches)
    return Generated(rate, portions.trigger or 1.0, portions.max_batches)
