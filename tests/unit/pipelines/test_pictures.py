"""Pictures: small PNGs of any workload and any text, that show what is there and say so where nothing is."""

from __future__ import annotations

import ast
import base64
import inspect
import math
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import dagster as dg
import deltalake
import pyarrow as pa
import pytest
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.noop_compute_log_manager import NoOpComputeLogManager
from matplotlib.figure import Figure

from hamlet_core import execute, parse
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.streams import generate_stream
from hamlet_core.streams.w50 import w50
from hamlet_core.streams.workloads import generate_workload
from hamlet_core.template.workload import plan_workload
from pipelines.assets import execute as execute_assets
from pipelines.assets import plan as plan_assets
from pipelines.assets import presenting
from pipelines.assets import publish as publish_assets
from pipelines.example import example_workload
from pipelines.instance import dagster_home as home_of
from pipelines.instance import dagster_instance
from pipelines.settings import NamedWorkload
from pipelines.showing import plots
from pipelines.showing.pictures import LARGEST, markdown, message, styled
from pipelines.showing.plots import QUERIES, bins, results_picture, results_pictures, sharing_picture
from pipelines.showing.template_layout import layout
from pipelines.showing.template_picture import template_figure, template_picture
from resources import tables
from resources.warehouse import Warehouse
from tests.conftest import ROOT

ODD = '"$x^2$ {{a}} \U0001f6b2 東京": RETURN COUNT(*) PATTERN SEQ("<b> & $", "a b\\c" c+) WITHIN 1 s'
MANY_CLASSES = "\n".join(
    f"q{n}: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k{n}] WITHIN 1 s" for n in range(50)
)
DEEP = (
    "q: RETURN COUNT(*) PATTERN SEQ(A a, SEQ(B b+, NOT N, C c)+, D?, (E OR F), A a2) WITHIN 1 min SLIDE 10 s"
)
LONG = "\n".join(
    f'"{"n" * 90}{n}": RETURN COUNT(*) PATTERN SEQ({"T" * 80}, B+) WITHIN 1 s' for n in range(30)
)
WIDE = "q: RETURN COUNT(*) PATTERN SEQ(" + ", ".join(f"T{n}" for n in range(40)) + ") WITHIN 1 s"


def size(picture: bytes) -> tuple[int, int]:
    """Width and height; the bytes are a PNG below the limit."""
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) <= LARGEST < 100_000
    return struct.unpack(">II", picture[16:24])


@pytest.mark.parametrize(
    "text",
    [w50(), w50(queries=2, types=2), generate_workload("ridesharing", 50), ODD, MANY_CLASSES, DEEP, LONG, WIDE, "RETURN COUNT(*) PATTERN A WITHIN 1 s"],
    ids=["w50", "two", "generated", "odd", "classes", "deep", "long", "wide", "single"],
)  # fmt: skip
def test_any_workload_has_a_small_picture(text: str) -> None:
    width, height = size(template_picture(NamedWorkload("w", text)))
    assert width > 400
    assert height > 100


def texts(workload: NamedWorkload) -> list[str]:
    """All that is written in the picture."""
    from matplotlib.text import Text

    with styled():
        return [found.get_text() for found in template_figure(workload).findobj(Text) if found.get_text()]


def test_the_template_shows_states_queries_and_sharable_parts() -> None:
    seen = texts(example_workload())
    for said in (
        "Request", "Travel", "Pool", "▶ slowing_down", "direct_trips !", "3 of 4", "Travel+ for COUNT(*)", "direct_trips, detours ■",
        "Travel+ for SUM(Travel.duration)", "No two queries of this class may share a Kleene sub-pattern.",
    ):  # fmt: skip
        assert said in seen, said
    assert any(one.startswith("Class 1: 4 queries, partitioned by district, driver, rider") for one in seen)


