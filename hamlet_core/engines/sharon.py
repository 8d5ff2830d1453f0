"""SHARON: parts that several sequences have in common are counted once (Poppe et al., ICDE 2018).

Queries with the same partitions and windows that return COUNT(*) alone share by a plan made before they are folded, from the
events of each type per window. Each part of a query, shared or its own, is counted as A-Seq does: a number per prefix of
the part and START event of it. At each START of a part, a query multiplies what it has counted up to there, of strictly
older events, with what that START is going to count. All other queries are folded by A-Seq, each by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from hamlet_core.algebra.aggregates import Counting
from hamlet_core.algebra.arithmetic import Arithmetic, Number
from hamlet_core.engines import aseq
from hamlet_core.engines.partitions import EvaluateTogether, Outcome
from hamlet_core.engines.prepared import PreparedQuery
from hamlet_core.engines.refusals import Refusal, in_pattern, refuse
from hamlet_core.engines.steps import rates, takers
from hamlet_core.language.syntax import Not
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.sharing.sharon.candidates import place
from hamlet_core.sharing.sharon.plan import Limits, SharonPlan, sharon_plan
from hamlet_core.template.steps import named
from hamlet_core.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a sequence: by row, the steps of the part that the event may take, from 0."""

    length: int
    steps: tuple[tuple[int, ...], ...]


class Counts:
    """What is counted of a part in one window: by START event of the part, a number per prefix (None: there is none)."""

    def __init__(self, part: Part, arithmetic: Arithmetic) -> None:
        self.part = part
        self.arithmetic = arithmetic
        self.starts: list[list[Number | None]] = []

    def opening(self, rows: Sequence[int]) -> int:
        """How many of the events are a START of the part."""
        return sum(0 in self.part.steps[row] for row in rows)

    def advance(self, rows: Sequence[int]) -> None:
        """Count all events of one time stamp: read what is older, then add."""
        gathered = [
            (counts, step, before)
            for row in rows
            for step in self.part.steps[row]
            if step
            for counts in self.starts
            if (before := counts[step - 1]) is not None
        ]
        opened = self.opening(rows)
        for counts, step, before in gathered:
            known = counts[step]
            counts[step] = before if known is None else self.arithmetic.add(known, before)
        self.starts += [[self.arithmetic.one, *[None] * (self.part.length - 1)] for _ in range(opened)]


class Chain:
    """What a query has counted in one window: its parts in order, and for each START of a part what comes before it."""

    def __init__(self, parts: Sequence[Counts], arithmetic: Arithmetic) -> None:
        self.parts = parts
        self.arithmetic = arithmetic
        self.before: list[list[Number | None]] = [[] for _ in parts]

    def open(self, at: int, opening: int) -> None:
        """Keep what comes before START events of a part, while the parts have counted older events only."""
        self.before[at] += [self.total(at - 1)] * opening

    def total(self, at: int) -> Number | None:
        """The sequences that go up to the end of a part; None if there are none."""
        found: Number | None = None
        for start, counts in enumerate(self.parts[at].starts):
            own = counts[-1]
            if own is not None and at:
                before = self.before[at][start]
                own = None if before is None else self.arithmetic.multiply(before, own)
            if own is not None:
                found = own if found is None else self.arithmetic.add(found, own)
        return found

    def outcome(self) -> Outcome:
        """What the query has found in the window."""
        count = self.total(len(self.parts) - 1)
        return Outcome({} if count is None else {frozenset({0}): (count,)})


