"""Adjacent conditions compiled for pairs: the same truth as the closure, for every pair of rows of every stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pytest
from numba import njit

from hamlet_core.engines.hamlet.automaton.condition_arithmetic import (
    difference_fits,
    divided,
    order_with_double,
    product_fits,
    rest,
    sum_fits,
)
from hamlet_core.engines.hamlet.automaton.conditions import holds
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
from hamlet_core.predicates.arithmetic import divide, modulo
from hamlet_core.predicates.evaluate import compile_adjacent
from hamlet_core.predicates.one_sided import sides
from hamlet_core.predicates.order_keys import double_keys
from hamlet_core.predicates.pair_tables import Operation
from hamlet_core.predicates.pairs import Ordered, PairTables, compile_pairs
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import Column
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
    "y": (Kind.INTEGER, (0, 1, MOST - 1, MOST)),
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
    plain = (0, 1, 2, 3, -1, 60, 2**53 + 1, MOST, 10**25, "ab", True, None)
    points = (D("0.5"), D("0.1"), D("2"), D("1e30"), D("1e400"))
    lengths = (Duration(SECOND), Duration(MINUTE), Duration(5 * MINUTE), Timestamp(MINUTE))
    return Literal(random.choice((*plain, *points, *lengths)))


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


def _accepted(
    make: Callable[[], Expression], columns: Mapping[str, Column], unit: int, *, mixed: bool
) -> Expression:
    """The first condition that has a meaning; `mixed`: and reads both events."""
    while True:
        expression = make()
        if mixed and len(sides(expression)) < 2:
            continue
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
            _accepted(
                lambda: _condition(random, random.randint(0, 2)), columns, unit, mixed=random.random() < 0.8
            )
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


def few(*names: str) -> dict[str, Column]:
    """Columns of some of the values, all of one length."""
    length = max(len(VALUES[name][1]) for name in names) + 1
    return {
        name: Column(name, VALUES[name][0], 0, (list(VALUES[name][1]) + [None] * length)[:length])
        for name in names
    }


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        *((name, name) for name in NAMES),
        *(pair for pair in ("vd", "dv", "we", "ew", "vm", "wx", "xw", "md", "vw")),
    ],
)
def test_a_comparison_of_two_columns_is_one_step_and_one_pair_of_keys(
    left: str, right: str, sign: str
) -> None:
    columns = few(*dict.fromkeys((left, right)))
    tables, ordered = check([compare(here(left), sign, there(right))], columns)
    assert ordered
    assert len(tables.code) == 1
    assert tables.code[0, 0] < Operation.REQUIRE
    backwards, _ = check([compare(there(right), sign, here(left))], columns)
    assert len(backwards.code) == 1


def difference(name: str) -> Arithmetic:
    return Arithmetic(LESS, there(name), here(name))


@pytest.mark.parametrize(
    ("columns", "condition", "unit"),
    [
        ("v", compare(difference("v"), ">", Literal(2)), 1),
        ("v", compare(there("v"), "<=", Arithmetic(PLUS, here("v"), Literal(3))), 1),
        ("v", compare(Arithmetic(TIMES, Literal(2), difference("v")), "!=", Literal(D("2.5"))), 1),
        ("v", compare(Minus(difference("v")), "<", Literal(D("0.5"))), 1),
        ("vu", compare(Arithmetic(PLUS, difference("v"), here("u")), ">=", there("u")), 1),
        ("time", compare(difference("time"), "<", Literal(Duration(5 * MINUTE))), SECOND),
        ("time", compare(difference("time"), "<", Literal(Duration(5 * MINUTE))), MINUTE),
        ("time", compare(difference("time"), "<", Arithmetic(PLUS, here("long"), there("long"))), MINUTE),
        ("at", compare(difference("at"), "<=", Literal(Duration(MINUTE))), 1),
        ("at", compare(Arithmetic(TIMES, difference("at"), Literal(D("0.5"))), ">", Literal(Duration(1))), 1),
        ("m", compare(difference("m"), ">", Literal(D("0.5"))), 1),
        ("v", Negation(compare(difference("v"), "=", Literal(2))), 1),
        ("v", Between(there("v"), here("v"), Arithmetic(PLUS, here("v"), Literal(2))), 1),
        ("v", Negation(Disjunction((compare(here("v"), "<", there("v")), IsNull(here("v"))))), 1),
        ("v", InList(here("v"), (there("v"), Arithmetic(PLUS, there("v"), Literal(1))), negated=True), 1),
        ("s", InList(here("s"), (there("s"),)), 1),
        ("v", Conjunction((compare(here("v"), "<", there("v")), compare(there("v"), ">", Literal(1)))), 1),
    ],
)
def test_steps_and_their_kin_are_keys(columns: str, condition: Expression, unit: int) -> None:
    names = [columns] if columns in VALUES else list(columns)
    tables, ordered = check([condition], few(*names, "long"), unit)
    assert ordered
    assert max(operations(tables)) < Operation.REQUIRE


@pytest.mark.parametrize(
    ("columns", "condition", "operation"),
    [
        ("w", compare(difference("w"), ">", Literal(2)), Operation.SUBTRACT_INTEGERS),
        ("yv", compare(Arithmetic(PLUS, here("y"), there("v")), ">", Literal(3)), Operation.ADD_INTEGERS),
        (
            "yv",
            compare(Arithmetic(LESS, here("v"), there("y")), "<", Literal(3)),
            Operation.SUBTRACT_INTEGERS,
        ),
        ("y", compare(difference("y"), "<", Minus(difference("y"))), Operation.COMPARE_INTEGERS),
        ("d", compare(difference("d"), ">", Literal(2)), Operation.SUBTRACT_DOUBLES),
        (
            "v",
            compare(Arithmetic(TIMES, here("v"), there("v")), ">", Literal(3)),
            Operation.MULTIPLY_INTEGERS,
        ),
        (
            "w",
            compare(Arithmetic(OVER, here("w"), there("w")), ">", Literal(D("0.5"))),
            Operation.DIVIDE_INTEGERS,
        ),
        (
            "w",
            compare(Arithmetic(REST, here("w"), there("w")), "<", Literal(D("0.3"))),
            Operation.MODULO_INTEGERS,
        ),
        ("w", compare(difference("w"), "=", Literal(D("2.1"))), Operation.SUBTRACT_INTEGERS),
        ("we", compare(difference("w"), "<", here("e")), Operation.COMPARE_INTEGER_WITH_DOUBLE),
        ("we", compare(here("e"), "<", difference("w")), Operation.COMPARE_DOUBLE_WITH_INTEGER),
        ("ve", compare(Arithmetic(TIMES, there("v"), here("e")), "<", Literal(3)), Operation.TO_DOUBLE),
        (
            "s",
            Disjunction((compare(here("s"), "<", there("s")), Like(there("s"), "a%"))),
            Operation.KEYS_LESS,
        ),
        ("w", IsNull(Arithmetic(PLUS, here("w"), there("w"))), Operation.IS_NULL),
        ("m", compare(Arithmetic(TIMES, here("m"), there("m")), ">", Literal(3)), Operation.TABLE),
        ("x", compare(difference("x"), ">", Literal(3)), Operation.TABLE),
        ("v", compare(Arithmetic(OVER, Literal(10**25), difference("v")), ">", Literal(3)), Operation.TABLE),
    ],
)
def test_what_mixes_the_events_is_a_program(
    columns: str, condition: Expression, operation: Operation
) -> None:
    tables, ordered = check([condition], few(*columns))
    assert not ordered
    assert operation in operations(tables)


@pytest.mark.parametrize("unit", [1, 1_000, SECOND, MINUTE])
def test_lengths_of_both_events_count_in_ticks(unit: int) -> None:
    columns = few("time", "long", "v", "d")
    for factor in ("v", "d"):
        length = Arithmetic(TIMES, here("long"), there(factor))
        check([compare(difference("time"), "<", length)], columns, unit)
        check([compare(Arithmetic(PLUS, here("time"), length), ">=", there("time"))], columns, unit)


def test_a_deep_calculation_needs_no_deep_stack() -> None:
    deep: Expression = there("v")
    for _ in range(90):
        deep = Arithmetic(REST, here("v"), Arithmetic(PLUS, Literal(5), deep))
    tables, _ = check([compare(deep, "<", Literal(1))], few("v"))
    assert Operation.TABLE in operations(tables)


def test_a_table_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    condition = compare(Arithmetic(TIMES, here("m"), there("m")), ">", Literal(3))
    monkeypatch.setattr(pair_program, "MOST_ENTRIES", 49)
    check([condition], few("m"))
    monkeypatch.setattr(pair_program, "MOST_ENTRIES", 48)
    with pytest.raises(StreamError) as caught:
        compile_pairs([[condition]], few("m"), unit=1)
    assert caught.value.code == "E218"
    assert "a.m * NEXT(b).m > 3 would need a table of 7 times 7" in caught.value.message
    assert "greta" in caught.value.hint


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        (compare(here("v"), "<", there("s")), "E121"),
        (Arithmetic(PLUS, here("v"), there("v")), "E120"),
        (compare(difference("time"), "<", Literal(Duration(1))), "E220"),
    ],
)
def test_what_has_no_meaning_is_refused_as_ever(condition: Expression, code: str) -> None:
    with pytest.raises(QueryMeaningError) as caught:
        compile_pairs([[condition]], few("v", "s", "time"), unit=SECOND)
    assert caught.value.code == code


def test_equal_columns_and_keys_are_kept_once() -> None:
    columns = few("v", "s", "d")
    rising = compare(here("v"), "<", there("v"))
    same = compare(Attribute("x", "s"), "=", Attribute("y", "s", next=True))
    either = Disjunction((rising, compare(here("s"), "<", there("s"))))
    tables, separated = compile_pairs([[rising], [rising, same], [either], [same]], columns, unit=1)
    assert len(tables.integers) == 2
    assert [None if atoms is None else len(atoms) for atoms in separated] == [1, 2, None, 1]
    for number, condition in enumerate(([rising], [rising, same], [either], [same])):
        assert (compiled(tables, number, columns) == expected(condition, columns)).all()


def test_a_step_below_int64_is_null_whatever_its_sign() -> None:
    columns = {
        "g": Column("g", Kind.INTEGER, 0, [-5, -1]),
        "y": Column("y", Kind.INTEGER, 0, [0, MOST]),
        "h": Column("h", Kind.INTEGER, 0, [0, MOST // 2]),
    }
    for left in (here("g"), Arithmetic(LESS, here("g"), Literal(1))):
        check([compare(Arithmetic(LESS, left, there("y")), "<", Literal(0))], columns)
    twice = Arithmetic(TIMES, Literal(-3), Arithmetic(PLUS, here("g"), there("h")))
    check([compare(twice, "<", Literal(0))], columns)


def test_a_difference_is_not_its_opposite() -> None:
    up, down = difference("v"), Arithmetic(LESS, here("v"), there("v"))
    conditions = [[compare(up, "<", Literal(2))], [compare(down, "<", Literal(2))]]
    tables, _ = compile_pairs(conditions, few("v"), unit=1)
    for number, condition in enumerate(conditions):
        assert (compiled(tables, number, few("v")) == expected(condition, few("v"))).all()


def test_a_stream_without_events_and_a_call_without_conditions() -> None:
    empty = {name: Column(name, kind, 0, []) for name, (kind, _) in VALUES.items()}
    product = compare(Arithmetic(TIMES, here("m"), there("m")), ">", Literal(3))
    tables, separated = compile_pairs([[compare(here("v"), "<", there("v"))], [product]], empty, unit=1)
    assert tables.integers.shape[1] == 0
    assert separated[0] is not None
    assert compile_pairs([], few("v"), unit=1)[1] == ()
    tables, (none,) = compile_pairs([[]], few("v"), unit=1)
    assert none == ()
    assert compiled(tables, 0, few("v")).all()


def test_keys_of_doubles_stand_in_their_order() -> None:
    ordered = [-np.inf, -1.7e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.7e308, np.inf]
    keys = double_keys(np.array(ordered))
    assert (np.diff(keys) > 0).all()
    assert double_keys(np.array([-0.0])) == double_keys(np.array([0.0]))


def test_compiled_arithmetic_is_exact() -> None:
    random = Random(3)
    edges = [-MOST - 1, -MOST, -1, 0, 1, 2, 3, 2**53, 2**53 + 1, 3037000500, MOST - 1, MOST]
    numbers = edges + [random.randint(-MOST - 1, MOST) >> random.randint(0, 62) for _ in range(60)]
    inside = range(-MOST - 1, MOST + 1)
    for x in numbers:
        for y in numbers:
            assert sum_fits(x, y) == (x + y in inside)
            assert difference_fits(x, y) == (x - y in inside)
            assert product_fits(x, y) == (x * y in inside)
            if y:
                assert rest(x, y) == modulo(x, y)
                assert divided(x, y) == divide(x, y)
            for double in (float(y), y + 0.5, y * 0.7, y * 1e9):
                assert order_with_double(x, double) == (x > double) - (x < double)
