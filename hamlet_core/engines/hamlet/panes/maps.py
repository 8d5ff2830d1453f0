"""Pane maps: what the events of a pane do to an accumulator, as a small matrix, and the steps that join such matrices.

The state of an accumulator is, for every *inlet* (positions that the same positions may precede, with the same gap), the sum
of all totals that flow in there; a trend that may start counts 1. A pane turns the state x into x + x M and adds x E to the
total of the window, so that panes in a row are joined by M, N -> M + N + M N (SEMANTICS 3; the matrices are those of the
HAMLET paper's snapshots, one per pane). Row k of M and E is what the burst kernel finds in the pane if trends start
at inlet k only. Rows, columns and attribute sums that no path of the automaton leads to are not kept.

What waits before NOT is an inlet that a negated event empties, and so is what may end at a gap: a total that counts if nothing
negated follows. Of these the matrix says itself what stays: 1 or 0 on its diagonal, instead of the 1 that other inlets have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.pattern.automaton import START, Automaton, Border, Edge, Gap, Position

COPY, ADD_LEFT, ADD_RIGHT, ADD_PRODUCT, CLEAR = range(5)
# Fields of a step: what is done, to which numbers of a region, with which of two others; how many.
KIND, TARGET, LEFT, RIGHT, COUNT = range(5)
Step: TypeAlias = tuple[int, int, int, int, int]
Entry: TypeAlias = tuple[int, int, int]
"""(inlet, inlet or END of a side, component)"""

END = -1
"""Instead of an inlet: the total of the window; less 1 for the right side of AND."""
Source: TypeAlias = tuple[tuple[int, ...], Gap]
"""Where an inlet comes from: positions, START for the begin of a trend, and the gap behind them."""


class PaneProgram(NamedTuple):
    """Tables of one set of accumulators; numbers are counted within a matrix, a state or a row of results."""

    gather: Any
    """Numbers of the burst kernel's state: the first `matrix` are copied to a matrix, number by number."""
    more: Any
    """Rows (number of a matrix, place in `gather`, how many): these are added."""
    join: Any
    """Steps: matrix = left and right, joined."""
    enter: Any
    """Steps: state = left, the first state, through the matrix right."""
    leave: Any
    """Steps: results += the totals of left, a state, through the matrix right."""
    stay: Any
    """Steps: results += the totals of left, a state."""
    ones: Any
    """Numbers of a state that are 1 in the first one."""
    stays: Any
    """Numbers of a matrix that are 1 in that of a pane without events."""
    matrix: Any
    """Numbers of a matrix, `state` those of a state, and `out_width` those of a row of results."""
    state: Any
    out_width: Any


@dataclass(frozen=True, slots=True)
class Outline:
    """What the matrix of an accumulator looks like; equal for accumulators that differ in the types of their positions only."""

    width: int
    starts: tuple[bool, ...]
    """By inlet: whether trends start there."""
    ends: tuple[tuple[int, ...], ...]
    """By side of AND: inlets that are ended trends, if nothing negated follows; and END, if trends end without a gap."""
    gaps: tuple[Gap, ...]
    """By inlet."""
    bases: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[Border, ...]], ...]
    """By inlet: its positions, all that they lead to, and what flows on from there: position, or START for what stays in the
    inlet, and gap.
    """
    entries: tuple[tuple[Entry, tuple[tuple[int, int], ...]], ...]
    """What may differ from 0, and the (element, component) of the row's accumulator that it sums up."""


def has_map(accumulator: Accumulator) -> bool:
    """Whether an accumulator has pane maps whose results are its totals: those of AND are by side."""
    automaton = accumulator.automaton
    return accumulator.instead is None and automaton.sides == 1 and maps_fold(automaton)


def maps_fold(automaton: Automaton) -> bool:
    """Whether pane maps can fold an automaton: what a negated match of several events covers, no pane can tell."""
    return not any(one.edges or one.negations for one in automaton.negations)


def outline(accumulator: Accumulator) -> Outline:
    """The outline of an accumulator that has pane maps."""
    automaton = accumulator.automaton
    return _outline(
        automaton.starts,
        automaton.edges,
        automaton.ends,
        tuple(one.side for one in automaton.positions),
        tuple(
            tuple(one.index for one in automaton.positions if one.alias == attribute_sum.alias)
            for attribute_sum in accumulator.attribute_sums
        ),
    )


