"""One class of queries through the event kernel: program, arena, kernel, and the rows of results as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.automaton.state import room_of
from hamlet_core.engines.hamlet.events.choice import PLAIN, RESIDUE, lanes_of
from hamlet_core.engines.hamlet.events.kernel import fold_windows
from hamlet_core.engines.hamlet.events.spans import APART, Layout, Spans, Windows, spans_of
from hamlet_core.engines.hamlet.events.turns import LONGER_WAY, NONE, Turns
from hamlet_core.engines.hamlet.events.worth import most_gained
from hamlet_core.engines.hamlet.graphlets.settings import SharingState, sharing_state
from hamlet_core.engines.hamlet.input.frame import Events, Predicates
from hamlet_core.engines.hamlet.numbers.arenas import Arena, ResidueNumbers
from hamlet_core.engines.hamlet.numbers.residues import residue_arena, times_constants
from hamlet_core.engines.hamlet.numbers.vectors import zero_run
from hamlet_core.engines.hamlet.program.builder import Builder, event_program, sharing_builder
from hamlet_core.engines.hamlet.program.groups import Group
from hamlet_core.engines.hamlet.program.layout import (
    M_FOLDED,
    M_STANDINGS,
    P_FREE,
    P_SETS,
    new_memo,
    packed,
)
from hamlet_core.engines.hamlet.program.negations import Conditions
from hamlet_core.language.syntax import Attribute, Expression
from hamlet_core.pattern.conditions import nameless
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.pair_tables import PairTables
from hamlet_core.progress import UNWATCHED, Progress
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.columns import frozen

MakeArena: TypeAlias = Callable[[int], Arena]

RESIDUE_BYTES = 1 << 28
"""Room for residues of a block of primes; one prime at a time may take more."""

KEPT_BYTES = 1 << 22
"""State of windows that is kept for the next call with the same program; more is made anew, which then costs nothing beside
its windows.
"""

_STANDINGS = 1024
_FIELDS = frozenset({"mantissa", "exponent", "value", "residue", "key"})
"""Fields of arenas with an entry per number."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Accumulators of one class and the events they read; `conditions` and `pairs` as `adjacent_conditions` has them."""

    accumulators: Sequence[Accumulator]
    """Of one specification of windows after the other."""
    codes: Mapping[str, int]
    """Type -> code in `events`."""
    predicates: Predicates
    conditions: Conditions
    pairs: PairTables
    events: Events
    windows: Windows
    layout: Layout
    sharing: Sharing = Sharing()
    pane: int = 0
    """Ticks of a pane, by whose borders bursts end; 0: none but the windows'."""
    origin: int = 0
    programs: dict[Any, Any] = field(default_factory=dict)
    """Mutable: programs that folds of equal accumulators have in common, and `making`, held by the thread that makes one."""
    making: Lock = field(default_factory=Lock, compare=False)
    progress: Progress = UNWATCHED
    apart: bool = False
    """Each window is folded by itself, for measurements."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Results by row and number: the elements of the accumulators one after the other."""

    numbers: Sequence[Any]
    """By specification: the class of the arena with arrays [row, number]; for residues the residues [row, number, prime] alone."""
    lost: npt.NDArray[np.bool_]
    """By window: plain numbers left their range, and the window added nothing to its row."""
    spans: Spans
    events: int
    """Events folded, added over spans."""
    undecided: int
    """Those of them that were folded while some groups rested."""
    decided: tuple[tuple[tuple[Group, ...], SharingState], ...]
    """Groups, and the state that counts and remembers what was decided about them."""


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


def fold_events_class(workload: Workload, values: Any, make: MakeArena, price: float = PLAIN) -> Folded:
    """Fold all windows in the arithmetic of the arenas that `make` makes; `values` are of the same.

    `price`: of one of its numbers, in plain ones.
    """
    return _fold(_task(workload, price), _read_only(values), make, workload.progress)