@dataclass(frozen=True, slots=True)
class Shared:
    """How some queries are folded: a plan, the parts that it makes of them, and who has which."""

    prepared: tuple[PreparedQuery, ...]
    arithmetic: Arithmetic
    plan: SharonPlan
    parts: tuple[Part, ...]
    chains: Mapping[str, tuple[int, ...]]
    """Query that shares -> its parts in order."""
    of_row: tuple[tuple[int, ...], ...]
    """By row the parts that the event may take a step of."""

    def evaluate(self, rows: Sequence[int]) -> tuple[Outcome, ...]:
        """Count the rows (sorted by time) of one window of one partition, for every query."""
        parts = [Counts(part, self.arithmetic) for part in self.parts]
        chains = {
            name: Chain([parts[one] for one in own], self.arithmetic) for name, own in self.chains.items()
        }
        going_on: dict[int, list[tuple[Chain, int]]] = {}
        for name, own in self.chains.items():
            for at, number in enumerate(own[1:], 1):
                going_on.setdefault(number, []).append((chains[name], at))
        for _, group in groupby(rows, key=self.prepared[0].stream.times.__getitem__):
            together = tuple(group)
            taken = {number for row in together for number in self.of_row[row]}
            for number in taken:
                if opening := parts[number].opening(together):
                    for chain, at in going_on.get(number, ()):
                        chain.open(at, opening)
            for number in taken:
                parts[number].advance(together)
        return tuple(
            chains[name].outcome()
            if (name := one.analysed.query.name) in chains
            else aseq.evaluate(one, rows)
            for one in self.prepared
        )


def together(
    prepared: Sequence[PreparedQuery], spec: WindowSpec, arithmetic: Arithmetic, *, greedily: bool = False
) -> EvaluateTogether:
    """The engine over queries with the same partitions and windows; `greedily`: by the greedy plan of the paper."""
    return planned(prepared, spec, arithmetic, Limits(seconds=0.0) if greedily else Limits()).evaluate


def planned(
    prepared: Sequence[PreparedQuery], spec: WindowSpec, arithmetic: Arithmetic, limits: Limits = Limits()
) -> Shared:
    """What the queries share, by the events of this stream. Two steps are one to the plan if they have the same type and
    the same events may take them.
    """
    counting = {one.analysed.query.name: one for one in prepared if isinstance(one.algebra, Counting)}
    patterns = named({query: takers(one) for query, one in counting.items()})
    plan = sharon_plan(patterns, rates(counting, patterns, spec), limits)
    parts: list[Part] = []
    chains: dict[str, list[tuple[int, int, int]]] = {}
    for shared in plan.shared:
        for query in shared.queries:
            first = place(shared.types, patterns[query])
            end = first + len(shared.types)
            chains.setdefault(query, []).append((first, end, len(parts)))
        parts.append(_part(counting[query], first, end))
    for query, chain in chains.items():
        for first, end in _between(chain, len(patterns[query])):
            chain.append((first, end, len(parts)))
            parts.append(_part(counting[query], first, end))
    ordered = {query: tuple(part for _, _, part in sorted(chain)) for query, chain in chains.items()}
    of_row = (
        tuple(number for number, part in enumerate(parts) if part.steps[row])
        for row in range(len(prepared[0].stream.times))
    )
    return Shared(tuple(prepared), arithmetic, plan, tuple(parts), ordered, tuple(of_row))


def _between(taken: Sequence[tuple[int, int, int]], length: int) -> list[tuple[int, int]]:
    """The steps of a sequence that no shared part takes, as (first, end)."""
    firsts, ends = sorted(first for first, _, _ in taken), sorted(end for _, end, _ in taken)
    return [(end, first) for end, first in zip((0, *ends), (*firsts, length), strict=True) if end < first]


def _part(prepared: PreparedQuery, first: int, end: int) -> Part:
    """The positions of a query from `first` to before `end`."""
    steps = tuple(
        tuple(position - first for position in positions if first <= position < end)
        for positions in prepared.root.bindable
    )
    return Part(end - first, steps)


def check(analysed: AnalysedQuery, text: str) -> None:
    """Raise QueryMeaningError E302, with the place in `text`, for the first construct that SHARON has no rule for."""
    refuse("sharon", aseq.TAKES, _refused(analysed), analysed, text)


def answers(analysed: AnalysedQuery) -> bool:
    """Whether there is nothing in a query that the paper has no rule for."""
    return next(_refused(analysed), None) is None


def _refused(analysed: AnalysedQuery) -> Iterator[Refusal]:
    """As A-Seq, and without NOT."""
    yield from in_pattern(analysed.query.pattern, {Not})
    yield from aseq.refused(analysed)
