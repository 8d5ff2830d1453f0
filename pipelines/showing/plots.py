"""Charts of what a workload came to: results over time from `trend_aggregates`, sharing from `sharing_decisions`."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.showing.people import group
from pipelines.showing.pictures import COLOURS, FAINT, figure, message, png, short, styled
from pipelines.spans import microseconds, moment
from resources import tables
from resources.warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Locator

QUERIES = 9
"""Queries that one picture shows: those of most windows and groups."""
GROUPS = 5
"""Groups of a query that have a colour: those of the largest numbers."""
_FAINT_GROUPS = 40
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
    """One group of a query: times ascending, and the log2 of its aggregate at each, NaN where there is none."""

    group: str
    times: tuple[datetime, ...]
    sizes: tuple[float, ...]

    @property
    def moments(self) -> npt.NDArray[np.datetime64]:
        """The times as an axis wants them."""
        return np.array(self.times, "datetime64[us]")

    @property
    def largest(self) -> float:
        """The largest size."""
        return max((size for size in self.sizes if not math.isnan(size)), default=-math.inf)


def results_picture(
    warehouse: Warehouse, workload: str, aggregates: Mapping[str, str] | None = None
) -> bytes:
    """A PNG of the published results: for each query an aggregate over time, its largest groups in colour.

    `aggregates` is query -> aggregate, and limits the picture to these queries; the default is the first one a query
    has among COUNT(*) and what comes first by name. The scale is logarithmic: sizes double with each step.
    """
    rows = _results(warehouse, workload)
    chosen = dict(aggregates) if aggregates is not None else _default_aggregates(rows)
    lines = {query: _lines(rows, query, aggregate) for query, aggregate in chosen.items()}
    shown = [query for query, found in lines.items() if found]
    if not shown:
        return message(f"Nothing is published of {short(workload, 60)} yet: there is nothing to draw.")
    most = sorted(shown, key=lambda query: (-sum(len(line.times) for line in lines[query]), query))[:QUERIES]
    kept = [query for query in shown if query in most]
    with styled():
        width, height = _grid(len(kept))
        drawn = figure(5.2 * width if width > 1 else 8.0, 2.3 * height + 0.4)
        left_out = len(shown) - len(kept)
        more = f" ({left_out} queries with fewer results not drawn)" if left_out else ""
        drawn.suptitle(
            f"{short(workload, 60)}: results over time{more}",
            x=0.01,
            ha="left",
            fontsize=11,
            fontweight="bold",
        )
        axes = drawn.subplots(height, width, squeeze=False).ravel()
        for one, query in zip(axes, kept, strict=False):
            _chart(one, query, chosen[query], lines[query])
        for one in axes[len(kept) :]:
            one.set_visible(False)
        return png(drawn)


def _results(warehouse: Warehouse, workload: str) -> pa.Table:
    columns = ["query", "window_start", "window_end", "group_key", "aggregate", "log2"]
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
    mine = rows.filter((pc.field("query") == query) & (pc.field("aggregate") == aggregate)).sort_by(
        "window_start"
    )
    starts = [moment(start).replace(tzinfo=None) for start in _on_calendar(mine["window_start"]).to_pylist()]
    step = min((later - earlier for earlier, later in pairwise(starts) if later > earlier), default=None)  # fmt: skip
    points: dict[str, list[tuple[datetime, float]]] = defaultdict(list)
    for start, key, size in zip(starts, mine.column("group_key").to_pylist(), mine.column("log2").to_pylist(), strict=True):  # fmt: skip
        before = points[key]
        if before and step is not None and start - before[-1][0] > step:
            before.append((before[-1][0] + step, math.nan))
        before.append((start, math.nan if size is None else size))
    lines = [Line(_said(key), *zip(*found, strict=True)) for key, found in points.items()]
    return sorted(lines, key=lambda line: (-line.largest, line.group))


def _on_calendar(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as microseconds from the epoch, those beyond the calendar at its ends."""
    first, last = map(microseconds, _CALENDAR)
    return pc.max_element_wise(
        pc.min_element_wise(times.cast(pa.int64()), last, skip_nulls=False), first, skip_nulls=False
    )


