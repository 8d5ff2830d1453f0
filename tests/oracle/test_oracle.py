"""The oracle against numbers that a person can count, before it judges anybody else."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from random import Random

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
    Mode,
    Negation,
    Not,
    Optional,
    Or,
    Plus,
    Query,
    Seq,
    Subject,
)
from tests.golden import harness
from tests.oracle.expressions import evaluate
from tests.oracle.oracle import AmbiguousBindingError, TooManyMatchesError, oracle_rows
from tests.properties.patterns import positive

A, B, N = Atom("A", "a"), Atom("B", "b"), Atom("N", "n")
COUNT = Aggregate(AggregateFunction.COUNT)


def query(pattern, *returns, within=1000, slide=None, **clauses):
    window = (Duration(within * 10**6), Duration((slide or within) * 10**6))
    return Query("q", returns or (COUNT,), pattern, *window, **clauses)


def stream(text):
    """`A1 B2`: an A at 1, a B at 2."""
    return [{"t": int(word[1:]), "type": word[0]} for word in text.split()]


def asked(text):
    (only,) = parse_syntax(text).queries
    return only


def values(text, events, **how):
    (row,) = oracle_rows(asked(text), stream(events), **how)
    return row.values


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


MODES = (Mode.ANY, Mode.NEXT, Mode.CONTIGUOUS)


@pytest.mark.parametrize(
    ("pattern", "text", "by_mode"),
    [
        (Plus(B), "B1 B2 B3", (7, 6, 6)),
        (Plus(B), "B1 X2 B3 B4", (7, 6, 4)),
        (Plus(B), "B1 B2 B2 B3", (11, 10, 10)),
        (Seq((A, B)), "A1 X1 B2 X2 B2 B3", (3, 2, 2)),
        (Seq((A, Optional(N), B)), "A1 N2 B3", (2, 1, 1)),
        (Seq((A, Not(N), B)), "A1 N2 B3 A4 B5", (1, 1, 1)),
        (Seq((A, B, Not(N))), "A1 B2 N3 B4", (1, 0, 0)),
        (Plus(Seq((A, B))), "A1 B2 A3 B4", (4, 3, 3)),
        (And(Plus(A), Seq((Atom("A", "x"), B))), "A1 B2 A3 B4", (9, 6, 4)),
    ],
)
def test_modes_by_hand(pattern, text, by_mode):
    assert tuple(counts(pattern, text, mode=mode).get(0, 0) for mode in MODES) == by_mode


def test_what_a_leading_not_forbids_is_skipped_in_the_windows_that_see_it():
    either = Seq((A, B)), Seq((Not(N), A, Atom("D", "d")))
    assert counts(Or(either), "N1 A6 D7 B8", mode=Mode.NEXT, within=10, slide=5) == {0: 1, 5: 1}
    assert counts(Or(either), "N1 A6 D7 B8", mode=Mode.ANY, within=10, slide=5) == {0: 1, 5: 2}


def test_a_prefix_needs_what_stands_before_it_and_not_what_follows():
    text = "RETURN REACH(a), REACH(b), REACH(c) PATTERN SEQ(A a, B b, NOT N n, C c, D d) WITHIN 99 s"
    reached = {"REACH(a)": 1, "REACH(b)": 1, "REACH(c)": 0}
    assert values(text, "A1 B2 N3 C4 D5") == reached
    assert values(text, "A1 B2 N3") == reached
    assert oracle_rows(asked(text), stream("B1 C2 D3")) == []


def test_trends_that_follow_one_another_do_not_touch():
    text = "RETURN COUNT(DISJOINT) PATTERN SEQ(A a, B b) WITHIN 99 s"
    assert values(text, "A1 A3 B2 B2 A2 B4 A4 B6 A7 B9") == {"COUNT(DISJOINT)": 3}
    assert values(text, "A1 B9 A2 B3 A3 B4 A4 B5") == {"COUNT(DISJOINT)": 2}


def test_a_duration_is_in_ticks_or_in_seconds():
    text = "RETURN {0}(DURATION) PATTERN SEQ(A a, B b) WITHIN 99 s"
    whole = {name: values(text.format(name), "A1 B2 B7")[f"{name}(DURATION)"] for name in ("SUM", "AVG")}
    assert whole == {"SUM": 7, "AVG": Fraction(7, 2)}
    parts = values(text.format("MAX"), "A1 B2 B7", unit="ms", integer_time=False)
    assert parts == {"MAX(DURATION)": Fraction(6, 1000)}


GROWING = (COUNT, *(replace(COUNT, subject=item) for item in (Subject.PARTITIONS, Subject.DISJOINT)))
"""What is never larger in a mode that allows less, as no REACH is."""


@pytest.mark.parametrize("case", harness.load("matching"), ids=lambda case: case.name)
def test_contiguous_is_within_next_and_next_within_any(case):
    only = asked(case.text)
    bound = sorted({atom.alias for atom in positive(only.pattern)})
    returns = (*GROWING, *(Aggregate(AggregateFunction.REACH, alias) for alias in bound))
    if isinstance(only.pattern, And):
        returns = (COUNT,)
    most, middle, least = (
        {
            (row.window_start, repr(row.group), label): value
            for row in oracle_rows(replace(only, returns=returns, mode=mode), case.events)
            for label, value in row.values.items()
        }
        for mode in MODES
    )
    assert least.keys() <= middle.keys() <= most.keys()
    assert all(value <= most[key] for key, value in middle.items())
    assert all(value <= middle[key] for key, value in least.items())


EQUAL = [
    ("(SEQ(A a, B b) OR SEQ(A a, C c))", "SEQ(A a, (B b OR C c))"),
    ("SEQ(A x+, A y+)", "SEQ(A x, A y+)"),
    ("SEQ(A a, B b*, C c)", "(SEQ(A a, B b+, C c) OR SEQ(A a, C c))"),
    ("SEQ(A a?, NOT B b, C c)", "(SEQ(NOT B b, C c) OR SEQ(A a, NOT B b, C c))"),
    ("(SEQ(A a, B b+))+", "SEQ(A a, (SEQ(B b+, A x))*, B y+)"),
    ("((A a OR B b))+", "((A a+ OR B b+))+"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_a_pattern_written_otherwise_has_the_same_trends(one, other, mode):
    text = "RETURN COUNT(*), COUNT(DISJOINT), SUM(DURATION) PATTERN {} SEMANTICS {} WITHIN 6 s SLIDE 2 s"
    for seed in range(40):
        draw = Random(seed)
        events = stream(" ".join(f"{draw.choice('AABBC')}{draw.randrange(9)}" for _ in range(8)))
        first, second = (
            oracle_rows(asked(text.format(pattern, mode.value)), events) for pattern in (one, other)
        )
        assert first == second, seed


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
