"""Conditions on a pair taken apart: `f(left) op g(right)` in ordered int64 keys, where that says the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from hamlet_core.language.syntax import (
    Between,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Disjunction,
    Expression,
    InList,
    Negation,
)
from hamlet_core.predicates.arithmetic import to_double
from hamlet_core.predicates.linear import beside, difference_keys, summed
from hamlet_core.predicates.one_sided import (
    Columns,
    Constant,
    Leaf,
    Side,
    counts_in_ticks,
    form,
    in_ticks,
    mapped,
    sides,
)
from hamlet_core.predicates.order_keys import order_keys
from hamlet_core.predicates.pair_tables import Shelves
from hamlet_core.table.kinds import Kind

Atom: TypeAlias = tuple[ComparisonOperator, int, int]
"""Integer column of the earlier event, operator, integer column of the NEXT event: TRUE, FALSE, or NULL."""

MIRRORED = {
    ComparisonOperator.EQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.UNEQUAL: ComparisonOperator.UNEQUAL,
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.AT_MOST: ComparisonOperator.AT_LEAST,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.AT_LEAST: ComparisonOperator.AT_MOST,
}
"""The operator when the operands change places."""
OPPOSITE = {
    ComparisonOperator.EQUAL: ComparisonOperator.UNEQUAL,
    ComparisonOperator.UNEQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.LESS: ComparisonOperator.AT_LEAST,
    ComparisonOperator.AT_MOST: ComparisonOperator.GREATER,
    ComparisonOperator.GREATER: ComparisonOperator.AT_MOST,
    ComparisonOperator.AT_LEAST: ComparisonOperator.LESS,
}
"""The operator that is TRUE where the other is FALSE."""


def plain_form(expression: Expression) -> Expression:
    """BETWEEN and IN as the comparisons they stand for; anything else as it is."""
    match expression:
        case Between(operand, low, high, negated):
            both: Expression = Conjunction(
                (
                    Comparison(ComparisonOperator.AT_LEAST, operand, low),
                    Comparison(ComparisonOperator.AT_MOST, operand, high),
                )
            )
            return Negation(both) if negated else both
        case InList(operand, items, negated):
            some: Expression = Disjunction(
                tuple(Comparison(ComparisonOperator.EQUAL, operand, item) for item in items)
            )
            return Negation(some) if negated else some
        case _:
            return expression


def comparable(left: Side, right: Side, unit: int) -> tuple[Side, Side]:
    """Two sides as they compare: a decimal beside a double is a double, a duration beside ticks counts in ticks."""
    return _beside(left, right.kind, unit), _beside(right, left.kind, unit)


def _beside(side: Side, other: Kind, unit: int) -> Side:
    if side.kind is Kind.DECIMAL and other is Kind.DOUBLE:
        return mapped(side, to_double, Kind.DOUBLE)
    return in_ticks(side, unit) if counts_in_ticks(side.kind, other) else side


@dataclass(slots=True)
class Separator:
    """Finds atoms; mutable only in that it keeps the keys it has made."""

    columns: Columns
    shelves: Shelves
    known: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    kept: list[Side] = field(default_factory=list)
    differences: dict[str, tuple[int, int] | None] = field(default_factory=dict)

    def atoms(self, expression: Expression, *, negated: bool = False) -> list[Atom] | None:
        """Atoms that are all TRUE exactly where the expression (negated: its opposite) is; None if there are none."""
        if len(sides(expression)) < 2:
            return [self._one_sided(expression, negated=negated)]
        match plain_form(expression):
            case Comparison(operator, left, right):
                atom = self.atom(OPPOSITE[operator] if negated else operator, left, right)
                return None if atom is None else [atom]
            case Conjunction(parts) if not negated:
                return self._all(parts, negated=False)
            case Disjunction(parts) if negated or len(parts) == 1:
                return self._all(parts, negated=negated)
            case Negation(operand):
                return self.atoms(operand, negated=not negated)
            case _:
                return None

    def atom(self, operator: ComparisonOperator, left: Expression, right: Expression) -> Atom | None:
        """A comparison that reads both events as one of keys with the same truth; None if there is none."""
        here, there = sides(left), sides(right)
        if len(here) == len(there) == 1:
            if True in here:
                operator, left, right = MIRRORED[operator], right, left
            return operator, *self._keys(self.columns.side(left), self.columns.side(right))
        place = form(Comparison(ComparisonOperator.LESS, left, right), of_pair=True)
        if place not in self.differences:
            self.differences[place] = self._difference(left, right)
        columns = self.differences[place]
        return None if columns is None else (operator, *columns)

    def _difference(self, left: Expression, right: Expression) -> tuple[int, int] | None:
        first, second = summed(left, self.columns), summed(right, self.columns)
        if first is None or second is None:
            return None
        keys = difference_keys(*beside(first, second, self.columns.unit))
        return None if keys is None else (self.shelves.integer(*keys[0]), self.shelves.integer(*keys[1]))

    def _all(self, parts: tuple[Expression, ...], *, negated: bool) -> list[Atom] | None:
        found = [self.atoms(part, negated=negated) for part in parts]
        known = [atoms for atoms in found if atoms is not None]
        return [atom for atoms in known for atom in atoms] if len(known) == len(found) else None

    def _one_sided(self, expression: Expression, *, negated: bool) -> Atom:
        """What reads one event, or none: its truth beside that of TRUE."""
        operator = ComparisonOperator.UNEQUAL if negated else ComparisonOperator.EQUAL
        one, truth = self._filled(1), self.columns.side(expression)
        if isinstance(truth, Constant):
            value = one if truth.value is None else self._filled(int(truth.value))
            return operator, self.nothing() if truth.value is None else value, one
        column = self.shelves.integer(truth.numbers, truth.valid)
        return (operator, one, column) if True in sides(expression) else (operator, column, one)

    def _keys(self, left: Side, right: Side) -> tuple[int, int]:
        place = id(left), id(right)
        if place not in self.known:
            self.kept += [left, right]
            first, second = comparable(left, right, self.columns.unit)
            if isinstance(first, Leaf) and isinstance(second, Leaf):
                here, there = order_keys(first, second)
                there = here if left is right else there
                self.known[place] = (
                    self.shelves.integer(here, first.valid),
                    self.shelves.integer(there, second.valid),
                )
            else:
                self.known[place] = self.nothing(), self.nothing()
        return self.known[place]

    def nothing(self) -> int:
        """A column that is NULL everywhere."""
        return self._special(None)

    def _filled(self, value: int) -> int:
        return self._special(value)

    def _special(self, value: int | None) -> int:
        place = -1 if value is None else value, -1
        if place not in self.known:
            rows = self.shelves.rows
            column = np.full(rows, value or 0, np.int64)
            number = self.shelves.integer(column, np.full(rows, value is not None, np.bool_))
            self.known[place] = number, number
        return self.known[place][0]
