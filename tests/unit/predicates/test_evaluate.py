"""Compiled predicates: values of every kind, and the same answers as a database for whole random expressions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.errors import InvariantError, QueryMeaningError
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
from hamlet_core.predicates.evaluate import compile_adjacent, compile_local
from hamlet_core.table.encode import Column
from hamlet_core.table.kinds import Kind

PLUS, LESS, TIMES, OVER, REST = map(ArithmeticOperator, "+-*/%")
SIGNS = {sign.value: sign for sign in ComparisonOperator}
D = Decimal
SECOND, MINUTE = 1_000_000, 60_000_000


def local(expression: Expression, kind: Kind, values: list[Any], *, unit: int = 1) -> list[bool | None]:
    columns = {"v": Column("v", kind, 0, values)}
    predicate = compile_local(expression, columns, unit=unit)
    return [predicate(row) for row in range(len(values))]


V = Attribute("a", "v")
W = Attribute("b", "v", next=True)


def against(sign: str, value: Any) -> Comparison:
    return Comparison(SIGNS[sign], V, Literal(value))


@pytest.mark.parametrize(
    ("sign", "expected"),
    [
        ("=", [False, True, False, None]),
        ("!=", [True, False, True, None]),
        ("<", [True, False, False, None]),
        ("<=", [True, True, False, None]),
        (">", [False, False, True, None]),
        (">=", [False, True, True, None]),
    ],
)
def test_each_comparison_both_ways_round_and_between_events(sign: str, expected: list[bool | None]) -> None:
    values = [4, 5, 6, None]
    assert local(against(sign, 5), Kind.INTEGER, values) == expected
    mirrored = Comparison({"<": SIGNS[">"], ">": SIGNS["<"], "<=": SIGNS[">="], ">=": SIGNS["<="]}.get(
        sign, SIGNS[sign]
    ), Literal(5), V)  # fmt: skip
    assert local(mirrored, Kind.INTEGER, values) == expected
    adjacent = compile_adjacent(
        Comparison(SIGNS[sign], V, W), {"v": Column("v", Kind.INTEGER, 0, values)}, unit=1
    )
    assert [adjacent(row, 1) for row in range(4)] == expected
    assert adjacent(0, 3) is None
    backwards = compile_adjacent(
        Comparison(SIGNS[sign], W, V), {"v": Column("v", Kind.INTEGER, 0, values)}, unit=1
    )
    assert [backwards(1, row) for row in range(4)] == expected
    following = compile_adjacent(
        Comparison(SIGNS[sign], W, Literal(5)), {"v": Column("v", Kind.INTEGER, 0, values)}, unit=1
    )
    assert [following(0, row) for row in range(4)] == expected


@pytest.mark.parametrize(
    ("expression", "kind", "values", "expected"),
    [
        (against("=", D("0.1")), Kind.DOUBLE, [0.1, 0.1 + 2**-56, None], [True, False, None]),
        (against("=", D("0.1")), Kind.DECIMAL, [D("0.1"), D("0.10"), D("0.11")], [True, True, False]),
        (against("<", D("2.5")), Kind.INTEGER, [2, 3], [True, False]),
        (against("<", D("9007199254740993.5")), Kind.INTEGER, [2**53 + 1, 2**53 + 2], [True, False]),
        (against("=", 2**53 + 1), Kind.DOUBLE, [2.0**53], [False]),
        (against("<", 10**400), Kind.DOUBLE, [1.7e308], [True]),
        (against("<", D("1E+400")), Kind.DOUBLE, [1.7e308], [True]),
        (against("<", 10**30), Kind.INTEGER, [2**63 - 1], [True]),
        (against("=", None), Kind.INTEGER, [1, None], [None, None]),
        (against("=", 1), Kind.NULL, [None], [None]),
        (against("<", "b"), Kind.TEXT, ["a", "b", "B", "", "ä"], [True, False, True, True, False]),
        (against("<", "\U00010000"), Kind.TEXT, ["\uffff"], [True]),  # code points, not UTF-16
        (against("<", True), Kind.BOOLEAN, [False, True, None], [True, False, None]),
        (against(">=", Timestamp(5)), Kind.TIMESTAMP, [4, 5], [False, True]),
        (against(">", Duration(5)), Kind.DURATION, [5, 6], [False, True]),
        (against("<", D("1.5")), Kind.TICK, [1, 2], [True, False]),
        (V, Kind.BOOLEAN, [True, False, None], [True, False, None]),
        (Negation(V), Kind.BOOLEAN, [True, False, None], [False, True, None]),
        (Literal(None), Kind.INTEGER, [1], [None]),
        (
            InList(V, (Literal(1), Literal(D("2.0")))),
            Kind.INTEGER,
            [1, 2, 3, None],
            [True, True, False, None],
        ),
        (InList(V, (Literal(1), Literal(None))), Kind.INTEGER, [1, 2, None], [True, None, None]),
        (InList(V, (Literal(1), Literal(None)), True), Kind.INTEGER, [1, 2, None], [False, None, None]),
        (InList(V, (Literal(D("0.1")),)), Kind.DOUBLE, [0.1], [True]),
        (InList(V, (Literal(1), Arithmetic(TIMES, V, V))), Kind.INTEGER, [0, 1, 2], [True, True, False]),
        (InList(V, (Arithmetic(OVER, Literal(1), Literal(10)),)), Kind.DECIMAL, [D("0.1")], [True]),
        (Between(V, Literal(2), Literal(3)), Kind.INTEGER, [1, 2, 3, 4], [False, True, True, False]),
        (Between(V, Literal(2), Literal(None)), Kind.INTEGER, [1, 2], [False, None]),
        (Between(V, Literal(2), Literal(None), True), Kind.INTEGER, [1, 2], [True, None]),
        (IsNull(V), Kind.INTEGER, [1, None], [False, True]),
        (IsNull(V, True), Kind.INTEGER, [1, None], [True, False]),
        (IsNull(Arithmetic(OVER, Literal(1), V)), Kind.INTEGER, [1, 0], [False, True]),
        (IsNull(Minus(V)), Kind.INTEGER, [-(2**63), -(2**63) + 1, None], [True, False, True]),
        (IsNull(Arithmetic(PLUS, V, Literal(1))), Kind.INTEGER, [2**63 - 1, 2**63 - 2], [True, False]),
        (IsNull(Arithmetic(TIMES, V, V)), Kind.DOUBLE, [1e200, 1e100], [True, False]),
        (Like(V, "P%"), Kind.TEXT, ["Pool", "X", None], [True, False, None]),
        (Like(V, "P%", True), Kind.TEXT, ["Pool", "X", None], [False, True, None]),
        (
            Comparison(SIGNS["="], Arithmetic(OVER, V, Literal(2)), Literal(D("1.5"))),
            Kind.INTEGER,
            [3, 2],
            [True, False],
        ),
        (
            Comparison(SIGNS["="], Arithmetic(PLUS, V, Literal(D("0.2"))), Literal(D("0.3"))),
            Kind.DECIMAL,
            [D("0.1")],
            [True],
        ),
        (
            Comparison(SIGNS["="], Arithmetic(PLUS, V, Literal(D("0.2"))), Literal(D("0.3"))),
            Kind.DOUBLE,
            [0.1, 0.3 - 0.2],
            [False, True],
        ),
        (
            Comparison(SIGNS["="], Arithmetic(REST, V, Literal(60)), Literal(0)),
            Kind.TICK,
            [120, 121, -60],
            [True, False, True],
        ),
    ],
)
def test_values(expression: Expression, kind: Kind, values: list[Any], expected: list[bool | None]) -> None:
    assert local(expression, kind, values) == expected


def test_two_attributes_of_the_next_event_are_both_read_there() -> None:
    columns = {
        name: Column(name, Kind.INTEGER, 0, values) for name, values in {"v": [9, 1], "u": [5, 5]}.items()
    }
    both = Comparison(SIGNS["<"], W, Attribute("b", "u", next=True))
    either = Disjunction((Comparison(SIGNS["="], V, Literal(0)), both))
    predicate = compile_adjacent(either, columns, unit=1)
    assert [predicate(0, 0), predicate(0, 1), predicate(1, 0)] == [False, True, False]


def step(sign: str, bound: Expression) -> Comparison:
    return Comparison(SIGNS[sign], Arithmetic(LESS, W, V), bound)


def adjacent(expression: Expression, kind: Kind, values: list[Any], unit: int) -> list[bool | None]:
    predicate = compile_adjacent(expression, {"v": Column("v", kind, 0, values)}, unit=unit)
    return [predicate(0, row) for row in range(len(values))]


@pytest.mark.parametrize(
    ("expression", "kind", "unit", "values", "expected"),
    [
        (step("<", Literal(Duration(5 * MINUTE))), Kind.TICK, MINUTE, [3, 7, 8], [True, True, False]),
        (step("<", Literal(Duration(5 * MINUTE))), Kind.TICK, SECOND, [0, 299, 300], [True, True, False]),
        (step("<", Literal(5)), Kind.TICK, SECOND, [0, 4, 5], [True, True, False]),
        (
            step("<", Literal(Duration(5 * MINUTE))),
            Kind.TIMESTAMP,
            1,
            [0, 5 * MINUTE - 1, 5 * MINUTE],
            [True, True, False],
        ),
        (  # a.time + 5 min < NEXT(a).time
            Comparison(SIGNS["<"], Arithmetic(PLUS, V, Literal(Duration(5 * MINUTE))), W),
            Kind.TICK,
            MINUTE,
            [0, 5, 6],
            [False, False, True],
        ),
        (
            Comparison(SIGNS[">"], Literal(Duration(5 * MINUTE)), Arithmetic(LESS, W, V)),
            Kind.TICK,
            MINUTE,
            [0, 4, 5],
            [True, True, False],
        ),
        (
            Comparison(SIGNS["<"], Arithmetic(PLUS, Literal(Duration(5 * MINUTE)), V), W),
            Kind.TICK,
            MINUTE,
            [0, 5, 6],
            [False, False, True],
        ),
        (  # folded before it is turned into ticks
            step("<", Arithmetic(OVER, Literal(Duration(5 * MINUTE)), Literal(5))),
            Kind.TICK,
            MINUTE,
            [0, 1],
            [True, False],
        ),
        (step("<", Minus(Literal(Duration(-MINUTE)))), Kind.TICK, MINUTE, [0, 1], [True, False]),
        (  # a rate: half of the difference over one minute
            Comparison(
                SIGNS["="],
                Arithmetic(OVER, Arithmetic(LESS, W, V), Literal(Duration(2 * MINUTE))),
                Literal(D("1.5")),
            ),
            Kind.TICK,
            MINUTE,
            [0, 3],
            [False, True],
        ),
        (
            InList(Arithmetic(LESS, W, V), (Literal(Duration(MINUTE)), Literal(Duration(3 * MINUTE)))),
            Kind.TICK,
            SECOND,
            [0, 60, 120, 180],
            [False, True, False, True],
        ),
    ],
)
def test_steps_in_time(
    expression: Expression, kind: Kind, unit: int, values: list[Any], expected: list[bool | None]
) -> None:
    assert adjacent(expression, kind, values, unit) == expected


def test_a_duration_column_beside_integer_time_is_exact_also_between_two_ticks() -> None:
    columns = {
        "time": Column("time", Kind.TICK, 0, [0, 1, 2]),
        "most": Column("most", Kind.DURATION, 0, [1_500_000, None, 2_000_000]),
    }
    within = Comparison(
        SIGNS["<"],
        Arithmetic(LESS, Attribute("b", "time", next=True), Attribute("a", "time")),
        Attribute("a", "most"),
    )
    predicate = compile_adjacent(within, columns, unit=SECOND)
    assert [predicate(0, row) for row in range(3)] == [True, True, False]
    assert predicate(1, 2) is None
    assert predicate(2, 0) is True


@pytest.mark.parametrize(
    "bound",
    [
        Literal(Duration(90 * SECOND), (2, 5)),
        Arithmetic(OVER, Literal(Duration(MINUTE)), Literal(2), (2, 5)),
        Arithmetic(OVER, Literal(Duration(1)), Literal(2), (2, 5)),
    ],
)
def test_a_constant_duration_finer_than_the_unit_is_refused_at_its_place(bound: Expression) -> None:
    with pytest.raises(QueryMeaningError) as caught:
        adjacent(step("<", bound), Kind.TICK, [0], MINUTE)
    assert (caught.value.code, caught.value.line, caught.value.column) == ("E220", 2, 5)


def test_conditions_are_checked_before_they_are_compiled() -> None:
    with pytest.raises(QueryMeaningError, match="they do not compare") as caught:
        compile_local(against("<", "x"), {"v": Column("v", Kind.INTEGER, 0, [])}, unit=1, text="a.v < x")
    assert caught.value.text == "a.v < x"


def test_a_column_that_was_not_encoded_is_our_bug() -> None:
    with pytest.raises(InvariantError, match="'v' was not encoded"):
        compile_local(against("<", 1), {}, unit=1)


# --- a database as the judge ---------------------------------------------------------------------

ROWS = [(number, double, word) for number in (-2, 0, 3, None) for double in (-1.5, 0.0, 3.0, None)
        for word in ("", "ab", "b%\n", None)]  # fmt: skip
TABLE = {
    "n": Column("n", Kind.INTEGER, 0, [row[0] for row in ROWS]),
    "d": Column("d", Kind.DOUBLE, 0, [row[1] for row in ROWS]),
    "s": Column("s", Kind.TEXT, 0, [row[2] for row in ROWS]),
}


def sql(expression: Expression) -> str:
    match expression:
        case Literal(None):
            return "NULL"
        case Literal(str() as value):
            return "'" + value + "'"
        case Literal(value):
            return f"({value})"
        case Attribute(_, name):
            return name
        case Minus(operand):
            return f"(-{sql(operand)})"
        case Arithmetic(ArithmeticOperator.DIVIDE | ArithmeticOperator.MODULO as sign, left, right):
            return (
                f"({sql(left)} {sign.value} nullif({sql(right)}, 0))"  # versions differ on division by zero
            )
        case Arithmetic(sign, left, right) | Comparison(sign, left, right):
            return f"({sql(left)} {sign.value} {sql(right)})"
        case Conjunction(parts):
            return "(" + " AND ".join(map(sql, parts)) + ")"
        case Disjunction(parts):
            return "(" + " OR ".join(map(sql, parts)) + ")"
        case Negation(operand):
            return f"(NOT {sql(operand)})"
        case InList(operand, items, negated):
            return f"({sql(operand)} {'NOT ' * negated}IN ({', '.join(map(sql, items))}))"
        case Between(operand, low, high, negated):
            return f"({sql(operand)} {'NOT ' * negated}BETWEEN {sql(low)} AND {sql(high)})"
        case IsNull(operand, negated):
            return f"({sql(operand)} IS {'NOT ' * negated}NULL)"
        case Like(operand, pattern, negated):
            return f"({sql(operand)} {'NOT ' * negated}LIKE '{pattern}')"
    raise AssertionError(expression)


NUMBERS = st.recursive(
    st.one_of(
        st.sampled_from("nd").map(lambda name: Attribute("a", name)),
        st.integers(-3, 3).map(Literal),
        st.just(Literal(None)),
    ),
    lambda inner: st.one_of(
        inner.map(Minus), st.builds(Arithmetic, st.sampled_from(ArithmeticOperator), inner, inner)
    ),
    max_leaves=4,
)
TEXTS = st.one_of(st.just(Attribute("a", "s")), st.sampled_from(["", "ab", "b", None]).map(Literal))


def pairs(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Comparison, st.sampled_from(ComparisonOperator), values, values),
        st.builds(InList, values, st.lists(values, min_size=1, max_size=3).map(tuple), st.booleans()),
        st.builds(Between, values, values, values, st.booleans()),
        st.builds(IsNull, values, st.booleans()),
    )


CONDITIONS = st.recursive(
    st.one_of(
        pairs(NUMBERS),
        pairs(TEXTS),
        st.builds(Like, TEXTS, st.text("ab%_", max_size=4), st.booleans()),
    ),
    lambda inner: st.one_of(
        inner.map(Negation),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Conjunction(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Disjunction(tuple(parts))),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (row BIGINT, n BIGINT, d DOUBLE, s VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(i, *row) for i, row in enumerate(ROWS)])
    return connection


@given(condition=CONDITIONS)
def test_random_conditions_agree_with_duckdb(
    database: duckdb.DuckDBPyConnection, condition: Expression
) -> None:
    predicate = compile_local(condition, TABLE, unit=1)
    expected = database.execute(f"SELECT CAST({sql(condition)} AS BOOLEAN) FROM t ORDER BY row").fetchall()
    assert [predicate(row) for row in range(len(ROWS))] == [truth for (truth,) in expected], sql(condition)
