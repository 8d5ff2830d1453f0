"""A-Seq: sequences of fixed length are counted, and never listed (Qi et al., SIGMOD 2014).

Each live START event keeps an element per prefix of the pattern: an event of the j-th type adds that of the prefix j-1 to
that of prefix j, for every START. Equal times: gather, then commit. As windows come one by one, START events expire
together, with their window. A negated type resets the prefix before it (the recounting rule of the paper); before the first
and behind the last type it does what SEMANTICS 4 says, by the same rule.

What the paper has no rule for is refused: Kleene, options, OR, AND, NOT of more than one type, other matching modes,
conditions on neighbours, and COUNT(DISJOINT).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from hamlet_core.engines.partitions import Outcome
from hamlet_core.engines.prepared import PreparedQuery
from hamlet_core.engines.refusals import Refusal, in_clauses, in_pattern, refuse
from hamlet_core.language.syntax import And, Optional, Or, Plus, Star
from hamlet_core.pattern.automaton import Gap
from hamlet_core.pattern.meaning import AnalysedQuery

Element: TypeAlias = Any
TAKES = "counts sequences of single events"


class PrefixCounters:
    """The state of one window of one partition: by START event, an element per prefix (None: there is no such)."""

    def __init__(self, prepared: PreparedQuery) -> None:
        root = prepared.root
        self.root, self.algebra = root, prepared.algebra
        self.last = len(root.automaton.positions) - 1
        self.starts: list[list[Element | None]] = []
        self.leading: Gap = root.starts[0]
        self.resets: list[tuple[Gap, int]] = [
            (gap, position)
            for position, gap in ((edge.source, edge.gap) for edges in root.incoming for edge in edges)
            if gap
        ]
        if trailing := root.ends[self.last]:
            self.resets.append((trailing, self.last))
        self.closed = False
        """Whether a negated event has come that no later START may have before it."""
        self.reached: set[int] = set()

    def advance(self, time: int, rows: Sequence[int]) -> None:
        """Count all events of one time stamp: read what is older, reset it where a negated one came, then add."""
        gathered = [
            (counts, position, self.algebra.extend(before, row, position))
            for row in rows
            for position in self.root.bindable[row]
            if position
            for counts in self.starts
            if (before := counts[position - 1]) is not None
        ]
        opened = [
            self.algebra.extend(self.algebra.start(time), row, 0)
            for row in rows
            if 0 in self.root.bindable[row] and not self.closed
        ]
        self.reset({place for place, one in enumerate(self.root.negations) if any(map(one.binds, rows))})
        for counts, position, element in gathered:
            known = counts[position]
            counts[position] = element if known is None else self.algebra.plus(known, element)
            self.reached.add(position)
        for element in opened:
            self.starts.append([element, *[None] * self.last])
            self.reached.add(0)

    def reset(self, came: set[int]) -> None:
        """Forget the prefixes that these negated types forbid to go on."""
        if not came:
            return
        self.closed = self.closed or not came.isdisjoint(self.leading)
        for gap, position in self.resets:
            if not came.isdisjoint(gap):
                for counts in self.starts:
                    counts[position] = None

    def total(self) -> Element | None:
        """The element of all sequences of the window, added over its START events."""
        total: Element | None = None
        for counts in self.starts:
            own = counts[self.last]
            if own is not None:
                total = own if total is None else self.algebra.plus(total, own)
        return total


def evaluate(prepared: PreparedQuery, rows: Sequence[int]) -> Outcome:
    """Count the rows (sorted by time) of one window of one partition: O(rows * START events)."""
    counters = PrefixCounters(prepared)
    for time, together in groupby(rows, key=prepared.stream.times.__getitem__):
        counters.advance(time, tuple(together))
    total = counters.total()
    elements = {} if total is None else {frozenset({0}): total}
    return Outcome(elements, prepared.aliases(counters.reached))


def check(analysed: AnalysedQuery, text: str) -> None:
    """Raise QueryMeaningError E302, with the place in `text`, for the first construct that A-Seq has no rule for."""
    refuse("aseq", TAKES, refused(analysed), analysed, text)


def refused(analysed: AnalysedQuery) -> Iterator[Refusal]:
    """What A-Seq does not take of a query."""
    yield from in_pattern(analysed.query.pattern, {Plus, Star, Optional, Or, And})
    yield from in_clauses(analysed)
    for condition in analysed.adjacent:
        pair = f"{condition.left} -> NEXT({condition.right})"
        yield f"a condition on neighbours, {pair}", getattr(condition.expression, "span", None)
