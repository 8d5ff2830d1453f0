"""`hamlet run` and `hamlet query`: every format holds the same rows, and nothing else comes to stdout."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hamlet_core
from hamlet_core.engines.hamlet import engine
from hamlet_core.engines.hamlet.input.chunks import Limits
from hamlet_core.streams import STREAMS
from pipelines import querying
from pipelines.cli import main
from pipelines.querying import NoTables, SqlError, query
from tests.conftest import ROOT

SESSIONS = ROOT / "tests" / "golden" / "cli"
JAMS = (str(SESSIONS / "jams.hamlet"), "--events", str(SESSIONS / "rides.csv"))
Captured = pytest.CaptureFixture[bytes]


def expected() -> list[dict[str, object]]:
    """The rows of JAMS through the library."""
    from pipelines.reading import ColumnOptions, discover, read_all

    text = Path(JAMS[0]).read_text(encoding="utf-8")
    events, _, _ = read_all(discover(JAMS[2]), None, ColumnOptions())
    return hamlet_core.run(text, events).to_pylist()


def iso(value: object) -> object:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value


def test_json_is_one_array_of_row_objects(capsysbinary: Captured) -> None:
    assert main(["run", *JAMS, "--format", "json"]) == 0
    shown = capsysbinary.readouterr()
    rows = json.loads(shown.out)
    assert rows == [{name: iso(value) for name, value in row.items()} for row in expected()]
    assert shown.err == b""


def test_run_hands_on_how_sharing_is_decided(monkeypatch: pytest.MonkeyPatch, capsysbinary: Captured) -> None:
    given: dict[str, object] = {}
    execute = hamlet_core.execute
    monkeypatch.setattr(
        hamlet_core, "execute", lambda *known, **more: given.update(more) or execute(*known, **more)
    )
    assert main(["run", *JAMS, "--policy", "always", "--cost-model", "paper", "--choice", "paper"]) == 0
    assert (given["policy"], given["cost_model"], given["choice"]) == ("always", "paper", "paper")
    assert capsysbinary.readouterr().err == b""


def test_a_plan_that_changes_while_events_come_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Captured
) -> None:
    fold = engine.fold_workload
    monkeypatch.setattr(
        engine, "fold_workload", lambda *about, **how: fold(*about, **how, limits=Limits(events=60))
    )
    windows = ["F" * 10 + "A" * 5 + "B" * 10 + "C" * 12 + "D" * 4] * 2 + [
        "F" + "A" * 20 + "BB" + "C" * 30 + "D" * 10
    ] * 2
    rows = [(100 * number + at, one) for number, own in enumerate(windows) for at, one in enumerate(own)]
    (tmp_path / "e.csv").write_text("time,type\n" + "".join(f"{time},{one}\n" for time, one in rows))
    (tmp_path / "w.hamlet").write_text(
        "q1: RETURN COUNT(*) PATTERN SEQ(F, A, B, C, D) WITHIN 100 s\nq2: RETURN COUNT(*) PATTERN SEQ(A, B, C, D) WITHIN 100 s"
    )
    command = ["run", str(tmp_path / "w.hamlet"), "--events", str(tmp_path / "e.csv"), "--engine", "hamlet"]
    assert main([*command, "--optimizer", "gloria"]) == 0
    shown = capsysbinary.readouterr().err.decode()
    assert shown.startswith(
        "optimizer gloria: another plan for q1, q2 from time 200 on, because F came 10 times"
    )
    assert main(command) == 0
    assert capsysbinary.readouterr().err == b""


def test_windows_beyond_the_years_of_tables_are_printed_in_every_format(
    tmp_path: Path, capsysbinary: Captured
) -> None:
    """The windows that E537 sends to `hamlet run`; groups are of such times as well."""
    ends = [-62_135_596_800_000_001, 253_402_300_799_999_999]
    times = pa.array(ends, pa.timestamp("us", "UTC"))
    made = pa.array([-(2**62), 2**62], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"time": times, "type": ["A", "A"], "made": made}), tmp_path / "far.parquet")
    (tmp_path / "far.hamlet").write_text("far: RETURN made, COUNT(*) PATTERN A GROUP-BY made WITHIN 2 days")
    command = ["run", str(tmp_path / "far.hamlet"), "--events", str(tmp_path / "far.parquet")]
    bounds = [
        ("0000-12-30T00:00:00Z", "0001-01-01T00:00:00Z"), ("9999-12-31T00:00:00Z", "+10000-01-02T00:00:00Z"),
    ]  # fmt: skip

    def printed(format_: str) -> bytes:
        assert main([*command, "--format", format_]) == 0
        shown = capsysbinary.readouterr()
        assert shown.err == b""
        return shown.out

    rows = json.loads(printed("json"))
    keys = ['{"made":"-144169-06-28T09:59:32.612096Z"}', '{"made":"+148108-07-06T14:00:27.387904Z"}']
    assert [row["group_key"] for row in rows] == keys
    found = [(row["window_start"], row["window_end"]) for row in rows]
    assert found == bounds
    read = list(csv.DictReader(io.StringIO(printed("csv").decode())))
    assert [(row["window_start"], row["window_end"], row["group_key"]) for row in read] == [
        (*pair, key) for pair, key in zip(found, keys, strict=True)
    ]
    table = pq.read_table(io.BytesIO(printed("parquet")))
    length = 2 * 86_400_000_000
    begins = table.column("window_start").cast(pa.int64()).to_pylist()
    assert [begin + length for begin in begins] == table.column("window_end").cast(pa.int64()).to_pylist()
    assert [0 <= end - begin < length for begin, end in zip(begins, ends, strict=True)] == [True, True]
    lines = printed("table").decode().splitlines()
    assert "0000-12-30 - 0001-01-01" in lines[2]
    assert "9999-12-31 - +10000-01-02" in lines[3]
    for (start, _), key in zip(bounds, keys, strict=True):
        assert main([*command, "--why", key, start, "--format", "json"]) == 0
        (why,) = json.loads(capsysbinary.readouterr().out)
        assert (why["window_start"], why["group_key"], why["trends"]) == (start, key, 1)


def test_json_of_no_rows_is_an_empty_array(tmp_path: Path, capsysbinary: Captured) -> None:
    (tmp_path / "none.csv").write_text("time,type\n1,A\n")
    assert (
        main(
            [
                "run",
                str(SESSIONS / "pairs.hamlet"),
                "--events",
                str(tmp_path / "none.csv"),
                "--format",
                "json",
            ]
        )
        == 0
    )
    assert json.loads(capsysbinary.readouterr().out) == []


def test_csv_has_every_row_and_column(capsysbinary: Captured) -> None:
    assert main(["run", *JAMS, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsysbinary.readouterr().out.decode())))
    assert [row["value"] for row in rows] == [repr(row["value"]) for row in expected()]
    assert [row["group_key"] for row in rows] == [row["group_key"] for row in expected()]
    assert all(row["exact"] == "" for row in rows)


def test_parquet_to_stdout_and_to_a_file_keeps_types(tmp_path: Path, capsysbinary: Captured) -> None:
    assert main(["run", *JAMS, "--format", "parquet"]) == 0
    table = pq.read_table(io.BytesIO(capsysbinary.readouterr().out))
    assert table.to_pylist() == expected()
    assert table.schema.equals(hamlet_core.result_schema(pa.timestamp("us", "UTC")))
    assert main(["run", *JAMS, "--format", "parquet", "--out", str(tmp_path / "rows.parquet")]) == 0
    assert capsysbinary.readouterr().out == b""
    assert pq.read_table(tmp_path / "rows.parquet").equals(table)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_a_table_can_go_to_a_file(tmp_path: Path, capsysbinary: Captured) -> None:
    assert main(["run", *JAMS]) == 0
    shown = capsysbinary.readouterr().out
    assert main(["run", *JAMS, "--out", str(tmp_path / "rows.txt")]) == 0
    assert (tmp_path / "rows.txt").read_bytes() == shown


def test_a_failed_run_leaves_the_old_file(tmp_path: Path) -> None:
    old = tmp_path / "rows.csv"
    old.write_text("old")
    arguments = ["run", str(SESSIONS / "counts.hamlet"), "--events", str(SESSIONS / "broken.csv")]
    assert main([*arguments, "--format", "csv", "--out", str(old)]) == 1
    assert old.read_text() == "old"


def test_empty_files_are_no_failure(tmp_path: Path, capsysbinary: Captured) -> None:
    (tmp_path / "empty.csv").write_text("")
    assert main(["run", JAMS[0], "--events", str(tmp_path), "--format", "csv"]) == 0
    shown = capsysbinary.readouterr()
    assert shown.out.decode().splitlines() == [",".join(hamlet_core.result_schema(pa.int64()).names)]
    assert shown.err == b"No columns and no rows in the files.\n"


def test_engines_and_arithmetics_can_be_chosen(capsysbinary: Captured) -> None:
    assert main(["run", *JAMS, "--format", "json"]) == 0
    greta = capsysbinary.readouterr().out
    assert main(["run", *JAMS, "--format", "json", "--engine", "two_step", "--policy", "never"]) == 0
    assert capsysbinary.readouterr().out == greta
    assert main(["run", *JAMS, "--format", "json", "--arithmetic", "modular"]) == 0
    assert json.loads(capsysbinary.readouterr().out)[0]["fingerprint"] == 11


NAMES = (b"P0", b"P1", b"S0", b"S1", b"B", b"F")


def test_generate_is_seeded(tmp_path: Path, capsysbinary: Captured) -> None:
    for name, seed in (("a.csv", "1"), ("b.csv", "1"), ("c.csv", "2")):
        assert (
            main(
                ["generate", "ridesharing", "--events", "500", "--seed", seed, "--out", str(tmp_path / name)]
            )
            == 0
        )
    assert capsysbinary.readouterr().out == b""
    a, b, c = ((tmp_path / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c
    assert len(a.splitlines()) == 501


def test_generate_takes_the_knobs_of_a_stream(tmp_path: Path, capsysbinary: Captured) -> None:
    target = tmp_path / "bursts.csv"
    knobs = "--types 2 --burst 3 --ties 0.5 --groups 4 --late 0.2 --broken 7 --set foreign_rate=0.2 --set disturbed=true"
    assert main(["generate", "bursty", "--events", "500", *knobs.split(), "--out", str(target)]) == 0
    assert capsysbinary.readouterr().err.startswith(b"500 events of bursty (seed 7), 7 of them broken, in ")
    rows = [line.split(b",") for line in target.read_bytes().splitlines()[1:]]
    times = [int(row[0]) for row in rows if row[0].isdigit()]
    assert times != sorted(times)
    counted = Counter(row[1] for row in rows if len(row) == 5)
    assert {name for name, count in counted.items() if count > 1} == {b'"%s"' % name for name in NAMES}


def test_the_help_of_generate_names_every_stream(capsysbinary: Captured) -> None:
    assert main(["generate", "--help"]) == 0
    named = capsysbinary.readouterr().out.decode().split("Streams: ")[1].strip().rstrip(".")
    assert named.split(", ") == sorted(STREAMS)


def test_generated_queries_run_over_generated_events(tmp_path: Path, capsysbinary: Captured) -> None:
    workload, events = str(tmp_path / "taxi.hamlet"), str(tmp_path / "taxi.parquet")
    assert main(["generate", "taxi", "--queries", "6", "--types", "8", "--out", workload]) == 0
    assert main(["generate", "taxi", "--events", "400", "--types", "8", "--out", events]) == 0
    capsysbinary.readouterr()
    assert main(["check", workload]) == 0
    capsysbinary.readouterr()
    assert main(["run", workload, "--events", events, "--format", "json", "--engine", "greta"]) == 0
    assert len({row["query"] for row in json.loads(capsysbinary.readouterr().out)}) == 6


def test_other_peoples_words_do_not_reach_stdout() -> None:
    program = (
        "import os; from pipelines.showing.output import only_results; print('before')\n"
        "with only_results(): print('of Python'); os.system('echo of a child')\n"
        "print('after')"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "before\nafter\n"
    assert sorted(done.stderr.splitlines()) == ["of Python", "of a child"]


# --- hamlet query -------------------------------------------------------------------------------


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Two small Delta tables, and things that are none."""
    root = tmp_path / "warehouse"
    time = datetime(2026, 1, 5, 8, 30, tzinfo=UTC)
    first = pa.table(
        {"name": ["a", "b"], "n": [1, 2], "time": pa.array([time, None], pa.timestamp("us", "UTC"))}
    )
    deltalake.write_deltalake(root / "first", first)
    deltalake.write_deltalake(root / "second", pa.table({"x": [0.5, None]}))
    (root / "inbox").mkdir()
    (root / "secret.csv").write_text("password\n")
    return root


