"""A folder of workloads to which one is added while its pages are open: it needs no code, and its schedule ticks."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from resources.warehouse import Warehouse
from tests.dagster.folder_cases import DAILY, JAMS, make_folder
from tests.dagster.pages import (
    RUN_SECONDS,
    address_of,
    browsing,
    finished,
    loaded,
    open_page,
    serving,
    wait_for,
)

pytestmark = pytest.mark.browser

EVERY_MINUTE = 'end: 2026-01-08\nschedule: "* * * * *"\n'


def test_a_workload_that_is_added_needs_no_code_and_its_schedule_ticks(tmp_path: Path, chromium: str) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY + "end: 2026-01-15\n")})
    for file in (folder / "inbox").iterdir():
        os.utime(file, (time.time() - 60,) * 2)
    with serving(tmp_path / "log", "--workloads", str(folder)) as server, browsing(chromium) as page:
        address = address_of(server)
        loaded(address)
        finished(address, "dagster/sensor_name")
        (folder / "clock.hamlet").write_text(JAMS, encoding="utf-8")
        (folder / "clock.yaml").write_text(DAILY + EVERY_MINUTE, encoding="utf-8")
        open_page(page, address, "/deployment/locations", "pipelines.definitions")
        page.get_by_role("button", name="Reload").first.click()
        wait_for(
            lambda: [one for one in loaded(address) if one["assetKey"]["path"][0] == "clock"],
            RUN_SECONDS,
            "no assets of the new workload",
        )
        ticked = finished(address, "dagster/schedule_name")
        assert (ticked["jobName"], ticked["status"]) == ("clock_job", "SUCCESS")
        assert ticked["tags"]["dagster/schedule_name"] == "clock_schedule"
        assert ticked["tags"]["dagster/partition"] == "2026-01-07"
        open_page(
            page, address, "/locations/pipelines.definitions/schedules/clock_schedule", "clock_schedule"
        )
        page.screenshot(path=str(tmp_path / "schedule.png"))
    rows = Warehouse(folder / "warehouse").rows("trend_aggregates", ["workload", "day"]).to_pylist()
    assert {f"{row['day']}" for row in rows if row["workload"] == "clock"} == {"2026-01-07"}
