"""JSON lines that are all written alike, as machines write them: their values without the keys, as CSV, which Arrow reads much faster.

A first line says what stands between the values. A line that is written in another way, or has a value of another kind, is odd: its
row is left empty, and somebody else has to read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numba import types
from numba.extending import intrinsic

from hamlet_core.engines.hamlet.jit.decorators import compiled_for, compiled_inline, compiled_part
from pipelines.reading.chunks import Numbers

Array = Any

_KINDS = {pa.string(): 0, pa.int64(): 1, pa.float64(): 2, pa.bool_(): 3}
_TEXT, _INTEGER, _DOUBLE, _TRUTH = _KINDS.values()
_INTEGER_DIGITS, _DOUBLE_DIGITS = 18, 15
"""So many fit a 64-bit integer, and a double has so many exactly."""
_END, _QUOTE, _COMMA, _ESCAPE, _MINUS, _POINT, _ZERO, _NINE = b'\n",\\-.09'
_BLANK, _TAB, _RETURN = b" \t\r"
_EXPONENT, _SMALL = ord("e"), 0x20
"""Letters become small ones by this bit."""
_LOWEST = 0x20
"""Smaller bytes stand in no text."""
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
"""One in each of eight bytes, and their highest bits."""
_MARK = 0xEF
"""Of UTF-8: Arrow would take the mark off a text that begins with one."""
_WORDS = np.frombuffer(b"nulltruefalse", dtype=np.uint8)
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.uint8[::1]
# An index that is unsigned is not asked whether it counts from the end, which takes a quarter of the time.


@dataclass(frozen=True, slots=True)
class Shape:
    """How lines are written: names and types of their values, and the bytes before each and behind the last."""

    names: Sequence[str]
    kinds: Sequence[pa.DataType]
    between: Sequence[bytes]

    @classmethod
    def of(cls, line: bytes, expected: Mapping[str, pa.DataType]) -> Shape | None:
        """The shape of a line; None if it is no object of plain values with names that are expected, each once."""
        decoder = json.JSONDecoder()
        try:
            text = line.decode("utf-8")
            row = decoder.decode(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(row, dict) or not row or not row.keys() <= expected.keys():
            return None
        between, behind = [], 0
        for name, value in row.items():
            key = re.compile(rf'\s*[{{,]\s*"{re.escape(name)}"\s*:\s*').match(text, behind)
            if key is None or isinstance(value, dict | list):
                return None
            between.append(key[0].encode())
            _, behind = decoder.raw_decode(text, key.end())
        if text[behind:].strip() != "}":
            return None
        return cls([*row], [expected[name] for name in row], [*between, text[behind:].encode()])


def parsed_alike(block: bytes, shape: Shape, few: int) -> tuple[pa.Table, Numbers] | None:
    """The values of all lines that are not blank, and where the odd ones are, whose values are NULL.

    None if more than `few` are odd, or one might have another value for Arrow than for JSON.
    """
    content, between = np.frombuffer(block, dtype=np.uint8), np.frombuffer(b"".join(shape.between), np.uint8)
    edges = np.cumsum([0, *map(len, shape.between)], dtype=np.int64)
    kinds = np.array([_KINDS[kind] for kind in shape.kinds], dtype=np.int64)
    values, odd = np.empty(len(block) + 1, np.uint8), np.empty(few, np.int64)
    length, found = _without_keys(content, _WORDS, between, edges, kinds, values, odd)
    if length < 0 or values[0] == _MARK:
        return None
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(values[:length])),
            read_options=pa_csv.ReadOptions(
                column_names=shape.names, block_size=length + 1, use_threads=False
            ),
            parse_options=pa_csv.ParseOptions(ignore_empty_lines=False),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict(zip(shape.names, shape.kinds, strict=True)),
                null_values=[""],
                true_values=["t"],
                false_values=["f"],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table, odd[:found]


@intrinsic
def _eight(context: Any, content: Any, place: Any) -> Any:  # noqa: ARG001 - numba's protocol
    """The eight bytes from a place on as one number, wherever they lie."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.data_model_manager[signature.args[0]].get(builder, arguments[0], "data")
        number = context.get_value_type(types.uint64)
        return builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), number.as_pointer()), align=1)

    return types.uint64(content, types.int64), code


