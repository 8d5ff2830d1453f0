"""Spark's `xxhash64` of rows in Arrow: tasks that write events themselves need the buckets and checksums that Spark has.

XXH64 (Y. Collet) of each value, seeded with the hash of the values before it; NULL passes the seed on (Spark's XxHash64).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from resources.tables import TIMESTAMP

Hashes = npt.NDArray[np.uint64]

SEED = 42

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_STRIPE = 32
"""Bytes of a long text that are hashed in four lanes."""
_NAN = np.uint64(0x7FF8000000000000)

_LONGS = frozenset({pa.int64(), TIMESTAMP})
_INTS = frozenset({pa.int8(), pa.int16(), pa.int32(), pa.date32(), pa.bool_()})
HASHED = _LONGS | _INTS | {pa.float64(), pa.string()}
"""Types that can be hashed here."""


def row_hashes(columns: Sequence[pa.Array | str], rows: int) -> Hashes:
    """The hash of each of the rows, whose columns have types of `HASHED`; a text stands for a column of it alone."""
    found = np.full(rows, SEED, np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            if isinstance(column, str):
                letters = np.frombuffer(column.encode(), np.uint8)
                found = _of_texts(np.broadcast_to(letters, (rows, letters.size)), found)
            elif column.null_count:
                found = np.where(column.is_valid().to_numpy(zero_copy_only=False), _of(column, found), found)
            else:
                found = _of(column, found)
    return found


def _of(column: pa.Array, seeds: Hashes) -> Hashes:
    """The hashes of values, whatever stands for NULL."""
    if column.type == pa.string():
        return _of_strings(column, seeds)
    if column.type == pa.float64():
        numbers = column.fill_null(0.0).to_numpy(zero_copy_only=False)
        bits = np.where(numbers == 0.0, np.uint64(0), numbers.view(np.uint64))
        return _of_longs(np.where(np.isnan(numbers), _NAN, bits), seeds)
    if column.type in _LONGS:
        return _of_longs(_integers(column.view(pa.int64())).view(np.uint64), seeds)
    as_int = column.view(pa.int32()) if column.type == pa.date32() else column.cast(pa.int32())
    return _finished(
        _with_int(_integers(as_int).view(np.uint32).astype(np.uint64), seeds + _P5 + np.uint64(4))
    )


def _integers(column: pa.Array) -> npt.NDArray[np.signedinteger]:
    found: npt.NDArray[np.signedinteger] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return found


def _of_longs(values: Hashes, seeds: Hashes) -> Hashes:
    return _finished(_with_long(values, seeds + _P5 + np.uint64(8)))


def _of_strings(column: pa.Array, seeds: Hashes) -> Hashes:
    """Texts of one length at a time."""
    _, places, letters = column.buffers()
    ends = np.frombuffer(places, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    content = np.frombuffer(letters, np.uint8) if letters is not None else np.empty(0, np.uint8)
    lengths = np.diff(ends)
    found, order = np.empty(len(column), np.uint64), np.argsort(lengths, kind="stable")
    cuts = np.flatnonzero(np.diff(lengths[order])) + 1
    for members in np.split(order, cuts) if len(column) else ():
        inside = np.arange(lengths[members[0]])
        found[members] = _of_texts(content[ends[members][:, None] + inside], seeds[members])
    return found


def _of_texts(letters: npt.NDArray[np.uint8], seeds: Hashes) -> Hashes:
    """The hashes of texts of one length, a row of bytes each."""
    length = letters.shape[1]
    done = length // _STRIPE * _STRIPE
    found = _of_stripes(letters[:, :done], seeds) if done else seeds + _P5
    found = found + np.uint64(length)
    while done + 8 <= length:
        found = _with_long(_words(letters, done, np.uint64), found)
        done += 8
    if done + 4 <= length:
        found = _with_int(_words(letters, done, np.uint32), found)
        done += 4
    for place in range(done, length):
        found = _turned(found ^ (letters[:, place].astype(np.uint64) * _P5), 11) * _P1
    return _finished(found)


def _of_stripes(letters: npt.NDArray[np.uint8], seeds: Hashes) -> Hashes:
    lanes = [seeds + _P1 + _P2, seeds + _P2, seeds, seeds - _P1]
    for start in range(0, letters.shape[1], _STRIPE):
        for number in range(4):
            word = _words(letters, start + 8 * number, np.uint64)
            lanes[number] = _turned(lanes[number] + word * _P2, 31) * _P1
    found: Hashes = (
        _turned(lanes[0], 1) + _turned(lanes[1], 7) + _turned(lanes[2], 12) + _turned(lanes[3], 18)
    )
    for lane in lanes:
        found = (found ^ (_turned(lane * _P2, 31) * _P1)) * _P1 + _P4
    return found


def _words(letters: npt.NDArray[np.uint8], start: int, kind: type[np.unsignedinteger]) -> Hashes:
    size = np.dtype(kind).itemsize
    words = np.ascontiguousarray(letters[:, start : start + size]).view(np.dtype(kind).newbyteorder("<"))
    return words[:, 0].astype(np.uint64)


def _with_long(values: Hashes, found: Hashes) -> Hashes:
    return _turned(found ^ (_turned(values * _P2, 31) * _P1), 27) * _P1 + _P4


def _with_int(values: Hashes, found: Hashes) -> Hashes:
    return _turned(found ^ (values * _P1), 23) * _P2 + _P3


def _turned(values: Hashes, by: int) -> Hashes:
    return (values << np.uint64(by)) | (values >> np.uint64(64 - by))


def _finished(found: Hashes) -> Hashes:
    found = (found ^ (found >> np.uint64(33))) * _P2
    found = (found ^ (found >> np.uint64(29))) * _P3
    return found ^ (found >> np.uint64(32))
