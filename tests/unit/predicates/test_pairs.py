"""Adjacent conditions compiled for pairs: the same truth as the closure, for every pair of rows of every stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pytest
from numba import njit

from hamlet_core.encoded import Column
from hamlet_core.engines.hamlet.exact_numbers import divided, order_with_double
from hamlet_core.engines.hamlet.pairs import holds
from hamlet_core.errors import QueryMeaningError, StreamError
from hamlet_core.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Between,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Disjunction,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Minus,
    Negation,
    Timestamp,
)
from hamlet_core.predicates import pair_program
from hamlet_core.predicates.evaluate import compile_adjacent
from hamlet_core.predicates.kinds import Kind
from hamlet_core.predicates.order_keys import double_keys
from hamlet_core.predicates.pair_tables import Operation
from hamlet_core.predicates.pairs import Ordered, PairTables, compile_pairs
from tests.properties.predicates import adjacent

PLUS, LESS, TIMES, OVER, REST = map(ArithmeticOperator, "+-*/%")
SIGNS = {sign.value: sign for sign in ComparisonOperator}
D = Decimal
MOST = 2**63 - 1
SECOND, MINUTE = 1_000_000, 60_000_000
COMPARES: dict[ComparisonOperator, Callable[[Any, Any], Any]] = {
    ComparisonOperator.EQUAL: np.equal,
    ComparisonOperator.UNEQUAL: np.not_equal,
    ComparisonOperator.LESS: np.less,
    ComparisonOperator.AT_MOST: np.less_equal,
    ComparisonOperator.GREATER: np.greater,
    ComparisonOperator.AT_LEAST: np.greater_equal,
}


@njit
def _matrix(tables: Any, condition: int, rows: int) -> Any:
    found = np.zeros((rows, rows), np.bool_)
    for left in range(rows):
        for right in range(rows):
            found[left, right] = holds(tables, condition, left, right)
    return found


def compiled(tables: PairTables, condition: int, columns: Mapping[str, Column]) -> Any:
    return _matrix(tables, condition, len(next(iter(columns.values())).array))


def expected(condition: Sequence[Expression], columns: Mapping[str, Column], unit: int = 1) -> Any:
    tests = [compile_adjacent(one, columns, unit=unit) for one in condition]
    rows = range(len(next(iter(columns.values())).array))
    truth = [[all(test(left, right) is True for test in tests) for right in rows] for left in rows]
    return np.array(truth, np.bool_).reshape(len(rows), len(rows))


def by_keys(atoms: Sequence[Ordered], rows: int) -> Any:
    found = np.ones((rows, rows), np.bool_)
    for one in atoms:
        assert one.left.dtype == one.right.dtype == np.int64
        found &= COMPARES[one.operator](one.left[:, None], one.right[None, :])
        found &= one.left_valid[:, None] & one.right_valid[None, :]
    return found


def check(
    condition: Sequence[Expression], columns: Mapping[str, Column], unit: int = 1
) -> tuple[PairTables, bool]:
    """Compare with the closures; the tables, and whether there are ordered keys."""
    tables, (atoms,) = compile_pairs([condition], columns, unit=unit)
    wanted = expected(condition, columns, unit)
    assert (compiled(tables, 0, columns) == wanted).all(), condition
    if atoms is not None:
        assert (by_keys(atoms, len(wanted)) == wanted).all(), condition
    return tables, atoms is not None


def operations(tables: PairTables) -> list[Operation]:
    return [Operation(step) for step in tables.code[:, 0].tolist()]


def here(name: str) -> Attribute:
    return Attribute("a", name)


def there(name: str) -> Attribute:
    return Attribute("b", name, next=True)


def compare(left: Expression, sign: str, right: Expression) -> Comparison:
    return Comparison(SIGNS[sign], left, right)


VALUES: dict[str, tuple[Kind, tuple[Any, ...]]] = {
    "v": (Kind.INTEGER, (-3, -1, 0, 1, 2, 2, 5, 7)),
    "u": (Kind.INTEGER, (0, 1, 2, 3)),
    "w": (Kind.INTEGER, (-MOST - 1, -MOST, -1, 0, 1, 2**53, 2**53 + 1, MOST - 1, MOST)),
    "d": (Kind.DOUBLE, (-2.5, -0.0, 0.0, 0.1, 0.5, 1.0, 2.0, 3.25, 7.0)),
    "e": (Kind.DOUBLE, (-1.7e308, -(2.0**63), -5e-324, 0.0, 5e-324, 2.0**53, 2.0**63, 1.7e308, 0.1)),
    "m": (Kind.DECIMAL, tuple(map(D, ("-1.50", "0.00", "0.10", "0.50", "2.00", "7.00")))),
    "x": (Kind.DECIMAL, tuple(map(D, ("-9e37", "0", "1e-19", "9223372036854775807.5", "9e37")))),
    "s": (Kind.TEXT, ("", "a", "ab", "abc", "b", "Pool", "\u00e9", "\U0001f600", "\uffee")),
    "f": (Kind.BOOLEAN, (True, False)),
    "time": (Kind.TICK, (0, 1, 2, 3, 60, 61, 300)),
    "at": (Kind.TIMESTAMP, (0, 1, SECOND, MINUTE, MINUTE + 1, 5 * MINUTE)),
    "long": (Kind.DURATION, (0, 1, SECOND, 2 * SECOND, MINUTE)),
    "n": (Kind.NULL, ()),
    "z": (Kind.INTEGER, ()),
}
NAMES = tuple(VALUES)


def stream(random: Random, rows: int) -> dict[str, Column]:
    columns = {}
    for name, (kind, values) in VALUES.items():
        picked = [random.choice(values) if values and random.random() < 0.85 else None for _ in range(rows)]
        columns[name] = Column(name, kind, 2 if kind is Kind.DECIMAL else 0, picked)
    return columns


def _literal(random: Random) -> Expression:
    return Literal(
        random.choice(
            (
                0,
                1,
                2,
                3,
                -1,
                60,
                2**53 + 1,
                MOST,
                10**25,
                D("0.5"),
                D("0.1"),
                D("2"),
                D("1e30"),
                D("1e400"),
                None,
            )
            + (Duration(SECOND), Duration(MINUTE), Duration(5 * MINUTE), Timestamp(MINUTE), "ab", True)
        )
    )


def _value(random: Random, depth: int) -> Expression:
    draw = random.random()
    if not depth or draw < 0.35:
        name = random.choice(NAMES)
        return here(name) if random.random() < 0.5 else there(name)
    if draw < 0.45:
        return _literal(random)
    if draw < 0.55:
        return Minus(_value(random, depth - 1))
    sign = random.choice((PLUS, LESS, LESS, TIMES, OVER, REST))
    return Arithmetic(sign, _value(random, depth - 1), _value(random, depth - 1))


def _condition(random: Random, depth: int) -> Expression:
    draw = random.random()
    if depth and draw < 0.45:
        parts = tuple(_condition(random, depth - 1) for _ in range(random.randint(2, 3)))
        return random.choice((Negation(parts[0]), Conjunction(parts), Disjunction(parts)))
    one, two, three = (_value(random, random.randint(0, 2)) for _ in range(3))
    if draw < 0.55:
        return IsNull(one, random.random() < 0.5)
    if draw < 0.62:
        return Between(one, two, three, random.random() < 0.5)
    if draw < 0.69:
        return InList(one, (two, three), random.random() < 0.5)
    if draw < 0.71:
        return Like(one, "a%", random.random() < 0.5)
    if draw < 0.73:
        return compare(_condition(random, 0), random.choice("=<"), _condition(random, 0))
    return Comparison(random.choice(tuple(ComparisonOperator)), one, two)


def _accepted(make: Callable[[], Expression], columns: Mapping[str, Column], unit: int) -> Expression:
    while True:
        expression = make()
        try:
            compile_adjacent(expression, columns, unit=unit)
        except QueryMeaningError:
            continue
        return expression


@pytest.mark.parametrize("seed", range(40))
def test_random_conditions_say_what_the_closures_say(seed: int) -> None:
    random = Random(seed)
    unit = random.choice((1, 1_000, SECOND, MINUTE))
    columns = stream(random, random.choice((1, 4, 9)))
    conditions = [
        [
            _accepted(lambda: _condition(random, random.randint(0, 2)), columns, unit)
            for _ in range(random.choice((1, 1, 2)))
        ]
        for _ in range(60)
    ]
    tables, separated = compile_pairs(conditions, columns, unit=unit)
    for number, (condition, atoms) in enumerate(zip(conditions, separated, strict=True)):
        wanted = expected(condition, columns, unit)
        assert (compiled(tables, number, columns) == wanted).all(), (number, condition)
        if atoms is not None:
            assert (by_keys(atoms, len(wanted)) == wanted).all(), (number, condition)


@pytest.mark.parametrize("seed", range(10))
def test_the_predicates_of_the_differential_tests_say_what_the_closures_say(seed: int) -> None:
    random = Random(seed)
    columns = stream(random, 12)
    conditions = [[adjacent(random, "a", "b")] for _ in range(100)]
    tables, separated = compile_pairs(conditions, columns, unit=SECOND)
    for number, (condition, atoms) in enumerate(zip(conditions, separated, strict=True)):
        wanted = expected(condition, columns, SECOND)
        assert (compiled(tables, number, columns) == wanted).all(), condition
        if atoms is not None:
            assert (by_keys(atoms, 12) == wanted).all(), condition
