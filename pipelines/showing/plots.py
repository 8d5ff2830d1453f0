"""Charts of what a workload came to: results over time from `trend_aggregates`, sharing from `sharing_decisions`."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.showing.people import group
from pipelines.showing.pictures import COLOURS, FAINT, figure, message, png, sheet, short, styled
from pipelines.spans import microseconds, moment
from resources import tables
from resources.warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.ticker import Locator

QUERIES = 9
"""Queries that are drawn: those of most windows and groups."""
GROUPS = 5
"""Groups of a query that are drawn: those of the largest numbers."""
SIZE = 4.2, 2.1
"""Inches of a chart: one fits the column of metadata in Dagster's pages of 1,440 pixels, two in pages of 1,920."""
_PLACE = {"left": 0.115, "bottom": 0.2, "top": 0.79}
_BROAD, _BESIDE_NAMES = 0.93, 0.7
"""Where the axes of a chart end, without and with the names of groups right of them."""
_NAME = 18
"""Signs of a group's name."""
_MOST_ROWS = 400_000
"""Results that are looked at, the latest days of them: a picture is to take seconds."""
_BINS = 120
_DAY = 86_400_000_000
_CALENDAR = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
_FIRST, _LAST = (end.replace(tzinfo=None) for end in _CALENDAR)
"""The calendar of an axis of time; what is beyond it is drawn at its ends."""


