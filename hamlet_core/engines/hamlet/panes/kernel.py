"""Windows from panes: folds each pane once, and keeps the product of a window's panes at hand, as two stacks.

Panes that have come since the stacks were last turned are joined as they come; of those before, the state that each
and all after it lead to is kept. So each pane is joined about twice, however many windows hold it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hamlet_core.engines.hamlet.bursts.kernel import fold_range
from hamlet_core.engines.hamlet.bursts.negation import forget
from hamlet_core.engines.hamlet.bursts.packing import ALL_NUMBERS
from hamlet_core.engines.hamlet.bursts.state import Negations, Windows
from hamlet_core.engines.hamlet.bursts.windows import open_slot
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed
from hamlet_core.engines.hamlet.numbers.arenas import Arena, ScaledNumbers, Values
from hamlet_core.engines.hamlet.numbers.scaled_vectors import (
    add_gathered_lanes,
    add_lanes,
    add_product_lanes,
    copy_lanes,
    gather_lanes,
    zero_lanes,
)
from hamlet_core.engines.hamlet.numbers.semiring import one
from hamlet_core.engines.hamlet.panes.maps import (
    ADD_LEFT,
    ADD_RIGHT,
    CLEAR,
    COPY,
    COUNT,
    KIND,
    LEFT,
    RIGHT,
    TARGET,
    PaneProgram,
)

TAKEN, TURNED, JOINED, SIDE = range(4)
"""Counters of a queue: panes taken over; the first pane of the back; panes joined in the back; where its matrix is."""


class Regions(NamedTuple):
    """First numbers of what the arena holds; results come first."""

    bursts: Any
    """What the burst kernel works with."""
    first_state: Any
    back: Any
    """Two matrices: the panes of the back, joined, and room for the next."""
    front: Any
    """Two matrices, used while the stacks are turned."""
    states: Any
    """A ring of states: what a pane and the later ones of the front lead to."""
    matrices: Any
    """A ring of matrices, one per pane."""
    ring: Any
    """Panes that a ring holds."""


class Tasks(NamedTuple):
    """Panes as slices of the events, windows as slices of the panes, both in order."""

    first: Any
    """By pane."""
    last: Any
    window_first: Any
    """By window."""
    window_last: Any
    row: Any
    """By window: the row of results that it is added to."""


@compiled_part
def _do(arena: Arena, steps: Any, target: int, left: int, right: int) -> None:
    for step in range(steps.shape[0]):
        kind, count = steps[step, KIND], steps[step, COUNT]
        to, one_of, other = target + steps[step, TARGET], left + steps[step, LEFT], right + steps[step, RIGHT]
        if kind == COPY:
            copy_lanes(arena, to, one_of, count)
        elif kind == ADD_LEFT:
            add_lanes(arena, to, one_of, count)
        elif kind == ADD_RIGHT:
            add_lanes(arena, to, other, count)
        elif kind == CLEAR:
            zero_lanes(arena, to, count)
        else:
            add_product_lanes(arena, to, one_of, other, count)


@compiled
def walk_steps(room: ScaledNumbers, steps: Any, lanes: Any, found: Any, left: Any, right: Any) -> None:
    """Do steps of pane maps for panes that are kept elsewhere: arrays [number, partition] of mantissas and exponents.

    So many partitions go together, `lanes`, as fit the cache of a core; the steps are told for as many.
    """
    size, ones = found.mantissa.shape[0], left.mantissa.shape[0]
    for first in range(0, found.mantissa.shape[1], lanes):
        zero_lanes(room, 0, size * lanes)
        _bring(room, size, left, first, lanes)
        _bring(room, size + ones, right, first, lanes)
        _do(room, steps, 0, size * lanes, (size + ones) * lanes)
        here = min(lanes, found.mantissa.shape[1] - first)
        for row in range(size):
            mantissa, exponent = found.mantissa[row, first:], found.exponent[row, first:]
            one_mantissa, one_exponent = room.mantissa[row * lanes :], room.exponent[row * lanes :]
            for lane in range(here):
                mantissa[lane] = one_mantissa[lane]
                exponent[lane] = one_exponent[lane]


@compiled_part
def _bring(room: ScaledNumbers, begin: int, numbers: Any, first: int, lanes: int) -> None:
    here = min(lanes, numbers.mantissa.shape[1] - first)
    for row in range(numbers.mantissa.shape[0]):
        place = (begin + row) * lanes
        mantissa, exponent = numbers.mantissa[row, first:], numbers.exponent[row, first:]
        own_mantissa, own_exponent = room.mantissa[place:], room.exponent[place:]
        for lane in range(here):
            own_mantissa[lane] = mantissa[lane]
            own_exponent[lane] = exponent[lane]


@compiled_part
def _take(arena: Arena, program: Packed, joins: PaneProgram, regions: Regions, pane: int) -> None:
    """The matrix of a pane that was folded, and a clean state for the next."""
    base = regions.bursts
    target = regions.matrices + (pane % regions.ring) * joins.matrix
    gather_lanes(arena, target, base, joins.gather, 0, joins.matrix)
    for place in range(joins.more.shape[0]):
        into, first, count = joins.more[place, 0], joins.more[place, 1], joins.more[place, 2]
        add_gathered_lanes(arena, target + into, base, joins.gather, first, count)
    zero_lanes(arena, base, program[ALL_NUMBERS])


@compiled_part
def _turn(arena: Arena, joins: PaneProgram, regions: Regions, first: int, last: int) -> None:
    """States for the panes `first:last`, from the last to the first."""
    side = 0
    for pane in range(last - 1, first - 1, -1):
        matrix = regions.matrices + (pane % regions.ring) * joins.matrix
        if pane < last - 1:
            target = regions.front + (1 - side) * joins.matrix
            _do(arena, joins.join, target, matrix, regions.front + side * joins.matrix)
            side, matrix = 1 - side, target
        else:
            copy_lanes(arena, regions.front, matrix, joins.matrix)
        state = regions.states + (pane % regions.ring) * joins.state
        _do(arena, joins.enter, state, regions.first_state, matrix)


@compiled_part
def _join(arena: Arena, joins: PaneProgram, regions: Regions, queue: Any, end: int) -> None:
    """Panes up to `end` to the back."""
    while queue[JOINED] < end:
        matrix = regions.matrices + (queue[JOINED] % regions.ring) * joins.matrix
        back = regions.back + queue[SIDE] * joins.matrix
        if queue[JOINED] == queue[TURNED]:
            copy_lanes(arena, back, matrix, joins.matrix)
        else:
            queue[SIDE] = 1 - queue[SIDE]
            _do(arena, joins.join, regions.back + queue[SIDE] * joins.matrix, back, matrix)
        queue[JOINED] += 1


@compiled_part
def _leave(arena: Arena, joins: PaneProgram, regions: Regions, queue: Any, begun: int, row: int) -> None:
    """Add the totals of a window to its row."""
    target = row * joins.out_width
    state = regions.states + (begun % regions.ring) * joins.state
    if queue[JOINED] == queue[TURNED]:
        _do(arena, joins.stay, target, state, 0)
    else:
        _do(arena, joins.leave, target, state, regions.back + queue[SIDE] * joins.matrix)


@compiled
def fold_windows_by_panes(  # noqa: PLR0917 - the whole task; compiled code takes arguments by place
    arena: Arena,
    program: Packed,
    joins: PaneProgram,
    regions: Regions,
    queue: Any,
    negations: Negations,
    windows: Windows,
    values: Values,
    events: Events,
    tasks: Tasks,
    closed_form: bool,
) -> tuple[int, int]:
    """Fold the panes and add the totals of all windows to their rows; returns how many bursts and how many events were folded.

    `queue` are four counters, all 0. Windows go forward only, and each holds a pane.
    """
    for place in range(joins.ones.shape[0]):
        one(arena, regions.first_state + joins.ones[place])
    bursts = folded = 0
    for job in range(tasks.row.shape[0]):
        begun, end = tasks.window_first[job], tasks.window_last[job]
        while queue[TAKEN] < end:
            pane = queue[TAKEN]
            forget(negations)
            begun_at = events.time[tasks.first[pane]]
            open_slot(arena, regions.bursts, program, windows.opened, 0, 0, begun_at)
            more, events_more = fold_range(
                arena,
                regions.bursts,
                program,
                negations,
                windows.opened,
                values,
                events,
                tasks.first[pane],
                tasks.last[pane],
                windows.present,
                closed_form,
            )
            bursts += more
            folded += events_more
            _take(arena, program, joins, regions, pane)
            queue[TAKEN] += 1
        if begun >= queue[TURNED]:
            _turn(arena, joins, regions, begun, end)
            queue[TURNED] = queue[JOINED] = end
        _join(arena, joins, regions, queue, end)
        _leave(arena, joins, regions, queue, begun, tasks.row[job])
    return bursts, folded
