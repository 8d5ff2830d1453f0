"""Conditions on pairs of events as plain arrays: what compiled code reads, and the shelves they are built on.

A condition is a program: its steps run on a stack of values that may be NULL, and it holds if no step finds
otherwise. A step is (operation, operand, side); side 0 is the earlier event, 1 the NEXT one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.language.syntax import ComparisonOperator
from hamlet_core.predicates.one_sided import Integers, Leaf, Mask, Numbers
from hamlet_core.table.columns import frozen

Step: TypeAlias = tuple[int, int, int]
Steps: TypeAlias = tuple[Step, ...]

STACK = 64
"""How many values a program may have at hand at a time."""


class Operation(IntEnum):
    """What a step does. REQUIRE_ and KEYS_ compare integer column `operand` of the earlier event with `side` of NEXT.

    The six comparisons stand in the order of `COMPARISONS`, always.
    """

    REQUIRE_EQUAL = 0
    """The condition does not hold unless the keys compare so; needs no stack."""
    REQUIRE_UNEQUAL = 1
    REQUIRE_LESS = 2
    REQUIRE_AT_MOST = 3
    REQUIRE_GREATER = 4
    REQUIRE_AT_LEAST = 5
    REQUIRE = 6
    """Pop: the condition does not hold unless it is TRUE."""
    KEYS_EQUAL = 10
    """Push how the keys compare, or NULL."""
    KEYS_UNEQUAL = 11
    KEYS_LESS = 12
    KEYS_AT_MOST = 13
    KEYS_GREATER = 14
    KEYS_AT_LEAST = 15
    PUSH_INTEGER = 20
    """Push integer column `operand` of the event on `side`; truth is an integer, 1 or 0."""
    PUSH_DOUBLE = 21
    INTEGER_CONSTANT = 22
    """Push constant number `operand`."""
    DOUBLE_CONSTANT = 23
    NULL = 24
    """Push NULL."""
    TABLE = 25
    """Push the entry of table `operand` for the two events."""
    TO_DOUBLE = 30
    """The integer on top becomes the nearest double."""
    NEGATE_INTEGER = 31
    """-top; what does not fit is NULL, here as in all arithmetic."""
    NEGATE_DOUBLE = 32
    ADD_INTEGERS = 33
    """Pop two, push one: the upper is the right operand."""
    SUBTRACT_INTEGERS = 34
    MULTIPLY_INTEGERS = 35
    DIVIDE_INTEGERS = 36
    """The nearest double of the exact quotient."""
    MODULO_INTEGERS = 37
    ADD_DOUBLES = 38
    SUBTRACT_DOUBLES = 39
    MULTIPLY_DOUBLES = 40
    DIVIDE_DOUBLES = 41
    MODULO_DOUBLES = 42
    COMPARE_INTEGERS = 50
    """Pop two, push how they compare; `operand` is the place in `COMPARISONS`."""
    COMPARE_DOUBLES = 51
    COMPARE_INTEGER_WITH_DOUBLE = 52
    """Exact, the integer below the double on the stack."""
    COMPARE_DOUBLE_WITH_INTEGER = 53
    AND = 60
    OR = 61
    NOT = 62
    IS_NULL = 63


COMPARISONS = (
    ComparisonOperator.EQUAL,
    ComparisonOperator.UNEQUAL,
    ComparisonOperator.LESS,
    ComparisonOperator.AT_MOST,
    ComparisonOperator.GREATER,
    ComparisonOperator.AT_LEAST,
)
"""The operators by their number in a step."""

_GROWING = frozenset(range(Operation.KEYS_EQUAL, Operation.TO_DOUBLE))
_SAME = frozenset(
    (Operation.TO_DOUBLE, Operation.NEGATE_INTEGER, Operation.NEGATE_DOUBLE, Operation.NOT, Operation.IS_NULL)
)


class PairTables(NamedTuple):
    """All conditions of one call; condition i is `code[starts[i]:starts[i + 1]]`. Arrays only, for compiled code."""

    starts: Integers
    code: Integers
    """[steps, 3]"""
    integers: Integers
    """[columns, rows], with `integer_valid`; NULL is 0."""
    integer_valid: Mask
    doubles: npt.NDArray[np.float64]
    double_valid: Mask
    integer_constants: Integers
    double_constants: npt.NDArray[np.float64]
    table_codes: npt.NDArray[np.int32]
    """[tables, 2, rows]: the number of an event among the different ones on the left, and on the right."""
    table_starts: Integers
    """Where a table begins in `table_values`, and how many entries a left number has there: [tables, 2]."""
    table_values: npt.NDArray[np.int8]
    """1 TRUE, 0 FALSE, -1 NULL."""


@dataclass(slots=True)
class Shelves:
    """Mutable: columns, constants and tables while programs are built; each thing is put up once."""

    rows: int
    integers: list[tuple[Numbers, Mask]] = field(default_factory=list)
    doubles: list[tuple[Numbers, Mask]] = field(default_factory=list)
    integer_constants: list[int] = field(default_factory=list)
    double_constants: list[float] = field(default_factory=list)
    table_codes: list[tuple[Integers, Integers]] = field(default_factory=list)
    tables: list[npt.NDArray[np.int8]] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)

    def integer(self, numbers: Numbers, valid: Mask) -> int:
        """The place of an integer column; the same array stands in one place."""
        return self._place(self.integers, numbers, valid)

    def push(self, leaf: Leaf, side: bool) -> Step:
        """The step that pushes a leaf of numbers for the event on this side."""
        if leaf.is_integer:
            return Operation.PUSH_INTEGER, self.integer(leaf.numbers, leaf.valid), int(side)
        return Operation.PUSH_DOUBLE, self._place(self.doubles, leaf.numbers, leaf.valid), int(side)

    def constant(self, value: float | None) -> Step:
        """The step that pushes a constant."""
        if value is None:
            return Operation.NULL, 0, 0
        if isinstance(value, int):
            self.integer_constants.append(value)
            return Operation.INTEGER_CONSTANT, len(self.integer_constants) - 1, 0
        self.double_constants.append(value)
        return Operation.DOUBLE_CONSTANT, len(self.double_constants) - 1, 0

    def table(self, left: Integers, right: Integers, values: npt.NDArray[np.int8]) -> Step:
        """The step that looks a pair up; `values` is [left number, right number]."""
        self.table_codes.append((left, right))
        self.tables.append(values)
        return Operation.TABLE, len(self.tables) - 1, 0

    def _place(self, shelf: list[tuple[Numbers, Mask]], numbers: Numbers, valid: Mask) -> int:
        if id(numbers) not in self.places:
            self.places[id(numbers)] = len(shelf)
            self.kept.append(numbers)  # so that its id stays its own
            shelf.append((numbers, valid))
        return self.places[id(numbers)]

    def packed(self, programs: list[Steps]) -> PairTables:
        """Everything as arrays."""
        codes = [np.stack(pair).astype(np.int32) for pair in self.table_codes]
        starts = np.cumsum([0, *(table.size for table in self.tables)])[:-1]
        return PairTables(
            np.cumsum([0, *map(len, programs)]).astype(np.int64),
            np.array([step for program in programs for step in program], np.int64).reshape(-1, 3),
            *self._stacked(self.integers, np.int64),
            *self._stacked(self.doubles, np.float64),
            np.array(self.integer_constants, np.int64),
            np.array(self.double_constants, np.float64),
            np.stack(codes) if codes else np.empty((0, 2, self.rows), np.int32),
            np.array(
                [(start, table.shape[1]) for start, table in zip(starts, self.tables, strict=True)], np.int64
            ).reshape(-1, 2),
            np.concatenate([np.empty(0, np.int8), *(table.ravel() for table in self.tables)]),
        )

    def _stacked(self, shelf: list[tuple[Numbers, Mask]], number: Any) -> tuple[Any, Any]:
        if len(shelf) == 1:  # as it is: a copy would cost as much as a fold
            ((column, known),) = shelf
            return frozen(np.asarray(column, number)[None]), frozen(np.asarray(known, np.bool_)[None])
        numbers, valid = (
            np.empty((len(shelf), self.rows), number),
            np.empty((len(shelf), self.rows), np.bool_),
        )
        for place, (column, known) in enumerate(shelf):
            numbers[place], valid[place] = column, known
        return frozen(numbers), frozen(valid)


def height(steps: Steps) -> int:
    """The most values that steps have on the stack at a time."""
    most = now = 0
    for operation, _, _ in steps:
        now += 1 if operation in _GROWING else 0 if operation in _SAME else -1
        most = max(most, now)
    return most