@lru_cache(maxsize=1024)
def _outline(
    starts: tuple[Border, ...],
    edges: tuple[Edge, ...],
    ends: tuple[Border, ...],
    side: tuple[int, ...],
    bound: tuple[tuple[int, ...], ...],
) -> Outline:
    sources, targets = _inlets(len(side), starts, edges)
    ended = {(side[end.position], end.gap): END - side[end.position] for end in ends}
    for number, key in enumerate(key for key in ended if key[1]):
        ended[key] = len(sources) + number
        targets.append(())
    gaps = [gap for _, gap in sources] + [gap for _, gap in ended if gap]
    goals = defaultdict(list)
    for inlet, (positions, gap) in enumerate(sources):
        for position in positions:
            goals[Border(position, gap)].append(inlet)
    for end in ends:
        goals[end].append(ended[side[end.position], end.gap])
    later = [_reached(edges, [position]) for position in range(len(side))]
    bases, entries = [], defaultdict(list)
    for inlet, (own, gap) in enumerate(zip(targets, gaps, strict=True)):
        reached = _reached(edges, own)
        flowing = [border for border in goals if border.position in reached]
        bases.append((own, reached, (*flowing, *([Border(START, gap)] if gap else []))))
        if gap:
            entries[inlet, inlet, 0].append((len(flowing), 0))
        for (element, border), component in product(enumerate(flowing), range(1 + len(bound))):
            if component == 0 or _binds(bound[component - 1], reached, later, border.position):
                for goal in goals[border]:
                    entries[inlet, goal, component].append((element, component))
    return Outline(
        1 + len(bound),
        tuple(START in positions for positions, _ in sources) + (False,) * (len(gaps) - len(sources)),
        tuple(
            tuple(goal for (on, _), goal in ended.items() if on == one)
            for one in range(1 + max(side, default=0))
        ),
        tuple(gaps),
        tuple(bases),
        tuple((entry, tuple(summands)) for entry, summands in sorted(entries.items())),
    )


def _binds(
    bound: Sequence[int], reached: Sequence[int], later: Sequence[Sequence[int]], position: int
) -> bool:
    """Whether trends that stand at a position may have bound, since positions were reached, one of these."""
    return any(binding in reached and position in later[binding] for binding in bound)


def _inlets(
    count: int, starts: Sequence[Border], edges: Sequence[Edge]
) -> tuple[list[Source], list[tuple[int, ...]]]:
    """What flows into each inlet, and its positions."""
    inlets: dict[Source, list[int]] = defaultdict(list)
    for target in range(count):
        ways = [Border(edge.source, edge.gap) for edge in edges if edge.target == target]
        ways += [Border(START, start.gap) for start in starts if start.position == target]
        for gap in _gaps(way.gap for way in ways):
            inlets[tuple(sorted({way.position for way in ways if way.gap == gap})), gap].append(target)
    return list(inlets), [tuple(targets) for targets in inlets.values()]


def _gaps(gaps: Iterable[Gap]) -> list[Gap]:
    """Each once, in an order of their own."""
    return sorted(set(gaps), key=sorted)


def _reached(edges: Sequence[Edge], targets: Iterable[int]) -> tuple[int, ...]:
    """These positions and all that may come after them."""
    found = set(targets)
    new = found
    while new:
        new = {edge.target for edge in edges if edge.source in new} - found
        found = found | new
    return tuple(sorted(found))


def bases_of(accumulator: Accumulator) -> list[Accumulator]:
    """By inlet the accumulator whose trends start there only, and that gives out the total of everything that flows on."""
    automaton, found = accumulator.automaton, []
    own = outline(accumulator)
    for (targets, reached, flowing), gap in zip(own.bases, own.gaps, strict=True):
        number = {START: START} | {position: place for place, position in enumerate(reached)}
        positions = [automaton.positions[old] for old in reached]
        part = Automaton(
            tuple(Position(place, one.type, one.alias) for place, one in enumerate(positions)),
            tuple(Border(number[target], gap) for target in targets or (START,)),
            tuple(
                Edge(number[edge.source], number[edge.target], edge.gap)
                for edge in automaton.edges
                if edge.source in number
            ),
            tuple(Border(number[border.position], border.gap) for border in flowing),
            automaton.negations,
        )
        found.append(
            Accumulator(
                accumulator.query, accumulator.analysed, accumulator.attribute_sums, accumulator.weight, part
            )
        )
    return found


# --- tables --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tables:
    """Mutable: what is written so far. Numbers of accumulators of one outline lie side by side."""

    state: int = 0
    out: int = 0
    join: list[Step] = field(default_factory=list)
    enter: list[Step] = field(default_factory=list)
    leave: list[Step] = field(default_factory=list)
    stay: list[Step] = field(default_factory=list)
    ones: list[int] = field(default_factory=list)
    stays: list[int] = field(default_factory=list)


