"""Accumulators of one class through the burst kernel: jobs, arenas, one pass per arithmetic; results as arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.bursts.kernel import fold_bursts
from hamlet_core.engines.hamlet.bursts.packing import packed
from hamlet_core.engines.hamlet.bursts.program import compile_bursts
from hamlet_core.engines.hamlet.bursts.state import negations_of
from hamlet_core.engines.hamlet.bursts.state import windows_of as windows_state
from hamlet_core.engines.hamlet.bursts.tables import BurstProgram
from hamlet_core.engines.hamlet.bursts.windows import most_open
from hamlet_core.engines.hamlet.input.frame import Whole, side_by_side, windows_of
from hamlet_core.engines.hamlet.input.query_class import ClassEvents
from hamlet_core.sharing.options import Sharing
from hamlet_core.windows import Wanted, WindowSpec

SCRATCH = 4
"""Numbers between the results and the state that the kernel may use."""


class Done(NamedTuple):
    """What a pass over the events did."""

    bursts: int
    folded: int
    """Events that the kernel counted, and `matched` those that it had to fold."""
    matched: int


DENSE = 4
"""Cells of a table for each pair in it, up to which it is quicker than sorting."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of results of one window specification: `first:stop` of the numbered rows of a class."""

    first: int
    index: Whole
    """Window index by row."""
    group: Whole
    """Place of the group by row."""


@dataclass(frozen=True, slots=True)
class BurstJobs:
    """The windows of every specification, as slices of the events and rows of results."""

    specs: tuple[WindowSpec, ...]
    rows: tuple[Rows, ...]
    first: Whole
    last: Whole
    row: Whole
    bounds: Any
    """[specification, partition]: jobs of a partition."""
    slots: tuple[int, ...]

    def own(self, spec: int) -> slice:
        """The jobs of one specification."""
        return slice(int(self.bounds[spec, 0]), int(self.bounds[spec, -1]))

    def opened_by(self, specs: Collection[int]) -> Any:
        """`bounds`, where the specifications that are not among these have no jobs."""
        wanted = np.isin(np.arange(len(self.specs)), list(specs))
        return np.where(wanted[:, None], self.bounds, self.bounds[:, :1])

    @property
    def count(self) -> int:
        """Rows of all specifications."""
        return sum(len(rows.index) for rows in self.rows)


def burst_jobs(events: ClassEvents, specs: Sequence[WindowSpec], only: Wanted | None = None) -> BurstJobs:
    """Slice the partitions of a class into windows and number the rows (group, window) they add to.

    `only`: the windows of each specification that are wanted (None: all).
    """
    partitioning = events.partitioning
    firsts, lasts, jobs, bounds, slots, found = [], [], [], [], [], []
    offset = rows = 0
    for spec in specs:
        partition, index, first, last = windows_of(events.events.time, partitioning.bounds, spec)
        if only is not None:
            wanted = (index >= only[spec].start) & (index < only[spec].stop)
            partition, index = partition[wanted], index[wanted]
            first, last = first[wanted], last[wanted]
        limits = np.searchsorted(partition, np.arange(len(partitioning.bounds)))
        slots.append(int(most_open(first, last, limits)))
        group = partitioning.group[partition] if len(partition) else partition
        if len(partitioning.groups) == len(partitioning.group):
            row, own = np.arange(len(partition)), Rows(rows, index, group)
        else:
            own, row = numbered_rows(rows, index, group)
        firsts.append(first)
        lasts.append(last)
        jobs.append(row + rows)
        bounds.append(limits + offset)
        found.append(own)
        offset += len(first)
        rows += len(own.index)
    return BurstJobs(
        tuple(specs),
        tuple(found),
        np.concatenate(firsts),
        np.concatenate(lasts),
        np.concatenate(jobs),
        np.array(bounds),
        tuple(slots),
    )


def numbered_rows(number: int, index: Whole, group: Whole) -> tuple[Rows, Whole]:
    """A row for each distinct pair of window and group, from a number on, by group and window, and the place of each given pair among
    them.
    """
    if len(index) and _cells(index, group) <= DENSE * len(index):
        return _numbered_cells(number, index, group)
    order = np.lexsort((index, group))
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(group[order]) != 0) | (np.diff(index[order]) != 0)
    row = np.empty(len(order), np.int64)
    row[order] = np.cumsum(new) - 1
    heads = order[new]
    return Rows(number, index[heads], group[heads]), row


def _cells(index: Whole, group: Whole) -> int:
    """Pairs of any window and any group that there may be."""
    return (int(index.max()) - int(index.min()) + 1) * (int(group.max()) + 1)


def _numbered_cells(number: int, index: Whole, group: Whole) -> tuple[Rows, Whole]:
    """As `numbered_rows`, without sorting."""
    first = index.min()
    windows = index.max() - first + 1
    cell = group * windows + (index - first)
    there = np.zeros(_cells(index, group), np.bool_)
    there[cell] = True
    found = np.flatnonzero(there)
    return Rows(number, found % windows + first, found // windows), (np.cumsum(there) - 1)[cell]


def burst_program(
    accumulators: Sequence[Accumulator],
    spec_of: Sequence[int],
    events: ClassEvents,
    jobs: BurstJobs,
    *,
    sharing: Sharing,
) -> BurstProgram:
    """Tables for accumulators, whose window specifications are `spec_of`; `sharing`: which equal totals are one."""
    return compile_bursts(accumulators, spec_of, jobs.slots, events.codes, events.predicates, sharing=sharing)


def arena_size(program: BurstProgram, jobs: BurstJobs) -> int:
    """Numbers for the results, scratch and state."""
    return int(jobs.count * program.out_width + SCRATCH + program.size)


def fold(
    arena: Any,
    program: BurstProgram,
    values: Any,
    events: ClassEvents,
    jobs: BurstJobs,
    *,
    specs: Collection[int],
    closed_form: bool,
) -> Done:
    """Run the kernel; the first `jobs.count * out_width` numbers of the arena then hold the results.

    `specs`: the window specifications of the program's accumulators.
    """
    base = jobs.count * program.out_width + SCRATCH
    own, values = side_by_side(events.events, values)
    count, folded = fold_bursts(
        arena,
        base,
        packed(program),
        negations_of(program),
        windows_state(program),
        values,
        own,
        events.partitioning.bounds,
        jobs.first,
        jobs.last,
        jobs.row,
        jobs.opened_by(specs),
        closed_form,
    )
    return Done(count, folded, events.matched)
