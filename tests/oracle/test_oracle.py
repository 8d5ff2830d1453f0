"""The oracle against numbers that a person can count, before it judges anybody else."""

from decimal import Decimal

import pytest

from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import (
    Aggregate,
    AggregateFunction,
    And,
    Arithmetic,
    ArithmeticOperator,
    Atom,
    Attribute,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Disjunction,
    Duration,
    InList,
    IsNull,
    Like,
    Literal,
    Negation,
    Not,
    Optional,
    Plus,
    Query,
    Seq,
)
from tests.oracle.expressions import evaluate
from tests.oracle.oracle import AmbiguousBindingError, TooManyMatchesError, oracle_rows

A, B, N = Atom("A", "a"), Atom("B", "b"), Atom("N", "n")
COUNT = Aggregate(AggregateFunction.COUNT)


def query(pattern, *returns, within=1000, slide=None, **clauses):
    window = (Duration(within * 10**6), Duration((slide or within) * 10**6))
    return Query("q", returns or (COUNT,), pattern, *window, **clauses)


def stream(text):
    """`A1 B2`: an A at 1, a B at 2."""
    return [{"t": int(word[1:]), "type": word[0]} for word in text.split()]


def counts(pattern, text, **clauses):
    rows = oracle_rows(query(pattern, **clauses), stream(text))
    return {row.window_start: row.values["COUNT(*)"] for row in rows}


@pytest.mark.parametrize(
    ("pattern", "text", "count"),
    [
        (Plus(B), "B1 B2 B3", 7),
        (Plus(B), "B1 B1 B1", 3),
        (Seq((A, Plus(B))), "A1 A2 B4 B5 B6 B7 A8 A9 B13 B14", 132),
        (Seq((A, Not(N), B)), "A1 N1 B3 N3 A4 N5 B6", 1),
        (Seq((A, Not(N), Optional(B))), "A1 B3 N4 A5 B6", 3),
        (Plus(Seq((A, Not(N), B))), "A1 B2 N3 A4 N5 A6 B7", 3),
        (Seq((Not(N), A)), "A1 N2 A2 A3", 2),
        (Seq((Plus(Atom("A", "x")), Plus(Atom("A", "y")))), "A1 A2 A3 A4", 11),
        (Seq((Plus(Optional(A)), B)), "A1 A2 B3", 4),
        (And(Plus(A), Atom("A", "x")), "A1 A2", 3),
    ],
)
def test_counts_by_hand(pattern, text, count):
    assert counts(pattern, text) == {0: count}


def test_windows_before_the_epoch_and_gaps_between_windows():
    assert counts(B, "B-2 B0 B2 B3", within=2, slide=3) == {-3: 1, 0: 1, 3: 1}


def test_a_predicate_on_an_edge_leaves_other_edges_alone():
    smaller = Comparison(ComparisonOperator.LESS, Attribute("a", "v"), Attribute("b", "v", next=True))
    events = [
        {"t": t, "type": kind, "v": v} for t, kind, v in [(1, "A", 3), (2, "B", 2), (3, "B", 5), (4, "B", 1)]
    ]
    assert oracle_rows(query(Seq((A, Plus(B))), where=(smaller,)), events)[0].values == {"COUNT(*)": 2}


def test_an_alias_bound_in_two_ways_is_reported():
    both = Seq((Plus(Atom("A", "x")), Plus(Atom("A", "y"))))
    with pytest.raises(AmbiguousBindingError):
        oracle_rows(query(both, Aggregate(AggregateFunction.COUNT, "x")), stream("A1 A2 A3"))


def test_a_search_without_end_is_stopped():
    with pytest.raises(TooManyMatchesError):
        oracle_rows(query(Plus(B)), stream(" ".join(f"B{t}" for t in range(30))), limit=1000)


NULL, ONE = Literal(None), Literal(1)
UNKNOWN = Comparison(ComparisonOperator.EQUAL, NULL, ONE)
TRUE = Comparison(ComparisonOperator.EQUAL, ONE, ONE)
FALSE = Negation(TRUE)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Conjunction((UNKNOWN, FALSE)), False),
        (Conjunction((UNKNOWN, TRUE)), None),
        (Disjunction((UNKNOWN, TRUE)), True),
        (Disjunction((UNKNOWN, FALSE)), None),
        (Negation(UNKNOWN), None),
        (IsNull(UNKNOWN), True),
        (InList(ONE, (NULL, ONE)), True),
        (InList(ONE, (NULL,), negated=True), None),
        (Like(Literal("a%b"), "a_b"), True),
        (Like(Literal("ab"), "a_b", negated=True), True),
        (Arithmetic(ArithmeticOperator.DIVIDE, ONE, Literal(0)), None),
        (Arithmetic(ArithmeticOperator.MODULO, Literal(-7), Literal(3)), -1),
        (Arithmetic(ArithmeticOperator.ADD, Literal(2**63 - 1), ONE), None),
        (Comparison(ComparisonOperator.EQUAL, Literal(Decimal("0.5")), Literal(Decimal("0.50"))), True),
    ],
)
def test_three_valued_logic(expression, value):
    assert (
        evaluate(expression, lambda item: item) is value or evaluate(expression, lambda item: item) == value
    )


def test_parentheses_around_and_change_nothing():
    text = "RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE {} WITHIN 9 s"
    events = [{"t": 1, "type": "A", "v": 1}, {"t": 2, "type": "B", "v": 1}, {"t": 3, "type": "B", "v": 2}]
    plain, nested = (
        oracle_rows(parse_syntax(text.format(where)).queries[0], events)
        for where in (
            "a.v = 1 AND b.v = 2 AND a.v < NEXT(b).v",
            "(a.v = 1 AND (b.v = 2 AND a.v < NEXT(b).v))",
        )
    )
    assert plain == nested
    assert [row.values["COUNT(*)"] for row in nested] == [1]
