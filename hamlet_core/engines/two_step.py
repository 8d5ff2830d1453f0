"""Two steps, as mainstream engines do it: list every trend, then aggregate. The baseline, and a check on small input.

Past `TREND_LIMIT` trends in a window it raises: it never truncates and never hangs.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hamlet_core.engines.partitions import Outcome
from hamlet_core.engines.prepared import Node, PreparedQuery
from hamlet_core.errors import StreamError
from hamlet_core.language.syntax import Mode
from hamlet_core.pattern.automaton import Gap

TREND_LIMIT = 1_000_000
"""The most sequences, complete or not, that one window of one partition may hold."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A sequence of rows; `bindings` are the ways to walk it through the automaton (positions, one per row)."""

    rows: tuple[int, ...]
    bindings: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Negated:
    """The matches of a negation by their start; `earliest` is the first end of those that start no earlier."""

    starts: tuple[int, ...]
    earliest: tuple[int, ...]

    @classmethod
    def of(cls, listing: Listing) -> _Negated:
        times = listing.times
        matches = sorted((times[one.rows[0]], times[one.rows[-1]]) for one in listing.trends())
        ends = itertools.accumulate((end for _, end in reversed(matches)), min)
        return cls(tuple(start for start, _ in matches), tuple(ends)[::-1])

    def has(self, after: int | None, before: int | None) -> bool:
        """Whether a match lies strictly between two times; None is no bound."""
        first = 0 if after is None else bisect_right(self.starts, after)
        return first < len(self.starts) and (before is None or self.earliest[first] < before)


class Listing:
    """Every trend of one automaton that the mode allows, among some rows of one window of one partition."""

    def __init__(
        self,
        node: Node,
        times: Sequence[int],
        rows: Sequence[int],
        mode: Mode = Mode.ANY,
        engine: str = "two_step",
        *,
        noted: bool = False,
    ) -> None:
        self.node = node
        self.mode = mode
        self.engine = engine
        """For errors."""
        self.noted = noted
        self.reached: set[int] = set()
        """Positions at which a sequence has ended that was looked at, if they are `noted`."""
        self.times = times
        self.rows = rows
        self.negated = [
            _Negated.of(Listing(negation, times, rows, engine=engine)) for negation in node.negations
        ]
        self.seen = 0
        self.steps = 0
        """Sequences that were looked at, and events that one might go on with."""

    def trends(self) -> Iterator[Trend]:
        """Depth first, from each event that may start a trend."""
        for place, row in enumerate(self.rows):
            bindings = tuple(
                (position,)
                for position in self.node.bindable[row]
                if position in self.node.starts
                and self.clean(self.node.starts[position], None, self.times[row])
            )
            if bindings:
                yield from self.grown(place, Trend((row,), bindings))

    def grown(self, place: int, first: Trend) -> Iterator[Trend]:
        waiting = [(place, first)]
        while waiting:
            place, trend = waiting.pop()
            self.seen += 1
            self.steps += 1
            if self.seen > TREND_LIMIT:
                check_number(self.seen, self.engine)
            if self.noted:
                self.reached.update(binding[-1] for binding in trend.bindings)
            complete = tuple(
                [binding for binding in trend.bindings if self.ends(binding[-1], trend.rows[-1])]
            )
            if complete:
                yield Trend(trend.rows, complete)
            for binding in trend.bindings:
                if binding[-1] in self.node.continued:
                    waiting.extend(self.longer(place, trend))
                    break

    def longer(self, place: int, trend: Trend) -> Iterable[tuple[int, Trend]]:
        """The sequences that have one event more, as far as the mode allows (SEMANTICS 10)."""
        if self.mode is Mode.ANY:
            self.steps += len(self.rows) - place - 1
            return [
                (later, found)
                for later in range(place + 1, len(self.rows))
                if (found := self.extended(trend, self.rows[later])) is not None
            ]
        return self.taking(place, trend)

    def taking(self, place: int, trend: Trend) -> Iterator[tuple[int, Trend]]:
        """The same where an event takes the sequences that wait for it, or where the next one has to fit."""
        open_, taken = trend, set[int]()
        before: int | None = None
        for later in range(place + 1, len(self.rows)):
            self.steps += 1
            time = self.times[self.rows[later]]
            if time != before and before is not None and before > self.times[trend.rows[-1]]:
                if self.mode is Mode.CONTIGUOUS:
                    return
                open_, taken = self.without(open_, taken), set()
                if not open_.bindings:
                    return
            before = time
            found = self.extended(open_, self.rows[later])
            if found is not None:
                yield later, found
                if self.mode is Mode.NEXT:
                    taken.update(self.side(binding) for binding in found.bindings)

    def without(self, trend: Trend, taken: Collection[int]) -> Trend:
        """A sequence without its bindings on the sides that an event has prolonged."""
        if not taken:
            return trend
        return Trend(
            trend.rows, tuple(binding for binding in trend.bindings if self.side(binding) not in taken)
        )

    def side(self, binding: tuple[int, ...]) -> int:
        return self.node.automaton.positions[binding[-1]].side

    def extended(self, trend: Trend, row: int) -> Trend | None:
        last = trend.rows[-1]
        if self.times[row] <= self.times[last]:
            return None
        bindings = tuple(
            (*binding, position)
            for binding in trend.bindings
            for position in self.node.bindable[row]
            for edge in self.node.incoming[position]
            if edge.source == binding[-1]
            and self.clean(edge.gap, self.times[last], self.times[row])
            and edge.holds(last, row)
        )
        return Trend((*trend.rows, row), bindings) if bindings else None

    def ends(self, position: int, row: int) -> bool:
        gap = self.node.ends.get(position)
        return gap is not None and self.clean(gap, self.times[row], None)

    def clean(self, gap: Gap, after: int | None, before: int | None) -> bool:
        """Whether no negated match lies strictly inside (after, before); None is the window's border."""
        return not gap or not any(self.negated[index].has(after, before) for index in gap)


