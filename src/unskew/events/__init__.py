"""The record of a run: one line of JSON a micro-batch and grouping, for people and programs.

`unskew run` and `unskew.spark.watch` write it, the dashboard shows it, anybody may follow it; the
schema is in ``docs/events.md``.
"""

from unskew.events.batch_event import SCHEMA, BatchEvent, HotKey, event_from, line_of
from unskew.events.reading import EventTail, RunRecordError, read_events
from unskew.events.writing import EVENTS_FILE, append_event

__all__ = [
    "EVENTS_FILE",
    "SCHEMA",
    "BatchEvent",
    "EventTail",
    "HotKey",
    "RunRecordError",
    "append_event",
    "event_from",
    "line_of",
    "read_events",
]
