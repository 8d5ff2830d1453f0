"""Compiled: integers made dense, and rows put in order of dense codes, both in one or two passes over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from hamlet_core.engines.hamlet.jit.decorators import compiled_for

Array = Any

_INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
_SMALL_INTEGERS = types.Array(types.int32, 1, "C", readonly=True)
_MASK = types.Array(types.boolean, 1, "C", readonly=True)
_RESULT = types.int64[::1]
_MIXER = np.uint64(0x9E3779B97F4A7C15)


@compiled_for(_RESULT(_INTEGERS, types.int64, types.int64, _MASK))
def count_codes(codes: Array, low: int, size: int, keep: Array) -> Array:
    """How many kept rows have the code `low + i`, for each i below `size`; an empty `keep` keeps all."""
    counts = np.zeros(size, np.int64)
    if keep.size == 0:
        for row in range(codes.size):
            counts[codes[row] - low] += 1
    else:
        for row in range(codes.size):
            if keep[row]:
                counts[codes[row] - low] += 1
    return counts


@compiled_for(_RESULT(_INTEGERS, types.int64, _INTEGERS, _MASK))
def order_codes(codes: Array, low: int, counts: Array, keep: Array) -> Array:
    """The kept rows in order of their codes, those of one code in order of rows: a counting sort."""
    free = np.empty(counts.size, np.int64)
    total = 0
    for code in range(counts.size):
        free[code] = total
        total += counts[code]
    order = np.empty(total, np.int64)
    last, place = np.int64(-1), np.int64(0)
    for row in range(codes.size):
        if keep.size == 0 or keep[row]:
            code = codes[row] - low
            if code != last:  # a run of one code keeps its place at hand
                if last >= 0:
                    free[last] = place
                last, place = code, free[code]
            order[place] = row
            place += 1
    return order


@compiled_for(types.Tuple((_RESULT, types.int32[::1]))(_INTEGERS, _SMALL_INTEGERS, types.int64[::1]))
def gather(time: Array, code: Array, order: Array) -> tuple[Array, Array]:
    """Times and codes of the rows of an order, which are rows of both."""
    times, codes = np.empty(order.size, np.int64), np.empty(order.size, np.int32)
    for place in range(order.size):
        row = np.uint64(order[place])
        times[place], codes[place] = time[row], code[row]
    return times, codes


@compiled_for(types.UniTuple(_RESULT, 2)(types.int64[::1], types.int64[::1], types.int64))
def _rehash(keys: Array, codes: Array, bits: int) -> tuple[Array, Array]:
    """The same entries in a table of `2**bits` places; a code of -1 marks a free place."""
    size = np.int64(1) << bits
    new_keys = np.empty(size, np.int64)
    new_codes = np.full(size, np.int64(-1))
    for old in range(keys.size):
        if codes[old] >= 0:
            place = np.int64((np.uint64(keys[old]) * _MIXER) >> np.uint64(64 - bits))
            while new_codes[place] >= 0:
                place = (place + 1) & (size - 1)
            new_keys[place] = keys[old]
            new_codes[place] = codes[old]
    return new_keys, new_codes


@compiled_for(types.Tuple((_RESULT, types.int64))(_INTEGERS))
def dense_codes(values: Array) -> tuple[Array, int]:
    """The number of each value in order of first appearance, and how many there are: a table of open addressing."""
    found = np.empty(values.size, np.int64)
    bits = 12
    keys, codes = _rehash(np.empty(0, np.int64), np.empty(0, np.int64), bits)
    distinct = 0
    for row in range(values.size):
        value = values[row]
        place = np.int64((np.uint64(value) * _MIXER) >> np.uint64(64 - bits))
        while codes[place] >= 0 and keys[place] != value:
            place = (place + 1) & (keys.size - 1)
        if codes[place] >= 0:
            found[row] = codes[place]
            continue
        keys[place] = value
        codes[place] = distinct
        found[row] = distinct
        distinct += 1
        if 2 * distinct > keys.size:
            bits += 1
            keys, codes = _rehash(keys, codes, bits)
    return found, distinct
