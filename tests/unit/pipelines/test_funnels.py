"""Funnels as people see them: sums of result rows, a line of conversion, and a picture."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import deltalake
import pyarrow as pa
import pytest
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from hamlet_core import parse
from pipelines.cli import main
from pipelines.querying import query
from pipelines.settings import NamedWorkload
from pipelines.showing import funnel_picture, plot_file
from pipelines.showing.funnels import Funnel, conversion, funnels, sentence, share
from pipelines.showing.pictures import LARGEST, figure, styled
from resources import tables
from resources.warehouse import Warehouse
from tests.unit.pipelines import test_docs as docs

DAY = datetime(2026, 1, 5, tzinfo=UTC)
CHECKOUT = "FUNNEL checkout: view -> cart -> purchase BY user WITHIN 1 d"
GROUPED = "FUNNEL checkout: view -> cart -> purchase BY user GROUP-BY country WITHIN 1 d"
Counts = tuple[int, ...]


def rows(
    text: str, places: dict[tuple[int, str], Counts], times: pa.DataType = pa.timestamp("us", "UTC")
) -> pa.Table:
    """Result rows of the one query of a text; (day, group) -> what its REACH are."""
    (query,) = parse(text).queries
    labels = [one.label for one in query.aggregates if one.function.value == "REACH"]
    found: list[dict[str, object]] = []
    for (day, group), counts in places.items():
        starts = [DAY + timedelta(days=day + more) for more in (0, 1)]
        bounds = [day * 10, day * 10 + 10] if pa.types.is_integer(times) else starts
        place = {"query": query.name, "window_start": bounds[0], "window_end": bounds[1], "group_key": group}
        found += [
            {**place, "aggregate": label, "value": float(count)}
            for label, count in zip(labels, counts, strict=True)
        ]
        found.append({**place, "aggregate": "AVG(DURATION)", "value": 7.5})
    schema = pa.schema(
        [
            ("query", pa.string()), ("window_start", times), ("window_end", times), ("group_key", pa.string()),
            ("aggregate", pa.string()), ("value", pa.float64()), ("log2", pa.float64()),
        ]
    )  # fmt: skip
    return pa.Table.from_pylist(found, schema=schema)


def funnel(text: str, places: dict[tuple[int, str], Counts]) -> Funnel:
    (found,) = funnels(parse(text), rows(text, places)).values()
    return found


def test_windows_and_groups_are_added_up() -> None:
    de, fr, no = '{"country":"DE"}', '{"country":"FR"}', '{"country":null}'
    found = funnel(
        GROUPED, {(0, de): (10, 4, 1), (0, fr): (30, 9, 3), (1, de): (15, 6, 0), (3, no): (25, 0, 0)}
    )
    assert found.counts == (80, 19, 4)
    assert [(one.group, one.counts) for one in found.groups] == [
        (fr, (30, 9, 3)),
        (de, (25, 10, 1)),
        (no, (25, 0, 0)),
    ]
    assert (found.windows, found.period) == (3, "2026-01-05 .. 2026-01-08")
    assert sentence(found) == (
        "checkout, 3 windows and 3 groups added up: view 80 -> cart 19 (23.8 %) -> purchase 4 (21.1 %)"
    )


def test_one_window_is_no_sum() -> None:
    found = funnel(CHECKOUT, {(0, "{}"): (1000, 412, 97)})
    assert sentence(found) == "checkout: view 1,000 -> cart 412 (41.2 %) -> purchase 97 (23.5 %)"
    assert found.period == "2026-01-05"


def test_windows_of_integers() -> None:
    table = rows(CHECKOUT, {(0, "{}"): (3, 2, 1), (4, "{}"): (3, 2, 1)}, pa.int64())
    (found,) = funnels(parse(CHECKOUT), table).values()
    assert (found.period, found.windows, found.counts) == ("[0, 50)", 2, (6, 4, 2))


def test_zero_is_no_share_of_zero() -> None:
    assert (
        sentence(funnel(CHECKOUT, {(0, "{}"): (4, 0, 0)}))
        == "checkout: view 4 -> cart 0 (0.0 %) -> purchase 0 (-)"
    )
    assert (share(1, 100_000), share(99_999, 100_000), share(5, 5)) == ("<0.1 %", ">99.9 %", "100.0 %")


def test_what_is_no_share_of_the_step_before_says_of_which() -> None:
    text = "f: RETURN REACH(c), REACH(a), REACH(w), REACH(p) PATTERN SEQ(a, (c OR w), p) WHERE [u] WITHIN 1 d"
    found = funnel(text, {(0, "{}"): (50, 100, 20, 10)})
    assert (
        conversion(found.steps, found.counts)
        == "c 50 (50.0 % of a), a 100 -> w 20 (20.0 %), p 10 (10.0 % of a)"
    )


def test_only_queries_with_results_and_several_reach() -> None:
    text = (
        f"{CHECKOUT} one: RETURN REACH(A), COUNT(*) PATTERN A WITHIN 1 d FUNNEL none: A -> B BY u WITHIN 1 d"
    )
    assert list(funnels(parse(text), rows(CHECKOUT, {(0, "{}"): (1, 1, 1)}))) == ["checkout"]
    assert funnels(parse(text), rows(CHECKOUT, {})) == {}


# --- pictures ------------------------------------------------------------------------------------


def steps(number: int, name: str = "step_{}") -> str:
    names = " -> ".join(f'"{name.format(place)}" s{place}' for place in range(number))
    return f"FUNNEL f: {names} BY user GROUP-BY g WITHIN 1 d"


LONG = '{"g":"' + "a group with a name that goes on and on " * 4 + '"}'
DRAWN = {
    "two": (steps(2), {(0, '{"g":1}'): (5, 1)}),
    "twelve": (steps(12), {(day, f'{{"g":{day}}}'): tuple(10**9 // 3**n for n in range(12)) for day in range(5)}),
    "long names": (steps(5, "a type {} with a very long name $x^2$"), {(0, LONG): (9, 4, 3, 2, 1), (1, "{}"): (1,) * 5}),
    "zero": (steps(3), {(0, '{"g":1}'): (0, 0, 0)}),
    "many groups": (steps(3), {(0, f'{{"g":{n}}}'): (900 - n, 90, 9) for n in range(40)}),
    "not so many": (steps(3), {(0, f'{{"g":{n}}}'): (900 - n, 90, 9) for n in range(3)}),
}  # fmt: skip


def drawn(name: str) -> tuple[list[Text], list[Rectangle], float]:
    """Texts and bars of a funnel, and the height of its picture in inches."""
    found = funnel(*DRAWN[name])
    with styled():
        sheet = figure(funnel_picture.WIDTH, funnel_picture.height(found), layout=None)
        funnel_picture.draw(sheet, found)
        sheet.canvas.draw()
    (axes,) = sheet.axes
    return [text for text in axes.texts if text.get_text()], list(axes.patches), sheet.get_size_inches()[1]


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_lies_on_another_or_leaves_the_picture(name: str) -> None:
    texts, _, _ = drawn(name)
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    whole = texts[0].figure.bbox
    for place, (said, box) in enumerate(boxes):
        assert whole.x0 <= box.x0, said
        assert box.x1 <= whole.x1, said
        assert whole.y0 <= box.y0, said
        assert box.y1 <= whole.y1, said
        for other, beside in boxes[place + 1 :]:
            apart = (
                box.x1 <= beside.x0
                or beside.x1 <= box.x0
                or box.y1 <= beside.y0 + 1
                or beside.y1 <= box.y0 + 1
            )
            assert apart, (said, other)


@pytest.mark.parametrize("name", DRAWN)
def test_texts_and_bars_do_not_meet(name: str) -> None:
    texts, bars, _ = drawn(name)
    for bar in bars:
        box = bar.get_window_extent()
        for text in texts:
            beside = text.get_window_extent()
            apart = box.x1 <= beside.x0 or beside.x1 <= box.x0 or box.y1 <= beside.y0 or beside.y1 <= box.y0
            assert apart, text.get_text()


def test_a_bar_is_as_long_as_its_count() -> None:
    found = funnel(CHECKOUT, {(0, "{}"): (1000, 250, 0)})
    with styled():
        sheet = figure(funnel_picture.WIDTH, funnel_picture.height(found), layout=None)
        funnel_picture.draw(sheet, found)
    widths = [bar.get_width() for bar in sheet.axes[0].patches]
    whole, bars = widths[0], widths[1::2]
    assert widths[::2] == [whole] * 3
    assert bars == pytest.approx([whole, whole / 4, 0])
    said = [text.get_text() for text in sheet.axes[0].texts]
    assert said[-12:] == [
        "view", "1,000", "", "",
        "cart", "250", "25.0 %", "75.0 %",
        "purchase", "0", "0.0 %", "100.0 %",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "headings", "caption"),
    [
        ("two", [], "2026-01-05"),
        (
            "twelve",
            ["all 5 groups", "g=0"],
            "2026-01-05 .. 2026-01-09, 5 windows; the largest of 5 groups below",
        ),
        (
            "many groups",
            ["all 40 groups", "g=0", "g=1", "g=2", "g=3"],
            "2026-01-05; the 4 largest of 40 groups below",
        ),
        ("not so many", ["all 3 groups", "g=0", "g=1", "g=2"], "2026-01-05"),
    ],
)
def test_the_largest_groups_are_drawn_below_all_of_them(name: str, headings: list[str], caption: str) -> None:
    texts, _, inches = drawn(name)
    said = [text.get_text() for text in texts]
    assert said[0] == "f: funnel"
    assert said[1] == caption
    assert [one for one in said[1:] if one.startswith(("all ", "g="))] == headings
    several = "windows and groups" if name == "twelve" else "groups"
    assert (f"added up; who is in several {several} counts in each" in said) == bool(headings)
    assert inches < 6


@pytest.mark.parametrize("name", DRAWN)
def test_the_picture_is_a_small_png(name: str) -> None:
    (picture,) = funnel_picture.funnel_pictures([funnel(*DRAWN[name])]).values()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) <= LARGEST
    assert struct.unpack(">I", picture[16:20]) == (420,)


def published(place: Path, *found: pa.Table) -> Warehouse:
    """A warehouse in which these rows are the published results of the workload w."""
    for table in found:
        stored = [{**row, "workload": "w", "day": row["window_start"].date()} for row in table.to_pylist()]
        results = pa.Table.from_pylist(stored, schema=tables.PUBLISHED.schema)
        deltalake.write_deltalake(place / "trend_aggregates", results, partition_by=["day"], mode="append")
    return Warehouse(place)


def test_published_funnels_are_those_of_the_rows(tmp_path: Path) -> None:
    workload = NamedWorkload("w", f"{CHECKOUT} x: RETURN COUNT(*) PATTERN A WITHIN 1 d")
    places = {(0, "{}"): (9, 5, 1), (1, "{}"): (8, 2, 2)}
    warehouse = published(tmp_path, rows(CHECKOUT, places))
    drawn = funnel_picture.published_funnels(warehouse, workload)
    assert drawn == funnel_picture.funnel_pictures([funnel(CHECKOUT, places)])
    other = funnel_picture.published_funnels(warehouse, NamedWorkload("other", CHECKOUT))
    assert list(other) == ["funnels"]
    assert other["funnels"] != drawn["checkout"]


def test_the_page_of_tables_computes_conversion(tmp_path: Path) -> None:
    (block,) = docs.marked("run-funnel")
    wide = {
        "window_start": [1, 2],
        "reach_view": [8.0, 0.0],
        "reach_cart": [4.0, 0.0],
        "reach_purchase": [1.0, 0.0],
    }
    deltalake.write_deltalake(tmp_path / "shop__checkout", pa.table(wide))
    assert query(block.text, tmp_path).to_pylist() == [
        {
            **{name: values[0] for name, values in wide.items()},
            "view_to_cart": 0.5,
            "cart_to_purchase": 0.25,
            "view_to_purchase": 0.125,
        },
        {
            **{name: values[1] for name, values in wide.items()},
            "view_to_cart": None,
            "cart_to_purchase": None,
            "view_to_purchase": None,
        },
    ]


# --- hamlet run ----------------------------------------------------------------------------------

EVENTS = "time,type,user,country\n" + "".join(
    f"2026-01-0{5 + user % 3}T08:00:{second:02},{kind},{user},{'DE' if user % 2 else 'FR'}\n"
    for user in range(9)
    for second, kind in enumerate(("view", "cart", "purchase")[: 1 + user % 3])
)
WORKLOAD = f"""
{GROUPED}
views: RETURN COUNT(*) PATTERN view WITHIN 1 d
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "clicks.csv").write_text(EVENTS, "utf-8")
    (tmp_path / "w.hamlet").write_text(WORKLOAD, "utf-8")
    return tmp_path