def test_squares_are_the_members_of_the_sets() -> None:
    from matplotlib.collections import PathCollection

    workload = NamedWorkload("w", generate_workload("ridesharing", 12))
    plan = plan_workload(analyse_workload(parse(workload.text)))
    with styled():
        drawn = template_figure(workload).findobj(PathCollection)
    squares = sum(len(one.get_offsets()) for one in drawn)
    assert squares == sum(len(shared.queries) for shared in plan.sets) > 0


def test_labels_of_fifty_queries_are_counts() -> None:
    seen = texts(NamedWorkload("w", w50()))
    assert "5 of 50" in seen
    assert "all" in seen
    assert max(len(one) for one in seen if "q1" in one) < 40


@pytest.mark.parametrize("text", [w50(), DEEP, ODD, WIDE, generate_workload("stock", 20)])
def test_states_stand_apart_and_steps_lead_right(text: str) -> None:
    for one in plan_workload(analyse_workload(parse(text))).classes:
        places = layout(one.template).places
        assert len(set(places)) == len(one.template.states)
        sources = {step.source for step in one.template.steps if step.source != step.target}
        for state in sources:
            forward = [
                step
                for step in one.template.steps
                if step.source == state and places[step.target][0] > places[state][0]
            ]
            assert forward, one.template.states[state].name


def test_a_chain_is_drawn_in_its_order() -> None:
    (one,) = plan_workload(analyse_workload(parse(WIDE))).classes
    assert [column for column, _ in layout(one.template).places] == list(range(40))


def test_markdown_holds_the_picture() -> None:
    picture = message("nothing to see")
    size(picture)
    head, _, data = markdown(picture, "a [b]\nc").partition("base64,")
    assert head == "![a (b) c](data:image/png;"
    assert base64.b64decode(data.removesuffix(")")) == picture


# --- charts --------------------------------------------------------------------------------------

START = datetime(2026, 1, 5, tzinfo=UTC)


def published(root: Path, rows: list[dict[str, object]]) -> Warehouse:
    deltalake.write_deltalake(
        root / "trend_aggregates", pa.Table.from_pylist(rows, tables.PUBLISHED.schema.remove_metadata())
    )
    return Warehouse(root)


def result(
    query: str,
    hour: int,
    group: str,
    log2: float | None,
    aggregate: str = "COUNT(*)",
    value: float | None = None,
) -> dict[str, object]:
    start = START + timedelta(hours=hour)
    return {
        "query": query, "window_start": start, "window_end": start + timedelta(hours=1), "group_key": group,
        "aggregate": aggregate, "value": value, "log2": log2, "workload": "w", "day": start.date(),
    }  # fmt: skip


def drawn_lines(
    monkeypatch: pytest.MonkeyPatch, warehouse: Warehouse, **options: object
) -> dict[str, list[plots.Line]]:
    """What the chart of each query was given to draw."""
    seen: dict[str, list[plots.Line]] = {}
    draw = plots.draw

    def kept(drawn: Figure, chart: plots.Chart) -> None:
        seen[f"{chart.query} {chart.aggregate}"] = list(chart.lines)
        draw(drawn, chart)

    monkeypatch.setattr(plots, "draw", kept)
    size(results_picture(warehouse, "w", **options))
    return seen


def test_results_are_lines_with_gaps_the_largest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [result("q", hour, '{"g":"small"}', 1.0) for hour in range(6)]
    rows += [result("q", hour, '{"g":null}', 5_000.0 + hour) for hour in (0, 1, 5)]
    rows += [result("q", 2, '{"g":"$\\u0000"}', None), result("q", 0, '{"g":"small"}', 3.0, "AVG(b.v)")]
    rows += [
        result("only", 0, '{"a":"x","b":1}', 2.0, "SUM(b.v)"),
        result("only", 0, '{"a":"of a long name","b":null}', None, "SUM(b.v)"),
        {**result("q", 0, "{}", 9.0), "workload": "other"},
    ]
    seen = drawn_lines(monkeypatch, published(tmp_path, rows))
    assert list(seen) == ["only SUM(b.v)", "q COUNT(*)"]
    huge, small, empty = seen["q COUNT(*)"]
    assert (huge.group, small.group, empty.group) == ("NULL", "small", "$ ")
    assert [None if math.isnan(one) else one for one in huge.sizes] == [5_000.0, 5_001.0, None, 5_005.0]
    assert small.sizes == (1.0,) * 6
    assert math.isnan(empty.sizes[0])
    assert [line.group for line in seen["only SUM(b.v)"]] == ["a=x, b=1", "of a long name, N…"]


