"""Numbers over a size, a line for each contender, as a PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.showing.pictures import COLOURS, figure, png, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = "os^Dv<>*PX"
"""Lines that lie on one another are still seen."""


@dataclass(frozen=True)
class Chart:
    """One chart; a line is (size, number) by size, and may stop early or be empty."""

    across: str
    up: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    logarithmic: bool = True
    """Whether the numbers are; sizes always are."""


def picture(title: str, rows: Sequence[Sequence[Chart]]) -> bytes:
    """Charts in rows of equal length; all have the same lines, which the first one names."""
    with styled():
        drawn = figure(3.4 * len(rows[0]), 2.5 * len(rows) + 0.6)
        drawn.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        axes = drawn.subplots(len(rows), len(rows[0]), squeeze=False)
        for charts, places in zip(rows, axes, strict=True):
            for chart, place in zip(charts, places, strict=True):
                _draw(place, chart)
        handles, names = axes[0][0].get_legend_handles_labels()
        drawn.legend(handles, names, loc="outside lower center", ncols=min(len(names), 5))
        return png(drawn)


def _draw(axes: Axes, chart: Chart) -> None:
    for place, (name, points) in enumerate(chart.lines.items()):
        axes.plot(
            [size for size, _ in points],
            [number for _, number in points],
            label=name,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKS[place % len(MARKS)],
            markersize=max(7 - place, 3),
            markerfacecolor="none",
            linewidth=1.2,
        )
    axes.set_xlabel(chart.across)
    axes.set_title(chart.up)
    axes.set_xscale("log")
    if chart.logarithmic:
        axes.set_yscale("log")
    else:
        largest = max((number for points in chart.lines.values() for _, number in points), default=0)
        axes.set_ylim(0, 1.1 * (largest or 1))
    axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.0f}" if number >= 10 else f"{number:g}")
    sizes = sorted({size for points in chart.lines.values() for size, _ in points})
    axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
    axes.minorticks_off()