def fold_residues(workload: Workload, values: Any, primes: Sequence[int]) -> Folded:
    """Fold all windows modulo primes, as many at a time as `RESIDUE_BYTES` have room for."""
    task, values = _task(workload, RESIDUE * len(primes)), _read_only(values)
    block = max(1, min(len(primes), RESIDUE_BYTES // (8 * task.program().room)))
    firsts = range(0, len(primes), block)
    parts = []
    for number, first in enumerate(firsts):
        make = partial(residue_arena, moduli=primes[first : first + block])
        parts.append(_fold(task, values, make, workload.progress.part(number, len(firsts))))
    numbers = [np.concatenate(own, axis=2) for own in zip(*(part.numbers for part in parts), strict=True)]
    return replace(parts[0], numbers=numbers)


@dataclass(slots=True)
class _Program:
    """Mutable: what the kernel reads, for certain groups, and the state of windows."""

    plan: npt.NDArray[np.int64]
    groups: tuple[Group, ...]
    state: SharingState
    room: int
    """Numbers that the arena must have, without standings."""
    memo: Any = None


@dataclass(slots=True)
class _Task:
    """Mutable: what the kernel reads in every arithmetic, and programs by the groups that rest."""

    workload: Workload
    events: Events
    pairs: PairTables
    lanes: int
    """The most of a span."""
    spans: Spans
    longest: int
    """Events of the longest span."""
    asleep: frozenset[int] = NONE
    """Groups that are never tried, for want of gain or because lanes gain more."""
    made: dict[frozenset[int], _Program] = field(default_factory=dict)

    def program(self, resting: frozenset[int] = frozenset()) -> _Program:
        """The program in which all other groups may share."""
        resting |= self.asleep
        if resting not in self.made:
            plan, groups = _plan(self.workload, self.lanes, resting)
            if resting != self.asleep:  # needs less than the whole one, and gets more where it does not
                whole = self.program()
                room = whole.room + int(plan[P_FREE]) - int(whole.plan[P_FREE])
            else:
                room = int(room_of(plan, self.events, self.spans, new_memo(plan, 0, 0)))
            most = max((len(group.places) for group in groups), default=0)
            own = self.workload
            state = sharing_state(own.sharing, len(groups), most, own.pane, own.origin)
            self.made[resting] = _Program(plan, groups, state, room)
        return self.made[resting]


def _task(workload: Workload, price: float) -> _Task:
    events, pairs, windows = (_read_only(one) for one in (workload.events, workload.pairs, workload.windows))
    builder, sharing, layout = _builder(workload, APART), workload.sharing, workload.layout
    spans = spans_of(windows, layout, APART)
    asleep, lanes, saved = NONE, APART, None
    every = frozenset(range(len(builder.groups)))
    if every and sharing.may_rest:
        saved = most_gained(
            builder.groups, workload.accumulators, events.code, pairs, spans, sharing.constants
        )
    if saved is not None and saved <= LONGER_WAY:
        asleep, saved = every, 0.0
    if (saved is not None or not every) and not workload.apart:
        lanes = lanes_of(builder, pairs, windows, layout, price, sharing.constants, saved or 0.0)
    if lanes != APART:
        asleep, spans = every, spans_of(windows, layout, lanes)
    spans = _read_only(spans)
    longest = int((spans.last - spans.first).max(initial=0))
    return _Task(workload, events, pairs, lanes, spans, longest, asleep)


def _plan(
    workload: Workload, lanes: int, resting: frozenset[int]
) -> tuple[npt.NDArray[np.int64], tuple[Group, ...]]:
    builder = _builder(workload, lanes)
    pairs = workload.pairs  # how conditions are tested depends on what the columns of a chunk hold
    key = resting, pairs.starts.tobytes(), pairs.code.tobytes()
    with workload.making:
        if key not in builder.made:
            program, groups = event_program(builder, pairs, resting)
            builder.made[key] = _read_only(packed(program)), groups
    return builder.made[key]


def _builder(workload: Workload, lanes: int) -> Builder:
    """Made once for equal accumulators; those of spans know of no groups."""
    room = workload.layout.room
    sharing, programs = replace(workload.sharing, log=False), workload.programs
    accumulators = tuple(accumulator.key for accumulator in workload.accumulators)
    key = accumulators, tuple(workload.codes), room, sharing, lanes
    with workload.making:
        if key not in programs:
            programs[key] = sharing_builder(
                [replace(one, lane=lane) for lane in range(max(lanes, 1)) for one in workload.accumulators],
                workload.codes,
                workload.predicates,
                workload.conditions,
                room,
                sharing,
                groups=lanes == APART and len(workload.layout.rows) == 1,
            )
        builder: Builder = programs[key]
    return builder


def _read_only(value: Any) -> Any:
    """The same arrays as views that cannot be written: the kernel is compiled once, for these."""
    if isinstance(value, np.ndarray):
        return frozen(value.view())
    return type(value)(*map(_read_only, value))


def _fold(task: _Task, values: Any, make: MakeArena, progress: Progress) -> Folded:
    whole, spans = task.program(), task.spans
    results = task.workload.layout.room
    lost = np.zeros(len(task.workload.windows.first), np.bool_)
    extra = 4 * _STANDINGS if whole.plan[P_SETS] else 0
    standings, room = _STANDINGS if extra else 1, whole.room + extra
    arena, folded, undecided = make(room), 0, 0
    zero_run(arena, 0, results)
    turns = Turns(spans, whole.state.gain, rests=task.workload.sharing.may_rest)
    for first, end, resting in turns:
        program, span, before = task.program(resting), first, folded
        if room < program.room + extra:
            room = program.room + extra
            arena = _grown(arena, make(room), results)
        while True:
            if program.memo is None or program.memo[M_STANDINGS] < standings:
                program.memo = new_memo(program.plan, task.longest, standings)
            program.memo[M_FOLDED] = 0
            span = fold_windows(
                arena,
                program.plan,
                values,
                task.events,
                task.pairs,
                spans,
                program.memo,
                program.state if program.groups else None,
                standings if extra else None,
                span,
                end,
                room,
                lost,
            )
            folded += int(program.memo[M_FOLDED])
            if span == end:
                break
            standings, room = 2 * standings, room + max(room - int(program.plan[P_FREE]), _STANDINGS)
            arena = _grown(arena, make(room), results)
        if program.memo.nbytes > KEPT_BYTES:
            program.memo = None
        undecided += folded - before if resting or task.asleep else 0
        progress.at(turns.share(end))
    decided = tuple((one.groups, one.state) for one in task.made.values() if one.groups)
    return Folded(_results(arena, task.workload.layout), lost, spans, folded, undecided, decided)


def _grown(arena: Arena, larger: Arena, results: int) -> Arena:
    """The larger arena with the results so far."""
    for name, old, new in zip(arena._fields, arena, larger, strict=True):
        if name in _FIELDS:
            new[:results] = old[:results]
    return larger


def _results(arena: Arena, layout: Layout) -> list[Any]:
    """By specification."""
    if isinstance(arena, ResidueNumbers):
        ones = np.ones(len(arena.prime), np.uint64)
        numbers = times_constants(arena, layout.room, ones)
        return [
            numbers[first : first + rows * width].reshape(rows, width, len(ones))
            for first, rows, width in layout.slices()
        ]
    return [
        type(arena)(*(one[first : first + rows * width].reshape(rows, width).copy() for one in arena))
        for first, rows, width in layout.slices()
    ]