def test_an_aggregate_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = published(
        tmp_path,
        [result("q", 0, "{}", 1.0), result("q", 0, "{}", 2.0, "AVG(b.v)"), result("p", 0, "{}", 1.0)],
    )
    seen = drawn_lines(monkeypatch, warehouse, aggregates={"q": "AVG(b.v)"})
    assert list(seen) == ["q AVG(b.v)"]


def figures(
    monkeypatch: pytest.MonkeyPatch, warehouse: Warehouse, aggregates: dict[str, str] | None = None
) -> dict[str, Figure]:
    """The figure of each query."""
    drawn: list[Figure] = []
    monkeypatch.setattr(plots, "png", lambda figure: drawn.append(figure) or b"")
    return dict(zip(results_pictures(warehouse, "w", aggregates), drawn, strict=True))


def test_counts_have_a_logarithmic_axis_and_values_a_linear_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        result("q", hour, "{}", float(hour), aggregate, -25.0 * hour)
        for hour in range(9)
        for aggregate in ("COUNT(*)", "COUNT(b)", "SUM(b.v)", "AVG(b.v)", "MIN(b.v)", "MAX(b.v)")
    ]
    warehouse = published(tmp_path, [*rows, result("q", 9, "{}", 2_000.0, "SUM(b.v)")])
    for aggregate in ("COUNT(*)", "COUNT(b)"):
        (axes,) = figures(monkeypatch, warehouse, {"q": aggregate})["q"].axes
        assert list(axes.lines[0].get_ydata()) == list(range(9))
        assert [axes.yaxis.get_major_formatter()(tick) for tick in (0, 4, 8)] == ["1", "16", "256"]
    for aggregate in ("SUM(b.v)", "AVG(b.v)", "MIN(b.v)", "MAX(b.v)"):
        (axes,) = figures(monkeypatch, warehouse, {"q": aggregate})["q"].axes
        assert list(axes.lines[0].get_ydata())[:9] == [-25.0 * hour for hour in range(9)]
        assert axes.get_yscale() == "linear"
        assert [axes.yaxis.get_major_formatter()(tick) for tick in (-200, 0)] == ["-200", "0"]