def run(place: Path, *options: str, workload: str = "w.hamlet", events: str = "clicks.csv") -> int:
    return main(
        ["run", str(place / workload), "--events", str(place / events), "--engine", "greta", *options]
    )


@pytest.mark.parametrize("queries", [("checkout",), ("views",), ("checkout", "views")])
@pytest.mark.parametrize("suffix", ["png", "SVG"])
def test_plot_writes_a_picture_of_every_query(
    place: Path, capfd: pytest.CaptureFixture[str], queries: tuple[str, ...], suffix: str
) -> None:
    file = place / f"plot.{suffix}"
    chosen = [word for query in queries for word in ("--query", query)]
    assert run(place, *chosen, "--plot", str(file), "--format", "json") == 0
    shown = capfd.readouterr()
    assert shown.out.startswith("[")
    assert "added up" not in shown.out + shown.err
    assert sorted(path.name for path in place.iterdir()) == ["clicks.csv", file.name, "w.hamlet"]
    data = file.read_bytes()
    if suffix == "png":
        width, height = struct.unpack(">II", data[16:24])
        assert width == len(queries) * 630
        assert height > 200
    else:
        root = ET.fromstring(data)
        assert root.tag.endswith("svg")
        assert root.attrib["width"] == f"{len(queries) * 302.4:g}pt"
        assert len(data) > 5_000


