"""Hostile files and texts through `hamlet run`: the right answer, or one message with a code that a terminal can show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.cli import main
from tests.conftest import ROOT

Captured = pytest.CaptureFixture[str]
COUNT = "RETURN COUNT(*) PATTERN A+ WITHIN 10 s"
SUM = "RETURN COUNT(*), SUM(a.v) PATTERN A a WITHIN 10 s"
GROUPS = "RETURN g, COUNT(*) PATTERN A GROUP-BY g WITHIN 10 s"
DAYS = "RETURN COUNT(*) PATTERN A WITHIN 1 d"
SKIP = ("--on-bad-rows", "skip")
ON_A_TERMINAL = 8_000
"""More characters than any message has."""


def arguments(folder: Path, text: str, content: bytes | pa.Table, *options: str, name: str = "") -> list[str]:
    """The command over a file of this content, which is CSV or Parquet unless it has another name."""
    events = folder / (name or ("f.csv" if isinstance(content, bytes) else "f.parquet"))
    if isinstance(content, bytes):
        events.write_bytes(content)
    else:
        pq.write_table(content, events)
    workload = folder / "hostile.hamlet"
    workload.write_text(text, encoding="utf-8")
    formatted = () if "--format" in options else ("--format", "json")
    return ["run", str(workload), "--events", str(events), "--engine", "greta", *formatted, *options]


class Run:
    """`hamlet run` in this process."""

    def __init__(self, folder: Path, captured: Captured) -> None:
        self.folder, self.captured = folder, captured

    def __call__(
        self, text: str, content: bytes | pa.Table, *options: str, name: str = ""
    ) -> tuple[int, str, str]:
        code = main(arguments(self.folder, text, content, *options, name=name))
        shown = self.captured.readouterr()
        assert "Traceback" not in shown.err
        assert len(shown.err) < ON_A_TERMINAL
        return code, shown.out, shown.err

    def rows(
        self, text: str, content: bytes | pa.Table, *options: str, name: str = ""
    ) -> list[dict[str, object]]:
        """The rows; nothing was wrong, or `options` say that it is no matter."""
        code, out, said = self(text, content, *options, name=name)
        assert code == 0, said
        found: list[dict[str, object]] = json.loads(out)
        return found

    def values(self, text: str, content: bytes | pa.Table, *options: str, name: str = "") -> list[object]:
        return [row["value"] for row in self.rows(text, content, *options, name=name)]

    def error(self, text: str, content: bytes | pa.Table, *options: str, name: str = "") -> str:
        """The code of the one message."""
        code, out, said = self(text, content, *options, name=name)
        assert (code != 0, out) == (True, ""), said
        (line,) = [line for line in said.splitlines() if line.startswith("Error")]
        named = re.search(r"\[(E\d{3})\]", line)
        assert named is not None, said
        return named[1]


@pytest.fixture
def run(tmp_path: Path, capsys: Captured) -> Run:
    return Run(tmp_path, capsys)


def events(**columns: object) -> pa.Table:
    """Events of type A, at 1, 2, 3 ... unless said otherwise."""
    length = len(next(iter(columns.values())))  # type: ignore[arg-type]
    return pa.table({"time": range(1, length + 1), "type": ["A"] * length, **columns})


LONG = b"y" * 50_000_000
IN_LITTLE_MEMORY = """
import sys
from pipelines.cli import main
from hamlet_core.bench.memory import peak
code = main(sys.argv[1:])
sys.stdout.flush()
print("MiB", peak() >> 20, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (b"2,A," + LONG, ""),
        (b"2x,A," + LONG, "column time: '2x' is not an integer [E410]"),
        (b'2,A,"' + LONG, "[E406]"),
        (LONG + b",A,z", "is not an integer [E410]"),
    ],
    ids=["a value", "a row that is none", "an open quote", "a time"],
)
def test_a_line_of_50_mb_is_an_event_or_a_bad_row(tmp_path: Path, row: bytes, word: str) -> None:
    command = arguments(tmp_path, COUNT, b"time,type,note\n1,A,x\n" + row + b"\n3,A,z\n", *SKIP)
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY, *command],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    (found,) = json.loads(done.stdout)
    assert found["value"] == (3 if word else 7)
    assert word in done.stderr
    assert len(done.stderr) < ON_A_TERMINAL
    assert int(done.stderr.split()[-1]) < 1_024


