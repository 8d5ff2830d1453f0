"""All trends of a small stream by exhaustive enumeration over the syntax tree, and their aggregates, exactly.

In: one `Query` as it is written and events as dictionaries. Out: rows as the golden cases have them. A match is
a choice of branches, iterations and events; matches of equal event sequences are one trend (SEMANTICS 2 to 7), if
the mode of the query allows them beside all that the same events could have become (SEMANTICS 10 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any, NamedTuple

from hamlet_core.language.syntax import (
    Aggregate,
    AggregateFunction,
    And,
    Atom,
    Attribute,
    Conjunction,
    Equivalence,
    Expression,
    Mode,
    Not,
    Optional,
    Or,
    Pattern,
    Plus,
    Query,
    Seq,
    Star,
    Subject,
    Timestamp,
)
from tests.oracle.expressions import Ticks, attributes, evaluate

MICROSECONDS = {"us": 1, "ms": 1_000, "s": 10**6, "min": 60 * 10**6, "h": 3_600 * 10**6, "d": 86_400 * 10**6}


class TooManyMatchesError(Exception):
    """The stream is too large for enumeration: nothing was computed."""


class AmbiguousBindingError(Exception):
    """One trend binds an aggregated alias in two ways: the query has no single answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One group and window; `values` by aggregate label, `magnitudes` the sums of absolute terms behind them."""

    group: Mapping[str, Any]
    window_start: int
    values: Mapping[str, int | Fraction | None]
    magnitudes: Mapping[str, int | Fraction | None]

    def as_case(self) -> dict[str, Any]:
        """The row in the form of the golden cases."""
        return {"group": dict(self.group), "window_start": self.window_start, **self.values}


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `number` tells identical events apart, `time` in the unit of the stream."""

    number: int
    time: int
    type: str
    attributes: Mapping[str, Any]

    def read(self, name: str) -> Any:
        """An attribute; `time` and `type` are those of the event unless an attribute has that name."""
        if name in ("time", "type"):
            return self.attributes.get(name, self.time if name == "time" else self.type)
        return self.attributes.get(name)


Clock = Callable[[int], Timestamp | Ticks]
Binding = tuple[tuple[Event, str], ...]
Numbers = tuple[int, ...]
"""The events of a sequence, without what binds them."""


@dataclass(slots=True)
class Budget:
    """Counts search steps and stops a search that would not end."""

    left: int

    def spend(self) -> None:
        """Pay for one step."""
        self.left -= 1
        if self.left < 0:
            raise TooManyMatchesError


@dataclass(frozen=True, slots=True)
class Predicates:
    """WHERE by kind: local ones by alias, adjacent ones by pair of aliases."""

    equivalence: tuple[str, ...] = ()
    local: Mapping[str, list[Expression]] = field(default_factory=dict)
    adjacent: Mapping[tuple[str, str], list[Expression]] = field(default_factory=dict)


