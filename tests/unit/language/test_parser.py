"""Every construct of the language, from text to its tree."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest

from hamlet_core.errors import QueryMeaningError, QuerySyntaxError
from hamlet_core.language import parse_syntax
from hamlet_core.language.syntax import (
    Aggregate,
    AggregateFunction,
    And,
    Arithmetic,
    ArithmeticOperator,
    Atom,
    Attribute,
    Between,
    Comparison,
    ComparisonOperator,
    Conjunct,
    Conjunction,
    Disjunction,
    Duration,
    Equivalence,
    Expression,
    GroupAttribute,
    InList,
    IsNull,
    Like,
    Literal,
    Minus,
    Mode,
    Negation,
    Not,
    Optional,
    Or,
    Pattern,
    Plus,
    Query,
    Seq,
    Star,
    Subject,
    Timestamp,
)

SECOND = 1_000_000
A, B, C = Atom("A", "A"), Atom("B", "B"), Atom("C", "C")
X = Attribute("a", "x")


def query(text: str) -> Query:
    (only,) = parse_syntax(text).queries
    return only


def pattern(text: str) -> Pattern:
    return query(f"RETURN COUNT(*) PATTERN {text} WITHIN 1 s").pattern


def where(text: str) -> tuple[Conjunct, ...]:
    return query(f"RETURN COUNT(*) PATTERN A a WHERE {text} WITHIN 1 s").where


def expression(text: str) -> Conjunct:
    (only,) = where(text)
    return only


def value(text: str) -> Expression:
    comparison = expression(f"a.x = {text}")
    assert isinstance(comparison, Comparison)
    return comparison.right


def test_the_query_of_the_reference():
    read = query("""
        q1: RETURN   T.district, COUNT(*), SUM(T.duration)
            PATTERN  SEQ(Request R, Travel T+, NOT Pickup P)
            WHERE    [driver, rider] AND R.kind = Pool AND T.speed < 10
            GROUP-BY T.district
            WITHIN   30 min SLIDE 1 min
    """)
    district = GroupAttribute("district", "T")
    assert read == Query(
        name="q1",
        returns=(
            district,
            Aggregate(AggregateFunction.COUNT),
            Aggregate(AggregateFunction.SUM, "T", "duration"),
        ),
        pattern=Seq((Atom("Request", "R"), Plus(Atom("Travel", "T")), Not(Atom("Pickup", "P")))),
        within=Duration(1800 * SECOND),
        slide=Duration(60 * SECOND),
        where=(
            Equivalence(("driver", "rider")),
            Comparison(ComparisonOperator.EQUAL, Attribute("R", "kind"), Literal("Pool")),
            Comparison(ComparisonOperator.LESS, Attribute("T", "speed"), Literal(10)),
        ),
        group_by=(district,),
    )


PATTERNS: dict[str, Pattern] = {
    "A": A,
    "A a": Atom("A", "a"),
    "A+": Plus(A),
    "A*": Star(A),
    "A?": Optional(A),
    "A a+": Plus(Atom("A", "a")),
    "A+?*": Star(Optional(Plus(A))),
    "(A)": A,
    "((A a))+": Plus(Atom("A", "a")),
    "SEQ(A)": Seq((A,)),
    "SEQ(A, B, C)": Seq((A, B, C)),
    "(A, B)": Seq((A, B)),
    "(A, B)+": Plus(Seq((A, B))),
    "SEQ(C, SEQ(A, B)+)+": Plus(Seq((C, Plus(Seq((A, B)))))),
    "(A OR B)": Or((A, B)),
    "(A OR B OR C)": Or((A, B, C)),
    "((A OR B) OR C)": Or((Or((A, B)), C)),
    "(A \u2228 B)": Or((A, B)),
    "(A AND B)": And(A, B),
    "(A \u2227 B)": And(A, B),
    "SEQ(A, (B AND C))": Seq((A, And(B, C))),
    "SEQ(A, NOT B, C)": Seq((A, Not(B), C)),
    "NOT A+": Not(Plus(A)),
    "(NOT A)+": Plus(Not(A)),
    "NOT SEQ(A, B)": Not(Seq((A, B))),
    "NOT NOT A": Not(Not(A)),
    "seq(A, not B)": Seq((A, Not(B))),
    '"A b" "c""d"': Atom("A b", 'c"d'),
}


@pytest.mark.parametrize("text", PATTERNS)
def test_pattern(text):
    assert pattern(text) == PATTERNS[text]


def compared(sign: ComparisonOperator, right: Expression = Literal(1)) -> Comparison:
    return Comparison(sign, X, right)


ONE, TWO = compared(ComparisonOperator.EQUAL), compared(ComparisonOperator.EQUAL, Literal(2))
EXPRESSIONS: dict[str, Conjunct] = {
    "a.x = 1": ONE,
    "a.x == 1": ONE,
    "a.x != 1": compared(ComparisonOperator.UNEQUAL),
    "a.x <> 1": compared(ComparisonOperator.UNEQUAL),
    "a.x < 1": compared(ComparisonOperator.LESS),
    "a.x <= 1": compared(ComparisonOperator.AT_MOST),
    "a.x > 1": compared(ComparisonOperator.GREATER),
    "a.x >= 1": compared(ComparisonOperator.AT_LEAST),
    "a.x": X,
    "NOT a.x": Negation(X),
    "NOT a.x = 1": Negation(ONE),
    "not not a.x = 1": Negation(Negation(ONE)),
    "a.x = 1 OR a.x = 2": Disjunction((ONE, TWO)),
    "a.x = 1 OR a.x = 2 AND a.x": Disjunction((ONE, Conjunction((TWO, X)))),
    "(a.x = 1 OR a.x = 2) OR a.x": Disjunction((Disjunction((ONE, TWO)), X)),
    "NOT (a.x = 1 AND a.x = 2)": Negation(Conjunction((ONE, TWO))),
    "(a.x = 1 AND a.x = 2)": Conjunction((ONE, TWO)),
    "a.x IN (1)": InList(X, (Literal(1),)),
    "a.x IN (Pool, 'b c', 3, NULL)": InList(X, (Literal("Pool"), Literal("b c"), Literal(3), Literal(None))),
    "a.x NOT IN (1, 2)": InList(X, (Literal(1), Literal(2)), negated=True),
    "a.x BETWEEN 1 AND 2": Between(X, Literal(1), Literal(2)),
    "a.x NOT BETWEEN 1 AND 2": Between(X, Literal(1), Literal(2), negated=True),
    "a.x IS NULL": IsNull(X),
    "a.x IS NOT NULL": IsNull(X, negated=True),
    "a.x LIKE 'p%'": Like(X, "p%"),
    "a.x NOT LIKE '_''_'": Like(X, "_'_", negated=True),
    "[u]": Equivalence(("u",)),
    '[u, "v w"]': Equivalence(("u", "v w")),
    "(a.x = 1) = TRUE": Comparison(ComparisonOperator.EQUAL, ONE, Literal(True)),
    "Pool = a.x": Comparison(ComparisonOperator.EQUAL, Literal("Pool"), X),
    "a.x > NEXT(b).y": compared(ComparisonOperator.GREATER, Attribute("b", "y", next=True)),
    "next ( a ) . x": Attribute("a", "x", next=True),
    "NEXT(a).time - a.time < 5 min": Comparison(
        ComparisonOperator.LESS,
        Arithmetic(ArithmeticOperator.SUBTRACT, Attribute("a", "time", next=True), Attribute("a", "time")),
        Literal(Duration(300 * SECOND)),
    ),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    assert expression(text) == EXPRESSIONS[text]


def arithmetic(sign: str, left: Expression, right: Expression) -> Arithmetic:
    return Arithmetic(ArithmeticOperator(sign), left, right)


VALUES: dict[str, Expression] = {
    "1": Literal(1),
    "-1": Literal(-1),
    "- 1": Literal(-1),
    "-(1)": Minus(Literal(1)),
    "- -1": Minus(Literal(-1)),
    "-a.x": Minus(X),
    "99999999999999999999999999": Literal(99999999999999999999999999),
    "1.50": Literal(Decimal("1.50")),
    "-0.5e-3": Literal(Decimal("-0.0005")),
    "1e3": Literal(Decimal(1000)),
    "TRUE": Literal(True),
    "false": Literal(False),
    "Null": Literal(None),
    "Pool": Literal("Pool"),
    "'it''s'": Literal("it's"),
    "''": Literal(""),
    "'-- # no comment'": Literal("-- # no comment"),
    "TIMESTAMP '1970-01-01 00:00:01'": Literal(Timestamp(SECOND)),
    "timestamp '1970-01-01T00:00:00.000001Z'": Literal(Timestamp(1)),
    "TIMESTAMP '1970-01-01'": Literal(Timestamp(0)),
    "TIMESTAMP '1970-01-01 01:00+01:00'": Literal(Timestamp(0)),
    "5 ms": Literal(Duration(5_000)),
    "-5 ms": Literal(Duration(-5_000)),
    "1.5 h": Literal(Duration(5400 * SECOND)),
    "0.001 ms": Literal(Duration(1)),
    "2D": Literal(Duration(2 * 86400 * SECOND)),
    "a.x - 1": arithmetic("-", X, Literal(1)),
    "a.x -1": arithmetic("-", X, Literal(1)),
    "a.x - -1": arithmetic("-", X, Literal(-1)),
    "a.x - 1 - 2": arithmetic("-", arithmetic("-", X, Literal(1)), Literal(2)),
    "a.x - (1 - 2)": arithmetic("-", X, arithmetic("-", Literal(1), Literal(2))),
    "a.x + 2 * 3": arithmetic("+", X, arithmetic("*", Literal(2), Literal(3))),
    "(a.x + 2) * 3": arithmetic("*", arithmetic("+", X, Literal(2)), Literal(3)),
    "a.x / 2 % 3": arithmetic("%", arithmetic("/", X, Literal(2)), Literal(3)),
    "-a.x * 2": arithmetic("*", Minus(X), Literal(2)),
}


@pytest.mark.parametrize("text", VALUES)
def test_value(text):
    read = value(text)
    assert read == VALUES[text]
    if isinstance(read, Literal):
        assert type(read.value) is type(VALUES[text].value)


UNITS = {
    1_000: ["ms"],
    SECOND: ["s", "sec", "second", "seconds", "S"],
    60 * SECOND: ["min", "minute", "minutes", "MIN"],
    3600 * SECOND: ["h", "hour", "hours"],
    86400 * SECOND: ["d", "day", "days", "Days"],
}


@pytest.mark.parametrize(("length", "unit"), [(length, unit) for length in UNITS for unit in UNITS[length]])
def test_unit(length, unit):
    assert query(f"RETURN COUNT(*) PATTERN A WITHIN 3 {unit}").within == Duration(3 * length)


@pytest.mark.parametrize("clause", ["GROUP-BY", "GROUP BY", "GROUP_BY", "group by", "Group-By", "GROUP - BY"])
def test_spellings_of_group_by(clause):
    read = query(f"RETURN COUNT(*) PATTERN A a {clause} g, a.h WITHIN 1 s")
    assert read.group_by == (GroupAttribute("g"), GroupAttribute("h", "a"))


def test_window_is_within_and_a_missing_slide_equals_it():
    read = query("return count(*) pattern A window 90 s")
    assert read.within == read.slide == Duration(90 * SECOND)


def test_aggregates():
    read = query("RETURN COUNT(*), count(a), SUM(a.x), avg(a.x), Min(a.x), MAX(a.x) PATTERN A a WITHIN 1 s")
    assert [aggregate.label for aggregate in read.aggregates] == [
        "COUNT(*)",
        "COUNT(a)",
        "SUM(a.x)",
        "AVG(a.x)",
        "MIN(a.x)",
        "MAX(a.x)",
    ]


def test_aggregates_over_partitions_and_trends():
    read = query(
        "RETURN reach(a), count(partitions), Count(Disjoint), sum(duration), AVG(DURATION), Min(Duration), max(DURATION) "
        "PATTERN A a WITHIN 1 s"
    )
    assert read.aggregates == (
        Aggregate(AggregateFunction.REACH, "a"),
        Aggregate(AggregateFunction.COUNT, subject=Subject.PARTITIONS),
        Aggregate(AggregateFunction.COUNT, subject=Subject.DISJOINT),
        Aggregate(AggregateFunction.SUM, subject=Subject.DURATION),
        Aggregate(AggregateFunction.AVG, subject=Subject.DURATION),
        Aggregate(AggregateFunction.MIN, subject=Subject.DURATION),
        Aggregate(AggregateFunction.MAX, subject=Subject.DURATION),
    )
    assert [aggregate.label for aggregate in read.aggregates] == [
        "REACH(a)",
        "COUNT(PARTITIONS)",
        "COUNT(DISJOINT)",
        "SUM(DURATION)",
        "AVG(DURATION)",
        "MIN(DURATION)",
        "MAX(DURATION)",
    ]


MODES = {
    Mode.ANY: ["skip-till-any-match", "any", "ANY", "Skip_Till_Any_Match", "skip till any match"],
    Mode.NEXT: ["skip-till-next-match", "next", "Next", "SKIP-TILL_NEXT MATCH", "skip - till - next - match"],
    Mode.CONTIGUOUS: ["contiguous", "CONTIGUOUS", "Contiguous"],
}


@pytest.mark.parametrize("clause", ["SEMANTICS", "semantics"])
@pytest.mark.parametrize(("mode", "name"), [(mode, name) for mode in MODES for name in MODES[mode]])
@pytest.mark.parametrize("rest", ["WHERE [u] WITHIN 1 s", "GROUP BY g WITHIN 1 s", "WINDOW 1 s SLIDE 1 s"])
def test_mode(clause, mode, name, rest):
    assert query(f"RETURN COUNT(*) PATTERN A a+ {clause} {name} {rest}").mode is mode


def test_without_semantics_any_event_may_be_skipped():
    assert query("RETURN COUNT(*) PATTERN A WITHIN 1 s").mode is Mode.ANY


def test_comments_and_line_ends_within_the_name_of_a_mode():
    text = (
        "RETURN COUNT(*) PATTERN A SEMANTICS skip-till- -- the first\n next # that fits\r\n match\nWITHIN 1 s"
    )
    assert query(text).mode is Mode.NEXT


def test_the_top_level_and_is_split_in_order_and_parentheses_keep_their_parts():
    assert where("[u] AND a.x = 1 AND (a.x = 2 AND a.x) AND [v]") == (
        Equivalence(("u",)),
        ONE,
        Conjunction((TWO, X)),
        Equivalence(("v",)),
    )


def test_labels_and_places_name_queries():
    text = """
    RETURN COUNT(*) PATTERN A WITHIN 1 s      -- the first
    late: RETURN COUNT(*) PATTERN A WITHIN 1 s SLIDE 2 s
    # a comment line -- with RETURN in it
    RETURN COUNT(*) PATTERN A WITHIN 1 s
    "my query": RETURN COUNT(*) PATTERN A WITHIN 1 s
    """
    assert [read.name for read in parse_syntax(text).queries] == ["q1", "late", "q3", "my query"]


@pytest.mark.parametrize("first", ["q2: ", '"q2": '])
def test_a_label_that_is_the_default_of_another_place_is_refused(first):
    text = f"{first}RETURN COUNT(*) PATTERN A WITHIN 1 s\nRETURN COUNT(*) PATTERN A WITHIN 1 s"
    with pytest.raises(QueryMeaningError) as caught:
        parse_syntax(text)
    assert (caught.value.code, caught.value.line, caught.value.column) == ("E140", 2, 1)


def test_the_workload_keeps_its_text():
    text = "RETURN COUNT(*) PATTERN A WITHIN 1 s"
    assert parse_syntax(text).text == text


@pytest.mark.parametrize("text", ["TIMESTAMP '1970-01-01'", "5 min", "1.5", "(5 min)"])
def test_sums_of_literals(text):
    assert isinstance(value(f"{text} + {text}"), Arithmetic)


def test_reading_and_writing_need_no_parser_until_the_first_text():
    program = "import sys, hamlet_core.language.builder; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_error_shows_its_place():
    with pytest.raises(QuerySyntaxError) as caught:
        parse_syntax("RETURN COUNT(*)\nPATTERN SEQ(A B C)\nWITHIN 5 min")
    assert str(caught.value) == (
        "[E012] line 2, column 17: a comma is missing before C\n  PATTERN SEQ(A B C)\n                  ^"
    )
