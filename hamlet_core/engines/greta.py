"""GRETA: aggregates over the event graph without listing trends (Poppe et al., VLDB 2017, section 4).

An event at a position takes the total of all older events that may precede it. Where no condition stands on an edge
that total is kept running: O(1). Where one does, the older events are scanned: O(n). Equal times: gather, then commit.
A negated pattern is a fold of its own, whose only result is how late its matches start: a gap is a bound on time.
Under skip-till-next-match and contiguous (SEMANTICS 10) prefixes wait one by one until something prolongs them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from hamlet_core.algebra.aggregates import Algebra, Lasting, LatestStart
from hamlet_core.engines.partitions import Outcome
from hamlet_core.engines.prepared import Incoming, Node, Pair, PreparedQuery, needs_scan
from hamlet_core.language.syntax import Mode
from hamlet_core.pattern.automaton import Gap

Element: TypeAlias = Any
Elements: TypeAlias = dict[frozenset[int], Element]
"""By the sides of AND that a trend matches."""

NEGATED = LatestStart()


class Waiting:
    """A running total whose oldest part can be dropped: a queue of two stacks, O(1) amortised, no subtraction."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.front: list[tuple[int, Element]] = []
        self.back: deque[tuple[int, Element]] = deque()
        self.back_total: Element = None

    def push(self, time: int, element: Element) -> None:
        """Add what happened at `time`; times never decrease."""
        self.back.append((time, element))
        self.back_total = element if self.back_total is None else self.algebra.plus(self.back_total, element)

    def total(self, since: int | None) -> Element:
        """The total of everything at `since` or later (None: everything), or None; older parts are forgotten."""
        if since is not None:
            self._drop(since)
        if not self.front:
            return self.back_total
        total = self.front[-1][1]
        return total if self.back_total is None else self.algebra.plus(total, self.back_total)

    def _drop(self, since: int) -> None:
        while self.front and self.front[-1][0] < since:
            self.front.pop()
        if self.front or not self.back or self.back[0][0] >= since:
            return
        while self.back and self.back[0][0] < since:
            self.back.popleft()
        total: Element = None
        for time, element in reversed(self.back):
            total = element if total is None else self.algebra.plus(element, total)
            self.front.append((time, total))
        self.back.clear()
        self.back_total = None


class Fold(ABC):
    """The state of one automaton in one window: what paths and sets have in common."""

    def __init__(self, node: Node, algebra: Algebra) -> None:
        self.node = node
        self.algebra = algebra
        self.negations = [PathFold(negation, NEGATED) for negation in node.negations]
        self.lasting = algebra if isinstance(algebra, Lasting) else None
        self.ended: list[tuple[int, tuple[int, ...], int]] = []
        """Where trends are asked how long they last, of what may be one: when it ends, its last positions, the latest start."""

    def advance(self, time: int, rows: Sequence[int]) -> None:
        """Fold all events of one time stamp: read the state before it, then commit (SEMANTICS 1 and 4)."""
        self.step(time, rows)
        for negation in self.negations:
            negation.advance(time, rows)

    @abstractmethod
    def step(self, time: int, rows: Sequence[int]) -> None:
        """Fold the positive events of one time stamp."""

    @abstractmethod
    def elements(self) -> Elements:
        """Close the window: the element of all trends, by the sides they match."""

    @abstractmethod
    def reached(self) -> Collection[int]:
        """Positions at which a prefix has ended."""

    def disjoint(self) -> int:
        """The most trends that follow one another: always the one that ends first (SEMANTICS 11)."""
        count, free = 0, None
        for time, positions, start in sorted(self.ended):
            if (free is None or start > free) and any(self.may_end(position, time) for position in positions):
                count, free = count + 1, time
        return count

    def since(self, gap: Gap) -> int | None:
        """Events at this time or later see a clean gap until now; None: all do."""
        if not gap:
            return None
        return max(
            (start for index in gap if (start := self.negations[index].latest()) is not None), default=None
        )

    def may_start(self, position: int) -> bool:
        gap = self.node.starts.get(position)
        return gap is not None and self.since(gap) is None

    def may_end(self, position: int, time: int) -> bool:
        """Whether a trend whose last event is at `time` is complete, now that the window closes."""
        gap = self.node.ends.get(position)
        if gap is None:
            return False
        since = self.since(gap)
        return since is None or time >= since

    def plus(self, left: Element, right: Element) -> Element:
        if left is None:
            return right
        return left if right is None else self.algebra.plus(left, right)