def test_a_picture_a_query_of_its_few_largest_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        result(query, hour, f'{{"g":"g{group}"}}', float(group))
        for query, groups in (("many", 12), ("few", 3), ("one", 1))
        for group in range(groups)
        for hour in range(3)
    ]
    drawn = figures(monkeypatch, published(tmp_path, rows))
    assert list(drawn) == ["few", "many", "one"]
    said = {query: [text.get_text() for text in figure.texts] for query, figure in drawn.items()}
    assert said == {
        "few": ["few: COUNT(*)", "3 groups"],
        "many": ["many: COUNT(*)", "the 5 largest of 12 groups"],
        "one": ["one: COUNT(*)", ""],
    }
    (axes,) = drawn["many"].axes
    assert [line.get_label() for line in axes.lines] == ["g11", "g10", "g9", "g8", "g7"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["g11", "g10", "g9", "g8", "g7"]
    assert drawn["one"].axes[0].get_legend() is None


COLUMN = 425
"""Pixels of a picture of which an asset's overview has room for one where it is 1,440 pixels broad, and the page of
its events for two where that is 1,920 pixels broad.
"""
DIALOG = 1_110
"""Pixels of a picture in a dialog there, which is not broader than 80 of 100 of the page."""


def test_pictures_are_not_broader_than_the_pages(tmp_path: Path) -> None:
    rows = [result(f"q{query}", hour, "{}", float(hour)) for query in range(3) for hour in range(30)]
    drawn = results_pictures(published(tmp_path, rows), "w")
    deltalake.write_deltalake(tmp_path / "sharing_decisions", decisions(decision(0, "p, q")))
    for picture in (*drawn.values(), sharing_picture(Warehouse(tmp_path), "w"), message("nothing")):
        assert size(picture)[0] <= COLUMN
    assert size(template_picture(NamedWorkload("w", w50())))[0] <= DIALOG


def test_of_very_many_results_the_latest_days_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = published(tmp_path, [result("q", hour, "{}", 1.0) for hour in range(72)])
    monkeypatch.setattr(plots, "_MOST_ROWS", 30)
    (line,) = drawn_lines(monkeypatch, warehouse)["q COUNT(*)"]
    assert [time.day for time in line.times] == [6] * 24 + [7] * 24


def test_results_of_the_example_and_of_fifty_queries_stay_small(tmp_path: Path) -> None:
    found = execute(example_workload().parsed, generate_stream("ridesharing", 5_000, 7)).results.to_pylist()
    rows = [{**row, "workload": "w", "day": row["window_start"].date()} for row in found]
    many = [
        result(f"q{query}", hour, f'{{"g":"{group}"}}', float((hour * group) % 17 + query))
        for query in range(50)
        for hour in range(48)
        for group in range(60)
    ]
    for number, some in enumerate((rows, many)):
        drawn = results_pictures(published(tmp_path / str(number), some), "w")
        assert len(drawn) == (7, QUERIES)[number]
        for picture in drawn.values():
            size(picture)


def test_without_results_and_decisions_the_pictures_say_so(tmp_path: Path) -> None:
    nothing = Warehouse(tmp_path)
    for picture in (
        results_picture(nothing, "w"),
        sharing_picture(nothing, "w"),
        results_picture(published(tmp_path, []), "w"),
    ):
        assert size(picture)[1] < 200


FAR = {
    "years 26 and 2026": (datetime(26, 1, 5, tzinfo=UTC), START),
    "all years": (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)),
}


@pytest.mark.parametrize("times", FAR.values(), ids=FAR)
def test_times_of_any_year_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: tuple[datetime, datetime]
) -> None:
    rows = [{**result("q", 0, "{}", 1.0), "window_start": time} for time in times]
    (line,) = drawn_lines(monkeypatch, published(tmp_path, rows))["q COUNT(*)"]
    assert [time.year for time in line.times] == [time.year for time in times]
    panes = decisions(*({**decision(0, "p, q"), "pane_start": time} for time in times))
    deltalake.write_deltalake(tmp_path / "sharing_decisions", panes)
    assert size(sharing_picture(Warehouse(tmp_path), "w"))[1] > 300


def test_times_that_no_calendar_has_are_drawn_at_its_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = pa.array([-(2**62), 2**62], tables.PUBLISHED.schema.field("window_start").type)
    rows = pa.Table.from_pylist([result("q", 0, "{}", 1.0)] * 2, tables.PUBLISHED.schema.remove_metadata())
    place = rows.schema.get_field_index("window_start")
    deltalake.write_deltalake(
        tmp_path / "trend_aggregates", rows.set_column(place, rows.schema.field(place), far)
    )
    (line,) = drawn_lines(monkeypatch, Warehouse(tmp_path))["q COUNT(*)"]
    assert [time.year for time in line.times] == [1, 9999]
    panes = decisions(decision(0, "p, q"), decision(0, "p, q"))
    found = bins(panes.set_column(panes.schema.get_field_index("pane_start"), "pane_start", far))
    assert [one.start.year for one in found] == [1, 9999]


DAY = datetime(2026, 1, 5, tzinfo=UTC)


def decision(
    minute: float | None, queries: str | None, bursts: int = 1, **values: object
) -> dict[str, object]:
    """A row about a pane of that minute of a day, or about the whole day."""
    start = None if minute is None else DAY + timedelta(minutes=minute)
    slot = DAY if start is None else start.replace(hour=0, minute=0, second=0, microsecond=0)
    costs = {"cost_shared": 1.0 * bursts, "cost_alone": 2.0 * bursts}
    return {
        "workload": "w",
        "pane_start": start,
        "slot": slot,
        "queries": queries,
        "bursts": bursts,
        **costs,
        **values,
    }


