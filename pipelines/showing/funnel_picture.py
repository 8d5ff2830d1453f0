"""Funnels as pictures: a bar per step, with its count, its share of the first step and the drop-off before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hamlet_core import parse
from pipelines.settings import NamedWorkload
from pipelines.showing.funnels import Funnel, Reached, funnels, share
from pipelines.showing.people import group
from pipelines.showing.pictures import COLOURS, FAINT, GRID, INK, figure, message, png, short, styled
from pipelines.showing.plots import brief, published
from resources.warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

WIDTH = 4.2
"""Inches, as of the other pictures of results."""
_ROW, _HEAD, _FOOT = 0.185, 0.66, 0.08
"""Inches of a step, of what stands above the steps, and of what is left free below."""
_ROWS = 28
"""Steps and names of groups that fit into a picture which a page shows in full."""
MOST = 9
"""Queries that are drawn, the first of the workload."""
GROUPS = 4
"""Groups that are drawn beside all of them together."""
_NAME, _GROUP = 19, 44
"""Signs of a step's and of a group's name."""
_BARS = 0.29, 0.61
"""Where bars begin and end, in widths of the picture; columns of numbers stand right of them."""
_COLUMNS = ((0.745, "reached"), (0.865, "of first"), (0.985, "drop-off"))


def funnel_pictures(found: Iterable[Funnel]) -> dict[str, bytes]:
    """Query -> its funnel as a PNG."""
    drawn: dict[str, bytes] = {}
    with styled():
        for one in found:
            sheet = figure(WIDTH, height(one), layout=None)
            draw(sheet, one)
            drawn[one.query] = png(sheet)
    return drawn


def published_funnels(warehouse: Warehouse, workload: NamedWorkload) -> dict[str, bytes]:
    """Query -> its funnel as published, of `MOST` queries; the latest days, where there are many rows."""
    found = funnels(parse(workload.text), published(warehouse, workload.name))
    if not found:
        return {
            "funnels": message(
                f"Nothing is published of {short(workload.name, 40)} yet:\nthere is nothing to draw."
            )
        }
    return funnel_pictures(list(found.values())[:MOST])


def height(funnel: Funnel) -> float:
    """Inches that a funnel takes."""
    blocks = _blocks(funnel)
    return _HEAD + _FOOT + _ROW * _rows(len(blocks), len(funnel.steps))


def draw(target: FigureBase, funnel: Funnel, inches: float | None = None) -> None:
    """Draw it into a figure, or a part of one, that is `WIDTH` times `inches` (default: `height`) large."""
    inches, blocks = inches or height(funnel), _blocks(funnel)
    axes = target.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(inches, 0)
    axes.text(0.015, 0.06, f"{short(funnel.query, 50)}: funnel", va="top", fontsize=8.5, fontweight="bold")
    for place, line in enumerate(_caption(funnel, len(blocks) - 1)):
        axes.text(0.015, 0.22 + 0.125 * place, short(line, 80), va="top", fontsize=7, color=FAINT)
    for right, title in _COLUMNS:
        axes.text(right, 0.58, title, ha="right", va="center", fontsize=7, color=FAINT)
    top = _HEAD
    for place, block in enumerate(blocks):
        if len(blocks) > 1:
            named = short(group(block.group), _GROUP) if place else f"all {len(funnel.groups):,} groups"
            axes.text(
                0.015,
                top + _ROW / 2,
                named,
                va="center",
                fontsize=7.5,
                fontweight="bold",
                color=_colour(place),
            )
            top += _ROW
        top = _block(axes, funnel, block, top, _colour(place))


def _blocks(funnel: Funnel) -> list[Reached]:
    """All groups together, then the largest, as many as there is room for."""
    total = Reached("{}", funnel.counts)
    if len(funnel.groups) == 1:
        return [Reached(funnel.groups[0].group, funnel.counts)]
    fit = _ROWS // (len(funnel.steps) + 1) - 1
    return [total, *funnel.groups[: max(1, min(GROUPS, fit))]]


def _rows(blocks: int, steps: int) -> int:
    return blocks * (steps + (blocks > 1))


def _caption(funnel: Funnel, groups: int) -> list[str]:
    """What is counted, a line each; who is in several windows or groups counts in each."""
    several = " and ".join(
        name for name, count in (("windows", funnel.windows), ("groups", len(funnel.groups))) if count > 1
    )
    lines = [funnel.period + (f", {funnel.windows:,} windows" if funnel.windows > 1 else "")]
    if groups and groups < len(funnel.groups):
        most = f"the {groups} largest" if groups > 1 else "the largest"
        lines[0] += f"; {most} of {len(funnel.groups):,} groups below"
    if several:
        lines.append(f"added up; who is in several {several} counts in each")
    return lines


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _block(axes: Axes, funnel: Funnel, block: Reached, top: float, colour: str) -> float:
    """The steps of one group; where the next one may begin."""
    left, right = _BARS
    most = max(block.counts) or 1
    for step, count in zip(funnel.steps, block.counts, strict=True):
        middle = top + _ROW / 2
        axes.text(left - 0.012, middle, short(step.name, _NAME), ha="right", va="center", fontsize=7.5)
        axes.barh(middle, right - left, _ROW * 0.72, left=left, color=GRID)
        axes.barh(middle, (right - left) * count / most, _ROW * 0.72, left=left, color=colour)
        first = "" if step.first is None else share(count, block.counts[step.first])
        drop = "" if step.before is None else _drop(count, block.counts[step.before])
        for (place, _), text in zip(_COLUMNS, (_count(count), first, drop), strict=True):
            axes.text(place, middle, text, ha="right", va="center", fontsize=7.5, color=INK)
        top += _ROW
    return top


def _count(count: int) -> str:
    """A count of at most nine signs."""
    return f"{count:,}" if count < 10**7 else brief(float(f"{count:.4g}"))


def _drop(count: int, before: int) -> str:
    """The share of those before who get no further."""
    return share(before - count, before)
