"""Damage bytes, and values in JSON, as disks, crashes and people with bad intentions do."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

_VALUES: Sequence[Any] = (
    *(None, True, False, "", "x", "NaN", "9" * 10_000, "\x00", "\ud800", [], {}, [[]], {"": {}}),
    *(0, 1, -1, 2**31, 2**63, -(2**63), 2**64, 10**400, 0.0, -0.0, 4.9, 1e308, 5e-324),
    *(float("inf"), float("-inf"), float("nan"), [0] * 5_000),
)
_BYTES = (b"\x00", b"\xff", b"\n", b"{", b"[", b'"', b"\\", b",", b":", b"=", b"e", b"9" * 400)
_DEPTH = 50_000
_LARGEST = 1 << 20


def mutated(random: Random, sample: bytes, samples: Sequence[bytes]) -> bytes:
    """Return a damaged copy of ``sample``; now and then a part of another one is put in."""
    ways: list[Callable[[Random, bytes], bytes]] = [_bytes_changed, _cut, _repeated, _of_json]
    data = sample
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        if random.random() < 0.1:
            other = random.choice(samples)
            at = random.randrange(len(data) + 1)
            data = data[:at] + other[random.randrange(len(other) + 1) :]
        else:
            data = random.choice(ways)(random, data)
    return data[:_LARGEST]


def _bytes_changed(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 3, 20))):
        if not changed:
            break
        at = random.randrange(len(changed))
        if random.random() < 0.5:
            changed[at] ^= 1 << random.randrange(8)
        else:
            changed[at : at + random.randrange(3)] = random.choice(_BYTES)
    return bytes(changed)


def _cut(random: Random, data: bytes) -> bytes:
    begin, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return random.choice((data[:begin], data[end:], data[:begin] + data[end:]))


def _repeated(random: Random, data: bytes) -> bytes:
    begin, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[begin:end] * random.choice((1, 1, 50)) + data[end:]


def _of_json(random: Random, data: bytes) -> bytes:
    """Change a value in one line of JSON, or in a text that is JSON as a whole."""
    lines = data.split(b"\n")
    whole = random.random() < 0.5
    at = 0 if whole else random.randrange(len(lines))
    try:
        value = json.loads(data if whole else lines[at])
    except (ValueError, RecursionError):
        return _bytes_changed(random, data)
    if random.random() < 0.01:
        text = b"[" * _DEPTH if random.random() < 0.5 else b'{"a":' * _DEPTH
    else:
        text = json.dumps(_value_changed(random, value)).encode()
    return text if whole else b"\n".join([*lines[:at], text, *lines[at + 1 :]])


def _value_changed(random: Random, value: Any) -> Any:
    """Go down to some place in a value, and change what is there."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(list(value))
        if random.random() < 0.1:
            return {key: item for key, item in value.items() if key != name}
        if random.random() < 0.1:
            return {**value, name: random.choice(list(value.values()))}
        return {**value, name: _value_changed(random, value[name])}
    if isinstance(value, list) and value and random.random() < 0.8:
        at = random.randrange(len(value))
        if random.random() < 0.2:
            return value[:at] + value[at + 1 :] if random.random() < 0.5 else [*value, value[at]]
        return [*value[:at], _value_changed(random, value[at]), *value[at + 1 :]]
    if isinstance(value, int | float) and random.random() < 0.3:
        return random.choice(
            (value + 1, -value, value * 1_000_003, 0.3 * min(value, 1e9), repr(0.5))
        )
    return random.choice(_VALUES)
