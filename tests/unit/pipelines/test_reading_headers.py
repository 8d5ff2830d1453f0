"""Columns that are not there are told by the headers alone, before a value is read or Spark is started."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hamlet_core.errors import StreamError
from pipelines.cli import main
from pipelines.commands import main_run
from pipelines.reading import ColumnOptions, check_names, discover

AT = ColumnOptions(time="at", type="kind")


def test_names_are_of_all_files_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("at,kind,x\n1,A,1\n")
    (tmp_path / "b.tsv").write_text("at\tkind\ty\n1\tA\t1\n")
    pq.write_table(pa.table({"at": [1], "z": [1]}), tmp_path / "c.parquet")
    files = discover(tmp_path)
    assert check_names(files, AT, {"x", "y", "z"}) is None
    assert check_names(files, AT, {"x", "w"}) == ("at", "kind", "x", "y", "z")
    assert check_names(files, AT, {"x", "w"}, known=["w"]) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.jsonl", b'{"at": 1}\n'),
        ("f.csv", b""),
        ("f.csv", b"\x00\x01"),
        ("f.csv.gz", b"no gzip"),
        ("f.parquet", b"x"),
    ],
)
def test_where_nobody_can_tell_nothing_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert check_names(discover(tmp_path), AT, {"x"}) is None


@pytest.mark.parametrize(
    ("options", "named"), [(ColumnOptions("when", "kind"), "when"), (ColumnOptions("at", "type"), "type")]
)
def test_time_and_type_are_asked_for_first(tmp_path: Path, options: ColumnOptions, named: str) -> None:
    (tmp_path / "a.csv").write_text("at,kind,x\n1,A,1\n")
    with pytest.raises(StreamError, match=f"no file has a column '{named}'"):
        check_names(discover(tmp_path), options, {"y"})


@pytest.mark.parametrize(
    ("query", "options", "says"),
    [
        ("T t+ WHERE [cra]", ("--time", "at", "--type", "kind"), "hint: did you mean 'car'?"),
        ("T t+ WHERE [car]", ("--time", "when", "--type", "kind"), "[E451] no file has a column 'when'"),
        ("T t+ WHERE [car]", (), "[E451] no file has a column 'time'"),
        (
            "T t+ WHERE t.kind = 'T' AND t.time > 3 AND t.nothing = 1",
            ("--time", "at", "--type", "kind"),
            "'nothing'",
        ),
        ("T t+ WHERE t.time > 3", ("--time", "at", "--type", "kind"), None),
    ],
)
def test_the_pipeline_says_so_before_it_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    query: str,
    options: tuple[str, ...],
    says: str | None,
) -> None:
    class Started(Exception):
        """Instead of a run."""

    def start(*_: object, **__: object) -> None:
        raise Started

    monkeypatch.setattr(main_run, "run_job", start)
    (tmp_path / "t.csv").write_text("at,kind,car,speed\n2026-01-05T08:00,T,7,40\n")
    (tmp_path / "q.hamlet").write_text(f"q: RETURN COUNT(*) PATTERN {query} WITHIN 1 h")
    places = ("--events", str(tmp_path / "t.csv"), "--warehouse", str(tmp_path / "wh"))
    code = main(["pipeline", str(tmp_path / "q.hamlet"), *places, *options])
    said = capsys.readouterr().err
    assert ("Started" in said) is (says is None)
    assert says is None or says in said
    assert code != 0
    assert not (tmp_path / "wh").exists()
