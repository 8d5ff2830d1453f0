"""Which kinds go together, and where and how it is said when they do not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hamlet_core.errors import QueryMeaningError
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
from hamlet_core.predicates.typing import arithmetic_kind, check, comparable, infer
from hamlet_core.table.kinds import Kind

PLUS, LESS, TIMES, OVER, REST = map(ArithmeticOperator, "+-*/%")
EQUAL, BELOW = ComparisonOperator.EQUAL, ComparisonOperator.LESS
SPAN = (3, 7)

I, D, E, X, B = Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL, Kind.TEXT, Kind.BOOLEAN  # noqa: E741 - a table of kinds
S, T, N, L, O = Kind.TIMESTAMP, Kind.TICK, Kind.TICK_DIFFERENCE, Kind.DURATION, Kind.NULL  # noqa: E741
NAMES = dict(zip("IDEXBSTNLO", (I, D, E, X, B, S, T, N, L, O), strict=True))

# One letter for each kind; a row is the left side, a column the right side; + compares, . does not.
COMPARABLE = """
   I D E X B S T N L O
I  + + + . . . + + . +
D  + + + . . . + + . +
E  + + + . . . + + . +
X  . . . + . . . . . +
B  . . . . + . . . . +
S  . . . . . + . . . +
T  + + + . . . + . . +
N  + + + . . . . + + +
L  . . . . . . . + + +
O  + + + + + + + + + +
"""

# The same for arithmetic; the entry is the kind of the result.
SUMS = """
   I D E X B S T N L O
I  I D E . . . T N . O
D  D D D . . . T N . O
E  E D E . . . T N . O
X  . . . . . . . . . .
B  . . . . . . . . . .
S  . . . . . . . . S O
T  T T T . . . . T T O
N  N N N . . . T N N O
L  . . . . . S T N L O
O  O O O . . O O O O O
"""
DIFFERENCES = """
   I D E X B S T N L O
I  I D E . . . N N . O
D  D D D . . . N N . O
E  E D E . . . N N . O
X  . . . . . . . . . .
B  . . . . . . . . . .
S  . . . . . L . . S O
T  T T T . . . N T T O
N  N N N . . . . N N O
L  . . . . . . . N L O
O  O O O . . O O O O O
"""
PRODUCTS = """
   I D E X B S T N L O
I  I D E . . . I N L O
D  D D D . . . D N L O
E  E D E . . . E N L O
X  . . . . . . . . . .
B  . . . . . . . . . .
S  . . . . . . . . . O
T  I D E . . . I N L O
N  N N N . . . N . . O
L  L L L . . . L . . O
O  O O O . . O O O O O
"""
QUOTIENTS = """
   I D E X B S T N L O
I  D D D . . . D D . O
D  D D D . . . D D . O
E  D D D . . . D D . O
X  . . . . . . . . . .
B  . . . . . . . . . .
S  . . . . . . . . . O
T  D D D . . . D D . O
N  N N N . . . N D D O
L  L L L . . . L D D O
O  O O O . . O O O O O
"""
RESTS = """
   I D E X B S T N L O
