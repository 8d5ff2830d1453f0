"""Pane maps: what the events of a pane do to an accumulator, as a small matrix, and the steps that join such matrices.

The state of an accumulator is, for every *inlet* (positions that the same positions may precede), the sum of all totals
that flow in there; a trend that may start counts 1. A pane turns the state x into x + x M and adds x E to the total
of the window, so that panes in a row are joined by M, N -> M + N + M N (SEMANTICS 3; the matrices are those of the
HAMLET paper's snapshots, one per pane). Row k of M and E is what the burst kernel finds in the pane if trends start
at inlet k only. Rows, columns and attribute sums that no path of the automaton leads to are not kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.pattern.automaton import CLEAN, Automaton, Border, Edge, Position

COPY, ADD_LEFT, ADD_RIGHT, ADD_PRODUCT = range(4)
# Fields of a step: what is done, to which numbers of a region, with which of two others; how many.
KIND, TARGET, LEFT, RIGHT, COUNT = range(5)
Step: TypeAlias = tuple[int, int, int, int, int]
Entry: TypeAlias = tuple[int, int, int]
"""(inlet, inlet or END, component)"""

END = -1
"""Instead of an inlet: the total of the window."""


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
    bases: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """By inlet: its positions, and all that they lead to."""
    entries: tuple[tuple[Entry, tuple[tuple[int, int], ...]], ...]
    """What may differ from 0, and the (element, component) of the row's accumulator that it sums up."""


def has_map(accumulator: Accumulator) -> bool:
    """Whether an accumulator has pane maps: panes cannot tell what a negated match covers, nor join the sides of AND."""
    automaton = accumulator.automaton
    return not automaton.negations and automaton.sides == 1 and accumulator.instead is None


def outline(accumulator: Accumulator) -> Outline:
    """The outline of an accumulator that has pane maps."""
    automaton = accumulator.automaton
    return _outline(
        len(automaton.positions),
        tuple(start.position for start in automaton.starts),
        tuple((edge.source, edge.target) for edge in automaton.edges),
        tuple(end.position for end in automaton.ends),
        tuple(
            tuple(one.index for one in automaton.positions if one.alias == attribute_sum.alias)
            for attribute_sum in accumulator.attribute_sums
        ),
    )


@lru_cache(maxsize=1024)
def _outline(
    count: int,
    starts: tuple[int, ...],
    edges: tuple[tuple[int, int], ...],
    ends: tuple[int, ...],
    bound: tuple[tuple[int, ...], ...],
) -> Outline:
    inlets: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for target in range(count):
        ways = [source for source, goal in edges if goal == target] + [
            END for start in starts if start == target
        ]
        inlets[tuple(sorted(ways))].append(target)
    later = [_reached(edges, [position]) for position in range(count)]
    bases = [(tuple(targets), _reached(edges, targets)) for targets in inlets.values()]
    entries: dict[Entry, list[tuple[int, int]]] = defaultdict(list)
    for inlet, (_, reached) in enumerate(bases):
        for element, position in enumerate(reached):
            goals = [goal for goal, sources in enumerate(inlets) if position in sources]
            goals += [END] if position in ends else []
            for component in range(1 + len(bound)):
                if component == 0 or any(
                    binding in reached and position in later[binding] for binding in bound[component - 1]
                ):
                    for goal in goals:
                        entries[inlet, goal, component].append((element, component))
    return Outline(
        1 + len(bound),
        tuple(END in sources for sources in inlets),
        tuple(bases),
        tuple((entry, tuple(summands)) for entry, summands in sorted(entries.items())),
    )


def _reached(edges: Sequence[tuple[int, int]], targets: Iterable[int]) -> tuple[int, ...]:
    """These positions and all that may come after them."""
    found = set(targets)
    new = found
    while new:
        new = {target for source, target in edges if source in new} - found
        found = found | new
    return tuple(sorted(found))


def bases_of(accumulator: Accumulator) -> list[Accumulator]:
    """By inlet the accumulator whose trends start there only, and that gives out the total of every position."""
    automaton, found = accumulator.automaton, []
    for targets, reached in outline(accumulator).bases:
        number = {position: place for place, position in enumerate(reached)}
        positions = [automaton.positions[old] for old in reached]
        part = Automaton(
            tuple(Position(place, one.type, one.alias) for place, one in enumerate(positions)),
            tuple(Border(number[target], CLEAN) for target in targets),
            tuple(
                Edge(number[edge.source], number[edge.target], CLEAN)
                for edge in automaton.edges
                if edge.source in number
            ),
            tuple(Border(place, CLEAN) for place in range(len(reached))),
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
    ones: list[int] = field(default_factory=list)


def compile_panes(
    outlines: Sequence[Outline], totals: Sequence[Sequence[Sequence[int]]]
) -> tuple[PaneProgram, list[list[int]]]:
    """Tables for accumulators, and for each component of each accumulator its number in a row of results.

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
            results[place] = [tables.out + part * len(places) + lane for part in range(own.width)]
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
        stay=_table([step for step in tables.leave if step[KIND] == ADD_LEFT]),
        ones=np.array(tables.ones, np.int64),
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
        tables.join += [
            (COPY, target, target, 0, count),
            (ADD_RIGHT, target, 0, target, count),
            *(
                (ADD_PRODUCT, target, entries[inlet, middle, left], entries[middle, goal, right], count)
                for middle in inlets
                for left, right in _halves(part)
                if (inlet, middle, left) in entries and (middle, goal, right) in entries
            ),
        ]
    numbers = {}
    for goal in (*inlets, END):
        for part in range(outline.width):
            target = numbers[goal, part] = tables.state
            tables.state += count
            if goal != END and part == 0 and outline.starts[goal]:
                tables.ones += range(target, target + count)
            tables.enter += [
                (COPY, target, target, 0, count),
                *(
                    (ADD_RIGHT, target, 0, entries[inlet, goal, part], count)
                    for inlet in inlets
                    if outline.starts[inlet] and (inlet, goal, part) in entries
                ),
            ]
    for part in range(outline.width):
        tables.leave += [
            (ADD_LEFT, tables.out, numbers[END, part], 0, count),
            *(
                (ADD_PRODUCT, tables.out, numbers[inlet, left], entries[inlet, END, right], count)
                for inlet in inlets
                for left, right in _halves(part)
                if (inlet, END, right) in entries and _may_be_left(outline, entries, inlet, left)
            ),
        ]
        tables.out += count


def _may_be_left(outline: Outline, entries: dict[Entry, int], inlet: int, part: int) -> bool:
    """Whether some trend may bring a component to an inlet."""
    if part == 0 and outline.starts[inlet]:
        return True
    return any(starts and (first, inlet, part) in entries for first, starts in enumerate(outline.starts))


def _halves(part: int) -> tuple[tuple[int, int], ...]:
    """Components of the factors of a product of dual numbers."""
    return ((0, 0),) if part == 0 else ((0, part), (part, 0))
