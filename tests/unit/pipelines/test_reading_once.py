"""Files that are read once, as their beginnings say, give what reading them twice gives: to see what their columns are, and as that."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.errors import StreamError
from hamlet_core.threads import Crew
from pipelines.reading import (
    AllRows,
    ColumnOptions,
    Evidence,
    FirstReading,
    beginnings,
    decide,
    discover,
    evidence,
    merge,
    read_all,
    read_file,
    rows,
)
from pipelines.reading.csv_text import read_csv
from pipelines.reading.json_lines import read_json

TICK = ColumnOptions(time="t", type_value="Tick")
NAMES = "t", "a", "b"
READ = frozenset({"a"})
KINDS = {
    "integers": ["1", "-3", "007", "0", "9223372036854775807"],
    "reals": ["1.5", "2.", "1e5", "-0.25", "3"],
    "times": ["2015-01-31T08:00:00Z", "2015-01-31 08:00:00.5Z", "2015-01-31"],
    "dates": ["2015-01-31", "2016-02-29"],
    "truths": ["true", "FALSE"],
    "texts": ["x", "é", "7x", '"a,b"', '"a\nb"'],
    "nothing": [""],
}
ODD = [
    "",
    "  ",
    " 7 ",
    "0x1F",
    "nan",
    "-inf",
    "1e999",
    "12.00",
    "99999999999999999999",
    "2015-02-30",
    "\xff",
    '"',
    "1,2",
]
PLAIN = {
    "integers": [1, -3, 2**63 - 1],
    "reals": [1.5, -0.25, 1e300, 3],
    "times": ["2015-01-31T08:00:00Z", "2015-01-31"],
    "dates": ["2015-01-31", "2016-02-29"],
    "truths": [True, False],
    "texts": ["x", "é", "7", "{}"],
    "nothing": [None],
}
STRANGE = [None, 2**63, 2**60 + 1, 2.0**60, "  ", "7", "1.5", [1], {"a": 1}, True, "2015-02-30", "a\n"]


@st.composite
def columns(draw, kinds, odd):
    """Values of one column: most of one kind, then most of another."""
    values = []
    for _ in range(draw(st.integers(1, 3))):
        kind = st.sampled_from(kinds[draw(st.sampled_from(sorted(kinds)))])
        mixed = st.one_of(kind, kind, kind, st.sampled_from(odd)) if draw(st.booleans()) else kind
        values += draw(st.lists(mixed, min_size=1, max_size=8))
    return values


@st.composite
def texts(draw, kinds, odd):
    """Rows of one file, some of its columns missing."""
    names = draw(st.sampled_from([NAMES, NAMES, ("b", "t"), ("a",), ("t", "a", "c")]))
    found = [draw(columns(kinds, odd)) for _ in names]
    return names, list(zip(*(one * 9 for one in found), strict=False))[: max(map(len, found))]


@st.composite
def csv_files(draw):
    files = draw(st.lists(texts(KINDS, ODD), min_size=1, max_size=3))
    return ".csv", [
        "\n".join([",".join(names), *map(",".join, found), ""]).encode(
            "latin-1" if draw(st.booleans()) else "utf-8"
        )
        for names, found in files
    ]


@st.composite
def json_files(draw):
    files = draw(st.lists(texts(PLAIN, STRANGE), min_size=1, max_size=3))
    ending = draw(st.sampled_from(["\n", "\r\n", "\n\n", " \n"]))
    lines = [[json.dumps(dict(zip(names, row, strict=True))) for row in found] for names, found in files]
    if draw(st.booleans()):
        lines[-1].append(
            draw(st.sampled_from(['{"t": NaN}', "nothing", '{"d": 1, "t": 5}', "[1]", '{"t": -0}']))
        )
    return ".jsonl", [(ending.join(some) + ending).encode() for some in lines]


def told(types: pa.Schema, found: AllRows) -> tuple[str, list[str], list[object], dict[str, int]]:
    """As texts, for NaN and -0.0 differ from themselves, and from 0.0, otherwise."""
    return str(types), list(map(repr, found.good.to_pylist())), found.rejected.to_pylist(), dict(found.empty)


def answers_of(
    place: Path,
    contents: list[bytes],
    suffix: str,
    options: ColumnOptions,
    beginning: int,
    size: int,
    numeric: tuple[str, ...] = (),
    threads: int = 1,
) -> list[object]:
    """What reading files twice gives, value by value, and what reading them once does."""
    for number, content in enumerate(contents):
        (place / f"f{number}{suffix}").write_bytes(content)
    there = discover(place)

    def twice(crew: Crew) -> object:
        types = decide(merge(evidence(file, options, crew) for file in there), options, numeric, NAMES)
        return told(types, read_all(there, types, options, READ, numeric, crew))

    def once(crew: Crew) -> object:
        first = FirstReading.of(there, options, READ, crew)
        types = decide(first.found, options, numeric, NAMES)
        return told(types, first.rows(types))

    answers: list[object] = []
    with pytest.MonkeyPatch.context() as patch, Crew(threads) as crew:
        patch.setattr(beginnings, "BEGINNING", beginning)
        patch.setattr(rows, "read_csv", partial(read_csv, block_bytes=size))
        patch.setattr(rows, "read_json", partial(read_json, block_bytes=size))
        for way, expected in ((twice, lambda *_: {}), (once, rows._expected)):
            patch.setattr(rows, "_expected", expected)
            try:
                answers.append(way(crew))
            except StreamError as error:
                answers.append(str(error))
    return answers


@given(
    st.one_of(csv_files(), json_files()),
    st.integers(16, 200),
    st.integers(16, 200),
    st.sampled_from([1, 3]),
    st.sampled_from(
        [
            TICK,
            replace(TICK, strict=True),
            replace(TICK, types=(("a", "double"),)),
            replace(TICK, unique=("a",)),
        ]
    ),
    st.sampled_from([(), ("a", "b")]),
)
def test_read_once_is_read_twice(tmp_path_factory, files, beginning, size, threads, options, numeric) -> None:
    suffix, contents = files
    place = tmp_path_factory.mktemp("once")
    twice, once = answers_of(place, contents, suffix, options, beginning, size, numeric, threads)
    assert once == twice


@pytest.mark.parametrize("kind", KINDS)
def test_one_odd_value_after_many_plain_ones(tmp_path: Path, kind: str) -> None:
    for value in ODD:
        rows = [f"{number},{KINDS[kind][number % len(KINDS[kind])]},5" for number in range(40)]
        content = "\n".join(["t,a,b", *rows, f"40,{value},5", ""]).encode("latin-1", "replace")
        twice, once = answers_of(tmp_path, [content], ".csv", TICK, 100, 100)
        assert (value, once) == (value, twice)
    for value in STRANGE:
        objects = [{"t": number, "a": PLAIN[kind][number % len(PLAIN[kind])]} for number in range(40)]
        content = "\n".join(map(json.dumps, [*objects, {"t": 40, "a": value}, {"t": 41, "c": 1}])).encode()
        twice, once = answers_of(tmp_path, [content], ".jsonl", TICK, 100, 100)
        assert (value, once) == (value, twice)


@pytest.mark.parametrize(
    "values",
    [
        ["x", *map(str, range(9))],
        ["x", "2015-01-31", *["2015-02-01"] * 8],
        [*["2015-01-31"] * 6, *["x"] * 6],
        [*["2015-01-31T08:00:00Z"] * 6, *["x"] * 6],
    ],
)
def test_each_value_counts_once(tmp_path: Path, values: list[str]) -> None:
    """One in ten may be odd, and no more."""
    content = "\n".join(
        ["t,a,b", *(f"{number},{value},5" for number, value in enumerate(values)), ""]
    ).encode()
    twice, once = answers_of(tmp_path, [content], ".csv", TICK, 16, 16)
    assert once == twice


def test_what_a_reader_sees_is_all_that_there_is_to_see(tmp_path: Path) -> None:
    """Unless the schema comes of the file itself: integers of a file are integers, whatever they are read as."""
    (tmp_path / "a.csv").write_text("t,a,b\n1,2,2015-01-31\n")
    (file,) = discover(tmp_path)
    schema = pa.schema({"t": pa.int64(), "a": pa.float64(), "b": pa.timestamp("us", "UTC")})
    seen: list[Evidence] = []
    ((good,),) = (
        [some.good.to_pylist()[0]] for some in read_file(file, schema, TICK, seen=seen) if len(some.numbers)
    )
    assert good["a"] == 2.0
    assert merge(seen) == evidence(file, TICK)


def test_of_two_problems_the_first_column_of_all_files_is_told(tmp_path: Path) -> None:
    plain = "2015-01-31,1\n" * 30
    contents = [b"b,t\n1,2015-01-31\n", f"t,b\n{plain}x,y\n".encode()]
    twice, once = answers_of(tmp_path, contents, ".csv", replace(TICK, strict=True), 100, 100)
    assert once == twice


def test_a_file_that_goes_on_as_it_began_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a column is empty in all of it; one that goes on otherwise is read again."""
    monkeypatch.setattr(beginnings, "BEGINNING", 64)
    begun = "t,k,v,w\n" + "".join(f"2026-01-05T08:00:{second:02}Z,x,{second},\n" for second in range(50))
    (tmp_path / "a.csv").write_text(begun)
    (tmp_path / "b.csv").write_text(begun + "2026-01-05T08:01:00Z,x,1.5,\n")
    (tmp_path / "c.csv").write_text("t,k,v,w\n2026-01-05T09:00:00Z,x,0.5,\n")
    opened = []

    def counted(path: str, *arguments: object, **options: object) -> object:
        opened.append(Path(path).name)
        return read_csv(path, *arguments, **options)

    monkeypatch.setattr(rows, "read_csv", counted)
    first = FirstReading.of(discover(tmp_path), TICK)
    assert opened == ["a.csv", "b.csv", "c.csv"]
    types = decide(first.found, TICK, ("w",))
    assert [str(kind) for kind in types.types] == ["timestamp[us, tz=UTC]", "string", "double", "double"]
    good, rejected, _ = first.rows(types)
    assert opened == ["a.csv", "b.csv", "c.csv", "a.csv", "b.csv"]
    assert (good.num_rows, rejected.num_rows) == (102, 0)
    assert good["v"].to_pylist()[-2:] == [1.5, 0.5]


