"""Canonical text: what it looks like, and that it reads back as the same tree."""

from __future__ import annotations

import pytest
from hypothesis import given

from hamlet_core.language import (
    parse_syntax,
    syntax,
    write_expression,
    write_pattern,
    write_query,
    write_workload,
)
from tests.unit.language import trees


@given(trees.workloads)
def test_a_workload_reads_back(workload):
    text = write_workload(workload)
    read = parse_syntax(text)
    assert read == workload
    assert write_workload(read) == text  # equality of numbers alone would not tell 7 from 7.0


@given(trees.expressions)
def test_an_expression_reads_back(expression):
    text = f"RETURN COUNT(*) PATTERN A WHERE NOT ({write_expression(expression)}) WITHIN 1 s"
    assert parse_syntax(text).queries[0].where == (syntax.Negation(expression),)


@given(trees.patterns)
def test_a_pattern_reads_back(pattern):
    text = f"RETURN COUNT(*) PATTERN {write_pattern(pattern)} WITHIN 1 s"
    assert parse_syntax(text).queries[0].pattern == pattern


CANONICAL = {
    "a.x==1": "a.x = 1",
    "a.x<>1": "a.x != 1",
    "((a.x)) = ((1))": "a.x = 1",
    "a.x = Pool": "a.x = 'Pool'",
    "a.x = 'it''s'": "a.x = 'it''s'",
    "(a.x + 1) + 2 > 3": "a.x + 1 + 2 > 3",
    "a.x + (1 + 2) > 3": "a.x + (1 + 2) > 3",
    "a.x - -1 > - -1": "a.x - -1 > -(-1)",
    "-(1) < -a.x": "-(1) < -a.x",
    "a.x=1 or (a.y=2 and not (a.z=3))": "(a.x = 1 OR a.y = 2 AND NOT a.z = 3)",
    "(a.x or a.y) and a.z": "(a.x OR a.y) AND a.z",
    "a.x in(1,2.50)": "a.x IN (1, 2.50)",
    "a.min > next(a).min": "a.min > NEXT(a).min",
    '"where".x': '"where".x',
    '"a b"."c""d"': '"a b"."c""d"',
    '"plain"."name"': "plain.name",
    "a.t > timestamp '2015-01-01T08:00+02:00'": "a.t > TIMESTAMP '2015-01-01 06:00:00'",
    "a.t - a.u < 90 min": "a.t - a.u < 90 min",
    "a.t - a.u < 120 min": "a.t - a.u < 2 h",
    "a.t - a.u < 0.0015 s": "a.t - a.u < 1.5 ms",
    "a.x > 5.0": "a.x > 5.0",
    "[ u,v ]": "[u, v]",
}


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_condition(text):
    (query,) = parse_syntax(f"RETURN COUNT(*) PATTERN A a WHERE {text} WITHIN 1 s").queries
    assert f"WHERE {CANONICAL[text]}\n" in write_query(query)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("((A a))+", "A a+"),
        ("(A, B)+", "SEQ(A, B)+"),
        ("SEQ(A A, NOT(B))", "SEQ(A, NOT B)"),
        ("(NOT A)+", "(NOT A)+"),
        ("(A \u2228 (B \u2227 C))", "(A OR (B AND C))"),
        ('"SEQ" "or"', '"SEQ" "or"'),
    ],
)
def test_canonical_pattern(text, written):
    (query,) = parse_syntax(f"RETURN COUNT(*) PATTERN {text} WITHIN 1 s").queries
    assert write_pattern(query.pattern) == written


def test_canonical_query():
    text = "x: return g,count( * ),sum(b.v) pattern seq(A, B b+) group by b.g window 10 s slide 4 s"
    (query,) = parse_syntax(text).queries
    assert write_query(query) == (
        "x: RETURN g, COUNT(*), SUM(b.v)\n  PATTERN SEQ(A, B b+)\n  GROUP-BY b.g\n  WITHIN 10 s SLIDE 4 s"
    )


def test_canonical_mode_and_aggregates():
    text = (
        "x: return reach(a),count(partitions),avg(duration) pattern A a semantics NEXT where [u] within 9 s"
    )
    (query,) = parse_syntax(text).queries
    assert write_query(query) == (
        "x: RETURN REACH(a), COUNT(PARTITIONS), AVG(DURATION)\n  PATTERN A a\n"
        "  SEMANTICS skip-till-next-match\n  WHERE [u]\n  WITHIN 9 s"
    )


def test_the_default_mode_is_not_written():
    (query,) = parse_syntax("RETURN COUNT(*) PATTERN A SEMANTICS any WITHIN 1 s").queries
    assert "SEMANTICS" not in write_query(query)


@pytest.mark.parametrize(
    ("pattern", "counted", "written"),
    [
        ("A", "COUNT(disjoint)", "COUNT(DISJOINT)"),
        ("A", 'COUNT("disjoint")', 'COUNT("disjoint")'),
        ("A DISJOINT", "COUNT(DISJOINT)", 'COUNT("DISJOINT")'),
        ("A DISJOINT", "COUNT(disjoint)", "COUNT(DISJOINt)"),
        ("DISJOINt DISJOINT", "COUNT(disjoint)", "COUNT(DISJOInT)"),
        ("A DURATION", "SUM(duration)", "SUM(DURATION)"),
        ("A DURATION", "REACH(DURATION)", "REACH(DURATION)"),
        ("A PARTITIONS", "REACH(PARTITIONS)", "REACH(PARTITIONS)"),
    ],
)
def test_the_words_of_count_and_names_spelled_like_them_are_told_apart(pattern, counted, written):
    read = parse_syntax(f"RETURN {counted} PATTERN {pattern} WITHIN 1 s")
    text = write_workload(read)
    assert f"RETURN {written}\n" in text
    assert parse_syntax(text) == read
