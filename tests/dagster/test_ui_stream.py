"""A stream in a browser: its numbers, red when it stands still, green when it goes on."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.dagster.folder_cases import DAILY, JAMS, drop, make_folder
from tests.dagster.pages import (
    RUN_SECONDS,
    address_of,
    ask,
    browsing,
    loaded,
    open_page,
    serving,
    wait_for,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]

QUIET = 100
SETTINGS = f'{DAILY}schedule: "* * * * *"\nstream: {{lateness: 1 h, quiet_after: {QUIET} s}}\n'
PAGE = "/assets/jams/stream_progress"


def moves(address: str) -> list[bool]:
    """How the check came out, the latest first."""
    question = """{ assetCheckExecutions(assetKey: {path: ["jams", "stream_progress"]}, checkName: "moves", limit: 20) {
        evaluation { success } } }"""
    return [
        one["evaluation"]["success"]
        for one in ask(address, question)["assetCheckExecutions"]
        if one["evaluation"]
    ]


def test_a_stream_shows_its_numbers_and_is_red_while_it_stands_still(tmp_path: Path, chromium: str) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, SETTINGS)}, days=2)
    for file in (folder / "inbox").iterdir():
        os.utime(file, (time.time() - 60,) * 2)
    with serving(tmp_path / "log", "--workloads", str(folder)) as server, browsing(chromium) as page:
        address = address_of(server)
        loaded(address)
        wait_for(lambda: True in moves(address), RUN_SECONDS, "the stream has not begun")
        shown = open_page(page, address, f"{PAGE}?view=events", "events per second")
        assert [
            word
            for word in ("rows published", "seconds behind the clock", "late events")
            if word not in shown
        ] == []
        page.screenshot(path=str(tmp_path / "numbers.png"))

        wait_for(
            lambda: moves(address)[:1] == [False], RUN_SECONDS, "nobody has seen that the stream stands still"
        )
        shown = open_page(page, address, f"{PAGE}?view=checks", "moves")
        assert "Failed" in shown
        assert "the last file came in at" in shown
        page.screenshot(path=str(tmp_path / "red.png"))

        drop(folder, 2)
        wait_for(lambda: moves(address)[:1] == [True], RUN_SECONDS, "the stream does not go on")
        shown = open_page(page, address, f"{PAGE}?view=checks", "moves")
        page.screenshot(path=str(tmp_path / "green.png"))
        assert "Passed" in shown