def check_number(sequences: int, engine: str) -> None:
    """Raise StreamError E301 for more sequences than one window may hold."""
    if sequences > TREND_LIMIT:
        raise StreamError(
            f"{engine} lists trends, and one window holds more than {TREND_LIMIT:,} sequences",
            code="E301",
            hint="use engine='greta', which counts trends without listing them",
        )


def evaluate(prepared: PreparedQuery, rows: Sequence[int], engine: str = "two_step") -> Outcome:
    """List the trends of one window of one partition and add up what each contributes."""
    listing = Listing(
        prepared.root, prepared.stream.times, rows, prepared.mode, engine, noted=prepared.reaches
    )
    found = aggregated(prepared, listing.trends())
    return replace(found, reached=prepared.aliases(listing.reached)) if prepared.reaches else found


def aggregated(prepared: PreparedQuery, trends: Iterable[Trend]) -> Outcome:
    """What all trends of a window contribute, added up."""
    times, positions = prepared.stream.times, prepared.root.automaton.positions
    elements: dict[frozenset[int], Any] = {}
    spans: list[tuple[int, int]] = []
    chains = prepared.chains
    for trend in trends:
        sides = frozenset(positions[binding[-1]].side for binding in trend.bindings)
        element = _contribution(prepared, trend)
        known = elements.get(sides)
        elements[sides] = element if known is None else prepared.algebra.plus(known, element)
        if chains:
            spans.append((times[trend.rows[-1]], times[trend.rows[0]]))
    return Outcome(elements, disjoint=_disjoint(spans))


def _disjoint(spans: list[tuple[int, int]]) -> int:
    """The most spans, each (end, start), that follow one another: greedily by earliest end."""
    count, free = 0, -math.inf
    for end, start in sorted(spans):
        if start > free:
            count, free = count + 1, end
    return count


def _contribution(prepared: PreparedQuery, trend: Trend) -> Any:
    """The element of one trend; which binding is read makes no difference to an aggregate that is allowed."""
    element = prepared.algebra.start(prepared.stream.times[trend.rows[0]])
    for row, position in zip(trend.rows, trend.bindings[0], strict=True):
        element = prepared.algebra.extend(element, row, position)
    return element