@intrinsic
def _put_eight(context: Any, content: Any, place: Any, number: Any) -> Any:  # noqa: ARG001 - numba's protocol
    """Write eight bytes from a place on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.data_model_manager[signature.args[0]].get(builder, arguments[0], "data")
        there = builder.bitcast(builder.gep(data, [arguments[1]]), arguments[2].type.as_pointer())
        builder.store(arguments[2], there, align=1)
        return context.get_dummy_value()

    return types.void(content, types.int64, types.uint64), code


@compiled_inline
def _one_is(eight: int, byte: int) -> bool:
    """Whether one of eight bytes is this one."""
    other = np.uint64(eight) ^ (_ONES * np.uint64(byte))
    return bool((other - _ONES) & ~other & _HIGHS)


@compiled_inline
def _all_plain(eight: int) -> bool:
    """Whether eight bytes are of a text that can be copied as they are."""
    small = (np.uint64(eight) - _ONES * np.uint64(_LOWEST)) & ~np.uint64(eight) & _HIGHS
    return not (small or _one_is(eight, _QUOTE) or _one_is(eight, _ESCAPE) or _one_is(eight, _COMMA))


@compiled_inline
def _follows(content: Array, place: int, words: Array, first: int, last: int) -> bool:
    """Whether a word, from `first` to `last`, stands at a place."""
    if place + last - first > content.size:
        return False
    while first + 8 <= last:
        if _eight(content, place) != _eight(words, first):
            return False
        place, first = place + 8, first + 8
    while first < last:
        if content[np.uint64(place)] != words[np.uint64(first)]:
            return False
        place, first = place + 1, first + 1
    return True


@compiled_inline
def _behind_digits(content: Array, place: int) -> int:
    while place < content.size and _ZERO <= content[np.uint64(place)] <= _NINE:
        place += 1
    return place


@compiled_part
def _behind_number(content: Array, place: int, kind: int) -> int:
    """Where a number ends that is written as in JSON; -1 if there is none, or it might not be one that a double has exactly."""
    first = place + (content[place] == _MINUS)
    place = _behind_digits(content, first)
    digits = place - first
    if digits == 0 or (digits > 1 and content[np.uint64(first)] == _ZERO):
        return -1
    if kind == _INTEGER:
        return place if digits <= _INTEGER_DIGITS else -1
    if digits > _DOUBLE_DIGITS:
        return -1
    if place < content.size and content[place] == _POINT:
        first = place + 1
        place = _behind_digits(content, first)
        if place == first:
            return -1
    if place + 1 < content.size and content[np.uint64(place)] | _SMALL == _EXPONENT:
        first = place + 2
        place = _behind_digits(content, first)
        if content[np.uint64(first - 1)] != _MINUS or place == first:
            return -1
    return place


@compiled_part
def _behind_text(content: Array, place: int, values: Array, length: int) -> tuple[int, int]:
    """Copy a text without its quotes, unless it needs them; where it ends, and the values. -1 if it is none, or is escaped."""
    place, first = place + 1, length
    bare = place < content.size and content[np.uint64(place)] != _QUOTE
    while place + 8 <= content.size and _all_plain(_eight(content, place)):
        _put_eight(values, length, _eight(content, place))
        place, length = place + 8, length + 8
    while place < content.size:
        byte = content[np.uint64(place)]
        if byte == _QUOTE:
            if not bare:
                for letter in range(length, first, -1):
                    values[letter] = values[letter - 1]
                values[first] = values[length + 1] = _QUOTE
                length += 2
            return place + 1, length
        if byte < _LOWEST or byte == _ESCAPE:
            break
        bare &= byte != _COMMA
        values[np.uint64(length)] = byte
        place += 1
        length += 1
    return -1, length


@compiled_part
def _behind_value(
    content: Array, place: int, kind: int, words: Array, values: Array, length: int
) -> tuple[int, int]:
    """Copy a value of a kind, nothing for `null`; where it ends, and the values. -1 if it is none."""
    if place >= content.size:
        return -1, length
    if _follows(content, place, words, 0, 4):
        return place + 4, length
    if kind == _TEXT:
        return _behind_text(content, place, values, length) if content[place] == _QUOTE else (-1, length)
    if kind == _TRUTH:
        if _follows(content, place, words, 4, 8):
            end = place + 4
        elif _follows(content, place, words, 8, 13):
            end = place + 5
        else:
            return -1, length
        values[length] = content[np.uint64(place)]
        return end, length + 1
    end = _behind_number(content, place, kind)
    for letter in range(place, end):
        values[np.uint64(length)] = content[np.uint64(letter)]
        length += 1
    return end, length


@compiled_for(
    types.UniTuple(types.int64, 2)(_BYTES, _BYTES, _BYTES, _INTEGERS, _INTEGERS, _OUT, types.int64[::1])
)
def _without_keys(
    content: Array, words: Array, between: Array, edges: Array, kinds: Array, values: Array, odd: Array
) -> tuple[int, int]:
    """Copy the values of all lines, a comma or an end behind each; how many bytes they are, and how many lines are odd.

    -1 if there is no room for either: a line is never copied beyond the place where it began, as keys are longer than commas.
    """
    place = length = rows = found = 0
    while place < content.size:
        end, made = place, length
        for column in range(kinds.size):
            if not _follows(content, end, between, edges[column], edges[column + 1]):
                end = -1
                break
            end += edges[column + 1] - edges[column]
            end, made = _behind_value(content, end, kinds[column], words, values, made)
            if end < 0:
                break
            values[np.uint64(made)] = _COMMA
            made += 1
        if end >= 0 and _follows(content, end, between, edges[kinds.size], edges[kinds.size + 1]):
            end += edges[kinds.size + 1] - edges[kinds.size]
            if end == content.size or content[end] == _END:
                values[made - 1] = _END
                place, length, rows = end + 1, made, rows + 1
                continue
        filled, end = False, place
        while end < content.size and content[np.uint64(end)] != _END:
            byte = content[np.uint64(end)]
            filled |= byte != _BLANK and not _TAB <= byte <= _RETURN  # none is the end
            end += 1
        if filled:
            if found == odd.size or length + kinds.size > end + 1:
                return -1, found
            values[length : length + kinds.size - 1] = _COMMA
            length += kinds.size
            values[length - 1] = _END
            odd[found] = rows
            found, rows = found + 1, rows + 1
        place = end + 1
    return length, found
