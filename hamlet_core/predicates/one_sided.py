"""Expressions that read one event of a pair: their value for every row, computed once per distinct input.

What is just a column of numbers stays the array it is; anything else is evaluated by the closure of `evaluate`,
once for each combination of values that occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.language.syntax import Attribute, Expression
from hamlet_core.predicates.distinct import combinations
from hamlet_core.predicates.evaluate import compile_value
from hamlet_core.predicates.vectorised import whole_column
from hamlet_core.predicates.vectors import Form, Unsupported, Vector
from hamlet_core.table.arrow import numbers_of
from hamlet_core.table.columns import filled
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import Column

Integers: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]

INT64_MAX = 2**63 - 1
_ENCODED = frozenset({Kind.TEXT, Kind.DECIMAL, Kind.BOOLEAN, Kind.NULL})
_TICKS = frozenset({Kind.TICK, Kind.TICK_DIFFERENCE})


@dataclass(frozen=True, slots=True)
class Constant:
    """An expression with the same value for all rows; None is NULL."""

    kind: Kind
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """An expression over one event: a value per row, NULL where not `valid`, and valid somewhere.

    The values are `numbers` (int64 or float64, 0 for NULL; truth is 1 and 0). Where they are of another class (text,
    decimals, fractions, a mixture), `numbers` are codes of the `distinct` values; None is NULL.
    """

    kind: Kind
    valid: Mask
    numbers: Numbers
    distinct: tuple[Any, ...] | None = None

    @property
    def is_integer(self) -> bool:
        """Whether the values are int64 (or truth)."""
        return self.distinct is None and self.numbers.dtype == np.int64

    @property
    def is_double(self) -> bool:
        """Whether the values are float64."""
        return self.numbers.dtype == np.float64

    def encoded(self) -> tuple[Integers, tuple[Any, ...]]:
        """A code per row, and the plain value of each code (None is NULL)."""
        if self.distinct is not None:
            return self.numbers, self.distinct
        found, codes = np.unique(self.numbers, return_inverse=True)
        values = [bool(number) for number in found] if self.kind is Kind.BOOLEAN else found.tolist()
        if self.valid.all():
            return codes.astype(np.int64), tuple(values)
        return np.where(self.valid, codes, len(values)).astype(np.int64), (*values, None)


Side: TypeAlias = Leaf | Constant


def attributes(expression: object) -> Iterator[Attribute]:
    """Every attribute that an expression reads, from left to right."""
    if isinstance(expression, Attribute):
        yield expression
    elif isinstance(expression, tuple):
        for item in expression:
            yield from attributes(item)
    elif is_dataclass(expression):
        for one in fields(expression):
            yield from attributes(getattr(expression, one.name))


def sides(expression: Expression) -> frozenset[bool]:
    """Which events of a pair an expression reads: False the earlier one, True the NEXT one."""
    return frozenset(attribute.next for attribute in attributes(expression))


def mapped(side: Side, function: Callable[[Any], Any], kind: Kind) -> Side:
    """The function of every value; NULL stays NULL."""
    if isinstance(side, Constant):
        return Constant(kind, None if side.value is None else function(side.value))
    codes, distinct = side.encoded()
    return from_distinct(kind, [None if value is None else function(value) for value in distinct], codes)


def in_ticks(side: Side, unit: int) -> Side:
    """A duration in ticks of `unit` microseconds, as `evaluate` has it."""

    def converted(value: Any) -> int | Fraction:
        exact = Fraction(value) / unit
        return exact.numerator if exact.denominator == 1 else exact

    if unit == 1 and isinstance(side, Leaf) and side.is_integer:
        return replace(side, kind=Kind.TICK_DIFFERENCE)
    return mapped(side, converted, Kind.TICK_DIFFERENCE)


def counts_in_ticks(kind: Kind, other: Kind) -> bool:
    """Whether a value of this kind is turned into ticks beside one of the other kind."""
    return kind is Kind.DURATION and other in _TICKS


def from_distinct(kind: Kind, values: list[Any], codes: Integers) -> Side:
    """The side whose rows have these values by code; numbers become arrays."""
    classes = {type(value) for value in values if value is not None}
    if not classes or not len(codes):
        return Constant(kind, None)
    valid = np.array([value is not None for value in values], np.bool_)[codes]
    if not valid.any():
        return Constant(kind, None)
    if classes == {float}:
        return Leaf(kind, valid, np.array([value or 0.0 for value in values], np.float64)[codes])
    known = [int(value or 0) for value in values] if classes in ({int}, {bool}) else None
    if known is not None and min(known) >= -INT64_MAX - 1 and max(known) <= INT64_MAX:
        return Leaf(kind, valid, np.array(known, np.int64)[codes])
    return Leaf(kind, valid, codes, tuple(values))


@dataclass(slots=True)
class Columns:
    """The columns of a stream as sides of pairs; mutable only in that it keeps what it has computed."""

    columns: Mapping[str, Column]
    unit: int
    text: str = ""
    known: dict[str, Side] = field(default_factory=dict)

    def side(self, expression: Expression) -> Side:
        """The value of an expression that does not read both events; the same object for equal expressions."""
        key = form(expression)
        if key not in self.known:
            self.known[key] = self._side(expression)
        return self.known[key]

    def _side(self, expression: Expression) -> Side:
        if isinstance(expression, Attribute):
            return _plain(self.columns[expression.name])
        names = list(dict.fromkeys(attribute.name for attribute in attributes(expression)))
        if not names:
            kind, evaluate = compile_value(expression, {}, unit=self.unit, text=self.text)
            return Constant(kind, evaluate(0, 0))
        found = self._vectorised(expression, names)
        return self._by_value(expression, names) if found is None else found

    def _vectorised(self, expression: Expression, names: list[str]) -> Side | None:
        """The value where it is a number that whole columns can say."""
        read = {name: self.columns[name] for name in names}
        try:
            value = whole_column(expression, read, unit=self.unit)
        except Unsupported:
            return None
        if not isinstance(value, Vector) or value.form is Form.DECIMAL:
            return None
        count = len(value.numbers)
        valid = np.ones(count, np.bool_) if value.valid is None else value.valid
        if not valid.any():
            return Constant(value.kind, None)
        numbers = value.numbers.astype(np.float64 if value.form is Form.DOUBLE else np.int64)
        return Leaf(value.kind, valid, np.where(valid, numbers, 0))

    def _by_value(self, expression: Expression, names: list[str]) -> Side:
        codes, few = combinations(self.columns, names)
        kind, evaluate = compile_value(expression, few, unit=self.unit, text=self.text)
        return from_distinct(kind, [evaluate(row, row) for row in range(len(few[names[0]].values))], codes)


def _plain(column: Column) -> Side:
    """An attribute itself."""
    array = column.array
    if array.null_count == len(array):
        return Constant(column.kind, None)
    valid = np.ones(len(array), np.bool_) if array.null_count == 0 else numbers_of(array.is_valid())
    if column.kind not in _ENCODED:
        return Leaf(column.kind, valid, filled(array))
    if column.kind is Kind.BOOLEAN:
        return Leaf(column.kind, valid, filled(array, False).astype(np.int64))
    words = array if hasattr(array, "indices") else array.dictionary_encode()
    values = words.dictionary.to_pylist()
    codes = filled(words.indices, len(values)).astype(np.int64)
    return from_distinct(column.kind, [*values, None], codes)


def form(expression: Expression, *, of_pair: bool = False) -> str:
    """A text that is the same for equal expressions, whatever the alias; `of_pair`: and only if NEXT stands alike."""
    return repr(_without_alias(expression, of_pair))


def _without_alias(expression: Any, of_pair: bool) -> Any:
    if isinstance(expression, Attribute):
        return Attribute("", expression.name, expression.next and of_pair)
    if isinstance(expression, tuple):
        return tuple(_without_alias(item, of_pair) for item in expression)
    if is_dataclass(expression) and not isinstance(expression, type):
        changed = {
            one.name: _without_alias(getattr(expression, one.name), of_pair) for one in fields(expression)
        }
        return replace(expression, **changed)
    return expression
