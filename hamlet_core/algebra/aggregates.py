"""Aggregates as running totals: what an element holds, how two add up, and what binding an event does.

COUNT is a number; COUNT(E), SUM and AVG ride on it as the derivative part of dual numbers; MIN and MAX are a lattice
whose None means "a trend without such an event" (no trend at all is the absence of an element). DESIGN: semirings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Protocol, TypeAlias

from hamlet_core.algebra.arithmetic import COUNTS, NOTHING, Arithmetic, Measure, Number, Unit, Value, extreme
from hamlet_core.errors import InvariantError
from hamlet_core.language.syntax import Aggregate, AggregateFunction
from hamlet_core.pattern.automaton import Position
from hamlet_core.table.encode import Column

Element: TypeAlias = tuple[Any, ...]
"""(number of trends, one entry per component)."""


class Role(Enum):
    """What a component of an element adds up over the events bound to its alias."""

    OCCURRENCES = "occurrences"
    """1 for every event."""
    PRESENT = "present"
    """1 for every event whose attribute is not NULL."""
    TOTAL = "total"
    """The attribute."""
    MAGNITUDE = "magnitude"
    """The absolute value of the attribute."""
    MINIMUM = "minimum"
    """The least attribute."""
    MAXIMUM = "maximum"
    """The largest attribute."""


LATTICE = frozenset({Role.MINIMUM, Role.MAXIMUM})


@dataclass(frozen=True, slots=True)
class Component:
    """One entry of an element."""

    role: Role
    alias: str
    attribute: str | None = None


_ROLES = {
    AggregateFunction.SUM: (Role.TOTAL,),
    AggregateFunction.AVG: (Role.TOTAL, Role.PRESENT),
    AggregateFunction.MIN: (Role.MINIMUM,),
    AggregateFunction.MAX: (Role.MAXIMUM,),
}


def components(
    aggregates: Sequence[Aggregate], operands: Sequence[str | None], arithmetic: Arithmetic
) -> tuple[Component, ...]:
    """The components that a list of aggregates needs, each once."""
    needed: dict[Component, None] = {}
    for aggregate, alias in zip(aggregates, operands, strict=True):
        if alias is None:
            continue
        if aggregate.attribute is None:
            needed[Component(Role.OCCURRENCES, alias)] = None
            continue
        roles = _ROLES[aggregate.function]
        if arithmetic.needs_magnitude and Role.TOTAL in roles:
            roles = (*roles, Role.MAGNITUDE)
        needed.update({Component(role, alias, aggregate.attribute): None for role in roles})
    return tuple(needed)


class Algebra(Protocol):
    """What a fold needs of its elements: a commutative monoid, and the action of events on it."""

    def start(self, time: int) -> Any:
        """The element of the empty prefix, before an event at `time`."""

    def plus(self, left: Any, right: Any) -> Any:
        """The element of both sets of trends together."""

    def extend(self, element: Any, row: int, position: int) -> Any:
        """The element after each of its trends took the event `row` at `position`."""


class LatestStart:
    """The latest time at which a match of a negated pattern starts: all that a gap needs to know of it."""

    def start(self, time: int) -> int:
        return time

    def plus(self, left: int, right: int) -> int:
        return max(left, right)

    def extend(self, element: int, row: int, position: int) -> int:
        return element


class Counting:
    """COUNT(*) alone: elements are (number,)."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.one: Element = (arithmetic.one,)
        self.add = arithmetic.add

    def start(self, time: int) -> Element:
        return self.one

    def plus(self, left: Element, right: Element) -> Element:
        return (self.add(left[0], right[0]),)

    def extend(self, element: Element, row: int, position: int) -> Element:
        return element


