"""`hamlet ui` in a browser: the lineage page shows the assets and their checks; Ctrl-C leaves nothing running."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

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
CHECKS = {"events_expectations", "results_expectations", "greta_comparison"}
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
START_SECONDS = 180
LAYOUT_SECONDS = 4


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ui") / "wh"


@pytest.fixture(scope="module")
def server(warehouse: Path) -> Iterator[subprocess.Popen[str]]:
    """`hamlet ui` as a process of its own, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "pipelines.cli",
        "ui",
        "--warehouse",
        str(warehouse),
        "--port",
        str(port),
    ]
    log = (warehouse.parent / "log").open("w", encoding="utf-8")
    with log, subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(60)


@pytest.fixture(scope="module")
def address(server: subprocess.Popen[str]) -> str:
    """What `hamlet ui` prints once the pages answer."""
    assert server.stdout is not None
    line = server.stdout.readline().strip()
    assert line.startswith("http://127.0.0.1:")
    return line


def ask(address: str, question: str) -> dict[str, object]:
    """The answer of Dagster's GraphQL."""
    body = json.dumps({"query": question}).encode()
    request = urllib.request.Request(f"{address}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["data"]


def loaded(address: str) -> list[dict[str, object]]:
    """The assets of the code location, once it is loaded."""
    question = "{ assetNodes { assetKey { path } groupName assetChecksOrError { ... on AssetChecks { checks { name } } } } }"
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        nodes = ask(address, question)["assetNodes"]
        if nodes:
            assert isinstance(nodes, list)
            return nodes
        time.sleep(1)
    raise AssertionError("the code location did not load")


def test_lineage_shows_assets_and_checks(address: str, chromium: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    nodes = loaded(address)
    assert {"/".join(node["assetKey"]["path"]) for node in nodes} >= set(ASSETS)
    assert {check["name"] for node in nodes for check in node["assetChecksOrError"]["checks"]} == CHECKS
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, headless=True, args=list(FLAGS))
        try:
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.goto(f"{address}/asset-groups?expanded=all", timeout=60_000)
            page.wait_for_load_state("domcontentloaded")
            for group in sorted({str(node["groupName"]) for node in nodes}):
                page.get_by_text(group, exact=True).first.wait_for(timeout=60_000)
            page.wait_for_timeout(LAYOUT_SECONDS * 1_000)
            page.screenshot(path=str(tmp_path / "groups.png"))
            page.goto(
                f"{address}/assets/computed_aggregates?view=lineage&lineageScope=neighbors", timeout=60_000
            )
            page.get_by_text("trend_aggregates", exact=True).first.wait_for(timeout=60_000)
            page.wait_for_timeout(LAYOUT_SECONDS * 1_000)
            shown = page.inner_text("body")
            assert [name for name in LINEAGE if name not in shown] == []
            page.screenshot(path=str(tmp_path / "lineage.png"))
            page.goto(f"{address}/assets/computed_aggregates?view=checks", timeout=60_000)
            page.get_by_text("greta_comparison").first.wait_for(timeout=60_000)
            page.wait_for_timeout(LAYOUT_SECONDS * 1_000)
            assert "results_expectations" in page.inner_text("body")
            page.screenshot(path=str(tmp_path / "checks.png"))
        finally:
            browser.close()


def test_the_instance_lives_in_the_warehouse_and_ctrl_c_leaves_nothing(
    server: subprocess.Popen[str], address: str, warehouse: Path
) -> None:
    assert (warehouse / ".dagster" / "dagster.yaml").is_file()
    children = children_of(server.pid)
    assert children
    server.send_signal(signal.SIGINT)
    assert server.wait(90) == 0
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
