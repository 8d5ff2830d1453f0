"""A chain of panes: each pane of sliding windows is folded once, whenever it comes, and windows are joined as they close.

As in `panes/kernel.py` there are two stacks: panes that came since the stacks were turned (the back) are joined as they
come; of those before (the front) the state is kept that each and all after it lead to. All partitions go together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.algebra.aggregates import LATTICE, Component, Role
from hamlet_core.algebra.measuring import Extremes, Numbers
from hamlet_core.engines.hamlet.accumulators import WindowedQuery
from hamlet_core.engines.hamlet.arithmetics import added_up
from hamlet_core.engines.hamlet.bursts.fold import Rows, burst_jobs, numbered_rows
from hamlet_core.engines.hamlet.chains.algebras import Lanes, appended, replaced, taken
from hamlet_core.engines.hamlet.chains.layers import KEYS, RESIDUE, SCALED, WHOLE, Layers
from hamlet_core.engines.hamlet.input.query_class import class_events, classes_of
from hamlet_core.engines.hamlet.numbers.columns import Keys, values_of_keys
from hamlet_core.engines.hamlet.numbers.exact import riding
from hamlet_core.engines.partitioning import coarser
from hamlet_core.results.totals import Totals
from hamlet_core.table.encode import Column, Stream
from hamlet_core.table.kinds import Kind
from hamlet_core.windows import WindowSpec

State: TypeAlias = dict[str, Lanes]
"""By kind of layer: numbers with a column per partition."""

_NONE = np.zeros(0, np.int64)
_MANY = 2**62
_FEW_WINDOWS = 1 << 16


@dataclass(slots=True)
class _Panes:
    """Panes that were folded: a column of `numbers` per pane and partition, in order of both."""

    pane: Any
    slot: Any
    """The number of the partition."""
    numbers: State

    def distinct(self) -> Any:
        """The panes, each once."""
        return self.pane[np.append(True, self.pane[1:] != self.pane[:-1])] if len(self.pane) else self.pane

    def between(self, first: int, last: int) -> _Panes:
        """Those from one pane up to another."""
        begin, end = np.searchsorted(self.pane, [first, last]).tolist()
        numbers = {kind: tuple(one[:, begin:end] for one in own) for kind, own in self.numbers.items()}
        return _Panes(self.pane[begin:end], self.slot[begin:end], numbers)


@dataclass(slots=True)
class _Closed:
    """What windows that closed hold: a column of `numbers` per window and partition."""

    window: Any
    group: Any
    """The number of the group of each partition."""
    numbers: State


class Chain:
    """Mutable: panes of some queries with the same windows and partitions; windows and events go forward only."""

    def __init__(self, windowed: Sequence[WindowedQuery], arithmetic: str, text: str) -> None:
        self.windowed, self.text = windowed, text
        self.spec = windowed[0].spec
        self.queries = [one.analysed for one in windowed]
        (self.own,) = classes_of(self.queries)
        # Every partition is a group of its own here: its panes are joined before partitions are added up.
        self.apart = replace(self.own, group_by=self.own.partition)
        self.layers = Layers.of(windowed, arithmetic)
        length = gcd(self.spec.within, self.spec.slide)
        self.pane = WindowSpec(length, length, self.spec.origin)
        self.step, self.size = self.spec.slide // length, self.spec.within // length
        self.folded: int | None = None
        """Panes before this one were folded."""
        self.turned = -_MANY
        """Panes before this one are in the front."""
        self.slots: dict[str, int] = {}
        """By partition, in the order of their numbers."""
        self.groups: dict[str, int] = {}
        """By group, in the order of their numbers."""
        self.group = _NONE
        """By partition the number of its group."""
        self.ahead: list[_Panes] = []
        """Panes that no closed window has reached."""
        self.back: list[_Panes] = []
        self.joined = self._nothing()
        self.front: list[_Panes] = []
        """Each is one pane, with the states that it and all after it lead to."""

    def needs(self, windows: range) -> int:
        """The time from which on events are needed for these windows."""
        first = windows.start * self.step
        return self.pane.bounds(first if self.folded is None else max(first, self.folded))[0]

    def totals(
        self, events: Stream | None, windows: range, kinds: Mapping[str, tuple[Kind, int]]
    ) -> list[Totals] | None:
        """Totals of each query in these windows, which begin after those asked for before.

        `events` are all from what `needs` says up to the end of the windows; None is none. None as an answer: MIN or MAX
        of such values cannot be joined from panes, now and later.
        """
        texts, used = list(self.groups), np.unique(self.group)
        self.groups = {texts[number]: place for place, number in enumerate(used.tolist())}
        self.group = np.searchsorted(used, self.group)
        first, last = self.pane.indices(self.needs(windows)).start, (windows.stop - 1) * self.step + self.size
        if events is not None and not self._fold(events, range(first, last)):
            return None
        self.folded = last
        closed = [self._closed(window) for window in self._holding(windows)]
        if not closed:
            return []
        numbers = {kind: appended([one.numbers[kind] for one in closed], 1) for kind in closed[0].numbers}
        window, group = (
            np.concatenate([getattr(one, name) for one in closed]) for name in ("window", "group")
        )
        return self._grouped(_Closed(window, group, numbers), kinds)

    @property
    def bytes(self) -> int:
        """Of the numbers of panes and partitions."""
        panes = (*self.front, *self.back, *self.ahead)
        kept = [self.joined, *(one.numbers for one in panes)]
        return sum(array.nbytes for state in kept for own in state.values() for array in own)

    # --- panes --------------------------------------------------------------------------------------

    def _fold(self, stream: Stream, panes: range) -> bool:
        events = class_events(self.apart, stream, self.text)
        jobs = burst_jobs(events, (self.pane,), {self.pane: panes})
        (rows,) = jobs.rows
        if not len(rows.index):
            return True
        group, texts = coarser(stream, events.partitioning, self.own.group_by)
        in_group = np.array([self.groups.setdefault(text, len(self.groups)) for text in texts], np.int64)
        known = len(self.slots)
        partitions = events.partitioning.groups
        numbers = np.array([self.slots.setdefault(text, len(self.slots)) for text in partitions], np.int64)
        new = np.flatnonzero(numbers >= known)
        self.group = np.concatenate([self.group, in_group[group[new]]])
        slot = numbers[rows.group]
        order = np.lexsort((slot, rows.index))
        row = np.empty(len(order), np.int64)
        row[order] = np.arange(len(order))
        matrices = self.layers.fold(self.queries, events, stream, replace(jobs, row=row[jobs.row]))
        if matrices is None:
            return False
        self.ahead.append(_Panes(rows.index[order], slot[order], matrices))
        if len(new):
            self.joined = {
                kind: appended([own, self._nothing(len(new))[kind]], 1) for kind, own in self.joined.items()
            }
        return True

    def _holding(self, windows: range) -> Sequence[int]:
        """Those of the windows that hold a pane with an event."""
        known = [one.distinct() for one in (*self.front, *self.back, *self.ahead)]
        panes = np.unique(np.concatenate([_NONE, *known]))
        if len(windows) < _FEW_WINDOWS:
            indices = np.arange(windows.start, windows.stop)
        else:  # a long silence: only windows that hold one of the panes
            near = (
                np.arange(-((self.size - 1 - pane) // self.step), pane // self.step + 1)
                for pane in panes.tolist()
            )
            indices = np.unique(np.concatenate([_NONE, *near]))
            indices = indices[(indices >= windows.start) & (indices < windows.stop)]
        begin = indices * self.step
        holds = np.searchsorted(panes, begin) < np.searchsorted(panes, begin + self.size)
        found: list[int] = indices[holds].tolist()
        return found

    # --- windows --------------------------------------------------------------------------------------

    def _closed(self, window: int) -> _Closed:
        """The totals of a window, by partition."""
        begun, end = window * self.step, window * self.step + self.size
        self._take(end)
        if begun >= self.turned:
            self._turn(begun, end)
        slot, states = self._states_at(begun)
        totals = {
            kind: layer.leave(states[kind], taken(self.joined[kind], slot))
            for kind, layer in self.layers.by_kind.items()
        }
        return _Closed(np.full(len(slot), window), self.group[slot], totals)

    def _take(self, end: int) -> None:
        """Panes up to `end` to the back, each joined to those before it."""
        ahead, self.ahead = self.ahead, []
        for panes in ahead:
            here, later = panes.between(-_MANY, end), panes.between(end, _MANY)
            if len(here.pane):
                self.back.append(here)
                for pane in here.distinct().tolist():
                    one = here.between(pane, pane + 1)
                    for kind, layer in self.layers.by_kind.items():
                        before = taken(self.joined[kind], one.slot)
                        joined = layer.join(before, one.numbers[kind])
                        self.joined[kind] = replaced(self.joined[kind], joined, one.slot)
            if len(later.pane):
                self.ahead.append(later)

    def _turn(self, first: int, end: int) -> None:
        """States for the panes of the back, from the last to the first; partitions that nothing holds are forgotten."""
        after = self._nothing(len(self.slots))
        found: list[_Panes] = []
        for panes in reversed(self.back):
            for pane in panes.distinct()[::-1].tolist():
                if pane < first:
                    continue
                one = panes.between(pane, pane + 1)
                states = {}
                for kind, layer in self.layers.by_kind.items():
                    rest = taken(after[kind], one.slot)
                    joined = layer.join(one.numbers[kind], rest)
                    after[kind] = replaced(after[kind], joined, one.slot)
                    states[kind] = layer.enter(joined)
                found.append(_Panes(one.pane, one.slot, states))
        self.back, self.turned = [], end
        found.reverse()
        self.front = found
        self._forget()
        self.joined = self._nothing(len(self.slots))

    def _forget(self) -> None:
        """Number anew the partitions that some pane has."""
        used = np.unique(np.concatenate([_NONE, *(one.slot for one in (*self.front, *self.ahead))]))
        texts = list(self.slots)
        self.slots = {texts[slot]: number for number, slot in enumerate(used.tolist())}
        self.group = self.group[used]
        for panes in (*self.front, *self.ahead):
            panes.slot = np.searchsorted(used, panes.slot)

    def _states_at(self, begun: int) -> tuple[Any, State]:
        """The partitions of a window, and the state of each: of its first pane in the front, if it has one there."""
        front = [panes for panes in self.front if panes.pane[0] >= begun]
        first = np.full(len(self.slots), len(front))
        for number, panes in enumerate(front):
            first[panes.slot] = np.minimum(first[panes.slot], number)
            if first.max() <= number:
                break
        there = first < len(front)
        for panes in self.back:
            there[panes.slot] = True
        slot = np.flatnonzero(there)
        states, first = self._states(len(slot)), first[slot]
        for number, panes in enumerate(front[: first.max(initial=-1) + 1]):
            places = np.flatnonzero(first == number)
            columns = np.searchsorted(panes.slot, slot[places])
            for kind, own in panes.numbers.items():
                states[kind] = replaced(states[kind], taken(own, columns), places)
        return slot, states

    def _nothing(self, count: int = 0) -> State:
        """Matrices of panes without events, of so many partitions."""
        return {kind: layer.nothing(count) for kind, layer in self.layers.by_kind.items()}

    def _states(self, count: int) -> State:
        return {kind: layer.first_state(count) for kind, layer in self.layers.by_kind.items()}

    # --- results ----------------------------------------------------------------------------------------

    def _grouped(self, closed: _Closed, kinds: Mapping[str, tuple[Kind, int]]) -> list[Totals]:
        """The totals of partitions added up by group and window, query by query."""
        rows, into = numbered_rows(0, closed.window, closed.group)
        added = {}
        for kind, layer in self.layers.by_kind.items():
            totals = added_up(tuple(one.T for one in closed.numbers[kind]), into, layer.algebra)
            added[kind] = [
                [tuple(one[:, number] for one in totals) for number in own] for own in layer.results
            ]
        groups = tuple(self.groups)
        return [self._of_query(query, rows, groups, added, kinds) for query in range(len(self.windowed))]

    def _of_query(
        self,
        query: int,
        rows: Rows,
        groups: tuple[str, ...],
        added: Mapping[str, Sequence[Sequence[Lanes]]],
        kinds: Mapping[str, tuple[Kind, int]],
    ) -> Totals:
        windowed, layers = self.windowed[query], self.layers
        kind = SCALED if SCALED in added else WHOLE
        alive = layers.by_kind[kind].algebra.positive(added[kind][query][0])
        numbers = self._numbers(
            query, {name: own[query] for name, own in added.items() if name != KEYS}, alive
        )
        parts: list[Numbers | Extremes] = []
        for part in windowed.parts:
            if part.role in LATTICE:
                ((keys,),) = added[KEYS][layers.extremes().index((query, part))]
                column = Column(str(part.attribute), *kinds[str(part.attribute)], [])
                back = "double" if column.kind is Kind.DOUBLE else None
                told = Keys(keys, back, part.role is Role.MAXIMUM)
                parts.append(Extremes(values_of_keys(keys[alive], told, column)))
            else:
                parts.append(numbers[part])
        start = self.spec.origin + rows.index[alive] * self.spec.slide
        return Totals(
            windowed.analysed.query.name,
            start,
            start + self.spec.within,
            rows.group[alive],
            groups,
            numbers[None],
            tuple(parts),
        )

    def _numbers(
        self, query: int, added: Mapping[str, Sequence[Lanes]], alive: Any
    ) -> dict[Component | None, Numbers]:
        """By component, None for COUNT(*), the numbers of a query where there is a trend."""
        whole = dict(zip([None, *riding(self.layers.parts[query])], added.get(WHOLE, ()), strict=False))
        if whole:
            nothing = np.zeros(int(alive.sum())), np.zeros(int(alive.sum()), np.int64)
            return {part: Numbers(*nothing, tuple(own[0][alive].tolist())) for part, own in whole.items()}
        residues = dict(zip([None, *riding(self.layers.parts[query])], added.get(RESIDUE, ()), strict=False))
        found = {}
        for part, (mantissa, exponent) in zip(self.layers.summed(query), added[SCALED], strict=True):
            residue = None
            if residues:
                own = residues[part][0] if part in residues else np.zeros(len(alive), np.uint64)
                residue = own[alive].astype(np.int64)
            found[part] = Numbers(mantissa[alive], exponent[alive], residue=residue)
        return found
