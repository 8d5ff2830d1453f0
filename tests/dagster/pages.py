"""Dagster's pages for tests: the server as `hamlet ui` starts it, GraphQL, and a browser."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import Page, sync_playwright

from tests.conftest import ROOT
from tests.ports import free_port

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
START_SECONDS = 180
RUN_SECONDS = 300
Found = TypeVar("Found")
PAGE = 60_000
"""How long a page may take, in milliseconds; the machine may be busy with a run."""
LOOK, LOOKS = 250, 5
"""A page stands still that looks the same so many times, so many milliseconds apart."""
APPEARANCE = """() => [
    document.body.innerText.replaceAll(/\\d+/g, "0"),
    ...[...document.querySelectorAll("img, svg, table")].map(one => JSON.stringify(one.getBoundingClientRect()))
].join("\\n")"""
"""The words of a page, and the places of its tables and pictures. Numbers count as one: pages say how long ago something was, \
and how soon they will look again, and those move every second for as long as the page is open."""


@contextlib.contextmanager
def serving(log: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`hamlet ui` as a process of its own, on a free port."""
    command = [sys.executable, "-m", "pipelines.cli", "ui", *options, "--port", str(free_port())]
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=file, text=True) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(60)


def address_of(server: subprocess.Popen[str]) -> str:
    """What `hamlet ui` prints once the pages answer."""
    assert server.stdout is not None
    line = server.stdout.readline().strip()
    assert line.startswith("http://127.0.0.1:")
    return line


def ask(address: str, question: str) -> dict[str, Any]:
    """The answer of Dagster's GraphQL."""
    body = json.dumps({"query": question}).encode()
    request = urllib.request.Request(f"{address}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["data"]


def wait_for(look: Callable[[], Found], seconds: float, what: str) -> Found:
    """What `look` finds, as soon as it is anything."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(1)
    raise AssertionError(f"{what} within {seconds:.0f} s")


def loaded(address: str) -> list[dict[str, Any]]:
    """The assets of the code location, once it is loaded."""
    question = "{ assetNodes { assetKey { path } groupName assetChecksOrError { ... on AssetChecks { checks { name } } } } }"
    return wait_for(
        lambda: ask(address, question)["assetNodes"], START_SECONDS, "the code location did not load"
    )


@contextlib.contextmanager
def browsing(chromium: str) -> Iterator[Page]:
    """A page of a headless Chromium."""
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, headless=True, args=list(FLAGS))
        try:
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.set_default_timeout(PAGE)
            yield page
        finally:
            browser.close()


def settle(page: Page, patience: int = PAGE) -> None:
    """Wait until the words of a page and the places of its tables and pictures stand still, for so many milliseconds."""
    seen: list[str] = []
    for _ in range(patience // LOOK):
        seen.append(page.evaluate(APPEARANCE))
        if len(seen) >= LOOKS and len(set(seen[-LOOKS:])) == 1:
            return
        page.wait_for_timeout(LOOK)
    raise AssertionError(f"{page.url} does not stand still within {patience // 1_000} s")


def runs(address: str) -> list[dict[str, Any]]:
    """All runs, the latest first."""
    question = "{ runsOrError { ... on Runs { results { runId jobName status tags { key value } } } } }"
    found: list[dict[str, Any]] = ask(address, question)["runsOrError"]["results"]
    for run in found:
        run["tags"] = {tag["key"]: tag["value"] for tag in run["tags"]}
    return found


def finished(address: str, tag: str) -> dict[str, Any]:
    """The first run with a tag that has ended, once there is one."""

    def look() -> dict[str, Any] | None:
        ended = [
            run for run in runs(address) if tag in run["tags"] and run["status"] in ("SUCCESS", "FAILURE")
        ]
        return ended[-1] if ended else None

    return wait_for(look, RUN_SECONDS, f"no run with {tag} has ended")


def open_page(page: Page, address: str, path: str, text: str) -> str:
    """Open a page, wait for a text on it and for its layout, and give all its words."""
    page.goto(address + path)
    page.get_by_text(text).first.wait_for()
    settle(page)
    return page.inner_text("body")
