"""One class of queries through the event kernel: program, arena, kernel, and the rows of results as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.accumulators import Strand
from hamlet_core.engines.hamlet.automaton.state import room_of
from hamlet_core.engines.hamlet.events.kernel import fold_windows
from hamlet_core.engines.hamlet.graphlets.settings import SharingState, sharing_state
from hamlet_core.engines.hamlet.input.frame import Events, Jobs, Predicates
from hamlet_core.engines.hamlet.input.predicate_bits import nameless
from hamlet_core.engines.hamlet.numbers.arenas import ResidueNumbers
from hamlet_core.engines.hamlet.numbers.residues import residue_arena, times_constants
from hamlet_core.engines.hamlet.numbers.vectors import zero_run
from hamlet_core.engines.hamlet.program.builder import event_program
from hamlet_core.engines.hamlet.program.groups import Group
from hamlet_core.engines.hamlet.program.layout import M_FOLDED, P_FREE, P_SETS, P_WIDTH, new_memo, packed
from hamlet_core.engines.hamlet.program.negations import Conditions
from hamlet_core.language.syntax import Attribute, Expression
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.pair_tables import PairTables
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.columns import frozen

Arena: TypeAlias = Any
MakeArena: TypeAlias = Callable[[int], Arena]

RESIDUE_BYTES = 1 << 28
"""Room for residues of a block of primes; one prime at a time may take more."""

BATCH = 1 << 21
"""Events, added over windows, in one call of the kernel; a window is never cut."""

_STANDINGS = 1024
_FIELDS = frozenset({"mantissa", "exponent", "value", "residue", "key"})
"""Fields of arenas with an entry per number."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Strands of one class and the events they read; `conditions` and `pairs` as `adjacent_conditions` has them."""

    strands: Sequence[Strand]
    codes: Mapping[str, int]
    """Type -> code in `events`."""
    predicates: Predicates
    conditions: Conditions
    pairs: PairTables
    events: Events
    jobs: Jobs
    rows: int
    """Rows of results."""
    sharing: Sharing = Sharing()
    pane: int = 0
    """Ticks of a pane, by whose borders bursts end; 0: none but the windows'."""
    origin: int = 0
    programs: dict[Any, Any] = field(default_factory=dict)
    """Mutable: programs that folds of equal strands have in common."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Results by row and number: the elements of the strands one after the other."""

    numbers: Any
    """The class of the arena with arrays [row, number]; for residues the residues [row, number, prime] alone."""
    lost: npt.NDArray[np.bool_]
    """By job: plain numbers left their range, and the job added nothing to its row."""
    events: int
    """Events folded, added over different windows."""
    groups: tuple[Group, ...]
    """Whose decisions `state` counts and remembers."""
    state: SharingState


def adjacent_conditions(
    queries: Sequence[AnalysedQuery],
) -> tuple[list[tuple[Expression, ...]], dict[tuple[int, str, str], int]]:
    """The different conditions on pairs of events, for `compile_pairs`, and which edges of which query have them.

    Conditions that differ in aliases alone are one: the two events are all that they are about.
    """
    found: dict[tuple[int, str, str], list[Expression]] = {}
    for query, analysed in enumerate(queries):
        for one in analysed.adjacent:
            found.setdefault((query, one.left, one.right), []).append(one.expression)
    numbers: dict[Any, int] = {}
    conditions: dict[tuple[int, str, str], int] = {}
    different: list[tuple[Expression, ...]] = []
    for edge, parts in found.items():
        number = numbers.setdefault(nameless(tuple(parts)), len(numbers))
        if number == len(different):
            different.append(tuple(map(_renamed, parts)))
        conditions[edge] = number
    return different, conditions


def _renamed(expression: Any) -> Any:
    """The expression with one alias for the earlier event and one for the later."""
    if isinstance(expression, Attribute):
        return replace(expression, alias="b" if expression.next else "a")
    if isinstance(expression, tuple):
        return tuple(map(_renamed, expression))
    if is_dataclass(expression) and not isinstance(expression, type):
        changed = {
            one.name: _renamed(getattr(expression, one.name))
            for one in fields(expression)
            if one.name != "span"
        }
        return replace(expression, **changed)
    return expression


def fold_events_class(workload: Workload, values: Any, make: MakeArena) -> Folded:
    """Fold all windows in the arithmetic of the arenas that `make` makes; `values` are of the same."""
    task = _task(workload)
    return _fold(task, _read_only(values), make)


