"""Results in a file of one picture: queries with several REACH as funnels, all others over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import Workload
from pipelines.ending import unfinished
from pipelines.showing import funnel_picture, plots
from pipelines.showing.funnels import funnels
from pipelines.showing.pictures import figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_Panel: TypeAlias = "tuple[float, Callable[[FigureBase], None]]"
"""Inches of its height, and what draws it."""

_FORMATS = (".png", ".svg")
_DPI = 150
_COLUMNS = 2


def check_plot(path: str) -> None:
    """Refuse what is no name of a picture, or lies in no folder, before any work is done."""
    with styled():  # where nothing can be drawn, this says so
        file = Path(path).absolute()
    if file.suffix.lower() not in _FORMATS:
        raise click.UsageError(
            f"--plot: {path} is no picture that is known: its name ends with .png or .svg."
        )
    if not file.parent.is_dir():
        raise click.UsageError(f"--plot: there is no folder {file.parent}")


def plot(path: str, workload: Workload, results: pa.Table) -> int:
    """Draw results (the columns of `hamlet_core.run`) into a PNG or SVG, whole or not at all; how many queries are drawn.

    Where results are of more queries than fit, those of most windows and groups are drawn; without results none, and
    the picture says so.
    """
    with styled():
        return _save(Path(path), _panels(workload, results))


def _panels(workload: Workload, results: pa.Table) -> list[_Panel]:
    """The height of each query's picture in inches and how it is drawn, in the order of the text."""
    found = funnels(workload, results)
    others = results.filter(pc.invert(pc.is_in(results["query"], value_set=pa.array(found, pa.string()))))
    drawn = {chart.query: chart for chart in plots.charts(others)}
    panels: list[_Panel] = []
    for name in (query.name for query in workload.queries):
        if name in found:
            height = funnel_picture.height(found[name])
            panels.append((height, partial(funnel_picture.draw, funnel=found[name])))
        elif name in drawn:
            panels.append((plots.SIZE[1], partial(plots.draw, chart=drawn[name])))
    return panels


def _save(path: Path, panels: Sequence[_Panel]) -> int:
    columns = _columns(panels)
    heights = [sum(height for height, _ in column) for column in columns]
    whole = max(heights, default=1.0)
    sheet = figure(len(columns) * plots.SIZE[0] or plots.SIZE[0], whole, layout=None)
    if not panels:
        sheet.text(0.5, 0.5, "No results: there is nothing to draw.", ha="center", va="center")
    else:
        grid = sheet.add_gridspec(1, len(columns))
        for place, column in enumerate(columns):
            _stack(sheet.add_subfigure(grid[place]), column, whole - heights[place])
    part = Path(f"{path}.part")
    with unfinished(part):
        sheet.savefig(part, format=path.suffix[1:].lower(), dpi=_DPI)
        part.replace(path)
    return len(panels)


def _columns(panels: Sequence[_Panel]) -> list[list[_Panel]]:
    """Each panel below the shortest column."""
    columns: list[list[_Panel]] = [[] for _ in range(min(_COLUMNS, len(panels)))]
    for panel in panels:
        min(columns, key=lambda column: sum(height for height, _ in column)).append(panel)
    return columns


def _stack(column: FigureBase, panels: Sequence[_Panel], rest: float) -> None:
    """Panels below one another; what is left of the column stays empty."""
    heights = [height for height, _ in panels] + ([rest] if rest > 0 else [])
    grid = column.add_gridspec(len(heights), 1, height_ratios=heights)
    for place, (_, draw) in enumerate(panels):
        draw(column.add_subfigure(grid[place]))
