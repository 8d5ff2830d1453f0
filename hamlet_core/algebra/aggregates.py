"""Aggregates as running totals: what an element holds, how two add up, and what binding an event does.

COUNT is a number; COUNT(E), SUM and AVG ride on it as the derivative part of dual numbers; MIN and MAX are a lattice
whose None means "a trend without such an event" (no trend at all is the absence of an element). What trends last needs
when they began, and what is counted of partitions is known when a window closes (SEMANTICS 11).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from operator import add
from typing import Any, Protocol, TypeAlias, cast

from hamlet_core.algebra.arithmetic import (
    COUNTS,
    NOTHING,
    SECONDS,
    Arithmetic,
    Measure,
    Number,
    Unit,
    Value,
    extreme,
)
from hamlet_core.errors import InvariantError
from hamlet_core.language.syntax import Aggregate, AggregateFunction, Subject
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
    LASTING = "lasting"
    """What the trends last, added up."""
    SHORTEST = "shortest"
    """What the shortest of them lasts."""
    LONGEST = "longest"
    """What the longest of them lasts."""
    PARTITIONS = "partitions"
    """1 for every partition with a trend."""
    REACHED = "reached"
    """1 for every partition in which a prefix of a trend ends at the alias."""
    DISJOINT = "disjoint"
    """The most trends of each partition that follow one another."""


LATTICE = frozenset({Role.MINIMUM, Role.MAXIMUM})
COUNTED = frozenset({Role.PARTITIONS, Role.REACHED, Role.DISJOINT})
"""Plain integers, 0 until a window of a partition is closed."""
_LEAST = frozenset({Role.MINIMUM, Role.SHORTEST})
_LARGEST = frozenset({Role.MAXIMUM, Role.LONGEST})
LASTING = frozenset({Role.LASTING, Role.SHORTEST, Role.LONGEST})
"""In the unit of durations."""
DURATION = ""
"""Stands for the durations of trends where units are named by attribute; no attribute has this name."""


@dataclass(frozen=True, slots=True)
class Component:
    """One entry of an element."""

    role: Role
    alias: str = ""
    attribute: str | None = None


_ROLES = {
    AggregateFunction.SUM: (Role.TOTAL,),
    AggregateFunction.AVG: (Role.TOTAL, Role.PRESENT),
    AggregateFunction.MIN: (Role.MINIMUM,),
    AggregateFunction.MAX: (Role.MAXIMUM,),
}
_ROLES_OF_DURATION = {
    AggregateFunction.SUM: Role.LASTING,
    AggregateFunction.AVG: Role.LASTING,
    AggregateFunction.MIN: Role.SHORTEST,
    AggregateFunction.MAX: Role.LONGEST,
}


def components(
    aggregates: Sequence[Aggregate], operands: Sequence[str | None], arithmetic: Arithmetic
) -> tuple[Component, ...]:
    """The components that a list of aggregates needs, each once."""
    needed: dict[Component, None] = {}
    for aggregate, alias in zip(aggregates, operands, strict=True):
        plain = without_attribute(aggregate, alias)
        if plain is not None:
            needed[plain] = None
        if alias is None or aggregate.attribute is None:
            continue
        roles = _ROLES[aggregate.function]
        if arithmetic.needs_magnitude and Role.TOTAL in roles:
            roles = (*roles, Role.MAGNITUDE)
        needed.update({Component(role, alias, aggregate.attribute): None for role in roles})
    return tuple(needed)


def without_attribute(aggregate: Aggregate, alias: str | None) -> Component | None:
    """The component of an aggregate that reads no attribute; COUNT(*) needs none."""
    match aggregate.subject:
        case Subject.PARTITIONS:
            return Component(Role.PARTITIONS)
        case Subject.DISJOINT:
            return Component(Role.DISJOINT)
        case Subject.DURATION:
            return Component(_ROLES_OF_DURATION[aggregate.function])
    if alias is None or aggregate.attribute is not None:
        return None
    reach = aggregate.function is AggregateFunction.REACH
    return Component(Role.REACHED if reach else Role.OCCURRENCES, alias)


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
        neutral = tuple(_neutral(part.role, arithmetic) for part in parts)
        self.one: Element = (arithmetic.one, *neutral)
        self.join = tuple(_joiner(part.role, arithmetic) for part in parts)
        self.effects = tuple(
            tuple(
                (place, part.role, columns[part.attribute] if part.attribute else None)
                for place, part in enumerate(parts, start=1)
                if part.alias == position.alias and part.role not in COUNTED
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
        raise InvariantError(f"algebra: {role.value} is nothing that an event adds", code="E930")


class Lasting(Aggregating):
    """As `Aggregating`, with when trends began: behind the components the latest and the earliest start, and the sum of
    what the trends have lasted up to a time, with that time. Sums of times themselves would cancel out.
    """

    def __init__(
        self,
        arithmetic: Arithmetic,
        parts: Sequence[Component],
        positions: Sequence[Position],
        columns: Mapping[str, Column],
        times: Sequence[int],
        unit: Unit,
    ) -> None:
        super().__init__(arithmetic, parts, positions, columns)
        self.width = 1 + len(parts)
        self.roles = [(place, part.role) for place, part in enumerate(parts, start=1) if part.role in LASTING]
        self.times = times
        self.unit = unit

    def start(self, time: int) -> Element:
        return (*self.one, time, time, self.arithmetic.zero, time)

    def plus(self, left: Element, right: Element) -> Element:
        time = max(left[-1], right[-1])
        lasted = self.arithmetic.add(self.lasted(left, time), self.lasted(right, time))
        known = super().plus(left[: self.width], right[: self.width])
        return (*known, max(left[-4], right[-4]), min(left[-3], right[-3]), lasted, time)

    def extend(self, element: Element, row: int, position: int) -> Element:
        time, latest, earliest = self.times[row], element[-4], element[-3]
        lasted = self.lasted(element, time)
        changed = list(super().extend(element[: self.width], row, position))
        for place, role in self.roles:
            if role is Role.LASTING:
                changed[place] = lasted
            else:
                changed[place] = self.length(time - (latest if role is Role.SHORTEST else earliest))
        return (*changed, latest, earliest, lasted, time)

    def lasted(self, element: Element, time: int) -> Number:
        """What the trends of an element have lasted, added up, if they go on until then."""
        since = time - element[-1]
        if not since:
            return element[-2]
        more = self.arithmetic.multiply(element[0], self.arithmetic.embed(self.length(since), self.unit))
        return self.arithmetic.add(element[-2], more)

    def length(self, ticks: int) -> Value:
        if self.unit == SECONDS:
            return Fraction(ticks, SECONDS.denominator)
        return ticks

    @staticmethod
    def latest(element: Element) -> int:
        """When the last of its trends began."""
        time: int = element[-4]
        return time


def _neutral(role: Role, arithmetic: Arithmetic) -> Any:
    """What a trend without events of the component has of it."""
    if role in COUNTED:
        return 0
    return None if role in _LEAST | _LARGEST else arithmetic.zero


def _absolute(value: Value) -> Value:
    # abs() of a decimal rounds to the precision of the caller's context.
    return value.copy_abs() if isinstance(value, Decimal) else cast("Value", abs(value))


def _joiner(role: Role, arithmetic: Arithmetic) -> Any:
    if role in COUNTED:
        return add
    if role in _LEAST:
        return lambda x, y: y if x is None else x if y is None else min(x, y)
    if role in _LARGEST:
        return lambda x, y: y if x is None else x if y is None else max(x, y)
    return arithmetic.add


def algebra_of(
    arithmetic: Arithmetic,
    parts: Sequence[Component],
    positions: Sequence[Position],
    columns: Mapping[str, Column],
    times: Sequence[int] = (),
    unit: Unit = COUNTS,
) -> Algebra:
    """The leanest algebra that serves these components; `times` by row, and the unit of durations."""
    if any(part.role in LASTING or part.role is Role.DISJOINT for part in parts):
        return Lasting(arithmetic, parts, positions, columns, times, unit)
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

    @property
    def attributes(self) -> tuple[str, ...]:
        """What the aggregates read whose units have to be known: attributes, and `DURATION`."""
        named = (one.attribute for one in self.aggregates if one.attribute is not None)
        lasting = (DURATION for one in self.aggregates if one.subject is Subject.DURATION)
        return tuple(dict.fromkeys((*named, *lasting)))

    @property
    def closes(self) -> bool:
        """Whether what a window reports is more, or less, than the element of its trends: see `closed`."""
        return any(part.role in COUNTED | LASTING for part in self.parts)

    def closed(
        self, element: Element | None, reached: Collection[str], disjoint: int, arithmetic: Arithmetic
    ) -> Element | None:
        """What a window of one partition reports: the element of all its trends (None: there is none), the aliases that
        prefixes of trends have reached, and how many trends follow one another. None for nothing to report.
        """
        counts = {Role.PARTITIONS: int(element is not None), Role.DISJOINT: disjoint}
        known = (arithmetic.zero, *(_neutral(part.role, arithmetic) for part in self.parts))
        found = [known[0] if element is None else element[0]]
        for part, own in zip(self.parts, (known if element is None else element)[1:], strict=False):
            count = int(part.alias in reached) if part.role is Role.REACHED else counts.get(part.role)
            found.append(own if count is None else count)
        there = element is not None or any(
            own for part, own in zip(self.parts, found[1:], strict=True) if part.role is Role.REACHED
        )
        return tuple(found) if there else None

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
    plain = without_attribute(aggregate, alias)
    if plain is not None:
        return _measure_plain(aggregate, plain, trends, by_part[plain], units, arithmetic)
    if alias is None:
        return arithmetic.measure(trends, COUNTS)
    attribute = str(aggregate.attribute)
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
        case AggregateFunction.COUNT | AggregateFunction.REACH:
            raise InvariantError(f"algebra: {aggregate.label} has an attribute", code="E930")


def _measure_plain(
    aggregate: Aggregate,
    part: Component,
    trends: Number,
    found: Any,
    units: Mapping[str, Unit],
    arithmetic: Arithmetic,
) -> Measure:
    if part.role in COUNTED:
        return arithmetic.measure(arithmetic.embed(found, COUNTS), COUNTS)
    if part.role is Role.OCCURRENCES:
        return arithmetic.measure(found, COUNTS)
    unit = units[DURATION]
    if part.role is not Role.LASTING:
        return NOTHING if found is None else extreme(found, unit, exact=arithmetic.name == "exact")
    if aggregate.function is AggregateFunction.SUM:
        return arithmetic.measure(found, unit)
    return arithmetic.ratio(found, trends, unit) if arithmetic.positive(trends) else NOTHING
