"""Local predicates on whole columns: the same rows as the closures find, in every corner of every kind."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core.errors import HamletError, InvariantError, QueryMeaningError
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
from hamlet_core.predicates import vectorised
from hamlet_core.predicates.evaluate import compile_local
from hamlet_core.predicates.vectorised import local_mask, values_of
from hamlet_core.table.encode import EventSchema, encode
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import Column
from tests.properties import predicates

D = Decimal
MOST, LEAST, EXACT = 2**63 - 1, -(2**63), 2**53
ROWS = 40


def agrees(expression: Expression, columns: dict[str, Column], unit: int) -> bool:
    """Whether both ways give the same rows, or the same error; False where the condition means nothing."""
    count = len(next(iter(columns.values())).values)
    try:
        test = compile_local(expression, columns, unit=unit)
    except HamletError as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            local_mask(expression, columns, unit=unit)
        return False
    mask = local_mask(expression, columns, unit=unit)
    assert (mask.dtype, mask.shape) == (np.bool_, (count,))
    assert mask.tolist() == [test(row) is True for row in range(count)], expression
    return True


# --- columns of extremes -------------------------------------------------------------------------

INTEGERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    -7,
    10,
    EXACT,
    EXACT + 1,
    -EXACT - 1,
    MOST,
    MOST - 1,
    LEAST,
    LEAST + 1,
    2**62,
    10**18,
)
DOUBLES = (0.0, -0.0, 0.5, -0.5, 0.1, 0.30000000000000004, 1.0, 3.0, -7.0, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63),
           2.0**63 - 1024, 1e308, -1e308, 5e-324, 1e19)  # fmt: skip
SMALL = ("0.00", "0.10", "-0.10", "0.30", "1.00", "3.00", "-7.25", "12.34")
LARGE = ("0.00", "0.10", "1.00", "-1.00", "92233720368547758.07", "92233720368547758.08", "-92233720368547758.09",
         "9" * 36 + ".99", "-" + "9" * 36 + ".99", "90071992547409.93")  # fmt: skip
WORDS = ("", "a", "ab", "abc", "b", "B", "ä", "\uffff", "\U00010000", "a_b", "a%b", "x\ny")
LENGTHS = (0, 1, -1, 500_000, 1_000_000, -2_000_000, 60_000_000, 90_000_000, MOST, LEAST)
TICKS = (0, 1, -1, 2, 3, 5, 60, 1_000_000, MOST, LEAST)
KINDS: dict[str, tuple[Kind, int, tuple[Any, ...], pa.DataType]] = {
    "n": (Kind.INTEGER, 0, INTEGERS, pa.int64()),
    "i": (Kind.INTEGER, 0, tuple(range(-3, 9)), pa.int64()),
    "d": (Kind.DOUBLE, 0, DOUBLES, pa.float64()),
    "m": (Kind.DECIMAL, 2, tuple(map(D, SMALL)), pa.decimal128(9, 2)),
    "x": (Kind.DECIMAL, 2, tuple(map(D, LARGE)), pa.decimal128(38, 2)),
    "y": (Kind.DECIMAL, 30, (D("0.1").scaleb(-5), D(1), D("-0.125"), D(0)), pa.decimal128(38, 30)),
    "z": (Kind.DECIMAL, 2, tuple(map(D, LARGE)), pa.decimal256(60, 2)),
    "s": (Kind.TEXT, 0, WORDS, pa.large_string()),
    "w": (Kind.TEXT, 0, ("a", "ab", "zz"), pa.large_string()),
    "f": (Kind.BOOLEAN, 0, (True, False), pa.bool_()),
    "g": (Kind.BOOLEAN, 0, (True, False), pa.bool_()),
    "p": (Kind.TIMESTAMP, 0, TICKS, pa.int64()),
    "t": (Kind.TICK, 0, TICKS, pa.int64()),
    "l": (Kind.DURATION, 0, LENGTHS, pa.int64()),
    "e": (Kind.DURATION, 0, (0, 1_000_000, 120_000_000), pa.int64()),
    "o": (Kind.NULL, 0, (None,), pa.null()),
}


def table(random: Random, rows: int) -> dict[str, Column]:
    """A column of every kind: with NULLs, without, or nothing but NULL."""
    found = {}
    for name, (kind, scale, values, data_type) in KINDS.items():
        nulls = random.choice((0.0, 0.0, 0.2, 0.2, 1.0 if random.random() < 0.2 else 0.1))
        listed = [None if random.random() < nulls else random.choice(values) for _ in range(rows)]
        if kind is Kind.DOUBLE and random.random() < 0.3:
            listed = [None if value is None else random.gauss(0, 3) for value in listed]
        array = pa.array(listed, data_type)
        if kind is Kind.TEXT:
            array = array.dictionary_encode()
        found[name] = Column(name, kind, scale, array)
    return found


# --- random expressions --------------------------------------------------------------------------

NUMBERS = ("n", "i", "d", "m", "x", "y", "z")
CONSTANTS = (0, 1, -1, 2, 3, 10, EXACT, EXACT + 1, MOST, LEAST, MOST + 1, LEAST - 1, 10**30, 10**400, -(10**400), None,
             D("0.5"), D("0.1"), D("0.3"), D("-7.25"), D("2.50"), D("1E+3"), D("1E-7"), D("1E+400"), D("-1E+400"),
             D("1E-400"), D("9007199254740993.5"), D("9223372036854775807.5"), D("92233720368547758.07"), D("0.0"),
             D("1E-30"), D("123456789012345678901234567890.12345678"))  # fmt: skip


def attribute(random: Random, names: str | tuple[str, ...]) -> Attribute:
    return Attribute("a", random.choice(names))


def number(random: Random, depth: int = 2) -> Expression:
    choice = random.random()
    if depth == 0 or choice < 0.35:
        return attribute(random, NUMBERS)
    if choice < 0.5:
        return Literal(random.choice(CONSTANTS))
    if choice < 0.6:
        return Minus(number(random, depth - 1))
    sign = random.choice(tuple(ArithmeticOperator))
    return Arithmetic(sign, number(random, depth - 1), number(random, depth - 1))


def length(random: Random, depth: int = 1) -> Expression:
    """A length of time, or what comes near to one."""
    choice = random.random()
    if depth == 0 or choice < 0.3:
        return attribute(random, "le")
    if choice < 0.5:
        return Literal(Duration(random.choice((0, 1, 500_000, 1_000_000, 60_000_000, 120_000_000, 10**15))))
    if choice < 0.6:
        return Minus(length(random, depth - 1))
    if choice < 0.75:
        time = random.choice("tp")
        return Arithmetic(ArithmeticOperator.SUBTRACT, Attribute("a", time), moment(random, depth - 1))
    sign = random.choice(tuple(ArithmeticOperator))
    other = random.choice((number, length))(random, depth - 1)
    return Arithmetic(sign, length(random, depth - 1), other)


def moment(random: Random, depth: int = 1) -> Expression:
    choice = random.random()
    if depth == 0 or choice < 0.5:
        return attribute(random, "tp")
    if choice < 0.65:
        return Literal(random.choice((Timestamp(0), Timestamp(1_000_000), Timestamp(MOST))))
    sign = random.choice((ArithmeticOperator.ADD, ArithmeticOperator.SUBTRACT))
    return Arithmetic(sign, moment(random, depth - 1), random.choice((length, number))(random, depth - 1))


def word(random: Random) -> Expression:
    return attribute(random, "sw") if random.random() < 0.6 else Literal(random.choice((*WORDS, "ac", None)))


def boolean(random: Random) -> Expression:
    return random.choice((attribute(random, "fg"), Literal(random.choice((True, False, None)))))


SIDES = (number, number, number, length, moment, word, boolean)


def side(random: Random) -> Any:
    family = random.choice(SIDES)
    mixed = {
        number: (number, number, moment),
        length: (length, length, number),
        moment: (moment, number, length),
    }
    return lambda: random.choice(mixed.get(family, (family,)))(random)


def condition(random: Random, depth: int = 2) -> Expression:
    choice = random.random()
    negated = random.random() < 0.3
    if depth and choice < 0.25:
        parts = tuple(condition(random, depth - 1) for _ in range(random.choice((2, 2, 3))))
        return random.choice((Conjunction, Disjunction))(parts)
    if depth and choice < 0.33:
        return Negation(condition(random, depth - 1))
    if choice < 0.38:
        return random.choice((attribute(random, "fgo"), Literal(None), Literal(True)))
    if choice < 0.45:
        return Like(word(random), random.choice(("%", "a%", "_", "%b", "a_b", "")), negated)
    operand = side(random)
    if choice < 0.55:
        items = tuple(operand() for _ in range(random.choice((1, 2, 3, 12))))
        if random.random() < 0.7:
            items = tuple(item if isinstance(item, Literal) else Literal(1) for item in items)
        return InList(operand(), items, negated)
    if choice < 0.65:
        return Between(operand(), operand(), operand(), negated)
    if choice < 0.72:
        return IsNull(operand() if random.random() < 0.8 else condition(random, 0), negated)
    if choice < 0.75:
        flag = condition(random, 0)
        return Comparison(
            random.choice(tuple(ComparisonOperator)), flag, random.choice((boolean(random), flag))
        )
    return Comparison(random.choice(tuple(ComparisonOperator)), operand(), operand())


@pytest.mark.parametrize("seed", range(8))
def test_random_conditions_find_the_rows_that_the_closures_find(seed: int) -> None:
    random = Random(seed)
    found = 0
    for turn in range(300):
        columns = table(random, random.choice((0, 1, ROWS)) if turn % 10 == 0 else ROWS)
        for _ in range(3):
            found += agrees(condition(random), columns, random.choice((1, 1_000, 1_000_000, 60_000_000)))
    assert found > 400


@pytest.mark.parametrize("seed", range(2))
def test_predicates_of_the_language_on_encoded_streams(seed: int) -> None:
    random = Random(seed)
    schema = pa.schema(
        [
            ("time", pa.int32()),
            ("type", pa.string()),
            ("v", pa.int16()),
            ("u", pa.int64()),
            ("d", pa.float32()),
            ("m", pa.decimal128(12, 2)),
            ("s", pa.dictionary(pa.int8(), pa.string())),
        ]
    )
    found = 0
    for _ in range(60):
        rows = [
            {
                "time": random.randint(-3, 20),
                "type": random.choice("ABN"),
                "v": random.choice((None, *range(10))),
                "u": random.randint(1, 2),
                "d": random.choice((None, random.randint(-8, 30) / 4)),
                "m": random.choice((None, D(random.randint(-200, 900)) / 100)),
                "s": random.choice((None, *predicates.WORDS)),
            }
            for _ in range(random.choice((0, 1, 30)))
        ]
        events = pa.Table.from_pylist(rows, schema)
        stream = encode(events, EventSchema(), ["time", "type", *"vudms"], frozenset("AB"))
        for _ in range(25):
            found += agrees(predicates.local(random, "a"), stream.columns, stream.unit)
    assert found > 1000


# --- the cases that random ones may miss ---------------------------------------------------------

V, W = Attribute("a", "v"), Attribute("a", "w")


@pytest.mark.parametrize("operator", tuple(ComparisonOperator))
@pytest.mark.parametrize("left", sorted(set(NUMBERS)))
@pytest.mark.parametrize("right", sorted(set(NUMBERS)))
def test_every_pair_of_extremes_compares_exactly(operator: ComparisonOperator, left: str, right: str) -> None:
    pairs = [(x, y) for x in (*KINDS[left][2], None) for y in (*KINDS[right][2], None)]
    columns = {
        name: Column(
            name, KINDS[of][0], KINDS[of][1], pa.array([pair[place] for pair in pairs], KINDS[of][3])
        )
        for place, (name, of) in enumerate((("v", left), ("w", right)))
    }
    assert agrees(Comparison(operator, V, W), columns, 1)


@pytest.mark.parametrize("name", sorted({*NUMBERS, "l", "t"}))
def test_every_extreme_against_every_constant(name: str) -> None:
    kind, scale, values, data_type = KINDS[name]
    columns = {"v": Column("v", kind, scale, pa.array([*values, None], data_type))}
    literals = [Literal(value) for value in CONSTANTS]
    if name == "l":
        literals = [Literal(Duration(value)) for value in LENGTHS]
    for literal in literals:
        for operator in ComparisonOperator:
            assert agrees(Comparison(operator, V, literal), columns, 1)
            assert agrees(Comparison(operator, literal, V), columns, 1)
        assert agrees(InList(V, (literal, Literal(None))), columns, 1)


@pytest.mark.parametrize("operator", tuple(ArithmeticOperator))
@pytest.mark.parametrize("left", sorted({*NUMBERS}))
@pytest.mark.parametrize("right", sorted({*NUMBERS}))
def test_every_pair_of_extremes_has_the_same_arithmetic(
    operator: ArithmeticOperator, left: str, right: str
) -> None:
    """Seen through comparisons of the result with itself, with NULL and with what it might be."""
    pairs = [(x, y) for x in (*KINDS[left][2], None) for y in (*KINDS[right][2], None)]
    columns = {
        name: Column(
            name, KINDS[of][0], KINDS[of][1], pa.array([pair[place] for pair in pairs], KINDS[of][3])
        )
        for place, (name, of) in enumerate((("v", left), ("w", right)))
    }
    result = Arithmetic(operator, V, W)
    assert agrees(IsNull(result), columns, 1)
    for other in (V, W, *map(Literal, (0, 1, D("0.5"), MOST, LEAST))):
        assert agrees(Comparison(ComparisonOperator.LESS, result, other), columns, 1)
        assert agrees(Comparison(ComparisonOperator.EQUAL, result, other), columns, 1)


def test_quotients_and_decimals_are_the_nearest_doubles_also_beyond_exact_ones() -> None:
    random = Random(5)
    whole = [(random.getrandbits(59) - 2**58, random.getrandbits(56) + 1) for _ in range(500)]
    exact = [D(random.getrandbits(62)).scaleb(-6) for _ in range(500)]
    columns = {
        "v": Column("v", Kind.INTEGER, 0, pa.array([x for x, _ in whole])),
        "w": Column("w", Kind.INTEGER, 0, pa.array([y for _, y in whole])),
        "d": Column("d", Kind.DOUBLE, 0, pa.array([x / y for x, y in whole])),
        "m": Column("m", Kind.DECIMAL, 6, pa.array(exact, pa.decimal128(19, 6))),
        "e": Column("e", Kind.DOUBLE, 0, pa.array([float(value) for value in exact])),
    }
    quotient = Arithmetic(ArithmeticOperator.DIVIDE, V, W)
    for left, right in ((quotient, "d"), (Attribute("a", "m"), "e")):
        equal = Comparison(ComparisonOperator.EQUAL, left, Attribute("a", right))
        assert local_mask(equal, columns, unit=1).all()


def test_a_long_list_is_one_look_up_and_exact() -> None:
    literals = tuple(Literal(value) for value in (*CONSTANTS, *range(20)))
    for name in NUMBERS:
        kind, scale, values, data_type = KINDS[name]
        columns = {"v": Column("v", kind, scale, pa.array([*values, None], data_type))}
        for items in (literals, tuple(item for item in literals if item.value is not None)):
            assert agrees(InList(V, items), columns, 1)
            assert agrees(InList(V, items, negated=True), columns, 1)


def test_sliced_arrays_and_lists_are_columns_too() -> None:
    for kind, values in ((Kind.INTEGER, [1, None, 3]), (Kind.DECIMAL, [D("1.5"), None, D("3.25")]),
                         (Kind.TEXT, ["a", None, "b"]), (Kind.BOOLEAN, [True, None, False]),
                         (Kind.DECIMAL, [None, None, None]), (Kind.DOUBLE, [0.5, None, 2.0])):  # fmt: skip
        literal = {Kind.TEXT: "b", Kind.BOOLEAN: False}.get(kind, 3)
        listed = Column("v", kind, 2, values)
        for column in (
            listed,
            Column("v", kind, 2, listed.array[1:]),
            Column("v", kind, 2, listed.array[:0]),
        ):
            assert agrees(Comparison(ComparisonOperator.AT_LEAST, V, Literal(literal)), {"v": column}, 1)
            assert agrees(IsNull(V), {"v": column}, 1)


def test_closures_are_called_once_per_combination_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def watched(expression: Expression, columns: dict[str, Column], **options: Any) -> Any:
        sizes.append(len(next(iter(columns.values())).data))
        return compile_local(expression, columns, **options)

    monkeypatch.setattr(vectorised, "compile_local", watched)
    values = pa.array([D(10) ** 20, None, D(1)] * 1000, pa.decimal128(38, 2))
    other = pa.array([1, 1, 2] * 1000)
    columns = {"v": Column("v", Kind.DECIMAL, 2, values), "w": Column("w", Kind.INTEGER, 0, other)}
    over = Comparison(ComparisonOperator.GREATER, Arithmetic(ArithmeticOperator.MULTIPLY, V, W), Literal(5))
    assert local_mask(over, columns, unit=1).tolist() == [True, False, False] * 1000
    assert sizes == [0, 3]


def test_a_condition_without_attributes_needs_the_number_of_rows() -> None:
    assert local_mask(Literal(True), {}, unit=1, count=2).tolist() == [True, True]
    assert local_mask(Literal(None), {}, unit=1, count=2).tolist() == [False, False]


def test_errors_are_those_of_the_closures() -> None:
    column = {"v": Column("v", Kind.TICK, 0, [1])}
    step = Arithmetic(ArithmeticOperator.SUBTRACT, V, V)
    with pytest.raises(QueryMeaningError) as caught:
        local_mask(
            Comparison(ComparisonOperator.LESS, step, Literal(Duration(1))), column, unit=1_000_000, text="x"
        )
    assert (caught.value.code, caught.value.text) == ("E220", "x")
    with pytest.raises(QueryMeaningError) as caught:
        local_mask(Comparison(ComparisonOperator.LESS, V, Literal("x")), column, unit=1)
    assert caught.value.code == "E121"
    with pytest.raises(InvariantError):
        local_mask(IsNull(W), column, unit=1)


@pytest.mark.parametrize("name", sorted({*NUMBERS, "t", "l", "o"}))
def test_values_as_doubles(name: str) -> None:
    kind, scale, values, data_type = KINDS[name]
    for nulls in ([], [None]):
        plain = [*values, *nulls]
        numbers, valid = values_of(Column("v", kind, scale, pa.array(plain, data_type)))
        assert numbers.tolist() == [0.0 if value is None else float(value) for value in plain]
        assert (numbers.dtype, numbers.flags.writeable) == (np.float64, False)
        known = [value is not None for value in plain]
        assert (valid is None and all(known)) or (valid is not None and valid.tolist() == known)
        assert all(
            math.copysign(1, x) == math.copysign(1, 0 if y is None else y)
            for x, y in zip(numbers, plain, strict=True)
        )
