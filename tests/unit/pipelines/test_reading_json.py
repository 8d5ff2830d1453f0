"""Reading JSON lines: a broken line is rejected alone, nested values are kept as JSON text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from pipelines.reading import ColumnOptions, discover, infer_columns, read_all
from pipelines.reading.json_lines import read_json

TICK = ColumnOptions(time="t", type_value="Tick")
CLEAN = b'{"t": 1, "v": 1.5}\n' * 20


def read(folder: Path, content: bytes, options: ColumnOptions = TICK):
    (folder / "f.jsonl").write_bytes(content)
    return read_all(discover(folder / "f.jsonl"), None, options)[:2]


def test_values_keep_their_types(tmp_path: Path) -> None:
    line = (
        '{"t": "2015-01-31T08:00:00Z", "n": 2, "x": 2, "s": "007", "b": true, "o": {"é": [1, null]}, "e": ""}'
    )
    good, rejected = read(tmp_path, (line + '\n\n{"x": 1e3, "t": "2015-02-01"}').encode())
    assert rejected.num_rows == 0
    assert good.to_pylist() == [
        {
            "t": datetime(2015, 1, 31, 8, tzinfo=UTC),
            "n": 2,
            "x": 2.0,
            "s": "007",
            "b": True,
            "o": '{"é": [1, null]}',
            "e": "",
        },
        {
            "t": datetime(2015, 2, 1, tzinfo=UTC),
            "n": None,
            "x": 1000.0,
            "s": None,
            "b": None,
            "o": None,
            "e": None,
        },
    ]


def test_a_string_is_a_number_only_where_one_is_declared(tmp_path: Path) -> None:
    content = b'{"t": "5", "v": "12"}\n'
    assert read(tmp_path, content)[0].to_pylist() == [{"t": 5, "v": "12"}]
    assert read(tmp_path, content, replace(TICK, types=(("v", "integer"),)))[0].to_pylist() == [
        {"t": 5, "v": 12}
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"t": 9, "v": 1', "E405"),
        (b"[1, 2]", "E405"),
        (b"12", "E405"),
        (b'{"t": 9}, {"t": 9}', "E405"),
        (b"[" * 100_000, "E405"),
        (b'{"t": 9, "v": "\xff"}', "E404"),
        (b'{"t": 9, "v": "\\ud800"}', "E404"),
        (b'{"t": 9, "v": NaN}', "E415"),
        (b'{"t": 9, "v": -Infinity}', "E415"),
        (b'{"t": 9, "v": 1e999}', "E415"),
        (b'{"t": 9, "v": "abc"}', "E411"),
        (b'{"t": 9, "v": true}', "E411"),
        (b'{"t": 9, "v": [1]}', "E411"),
        (b'{"t": 9.5, "v": 1}', "E410"),
        (b'{"t": 99999999999999999999, "v": 1}', "E416"),
        (b'{"t": null, "v": 1}', "E420"),
        (b'{"v": 1}', "E420"),
    ],
)
def test_a_broken_line_is_rejected_alone(tmp_path: Path, line: bytes, code: str) -> None:
    good, rejected = read(tmp_path, CLEAN + b"\n" + line + b"\n" + CLEAN)
    assert good.num_rows == 40
    (row,) = rejected.to_pylist()
    assert (row["row_number"], row["code"]) == (21, code)
    assert row["raw"] == line.decode("utf-8", errors="backslashreplace")


@pytest.mark.parametrize("content", [b'[\n{"t": 1}\n]', '{"t": 1}\n'.encode("utf-16-le"), b"\x00\x01\x02"])
def test_an_unreadable_file_is_one_rejected_row(tmp_path: Path, content: bytes) -> None:
    good, rejected = read(tmp_path, content)
    assert good.num_rows == 0
    assert [(row["row_number"], row["code"]) for row in rejected.to_pylist()] == [(None, "E401")]


def test_small_blocks_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_bytes(b'\n{"t": 1}\n\n{"t": \n{"t": 3, "v": 2}\r\n12\n\n' * 3)

    def seen(size: int) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        for chunk in read_json(str(tmp_path / "f.jsonl"), size):
            found += [(int(number), chunk.raw(place)) for place, number in enumerate(chunk.numbers)]
            found += [(row.number, row.raw) for row in chunk.broken]
        return sorted(found)

    assert [number for number, _ in seen(1 << 20)] == list(range(1, 13))
    assert all(seen(size) == seen(1 << 20) for size in (1, 10, 30, 70))


def test_empty_files_hold_no_rows(tmp_path: Path) -> None:
    for content in (b"", b"\n\n", b"\xef\xbb\xbf"):
        good, rejected = read(tmp_path, content)
        assert (good.num_rows, rejected.num_rows) == (0, 0)


def test_a_csv_and_a_json_file_agree(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,v\n1,2\n")
    (tmp_path / "b.json").write_text('{"t": 3, "v": 2.5}\n')
    files = discover(tmp_path)
    assert infer_columns(files, TICK) == pa.schema([("t", pa.int64()), ("v", pa.float64())])
    assert read_all(files, None, TICK)[0].to_pylist() == [{"t": 1, "v": 2.0}, {"t": 3, "v": 2.5}]
