"""Reading CSV: damage is rejected row by row with its number, text and reason; everything else is kept."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet_core.errors import StreamError
from hamlet_core.threads import Crew
from pipelines.reading import ColumnOptions, discover, infer_columns, read_all, read_file
from pipelines.reading.csv_records import Block, split, split_lines
from pipelines.reading.csv_text import read_csv, read_header

TICK = ColumnOptions(time="t", type_value="Tick")


def read(folder: Path, content: bytes, options: ColumnOptions = TICK):
    """Good rows as tuples, rejected rows as (number, raw, code), and the schema."""
    (folder / "f.csv").write_bytes(content)
    files = discover(folder / "f.csv")
    schema = infer_columns(files, options)
    good, rejected, _ = read_all(files, schema, options)
    rows = [tuple(row.values()) for row in good.to_pylist()]
    return rows, [(row["row_number"], row["raw"], row["code"]) for row in rejected.to_pylist()], schema


def test_clean_rows_are_typed(tmp_path: Path) -> None:
    rows, rejected, schema = read(tmp_path, b"t,n,x,s,b,d\n1,2,2.5,ab,true,2015-01-31\n2,,,,,\n")
    assert rows == [(1, 2, 2.5, "ab", True, date(2015, 1, 31)), (2, None, None, None, None, None)]
    assert rejected == []
    assert [str(field.type) for field in schema] == [
        "int64",
        "int64",
        "double",
        "string",
        "bool",
        "date32[day]",
    ]


@pytest.mark.parametrize(
    ("values", "kind", "rejected"),
    [
        ("1 2 x y", "int64", 2),
        ("1 2.5 x", "double", 1),
        ("1 2.5 x", "string", 0),
        ("DE FR", "double", 2),
        ("true no", "bool", 1),
        ("2015-01-31 7", "date32[day]", 1),
        ("2015-01-31 7", "timestamp[us, tz=UTC]", 1),
    ],
)
def test_a_declared_column_has_its_type_whatever_its_values_look_like(
    tmp_path: Path, values: str, kind: str, rejected: int
) -> None:
    content = "t,v\n" + "".join(f"1,{value}\n" for value in values.split(" "))
    names = {"int64": "integer", "bool": "boolean", "date32[day]": "date"}
    options = replace(TICK, types=(("v", names.get(kind, kind.partition("[")[0])),))
    rows, refused, schema = read(tmp_path, content.encode(), options)
    assert str(schema.field("v").type) == kind
    assert len(refused) == rejected
    assert len(rows) + len(refused) == len(values.split(" "))


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"", []),
        (b"\xef\xbb\xbf", []),
        (b"\n\n", []),
        (b"t,v\n", []),
        (b"t,v", []),
        (b"\xef\xbb\xbft,v\n1,2", [(1, 2)]),
        (b"t,v\r\n1,2\r\n3,4\r\n", [(1, 2), (3, 4)]),
        (b"t,v\r1,2\r3,4", [(1, 2), (3, 4)]),
        (b"\nt,v\n\n1,2\n\n\n3,4\n\n", [(1, 2), (3, 4)]),
        (b"t;v\n1;2\n", [(1, 2)]),
        (b"t\tv\n1\t2\n", [(1, 2)]),
        (b't,"v"\n"1","2"\n', [(1, 2)]),
        (b't,v\n1,"a,b"\n2,"c\nd"\n3,"e""f"\n4,""\n', [(1, "a,b"), (2, "c\nd"), (3, 'e"f'), (4, None)]),
        (b't,v\r\n1,"a\r\nb"\r\n', [(1, "a\r\nb")]),
        (b't,v\n1,5" pipe\n2,b\n', [(1, '5" pipe'), (2, "b")]),
        (b"t,v\n 1 ,a\n2, b \n", [(1, "a"), (2, " b ")]),
    ],
)
def test_layouts(tmp_path: Path, content: bytes, rows: list[tuple[object, ...]]) -> None:
    assert read(tmp_path, content)[:2] == (rows, [])


CLEAN = b"".join(b"%d,1.5\n" % number for number in range(11, 31))


@pytest.mark.parametrize(
    ("line", "raw", "code"),
    [
        (b"9,1,2", "9,1,2", "E402"),
        (b"9", "9", "E403"),
        (b"9,\xff", "9,\\xff", "E404"),
        (b'9,"1.5', '9,"1.5', "E406"),
        (b'9,"1"5', '9,"1"5', "E406"),
        (b"x,1.5", "x,1.5", "E410"),
        (b"1e5,1.5", "1e5,1.5", "E410"),
        (b"0x10,1.5", "0x10,1.5", "E410"),
        (b"9,abc", "9,abc", "E411"),
        (b"9,1_000", "9,1_000", "E411"),
        (b"9,NaN", "9,NaN", "E415"),
        (b"9,-inf", "9,-inf", "E415"),
        (b"9,1e400", "9,1e400", "E416"),
        (b"99999999999999999999,1.5", "99999999999999999999,1.5", "E416"),
        (b"4611686018428,1.5", "4611686018428,1.5", "E416"),
        (b",1.5", ",1.5", "E420"),
        (b"  ,1.5", "  ,1.5", "E420"),
        (b"x,abc", "x,abc", "E410"),
    ],
)
def test_a_broken_row_is_rejected_alone(tmp_path: Path, line: bytes, raw: str, code: str) -> None:
    rows, rejected, _ = read(tmp_path, b"t,v\n" + CLEAN + line + b"\n" + CLEAN)
    assert rejected == [(21, raw, code)]
    assert len(rows) == 40


def test_a_stray_quote_does_not_swallow_its_neighbours(tmp_path: Path) -> None:
    rows, rejected, _ = read(tmp_path, b't,v\n1,"a\n2,"b"\n3,c\n4,"d\n5,e\n')
    assert rows == [(2, "b"), (3, "c"), (5, "e")]
    assert rejected == [(1, '1,"a', "E406"), (4, '4,"d', "E406")]


@pytest.mark.parametrize(
    ("text", "value"),
    [("+3", 3.0), (" 12 ", 12.0), ("007", 7.0), (".5", 0.5), ("5.", 5.0), ("1e5", 1e5), ("-1E-2", -0.01)],
)
def test_numbers_people_write(tmp_path: Path, text: str, value: float) -> None:
    rows, rejected, _ = read(tmp_path, f"t,v\n1,{text}\n2,1.5\n".encode())
    assert (rows[0][1], rejected) == (value, [])


@pytest.mark.parametrize(
    ("text", "value"),
    [("+3", 3), (" 12 ", 12), ("007", 7), ("12.0", 12), ("-9223372036854775808", -(2**63))],
)
def test_integers_people_write(tmp_path: Path, text: str, value: int) -> None:
    schema = pa.schema([("t", pa.int64()), ("v", pa.int64())])
    (tmp_path / "f.csv").write_text(f"t,v\n1,{text}\n")
    good, rejected, _ = read_all(discover(tmp_path), schema, TICK)
    assert (good["v"].to_pylist(), rejected.num_rows) == ([value], 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2015-01-31", datetime(2015, 1, 31, tzinfo=UTC)),
        ("2015-01-31 08", datetime(2015, 1, 31, 8, tzinfo=UTC)),
        ("2015-01-31 08:05", datetime(2015, 1, 31, 8, 5, tzinfo=UTC)),
        ("2015-01-31T08:05:06.25", datetime(2015, 1, 31, 8, 5, 6, 250000, tzinfo=UTC)),
        (" 2015-01-31T08:05:06Z ", datetime(2015, 1, 31, 8, 5, 6, tzinfo=UTC)),
        ("2015-01-31T08:05:06 z", datetime(2015, 1, 31, 8, 5, 6, tzinfo=UTC)),
        ("2015-01-31T08:05+02:00", datetime(2015, 1, 31, 6, 5, tzinfo=UTC)),
        ("2015-01-31T08-0130", datetime(2015, 1, 31, 9, 30, tzinfo=UTC)),
        ("2015-01-31T08:05:06.123456000Z", datetime(2015, 1, 31, 8, 5, 6, 123456, tzinfo=UTC)),
        ("2015-01-31T08:05:06.1234567", "E417"),
        ("2015-02-30", "E412"),
        ("2015-01-31 25:00", "E412"),
        ("31.01.2015", "E412"),
    ],
)
@pytest.mark.parametrize("other", ["2015-01-01 00:00", "2015-01-01T00:00:00Z", "2015-01-01T00:00:00 +01"])
def test_timestamps(tmp_path: Path, text: str, expected: object, other: str) -> None:
    content = "t,v\n" + f"{other},1\n" * 20 + f"{text},2\n"
    rows, rejected, schema = read(tmp_path, content.encode())
    assert schema.field("t").type == pa.timestamp("us", "UTC")
    found = rejected[0][2] if rejected else rows[-1][0]
    assert (found, len(rows) + len(rejected)) == (expected, 21)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("t,v\n1,2\n".encode("utf-16")[:-1], "begins as UTF-16 and is not"),
        ("t,v\n1,2\n".encode("utf-32"), "zero bytes"),
        ("t,v\n1,2\n".encode("utf-16-le"), "zero bytes"),
        (b"\x89PNG\r\n\x1a\n\x00\x01", "not UTF-8"),
        ("t,é\n1,2\n".encode("latin-1"), "not UTF-8"),
        (b"t,v,v\n1,2,3\n", "twice"),
        (b't,"v\n1,2\n', "never closed"),
    ],
)
def test_an_unreadable_file_is_one_rejected_row(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "f.csv").write_bytes(content)
    (tmp_path / "g.csv").write_text("t,v\n7,8\n")
    good, rejected, _ = read_all(discover(tmp_path), None, TICK)
    assert good.to_pylist() == [{"t": 7, "v": 8}]
    (row,) = rejected.to_pylist()
    assert (row["source_file"], row["row_number"], row["code"]) == ("f.csv", None, "E401")
    assert word in row["reason"]
    assert f"{len(content):,} bytes" in row["reason"]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"t," + b"x" * 131_073, r"field larger than field limit \(131072\)"),
        (b't,"' + b"x" * 200_000 + b'"', "field larger than field limit"),
        (b"t,v," + b"x," * 25_000_000, "the header is longer than 1 MiB"),
        (b"x" * 50_000_000, "the header is longer than 1 MiB"),
        (b"t," + b",".join(b"c%d" % place for place in range(200_000)), "the header is longer than 1 MiB"),
        (b't,"a\nb\x00"', "its header holds zero bytes"),
    ],
    ids=["long name", "long name in quotes", "50 MB of names", "50 MB in one name", "200,000 names", "zero"],
)
def test_a_header_that_cannot_be_one_rejects_its_file_by_name(
    tmp_path: Path, header: bytes, reason: str
) -> None:
    (tmp_path / "bad.csv").write_bytes(header + b"\n1,2\n")
    (tmp_path / "good.csv").write_bytes(b"t,v\n1,2\n")
    files = discover(tmp_path)
    good, rejected, _ = read_all(files, None, TICK)
    assert good.to_pylist() == [{"t": 1, "v": 2}]
    (row,) = rejected.to_pylist()
    assert (row["source_file"], row["row_number"], row["code"]) == ("bad.csv", None, "E401")
    assert re.search(reason, row["reason"])


def test_a_header_of_many_names_is_read_in_time_that_grows_with_it(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b",".join(b"%d" % place for place in range(140_000)))
    with (tmp_path / "f.csv").open("rb") as stream:
        header = read_header(stream)
    assert header is not None
    assert len(header.names) == 140_000


def test_a_long_value_is_read(tmp_path: Path) -> None:
    values = [b"p" * 3_000_000, b'"' + b"q" * 200_000 + b'"', b'"' + b"r" * 2_000_000 + b'"']
    rows, rejected, _ = read(
        tmp_path, b"t,v\n" + b"".join(b"%d,%s\n" % (place, one) for place, one in enumerate(values))
    )
    assert [(row[0], len(row[1])) for row in rows] == [(0, 3_000_000), (1, 200_000), (2, 2_000_000)]
    assert rejected == []


def test_files_of_a_folder_are_united(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,v\n1,2\n")
    (tmp_path / "b.csv").write_text("w,t\n1.5,3\n")
    (tmp_path / "c.csv").write_text("")
    (tmp_path / "d.csv").write_text("v\n5\n")
    good, rejected, _ = read_all(discover(tmp_path), None, TICK)
    assert good.to_pylist() == [{"t": 1, "v": 2, "w": None}, {"t": 3, "v": None, "w": 1.5}]
    assert [(row["source_file"], row["code"]) for row in rejected.to_pylist()] == [("d.csv", "E420")]


def test_the_reason_names_column_and_value(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b"t,v\n" + CLEAN + b"9,abc\n")
    _, rejected, _ = read_all(discover(tmp_path), None, TICK)
    assert rejected["reason"].to_pylist() == ["column v: 'abc' is not a number"]


def test_a_missing_type_is_rejected(tmp_path: Path) -> None:
    rows, rejected, schema = read(tmp_path, b"time,type\n1,5\n2,\n", ColumnOptions())
    assert (rows, rejected) == ([(1, "5")], [(2, "2,", "E421")])
    assert schema.field("type").type == pa.string()


def test_a_wrong_column_name_is_an_error_that_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match=r"E451.*no_such[\s\S]*t, v"):
        read(tmp_path, b"t,v\n1,2\n", ColumnOptions(time="no_such", type_value="T"))


def test_small_blocks_change_nothing(tmp_path: Path) -> None:
    content = b't,v\n1,"a\nb"\n2\n3,"c""\r\n",\n4,d\r\n\r\n5,"e\n6,f\n' * 5
    (tmp_path / "f.csv").write_bytes(content)

    def seen(size: int) -> list[object]:
        found: list[object] = []
        for chunk in read_csv(str(tmp_path / "f.csv"), size):
            values = [column.to_pylist() for column in chunk.columns.values()]
            raw = [chunk.raw(place) for place in range(len(chunk.numbers))]
            found += zip(chunk.numbers.tolist(), *values, raw, strict=True)
            found += [(row.number, row.raw, row.reason) for row in chunk.broken]
        return sorted(found, key=lambda row: row[0])

    expected = seen(1 << 20)
    assert len(expected) > 25
    for size in (16, 17, 23, 31, 64):
        assert seen(size) == expected


fields = st.sampled_from([b"a", b"", b'"x\ny"', b'"q""r"', b'"x,y"', b'"\r\n"'])


@given(
    st.lists(st.lists(fields, min_size=2, max_size=3), min_size=1, max_size=6),
    st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"\n\n"]),
    st.booleans(),
)
def test_records_that_are_lines_stand_where_records_stand(rows, ending, closed) -> None:
    lines = [b",".join(row) for row in rows]
    block = Block(ending.join(lines) + ending * closed, None)
    whole = split(block, b",")
    assert [whole.text(place) for place in range(len(whole.starts))] == lines
    found = split_lines(block, len(lines))
    plain = ending == b"\n" and not any(b"\n" in line for line in lines)
    assert (found is not None) == (plain or (len(lines) == 1 and not closed and b"\n" not in lines[0]))
    if found is not None:
        assert [found.text(place) for place in range(len(found.starts))] == lines


def test_an_unclosed_quote_is_given_up_after_a_limit(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("pipelines.reading.csv_records.RECORD_LIMIT", 100)
    (tmp_path / "f.csv").write_bytes(b't,v\n1,"a\n' + b"2,b\n" * 200)
    held = [len(chunk.numbers) + len(chunk.broken) for chunk in read_csv(str(tmp_path / "f.csv"), 32)]
    assert sum(held) == 201
    assert max(held) < 60


texts = st.text(st.sampled_from('ab,"\n\r é;'), max_size=6)
cells = st.tuples(st.integers(-(10**12), 10**12), st.floats(allow_nan=False, allow_infinity=False), texts)
damages = st.sampled_from(["none"] * 4 + ["many", "few", "utf8", "text", "time", "nan", "quote"])
CODES = {
    "many": "E402",
    "few": "E403",
    "utf8": "E404",
    "text": "E411",
    "time": "E420",
    "nan": "E415",
    "quote": "E406",
}


def written(row: tuple[int, float, str], damage: str) -> bytes:
    """A row as CSV with one kind of damage."""
    time, number, text = str(row[0]), repr(row[1]), '"' + row[2].replace('"', '""') + '"'
    match damage:
        case "many":
            return f"{time},{number},{text},1".encode()
        case "few":
            return f"{time},{number}".encode()
        case "utf8":
            return f"{time},{number},".encode() + b"\xc3("
        case "text":
            return f"{time},abc,{text}".encode()
        case "time":
            return f",{number},{text}".encode()
        case "nan":
            return f"{time},nan,{text}".encode()
        case "quote":
            return f'{time},"x"1,c'.encode()
        case _:
            return f"{time},{number},{text}".encode()


@settings(deadline=None)
@given(
    st.lists(st.tuples(cells, damages), max_size=30),
    st.sampled_from([b"\n", b"\r\n"]),
    st.integers(32, 200),
    st.booleans(),
    st.sampled_from([1, 3]),
)
def test_rows_in_are_good_plus_rejected(tmp_path_factory, rows, ending, size, closed, threads) -> None:
    folder = tmp_path_factory.mktemp("csv")
    content = ending.join([b"t,v,s", *(written(row, damage) for row, damage in rows)])
    (folder / "f.csv").write_bytes(content + (ending if closed else b""))
    schema = pa.schema([("t", pa.int64()), ("v", pa.float64()), ("s", pa.string())])
    (file,) = discover(folder)
    good: list[tuple[object, ...]] = []
    numbers: list[int] = []
    rejected: list[tuple[int, str]] = []
    with pytest.MonkeyPatch.context() as patch, Crew(threads) as crew:
        patch.setattr("pipelines.reading.rows.read_csv", partial(read_csv, block_bytes=size))
        for found in read_file(file, schema, TICK, crew=crew):
            good += [tuple(row.values()) for row in found.good.to_pylist()]
            numbers += found.numbers.tolist()
            rejected += [(row["row_number"], row["code"]) for row in found.rejected.to_pylist()]
    assert good == [(*row[:2], row[2] or None) for row, damage in rows if damage == "none"]
    assert numbers == [at for at, (_, damage) in enumerate(rows, 1) if damage == "none"]
    assert rejected == [(at, CODES[damage]) for at, (_, damage) in enumerate(rows, 1) if damage != "none"]


PIECES = [
    b",",
    b'"',
    b"\n",
    b"\r",
    b"1",
    b"a",
    b" ",
    b"\xff",
    b"\x00",
    b"1,2\n",
    b'1,"2"\n',
    b"2015-01-01",
    b";",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join), st.integers(16, 64))
def test_any_bytes_are_read_without_failing(tmp_path_factory, content: bytes, size: int) -> None:
    folder = tmp_path_factory.mktemp("csv")
    (folder / "f.csv").write_bytes(b"t,v\n" + content)
    (file,) = discover(folder)
    schema = pa.schema([("t", pa.int64()), ("v", pa.float64())])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipelines.reading.rows.read_csv", partial(read_csv, block_bytes=size))
        numbers = [
            n for found in read_file(file, schema, TICK) for n in found.rejected["row_number"].to_pylist()
        ]
        read_all([file], infer_columns([file], TICK), TICK)
    assert numbers == sorted(numbers)
