"""JSON lines that are written alike: what is copied for Arrow, and what is left to others."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from pipelines.reading.json_shape import Shape, parsed_alike

KINDS = {"s": pa.string(), "i": pa.int64(), "x": pa.float64(), "b": pa.bool_()}
FIRST = b'{"s": "a", "i": 1, "x": 1.5, "b": true}'


def rows_and_odd(*lines: bytes, first: bytes = FIRST) -> tuple[list[dict[str, object]], list[int]]:
    shape = Shape.of(first, KINDS)
    assert shape is not None
    parsed = parsed_alike(b"\n".join(lines), shape, 5)
    assert parsed is not None
    return parsed[0].to_pylist(), parsed[1].tolist()


@pytest.mark.parametrize("end", ["", "\n"])
def test_values_are_those_of_json(end: str) -> None:
    rows = [
        {"s": "", "i": -0, "x": -0.0, "b": False},
        {"s": ",", "i": -(10**18) + 1, "x": 12, "b": None},
        {"s": "a, b,", "i": 0, "x": 1e-7, "b": True},
        {"s": None, "i": None, "x": None, "b": None},
        {"s": "null", "i": 7, "x": 123456789012345.125, "b": True},
        {"s": " é{[} ", "i": 10**18 - 1, "x": 0.1, "b": False},
    ]
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + end
    assert rows_and_odd(lines.encode()) == (rows, [])
    tiny = FIRST.replace(b"1.5", b"1E-400")
    assert rows_and_odd(tiny) == ([json.loads(tiny)], [])


@pytest.mark.parametrize(
    "odd",
    [
        b'{"s": "a", "i": 1, "x": 1.5}',
        b'{"s": "a", "i": 1, "x": 1.5, "b": true, "c": 1}',
        b'{"s": "a", "i": 1, "x": 1.5, "b": true',
        b'{"s": "a", "i": 1, "x": 1.5, "b": true}}',
        b'{"s":"a", "i": 1, "x": 1.5, "b": true}',
        b'{"i": 1, "s": "a", "x": 1.5, "b": true}',
        b'{"s": 1, "i": 1, "x": 1.5, "b": true}',
        b'{"s": "a", "i": "1", "x": 1.5, "b": true}',
        b'{"s": "a", "i": 1, "x": 1.5, "b": 1}',
        b'{"s": "a", "i": 1, "x": 1.5, "b": tru}',
        b'{"s": "a\\n", "i": 1, "x": 1.5, "b": true}',
        b'{"s": "a\tb", "i": 1, "x": 1.5, "b": true}',
        b'{"s": "a, "i": 1, "x": 1.5, "b": true}',
        b'{"s": "a',
        b'{"s": nul, "i": 1, "x": 1.5, "b": true}',
        *(
            b'{"s": "a", "i": %b, "x": 1.5, "b": true}' % text
            for text in (b"", b"-", b"+1", b"01", b"1.0", b"1e2", b"0x1", b" 1", b"1" * 19, b"NaN")
        ),
        *(
            b'{"s": "a", "i": 1, "x": %b, "b": true}' % text
            for text in (b"1.", b".5", b"1e5", b"1e+5", b"1e-", b"1E", b"inf", b"00.5", b"9007199254740993")
        ),
    ],
)
def test_what_is_odd_is_left_empty_and_told(odd: bytes) -> None:
    row, empty = json.loads(FIRST), dict.fromkeys(KINDS)
    assert rows_and_odd(FIRST, FIRST, odd, FIRST) == ([row, row, empty, row], [2])
    assert rows_and_odd(FIRST, odd) == ([row, empty], [1])


def test_blank_lines_are_no_rows() -> None:
    row = json.loads(FIRST)
    assert rows_and_odd(b"", FIRST, b" \t\r", b"", FIRST, b"\x0b\x0c") == ([row, row], [])


def test_lines_of_one_value() -> None:
    """Whose empty rows are empty lines of CSV."""
    lines = [b'{"s": null}', b'{"s": "a,b"}', b"?", b'{"s": ""}', b'{"s": "x"}', b"?"]
    values = [None, "a,b", None, "", "x", None]
    assert rows_and_odd(*lines, first=lines[1]) == ([{"s": one} for one in values], [2, 5])


def test_too_many_odd_lines_are_left_to_others() -> None:
    shape = Shape.of(FIRST, KINDS)
    assert shape is not None
    assert parsed_alike(b"\n".join([FIRST] * 9 + [b"?" * 60] * 5), shape, 5) is not None
    assert parsed_alike(b"\n".join([FIRST] * 9 + [b"?" * 60] * 6), shape, 5) is None
    assert parsed_alike(b"1\n1", shape, 5) is None, "there is no room for four empty values in two bytes"
    assert parsed_alike(FIRST.replace(b'"a"', b'"\xff"'), shape, 5) is None
    assert parsed_alike(FIRST.replace(b'"a"', b'"\xef\xbb\xbfa"'), shape, 5) is None


@pytest.mark.parametrize(
    "line",
    [b"", b"1", b"[]", b"{}", b'{"s": ', b'{"other": 1}', b'{"s": "a", "s": "b"}', b'{"s": [1]}', b'{"s": {}}', b'{"\\u0073": "a"}', b'{"s": "\xff"}', b"[" * 5_000],
)  # fmt: skip
def test_a_line_without_a_shape(line: bytes) -> None:
    assert Shape.of(line, KINDS) is None


def test_the_shape_is_what_stands_between_the_values() -> None:
    shape = Shape.of('{ "s" :\t"é: ,", "i": 5 }\r'.encode(), KINDS)
    assert shape == Shape(["s", "i"], [pa.string(), pa.int64()], [b'{ "s" :\t', b', "i": ', b" }\r"])


@pytest.mark.parametrize("special", ['"', "\\", ",", "\x00", "\x1f", "\x7f", "\x20", "é", "字", "!", "a"])
@pytest.mark.parametrize("last", [True, False])
def test_a_letter_anywhere_in_a_text_is_that_of_json(special: str, last: bool) -> None:
    """Eight bytes are looked at at once, and what is behind the last eight of all lines byte by byte."""
    first = b'{"i": 1, "s": "a"}' if last else b'{"s": "a", "i": 1}'
    shape = Shape.of(first, KINDS)
    assert shape is not None
    rows = [
        {"s": letters[:place] + special + letters[place:], "i": length}
        for length in range(20)
        for letters in ["bcdefghijklmnopqrstu"[:length]]
        for place in range(length + 1)
    ]
    for row in rows:
        own = {name: row[name] for name in shape.names}
        escaped = special in '"\\' or special < " "
        parsed = parsed_alike(json.dumps(own, ensure_ascii=False).encode(), shape, 1)
        assert parsed is not None
        assert parsed[0].to_pylist() == ([dict.fromkeys(own)] if escaped else [own])
        bare = first.replace(b'"a"', f'"{row["s"]}"'.encode())
        parsed = parsed_alike(bare, shape, 1)
        assert parsed is not None
        assert parsed[1].tolist() == ([0] if escaped else [])
