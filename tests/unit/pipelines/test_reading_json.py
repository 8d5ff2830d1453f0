"""Reading JSON lines: a broken line is rejected alone, nested values are kept as JSON text."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet_core.errors import StreamError
from hamlet_core.threads import Crew
from pipelines.reading import ColumnOptions, decide, discover, evidence, infer_columns, json_lines, read_all
from pipelines.reading.columns import TYPES
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


KEYS = st.sampled_from(["t", "a", "b", "é"])
ODD = [
    b'{"t": 1}{"t": 2}', b'{"t": 1, "t": 2}', b'{"t":', b"1}", b'{"t": NaN}', b'{"a": 1e999}', b'{"a": "\\ud800"}', b'{"a": "\xff"}',
    b'{"a": "\\u00e9\\u0000"}', b'{"a": {"b": 1}}', b'{"a": [1]}', b"{}", b'  {"t": 3}\t', b'{"a": "{"}', b'{"a": 01}', b"null",
    b'{"a": "x\ty"}', b'{"t": 1,}', b'{"a": -0}', b'{"a": -0.0}', b'{"a": 1E5}', b'\x0b{"t": 4}\x0c', b"[" * 5_000,
]  # fmt: skip
NUMBERS = st.sampled_from([0, 1, -7, 2**53, 2**53 + 1, -(2**63), 2**63, 10**30])
TEXTS = st.sampled_from(
    ["", "x", "12", "1.5", "2015-01-31", "2015-01-31T08:00:00Z", "2015-01-31 08:00", "é", "a\\b", 'q"']
)
REALS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.5, 1.0, -0.0, 1e16])
KINDS = (NUMBERS, REALS, st.booleans(), TEXTS, st.none(), NUMBERS | REALS, TEXTS | st.none(), NUMBERS | TEXTS)


@st.composite
def files(draw) -> tuple[list[bytes], tuple[tuple[str, str], ...]]:
    """Lines whose keys have values of one kind each, mostly; and what some columns are declared to hold."""
    kinds = {key: draw(st.sampled_from(KINDS)) for key in ("t", "a", "b", "é")}
    rows = draw(st.lists(st.lists(KEYS, unique=True, max_size=4), max_size=10))
    lines = [
        json.dumps({key: draw(kinds[key]) for key in keys}, ensure_ascii=False).encode() for keys in rows
    ]
    for place in draw(st.lists(st.integers(0, 10), max_size=2)):
        lines.insert(place, draw(st.sampled_from(ODD)))
    declared = draw(st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(sorted(TYPES)), max_size=2))
    return lines, tuple(declared.items())


@st.composite
def alike(draw) -> tuple[list[bytes], tuple[tuple[str, str], ...]]:
    """Lines with the same keys in the same order, written in the same way, mostly; and what some columns are declared to hold."""
    kinds = {key: draw(st.sampled_from(KINDS)) for key in draw(st.permutations(["t", "a", "b", "é"]))}
    comma, colon = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]))
    rows = draw(st.lists(st.fixed_dictionaries(kinds), max_size=12))
    texts = [json.dumps(row, ensure_ascii=False, separators=(comma, colon)) for row in rows]
    lines = [(text + draw(st.sampled_from(["", "", "", "\r", " "]))).encode() for text in texts]
    for place in draw(st.lists(st.integers(0, 12), max_size=3)):
        lines.insert(place, draw(st.sampled_from([*ODD, *(line[:-1] for line in lines), b"", b" \r"])))
    declared = draw(st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(sorted(TYPES)), max_size=2))
    return lines, tuple(declared.items())


@settings(deadline=None)
@given(files() | alike(), st.integers(1, 300) | st.just(4_000), st.sampled_from([1, 3]))
def test_what_arrow_parses_is_what_python_parses(tmp_path_factory, asked, size, threads) -> None:
    lines, declared = asked
    path = tmp_path_factory.mktemp("json") / "f.jsonl"
    path.write_bytes(b"\n".join(lines))
    options = replace(TICK, types=declared)

    def seen() -> tuple[pa.Schema, pa.Table, pa.Table]:
        with Crew(threads) as crew:
            types = decide(evidence(discover(path)[0], options, crew), options, (), ("t", "a", "b"))
            rows = read_all(discover(path), types, options, crew=crew)
        return types, rows.good, rows.rejected

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "BLOCK_BYTES", size)
        patch.setattr(read_json, "__defaults__", (size, None, {}))
        patch.setattr(json_lines, "ALIKE_BYTES", 0)
        try:
            found = seen()
        except StreamError as error:
            found = str(error)
        patch.setattr(json_lines, "_plain", lambda *_: None)
        patch.setattr(json_lines, "_alike", lambda *_: None)
        try:
            expected = seen()
        except StreamError as error:
            expected = str(error)
    assert repr(found) == repr(expected)
    assert found == expected


def test_arrow_parses_plain_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times keep how they are written, for their reasons quote it; NULL and missing keys are one."""
    monkeypatch.setattr(json_lines, "_by_line", None)
    content = (
        b'{"t": "2015-01-31T08:00:00Z", "v": 1, "w": 2, "s": "a"}\n{"t": "2015-01-31", "v": 1.5, "s": null}\n'
    )
    good, rejected = read(tmp_path, content, replace(TICK, types=(("w", "double"),)))
    assert rejected.num_rows == 0
    assert [str(kind) for kind in good.schema.types] == [
        "timestamp[us, tz=UTC]",
        "double",
        "double",
        "string",
    ]
    assert good["v"].to_pylist() == [1.0, 1.5]
    assert good["w"].to_pylist() == [2.0, None]
    assert good["s"].to_pylist() == ["a", None]