def test_tables_are_views_by_name(warehouse: Path) -> None:
    rows = query("SELECT name, n, time::DATE AS day FROM first, second WHERE x = 0.5 ORDER BY n", warehouse)
    assert rows.to_pylist() == [
        {"name": "a", "n": 1, "day": datetime(2026, 1, 5).date()},  # noqa: DTZ001
        {"name": "b", "n": 2, "day": None},
    ]
    assert querying.table_names(warehouse) == ("first", "second")


def test_query_prints_its_rows(warehouse: Path, capsysbinary: Captured) -> None:
    assert main(["query", "FROM first ORDER BY n", "--warehouse", str(warehouse), "--format", "json"]) == 0
    assert json.loads(capsysbinary.readouterr().out) == [
        {"name": "a", "n": 1, "time": "2026-01-05T08:30:00Z"},
        {"name": "b", "n": 2, "time": None},
    ]
    assert main(["query", "FROM first ORDER BY n", "--warehouse", str(warehouse), "--limit", "1"]) == 0
    shown = capsysbinary.readouterr().out.decode()
    assert re.search(r"a +1 +2026-01-05 08:30\n", shown)
    assert shown.endswith("2 rows, the first 1 shown (--limit 0 shows all)\n")


@pytest.mark.parametrize(
    ("sql", "code", "words"),
    [
        ("SELEC 1", "E541", "syntax error"),
        ("SELECT nope FROM first", "E541", '"nope" not found'),
        ("SELECT * FROM third", "E541", "the tables are first, second"),
        ("SELECT 1; SELECT 2", "E542", "SELECT, SELECT"),
        ("", "E542", "nothing"),
        ("DROP VIEW first", "E542", "DROP"),
        ("CREATE TABLE x AS SELECT 1", "E542", "CREATE"),
        ("COPY first TO 'stolen.csv'", "E542", "COPY"),
        ("ATTACH 'x.db'", "E542", "ATTACH"),
        ("INSTALL httpfs", "E542", "LOAD"),
        ("SET enable_external_access = true", "E542", "SET"),
        ("SELECT * FROM read_csv('secret.csv')", "E541", "disabled"),
        ("SELECT * FROM 'secret.csv'", "E541", ""),
        ("SELECT * FROM glob('*')", "E541", "disabled"),
        ("SELECT * FROM variable", "E541", "does not exist"),
        ("SELECT CAST(name AS INTEGER) FROM first", "E543", "Could not convert"),
    ],
)
def test_what_sql_may_not_do(
    sql: str, code: str, words: str, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(warehouse)
    monkeypatch.setattr(querying, "variable", pa.table({"x": [1]}), raising=False)
    with pytest.raises(SqlError) as refused:
        query(sql, warehouse)
    assert refused.value.code == code
    assert words in str(refused.value)
    assert not (warehouse / "stolen.csv").exists()


@pytest.mark.parametrize(
    "name", ['x"; DROP VIEW first; --', "it's", "a b", "ünï-é.東京", "${HOME}{{x}}", "50%"]
)
def test_names_of_tables_and_columns_are_never_run(warehouse: Path, name: str) -> None:
    value = f"{name}'; DROP VIEW first; --"
    rows = pa.table({name.replace('"', "'"): [value]})
    deltalake.DeltaTable.create(
        str(warehouse / name),
        rows.schema,
        configuration={"hamlet.query": value},
        raise_if_key_not_exists=False,
    )
    deltalake.write_deltalake(str(warehouse / name), rows, mode="append")
    quoted = '"' + name.replace('"', '""') + '"'
    assert query(f"FROM {quoted}", warehouse).to_pylist() == rows.to_pylist()
    about = query("FROM hamlet_tables WHERE query IS NOT NULL", warehouse).to_pylist()
    assert [(row["table"], row["query"]) for row in about] == [(name, value)]
    assert query("SELECT count(*) AS n FROM first", warehouse).to_pylist() == [{"n": 2}]


def test_what_tables_mean_is_a_view(warehouse: Path) -> None:
    columns = query("SELECT * FROM hamlet_columns WHERE \"table\" = 'second'", warehouse).to_pylist()
    assert columns == [{"table": "second", "column": "x", "type": "double", "comment": None}]


def test_exit_codes_of_query(warehouse: Path, capsysbinary: Captured) -> None:
    assert main(["query", "SELECT CAST(name AS INTEGER) FROM first", "--warehouse", str(warehouse)]) == 1
    assert main(["query", "SELECT nope", "--warehouse", str(warehouse)]) == 2
    assert capsysbinary.readouterr().out == b""


def test_query_as_a_process_says_nothing_but_its_rows(warehouse: Path) -> None:
    sql = "SELECT count(*) AS n FROM hamlet_tables"
    program = "import sys; from pipelines.cli import main; sys.exit(main())"
    options = ["--warehouse", str(warehouse), "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-c", program, "query", sql, *options],
        check=True, cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    (row,) = json.loads(done.stdout)
    assert row["n"] >= 1
    assert done.stderr == ""


def test_a_folder_without_tables(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(NoTables, match="E540"):
            query("SELECT 1", place)
