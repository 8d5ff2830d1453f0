"""What `hamlet init` writes runs as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.commands.init import FIRST_DAY
from pipelines.folder import WorkloadFolder
from pipelines.foreseen import foresee
from pipelines.steps.execution.computed import Stale


def test_a_new_folder_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "rides"
    assert main(["init", str(folder)]) == 0
    said = capsys.readouterr().out
    assert f"hamlet backfill {folder} jams {FIRST_DAY}\n" in said
    read = WorkloadFolder.read(folder)
    assert [(one.name, one.problem) for one in read.workloads] == [("jams", None)]
    assert foresee(folder, "jams", (FIRST_DAY, FIRST_DAY)).reasons == {FIRST_DAY: {"jams": Stale.NEW}}
    assert main(["test", str(folder)]) == 0
    assert "1 of 1 cases hold" in capsys.readouterr().out
    query, inbox = str(folder / "jams.hamlet"), str(folder / "inbox")
    assert main(["run", query, "--events", inbox, "--engine", "greta", "--format", "csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) > 20
    assert sum(FIRST_DAY in row for row in rows) > len(rows) / 2


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["init", str(tmp_path / "empty")]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert main(["init", str(tmp_path / "empty")]) == 2
    assert "is there and not empty" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