I  I D E . . . I . . O
D  D D D . . . D . . O
E  E D E . . . E . . O
X  . . . . . . . . . .
B  . . . . . . . . . .
S  . . . . . . . . . O
T  I D E . . . I . . O
N  N N N . . . N N N O
L  . . . . . . . N L O
O  O O O . . O O O O O
"""


def entries(table: str) -> list[tuple[str, str, str]]:
    header, *rows = table.strip("\n").splitlines()
    return [
        (row.split()[0], right, entry)
        for row in rows
        for right, entry in zip(header.split(), row.split()[1:], strict=True)
    ]


@pytest.mark.parametrize(("left", "right", "entry"), entries(COMPARABLE))
def test_comparable(left: str, right: str, entry: str) -> None:
    assert comparable(NAMES[left], NAMES[right]) is (entry == "+")


@pytest.mark.parametrize(
    ("sign", "table"),
    [(PLUS, SUMS), (LESS, DIFFERENCES), (TIMES, PRODUCTS), (OVER, QUOTIENTS), (REST, RESTS)],
    ids=lambda value: value.name if isinstance(value, ArithmeticOperator) else "",
)
def test_arithmetic_kinds(sign: ArithmeticOperator, table: str) -> None:
    wrong = {
        (left, right): (found, entry)
        for left, right, entry in entries(table)
        if (found := arithmetic_kind(sign, NAMES[left], NAMES[right])) is not NAMES.get(entry)
    }
    assert not wrong


@pytest.mark.parametrize("kind", Kind)
def test_an_unknown_kind_compares_with_all(kind: Kind) -> None:
    assert comparable(None, kind)
    assert comparable(kind, None)


def of(kind: Kind | None, *, following: bool = False) -> Attribute:
    return Attribute("a", kind.name if kind else "unknown", following, (1, 1))


def kind_of(attribute: Attribute) -> Kind | None:
    return None if attribute.name == "unknown" else Kind[attribute.name]


NUMBER, TEXT, FLAG, TICK = of(Kind.INTEGER), of(Kind.TEXT), of(Kind.BOOLEAN), of(Kind.TICK)
UNKNOWN = of(None)
MINUTES = Literal(Duration(300_000_000), SPAN)
FINE = Comparison(BELOW, NUMBER, Literal(5))
STEP = Arithmetic(LESS, of(Kind.TICK, following=True), TICK)


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        (FINE, Kind.BOOLEAN),
        (FLAG, Kind.BOOLEAN),
        (Literal(True), Kind.BOOLEAN),
        (Literal(None), Kind.NULL),
        (of(Kind.NULL), Kind.NULL),
        (UNKNOWN, None),
        (Comparison(EQUAL, UNKNOWN, Literal("x")), Kind.BOOLEAN),
        (Comparison(BELOW, Arithmetic(PLUS, UNKNOWN, NUMBER), MINUTES), Kind.BOOLEAN),
        (Comparison(EQUAL, TEXT, Literal(None)), Kind.BOOLEAN),
        (Comparison(BELOW, STEP, MINUTES), Kind.BOOLEAN),
        (Comparison(BELOW, STEP, Literal(5)), Kind.BOOLEAN),
        (Comparison(EQUAL, Arithmetic(REST, TICK, Literal(60)), Literal(0)), Kind.BOOLEAN),
        (Comparison(BELOW, TICK, Literal(Decimal("1.5"))), Kind.BOOLEAN),
        (Comparison(EQUAL, FLAG, FINE), Kind.BOOLEAN),
        (Conjunction((FINE, FLAG, Literal(None))), Kind.BOOLEAN),
        (Negation(Disjunction((FLAG, UNKNOWN))), Kind.BOOLEAN),
        (InList(TEXT, (Literal("x"), Literal(None), TEXT)), Kind.BOOLEAN),
        (InList(NUMBER, (Literal(1), Literal(Decimal("1.5")))), Kind.BOOLEAN),
        (Between(NUMBER, Literal(1), Literal(Decimal("2.5"))), Kind.BOOLEAN),
        (IsNull(NUMBER), Kind.BOOLEAN),
        (Like(TEXT, "%"), Kind.BOOLEAN),
        (Like(Literal(None), "%"), Kind.BOOLEAN),
        (Like(UNKNOWN, "%"), Kind.BOOLEAN),
    ],
)
def test_conditions(condition: Expression, kind: Kind | None) -> None:
    assert check(condition, kind_of) is kind


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        (Minus(NUMBER), Kind.INTEGER),
        (Minus(TICK), Kind.INTEGER),
        (Minus(MINUTES), Kind.DURATION),
        (Minus(UNKNOWN), None),
        (STEP, Kind.TICK_DIFFERENCE),
        (Arithmetic(PLUS, Literal(Timestamp(0)), MINUTES), Kind.TIMESTAMP),
        (Arithmetic(OVER, Literal(1), Literal(2)), Kind.DOUBLE),
        (Arithmetic(PLUS, Literal(Decimal("0.5")), Literal(2)), Kind.DECIMAL),
    ],
)
def test_kinds_of_expressions_that_are_no_conditions(expression: Expression, kind: Kind | None) -> None:
    assert infer(expression, kind_of) is kind


def bad(left: Expression, right: Expression) -> Comparison:
    return Comparison(BELOW, left, right, SPAN)


@pytest.mark.parametrize(
    ("condition", "code", "message"),
    [
        (Attribute("a", "INTEGER", span=SPAN), "E120", "a.INTEGER is an integer, not a condition"),
        (Literal("x", SPAN), "E120", "'x' is text, not a condition"),
        (Conjunction((FINE, Literal(5, SPAN))), "E120", "5 is an integer, not a condition"),
        (Disjunction((Attribute("a", "TEXT", span=SPAN), FINE)), "E120", "a.TEXT is text, not a condition"),
        (Negation(Minus(NUMBER, SPAN)), "E120", "one side is an integer, not a condition"),
        (
            bad(NUMBER, Literal("x")),
            "E121",
            "a.INTEGER is an integer, 'x' is text: they do not compare",
        ),
        (bad(Literal(5), Literal("x")), "E121", "5 is an integer, 'x' is text: they do not compare"),
        (bad(FLAG, Literal(1)), "E121", "a.BOOLEAN is a boolean, 1 is an integer: they do not compare"),
        (bad(of(S), Literal("x")), "E121", "a.TIMESTAMP is a timestamp, 'x' is text: they do not compare"),
        (bad(of(S), Literal(5)), "E121", "a.TIMESTAMP is a timestamp, 5 is an integer: they do not compare"),
        (bad(TICK, Literal("x")), "E121", "a.TICK is an integer time, 'x' is text: they do not compare"),
        (
            Between(NUMBER, Literal(1), Literal("x"), False, SPAN),
            "E121",
            "a.INTEGER is an integer, 'x' is text: they do not compare",
        ),
        (
            Between(UNKNOWN, Literal(1), Literal("x"), False, SPAN),
            "E121",
            "1 is an integer, 'x' is text: they do not compare",
        ),
        (
            InList(NUMBER, (Literal("x"),), False, SPAN),
            "E121",
            "a.INTEGER is an integer, 'x' is text: they do not compare",
        ),
        (
            Comparison(BELOW, Arithmetic(PLUS, Attribute("a", "TEXT", span=SPAN), Literal(1)), Literal(1)),
            "E122",
            "a.TEXT is text: '+' has no meaning for it",
        ),
        (
            Comparison(BELOW, Arithmetic(TIMES, UNKNOWN, Literal(True, SPAN)), Literal(1)),
            "E122",
            "TRUE is a boolean: '*' has no meaning for it",
        ),
        (
            Comparison(BELOW, Arithmetic(PLUS, TICK, of(T, following=True), SPAN), Literal(1)),
            "E122",
            "a.TICK is an integer time, NEXT(a).TICK is an integer time: '+' has no meaning between them",
        ),
        (
            Comparison(BELOW, Arithmetic(PLUS, NUMBER, MINUTES, SPAN), Literal(1)),
            "E122",
            "a.INTEGER is an integer, the literal is a duration: '+' has no meaning between them",
        ),
        (IsNull(Minus(TEXT, SPAN)), "E122", "a.TEXT is text: it has no negative"),
        (IsNull(Minus(of(S), SPAN)), "E122", "a.TIMESTAMP is a timestamp: it has no negative"),
        (Like(NUMBER, "5%", False, SPAN), "E123", "a.INTEGER is an integer: LIKE takes text"),
        (
            InList(UNKNOWN, (Literal(1), Literal("x", SPAN))),
            "E124",
            "the list of IN mixes kinds: 1 is an integer, 'x' is text",
        ),
        (
            bad(NUMBER, MINUTES),
            "E125",
            "a.INTEGER is an integer, the literal is a duration: they do not compare",
        ),
        (
            bad(TICK, MINUTES),
            "E125",
            "a.TICK is an integer time, the literal is a duration: they do not compare",
        ),
        (
            bad(of(S), MINUTES),
            "E125",
            "a.TIMESTAMP is a timestamp, the literal is a duration: they do not compare",
        ),
        (
            bad(STEP, TICK),
            "E125",
            "one side is a difference of integer times, a.TICK is an integer time: they do not compare",
        ),
        (
            bad(TICK, Literal(Timestamp(0))),
            "E126",
            "a.TICK is an integer time, TIMESTAMP '...' is a timestamp: they do not compare",
        ),
    ],
)
def test_what_does_not_go_together(condition: Expression, code: str, message: str) -> None:
    with pytest.raises(QueryMeaningError) as caught:
        check(condition, kind_of, text="\n\n      ^ here")
    error = caught.value
    assert (error.code, error.message, (error.line, error.column)) == (code, message, SPAN)
    assert error.hint
    assert "\n        ^ here\n        ^\n" in str(error)


def test_a_tree_without_places_points_to_the_start() -> None:
    with pytest.raises(QueryMeaningError) as caught:
        check(Comparison(BELOW, NUMBER, Literal("x")), kind_of)
    assert (caught.value.line, caught.value.column) == (1, 1)


def test_nested_conditions_cost_no_more_than_their_size() -> None:
    condition: Expression = FLAG
    for _ in range(60):  # a check that looks at an operand twice would look 2 ** 60 times
        condition = Between(condition, FLAG, InList(FLAG, (FLAG,)))
        condition = InList(condition, (FLAG, Literal(True)))
    assert check(condition, kind_of) is Kind.BOOLEAN
