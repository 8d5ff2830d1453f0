"""Sums over both events of a pair, taken apart: `NEXT(b).time - a.time` is a number of b less a number of a.

Only for exact numbers (integers, decimals, fractions), and only where no step of the calculation can leave int64 on
the values there are: then the order of the steps makes no difference, and no step is NULL that had values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.language.syntax import Arithmetic, ArithmeticOperator, Expression, Minus
from hamlet_core.predicates.one_sided import (
    INT64_MAX,
    Columns,
    Constant,
    Integers,
    Leaf,
    Mask,
    Side,
    counts_in_ticks,
    sides,
)
from hamlet_core.predicates.typing import arithmetic_kind
from hamlet_core.table.kinds import Kind

Keys: TypeAlias = tuple[Integers, Mask]

_LONGEST = 60
"""Digits before or after the point, beyond which a decimal is left to others: it would not fit anyway."""


@dataclass(frozen=True, slots=True)
class Sum:
    """`constant` plus each leaf of an event (NEXT: True) times its factor.

    `low` and `high` bound the value, `most` bounds it and every step on the way to it; `denominator` makes integers
    of all of them.
    """

    kind: Kind
    terms: tuple[tuple[Leaf, bool, Fraction], ...]
    constant: Fraction
    low: Fraction
    high: Fraction
    most: Fraction
    denominator: int

    def times(self, factor: Fraction, kind: Kind) -> Sum:
        """The sum with every part of it multiplied."""
        ends = self.low * factor, self.high * factor
        return Sum(
            kind,
            tuple((leaf, following, weight * factor) for leaf, following, weight in self.terms),
            self.constant * factor,
            min(ends),
            max(ends),
            max(self.most, *map(abs, ends)),
            self.denominator * factor.denominator,
        )

    def plus(self, other: Sum, kind: Kind) -> Sum:
        """The sum of two."""
        low, high = self.low + other.low, self.high + other.high
        return Sum(
            kind,
            self.terms + other.terms,
            self.constant + other.constant,
            low,
            high,
            max(self.most, other.most, abs(low), abs(high)),
            math.lcm(self.denominator, other.denominator),
        )


def summed(expression: Expression, columns: Columns) -> Sum | None:
    """An expression as a sum; None if it is none."""
    if len(sides(expression)) < 2:
        return _term(columns.side(expression), True in sides(expression))
    match expression:
        case Minus(operand):
            inner = summed(operand, columns)
            return inner and inner.times(
                Fraction(-1), Kind.INTEGER if inner.kind is Kind.TICK else inner.kind
            )
        case Arithmetic(operator, first, second):
            left, right = summed(first, columns), summed(second, columns)
            return left and right and _combined(operator, left, right, columns.unit)
        case _:
            return None


def beside(left: Sum, right: Sum, unit: int) -> tuple[Sum, Sum]:
    """Two sums as they stand beside each other: a duration beside ticks counts in ticks."""
    return _ticks_beside(left, right.kind, unit), _ticks_beside(right, left.kind, unit)


def difference_keys(left: Sum, right: Sum) -> tuple[Keys, Keys] | None:
    """Keys of the earlier and of the NEXT event that compare as `left` with `right`; None where int64 is too small.

    `left op right` is `here op there`: what reads the NEXT event is taken to the right, what reads the earlier one
    to the left.
    """
    whole = left.plus(right.times(Fraction(-1), right.kind), left.kind)
    scale = _scale(whole.denominator)
    if max(left.most, right.most) * scale > INT64_MAX:
        return None
    here = _total(whole, False, scale, Fraction(0))
    there = _total(whole.times(Fraction(-1), whole.kind), True, scale, -whole.constant)
    return None if here is None or there is None else (here, there)


def _scale(denominator: int) -> int:
    """A multiple that also is one of every power of ten in question: so many digits fit a decimal, too."""
    twos = fives = 0
    rest = denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return int(rest * 10 ** max(twos, fives))


def _total(whole: Sum, following: bool, scale: int, constant: Fraction) -> Keys | None:
    """The part of a sum that reads one event, times `scale`."""
    terms = [
        (leaf, int(weight * scale), weight * scale) for leaf, side, weight in whole.terms if side is following
    ]
    most = abs(constant * scale)
    for leaf, _, weight in terms:
        low, high, _ = _bounds(leaf)
        most += max(abs(low), abs(high), Fraction(1)) * abs(weight)
    if most > INT64_MAX or not terms:
        return None
    valid = np.logical_and.reduce([leaf.valid for leaf, _, _ in terms])
    total = np.full(len(valid), int(constant * scale), np.int64)
    for leaf, _, weight in terms:
        total += _scaled(leaf, weight)
    return np.where(valid, total, 0), valid


def _scaled(leaf: Leaf, weight: Fraction) -> Integers:
    if leaf.distinct is None:
        return leaf.numbers * np.int64(int(weight))
    values = [0 if value is None else int(Fraction(value) * weight) for value in leaf.distinct]
    found: Integers = np.array(values, np.int64)[leaf.numbers]
    return found


def _term(side: Side, following: bool) -> Sum | None:
    if isinstance(side, Constant):
        if not _exact(side.value):
            return None
        value = Fraction(side.value)
        return Sum(side.kind, (), value, value, value, abs(value), value.denominator)
    if side.kind in (Kind.BOOLEAN, Kind.TEXT) or side.is_double:
        return None
    if side.distinct is not None and not all(value is None or _exact(value) for value in side.distinct):
        return None
    low, high, denominator = _bounds(side)
    most = max(abs(low), abs(high))
    return Sum(side.kind, ((side, following, Fraction(1)),), Fraction(0), low, high, most, denominator)


def _bounds(leaf: Leaf) -> tuple[Fraction, Fraction, int]:
    """The least and the greatest value, and a common denominator of all."""
    if leaf.distinct is None:
        known = leaf.numbers[leaf.valid]
        return Fraction(int(known.min())), Fraction(int(known.max())), 1
    values = [Fraction(value) for value in leaf.distinct if value is not None]
    return min(values), max(values), math.lcm(*(value.denominator for value in values))


def _exact(value: Any) -> bool:
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return isinstance(exponent, int) and abs(exponent) <= _LONGEST and abs(value.adjusted()) <= _LONGEST
    return type(value) in (int, Fraction)


def _combined(operator: ArithmeticOperator, left: Sum, right: Sum, unit: int) -> Sum | None:
    kind = arithmetic_kind(operator, left.kind, right.kind)
    if kind is None:
        return None
    left, right = beside(left, right, unit)
    match operator:
        case ArithmeticOperator.ADD:
            return left.plus(right, kind)
        case ArithmeticOperator.SUBTRACT:
            return left.plus(right.times(Fraction(-1), right.kind), kind)
        case ArithmeticOperator.MULTIPLY if not right.terms:
            return left.times(right.constant, kind)
        case ArithmeticOperator.MULTIPLY if not left.terms:
            return right.times(left.constant, kind)
        case _:
            return None


def _ticks_beside(one: Sum, other: Kind, unit: int) -> Sum:
    return one.times(Fraction(1, unit), Kind.TICK_DIFFERENCE) if counts_in_ticks(one.kind, other) else one