def compile_panes(
    outlines: Sequence[Outline], totals: Sequence[Sequence[Sequence[int]]]
) -> tuple[PaneProgram, list[list[int]]]:
    """Tables for accumulators, and for each component of each side of each accumulator its number in a row of results.

    `totals[i][k]` are the numbers of the totals of row k of accumulator i, element by element.
    """
    by_outline: dict[Outline, list[int]] = defaultdict(list)
    for place, own in enumerate(outlines):
        by_outline[own].append(place)
    tables = _Tables()
    gather: list[int] = []
    others: list[tuple[int, list[int]]] = []
    results: list[list[int]] = [[] for _ in outlines]
    for own, places in by_outline.items():
        numbers = {}
        for entry, summands in own.entries:
            numbers[entry] = len(gather)
            found = [
                [totals[place][entry[0]][element * own.width + part] for place in places]
                for element, part in summands
            ]
            others += [(len(gather), more) for more in found[1:]]
            gather += found[0]
        for lane, place in enumerate(places):
            numbers_of = range(own.width * len(own.ends))
            results[place] = [tables.out + number * len(places) + lane for number in numbers_of]
        _write_steps(tables, own, numbers, len(places))
    matrix, more = len(gather), []
    for target, addresses in others:
        more.append((target, len(gather), len(addresses)))
        gather += addresses
    program = PaneProgram(
        gather=np.array(gather, np.int64),
        more=np.array(more, np.int64).reshape(-1, 3),
        join=_table(tables.join),
        enter=_table(tables.enter),
        leave=_table(tables.leave),
        stay=_table(tables.stay),
        ones=np.array(tables.ones, np.int64),
        stays=np.array(tables.stays, np.int64),
        matrix=matrix,
        state=tables.state,
        out_width=tables.out,
    )
    return program, results


def _table(steps: Sequence[Step]) -> Any:
    return np.array(steps, np.int64).reshape(-1, 5)


def _write_steps(tables: _Tables, outline: Outline, entries: dict[Entry, int], count: int) -> None:
    inlets = range(len(outline.starts))
    for (inlet, goal, part), target in entries.items():
        if inlet == goal and part == 0 and outline.gaps[inlet]:
            tables.stays += range(target, target + count)
        tables.join += [
            _first(outline, goal, target, count),
            *([] if outline.gaps[inlet] else [(ADD_RIGHT, target, 0, target, count)]),
            *(
                (ADD_PRODUCT, target, entries[inlet, middle, left], entries[middle, goal, right], count)
                for middle in inlets
                for left, right in _halves(part)
                if (inlet, middle, left) in entries and (middle, goal, right) in entries
            ),
        ]
    numbers = {}
    for goal in (*inlets, *(END - side for side in range(len(outline.ends)))):
        for part in range(outline.width):
            target = numbers[goal, part] = tables.state
            tables.state += count
            if goal in inlets and part == 0 and outline.starts[goal]:
                tables.ones += range(target, target + count)
            tables.enter += [
                _first(outline, goal, target, count),
                *(
                    (ADD_RIGHT, target, 0, entries[inlet, goal, part], count)
                    for inlet in inlets
                    if outline.starts[inlet] and (inlet, goal, part) in entries
                ),
            ]
    for ends, part in product(outline.ends, range(outline.width)):
        for goal in ends:
            ended = (ADD_LEFT, tables.out, numbers[goal, part], 0, count)
            tables.stay.append(ended)
            tables.leave += [
                *([] if _gap(outline, goal) else [ended]),
                *(
                    (ADD_PRODUCT, tables.out, numbers[inlet, left], entries[inlet, goal, right], count)
                    for inlet in inlets
                    for left, right in _halves(part)
                    if (inlet, goal, right) in entries and _may_be_left(outline, entries, inlet, left)
                ),
            ]
        tables.out += count


def _first(outline: Outline, goal: int, target: int, count: int) -> Step:
    """What is left is what was there, where its matrix does not say itself what stays of it."""
    return (CLEAR if _gap(outline, goal) else COPY, target, target, 0, count)


def _gap(outline: Outline, goal: int) -> bool:
    """Whether something negated empties a goal."""
    return goal >= 0 and bool(outline.gaps[goal])


def _may_be_left(outline: Outline, entries: dict[Entry, int], inlet: int, part: int) -> bool:
    """Whether some trend may bring a component to an inlet."""
    if part == 0 and outline.starts[inlet]:
        return True
    return any(starts and (first, inlet, part) in entries for first, starts in enumerate(outline.starts))


def _halves(part: int) -> tuple[tuple[int, int], ...]:
    """Components of the factors of a product of dual numbers."""
    return ((0, 0),) if part == 0 else ((0, part), (part, 0))
