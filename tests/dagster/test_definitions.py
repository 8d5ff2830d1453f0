"""The code location: both tools load it, it says what users read, and one process means one Spark session."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import dagster as dg
import pytest
import yaml

from pipelines.definitions import MAIN_JOB, definitions, defs
from tests.dagster.folder_cases import DAILY, JAMS, make_folder

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def test_every_asset_has_a_group_a_kind_an_owner_a_description_and_its_columns():
    graph = defs.resolve_asset_graph()
    assert {key.to_user_string(): graph.get(key).group_name for key in graph.get_all_asset_keys()} == {
        "events": "ingest",
        "events_quarantine": "ingest",
        "ingested_files": "ingest",
        "workload_plan": "plan",
        "computed_aggregates": "execute",
        "sharing_decisions": "execute",
        "trend_aggregates": "publish",
        "run_metrics": "publish",
    }
    for key in graph.get_all_asset_keys():
        asset = graph.get(key)
        assert asset.description
        assert asset.owners
        assert "delta" in asset.kinds
        assert asset.metadata["dagster/column_schema"].columns


def test_lineage_leads_from_events_through_blocked_results_to_what_is_published():
    graph = defs.resolve_asset_graph()
    parents = {key.to_user_string(): graph.get(key).parent_keys for key in graph.get_all_asset_keys()}
    assert {key.to_user_string() for key in parents["computed_aggregates"]} == {"events", "workload_plan"}
    assert {key.to_user_string() for key in parents["trend_aggregates"]} == {"computed_aggregates"}
    blocking = {key.name for key in graph.asset_check_keys if graph.get_check_spec(key).blocking}
    assert blocking == {"events_expectations", "results_expectations", "greta_comparison"}


def test_wide_tables_of_the_warehouse_are_in_the_lineage_and_in_no_job(tmp_path):
    for name in ("rides__jams", "rides__stops", "events"):
        (tmp_path / name).mkdir()
    program = (
        "from pipelines.definitions import defs, MAIN_JOB\n"
        "graph = defs.resolve_asset_graph()\n"
        "found = [key for key in graph.get_all_asset_keys() if '__' in key.to_user_string()]\n"
        "print(*sorted(key.to_user_string() for key in found))\n"
        "print(*{parent.to_user_string() for key in found for parent in graph.get(key).parent_keys})\n"
        "print(len(defs.resolve_job_def(MAIN_JOB).asset_layer.selected_asset_keys))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HAMLET_WAREHOUSE": str(tmp_path)},
    )
    assert done.stdout.split("\n")[:3] == ["rides__jams rides__stops", "trend_aggregates", "8"]


def test_wide_tables_of_a_folder_are_in_its_lineage(tmp_path):
    found = definitions(folder=make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)}, days=1))
    graph = found.resolve_asset_graph()
    for name in ("jams__jams", "jams__stops"):
        spec = graph.get(dg.AssetKey(["jams", name]))
        assert spec.parent_keys == {dg.AssetKey(["jams", "trend_aggregates"])}
        assert spec.group_name == "jams"
        assert not spec.is_materializable


def test_the_main_job_runs_everything_in_one_process():
    job = defs.resolve_job_def(MAIN_JOB)
    assert len(job.asset_layer.selected_asset_keys) == 8
    assert job.executor_def.name == dg.in_process_executor.name


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda file: file.name)
def test_run_configurations_of_the_examples_fit(file):
    configuration = yaml.safe_load(file.read_text())
    assert dg.validate_run_config(defs.resolve_job_def(MAIN_JOB), configuration)
    pipeline = configuration["resources"]["pipeline"]["config"]
    assert (ROOT / pipeline["workload_file"]).is_file()
    with pytest.raises(dg.DagsterInvalidConfigError):
        dg.validate_run_config(
            defs.resolve_job_def(MAIN_JOB), {"resources": {"pipeline": {"config": {"workload": "?"}}}}
        )


def test_both_tools_are_told_the_same_place():
    module = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"][0]["python_module"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    assert module["module_name"] == project["code_location_target_module"] == "pipelines.definitions"
    assert module["location_name"] == project["code_location_name"]


@pytest.mark.parametrize("command", [("dagster", "definitions", "validate"), ("dg", "check", "defs")])
def test_the_command_line_tools_find_no_fault(command, dagster_home):
    tool, *rest = command
    done = subprocess.run(
        [str(BIN / tool), *rest], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
