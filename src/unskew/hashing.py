"""Seeded 64-bit hashes that are equal in every process and on every machine.

A key of any kind first becomes its *identity*, 64 bits (`identities`): an integer is its own
identity, text and bytes are hashed to one. All routing works on identities; `mix` makes as many
independent hash functions of them as there are seeds. Python's own ``hash`` is salted
differently in every process and never used.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew.errors import InvalidKeyError

Key: TypeAlias = int | str | bytes
Keys: TypeAlias = Iterable[Key] | NDArray[Any] | pa.Array | pa.ChunkedArray
Ids: TypeAlias = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xFF51AFD7ED558CCD)
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_S33 = np.uint64(33)
_S32 = np.uint64(32)
_ALL_BITS = (1 << 64) - 1
_NULL_FIELD = np.uint64(0x2545F4914F6CDD1D)


@inlined
def mix(value: np.uint64, seed: np.uint64) -> np.uint64:
    """Hash 64 bits with a seed: Murmur3's finaliser over their sum.

    For a fixed seed this is a bijection, so distinct identities never collide in all 64 bits.
    """
    bits = value + seed
    bits = (bits ^ (bits >> _S33)) * _M1
    bits = (bits ^ (bits >> _S33)) * _M2
    return bits ^ (bits >> _S33)


@inlined
def to_range(bits: np.uint64, size: np.uint64) -> np.int64:
    """Map a hash evenly to ``0 … size − 1`` (size < 2³²) by a multiplication, not a division."""
    return np.int64(((bits >> _S32) * size) >> _S32)


@inlined
def universal(value: np.uint64, parameters: NDArray[np.uint64], size: np.uint64) -> np.int64:
    """Map 64 bits to ``0 … size − 1`` by one member of a 2-universal family.

    Thorup's pair-multiply-shift: three random 64-bit ``parameters`` pick the member, and any two
    distinct values then agree with probability at most 1/size (up to 2⁻³²).
    """
    low = value & np.uint64(0xFFFFFFFF)
    high = value >> _S32
    return to_range(parameters[0] * low + parameters[1] * high + parameters[2], size)


def derive_seeds(seed: int, count: int, *, purpose: str = "") -> Ids:
    """Make ``count`` unlike 64-bit seeds of one small seed.

    ``purpose`` keeps the hash functions of unlike uses apart although the user gave one seed.

    >>> derive_seeds(1, 2).tolist() == derive_seeds(1, 3).tolist()[:2]
    True
    >>> bool((derive_seeds(1, 2) == derive_seeds(2, 2)).any())
    False
    """
    start = murmur3_128(purpose.encode(), seed & 0xFFFFFFFF)[0] ^ (seed & _ALL_BITS)
    numbers = np.arange(1, count + 1, dtype=np.uint64)
    seeds: Ids = _mix_many(numbers * _GOLDEN, np.uint64(start))
    return seeds


@compiled
def _mix_many(values: Ids, seed: np.uint64) -> Ids:
    out = np.empty(values.size, np.uint64)
    for i in range(values.size):
        out[i] = mix(values[i], seed)
    return out


def identities(keys: Keys) -> Ids:
    """Return the 64-bit identity of every key.

    Integers are their own identity (two's complement); text and bytes are hashed, and equal text
    has equal identity in whatever container it comes. A key of several columns is an Arrow struct,
    whose fields may be null. What is read-only, as Arrow's memory is, is copied: Numba compiles a
    loop again for such arrays.

    Raises
    ------
    InvalidKeyError
        Where a key is null or NaN, or keys are neither integers, text nor bytes.

    Examples
    --------
    >>> identities([7, 8]).tolist()
    [7, 8]
    >>> bool(identities(["a"])[0] == identities(pa.array(["b", "a"]))[1])
    True
    >>> both = pa.StructArray.from_arrays([pa.array(["a", "a"]), pa.array([1, None])], ["x", "y"])
    >>> len(set(identities(both).tolist()))
    2
    >>> identities(["a", None])
    Traceback (most recent call last):
    unskew.errors.InvalidKeyError: keys must not be null: 1 null key, the first at row 1.
    """
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "iu":
        whole = keys if keys.dtype == np.uint64 else keys.astype(np.int64, copy=False)
        return np.require(whole, requirements=("C", "W")).view(np.uint64)
    if isinstance(keys, pa.ChunkedArray):
        chunks = [identities(chunk) for chunk in keys.chunks]
        return np.concatenate(chunks) if chunks else np.empty(0, np.uint64)
    return _identities_of_arrow(to_arrow(keys))


def identity(key: Key) -> np.uint64:
    """Return the 64-bit identity of one key.

    >>> int(identity(7))
    7
    """
    return np.uint64(identities([key])[0])


def distinct(ids: Ids) -> Ids:
    """Return the distinct ones of some identities, in order.

    They are sorted: `numpy.unique` looks them up in a hash table where it can (NumPy 2.3 and
    later), which takes many times as long for a hundred thousand identities.

    >>> distinct(np.array([7, 3, 7], np.uint64)).tolist()
    [3, 7]
    """
    ordered = np.sort(ids)
    is_first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def to_arrow(keys: Keys) -> pa.Array:
    """Return ``keys`` as an Arrow array; refuse them if one is missing or kinds are mixed."""
    array = keys if isinstance(keys, pa.Array) else _read_into_arrow(keys)
    _refuse_missing(array)
    return array


def _read_into_arrow(keys: Iterable[Key] | NDArray[Any]) -> pa.Array:
    if isinstance(keys, str | bytes):
        raise InvalidKeyError(
            f"keys must be a sequence of keys, got the single key {keys!r}. Hint: use [{keys!r}]"
        )
    values = keys if isinstance(keys, np.ndarray) else list(keys)
    if isinstance(values, np.ndarray) and values.dtype.kind in "US":
        values = values.tolist()
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InvalidKeyError(
            f"keys must be all integers of 64 bits, all text or all bytes: {error}"
        ) from error


def _identities_of_arrow(keys: pa.Array) -> Ids:
    kind = keys.type
    if pa.types.is_dictionary(kind):
        ids: Ids = identities(keys.dictionary)[keys.indices.to_numpy(zero_copy_only=False)]
        return ids
    if pa.types.is_null(kind) and len(keys) == 0:
        return np.empty(0, np.uint64)
    if pa.types.is_integer(kind):
        return identities(keys.to_numpy(zero_copy_only=False))
    if pa.types.is_temporal(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return identities(keys.view(whole).to_numpy(zero_copy_only=False))
    if pa.types.is_struct(kind):
        return _identities_of_struct(keys)
    return hash_slices(*byte_slices(keys), np.uint64(0))


def _identities_of_struct(keys: pa.StructArray) -> Ids:
    combined = np.zeros(len(keys), np.uint64)
    for field in keys.flatten():
        ids = np.full(len(keys), _NULL_FIELD)
        present = field.is_valid().to_numpy(zero_copy_only=False)
        if present.any():
            ids[present] = identities(field.drop_null())
        combined = _mix_many(combined * _GOLDEN + ids, _M1)
    return combined


def _refuse_missing(keys: pa.Array) -> None:
    missing, word = keys.null_count, "null"
    if missing:
        first = int(np.argmax(keys.is_null().to_numpy(zero_copy_only=False)))
    elif pa.types.is_floating(keys.type):
        nan = np.isnan(keys.to_numpy(zero_copy_only=False).astype(np.float64))
        missing, word, first = int(nan.sum()), "NaN", int(np.argmax(nan)) if len(keys) else 0
    if missing:
        plural = "" if missing == 1 else "s"
        raise InvalidKeyError(
            f"keys must not be {word}: {missing} {word} key{plural}, the first at row {first}."
        )


def byte_slices(keys: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of text or binary keys, one after the other, and where each one starts."""
    try:
        binary = keys.cast(pa.large_binary())
    except pa.ArrowException:
        message = f"keys must be integers, text or bytes, got type {keys.type}."
        raise InvalidKeyError(message) from None
    _, offset_buffer, data_buffer = binary.buffers()
    starts = np.frombuffer(offset_buffer, np.int64)[binary.offset : binary.offset + len(keys) + 1]
    data = np.empty(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    return data, starts


def murmur3_128(data: bytes, seed: int) -> tuple[int, int]:
    """Return Murmur3's 128-bit hash (x64 variant) of ``data`` as two unsigned 64-bit halves.

    >>> murmur3_128(b"", 0)
    (0, 0)
    >>> hex(murmur3_128(b"hello", 0)[0])
    '0xcbd8a7b341bd9b02'
    """
    first, second = _murmur3(np.frombuffer(data, np.uint8), 0, len(data), np.uint64(seed))
    return int(first), int(second)


@compiled
def hash_slices(data: NDArray[np.uint8], offsets: NDArray[np.int64], seed: np.uint64) -> Ids:
    """Return the first 64 bits of Murmur3-128 of every slice of ``data``."""
    out = np.empty(offsets.size - 1, np.uint64)
    for i in range(out.size):
        out[i] = _murmur3(data, offsets[i], offsets[i + 1], seed)[0]
    return out


@compiled
def _murmur3(
    data: NDArray[np.uint8], start: int, end: int, seed: np.uint64
) -> tuple[np.uint64, np.uint64]:
    first, second = seed, seed
    size = end - start
    whole = size // 16
    for block in range(whole):
        at = start + 16 * block
        first ^= _scramble_1(_word(data, at, 8))
        first = (_rotate(first, 27) + second) * np.uint64(5) + np.uint64(0x52DCE729)
        second ^= _scramble_2(_word(data, at + 8, 8))
        second = (_rotate(second, 31) + first) * np.uint64(5) + np.uint64(0x38495AB5)
    rest, at = size - 16 * whole, start + 16 * whole
    if rest > 8:
        second ^= _scramble_2(_word(data, at + 8, rest - 8))
    if rest > 0:
        first ^= _scramble_1(_word(data, at, min(rest, 8)))
    first ^= np.uint64(size)
    second ^= np.uint64(size)
    first += second
    second += first
    first = mix(first, np.uint64(0))
    second = mix(second, np.uint64(0))
    first += second
    second += first
    return first, second


@inlined
def _word(data: NDArray[np.uint8], at: int, size: int) -> np.uint64:
    word = np.uint64(0)
    for i in range(size):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@inlined
def _rotate(bits: np.uint64, left: int) -> np.uint64:
    return (bits << np.uint64(left)) | (bits >> np.uint64(64 - left))


@inlined
def _scramble_1(word: np.uint64) -> np.uint64:
    return _rotate(word * _C1, 31) * _C2


@inlined
def _scramble_2(word: np.uint64) -> np.uint64:
    return _rotate(word * _C2, 33) * _C1