@pytest.mark.parametrize(("line", "code"), [(b"{}", "E420"), (b"12", "E405")])
def test_objects_without_any_key_are_rejected(tmp_path: Path, line: bytes, code: str) -> None:
    """Also where no file has a column at all."""
    good, rejected = read(tmp_path, b"{}\n" + line + b"\n{}\n")
    assert good.num_rows == 0
    rows = [(row["row_number"], row["code"], row["raw"]) for row in rejected.to_pylist()]
    assert rows == [(1, "E420", "{}"), (2, code, line.decode()), (3, "E420", "{}")]


ODD_LINES = (
    b'{"t": 5, "v": "long", "w": 1.5, "s": "x"}',
    b'{"t": 6, "v": 1, "w": NaN, "s": "x"}',
    b'{"t": 7, "v": 1, "w": 9007199254740993, "s": "x"}',
    b'{"t": 8, "v": 1, "w": {"a": 1}, "s": "x"}',
    b'{"t": 9, "v": 1, "w": [], "s": "x"}',
    b'{"t": 10, "v": 1',
    b'{"t": 11 "v": 1}',
    b'{"t": 12, "t": 13}',
    b"nothing",
    b'{"t": 14, "s": "\xff"}',
    b'{"t": "noon", "v": 1}',
    b'{"v": 1}',
    b'{"t": 15, "s": 5}',
    b"{}",
)


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("new", [b"", b'{"t": 16, "v": 1, "new": "x"}'])
def test_python_parses_few_odd_lines_and_arrow_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: bytes, *, copied: bool
) -> None:
    """What comes out is what Python makes of all of them, in their order, whether values are copied first or not."""
    plain = [b'{"t": %d, "v": %d, "w": %d.5, "s": "%d"}' % ((number,) * 4) for number in range(1_000)]
    lines = list(plain)
    for place, odd in enumerate(filter(None, (*ODD_LINES, new))):
        lines.insert(7 + 61 * place, odd)
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"\n".join(lines))
    types = pa.schema(
        {"t": pa.int64(), "v": pa.int64(), "w": pa.float64(), "s": pa.string(), "new": pa.string()}
    )

    def found() -> tuple[list[dict[str, object]], list[dict[str, object]], dict[str, int]]:
        good, rejected, empty = read_all(discover(path), types, TICK, frozenset({"v"}))
        return good.to_pylist(), rejected.to_pylist(), dict(empty)

    with monkeypatch.context() as patch:
        patch.setattr(json_lines, "_plain", lambda *_: None)
        expected = found()
    assert len(expected[1]) == 8
    if copied:
        monkeypatch.setattr(json_lines, "ALIKE_BYTES", 0)
        monkeypatch.setattr(json_lines, "_plain", None)
    parsed = []
    real = json_lines._row
    monkeypatch.setattr(json_lines, "_row", lambda line: parsed.append(line) or real(line))
    monkeypatch.setattr(json_lines, "_by_line", None)
    assert found() == expected
    assert len(set(parsed) & set(plain)) < 10


def test_many_odd_lines_are_parsed_by_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"t": 1, "v": 2}\n{"t": 2, "v": "x"}\n' * 100)
    types = pa.schema({"t": pa.int64(), "v": pa.int64()})
    monkeypatch.setattr(json_lines, "_parsed_rows", lambda lines: pytest.fail(f"{len(lines)} lines"))
    with pytest.raises(pytest.fail.Exception, match="200 lines"):
        read_all(discover(path), types, TICK)