class Aggregating:
    """COUNT(*) and components; `columns` hold the attributes by row."""

    def __init__(
        self,
        arithmetic: Arithmetic,
        parts: Sequence[Component],
        positions: Sequence[Position],
        columns: Mapping[str, Column],
    ) -> None:
        self.arithmetic = arithmetic
        neutral = tuple(None if part.role in LATTICE else arithmetic.zero for part in parts)
        self.one: Element = (arithmetic.one, *neutral)
        self.join = tuple(_joiner(part.role, arithmetic) for part in parts)
        self.effects = tuple(
            tuple(
                (place, part.role, columns[part.attribute] if part.attribute else None)
                for place, part in enumerate(parts, start=1)
                if part.alias == position.alias
            )
            for position in positions
        )

    def start(self, time: int) -> Element:
        return self.one

    def plus(self, left: Element, right: Element) -> Element:
        count = self.arithmetic.add(left[0], right[0])
        return (count, *(join(x, y) for join, x, y in zip(self.join, left[1:], right[1:], strict=True)))

    def extend(self, element: Element, row: int, position: int) -> Element:
        effects = self.effects[position]
        if not effects:
            return element
        changed = list(element)
        for place, role, column in effects:
            value = 1 if column is None else column.values[row]
            if value is not None:
                unit = COUNTS if column is None else Unit(column.kind, column.scale)
                weight = self.weight(role, value, unit, element[0])
                changed[place] = self.join[place - 1](changed[place], weight)
        return tuple(changed)

    def weight(self, role: Role, value: Any, unit: Unit, count: Number) -> Any:
        match role:
            case Role.MINIMUM | Role.MAXIMUM:
                return value
            case Role.OCCURRENCES | Role.PRESENT:
                return count
            case Role.TOTAL:
                return self.arithmetic.multiply(count, self.arithmetic.embed(value, unit))
            case Role.MAGNITUDE:
                return self.arithmetic.multiply(count, self.arithmetic.embed(_absolute(value), unit))


def _absolute(value: Value) -> Value:
    # abs() of a decimal rounds to the precision of the caller's context.
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


def _joiner(role: Role, arithmetic: Arithmetic) -> Any:
    if role is Role.MINIMUM:
        return lambda x, y: y if x is None else x if y is None else min(x, y)
    if role is Role.MAXIMUM:
        return lambda x, y: y if x is None else x if y is None else max(x, y)
    return arithmetic.add


def algebra_of(
    arithmetic: Arithmetic,
    parts: Sequence[Component],
    positions: Sequence[Position],
    columns: Mapping[str, Column],
) -> Algebra:
    """The leanest algebra that serves these components."""
    return Aggregating(arithmetic, parts, positions, columns) if parts else Counting(arithmetic)


@dataclass(frozen=True, slots=True)
class Shape:
    """How elements of one query are added up and shown, without its events: what merging needs; it pickles."""

    aggregates: tuple[Aggregate, ...]
    operands: tuple[str | None, ...]
    parts: tuple[Component, ...]

    def plus(self, left: Element, right: Element, arithmetic: Arithmetic) -> Element:
        """The element of two disjoint sets of trends."""
        joined = (
            _joiner(part.role, arithmetic)(x, y)
            for part, x, y in zip(self.parts, left[1:], right[1:], strict=True)
        )
        return (arithmetic.add(left[0], right[0]), *joined)

    def measures(self, element: Element, units: Mapping[str, Unit], arithmetic: Arithmetic) -> list[Measure]:
        """One measure per aggregate; `units` by attribute."""
        by_part = dict(zip(self.parts, element[1:], strict=True))
        return [
            _measure(aggregate, alias, element[0], by_part, units, arithmetic)
            for aggregate, alias in zip(self.aggregates, self.operands, strict=True)
        ]


def _measure(
    aggregate: Aggregate,
    alias: str | None,
    trends: Number,
    by_part: Mapping[Component, Any],
    units: Mapping[str, Unit],
    arithmetic: Arithmetic,
) -> Measure:
    if alias is None:
        return arithmetic.measure(trends, COUNTS)
    attribute = aggregate.attribute
    if attribute is None:
        return arithmetic.measure(by_part[Component(Role.OCCURRENCES, alias)], COUNTS)
    unit = units[attribute]
    match aggregate.function:
        case AggregateFunction.MIN | AggregateFunction.MAX:
            value = by_part[Component(_ROLES[aggregate.function][0], alias, attribute)]
            return NOTHING if value is None else extreme(value, unit, exact=arithmetic.name == "exact")
        case AggregateFunction.SUM | AggregateFunction.AVG:
            total = by_part[Component(Role.TOTAL, alias, attribute)]
            magnitude = by_part.get(Component(Role.MAGNITUDE, alias, attribute))
            if aggregate.function is AggregateFunction.SUM:
                return arithmetic.measure(total, unit, magnitude)
            present = by_part[Component(Role.PRESENT, alias, attribute)]
            if not arithmetic.positive(present):
                return NOTHING
            return arithmetic.ratio(total, present, unit, magnitude)
        case AggregateFunction.COUNT:
            raise InvariantError(f"algebra: {aggregate.label} has an attribute", code="E930")