def test_plot_of_integer_times_and_of_no_results(place: Path) -> None:
    numbered = "".join(f"{time},{kind},1,DE\n" for time, kind in enumerate(("view", "cart", "view")))
    (place / "numbers.csv").write_text("time,type,user,country\n" + numbered, "utf-8")
    (place / "none.csv").write_text("time,type,user,country\n1,other,1,DE\n", "utf-8")
    for events in ("numbers.csv", "none.csv"):
        assert run(place, "--plot", str(place / f"{events}.png"), events=events) == 0
        assert (place / f"{events}.png").read_bytes().startswith(b"\x89PNG")


def test_plot_says_how_many_queries_it_leaves_out(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(f"q{n}: RETURN COUNT(*) PATTERN view WITHIN {n + 1} h" for n in range(11))
    (place / "many.hamlet").write_text(text, "utf-8")
    assert run(place, "--plot", str(place / "many.png"), "--limit", "1", workload="many.hamlet") == 0
    assert f"{place / 'many.png'} shows 9 of 11 queries; --query chooses." in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--plot", "plot.pdf"), "plot.pdf is no picture that is known: its name ends with .png or .svg."),
        (("--plot", "plot"), "its name ends with .png or .svg."),
        (("--plot", "nowhere/plot.png"), "--plot: there is no folder"),
        (("--plot", "plot.png", "--why", "{}", "2026-01-05"), "--why lists trends, which have no --plot"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_any_work(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr("hamlet_core.execute", lambda *_, **__: pytest.fail("it has begun"))
    assert run(place, *options) == 2
    assert said in " ".join(capfd.readouterr().err.split())
    assert {path.name for path in place.iterdir()} == {"clicks.csv", "w.hamlet"}


def test_panels_fill_the_shorter_column() -> None:
    panels = [(height, lambda _: None) for height in (1.0, 4.0, 2.0, 0.5, 1.0)]
    assert [[height for height, _ in column] for column in plot_file._columns(panels)] == [
        [1.0, 2.0, 0.5, 1.0],
        [4.0],
    ]
    assert [len(column) for column in plot_file._columns(panels[:1])] == [1]
    assert plot_file._columns([]) == []
