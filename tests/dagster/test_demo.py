"""`hamlet demo` and `hamlet pipeline` end to end: what people see, the second run, the tables, the README's blocks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines import example
from pipelines.cli import main
from pipelines.querying import query
from tests.conftest import ROOT
from tests.unit.pipelines import test_docs as docs

EVENTS = 4_000
GREEN = ("files_are_in", "events_expectations", "greta_comparison", "results_expectations")


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo on few events."""
    monkeypatch.setattr(example, "EVENTS", EVENTS)


@pytest.mark.usefixtures("small_demo")
def test_demo_tells_its_results_and_a_second_run_finds_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    warehouse = tmp_path / "wh"
    assert main(["demo", "--warehouse", str(warehouse)]) == 0
    first = capfd.readouterr()
    for plan in example.example_workload().plans:
        assert re.search(rf"^{plan.name}: .*\?$", first.out, re.MULTILINE)
    assert [name for name in GREEN if f"  green  {name} on " not in first.out] == []
    rejected = example.BROKEN_ROWS
    assert (
        f"Ingest: {EVENTS - rejected:,} events; {rejected} broken rows are in events_quarantine" in first.out
    )
    assert "hamlet ui --warehouse" in first.out
    assert "] execute: " in first.err
    assert "] execute: " not in first.out

    assert main(["demo", "--warehouse", str(warehouse)]) == 0
    second = capfd.readouterr().out
    assert "nothing new; the events were in already, and none was ingested twice." in second
    assert "the same numbers as before." in second
    assert second.partition("Checks")[0] == first.out.partition("Checks")[0]
    counted = query(
        "SELECT (SELECT count(*) FROM events) e, (SELECT count(*) FROM events_quarantine) q", warehouse
    )
    assert counted.to_pylist() == [{"e": EVENTS - rejected, "q": rejected}]
    questions = [block.text for block in docs.blocks() if block.language == "sql" and not block.mark]
    assert len(questions) == 3
    assert [query(text, warehouse).num_rows > 0 for text in questions] == [True] * len(questions)


@pytest.mark.needs_data
def test_pipeline_on_real_data_equals_run_row_by_row(
    tmp_path: Path, real_data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    columns = ["--time", "date", "--type-value", "Day", "--arithmetic", "exact"]
    given = [
        str(ROOT / "examples" / "for_hire_vehicles.hamlet"),
        *("--events", str(real_data / "fhv_daily_2015.csv")),
        *columns,
    ]
    assert main(["run", *given, "--format", "csv"]) == 0
    here = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert main(["pipeline", *given, "--warehouse", str(tmp_path)]) == 0
    assert "growth: 11,028 rows\n" in capfd.readouterr().out
    names = ", ".join(here[0])
    sql = f"SELECT {names} FROM trend_aggregates WHERE workload = 'for_hire_vehicles'"
    assert main(["query", sql, "--warehouse", str(tmp_path), "--format", "csv"]) == 0
    there = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert sorted(map(repr, there)) == sorted(map(repr, here))
    growth = [
        int(row["exact"]) for row in there if row["query"] == "growth" and row["aggregate"] == "COUNT(*)"
    ]
    assert (len(growth), max(growth)) == (5_514, 93_939)


def test_a_pipeline_that_cannot_run_says_why_in_lines(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    workload = tmp_path / "sum.hamlet"
    workload.write_text("RETURN SUM(a.missing) PATTERN A a WITHIN 1 s", encoding="utf-8")
    events = tmp_path / "events.csv"
    events.write_text("time,type\n1,A\n", encoding="utf-8")
    assert (
        main(["pipeline", str(workload), "--events", str(events), "--warehouse", str(tmp_path / "wh")]) == 1
    )
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "'missing'" in shown.err.splitlines()[-2] + shown.err.splitlines()[-1]
    assert "Traceback" not in shown.err


def test_the_blocks_of_the_readme_that_need_spark_run_in_order(tmp_path: Path) -> None:
    execute: Callable[..., str] = docs.execute
    blocks = [
        block for mark in ("run", "run-spark") for block in docs.marked(mark) if block.page == "README.md"
    ]
    shown = [execute(block, tmp_path, 600) for block in blocks]
    assert "COUNT(*)" in shown[2]
    assert re.search(r"2026-01-05 08:00 +\{\} +COUNT\(\*\) +7\n", shown[2])
    assert "published: windows up to 2026-01-05T08:02:00+00:00 in warehouse/trend_aggregates" in shown[3]
