"""Sliding windows from pane maps: each pane is folded once, and windows are joined from their panes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.bursts.fold import BurstJobs, Done
from hamlet_core.engines.hamlet.bursts.packing import packed
from hamlet_core.engines.hamlet.bursts.program import compile_bursts
from hamlet_core.engines.hamlet.bursts.state import negations_of
from hamlet_core.engines.hamlet.bursts.state import windows_of as windows_state
from hamlet_core.engines.hamlet.bursts.tables import FINISH_NUMBER, FINISH_TARGET, BurstProgram
from hamlet_core.engines.hamlet.input.frame import DEAD, side_by_side, windows_of
from hamlet_core.engines.hamlet.input.query_class import ClassEvents
from hamlet_core.engines.hamlet.panes.kernel import Regions, Tasks, fold_windows_by_panes
from hamlet_core.engines.hamlet.panes.maps import PaneProgram, bases_of, compile_panes, outline
from hamlet_core.sharing.options import Sharing
from hamlet_core.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class Panes:
    """The panes of one specification that hold an event, and its windows as ranges of them."""

    tasks: Tasks
    rows: int
    """Rows of results of the specification."""
    matched: int
    """Events of the panes that some window holds, and of those before them."""

    @property
    def most(self) -> int:
        """The most panes of a window."""
        return int((self.tasks.window_last - self.tasks.window_first).max(initial=1))


def pane_bounds(events: ClassEvents, windows: WindowSpec) -> tuple[Any, Any]:
    """Where the panes of these windows begin and end, by partition: (first, last) events."""
    length = gcd(windows.within, windows.slide)
    _, _, first, last = windows_of(
        events.events.time, events.partitioning.bounds, WindowSpec(length, length, windows.origin)
    )
    return first, last


def panes_of(events: ClassEvents, jobs: BurstJobs, spec: int, bounds: tuple[Any, Any]) -> Panes:
    """The panes of one of the specifications of the jobs, of which `bounds` are known."""
    first, last = bounds
    own, rows = jobs.own(spec), jobs.rows[spec]
    tasks = Tasks(
        first,
        last,
        np.searchsorted(first, jobs.first[own]),
        np.searchsorted(first, jobs.last[own]),
        jobs.row[own] - rows.first,
    )
    end = last[tasks.window_last.max() - 1] if len(tasks.row) else 0
    return Panes(tasks, len(rows.index), int(np.count_nonzero(events.events.code[:end] != DEAD)))


@dataclass(frozen=True, slots=True)
class PanePlan:
    """What folds the panes of some accumulators, and what joins them."""

    bursts: BurstProgram
    joins: PaneProgram
    results: list[list[int]]
    """By accumulator and component: its number in a row of results."""


def plan_panes(accumulators: Sequence[Accumulator], events: ClassEvents, *, sharing: Sharing) -> PanePlan:
    """Tables for accumulators that have pane maps; `sharing`: which equal totals are one."""
    bases = [bases_of(accumulator) for accumulator in accumulators]
    flat = [basis for own in bases for basis in own]
    program = compile_bursts(flat, [0] * len(flat), [1], events.codes, events.predicates, sharing=sharing)
    numbers = np.empty(program.out_width, np.int64)  # each number of the results is the total of one position
    numbers[program.finish.item[:, FINISH_TARGET]] = program.finish.item[:, FINISH_NUMBER]
    outs = iter(program.out.tolist())
    totals = [
        [numbers[next(outs) :][: basis.elements * basis.width].tolist() for basis in own] for own in bases
    ]
    joins, results = compile_panes([outline(accumulator) for accumulator in accumulators], totals)
    return PanePlan(program, joins, results)


def fold_panes(
    plan: PanePlan, panes: Panes, events: ClassEvents, values: Any, arithmetic: Any, *, closed_form: bool
) -> tuple[list[list[Any]], Done]:
    """Results by accumulator and component, an array per row of the specification; and what was done."""
    program, joins = plan.bursts, plan.joins
    regions, size = _lay_out(plan, panes)
    arena = arithmetic.arena(size)
    own, values = side_by_side(events.events, values)
    count, folded = fold_windows_by_panes(
        arena,
        packed(program),
        joins,
        regions,
        np.zeros(4, np.int64),
        negations_of(program),
        windows_state(program),
        values,
        own,
        panes.tasks,
        closed_form,
    )
    rows = np.arange(panes.rows) * joins.out_width
    results = [[arithmetic.read(arena, rows + number) for number in own] for own in plan.results]
    return results, Done(count, folded, panes.matched)


def _lay_out(plan: PanePlan, panes: Panes) -> tuple[Regions, int]:
    """Regions of the arena, and its size."""
    joins, ring = plan.joins, panes.most
    bursts = panes.rows * joins.out_width
    first_state = bursts + plan.bursts.size
    back = first_state + joins.state
    front = back + 2 * joins.matrix
    states = front + 2 * joins.matrix
    matrices = states + ring * joins.state
    return Regions(bursts, first_state, back, front, states, matrices, ring), matrices + ring * joins.matrix