# --- results over time ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One group of a query: times ascending, and its aggregate at each, NaN where there is none.

    A count is its log2, because counts of trends double with each event; any other aggregate is the number itself.
    """

    group: str
    times: tuple[datetime, ...] | tuple[int, ...]
    """Integers where the events have such times."""
    sizes: tuple[float, ...]

    @property
    def moments(self) -> npt.NDArray[np.datetime64] | npt.NDArray[np.float64]:
        """The times as an axis wants them."""
        return np.array(self.times, float if isinstance(self.times[0], int) else "datetime64[us]")

    @property
    def largest(self) -> float:
        """The largest size."""
        return max((size for size in self.sizes if not math.isnan(size)), default=-math.inf)


def results_pictures(
    warehouse: Warehouse, workload: str, aggregates: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """A small PNG of the published results per query: an aggregate over time, in its largest groups.

    `aggregates` is query -> aggregate, and limits the pictures to these queries; the default is the first one a query
    has among COUNT(*) and what comes first by name. The scale of counts is logarithmic, that of all others linear.
    """
    rows = published(warehouse, workload)
    drawn = charts(rows, aggregates)
    if not drawn:
        nothing = f"Nothing is published of {short(workload, 40)} yet:\nthere is nothing to draw."
        return {"results": message(nothing)}
    with styled():
        return {chart.query: png(_figure(chart)) for chart in drawn}


@dataclass(frozen=True, slots=True)
class Chart:
    """One aggregate of a query over time, by groups, the largest first."""

    query: str
    aggregate: str
    lines: tuple[Line, ...]


def charts(rows: pa.Table, aggregates: Mapping[str, str] | None = None) -> list[Chart]:
    """The charts of result rows: of `QUERIES` queries, those of most windows and groups; `aggregates` as above."""
    chosen = dict(aggregates) if aggregates is not None else _default_aggregates(rows)
    found = [
        Chart(query, aggregate, tuple(lines))
        for query, aggregate in chosen.items()
        if (lines := _lines(rows, query, aggregate))
    ]
    most = sorted(found, key=lambda one: (-sum(len(line.times) for line in one.lines), one.query))[:QUERIES]
    return [one for one in found if one in most]


def results_picture(
    warehouse: Warehouse, workload: str, aggregates: Mapping[str, str] | None = None
) -> bytes:
    """The same in one PNG, in two columns."""
    return sheet(list(results_pictures(warehouse, workload, aggregates).values()))


def published(warehouse: Warehouse, workload: str) -> pa.Table:
    """Result rows of a workload from `trend_aggregates`: its latest days, as many as a picture is made of."""
    columns = ["query", "window_start", "window_end", "group_key", "aggregate", "value", "log2"]
    if not warehouse.exists(tables.PUBLISHED.name):
        return tables.PUBLISHED.schema.remove_metadata().empty_table().select(columns)
    published = warehouse.dataset(tables.PUBLISHED.name)
    mine = pc.field("workload") == workload
    first = _first_day(published.to_table(columns=["day"], filter=mine).column("day"))
    return published.to_table(
        columns=columns, filter=mine if first is None else mine & (pc.field("day") >= first)
    )


def _first_day(days: pa.ChunkedArray) -> pa.Scalar | None:
    """The first of the latest days that have about `_MOST_ROWS` rows together; None where all days have no more."""
    if len(days) <= _MOST_ROWS:
        return None
    return days.take(pc.sort_indices(days)).slice(len(days) - _MOST_ROWS)[0]


def _default_aggregates(rows: pa.Table) -> dict[str, str]:
    pairs = rows.group_by(["query", "aggregate"]).aggregate([]).to_pylist()
    found: dict[str, str] = {}
    for pair in sorted(
        pairs, key=lambda pair: (pair["query"], pair["aggregate"] != "COUNT(*)", pair["aggregate"])
    ):
        found.setdefault(pair["query"], pair["aggregate"])
    return found


def _lines(rows: pa.Table, query: str, aggregate: str) -> list[Line]:
    """The groups of a query, the largest first; a window without a result is a gap in its line."""
    measure = "log2" if is_count(aggregate) else "value"
    mine = rows.filter((pc.field("query") == query) & (pc.field("aggregate") == aggregate)).sort_by(
        "window_start"
    )
    starts = _starts(mine["window_start"])
    step: Any = min((later - earlier for earlier, later in pairwise(starts) if later > earlier), default=None)  # fmt: skip
    points: dict[str, list[tuple[Any, float]]] = defaultdict(list)
    for start, key, size in zip(starts, mine.column("group_key").to_pylist(), mine.column(measure).to_pylist(), strict=True):  # fmt: skip
        before = points[key]
        if before and step is not None and start - before[-1][0] > step:
            before.append((before[-1][0] + step, math.nan))
        before.append((start, math.nan if size is None else size))
    lines = [Line(_said(key), *zip(*found, strict=True)) for key, found in points.items()]
    return sorted(lines, key=lambda line: (-line.largest, line.group))


def _starts(times: pa.ChunkedArray) -> list[Any]:
    """As they are if they are integers, else on the calendar of an axis."""
    if pa.types.is_integer(times.type):
        return list(times.to_pylist())
    return [moment(start).replace(tzinfo=None) for start in _on_calendar(times).to_pylist()]


def _on_calendar(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as microseconds from the epoch, those beyond the calendar at its ends."""
    first, last = map(microseconds, _CALENDAR)
    return pc.max_element_wise(
        pc.min_element_wise(times.cast(pa.int64()), last, skip_nulls=False), first, skip_nulls=False
    )


def _said(key: str) -> str:
    """A group in a legend: its values, with the names of the attributes where there are several, and room."""
    values = json.loads(key)
    named = group(key)
    if len(values) > 1 and len(named) <= _NAME:
        return short(named, _NAME)
    return short(", ".join("NULL" if value is None else str(value) for value in values.values()), _NAME)


def is_count(aggregate: str) -> bool:
    """Whether an aggregate counts: COUNT(*) or COUNT(E)."""
    return aggregate.upper().startswith("COUNT(")


def _figure(chart: Chart) -> Figure:
    drawn = figure(*SIZE, layout=None)
    draw(drawn, chart)
    return drawn


