"""The optimizer's picture: the merged template of each class of queries, and who may share which Kleene sub-pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hamlet_core.describe.template import names_of
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.template.merged import MergedTemplate, Transition
from hamlet_core.template.sharable import SharableSet
from hamlet_core.template.workload import PartitionClass, plan_workload
from pipelines.settings import NamedWorkload
from pipelines.showing.pictures import COLOURS, FAINT, GRID, INK, bare, figure, png, short, styled
from pipelines.showing.template_layout import Layout, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 10.0
CLASSES = 4
"""Classes that are drawn: those of most queries."""
SETS = 14
"""Sharable sets that are listed for a class: those of most queries."""
_NAMED = 2
"""Queries that a label names; more are counted."""
_BOX = (0.24, 0.26)
"""Half the width and height of a state's box, in columns and rows."""
_UPRIGHT = 12
"""Queries whose names fit beside one another; more stand upright."""
_LONGEST = 18
"""Signs of a query's name below the sharable sets."""
_MARGIN = 1.75
"""Rows left free above and below the states together."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """One class of queries, as it is drawn."""

    number: int
    one: PartitionClass
    places: Layout
    sets: tuple[SharableSet, ...]

    @property
    def height(self) -> float:
        """Inches of the template."""
        return 1.5 + 0.56 * self.places.rows

    @property
    def stretch(self) -> float:
        """How many rows are as long as a column, in the picture."""
        column = 0.95 * WIDTH / (self.places.columns + 0.1)
        return column * (self.places.rows + _MARGIN) / (self.height - 0.3)

    @property
    def matrix(self) -> float:
        """Inches of the sharable sets, with the names of the queries below them."""
        names = self.one.template.queries
        longest = min(max(map(len, names)), _LONGEST)
        below = 0.06 * longest if len(names) > _UPRIGHT else 0.03 * longest
        return 0.65 + below + 0.24 * min(len(self.sets), SETS) if self.sets else 0.35


@lru_cache(maxsize=16)
def template_picture(workload: NamedWorkload) -> bytes:
    """A PNG of the merged templates; arrows say how many queries take them, squares who may share.

    A process that runs a workload again and again draws it once.
    """
    with styled():
        return png(template_figure(workload))


def template_figure(workload: NamedWorkload) -> Figure:
    """The same as a figure of matplotlib."""
    plan = plan_workload(analyse_workload(workload.parsed))
    ordered = sorted(enumerate(plan.classes, 1), key=lambda pair: (-len(pair[1].queries), pair[0]))
    panels = [_panel(number, one) for number, one in ordered[:CLASSES]]
    left = sum(len(one.queries) for _, one in ordered[CLASSES:])
    heights = [height for panel in panels for height in (panel.height, panel.matrix)]
    drawn = figure(WIDTH, sum(heights) + 0.5)
    title = f"{short(workload.name, 60)}: {_count(len(plan.queries), 'query', 'queries')}"
    hidden = f"; {_count(left, 'query', 'queries')} of {_count(len(ordered) - CLASSES, 'smaller class', 'smaller classes')} not drawn"
    drawn.suptitle(title + (hidden if left else ""), x=0.01, ha="left", fontsize=11, fontweight="bold")
    parts = drawn.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for place, panel in enumerate(panels):
        _template(parts[2 * place].subplots(), panel)
        names = [plan.queries[index].name for index in panel.one.queries]
        _sets(parts[2 * place + 1].subplots(), panel, names)
    return drawn


def _panel(number: int, one: PartitionClass) -> _Panel:
    sets = sorted(one.sets, key=lambda shared: -len(shared.queries))
    return _Panel(number, one, layout(one.template), tuple(sets))


# --- the template --------------------------------------------------------------------------------


def _template(axes: Axes, panel: _Panel) -> None:
    bare(axes)
    template, places = panel.one.template, panel.places.places
    names = panel.one.partition
    by = f"partitioned by {', '.join(names)}" if names else "one partition for all events"
    title = f"Class {panel.number}: {_count(len(template.queries), 'query', 'queries')}, {by}"
    gaps = any(label.gap for one in template.transitions for label in one.labels)
    note = "   ▶ starts   ■ ends" + ("   ! nothing negated came before" if gaps else "")
    axes.set_title(short(title, 110) + note, fontsize=9)
    reach = panel.places.rows / 2
    axes.set_xlim(-0.6, panel.places.columns - 0.5)
    axes.set_ylim(reach + _MARGIN - 1.0, -reach - 1.0)
    for one in template.transitions:
        _transition(axes, panel, one)
    shared = _shared_states(panel)
    for state, place in zip(template.states, places, strict=True):
        _box(axes, place, short(state.name, 16), shared=state.index in shared)


def _shared_states(panel: _Panel) -> frozenset[int]:
    """States inside a Kleene sub-pattern that queries may share."""
    places, number = (
        panel.one.template.places,
        {index: place for place, index in enumerate(panel.one.queries)},
    )
    return frozenset(
        places[number[member.query]][position]
        for shared in panel.sets
        for member in shared.members
        for position in member.positions
    )


def _box(axes: Axes, place: tuple[float, float], name: str, *, shared: bool) -> None:
    from matplotlib.patches import Rectangle

    width, height = _BOX
    corner = (place[0] - width, place[1] - height)
    colour, line = ("#fff3d6", 1.5) if shared else ("white", 0.9)
    axes.add_patch(
        Rectangle(corner, 2 * width, 2 * height, facecolor=colour, edgecolor=INK, linewidth=line, zorder=3)
    )
    axes.text(*place, name, ha="center", va="center", fontsize=8.5 if len(name) < 11 else 7, zorder=4)


def _transition(axes: Axes, panel: _Panel, one: Transition) -> None:
    """A step as an arrow, as broad as the share of queries that take it; starts and ends as words at their state."""
    template, places = panel.one.template, panel.places.places
    text, (width, height) = _label(template, one), _BOX
    ends = [state for state in (one.source, one.target) if state is not None]
    if len(ends) == 1:
        column, row = places[ends[0]]
        starts = one.source is None
        both = not starts and any(other.target == ends[0] for other in template.starts)
        place = (column - width if starts else column + width, row + height + (0.36 if both else 0.15))
        said, side = (f"▶ {text}", "left") if starts else (f"{text} ■", "right")
        axes.text(*place, said, ha=side, va="center", fontsize=6.5, color=COLOURS[0], zorder=5)
        return
    source, target = ends
    style = _style(len(one.labels) / len(template.queries))
    (left, upper), (right, lower) = places[source], places[target]
    if source == target:
        # Where columns are broad, a loop as broad would be higher than its row.
        half = min(0.12, 0.35 / panel.stretch)
        _draw(axes, (left + half, upper - height), (left - half, upper - height), style, "arc3,rad=1.1")
        _write(axes, (left, upper - height - 1.1 * half * panel.stretch - 0.13), text)
    elif right > left:
        far = right - left > 1.5
        up = -1 if upper <= 0 else 1
        _draw(
            axes, (left + width, upper), (right - width, lower), style, f"arc3,rad={0.2 * up if far else 0}"
        )
        lift = 0.1 * (right - left - 2 * width) * panel.stretch * up if far else 0.0
        # Near the end that fewer arrows share.
        along = 0.6 if _degree(template, source) >= _degree(template, target) else 0.4
        across = left + width + along * (right - left - 2 * width)
        _write(axes, (across, upper + along * (lower - upper) + lift), text)
    else:
        _draw(axes, (left, upper + height), (right, lower + height), style, "arc3,rad=-0.3")
        sag = 0.15 * max(left - right, 0.3) * panel.stretch
        _write(axes, ((left + right) / 2, (upper + lower) / 2 + height + sag), text)


def _degree(template: MergedTemplate, state: int) -> int:
    return sum(state in (step.source, step.target) for step in template.steps)


def _style(share: float) -> dict[str, Any]:
    return {
        "arrowstyle": "-|>,head_width=0.25,head_length=0.45",
        "color": COLOURS[0],
        "linewidth": 0.7 + 2.3 * share,
        "alpha": 0.4 + 0.55 * share,
        "shrinkA": 0,
        "shrinkB": 0,
        "zorder": 2,
    }


def _draw(
    axes: Axes, source: tuple[float, float], target: tuple[float, float], style: dict[str, Any], curve: str
) -> None:
    from matplotlib.patches import FancyArrowPatch

    axes.add_patch(FancyArrowPatch(source, target, connectionstyle=curve, mutation_scale=9, **style))


def _write(axes: Axes, place: tuple[float, float], text: str) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
    axes.text(*place, text, ha="center", va="center", fontsize=6.5, color=INK, bbox=box, zorder=5)


def _label(template: MergedTemplate, one: Transition) -> str:
    """`all`, the names of a few queries, or how many they are; `!` where a gap before the event must be clean."""
    names = [template.queries[label.query] for label in one.labels]
    clean = " !" if any(label.gap for label in one.labels) else ""
    if len(names) == len(template.queries):
        return ("all" if len(names) > 1 else short(names[0], 14)) + clean
    if len(names) <= _NAMED:
        return ", ".join(short(name, 12) for name in names) + clean
    said = names_of(names, template.queries)
    return (said if len(said) <= 16 else f"{len(names)} of {len(template.queries)}") + clean


# --- who may share -------------------------------------------------------------------------------


def _sets(axes: Axes, panel: _Panel, queries: Sequence[str]) -> None:
    """A row a sharable set, a column a query: a square where the query is a member."""
    if not panel.sets:
        bare(axes)
        axes.text(
            0, 0.5, "No two queries of this class may share a Kleene sub-pattern.", va="center", color=FAINT
        )
        return
    shown = panel.sets[:SETS]
    columns = {index: place for place, index in enumerate(panel.one.queries)}
    dots = [(columns[index], row) for row, shared in enumerate(shown) for index in shared.queries]
    size = max(8.0, min(70.0, 3_000 / (len(queries) + 10)))
    axes.scatter(
        [dot[0] for dot in dots], [dot[1] for dot in dots], marker="s", s=size, color=COLOURS[1], zorder=3
    )
    axes.set_yticks(range(len(shown)), [short(f"{one.kleene} for {one.unit.label}", 44) for one in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(-0.7, len(queries) - 0.3)
    every = -(-len(queries) // 60)
    turned = len(queries) > 8 or any(len(name) > 12 for name in queries)
    axes.set_xticks(
        range(0, len(queries), every),
        [short(name, _LONGEST) for name in queries[::every]],
        rotation=90 if len(queries) > _UPRIGHT else 25 if turned else 0,
        ha="center" if len(queries) > _UPRIGHT or not turned else "right",
        rotation_mode="default" if len(queries) > _UPRIGHT else "anchor",
        fontsize=6.5,
    )
    axes.tick_params(axis="y", labelsize=7.5, length=0)
    axes.tick_params(axis="x", length=0)
    axes.grid(color=GRID)
    hidden = len(panel.sets) - len(shown)
    more = f", {hidden} smaller sets not listed" if hidden else ""
    axes.set_title(
        f"Who may share which Kleene sub-pattern (yellow above), where a burst makes it pay{more}", fontsize=9
    )


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
