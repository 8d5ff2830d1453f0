"""Two steps, as mainstream engines do it: list every trend, then aggregate. The baseline, and a check on small input.

Past `TREND_LIMIT` trends in a window it raises: it never truncates and never hangs.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hamlet_core.engines.partitions import Outcome
from hamlet_core.engines.prepared import Node, PreparedQuery
from hamlet_core.errors import StreamError
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
    """Every trend of one automaton among some rows of one window of one partition."""

    def __init__(self, node: Node, times: Sequence[int], rows: Sequence[int]) -> None:
        self.node = node
        self.times = times
        self.rows = rows
        self.continued = frozenset(edge.source for edges in node.incoming for edge in edges)
        self.negated = [_Negated.of(Listing(negation, times, rows)) for negation in node.negations]
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
            self.count()
            complete = tuple(binding for binding in trend.bindings if self.ends(binding[-1], trend.rows[-1]))
            if complete:
                yield Trend(trend.rows, complete)
            if not any(binding[-1] in self.continued for binding in trend.bindings):
                continue
            self.steps += len(self.rows) - place
            for later in range(place + 1, len(self.rows)):
                longer = self.extended(trend, self.rows[later])
                if longer is not None:
                    waiting.append((later, longer))

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
        return not any(self.negated[index].has(after, before) for index in gap)

    def count(self) -> None:
        self.seen += 1
        self.steps += 1
        if self.seen > TREND_LIMIT:
            raise StreamError(
                f"two_step lists trends, and one window holds more than {TREND_LIMIT:,} sequences",
                code="E301",
                hint="use engine='greta', which counts trends without listing them",
            )


def evaluate(prepared: PreparedQuery, rows: Sequence[int]) -> Outcome:
    """List the trends of one window of one partition and add up what each contributes."""
    listing = Listing(prepared.root, prepared.stream.times, rows)
    outcome: Outcome = {}
    for trend in listing.trends():
        positions = prepared.root.automaton.positions
        sides = frozenset(positions[binding[-1]].side for binding in trend.bindings)
        element = _contribution(prepared, trend)
        known = outcome.get(sides)
        outcome[sides] = element if known is None else prepared.algebra.plus(known, element)
    return outcome


def _contribution(prepared: PreparedQuery, trend: Trend) -> Any:
    """The element of one trend; which binding is read makes no difference to an aggregate that is allowed."""
    element = prepared.algebra.start(prepared.stream.times[trend.rows[0]])
    for row, position in zip(trend.rows, trend.bindings[0], strict=True):
        element = prepared.algebra.extend(element, row, position)
    return element
