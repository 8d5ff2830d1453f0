"""`hamlet ui` in a browser: the lineage page shows the assets and their checks; Ctrl-C leaves nothing running."""

from __future__ import annotations

import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dagster.pages import address_of, browsing, loaded, serving, settle

pytestmark = pytest.mark.browser

ASSETS = (
    "events",
    "events_quarantine",
    "ingested_files",
    "workload_plan",
    "computed_aggregates",
    "trend_aggregates",
)
LINEAGE = ("events", "workload_plan", "computed_aggregates", "trend_aggregates", "Asset checks")
CHECKS = {"files_are_in", "events_expectations", "results_expectations", "greta_comparison"}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ui") / "wh"


@pytest.fixture(scope="module")
def server(warehouse: Path) -> Iterator[subprocess.Popen[str]]:
    """`hamlet ui` for an empty warehouse."""
    with serving(warehouse.parent / "log", "--warehouse", str(warehouse)) as process:
        yield process


@pytest.fixture(scope="module")
def address(server: subprocess.Popen[str]) -> str:
    return address_of(server)


def test_lineage_shows_assets_and_checks(address: str, chromium: str, tmp_path: Path) -> None:
    nodes = loaded(address)
    assert {"/".join(node["assetKey"]["path"]) for node in nodes} >= set(ASSETS)
    assert {check["name"] for node in nodes for check in node["assetChecksOrError"]["checks"]} == CHECKS
    with browsing(chromium) as page:
        page.goto(f"{address}/asset-groups?expanded=all")
        page.wait_for_load_state("domcontentloaded")
        for group in sorted({str(node["groupName"]) for node in nodes}):
            page.get_by_text(group, exact=True).first.wait_for()
        settle(page)
        page.screenshot(path=str(tmp_path / "groups.png"))
        page.goto(f"{address}/assets/computed_aggregates?view=lineage&lineageScope=neighbors")
        page.get_by_text("trend_aggregates", exact=True).first.wait_for()
        settle(page)
        shown = page.inner_text("body")
        assert [name for name in LINEAGE if name not in shown] == []
        page.screenshot(path=str(tmp_path / "lineage.png"))
        page.goto(f"{address}/assets/computed_aggregates?view=checks")
        page.get_by_text("greta_comparison").first.wait_for()
        settle(page)
        assert "results_expectations" in page.inner_text("body")
        page.screenshot(path=str(tmp_path / "checks.png"))


def test_the_instance_lives_in_the_warehouse_and_ctrl_c_leaves_nothing(
    server: subprocess.Popen[str], address: str, warehouse: Path
) -> None:
    assert (warehouse / ".dagster" / "dagster.yaml").is_file()
    children = children_of(server.pid)
    assert children
    server.send_signal(signal.SIGINT)
    assert server.wait(90) == 128 + signal.SIGINT
    assert "Stopping." in (warehouse.parent / "log").read_text(encoding="utf-8")
    assert [pid for pid in children if Path(f"/proc/{pid}").exists()] == []
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address, timeout=5)


def children_of(pid: int) -> list[int]:
    """All processes below `pid`."""
    direct = subprocess.run(
        ["ps", "--ppid", str(pid), "-o", "pid="], check=False, capture_output=True, text=True
    )
    found = [int(word) for word in direct.stdout.split()]
    return found + [below for child in found for below in children_of(child)]