def _said(key: str) -> str:
    """A group in a legend: its values; the attribute's name too where there are several."""
    values = json.loads(key)
    if len(values) == 1:
        (value,) = values.values()
        return short("NULL" if value is None else str(value), 22)
    return short(group(key), 30)


def _grid(number: int) -> tuple[int, int]:
    """Columns and rows for so many charts."""
    columns = 1 if number == 1 else 2 if number <= 4 else 3
    return columns, -(-number // columns)


def _chart(axes: Axes, query: str, aggregate: str, lines: Sequence[Line]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    for line in reversed(lines[GROUPS : GROUPS + _FAINT_GROUPS]):
        axes.plot(line.moments, line.sizes, color=FAINT, linewidth=0.6, alpha=0.6)
    for colour, line in zip(COLOURS, lines[:GROUPS], strict=False):
        axes.plot(
            line.moments,
            line.sizes,
            color=colour,
            linewidth=1.3,
            label=line.group,
            marker=".",
            markersize=2.5,
        )
    others = len(lines) - GROUPS
    axes.set_title(
        f"{short(query, 30)}: {short(aggregate, 24)}"
        + (f", {others} more groups in grey" if others > 0 else ""),
        fontsize=8.5,
    )
    times = [time for line in lines for time in line.times]
    _limit(axes, min(times), max(times))
    axes.yaxis.set_major_locator(_powers(lines))
    axes.yaxis.set_major_formatter(lambda size, _: power(size))
    locator = AutoDateLocator(maxticks=6)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.tick_params(labelsize=7)
    axes.xaxis.get_offset_text().set_fontsize(7)
    if len(lines) > 1:
        axes.legend(
            loc="upper left", ncols=2, fontsize=6.5, handlelength=1.2, columnspacing=0.8, borderpad=0.1
        )
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + (high - low) * (0.16 * -(-min(len(lines), GROUPS) // 2)))


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


# --- sharing over time ---------------------------------------------------------------------------


def sharing_picture(warehouse: Warehouse, workload: str) -> bytes:
    """A PNG of the optimizer's decisions pane by pane: the share of bursts that were shared, and predicted costs.

    Day by day (or hour by hour, with hourly partitions) where some rows sum up panes.
    """
    found = bins(_decisions(warehouse, workload))
    if not found:
        return message(
            f"No decisions were taken burst by burst for {short(workload, 60)}:\n"
            "what its queries share is found in their plan, see the picture there."
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
    drawn = figure(8, 4.2)
    bursts, shared = sum(one.bursts for one in found), sum(one.shared for one in found)
    drawn.suptitle(
        f"{short(workload, 60)}: {shared:,} of {bursts:,} bursts shared",
        x=0.01,
        ha="left",
        fontsize=11,
        fontweight="bold",
    )
    above, below = drawn.subplots(2, 1, sharex=True)
    shares = [one.share for one in found]
    above.bar(starts, shares, width=0.9 * step.astype(float) / _DAY, align="edge", color=COLOURS[0])
    above.set_ylim(0, 1)
    above.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    above.set_title("bursts shared", fontsize=9)
    for costs, name, colour in (
        ([one.cost_alone for one in found], "every query alone", COLOURS[1]),
        ([one.cost_shared for one in found], "shared", COLOURS[0]),
    ):
        # The last bar has its width, too.
        edges = np.append(starts, end)
        below.step(edges, [*costs, *costs[-1:]], where="post", color=colour, label=name, linewidth=1.2)
    below.set_ylim(bottom=0)
    below.set_title("predicted cost of the bursts", fontsize=9)
    below.legend(loc="upper left")
    _limit(below, starts[0].item(), end.item())
    locator = AutoDateLocator(maxticks=8)
    below.xaxis.set_major_locator(locator)
    below.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    return drawn
