"""What a main job leaves in the history of every table, and the way from a result row back to its text and events."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import replace

import pytest

from pipelines.main_job import run_main_job
from pipelines.settings import NamedWorkload
from resources import tables
from resources.provenance import code_version
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import WORKLOAD, settings_for, stream, write_csv

OPERATIONS = {"CREATE TABLE": "create", "ADD CONSTRAINT": "migrate", "SET TBLPROPERTIES": "migrate"}


@pytest.fixture(scope="module")
def jobs(spark, tmp_path_factory):
    """A job, and the same with one query edited: queries that are current keep their rows."""
    folder = tmp_path_factory.mktemp("commits")
    events = write_csv(stream(200), folder / "events.csv")
    with events.open("a") as file:
        file.write("no event\n")
    settings = settings_for(events, folder / "warehouse")
    edited = replace(settings, workload=NamedWorkload("test", WORKLOAD.replace("b.v > 10", "b.v > 11")))
    return settings, [(one, run_main_job(one)) for one in (settings, edited)]


def history(spark, warehouse: Warehouse, table: str) -> list[dict[str, object]]:
    return [
        row.asDict() for row in spark.sql(f"DESCRIBE HISTORY delta.`{warehouse.path_of(table)}`").collect()
    ]


@pytest.mark.parametrize(
    "table", [table.name for table in tables.ALL if table not in (tables.STREAMS, tables.LATE)]
)
def test_every_commit_says_which_run_code_and_workload_made_it(spark, jobs, table):
    settings, runs = jobs
    commits = history(spark, Warehouse(settings.warehouse), table)
    assert commits
    told = [json.loads(commit["userMetadata"]) for commit in commits]
    by_run = {summary.run_id: one.workload for one, summary in runs}
    # Events are of no workload.
    of_workload = table not in {"events", "events_quarantine", "ingested_files"}
    for commit, said in zip(commits, told, strict=True):
        workload = by_run[said["run_id"]]
        about = ("test", workload.hash) if of_workload else (None, None)
        assert (said.get("workload"), said.get("workload_hash")) == about
        assert said["code_version"] == code_version() != ""
        assert said["table"] == table
        assert said["write"] == OPERATIONS.get(commit["operation"], said["write"])
    # Nothing replaced by nothing is no commit.
    assert table == "sharing_decisions" or {said["write"] for said in told} & {"append", "replace"}


def test_every_published_row_leads_to_its_text_and_its_events(spark, jobs):
    settings, runs = jobs
    assert all(summary.success for _, summary in runs)
    warehouse = Warehouse(settings.warehouse)
    texts: dict[object, dict[int, str]] = defaultdict(dict)
    for row in warehouse.rows("workload_plan").to_pylist():
        texts[row["workload"], row["workload_hash"]][row["position"]] = row["text"]
    assert len(texts) == 2
    for (_, digest), queries in texts.items():
        text = "\n\n".join(queries[place] for place in sorted(queries)) + "\n"
        assert hashlib.sha256(text.encode()).hexdigest() == digest
    rows = warehouse.rows("trend_aggregates").to_pylist()
    assert {(row["workload"], row["workload_hash"]) for row in rows} <= set(texts)
    assert {row["workload_hash"] for row in rows if row["query"] == "pairs"} == {runs[1][0].workload.hash}
    for version in {row["events_version"] for row in rows}:
        assert warehouse.read(spark, "events", version).count() == 200