def draw(drawn: FigureBase, chart: Chart) -> None:
    """Draw a chart into a figure, or a part of one, of `SIZE` inches."""
    from matplotlib.ticker import MaxNLocator

    query, aggregate, lines = chart.query, chart.aggregate, chart.lines
    right = _BROAD if len(lines) == 1 else _BESIDE_NAMES
    axes = drawn.subplots(gridspec_kw={**_PLACE, "right": right})
    for colour, line in zip(COLOURS, lines[:GROUPS], strict=False):
        axes.plot(
            line.moments,
            line.sizes,
            color=colour,
            linewidth=1.1,
            label=line.group,
            marker=".",
            markersize=2,
        )
    title = f"{short(query, 36)}: {short(aggregate, 28)}"
    drawn.text(0.015, 0.97, title, va="top", fontsize=8.5, fontweight="bold")
    drawn.text(0.015, 0.885, _extent(len(lines)), va="top", fontsize=7, color=FAINT)
    counts = is_count(aggregate)
    axes.yaxis.set_major_locator(_powers(lines) if counts else MaxNLocator(nbins=5))
    axes.yaxis.set_major_formatter(lambda size, _: power(size) if counts else brief(size))
    _time_axis(axes, lines[:GROUPS])
    axes.tick_params(labelsize=7)
    axes.xaxis.get_offset_text().set_fontsize(7)
    if len(lines) > 1:
        axes.legend(
            loc="upper left", bbox_to_anchor=(1.0, 1.06), fontsize=7, handlelength=1.1, borderaxespad=0.3
        )