def decisions(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), tables.DECISIONS.schema.remove_metadata())


def test_bins_count_bursts_and_add_up_costs() -> None:
    rows = decisions(
        decision(5, "p, q"),
        decision(5, "", 3, cost_shared=4.0, cost_alone=3.0),
        decision(7, "p, q; r, s", 2),
        decision(7, None),
        decision(8, ""),
        decision(90, "", cost_shared=None, cost_alone=None),
    )
    found = [((one.start - DAY) / timedelta(minutes=1), one) for one in bins(rows)]
    assert [(minute, one.bursts, one.shared, one.cost_shared, one.cost_alone) for minute, one in found] == [
        (5, 4, 1, 5.0, 5.0), (7, 3, 3, 3.0, 6.0), (8, 1, 0, 1.0, 2.0), (90, 1, 0, 0.0, 0.0),
    ]  # fmt: skip
    assert [one.share for _, one in found] == [0.25, 1.0, 0.0, 0.0]
    many = bins(decisions(*(decision(minute, "p, q", 2) for minute in range(1_000))))
    assert 100 < len(many) <= 120
    assert (sum(one.bursts for one in many), sum(one.cost_alone for one in many)) == (2_000, 4_000.0)


def test_where_rows_sum_up_panes_there_is_a_bar_a_day() -> None:
    rows = decisions(decision(5, "p, q"), decision(None, "", 9), decision(24 * 60 + 3, "p, q", 4))
    assert [(one.start, one.bursts, one.shared) for one in bins(rows)] == [
        (DAY, 10, 1), (DAY + timedelta(days=1), 4, 4),
    ]  # fmt: skip
    assert bins(decisions(decision(None, "", slot=None))) == []


