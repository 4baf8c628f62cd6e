"""Events for the tests of the dashboard."""

from dataclasses import replace
from typing import Any

from unskew.events import Epoch, HotKey
from unskew.metrics import imbalance_percent

HOSTILE_KEYS = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "a\x00b\x1b[31mred\r\nline",
    "user\u202egnp.exe",
    "שלום עולם",
    "m" * 1_000_000,
    "lone \ud800 half",
    "${alert(1)} {{7*7}} %s",
)


def event(grouping: str = "key", batch: int = 0, **changes: Any) -> Epoch:
    """Return an event of four workers, with what ``changes`` says."""
    loads = changes.pop("loads", (50, 30, 10, 10))
    plain = Epoch(
        grouping=grouping,
        query="counts",
        run="run-1",
        batch=batch,
        started=1_700_000_000.0 + batch,
        seconds=0.5,
        rows=sum(loads),
        loads=loads,
        imbalance=imbalance_percent(loads) if loads else 0.0,
    )
    return replace(plain, **changes)


def hostile_event() -> Epoch:
    """Return an event in which every text is an attack."""
    attack = HOSTILE_KEYS[0]
    hot = tuple(HotKey(key, 0.1, (0, 1)) for key in HOSTILE_KEYS)
    return event(attack, query=attack, run=attack, why=attack, phase=attack, hot_keys=hot)