def oracle_rows(
    query: Query,
    events: Iterable[Mapping[str, Any]],
    *,
    time: str = "t",
    type: str = "type",  # noqa: A002  named as the schema names it
    unit: str = "s",
    origin: int = 0,
    integer_time: bool = True,
    limit: int = 2_000_000,
) -> list[Row]:
    """The rows of `query`, ordered by window; raises `TooManyMatchesError` after `limit` search steps.

    Times are integers in `unit`; without `integer_time` predicates see them as points in time, not as numbers, and
    DURATION is in seconds.
    """
    stream = [
        Event(number, row[time], row[type], {k: v for k, v in row.items() if k not in (time, type)})
        for number, row in enumerate(events)
    ]
    names = _alias_names(query.pattern)
    predicates = _predicates(query, names)
    groups = tuple(dict.fromkeys(item.name for item in query.group_by))
    within, slide = (duration.microseconds // MICROSECONDS[unit] for duration in (query.within, query.slide))
    budget = Budget(limit)
    clock = partial(Ticks if integer_time else _moment, unit=MICROSECONDS[unit])
    tick = 1 if integer_time else Fraction(MICROSECONDS[unit], MICROSECONDS["s"])
    totals: dict[tuple[int, tuple[Any, ...]], _Totals] = {}
    for key, members in _partitions(stream, predicates.equivalence, groups):
        for start in _window_starts(members, within, slide, origin):
            inside = tuple(event for event in members if start <= event.time < start + within)
            window = _Window(inside, predicates, query.mode, clock, budget)
            found = totals.setdefault((start, key[1]), _Totals(query.aggregates, names, tick))
            found.add(query.pattern, window)
    rows = [
        Row(dict(zip(groups, (value for _, value in group), strict=True)), start, *total.answer())
        for (start, group), total in totals.items()
        if total.count or any(total.reached.values())
    ]
    return sorted(rows, key=lambda row: (row.window_start, repr(sorted(row.group.items()))))


def _moment(count: int, unit: int) -> Timestamp:
    return Timestamp(count * unit)


# --- query ---------------------------------------------------------------------------------------


def atoms(pattern: Pattern) -> Iterator[Atom]:
    """Every atom of a pattern, negated ones too, from left to right."""
    match pattern:
        case Atom():
            yield pattern
        case Plus(body=body) | Star(body=body) | Optional(body=body) | Not(body=body):
            yield from atoms(body)
        case Seq(parts=parts) | Or(branches=parts):
            for part in parts:
                yield from atoms(part)
        case And(left=left, right=right):
            yield from atoms(left)
            yield from atoms(right)


def _alias_names(pattern: Pattern) -> Mapping[str, str]:
    """What may stand for an alias: itself, and the name of a type that has one alias only."""
    aliases: dict[str, set[str]] = {}
    for atom in atoms(pattern):
        aliases.setdefault(atom.type, set()).add(atom.alias)
    names = {kind: next(iter(found)) for kind, found in aliases.items() if len(found) == 1}
    return names | {atom.alias: atom.alias for atom in atoms(pattern)}


def _conjuncts(parts: Iterable[Any]) -> Iterator[Any]:
    """The top-level AND split, whatever parentheses stand around it."""
    for part in parts:
        if isinstance(part, Conjunction):
            yield from _conjuncts(part.parts)
        else:
            yield part


def _predicates(query: Query, names: Mapping[str, str]) -> Predicates:
    equivalence: list[str] = []
    local: dict[str, list[Expression]] = {}
    adjacent: dict[tuple[str, str], list[Expression]] = {}
    for conjunct in _conjuncts(query.where):
        if isinstance(conjunct, Equivalence):
            equivalence += conjunct.attributes
            continue
        read = attributes(conjunct)
        here = {names[item.alias] for item in read if not item.next}
        following = {names[item.alias] for item in read if item.next}
        if len(here) != 1 or len(following) > 1:
            raise ValueError(f"a conjunct of no kind: {conjunct}")
        if following:
            adjacent.setdefault((here.pop(), following.pop()), []).append(conjunct)
        else:
            local.setdefault(here.pop(), []).append(conjunct)
    return Predicates(tuple(dict.fromkeys(equivalence)), local, adjacent)


# --- partitions and windows ----------------------------------------------------------------------


def _partitions(
    stream: list[Event], equivalence: tuple[str, ...], groups: tuple[str, ...]
) -> list[tuple[tuple[Any, ...], list[Event]]]:
    parts: dict[tuple[Any, ...], list[Event]] = {}
    for event in sorted(stream, key=lambda event: (event.time, event.number)):
        shared = tuple(event.read(name) for name in equivalence)
        if None in shared:
            continue
        group = tuple((name, event.read(name)) for name in groups)
        parts.setdefault((shared, group), []).append(event)
    return list(parts.items())


def _window_starts(members: list[Event], within: int, slide: int, origin: int) -> list[int]:
    starts = set()
    for event in members:
        last = (event.time - origin) // slide
        first = (event.time - origin - within) // slide + 1
        starts.update(origin + number * slide for number in range(first, last + 1))
    return sorted(starts)


# --- matching ------------------------------------------------------------------------------------


class _Partial(NamedTuple):
    """A match under construction, between two times that none of its events may reach."""

    binding: Binding = ()
    waiting: tuple[Not, ...] = ()
    after: float = -inf
    before: float = inf


class _Window:
    """The events of one partition and window, and the search for matches among them."""

    def __init__(
        self, events: tuple[Event, ...], predicates: Predicates, mode: Mode, clock: Clock, budget: Budget
    ) -> None:
        self.events = events
        self.predicates = predicates
        self.times = {event.number: event.time for event in events}
        self.mode = mode
        self.clock = clock
        self.budget = budget
        self._fits: dict[tuple[int, str], bool] = {}
        self._steps: dict[tuple[int, str, int, str], bool] = {}
        self._absent: dict[tuple[int, float, float], bool] = {}
        self._viable: dict[int, dict[Numbers, set[str]]] = {}
        self._allowed: dict[tuple[int, Numbers], bool] = {}

    def trends(self, pattern: Pattern) -> dict[Numbers, list[Binding]]:
        """Every trend that the mode allows, with all bindings that satisfy the predicates."""
        found: dict[Numbers, list[Binding]] = {}
        for match in self._matches(pattern, _Partial()):
            binding = match.binding
            if all(self._is_absent(gap, binding[-1][0].time, inf) for gap in match.waiting):
                found.setdefault(_numbers(binding), []).append(binding)
        return {numbers: bindings for numbers, bindings in found.items() if self._allows(pattern, numbers)}

    def reached(self, pattern: Pattern) -> set[str]:
        """The aliases with which viable prefixes that the mode allows end, in whichever binding."""
        return {
            alias
            for numbers, aliases in self._viable_prefixes(pattern).items()
            if self._allows(pattern, numbers)
            for alias in aliases
        }

    def _viable_prefixes(self, pattern: Pattern) -> dict[Numbers, set[str]]:
        """Every viable prefix, with the aliases that its last event can have."""
        if id(pattern) not in self._viable:
            found: dict[Numbers, set[str]] = {}
            for begun in self._prefixes(pattern, _Partial()):
                found.setdefault(_numbers(begun.binding), set()).add(begun.binding[-1][1])
            self._viable[id(pattern)] = found
        return self._viable[id(pattern)]

    def _allows(self, pattern: Pattern, numbers: Numbers) -> bool:
        """Whether the mode allows each step of a sequence among the viable prefixes of `pattern`."""
        if len(numbers) == 1 or self.mode is Mode.ANY:
            return True
        key = (id(pattern), numbers)
        if key not in self._allowed:
            so_far, following = numbers[:-1], numbers[-1]
            skipped = self._between(so_far[-1], following)
            if self.mode is Mode.NEXT:
                viable = self._viable_prefixes(pattern)
                skipped = [number for number in skipped if (*so_far, number) in viable]
            self._allowed[key] = not skipped and self._allows(pattern, so_far)
        return self._allowed[key]

    def _between(self, earlier: int, later: int) -> list[int]:
        """The events of the partition, of whatever type, strictly between the times of two."""
        after, before = self.times[earlier], self.times[later]
        return [number for number, time in self.times.items() if after < time < before]

    def _prefixes(self, pattern: Pattern, so_far: _Partial) -> Iterator[_Partial]:
        """Extend a match by each part of one of `pattern` that ends with an event; a NOT after it is not judged."""
        self.budget.spend()
        match pattern:
            case Atom():
                yield from self._events_of(pattern, so_far)
            case Not():
                return
            case Seq(parts=parts):
                for place, part in enumerate(parts):
                    for longer in self._sequence(parts[:place], so_far):
                        yield from self._prefixes(part, longer)
            case Or(branches=branches):
                for branch in branches:
                    yield from self._prefixes(branch, so_far)
            case Plus(body=body) | Star(body=body):
                yield from self._prefixes(body, so_far)
                for longer in self._iterations(body, so_far):
                    yield from self._prefixes(body, longer)
            case Optional(body=body):
                yield from self._prefixes(body, so_far)
            case _:
                raise TypeError(pattern)

    def _matches(self, pattern: Pattern, so_far: _Partial) -> Iterator[_Partial]:
        """Extend a match by one of `pattern`; a NOT waits until the event after it is known."""
        self.budget.spend()
        match pattern:
            case Atom():
                yield from self._events_of(pattern, so_far)
            case Not():
                yield so_far._replace(waiting=(*so_far.waiting, pattern))
            case Seq(parts=parts):
                yield from self._sequence(parts, so_far)
            case Or(branches=branches):
                for branch in branches:
                    yield from self._matches(branch, so_far)
            case Plus(body=body):
                yield from self._iterations(body, so_far)
            case Star(body=body):
                yield so_far
                yield from self._iterations(body, so_far)
            case Optional(body=body):
                yield so_far
                yield from self._matches(body, so_far)
            case _:
                raise TypeError(pattern)

    def _sequence(self, parts: tuple[Pattern, ...], so_far: _Partial) -> Iterator[_Partial]:
        if not parts:
            yield so_far
            return
        for longer in self._matches(parts[0], so_far):
            yield from self._sequence(parts[1:], longer)

    def _iterations(self, body: Pattern, so_far: _Partial) -> Iterator[_Partial]:
        for longer in self._matches(body, so_far):
            yield longer
            if len(longer.binding) > len(so_far.binding):
                yield from self._iterations(body, longer)

    def _events_of(self, atom: Atom, so_far: _Partial) -> Iterator[_Partial]:
        earlier = so_far.binding[-1][0].time if so_far.binding else so_far.after
        for event in self.events:
            if event.type != atom.type or not earlier < event.time < so_far.before:
                continue
            if not self._fit(event, atom.alias) or not self._step(so_far.binding, event, atom.alias):
                continue
            if all(self._is_absent(gap, earlier, event.time) for gap in so_far.waiting):
                yield so_far._replace(binding=(*so_far.binding, (event, atom.alias)), waiting=())

    def _is_absent(self, gap: Not, after: float, before: float) -> bool:
        """No match of the negated pattern has all its events strictly between the two times."""
        key = (id(gap), after, before)
        if key not in self._absent:
            matches = self._matches(gap.body, _Partial(after=after, before=before))
            self._absent[key] = next(matches, None) is None
        return self._absent[key]

    def _fit(self, event: Event, alias: str) -> bool:
        key = (event.number, alias)
        if key not in self._fits:
            conditions = self.predicates.local.get(alias, [])
            self._fits[key] = all(
                evaluate(condition, lambda item: self._value(event, item)) is True for condition in conditions
            )
        return self._fits[key]

    def _step(self, binding: Binding, event: Event, alias: str) -> bool:
        if not binding:
            return True
        before, left = binding[-1]
        key = (before.number, left, event.number, alias)
        if key not in self._steps:
            conditions = self.predicates.adjacent.get((left, alias), [])
            self._steps[key] = all(
                evaluate(condition, lambda item: self._value(event if item.next else before, item)) is True
                for condition in conditions
            )
        return self._steps[key]

    def _value(self, event: Event, item: Attribute) -> Any:
        if item.name == "time" and "time" not in event.attributes:
            return self.clock(event.time)
        return event.read(item.name)


def _numbers(binding: Binding) -> Numbers:
    return tuple(event.number for event, _ in binding)


# --- aggregates ----------------------------------------------------------------------------------


class _Totals:
    """What one group and window adds up to, over its partitions."""

    def __init__(
        self, aggregates: tuple[Aggregate, ...], names: Mapping[str, str], tick: int | Fraction
    ) -> None:
        self.aggregates = aggregates
        self.names = names
        self.tick = tick
        self.count = 0
        self.partitions = 0
        self.disjoint = 0
        self.durations: list[int | Fraction] = []
        self.bound: dict[str, list[Event]] = {}
        self.reached: dict[str, int] = {}
        for item in aggregates:
            if item.alias is not None and item.function is AggregateFunction.REACH:
                self.reached[item.alias] = 0
            elif item.alias is not None:
                self.bound[item.alias] = []

    def add(self, pattern: Pattern, window: _Window) -> None:
        """Count the trends (or pairs of trends) of one partition."""
        if isinstance(pattern, And):
            left, right = (set(window.trends(side)) for side in (pattern.left, pattern.right))
            both = len(left & right)
            only_left, only_right = len(left) - both, len(right) - both
            self.count += only_left * only_right + both * (only_left + only_right) + both * (both - 1) // 2
            return
        trends = window.trends(pattern)
        self.count += len(trends)
        self.partitions += bool(trends)
        spans = [(bindings[0][0][0].time, bindings[0][-1][0].time) for bindings in trends.values()]
        self.disjoint += _longest_chain(spans)
        self.durations += [(last - first) * self.tick for first, last in spans]
        reached = window.reached(pattern) if self.reached else set()
        for name in self.reached:
            self.reached[name] += self.names[name] in reached
        for name, events in self.bound.items():
            for bindings in trends.values():
                events.extend(_bound(bindings, self.names[name]))

    def answer(self) -> tuple[dict[str, int | Fraction | None], dict[str, int | Fraction | None]]:
        """Values and magnitudes by label."""
        values = {item.label: self._value(item, absolute=False) for item in self.aggregates}
        return values, {item.label: self._value(item, absolute=True) for item in self.aggregates}

    def _value(self, item: Aggregate, *, absolute: bool) -> int | Fraction | None:
        match item.subject:
            case Subject.PARTITIONS:
                return self.partitions
            case Subject.DISJOINT:
                return self.disjoint
            case Subject.DURATION:
                return self._folded(item, self.durations)
        if item.alias is None:
            return self.count
        if item.function is AggregateFunction.REACH:
            return self.reached[item.alias]
        events = self.bound[item.alias]
        if item.attribute is None:
            return len(events)
        read = [event.read(item.attribute) for event in events]
        numbers = [_exact(value) for value in read if value is not None]
        if absolute and item.function not in (AggregateFunction.MIN, AggregateFunction.MAX):
            numbers = [abs(number) for number in numbers]
        return self._folded(item, numbers)

    @staticmethod
    def _folded(item: Aggregate, numbers: list[int | Fraction]) -> int | Fraction | None:
        match item.function:
            case AggregateFunction.SUM:
                return sum(numbers)
            case AggregateFunction.AVG:
                return Fraction(sum(numbers), len(numbers)) if numbers else None
            case AggregateFunction.MIN:
                return min(numbers, default=None)
            case AggregateFunction.MAX:
                return max(numbers, default=None)
        raise TypeError(item)


def _bound(bindings: list[Binding], alias: str) -> list[Event]:
    """The events bound to `alias` in a trend; every binding must say the same."""
    choices = [[event for event, name in binding if name == alias] for binding in bindings]
    if any(choice != choices[0] for choice in choices):
        raise AmbiguousBindingError(alias)
    return choices[0]


def _longest_chain(spans: Iterable[tuple[int, int]]) -> int:
    """The most of these (first, last) times of which each begins strictly after the one before has ended."""
    longest: dict[tuple[int, int], int] = {}
    for first, last in sorted(set(spans)):
        ended = [length for (_, end), length in longest.items() if end < first]
        longest[first, last] = 1 + max(ended, default=0)
    return max(longest.values(), default=0)


def _exact(value: float | Decimal) -> int | Fraction:
    return value if isinstance(value, int) else Fraction(value)