def fold_residues(workload: Workload, values: Any, primes: Sequence[int]) -> Folded:
    """Fold all windows modulo primes, as many at a time as `RESIDUE_BYTES` have room for."""
    task, values = _task(workload), _read_only(values)
    block = max(1, min(len(primes), RESIDUE_BYTES // (8 * task.room)))
    parts = [
        _fold(task, values, partial(residue_arena, moduli=chosen))
        for chosen in (primes[first : first + block] for first in range(0, len(primes), block))
    ]
    return replace(parts[0], numbers=np.concatenate([part.numbers for part in parts], axis=2))


@dataclass(frozen=True, slots=True)
class _Task:
    """What the kernel reads in every arithmetic."""

    plan: npt.NDArray[np.int64]
    events: Events
    pairs: PairTables
    jobs: Jobs
    rows: int
    longest: int
    """Events of the longest window."""
    room: int
    """Numbers that the arena must have, without standings."""
    groups: tuple[Group, ...]
    state: SharingState


def _task(workload: Workload) -> _Task:
    width = sum(strand.width for strand in workload.strands)
    sharing = replace(workload.sharing, log=False)
    key = (
        *(tuple(strand.key for strand in workload.strands), tuple(workload.codes)),
        *(workload.rows * width, sharing),
    )
    if key not in workload.programs:
        program, made = event_program(
            workload.strands,
            workload.codes,
            workload.predicates,
            workload.conditions,
            workload.pairs,
            workload.rows * width,
            sharing=sharing,
        )
        workload.programs[key] = _read_only(packed(program)), made
    plan, groups = workload.programs[key]
    events, pairs, jobs = (_read_only(one) for one in (workload.events, workload.pairs, workload.jobs))
    longest = int((jobs.last - jobs.first).max(initial=0))
    room = int(room_of(plan, events, jobs, new_memo(plan, 0, 0)))
    most = max((len(group.places) for group in groups), default=0)
    state = sharing_state(workload.sharing, len(groups), most, workload.pane, workload.origin)
    return _Task(plan, events, pairs, jobs, workload.rows, longest, room, groups, state)


def _read_only(value: Any) -> Any:
    """The same arrays as views that cannot be written: the kernel is compiled once, for these."""
    if isinstance(value, np.ndarray):
        return frozen(value.view())
    return type(value)(*map(_read_only, value))


def _fold(task: _Task, values: Any, make: MakeArena) -> Folded:
    plan, jobs, results = task.plan, task.jobs, task.rows * int(task.plan[P_WIDTH])
    standings = _STANDINGS if plan[P_SETS] else 1
    room = task.room + (4 * _STANDINGS if plan[P_SETS] else 0)
    lost = np.zeros(len(jobs.first), np.bool_)
    sharing = task.state if task.groups else None
    arena, job, folded = make(room), 0, 0
    zero_run(arena, 0, results)
    for end in _batches(jobs):
        batch = Jobs(*(one[:end] for one in jobs))
        while True:
            memo = new_memo(plan, task.longest, standings)
            job = fold_windows(
                arena, plan, values, task.events, task.pairs, batch, memo, sharing, job, room, lost
            )
            folded += int(memo[M_FOLDED])
            if job == end:
                break
            standings, room = 2 * standings, room + max(room - int(plan[P_FREE]), _STANDINGS)
            arena = _grown(arena, make(room), results)
    return Folded(_results(arena, task.rows, int(plan[P_WIDTH])), lost, folded, task.groups, task.state)


def _batches(jobs: Jobs) -> list[int]:
    """Where calls of the kernel end, after about a second each: between them Python hears signals.

    Jobs over the same events stay together, for they are folded once. Events of large windows count for more: they may
    read many older ones.
    """
    sizes = jobs.last - jobs.first
    done = np.cumsum(sizes * (1 + (sizes >> 10)))
    if len(done) == 0 or done[-1] <= BATCH:
        return [len(done)]
    other = 1 + np.flatnonzero((np.diff(jobs.first) != 0) | (np.diff(jobs.last) != 0))
    ends = other[np.diff(done[other - 1] // BATCH, prepend=0) > 0]
    return [*ends.tolist(), len(done)]


def _grown(arena: Arena, larger: Arena, results: int) -> Arena:
    """The larger arena with the results so far."""
    for name, old, new in zip(arena._fields, arena, larger, strict=True):
        if name in _FIELDS:
            new[:results] = old[:results]
    return larger


def _results(arena: Arena, rows: int, width: int) -> Any:
    if isinstance(arena, ResidueNumbers):
        ones = np.ones(len(arena.prime), np.uint64)
        return times_constants(arena, rows * width, ones).reshape(rows, width, len(ones))
    return type(arena)(*(one[: rows * width].reshape(rows, width).copy() for one in arena))