def test_ten_thousand_columns(run: Run) -> None:
    names = ",".join(f"c{number}" for number in range(10_000))
    values = ",".join(str(number) for number in range(10_000))
    content = f"time,type,{names}\n1,A,{values}\n2,A,{values}\n".encode()
    assert run.values("RETURN SUM(a.c9999) PATTERN A a WITHIN 10 s", content) == [2 * 9_999]
    assert run.error("RETURN SUM(a.d9999) PATTERN A a WITHIN 10 s", content) == "E202"


@pytest.mark.parametrize("ending", [b"\r", b"\r\n", b"\n"])
def test_each_end_of_a_line(run: Run, ending: bytes) -> None:
    assert run.values(COUNT, ending.join([b"time,type", b"1,A", b"2,A", b"3,B", b""])) == [3]


@pytest.mark.parametrize(
    ("encoding", "codes"),
    [
        ("utf-16", []),
        ("utf-8-sig", []),
        ("latin-1", ["E404", "E452"]),
        ("utf-16-le", ["E401", "E452"]),
        ("utf-32", ["E401", "E452"]),
        ("cp037", ["E401", "E452"]),
    ],
)
def test_encodings(run: Run, encoding: str, codes: list[str]) -> None:
    content = "time,type,g\n1,A,é\n2,A,é\n".encode(encoding)
    if not codes:
        (row,) = run.rows(GROUPS, content)
        assert (row["group_key"], row["value"]) == ('{"g":"é"}', 2)
        return
    code, _, said = run(GROUPS, content)
    assert code == 1
    assert sorted(set(re.findall(r"E\d{3}", said))) == codes


@pytest.mark.parametrize("nested", [b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000])
def test_json_nested_ten_thousand_deep_is_one_bad_row(run: Run, nested: bytes) -> None:
    content = b'{"time":1,"type":"A"}\n{"time":2,"type":"A","x":' + nested + b'}\n{"time":3,"type":"A"}\n'
    code, out, said = run(COUNT, content, *SKIP, name="f.jsonl")
    assert (code, json.loads(out)[0]["value"]) == (0, 3)
    assert "row 2: values are nested too deep to be read [E405]" in said


def test_lists_and_structs_in_parquet(run: Run) -> None:
    nested = events(v=[[1], [2], [3]], s=[{"x": 1}, {"x": 2}, {"x": 2}])
    assert run.values(COUNT, nested) == [7]
    assert run.error(SUM, nested) == "E135"
    grouped = {row["group_key"]: row["value"] for row in run.rows(GROUPS.replace("g", "s"), nested)}
    assert {json.loads(json.loads(key)["s"])["x"]: value for key, value in grouped.items()} == {1: 1, 2: 2}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.decimal128(38, 2), ["1.10", "-2.20"]),
        (pa.decimal128(38, 38), ["0.5", "-0.25"]),
        (pa.decimal256(76, 2), ["1.10", "-" + "9" * 36]),
        (pa.uint64(), ["1", str(2**63 - 1)]),
        (pa.int8(), ["127", "-128"]),
        (pa.float16(), ["1.5", "-0.25"]),
    ],
    ids=str,
)
def test_numbers_of_parquet_have_their_values(run: Run, kind: pa.DataType, values: list[str]) -> None:
    texts = [Decimal(value) for value in values]
    given = [float(one) for one in texts] if pa.types.is_floating(kind) else texts
    stored = pa.array([int(one) for one in texts] if pa.types.is_integer(kind) else given, kind)
    (_, total) = run.values(SUM, events(v=stored))
    assert total == pytest.approx(float(sum(texts)))


@pytest.mark.parametrize(
    ("kind", "beyond"),
    [
        (pa.decimal256(76, 2), "2" + "0" * 60),
        (pa.decimal256(76, 2), "1" * 37),
        (pa.decimal256(76, 40), "1.5"),
        (pa.uint64(), str(2**64 - 1)),
    ],
)
def test_numbers_with_more_digits_than_we_keep_are_bad_rows(run: Run, kind: pa.DataType, beyond: str) -> None:
    values = [Decimal(one) if pa.types.is_decimal(kind) else int(one) for one in ("0", beyond)]
    stored = events(v=pa.array(values, kind))
    assert run.error(SUM, stored) == "E452"
    code, out, said = run(SUM, stored, *SKIP)
    assert (code, [row["value"] for row in json.loads(out)]) == (0, [1, 0])
    assert "row 2: column v: " in said
    assert "is out of range [E416]" in said


def test_nanoseconds_with_a_zone(run: Run) -> None:
    times = pa.array([1_000, 2_000_000, 2_000_001], pa.timestamp("ns", "Asia/Kolkata"))
    code, out, said = run(COUNT, events(time=times), *SKIP)
    (row,) = json.loads(out)
    assert (code, row["value"], row["window_start"]) == (0, 3, "1970-01-01T00:00:00Z")
    assert (
        "row 3: column time: '1970-01-01 05:30:00.002000001+05:30' is finer than a microsecond [E417]" in said
    )


