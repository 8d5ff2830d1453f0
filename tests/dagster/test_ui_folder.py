"""A folder of workloads in a browser: new files come in by themselves, a backfill is one click and one run, and the
pages show partitions, checks, lineage, plots and the optimizer's picture.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page

from resources.warehouse import Warehouse
from tests.dagster.folder_cases import DAILY, JAMS, KEYS, make_folder
from tests.dagster.pages import (
    RUN_SECONDS,
    address_of,
    browsing,
    finished,
    loaded,
    open_page,
    runs,
    serving,
    settle,
    wait_for,
)

pytestmark = pytest.mark.browser

FAR = (datetime.now(UTC).hour + 12) % 24
"""An hour that does not come while the tests run: a tick would be a run that they do not expect."""
SETTINGS = DAILY + f'end: 2026-01-15\nschedule: "15 {FAR} * * *"\nfresh_within_hours: 26\n'
WIDTHS = 1_440, 1_920


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_folder(tmp_path_factory.mktemp("pages") / "rides", {"jams": (JAMS, SETTINGS)})
    for file in (root / "inbox").iterdir():
        os.utime(file, (time.time() - 60,) * 2)
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[subprocess.Popen[str]]:
    with serving(folder.parent / "log", "--workloads", str(folder)) as process:
        yield process


@pytest.fixture(scope="module")
def address(server: subprocess.Popen[str]) -> str:
    return address_of(server)


def not_whole(page: Page, number: int) -> list[str]:
    """Of so many pictures, those that are not there, or that do not fit the table they stand in."""
    pictures = page.locator('img[src^="/logs/"]')
    pictures.nth(number - 1).wait_for()
    found: list[str] = pictures.evaluate_all(
        """all => all.filter(one => {
            const table = one.closest("table"), scrolled = table.parentElement;
            const right = one.getBoundingClientRect().right;
            return !(one.complete && one.naturalWidth > 300) || right > table.getBoundingClientRect().right
                || right > window.innerWidth || scrolled.scrollWidth > scrolled.clientWidth + 1;
        }).map(one => one.src)"""
    )
    return found if pictures.count() == number else [f"{pictures.count()} pictures"]


def test_files_in_the_inbox_are_ingested_and_a_backfill_is_one_click_and_one_run(
    address: str, folder: Path, chromium: str, tmp_path: Path
) -> None:
    loaded(address)
    ingested = finished(address, "dagster/sensor_name")
    assert (ingested["jobName"], ingested["status"]) == ("ingest_job", "SUCCESS")
    assert ingested["tags"]["dagster/sensor_name"] == "new_files"

    with browsing(chromium) as page:
        group = "/locations/pipelines.definitions/asset-groups/jams/lineage"
        assert "jams__stops" in open_page(page, address, group, "trend_aggregates")
        page.screenshot(path=str(tmp_path / "lineage.png"))
        page.get_by_text("Materialize all").first.click()
        page.get_by_role("button", name="All", exact=True).click()
        page.get_by_role("button", name="Launch backfill").click()
        backfill = finished(address, "dagster/backfill")
        assert backfill["status"] == "SUCCESS"
        assert backfill["tags"]["dagster/asset_partition_range_start"] == KEYS[0]
        assert backfill["tags"]["dagster/asset_partition_range_end"] == KEYS[-1]
        assert len([run for run in runs(address) if "dagster/backfill" in run["tags"]]) == 1

        shown = open_page(page, address, "/assets/jams/trend_aggregates?view=partitions", "Materialized (10)")
        assert [key for key in KEYS if key not in shown] == []
        page.screenshot(path=str(tmp_path / "partitions.png"))
        shown = open_page(page, address, "/assets/jams/computed_aggregates?view=checks", "greta_comparison")
        assert "results_expectations" in shown
        page.screenshot(path=str(tmp_path / "checks.png"))
        shown = open_page(page, address, "/assets/jams/trend_aggregates?view=overview", "Row count")
        assert "SHA-256 of the canonical text" in shown
        page.screenshot(path=str(tmp_path / "overview.png"))
        shown = open_page(page, address, "/assets/jams/trend_aggregates?view=events", "rows published")
        page.screenshot(path=str(tmp_path / "events.png"))
        open_page(page, address, "/assets/jams/workload_plan?view=events", "template")
        page.get_by_role("row").filter(has_text="template").get_by_text("Show Markdown").first.click()
        page.locator('img[src^="data:image/png"]').first.wait_for()
        settle(page)
        page.screenshot(path=str(tmp_path / "workload_plan.png"))
        for asset, picture, number in (
            ("trend_aggregates", "results over time", 2),
            ("sharing_decisions", "sharing over time", 1),
        ):
            for view in ("events", "overview"):
                open_page(page, address, f"/assets/jams/{asset}?view={view}", picture)
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 1_000})
                    settle(page)
                    assert not_whole(page, number) == []
                    page.screenshot(path=str(tmp_path / f"{asset}-{view}-{width}.png"))
        shown = open_page(page, address, "/assets/jams/jams__stops?view=overview", "trend_aggregates")
        assert "Row count" in shown
        shown = open_page(page, address, "/automation", "new_files")
        assert "jams_late_events" in shown
        assert "jams_schedule" in shown
    assert " - DEBUG - " not in (folder.parent / "log").read_text(encoding="utf-8")
    days = set(Warehouse(folder / "warehouse").rows("trend_aggregates", ["day"]).column(0).to_pylist())
    assert {f"{day}" for day in days} == set(KEYS)


def test_a_workload_that_is_added_needs_no_code_and_its_schedule_ticks(
    address: str, folder: Path, chromium: str, tmp_path: Path
) -> None:
    loaded(address)
    finished(address, "dagster/sensor_name")
    every_minute = 'end: 2026-01-08\nschedule: "* * * * *"\n'
    (folder / "clock.hamlet").write_text(JAMS, encoding="utf-8")
    (folder / "clock.yaml").write_text(DAILY + every_minute, encoding="utf-8")
    with browsing(chromium) as page:
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
