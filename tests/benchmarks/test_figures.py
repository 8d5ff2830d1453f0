"""What the figures are made of: rows that are compared, points without a number, charts."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from PIL import Image

from hamlet_core import run
from hamlet_core.engines import two_step
from tests.benchmarks.answers import WrongAnswer, require_same_rows
from tests.benchmarks.experiments import figures
from tests.benchmarks.experiments.figures import SMALL, Point
from tests.benchmarks.plots import Chart, picture
from tests.benchmarks.point_child import read, write
from tests.benchmarks.scale import Scale

GROUND = SMALL[0]
POINT = Point(20, 2)


@pytest.fixture(scope="module")
def events() -> pa.Table:
    return GROUND.events(POINT.rate)


@pytest.fixture(scope="module")
def rows(events: pa.Table) -> pa.Table:
    return run(GROUND.workload(POINT.queries), events, engine="greta")


def test_the_same_rows_in_any_order(rows: pa.Table) -> None:
    require_same_rows("rows", rows.take(list(reversed(range(len(rows))))), rows)


def test_rows_that_differ(rows: pa.Table) -> None:
    place = rows.schema.get_field_index("log2")
    other = pa.array([one + 1e-6 for one in rows["log2"].to_pylist()])
    with pytest.raises(WrongAnswer, match="rows differ"):
        require_same_rows("rows", rows.set_column(place, "log2", other), rows)
    with pytest.raises(WrongAnswer, match="and not the"):
        require_same_rows("rows", rows.slice(1), rows)
    with pytest.raises(WrongAnswer, match="prove nothing"):
        require_same_rows("rows", rows.slice(0, 0), rows.slice(0, 0))


def measured(scale: Scale, engine: str, events: pa.Table, folder: Path) -> dict[str, object]:
    path = write(events, folder / "events.arrow")
    what = [str(path), engine, "never"]
    return figures.child(scale, what, folder / "rows.arrow", GROUND.workload(POINT.queries))


def test_a_process_of_its_own(events: pa.Table, rows: pa.Table, tmp_path: Path) -> None:
    found = measured(Scale(), "greta", events, tmp_path)
    assert found.keys() == {"seconds", "beyond"}
    assert read(tmp_path / "rows.arrow").equals(rows)


def test_a_process_that_takes_too_long(
    events: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "LIMIT", 0.01)
    assert measured(Scale(), "greta", events, tmp_path) == {"refusal": "> 0.01 s"}


def test_two_step_refuses(events: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_step, "TREND_LIMIT", 1)
    assert measured(Scale(quick=True), "two_step", events, tmp_path) == {"refusal": "E301"}


def test_what_failed_on_less_is_not_tried() -> None:
    found = {(Point(20, 3), "two_step"): {"refusal": "E301"}, (Point(20, 3), "greta"): {"seconds": 1.0}}
    assert figures.failed_before(found, Point(20, 4), "two_step") == "E301"
    assert figures.failed_before(found, Point(30, 3), "two_step") == "E301"
    assert figures.failed_before(found, Point(30, 2), "two_step") == ""
    assert figures.failed_before(found, Point(20, 4), "greta") == ""


def test_a_larger_workload_begins_with_the_smaller() -> None:
    small, large = (GROUND.workload(queries).splitlines()[1:] for queries in (3, 6))
    assert large[:3] == small


def test_charts_without_numbers_and_with_zeros() -> None:
    charts = [
        Chart("queries", "MB", {"one": [], "other": [(5, 0.0), (10, 0.0)]}, logarithmic=False),
        Chart("queries", "s", {"one": [], "other": [(5, 0.1), (10, 3_000.0)]}),
    ]
    drawn = Image.open(io.BytesIO(picture("title", [charts])))
    assert drawn.format == "PNG"
    assert drawn.width > drawn.height