@pytest.mark.parametrize(
    "rows",
    [
        [decision(minute, "p, q" if minute % 3 else "", minute + 1) for minute in range(300)],
        [decision(0, "p, q")],
        [decision(None, "p, q")],
    ],
    ids=["many panes", "a pane", "a day"],
)
def test_sharing_over_time_is_drawn(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    deltalake.write_deltalake(tmp_path / "sharing_decisions", decisions(*rows))
    _, height = size(sharing_picture(Warehouse(tmp_path), "w"))
    assert height > 300
    assert sharing_picture(Warehouse(tmp_path), "other") != sharing_picture(Warehouse(tmp_path), "w")


def test_the_picture_says_how_many_bursts_were_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(plots, "png", lambda figure: drawn.append(figure) or b"")
    rows = decisions(decision(0, "p, q", 30), decision(1, "", 10), decision(1, "q, r", 1_200))
    deltalake.write_deltalake(tmp_path / "sharing_decisions", rows)
    sharing_picture(Warehouse(tmp_path), "w")
    (figure,) = drawn
    assert figure.get_suptitle() == "w: 1,230 of 1,240 bursts shared"
    above, below = figure.axes
    assert [round(bar.get_height(), 3) for bar in above.patches] == [1.0, 0.992]
    assert [list(line.get_ydata()) for line in below.lines] == [[60, 2420, 2420], [30, 1210, 1210]]


def test_the_reason_stands_in_place_of_a_picture_that_cannot_be_drawn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    context = dg.build_asset_context()
    with caplog.at_level("INFO", logger="hamlet"):
        drawn = presenting.picture(context, "results", lambda: message("a picture"))
        assert caplog.messages == []
        absent = presenting.picture(context, "results", lambda: png_of(1 // 0))
        several = presenting.pictures(context, "results", lambda: {"q": png_of(1 // 0)})
    assert several == absent
    assert str(drawn.value).startswith("![results](data:image/png;base64,")
    assert absent.value == "no picture of results: ZeroDivisionError: integer division or modulo by zero"
    assert caplog.messages == [absent.value] * 2


SHOWN_AT_ONCE = 1_000
"""Signs of Markdown below which Dagster's pages show it without a click."""


def shown_by(
    instance: dg.DagsterInstance, draw: Callable[[], bytes | dict[str, bytes]]
) -> dg.MetadataValue[object]:
    """What a run shows of pictures."""
    seen: list[dg.MetadataValue[object]] = []

    @dg.asset
    def drawn() -> None:
        seen.append(presenting.pictures(dg.AssetExecutionContext.get(), "sharing", draw))

    assert dg.materialize([drawn], instance=instance).success
    return seen[0]


def test_pictures_are_short_markdown_and_files_that_the_server_hands_out(dagster_home: Path) -> None:
    drawn = {f"query {number} of a long name": message(str(number)) for number in range(QUERIES)}
    with dg.DagsterInstance.get() as instance:
        shown = shown_by(instance, lambda: drawn)
        assert isinstance(shown, dg.MarkdownMetadataValue)
        assert len(str(shown.value)) < SHOWN_AT_ONCE
        found = re.findall(r"!\[([^]]+)\]\(/logs/(\S+)/png\)", str(shown.value))
        assert [name for name, _ in found] == [f"query {number} of a long n…" for number in range(QUERIES)]
        manager = instance.compute_log_manager
        assert isinstance(manager, LocalComputeLogManager)
        places = [manager.get_captured_local_path(key.split("/"), "png") for _, key in found]
    assert [Path(place).read_bytes() for place in places] == list(drawn.values())


def test_pictures_of_one_step_under_two_titles_are_files_of_their_own(dagster_home: Path) -> None:
    seen: list[str] = []

    @dg.asset
    def drawn() -> None:
        for title in ("results", "funnels"):
            shown = presenting.pictures(
                dg.AssetExecutionContext.get(), title, lambda title=title: {"q": message(title)}
            )
            seen.extend(re.findall(r"/logs/(\S+)/png", str(shown.value)))

    with dg.DagsterInstance.get() as instance:
        assert dg.materialize([drawn], instance=instance).success
        manager = instance.compute_log_manager
        assert isinstance(manager, LocalComputeLogManager)
        places = [manager.get_captured_local_path(key.split("/"), "png") for key in seen]
    assert [Path(place).read_bytes() for place in places] == [message("results"), message("funnels")]


def test_a_run_that_catches_nothing_of_what_steps_print_keeps_pictures_in_the_same_place(
    tmp_path: Path,
) -> None:
    with dagster_instance(tmp_path / "warehouse") as instance:
        (key,) = re.findall(r"/logs/(\S+)/png", str(shown_by(instance, lambda: message("x")).value))
    with dg.DagsterInstance.from_config(str(home_of(tmp_path / "warehouse"))) as server:
        manager = server.compute_log_manager
        assert isinstance(manager, LocalComputeLogManager)
        place = manager.get_captured_local_path(key.split("/"), "png")
    assert Path(place).read_bytes() == message("x")


def test_where_the_server_has_no_files_the_picture_is_in_its_address(
    dagster_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presenting, "LocalComputeLogManager", NoOpComputeLogManager)
    with dg.DagsterInstance.get() as instance:
        shown = shown_by(instance, lambda: message("x"))
    assert shown.value == markdown(message("x"), "sharing")


def png_of(number: float) -> bytes:
    return str(number).encode()


@pytest.mark.parametrize("module", [execute_assets, plan_assets, publish_assets])
def test_assets_draw_nothing_but_through_the_guard(module: ModuleType) -> None:
    """No `x_picture(...)` is called in an asset: it is given to `picture`, which calls it."""
    called = {
        node.func.id
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called & {"picture", "pictures"}
    assert {name for name in called if name.endswith(("_picture", "_pictures"))} == set()


def test_drawing_loads_no_window_and_importing_loads_nothing() -> None:
    program = (
        "import sys, pipelines.showing.plots, pipelines.showing.template_picture as t\n"
        "from pipelines.example import example_workload\n"
        "assert 'matplotlib' not in sys.modules\n"
        "t.template_picture(example_workload())\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