def _time_axis(axes: Axes, lines: Sequence[Line]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    times: list[Any] = [time for line in lines for time in line.times]
    first, last = min(times), max(times)
    if isinstance(first, int):
        margin = max((last - first) / 40, 0.5)
        axes.set_xlim(first - margin, last + margin)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        axes.xaxis.set_major_formatter(lambda time, _: brief(time))
        return
    _limit(axes, first, last)
    locator = AutoDateLocator(minticks=3, maxticks=5)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _extent(groups: int) -> str:
    """Which groups are drawn, of how many."""
    if groups == 1:
        return ""
    return f"the {GROUPS} largest of {groups:,} groups" if groups > GROUPS else f"{groups} groups"


def _limit(axes: Axes, first: datetime, last: datetime) -> None:
    """An axis from the first to the last time, with a margin as far as the calendar has one."""
    margin = max((last - first) / 40, timedelta(minutes=1))
    axes.set_xlim(first - min(margin, first - _FIRST), last + min(margin, _LAST - last))  # type: ignore[arg-type]


def _powers(lines: Sequence[Line]) -> Locator:
    """Whole powers of two, unless all sizes lie close together."""
    from matplotlib.ticker import MaxNLocator

    sizes = [size for line in lines for size in line.sizes if not math.isnan(size)]
    return MaxNLocator(nbins=5, integer=max(sizes, default=0.0) - min(sizes, default=0.0) > 2)


def power(size: float) -> str:
    """A power of two as its number, as long as that is short.

    >>> power(10.0), power(20.0), power(-1.0), power(300.0)
    ('1,024', '1.05M', '0.5', '2^300')
    """
    if abs(size) > 49:
        return f"2^{size:g}"
    number = 2.0**size
    for least, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= least:
            return f"{number / (1e3 if sign == 'k' else least):.3g}{sign}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def brief(number: float) -> str:
    """A number for an axis, in a few signs.

    >>> brief(0.25), brief(-1500.0), brief(2_500_000.0), brief(3e300)
    ('0.25', '-1,500', '2.5M', '3e300')
    """
    if not 1e-4 <= abs(number) < 1e15:
        return "0" if number == 0 else f"{number:.3g}".replace("e+", "e")
    for least, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(number) >= least:
            return f"{number / least:.6g}{sign}"
    return f"{number:,.6g}"


# --- sharing over time ---------------------------------------------------------------------------


def sharing_picture(warehouse: Warehouse, workload: str) -> bytes:
    """A PNG of the optimizer's decisions pane by pane: the share of bursts that were shared, and predicted costs.

    Day by day (or hour by hour, with hourly partitions) where some rows sum up panes.
    """
    found = bins(_decisions(warehouse, workload))
    if not found:
        return message(
            f"No decisions were taken burst by burst for {short(workload, 30)}:\n"
            "what its queries share is found in their plan,\nsee the picture there."
        )
    with styled():
        return png(_sharing(found, workload))


def _decisions(warehouse: Warehouse, workload: str) -> pa.Table:
    columns = ["pane_start", "slot", "queries", "bursts", "cost_shared", "cost_alone"]
    if not warehouse.exists(tables.DECISIONS.name):
        return tables.DECISIONS.schema.remove_metadata().empty_table().select(columns)
    decisions = warehouse.dataset(tables.DECISIONS.name)
    return decisions.to_table(columns=columns, filter=pc.field("workload") == workload)


@dataclass(frozen=True, slots=True)
class Bin:
    """Panes in a row, as one bar of a chart; costs are predicted, and those of all its bursts."""

    start: datetime
    bursts: int
    shared: int
    cost_shared: float
    cost_alone: float

    @property
    def share(self) -> float:
        """Of its bursts, how many were shared."""
        return self.shared / self.bursts


def bins(rows: pa.Table) -> list[Bin]:
    """The decisions by pane, or by a few panes together where there are many; rows without any time are left out."""
    summed_up = rows["pane_start"].null_count > 0
    ticks = _on_calendar(rows["slot" if summed_up else "pane_start"])
    # NULL stands for several sets: somebody shared.
    alone = pc.fill_null(pc.equal(rows["queries"], ""), False)
    parts = {
        "ticks": ticks,
        "bursts": rows["bursts"],
        "shared": pc.if_else(alone, 0, rows["bursts"]),
        "cost_shared": rows["cost_shared"],
        "cost_alone": rows["cost_alone"],
    }
    timed = pa.table(parts).filter(pc.is_valid(ticks))
    if not timed.num_rows:
        return []
    times = timed["ticks"].to_numpy()
    low = int(times.min())
    width = -(-(int(times.max()) - low + 1) // _BINS)
    placed = timed.append_column("place", pa.array((times - low) // width))
    wanted = [("ticks", "min"), *((name, "sum") for name in parts if name != "ticks")]
    found = placed.group_by("place").aggregate(wanted).sort_by("place").drop_columns("place")
    return [
        Bin(moment(first), bursts, shared, together or 0.0, apart or 0.0)
        for first, bursts, shared, together, apart in zip(*(one.to_pylist() for one in found), strict=True)
    ]


def _sharing(found: Sequence[Bin], workload: str) -> Figure:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    starts = np.array([one.start.replace(tzinfo=None) for one in found], "datetime64[us]")
    step = min(np.diff(starts), default=np.timedelta64(1, "m"))
    end = min(starts[-1] + step, np.datetime64(_LAST, "us"))
    drawn = figure(SIZE[0], 3.1, layout=None)
    bursts, shared = sum(one.bursts for one in found), sum(one.shared for one in found)
    drawn.suptitle(
        f"{short(workload, 30)}: {shared:,} of {bursts:,} bursts shared",
        x=0.015,
        y=0.985,
        ha="left",
        fontsize=8.5,
        fontweight="bold",
    )
    above, below = drawn.subplots(
        2,
        1,
        sharex=True,
        gridspec_kw={"left": 0.115, "right": 0.98, "top": 0.84, "bottom": 0.135, "hspace": 0.36},
    )
    shares = [one.share for one in found]
    above.bar(starts, shares, width=0.9 * step.astype(float) / _DAY, align="edge", color=COLOURS[0])
    above.set_ylim(0, 1)
    above.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    above.set_title("share of bursts that were shared", fontsize=7.5)
    for costs, name, colour in (
        ([one.cost_alone for one in found], "every query alone", COLOURS[1]),
        ([one.cost_shared for one in found], "shared", COLOURS[0]),
    ):
        # The last bar has its width, too.
        edges = np.append(starts, end)
        below.step(edges, [*costs, *costs[-1:]], where="post", color=colour, label=name, linewidth=1.1)
    below.set_ylim(bottom=0)
    below.yaxis.set_major_formatter(lambda cost, _: brief(cost))
    below.set_title("predicted cost of the bursts", fontsize=7.5)
    below.legend(loc="lower right", bbox_to_anchor=(1.0, 0.96), ncols=2, fontsize=7, borderaxespad=0)
    _limit(below, starts[0].item(), end.item())
    locator = AutoDateLocator(maxticks=7)
    below.xaxis.set_major_locator(locator)
    below.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    for axes in (above, below):
        axes.tick_params(labelsize=7)
    below.xaxis.get_offset_text().set_fontsize(7)
    return drawn
