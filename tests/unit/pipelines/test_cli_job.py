"""What `hamlet demo`, `hamlet pipeline` and `hamlet doctor` say of an outcome, without Spark."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from hamlet_core.errors import HamletError
from pipelines import example
from pipelines.cli import main
from pipelines.commands import main_run
from pipelines.commands.demo import command_name, digest
from pipelines.main_job import CheckResult, RunSummary
from pipelines.settings import JobSettings
from pipelines.showing.levels import GOING_ON
from pipelines.steps.metrics import Metric
from resources import doctor, tables
from resources.problems import EnvironmentProblem, Finding

GREEN = CheckResult(
    "events", "events_expectations", passed=True, description="all 10 rules hold", page="| rule |"
)
RED = CheckResult(
    "computed_aggregates", "greta_comparison", passed=False, description="2 differences", page="| q1 |"
)
METRICS = (
    Metric("ingest", "files", 1),
    Metric("ingest", "events ingested", 3),
    Metric("ingest", "rows rejected", 1),
    Metric("execute", "result rows", 2, "q1"),
)
Job = Callable[[JobSettings], None]


def summary(*checks: CheckResult) -> RunSummary:
    return RunSummary("run-1", all(check.passed for check in checks), 1.5, checks, METRICS)


def pretend(
    monkeypatch: pytest.MonkeyPatch, outcome: RunSummary, job: Job = lambda _: None
) -> list[JobSettings]:
    """Let a run of the job do `job` and end so; the settings it was given."""
    given: list[JobSettings] = []

    def run_job(settings: JobSettings, *, debug: bool) -> RunSummary:
        assert not debug
        given.append(settings)
        job(settings)
        return outcome

    monkeypatch.setattr(main_run, "run_job", run_job)
    monkeypatch.setattr(doctor, "require_healthy", lambda *_: None)
    monkeypatch.setattr(example, "EVENTS", 500)
    return given


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    (tmp_path / "my jams.hamlet").write_text(
        "q1: RETURN COUNT(*) PATTERN A WITHIN 1 s\nq2: RETURN COUNT(*) PATTERN B WITHIN 1 s"
    )
    (tmp_path / "events.csv").write_text("time,at,type\n1,1,A\n")
    return [str(tmp_path / "my jams.hamlet"), "--events", str(tmp_path / "events.csv")]


def test_what_an_engine_has_no_rule_for_is_refused_before_the_job(
    inputs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = pretend(monkeypatch, summary(GREEN))
    command = ["pipeline", *inputs, "--warehouse", "wh", "--engine", "aseq"]
    assert main(command) == 0
    Path(inputs[0]).write_text(
        "q1: RETURN COUNT(*) PATTERN A WITHIN 1 s\nq2: RETURN COUNT(*) PATTERN A+ WITHIN 1 s"
    )
    assert main(command) == 2
    assert "[E302] line 2, column 29" in capsys.readouterr().err
    assert len(given) == 1


def test_pipeline_hands_on_its_options_and_says_where_the_rows_are(
    inputs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = pretend(monkeypatch, summary(GREEN))
    options = [
        "--time",
        "at",
        "--type-value",
        "A",
        "--time-unit",
        "ms",
        "--arithmetic",
        "exact",
        "--no-flush",
        "--cost-model",
        "paper",
        "--choice",
        "paper",
    ]
    assert (
        main(
            [
                "pipeline",
                *inputs,
                *options,
                "--warehouse",
                "wh",
                "--engine",
                "two_step",
                "--policy",
                "never",
                "--optimizer",
                "none",
            ]
        )
        == 0
    )
    (settings,) = given
    assert settings.workload.name == "my_jams"
    assert settings.warehouse == Path("wh")
    columns, execute = settings.source.options, settings.execute
    assert (columns.time, columns.type, columns.type_value, columns.time_unit) == ("at", None, "A", "ms")
    assert (execute.cost_model, execute.choice, execute.optimizer) == ("paper", "paper", "none")
    assert (execute.engine, execute.policy, execute.arithmetic, execute.flush) == (
        "two_step",
        "never",
        "exact",
        False,
    )
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "Checks of run run-1:",
        "  green  events_expectations on events: all 10 rules hold",
        "q1: 2 rows",
        "q2: 0 rows",
        "Published in wh/trend_aggregates after 1.5 s.",
    ]
    assert shown.err == ""


def test_a_red_check_is_exit_code_one_and_shows_its_rows(
    inputs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, summary(GREEN, RED))
    assert main(["pipeline", *inputs]) == 1
    shown = capsys.readouterr()
    assert "  RED    greta_comparison on computed_aggregates: 2 differences\n" in shown.out
    assert "Published" not in shown.out
    assert shown.err == "| q1 |\nNothing was published: a check is red.\n"


def test_a_red_demo_tells_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, summary(RED))
    assert main(["demo", "--warehouse", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "RED" in shown.out
    assert "What now" not in shown.out


def publish(value: float) -> Job:
    """A job that publishes a row for each aggregate of the example."""

    def job(settings: JobSettings) -> None:
        rows = [
            {"query": plan.name, "group_key": "{}", "aggregate": one.label, "value": value, "sign": 1, "log2": 1.0,
             "workload": settings.workload.name, "window_start": 0, "window_end": 1}
            for plan in settings.workload.plans for one in plan.query.aggregates
        ]  # fmt: skip
        table = pa.Table.from_pylist(rows, schema=tables.PUBLISHED.schema.remove_metadata())
        deltalake.write_deltalake(settings.warehouse / "trend_aggregates", table, mode="overwrite")

    return job


def test_demo_compares_its_numbers_with_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, summary(GREEN), publish(2.0))
    assert main(["demo", "--warehouse", str(tmp_path)]) == 0
    assert "Results:" not in capsys.readouterr().out
    assert main(["demo", "--warehouse", str(tmp_path)]) == 0
    assert "the same numbers as before." in capsys.readouterr().out
    pretend(monkeypatch, summary(GREEN), publish(3.0))
    assert main(["demo", "--warehouse", str(tmp_path)]) == 0
    assert "not those of before." in capsys.readouterr().out


def test_what_to_type_is_what_works_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / ".venv" / "bin" / "python"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    assert command_name() == ".venv/bin/hamlet"
    command = tmp_path / "hamlet"
    command.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command_name() == "hamlet"


def test_a_digest_ignores_the_order_of_rows() -> None:
    rows = pa.table(
        {
            name: [1, 2]
            for name in (
                "query",
                "window_start",
                "window_end",
                "group_key",
                "aggregate",
                "value",
                "sign",
                "log2",
            )
        }
    )
    assert digest(rows) == digest(rows.take([1, 0])) != digest(rows.slice(0, 1))


def test_a_machine_that_cannot_run_spark_is_told_so_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unhealthy(*_: object) -> None:
        raise EnvironmentProblem("Java: none -> make setup", code="E503")

    monkeypatch.setattr(doctor, "require_healthy", unhealthy)
    assert main(["demo", "--warehouse", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "Error: [E503] Java: none -> make setup\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ok", [True, False])
def test_doctor_shows_each_finding_and_its_cure(
    ok: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = (Finding("Python", True, "3.12.1"), Finding("Java", ok, "Java 11", "install 17", "E503"))
    monkeypatch.setattr(doctor, "diagnose", lambda *_: findings)
    monkeypatch.setattr(doctor, "kernels", lambda: Finding("Kernels", True, "here, 3 compiled"))
    monkeypatch.setattr(
        doctor, "cost_model", lambda: Finding("Cost model", True, "constants that are shipped")
    )
    assert main(["doctor"]) == (0 if ok else 1)
    shown = capsys.readouterr()
    java = "ok   Java: Java 11\n" if ok else "RED  Java: Java 11 -> install 17\n"
    shipped = "ok   Cost model: constants that are shipped\n"
    assert shown.out == f"ok   Python: 3.12.1\n{java}ok   Kernels: here, 3 compiled\n{shipped}"
    assert shown.err == ("" if ok else "1 of 4 to cure; what to do stands behind each arrow.\n")


def test_progress_goes_to_stderr_while_a_run_lasts(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger(main_run.PROGRESS)
    with main_run.progress():
        logger.info("ingest: 1 file")
    logger.info("afterwards")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith(" s] ingest: 1 file\n")


def test_who_says_nothing_for_a_while_is_said_to_be_going_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main_run, "BEAT", 0.1)
    logger, said = logging.getLogger(main_run.PROGRESS), ""
    until = time.monotonic() + 60
    with main_run.progress():
        while "starting Dagster and Spark: going on" not in said and time.monotonic() < until:
            time.sleep(0.01)
            said += capsys.readouterr().err
        logger.log(GOING_ON, "events expectations")
        while "] events expectations: going on\n" not in said and time.monotonic() < until:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert "] events expectations: going on\n" in said
    assert "] events expectations\n" not in said


def test_what_the_engine_says_of_its_kernels_is_progress_too(capsys: pytest.CaptureFixture[str]) -> None:
    with main_run.progress():
        logging.getLogger("hamlet_core").warning("compiling kernels: 3 done, 4 s")
    assert capsys.readouterr().err.endswith(" s] compiling kernels: 3 done, 4 s\n")


def test_the_error_of_a_step_is_shown_as_it_is(
    inputs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: JobSettings) -> None:
        raise HamletError("the warehouse wh is in use", code="E520", hint="wait")

    pretend(monkeypatch, summary(GREEN), fail)
    assert main(["pipeline", *inputs]) == 1
    assert capsys.readouterr().err == "Error: [E520] the warehouse wh is in use\n  hint: wait\n"