class PathFold(Fold):
    """One element per position: right where a path is a trend, or where counting twice does no harm (max)."""

    def __init__(self, node: Node, algebra: Algebra) -> None:
        super().__init__(node, algebra)
        self.history: list[list[tuple[int, int, Element]] | None] = [
            [] if scanned else None for scanned in node.conditional
        ]
        self.running: list[Element] = [None] * len(node.conditional)
        self.waiting = {key: Waiting(algebra) for key in node.gaps}
        self.queues: list[list[Waiting]] = [[] for _ in node.conditional]
        for (position, _), queue in self.waiting.items():
            self.queues[position].append(queue)

    def step(self, time: int, rows: Sequence[int]) -> None:
        bindable = self.node.bindable
        gathered = [
            (position, row, self.algebra.extend(element, row, position))
            for row in rows
            for position in bindable[row]
            if (element := self.arriving(position, row, time)) is not None
        ]
        for position, row, element in gathered:
            self.commit(position, row, time, element)

    def arriving(self, position: int, row: int, time: int) -> Element:
        total = self.algebra.start(time) if self.may_start(position) else None
        for edge in self.node.incoming[position]:
            total = self.plus(total, self.over(edge, row))
        return total

    def over(self, edge: Incoming, row: int) -> Element:
        if edge.condition:
            return self.scan(edge.condition, edge, row)
        if not edge.gap:
            return self.running[edge.source]
        return self.waiting[edge.source, edge.gap].total(self.since(edge.gap))

    def scan(self, condition: Pair, edge: Incoming, row: int) -> Element:
        since = self.since(edge.gap)
        total: Element = None
        for time, earlier, element in self.history[edge.source] or ():
            if (since is None or time >= since) and condition(earlier, row):
                total = element if total is None else self.algebra.plus(total, element)
        return total

    def commit(self, position: int, row: int, time: int, element: Element) -> None:
        if self.lasting is not None:
            self.ended.append((time, (position,), self.lasting.latest(element)))
        self.running[position] = self.plus(self.running[position], element)
        for queue in self.queues[position]:
            queue.push(time, element)
        history = self.history[position]
        if history is not None:
            history.append((time, row, element))

    def finished(self, position: int, gap: Gap) -> Element:
        if not gap:
            return self.running[position]
        return self.waiting[position, gap].total(self.since(gap))

    def latest(self) -> int | None:
        """As a negated pattern: the latest start of its matches that ended before now (it has no edge gaps)."""
        return max(
            (start for end in self.node.ends if (start := self.running[end]) is not None), default=None
        )

    def reached(self) -> Collection[int]:
        return [position for position, element in enumerate(self.running) if element is not None]

    def elements(self) -> Elements:
        found: Elements = {}
        for position, gap in self.node.ends.items():
            element = self.finished(position, gap)
            if element is not None:
                side = frozenset({self.node.automaton.positions[position].side})
                found[side] = self.plus(found.get(side), element)
        return found


@dataclass(slots=True)
class Standing:
    """Sequences that end in one event (or, running, in any) and may stand in exactly these positions.

    `elements` has one element per position: counts are equal, but what an alias gathered depends on the path.
    """

    time: int
    row: int
    members: tuple[int, ...]
    elements: list[Element]


