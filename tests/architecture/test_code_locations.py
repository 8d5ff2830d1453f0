"""`dagster` reads workspace.yaml and `dg` reads [tool.dg]: both must find the same assets, without a complaint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.dagster
ASSETS = "{assetNodes {assetKey {path}}}"


def answer(*command: str) -> str:
    """What a command of the Dagster family prints, run in the repository."""
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run(
        [program, *command[1:]],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        env=os.environ,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_find_the_same_assets(dagster_home: Path) -> None:
    listed = json.loads(answer("dg", "list", "defs", "--json"))["assets"]
    lines = answer("dagster-graphql", "-w", "workspace.yaml", "-t", ASSETS).splitlines()
    data = json.loads(next(line for line in lines if line.startswith('{"data"')))["data"]
    keys = {"/".join(node["assetKey"]["path"]) for node in data["assetNodes"]}
    assert keys == {asset["asset_key"] for asset in listed}
    assert keys


def test_both_validate(dagster_home: Path) -> None:
    assert "All definitions loaded successfully" in answer("dg", "check", "defs")
    answer("dagster", "definitions", "validate", "-w", "workspace.yaml")


def test_an_instance_beside_a_warehouse_has_the_settings_of_the_repository() -> None:
    from pipelines.instance import SETTINGS

    assert (ROOT / "dagster.yaml").read_text(encoding="utf-8") == SETTINGS