def test_int96(run: Run, tmp_path: Path) -> None:
    times = pa.array([datetime(1960, 1, 5, tzinfo=UTC), datetime(2026, 1, 5, 12, tzinfo=UTC)])
    file = tmp_path / "spark.parquet"
    pq.write_table(events(time=times), file, use_deprecated_int96_timestamps=True)
    rows = run.rows(DAYS, file.read_bytes(), name="f.parquet")
    assert [row["window_start"] for row in rows] == ["1960-01-05T00:00:00Z", "2026-01-05T00:00:00Z"]


def test_the_first_and_the_last_day_of_the_calendar(run: Run) -> None:
    ends = b"0001-01-01T00:00:00Z,A\n9999-12-31T23:59:59.999999Z,A\n"
    rows = run.rows(DAYS, b"time,type\n" + ends + b"10000-01-01T00:00:00Z,A\n", *SKIP)
    assert [(row["window_start"], row["window_end"]) for row in rows] == [
        ("0001-01-01T00:00:00Z", "0001-01-02T00:00:00Z"),
        ("9999-12-31T00:00:00Z", "+10000-01-01T00:00:00Z"),
    ]


def test_hours_that_a_clock_shows_twice_or_never_are_bad_rows(run: Run) -> None:
    times = (
        "2026-03-29 01:30",
        "2026-03-29 02:30",
        "2026-03-29 03:30",
        "2026-10-25 02:30",
        "2026-10-25 03:30",
    )
    content = "time,type\n" + "".join(f"{one},A\n" for one in times)
    code, out, said = run(COUNT, content.encode(), "--zone", "Europe/Berlin", *SKIP)
    assert code == 0
    starts = [row["window_start"] for row in json.loads(out)]
    assert starts == ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-10-25T02:30:00Z"]
    assert re.findall(r"row (\d): .*E419", said) == ["2", "4"]


def test_both_zeros_are_one_value(run: Run) -> None:
    text = "RETURN v, COUNT(*), MIN(a.v), MAX(a.v) PATTERN A a+ GROUP-BY v WITHIN 10 s"
    for content in (b"time,type,v\n1,A,-0.0\n2,A,0.0\n3,A,1.5\n", events(v=[-0.0, 0.0, 1.5])):
        rows = run.rows(text, content)
        assert [row["value"] for row in rows] == [3, 0, 0, 1, 1.5, 1.5]
        assert {row["group_key"] for row in rows} == {'{"v":0.0}', '{"v":1.5}'}
        assert "-0" not in str(rows)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_a_bad_row(run: Run, value: float) -> None:
    csv = f"time,type,v\n1,A,{value}\n2,A,0.5\n3,A,0.5\n".encode()
    for content in (csv, events(v=[value, 0.5, 0.5])):
        assert run.error(SUM, content) == "E452"
        assert run.values(SUM, content, *SKIP) == [2, 1]


VALUES = (
    "a\0b", "a\nb", "a\r\nb", "../../etc/passwd", "%2F", "%252F", "a/b", "\u202egnp.exe", "\u200f\u05e9\u05dc\u05d5\u05dd", "مرحبا", "\u2028",
    "\x1b[31mred", "", " ", "\ufeff", "e\u0301", "é", "\U0010ffff", "NULL", "'; DROP TABLE events; --",
)  # fmt: skip


def test_values_of_groups_are_themselves_in_every_format(run: Run) -> None:
    content = "".join(json.dumps({"time": 1, "type": "A", "g": value}) + "\n" for value in VALUES).encode()
    for shown in (
        run.rows(GROUPS, content, name="f.jsonl"),
        run.rows(GROUPS, events(time=[1] * len(VALUES), g=VALUES)),
    ):
        assert {json.loads(str(row["group_key"]))["g"]: row["value"] for row in shown} == dict.fromkeys(
            VALUES, 1
        )
    code, out, _ = run(GROUPS, content, "--format", "csv", name="f.jsonl")
    assert code == 0
    assert out.count("COUNT(*)") == len(VALUES)


NAMES = (
    "Q",
    "q",
    "SELECT",
    "select",
    "trend_aggregates",
    "events",
    "events ",
    "a/b",
    "../x",
    "a\nb",
    "1",
    "é",
    "e\u0301",
)


