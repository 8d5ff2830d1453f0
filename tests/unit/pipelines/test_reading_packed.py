"""Packed files, UTF-16, patterns and stdin: the same rows as of the plain file, or a row that says what is wrong."""

from __future__ import annotations

import bz2
import gzip
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.reading import ColumnOptions, changed_since, discover, ignored, read_all
from tests.conftest import ROOT

TICK = ColumnOptions(time="t", type_value="Tick")
CSV = "t,v,w\n" + "".join(f"{place},{place % 7},{'ü€😀'[place % 3]}\n" for place in range(50_000))
JSON = "".join(f'{{"t": {place}, "v": {place % 7}, "w": "{"ü€😀"[place % 3]}"}}\n' for place in range(20_000))


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.compress(content, "zstd", asbytes=True)
    return packed


def twice(content: bytes) -> bytes:
    """Two members, as of a log that was packed in turns."""
    half = len(content) // 2
    return gzip.compress(content[:half]) + gzip.compress(content[half:])


def rows(path: Path) -> list[dict[str, object]]:
    good, rejected, _ = read_all(discover(path), None, TICK)
    assert rejected.num_rows == 0
    return good.to_pylist()


@pytest.mark.parametrize(("suffix", "text"), [(".csv", CSV), (".jsonl", JSON)])
@pytest.mark.parametrize(
    ("ending", "pack"),
    [
        (".gz", gzip.compress),
        (".gz", twice),
        (".zst", zstd),
        (".bz2", bz2.compress),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_packed_file_has_the_rows_of_the_plain_one(
    tmp_path: Path, suffix: str, text: str, ending: str, pack: Callable[[bytes], bytes], encoding: str
) -> None:
    (tmp_path / f"plain{suffix}").write_text(text, "utf-8")
    (tmp_path / f"packed{suffix}{ending}").write_bytes(pack(text.encode(encoding)))
    (tmp_path / f"recoded{suffix}").write_bytes(text.encode(encoding))
    plain = rows(tmp_path / f"plain{suffix}")
    assert len(plain) in (50_000, 20_000)
    assert rows(tmp_path / f"packed{suffix}{ending}") == plain
    assert rows(tmp_path / f"recoded{suffix}") == plain


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_either_order_of_bytes_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "f.csv").write_bytes("\ufefft,v\r\n1,é\r\n2,\U0001f600\r\n".encode(encoding))
    assert rows(tmp_path / "f.csv") == [{"t": 1, "v": "é"}, {"t": 2, "v": "\U0001f600"}]


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(CSV.encode())[:-20],
        b"no gzip at all",
        gzip.compress(CSV.encode())[:5_000] + bytes(5_000),
    ],
    ids=["cut off", "another thing", "damaged"],
)
def test_what_cannot_be_unpacked_is_a_row_that_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.csv.gz").write_bytes(content)
    (tmp_path / "g.csv").write_text("t,v,w\n7,8,x\n")
    good, rejected, _ = read_all(discover(tmp_path), None, TICK)
    assert good.to_pylist()[-1] == {"t": 7, "v": 8, "w": "x"}
    (row,) = rejected.to_pylist()
    assert (row["source_file"], row["row_number"], row["code"]) == ("f.csv.gz", None, "E401")
    assert f"{len(content):,} bytes" in row["reason"]


def test_a_packed_parquet_file_is_none_of_events(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1]}), tmp_path / "f.parquet")
    (tmp_path / "f.parquet.gz").write_bytes(gzip.compress((tmp_path / "f.parquet").read_bytes()))
    assert [file.name for file in discover(tmp_path)] == ["f.parquet"]
    assert ignored(tmp_path) == ("f.parquet.gz",)


def test_a_pattern_is_the_files_that_it_matches(tmp_path: Path) -> None:
    for name in ("a1.csv", "a2.csv", "b1.csv", "a.txt", "days/a3.csv", "days/.a4.csv", "days/more/a5.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"t\n{len(name)}\n")

    def named(pattern: str) -> list[str]:
        return [file.name for file in discover(tmp_path / pattern)]

    assert named("a*.csv") == ["a1.csv", "a2.csv"]
    assert named("[ab]1.*") == ["a1.csv", "b1.csv"]
    assert named("a*") == ["a.txt", "a1.csv", "a2.csv"]
    assert named("d*") == ["days/a3.csv", "days/more/a5.csv"]
    assert named("**/a?.csv") == ["a1.csv", "a2.csv", "days/a3.csv", "days/more/a5.csv"]
    assert not changed_since(tmp_path / "a*.csv", discover(tmp_path / "a*.csv"))
    (tmp_path / "a[1].csv").write_text("t\n1\n")
    assert named("a[1].csv") == ["a[1].csv"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "csv.gz", "jsonl.zst", "csv.utf16"])
def test_events_on_stdin_are_those_of_the_file(tmp_path: Path, form: str) -> None:
    query, plain = tmp_path / "q.hamlet", tmp_path / "events.csv"
    query.write_text("RETURN COUNT(*), SUM(a.v) PATTERN SEQ(A a+) WITHIN 10 s\n")
    plain.write_text("time,type,v\n1,A,2\n2,A,3\n3,B,4\n")
    given = {
        "csv": plain.read_bytes(),
        "csv.gz": gzip.compress(plain.read_bytes()),
        "csv.utf16": plain.read_text().encode("utf-16"),
        "jsonl": b'\n {"time": 1, "type": "A", "v": 2}\n{"time": 2, "type": "A", "v": 3}\n',
    }
    if form == "jsonl.zst":
        content = zstd(given["jsonl"])
    elif form == "parquet":
        pq.write_table(pa.table({"time": [1, 2], "type": ["A", "A"], "v": [2, 3]}), tmp_path / "f.parquet")
        content = (tmp_path / "f.parquet").read_bytes()
    else:
        content = given[form]

    def shown(events: str, stdin: bytes) -> bytes:
        command = (sys.executable, "-m", "pipelines.cli", "run", str(query), "--events", events)
        engine = ("--engine", "greta")
        return subprocess.run(
            [*command, *engine], input=stdin, capture_output=True, check=True, cwd=ROOT
        ).stdout

    assert shown("-", content) == shown(str(plain), b"")


def test_stdin_is_one_thing_at_a_time() -> None:
    command = (sys.executable, "-m", "pipelines.cli", "run", "-", "--events", "-")
    done = subprocess.run(
        command, input=b"RETURN COUNT(*) PATTERN A a WITHIN 1 s", capture_output=True, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    assert b"stdin is one of them" in done.stderr


def test_nothing_of_stdin_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = tmp_path / "q.hamlet"
    query.write_text("RETURN COUNT(*) PATTERN A a WITHIN 1 s\n")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    command = (sys.executable, "-m", "pipelines.cli", "run", str(query), "--events", "-", "--engine", "greta")
    subprocess.run(command, input=b"time,type\n1,A\n", capture_output=True, check=True, cwd=ROOT)
    assert list(scratch.iterdir()) == []
    shutil.rmtree(scratch)
