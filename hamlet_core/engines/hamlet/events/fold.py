"""One class of queries through the event kernel: program, arena, kernel, and the rows of results as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.automaton.state import room_of
from hamlet_core.engines.hamlet.events.choice import PLAIN, RESIDUE, lanes_of, saved_by
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
    M_LONGEST,
    M_STANDINGS,
    P_FREE,
    P_SETS,
    new_memo,
    packed,
)
from hamlet_core.engines.hamlet.program.negations import Conditions
from hamlet_core.predicates.pair_tables import PairTables
from hamlet_core.progress import UNWATCHED, Progress
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.columns import frozen

MakeArena: TypeAlias = Callable[[int], Arena]

RESIDUE_BYTES = 1 << 28
"""Room for residues of a block of primes; one prime at a time may take more."""

KEPT_BYTES = 1 << 22
"""State of windows that is kept while another program folds; more is made anew, which then costs nothing beside its windows."""

OF_LANES = 0.5
"""How much of what lanes save groups must gain by the numbers of events, for sharing shortens their way besides."""

_STANDINGS = 1024
_FIELDS = frozenset({"mantissa", "exponent", "value", "residue", "key"})
"""Fields of arenas with an entry per number."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Accumulators of one class and the events they read; `conditions` are those of `PairConditions` by edge, `pairs` as compiled."""

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
    first: npt.NDArray[np.int64]
    """By span that was folded: its first event, ..."""
    last: npt.NDArray[np.int64]
    """... and that behind its last one."""
    events: int
    """Events folded, added over spans."""
    undecided: int
    """Those of them that were folded while some groups rested."""
    decided: tuple[tuple[tuple[Group, ...], SharingState], ...]
    """Groups, and the state that counts and remembers what was decided about them."""


def fold_events_class(workload: Workload, values: Any, make: MakeArena, price: float = PLAIN) -> Folded:
    """Fold all windows in the arithmetic of the arenas that `make` makes; `values` are of the same.

    `price`: of one of its numbers, in plain ones.
    """
    return _fold(_task(workload, price), _read_only(values), make, workload.progress)