class SetFold(Fold):
    """The determinised automaton: a sequence of events is counted once, in the set of positions it may stand in."""

    def __init__(self, node: Node, algebra: Algebra) -> None:
        super().__init__(node, algebra)
        self.running: dict[tuple[int, ...], Standing] = {}
        self.history: list[Standing] = []
        self.stood: set[int] = set()
        self.scanning = needs_scan(node)
        self.keeps = self.scanning or any(node.ends.values())

    def step(self, time: int, rows: Sequence[int]) -> None:
        gathered = [
            standing for row in rows if self.node.bindable[row] for standing in self.arrivals(time, row)
        ]
        for standing in gathered:
            self.commit(standing)

    def commit(self, standing: Standing) -> None:
        self.stood.update(standing.members)
        if self.lasting is not None:
            self.ended.append((standing.time, standing.members, self.lasting.latest(standing.elements[0])))
        if self.keeps:
            self.history.append(standing)
        if not self.scanning:
            self.add(self.running, standing)

    def older(self) -> Iterable[Standing]:
        """What an event may prolong."""
        return self.history if self.scanning else self.running.values()

    def arrivals(self, time: int, row: int) -> Iterable[Standing]:
        bindable = self.node.bindable[row]
        arrived: dict[tuple[int, ...], Standing] = {}
        start = self.algebra.start(time)
        first = tuple(position for position in bindable if self.may_start(position))
        if first:
            elements = [self.algebra.extend(start, row, position) for position in first]
            self.add(arrived, Standing(time, row, first, elements))
        for before in self.older():
            ways = [
                (position, way)
                for position in bindable
                if (way := self.way(before, position, row)) is not None
            ]
            if ways:
                elements = [
                    self.algebra.extend(before.elements[way], row, position) for position, way in ways
                ]
                self.add(arrived, Standing(time, row, tuple(position for position, _ in ways), elements))
        return arrived.values()

    def way(self, before: Standing, position: int, row: int) -> int | None:
        """The place in `before.members` of one position from which the event may follow at `position`."""
        for edge in self.node.incoming[position]:
            if edge.source in before.members:
                since = self.since(edge.gap)
                if (since is None or before.time >= since) and edge.holds(before.row, row):
                    return before.members.index(edge.source)
        return None

    def add(self, standings: dict[tuple[int, ...], Standing], new: Standing) -> None:
        known = standings.get(new.members)
        if known is None:
            standings[new.members] = Standing(new.time, new.row, new.members, list(new.elements))
        else:
            known.elements = [
                self.algebra.plus(x, y) for x, y in zip(known.elements, new.elements, strict=True)
            ]

    def reached(self) -> Collection[int]:
        return self.stood

    def elements(self) -> Elements:
        found: Elements = {}
        for standing in self.history if self.keeps else self.running.values():
            complete = [p for p in standing.members if self.may_end(p, standing.time)]
            if complete:
                sides = frozenset(self.node.automaton.positions[p].side for p in complete)
                element = standing.elements[standing.members.index(complete[0])]
                found[sides] = self.plus(found.get(sides), element)
        return found


class WaitingFold(SetFold):
    """Sequences that wait for the event that prolongs them: it takes them, under next; under contiguous they wait for
    the next time stamp only. Each side of AND waits by itself, for it is a pattern of its own.
    """

    def __init__(self, node: Node, algebra: Algebra, mode: Mode) -> None:
        super().__init__(node, algebra)
        self.scanning, self.keeps = False, any(node.ends.values())
        self.mode = mode
        self.waits: list[Standing] = []

    def step(self, time: int, rows: Sequence[int]) -> None:
        arrived = [
            standing for row in rows if self.node.bindable[row] for standing in self.arrivals(time, row)
        ]
        if self.mode is Mode.CONTIGUOUS:
            self.waits = arrived
        else:
            self.waits = [left for one in self.waits if (left := self.left(one, rows))] + arrived
        for standing in arrived:
            self.commit(standing)

    def older(self) -> Iterable[Standing]:
        return self.waits

    def left(self, standing: Standing, rows: Sequence[int]) -> Standing | None:
        """What still waits behind this time stamp, one of whose events may have prolonged it."""
        side = [position.side for position in self.node.automaton.positions]
        taken = {
            side[position]
            for row in rows
            for position in self.node.bindable[row]
            if self.way(standing, position, row) is not None
        }
        kept = [place for place, member in enumerate(standing.members) if side[member] not in taken]
        if len(kept) == len(standing.members):
            return standing
        members = tuple(standing.members[place] for place in kept)
        elements = [standing.elements[place] for place in kept]
        return Standing(standing.time, standing.row, members, elements) if kept else None


def evaluate(prepared: PreparedQuery, rows: Sequence[int]) -> Outcome:
    """Fold the rows (sorted by time) of one window of one partition."""
    fold: Fold
    if prepared.mode is not Mode.ANY:
        fold = WaitingFold(prepared.root, prepared.algebra, prepared.mode)
    elif prepared.analysed.ambiguous:
        fold = SetFold(prepared.root, prepared.algebra)
    else:
        fold = PathFold(prepared.root, prepared.algebra)
    times = prepared.stream.times
    for time, together in groupby(rows, key=times.__getitem__):
        fold.advance(time, tuple(together))
    disjoint = fold.disjoint() if fold.ended and prepared.chains else 0
    return Outcome(fold.elements(), prepared.aliases(fold.reached()), disjoint)