def test_only_columns_that_are_read_are_kept(tmp_path: Path) -> None:
    """What does not fit the others is counted all the same; a key of duplicates needs all, for they are shown."""
    (tmp_path / "a.csv").write_text("t,k,v,w\n" + "1,2,3,4\n" * 20 + "1,2,3,x\n")
    files = discover(tmp_path)
    first = FirstReading.of(files, TICK, frozenset({"v"}), only_read=True)
    good, _, empty = first.rows(decide(first.found, TICK))
    assert (good.column_names, dict(empty)) == (["t", "v"], {"w": 1})
    keyed = replace(TICK, unique=("k",))
    first = FirstReading.of(files, keyed, frozenset({"v"}), only_read=True)
    assert first.rows(decide(first.found, keyed)).good.column_names == ["t", "k", "v", "w"]


def test_a_file_that_was_empty_when_it_was_listed_has_a_beginning(tmp_path):
    """It says what it has by now; whoever reads all of it sees that it has changed."""
    (tmp_path / "one.csv").write_text("time,type\n1,A\n")
    (listed,) = discover(tmp_path / "one.csv")
    begun = beginnings.beginning_of_all([replace(listed, size=0)], ColumnOptions())
    assert [column.name for column in begun.found.columns] == ["time", "type"]


def test_how_many_rows_files_have_is_guessed_by_their_beginnings(tmp_path, monkeypatch):
    monkeypatch.setattr(beginnings, "BEGINNING", 1_000)
    for name in "abcdefgh":
        (tmp_path / f"{name}.csv").write_text("time,type\n" + "1000,A\n" * 1_000)
    begun = beginnings.beginning_of_all(discover(tmp_path), ColumnOptions())
    assert 7_000 < begun.rows < 9_000