def test_names_of_queries_that_nearly_collide_are_different_queries(run: Run) -> None:
    windows = {name: 10 + number for number, name in enumerate(NAMES)}
    text = "\n".join(f'"{name}": {COUNT.replace("10", str(window))}' for name, window in windows.items())
    rows = run.rows(text, b"time,type\n1,A\n")
    assert {row["query"]: row["window_end"] for row in rows} == windows


@pytest.mark.parametrize(
    "text", [f"q: {COUNT}\nq: {COUNT}", f"{COUNT}\nq1: {COUNT}", f'q: {COUNT}\n"q": {COUNT}']
)
def test_names_of_queries_that_collide_are_refused(run: Run, text: str) -> None:
    assert run.error(text, b"time,type\n1,A\n") == "E140"


MUCH = 10_000_000
ANSWERED: dict[str, Callable[[], str]] = {
    "a string": lambda: SUM.replace("WITHIN", f"WHERE a.g != '{'y' * MUCH}' WITHIN"),
    "a comment": lambda: f"-- {'y' * MUCH}\n{SUM}",
    "blanks": lambda: f"{' ' * MUCH}{SUM}",
    "ORs": lambda: SUM.replace(
        "WITHIN", f"WHERE {' OR '.join(f'a.v = {one}' for one in range(3_000))} WITHIN"
    ),
}
REFUSED: dict[str, tuple[str, Callable[[], str]]] = {
    "an alias": ("E102", lambda: f"RETURN COUNT(*) PATTERN A a WHERE {'b' * MUCH}.v = 1 WITHIN 10 s"),
    "an alias after a string": ("E102", lambda: f"RETURN COUNT(*) PATTERN A a WHERE a.g = '{'y' * MUCH}' AND b.v = 1 WITHIN 10 s"),
    "digits": ("E017", lambda: f"RETURN COUNT(*) PATTERN A a WHERE a.v = {'9' * MUCH} WITHIN 10 s"),
    "an attribute": ("E202", lambda: f"RETURN SUM(a.{'v' * MUCH}) PATTERN A a WITHIN 10 s"),
    "a name that comes twice": ("E140", lambda: 2 * f"{'q' * (MUCH // 2)}: {COUNT}\n"),
    "an open string": ("E003", lambda: f"RETURN COUNT(*) PATTERN A a WHERE a.g = '{'y' * MUCH}"),
    "parentheses": ("E018", lambda: f"RETURN COUNT(*) PATTERN {'(' * 1_000_000}"),
    "signs of a pattern": ("E018", lambda: f"RETURN COUNT(*) PATTERN A{'+' * 100_000} WITHIN 10 s"),
    "NOT": ("E018", lambda: f"RETURN COUNT(*) PATTERN A a WHERE {'NOT ' * 100_000} a.v = 1 WITHIN 10 s"),
    "minus": ("E018", lambda: f"RETURN COUNT(*) PATTERN A a WHERE a.v = {'- ' * 100_000} 1 WITHIN 10 s"),
}  # fmt: skip


@pytest.mark.parametrize("text", ANSWERED.values(), ids=ANSWERED)
def test_texts_of_ten_megabytes_are_answered(run: Run, text: Callable[[], str]) -> None:
    assert run.values(text(), b"time,type,v,g\n1,A,1,x\n2,A,2,x\n") == [2, 3]


@pytest.mark.parametrize(("code", "text"), REFUSED.values(), ids=REFUSED)
def test_texts_of_ten_megabytes_are_refused_in_a_few_lines(
    run: Run, code: str, text: Callable[[], str]
) -> None:
    assert run.error(text(), b"time,type,v,g\n1,A,1,x\n") == code


def test_ten_thousand_queries(run: Run) -> None:
    text = "\n".join(f"q{number}: {COUNT.replace('10 s', f'{10 + number} s')}" for number in range(10_000))
    rows = run.rows(text, b"time,type\n1,A\n2,A\n")
    assert [(row["query"], row["window_end"], row["value"]) for row in rows] == [
        (f"q{number}", 10 + number, 3) for number in range(10_000)
    ]


@pytest.mark.parametrize(
    "pattern", ["%a" * 30 + "%b", "%_" * 2_000 + "%b", "%" * 5_000 + "b", "_" * 5_000 + "%b"]
)
def test_like_patterns_that_blow_up_in_a_backtracking_matcher(run: Run, pattern: str) -> None:
    content = b"time,type,g\n1,A,%s\n2,A,%sb\n3,A,b\n" % (b"a" * 50_000, b"a" * 50_000)
    text = f"RETURN MIN(a.time) PATTERN A a WHERE a.g LIKE '{pattern}' WITHIN 10 s"
    assert run.values(text, content) == [2]
