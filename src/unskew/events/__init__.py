"""The record of a stream: one line of JSON per micro-batch and grouping, for people and programs.

`unskew run`, `unskew.spark.watch` and the planning loop write it, the dashboard shows it, anybody
may follow it; the schema is in ``docs/events.md``.
"""

from unskew.events.epoch import MOST_KEY_CHARACTERS, SCHEMA, Epoch, HotKey, epoch_from, line_of
from unskew.events.record import (
    EVENTS_FILE,
    PLAN_RECORD,
    RUN_RECORD,
    EventTail,
    Record,
    RunRecordError,
    append_epoch,
    read_epochs,
    read_events,
)

__all__ = [
    "EVENTS_FILE",
    "MOST_KEY_CHARACTERS",
    "PLAN_RECORD",
    "RUN_RECORD",
    "SCHEMA",
    "Epoch",
    "EventTail",
    "HotKey",
    "Record",
    "RunRecordError",
    "append_epoch",
    "epoch_from",
    "line_of",
    "read_epochs",
    "read_events",
]
