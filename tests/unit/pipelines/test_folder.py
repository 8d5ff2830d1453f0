"""Folders of workloads: what the settings say, which mistakes stop everything, and which only their workload."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from pipelines.expectations import ColumnExpectation, ExpectationError, Expectations
from pipelines.folder import (
    ContinuousSettings,
    ExpectationSettings,
    StreamSettings,
    WorkloadFolder,
    WorkloadSettings,
)
from pipelines.settings import SettingsError
from pipelines.spans import Partition, Span
from tests.conftest import ROOT

QUERY = "q: RETURN COUNT(*) PATTERN A+ WITHIN 1 day\n"


def folder(root: Path, stream: str = "events: inbox\n", **files: str) -> Path:
    (root / "pipeline.yaml").write_text(stream)
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (root / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return root


def test_settings_of_stream_and_workload_become_those_of_a_run(tmp_path: Path) -> None:
    root = folder(
        tmp_path,
        "events: in\ntime: at\ntype_value: Day\ntime_unit: h\nwarehouse: tables\n",
        rides_hamlet=QUERY,
        rides_yaml="partitions: daily\nstart: 2026-01-05\narithmetic: exact\norigin: 7\npolicy: always\n"
        "cost_model: paper\nchoice: paper\noptimizer: gloria\nsample:\n  size: 9\n",
    )
    read = WorkloadFolder.read(root)
    span = Span((Partition("x", datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 6, tzinfo=UTC)),))
    run = read.settings("rides", span)
    assert (run.source.path, run.warehouse) == (str(root / "in"), root / "tables")
    assert (run.source.options.time, run.source.options.type_value, run.source.options.time_unit) == (
        "at",
        "Day",
        "h",
    )
    assert (run.execute.arithmetic, run.origin, run.sample.size, run.span) == (
        "exact",
        7 * 3_600_000_000,
        9,
        span,
    )
    assert (run.execute.policy, run.execute.cost_model, run.execute.choice) == ("always", "paper", "paper")
    assert run.execute.optimizer == "gloria"
    assert read.named("rides").settings.start == datetime(2026, 1, 5, tzinfo=UTC)
    assert run.workload.name == "rides"


def test_expectations_are_those_of_the_checks(tmp_path: Path) -> None:
    stream = "events: x\nexpectations:\n  unique: [[a, b]]\n  ahead_minutes: 5\n  columns:\n    v: {low: 0, most_null: 0.5}\n"
    found = WorkloadFolder.read(folder(tmp_path, stream)).stream.expectations.value
    assert found == Expectations(
        (ColumnExpectation("v", low=0, most_null=0.5),), (("a", "b"),), ahead=timedelta(minutes=5)
    )
    with pytest.raises(ExpectationError, match="most_rejected is 2"):
        WorkloadFolder.read(folder(tmp_path, "events: x\nexpectations: {most_rejected: 2}\n"))


def test_a_workload_without_settings_has_the_defaults(tmp_path: Path) -> None:
    (one,) = WorkloadFolder.read(folder(tmp_path, rides_hamlet=QUERY)).workloads
    assert (one.problem, one.settings.partitions, one.settings.schedule) == (None, "none", None)


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        ("", "events: Field required"),
        ("event: x\n", "event: Extra inputs are not permitted"),
        ("- a\n- b\n", "must be settings"),
        ("events: [\n", "pipeline.yaml:2 is no YAML"),
        ("events: x\nwait_seconds: soon\n", "wait_seconds: .* not 'soon'"),
        ("events: x\nexpectations:\n  columns:\n    v: {low: x}\n", "expectations.columns.v.low"),
    ],
)
def test_a_mistake_in_the_stream_stops_everything(tmp_path: Path, stream: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says) as refused:
        WorkloadFolder.read(folder(tmp_path, stream, rides_hamlet=QUERY))
    assert refused.value.code == "E533"


@pytest.mark.parametrize(
    ("text", "settings", "code", "says"),
    [
        ("q: RETURN COUNT(*) PATTERN SEQ(A, ", "", "E0", "line 1"),
        (
            QUERY,
            "partitions: weekly\nstart: 2026-01-05\n",
            "E533",
            "partitions: .*'none', 'daily' or 'hourly'",
        ),
        (QUERY, "partitions: daily\n", "E533", "need `start`"),
        (QUERY, "start: 2026-01-05\nend: 2026-01-05\n", "E533", "later than `start`"),
        (QUERY, "partition: daily\n", "E533", "partition: Extra inputs"),
        (QUERY, "start: someday\n", "E533", "start: .* not 'someday'"),
        (QUERY, "origin: someday\n", "E532", "origin 'someday'"),
        (QUERY, "sample:\n  size: 0\n", "E533", "sample.size: .* not 0"),
        (QUERY, "retries: -1\n", "E533", "retries: .* not -1"),
        (QUERY, 'schedule: "61 2 * * *"\n', "E533", r"no cron expression: '61 2 \* \* \*'"),
        (QUERY, "schedule: daily\n", "E533", "no cron expression: 'daily'"),
        ("q: RETURN COUNT(*) PATTERN A+ WITHIN 9 s", "engine: aseq\n", "E302", "no rule for Kleene plus"),
        (QUERY, "owners: [nobody]\n", "E533", "owners` are e-mails or team:NAME, not nobody"),
    ],
)
def test_a_mistake_in_a_workload_stops_no_other(
    tmp_path: Path, text: str, settings: str, code: str, says: str
) -> None:
    root = folder(tmp_path, good_hamlet=QUERY, wrong_hamlet=text, wrong_yaml=settings)
    read = WorkloadFolder.read(root)
    good, wrong = read.workloads
    assert good.problem is None
    assert wrong.problem is not None
    assert wrong.problem.code.startswith(code)
    assert read.settings("good").workload.text == QUERY
    with pytest.raises(type(wrong.problem), match=says):
        read.settings("wrong")


def test_names_that_dagster_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text("events: inbox\n")
    for name in ("a-b", "a.b", "c"):
        (tmp_path / f"{name}.hamlet").write_text(QUERY)
    problems = {one.name: one.problem for one in WorkloadFolder.read(tmp_path).workloads}
    assert problems["c"] is None
    assert problems["a-b"] is None
    assert problems["a.b"] is not None
    assert "a-b" in str(problems["a.b"])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        WorkloadFolder.read(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match=r"has no pipeline\.yaml"):
        WorkloadFolder.read(tmp_path)
    with pytest.raises(SettingsError, match="no workload 'x'") as refused:
        WorkloadFolder.read(folder(tmp_path, rides_hamlet=QUERY)).settings("x")
    assert "rides" in refused.value.hint


@pytest.mark.parametrize(
    ("model", "head"),
    [
        (StreamSettings, "## pipeline.yaml"),
        (ExpectationSettings, "### expectations"),
        (WorkloadSettings, "## NAME.yaml"),
        (ContinuousSettings, "### stream"),
    ],
)
def test_every_setting_stands_in_the_docs_with_its_default(model: type[BaseModel], head: str) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    section = page.split(f"\n{head}\n")[1].split("\n#")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]*)\|", section, re.MULTILINE))
    assert list(told) == list(model.model_fields)
    for name, field in model.model_fields.items():
        default = field.default
        if isinstance(default, int | float | str):
            written = default if isinstance(default, str) else json.dumps(default).removesuffix(".0")
            assert told[name].strip().strip("`") in (written, name)