def fold_residues(workload: Workload, values: Any, primes: Sequence[int]) -> Folded:
    """Fold all windows modulo primes, as many at a time as `RESIDUE_BYTES` have room for."""
    task, values = _task(workload, RESIDUE * len(primes)), _read_only(values)
    block = max(1, min(len(primes), RESIDUE_BYTES // (8 * task.most_room())))
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


class _Piece(NamedTuple):
    """Spans that one program folds."""

    program: _Program
    spans: Spans
    longest: int
    """Events of the longest span."""
    first: int
    end: int


class _Chosen(NamedTuple):
    """Lanes, or groups."""

    lanes: int = APART
    """The most of a span."""
    lanes_at_rest: int = APART
    """While all groups rest."""
    asleep: frozenset[int] = NONE
    """Groups that are never tried, for want of gain or because lanes gain more."""
    worth: float = LONGER_WAY
    """Nanoseconds that groups must gain of an event, or all rest."""


@dataclass(slots=True)
class _Task:
    """Mutable: what the kernel reads in every arithmetic, and programs by the groups that rest."""

    workload: Workload
    """With arrays that are read only."""
    chosen: _Chosen
    spans: Spans
    longest: int
    """Events of the longest span."""
    made: dict[frozenset[int], _Program] = field(default_factory=dict)
    at_rest: _Program | None = None
    """The program of spans while all groups rest."""

    def program(self, resting: frozenset[int] = frozenset()) -> _Program:
        """The program in which all other groups may share."""
        resting |= self.chosen.asleep
        if resting not in self.made:
            plan, groups = _plan(self.workload, self.chosen.lanes, resting)
            if resting != self.chosen.asleep:
                # It needs less than the whole one, and gets more where it does not.
                whole = self.program()
                room = whole.room + int(plan[P_FREE]) - int(whole.plan[P_FREE])
            else:
                room = self._room(plan, self.spans)
            most = max((len(group.places) for group in groups), default=0)
            own = self.workload
            state = sharing_state(own.sharing, len(groups), most, own.pane, own.origin)
            self.made[resting] = _Program(plan, groups, state, room)
        return self.made[resting]

    def piece(self, first: int, end: int, resting: frozenset[int]) -> _Piece:
        """What folds some of the spans: those of lanes instead, while all groups rest, where that costs less."""
        whole = self.program()
        if self.chosen.lanes_at_rest == APART or len(resting) < len(whole.groups) or first == end:
            return _Piece(self.program(resting), self.spans, self.longest, first, end)
        return self._at_rest(int(self.spans.reads[first]), int(self.spans.reads[end]))

    def most_room(self) -> int:
        """Numbers that the arena must have for any piece, about."""
        room = self.program().room
        if self.chosen.lanes_at_rest != APART:
            room = max(room, self._at_rest(0, len(self.workload.windows.first)).program.room)
        return room

    def _at_rest(self, first: int, last: int) -> _Piece:
        """These windows, as lanes."""
        windows = Windows(*(one[first:last] for one in self.workload.windows))
        spans = spans_of(windows, self.workload.layout, self.chosen.lanes_at_rest)
        spans = _read_only(spans._replace(window=spans.window + first))
        if self.at_rest is None:
            plan, _ = _plan(self.workload, self.chosen.lanes_at_rest, NONE)
            own = self.workload
            self.at_rest = _Program(plan, (), sharing_state(own.sharing, 0, 0, own.pane, own.origin), 0)
        self.at_rest.room = max(self.at_rest.room, self._room(self.at_rest.plan, spans))
        return _Piece(self.at_rest, spans, _longest(spans), 0, len(spans.first))

    def _room(self, plan: npt.NDArray[np.int64], spans: Spans) -> int:
        return int(room_of(plan, self.workload.events, spans, new_memo(plan, 0, 0)))


def _longest(spans: Spans) -> int:
    return int((spans.last - spans.first).max(initial=0))


def _task(workload: Workload, price: float) -> _Task:
    events, pairs, windows = (_read_only(one) for one in (workload.events, workload.pairs, workload.windows))
    own = replace(workload, events=events, pairs=pairs, windows=windows)
    builder, alone = _builder(own, APART), spans_of(windows, own.layout, APART)
    chosen = _chosen(own, builder, alone, price)
    spans = alone if chosen.lanes == APART else spans_of(windows, own.layout, chosen.lanes)
    return _Task(own, chosen, _read_only(spans), _longest(spans))


def _chosen(workload: Workload, builder: Builder, alone: Spans, price: float) -> _Chosen:
    """Lanes or groups, by what they might gain; `alone`: each window for itself."""
    every, constants = frozenset(range(len(builder.groups))), workload.sharing.constants
    about = builder, workload.pairs, workload.windows
    saved = None
    if every and workload.sharing.may_rest:
        code = workload.events.code
        saved = most_gained(builder.groups, workload.accumulators, code, workload.pairs, alone, constants)
    if every and saved is None:
        return _Chosen()
    at_rest = APART if workload.apart else lanes_of(*about, workload.layout, price, constants)
    if not every:
        return _Chosen(at_rest)
    worth = LONGER_WAY
    if saved is not None and saved > worth and at_rest != APART:
        worth = max(worth, OF_LANES * saved_by(at_rest, *about, price, constants))
    if saved is None or saved <= worth:
        return _Chosen(at_rest, asleep=every)
    if at_rest != APART and (lanes := lanes_of(*about, workload.layout, price, constants, saved)) != APART:
        return _Chosen(lanes, asleep=every)
    return _Chosen(lanes_at_rest=at_rest, worth=worth)


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
    whole = task.program()
    results = task.workload.layout.room
    lost = np.zeros(len(task.workload.windows.first), np.bool_)
    extra = 4 * _STANDINGS if whole.plan[P_SETS] else 0
    standings, room = _STANDINGS if extra else 1, whole.room + extra
    arena, folded, undecided = make(room), 0, 0
    zero_run(arena, 0, results)
    turns = Turns(task.spans, whole.state.gain, rests=task.workload.sharing.may_rest, worth=task.chosen.worth)
    ranges, program = [], whole
    for first, end, resting in turns:
        piece, before = task.piece(first, end, resting), folded
        program, before_it, span = piece.program, program, piece.first
        if before_it is not program and before_it.memo is not None and before_it.memo.nbytes > KEPT_BYTES:
            before_it.memo = None
        if room < program.room + extra:
            room = program.room + extra
            arena = _grown(arena, make(room), results)
        while True:
            if not _holds(program.memo, piece.longest, standings):
                program.memo = new_memo(program.plan, piece.longest, standings)
            program.memo[M_FOLDED] = 0
            span = fold_windows(
                arena,
                program.plan,
                values,
                task.workload.events,
                task.workload.pairs,
                piece.spans,
                program.memo,
                program.state if program.groups else None,
                standings if extra else None,
                span,
                piece.end,
                room,
                lost,
            )
            folded += int(program.memo[M_FOLDED])
            if span == piece.end:
                break
            standings, room = 2 * standings, room + max(room - int(program.plan[P_FREE]), _STANDINGS)
            arena = _grown(arena, make(room), results)
        undecided += folded - before if resting or task.chosen.asleep else 0
        ranges.append([one[piece.first : piece.end] for one in (piece.spans.first, piece.spans.last)])
        progress.at(turns.share(end))
    decided = tuple((one.groups, one.state) for one in task.made.values() if one.groups)
    begins, ends = map(np.concatenate, zip(*ranges, strict=True))
    return Folded(_results(arena, task.workload.layout), lost, begins, ends, folded, undecided, decided)


def _holds(memo: Any, longest: int, standings: int) -> bool:
    """Whether the state of windows has room for so many events and standings."""
    return memo is not None and bool(memo[M_LONGEST] >= longest and memo[M_STANDINGS] >= standings)


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
