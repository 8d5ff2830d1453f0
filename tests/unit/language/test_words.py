"""Keywords are keywords only where the grammar can use one."""

from __future__ import annotations

import pytest

from hamlet_core.language import parse_syntax
from hamlet_core.language.syntax import (
    Atom,
    Attribute,
    Comparison,
    Equivalence,
    GroupAttribute,
    Literal,
    Mode,
    Query,
    Seq,
)

KEYWORDS = [
    *(
        "return",
        "pattern",
        "where",
        "within",
        "window",
        "slide",
        "group",
        "by",
        "group_by",
        "seq",
        "next",
        "and",
    ),
    *(
        "or",
        "not",
        "in",
        "is",
        "like",
        "between",
        "true",
        "false",
        "null",
        "timestamp",
        "count",
        "sum",
        "avg",
    ),
    *("min", "max", "time", "type", "d", "s", "h", "m", "ms", "day"),
    *(
        "semantics",
        "any",
        "next",
        "contiguous",
        "skip",
        "reach",
        "partitions",
        "disjoint",
        "duration",
        "funnel",
    ),
]
RESERVED = ["where", "within", "window", "semantics"]
"""Not free as an alias without quotes: a clause may follow the type."""


def query(text: str) -> Query:
    (only,) = parse_syntax(text).queries
    return only


@pytest.mark.parametrize("word", [*KEYWORDS, *(word.upper() for word in KEYWORDS)])
def test_attribute_names(word):
    read = query(
        f"RETURN SUM(a.{word}), a.{word}, {word} PATTERN A a "
        f"WHERE [{word}] AND a.{word} < NEXT(a).{word} AND 5 = a.{word} - a.{word} AND a.{word} IN (1) AND NOT a.{word} "
        f"GROUP-BY a.{word}, {word} WITHIN 5 s"
    )
    assert read.returns[0].attribute == word
    assert read.returns[1:] == read.group_by == (GroupAttribute(word, "a"), GroupAttribute(word))
    assert read.where[0] == Equivalence((word,))
    assert read.where[1].right == Attribute("a", word, next=True)
    assert read.where[2].right.right == Attribute("a", word)
    assert read.where[3].operand == read.where[4].operand == Attribute("a", word)


@pytest.mark.parametrize("word", [word for word in KEYWORDS if word not in RESERVED])
def test_aliases_in_a_sequence(word):
    read = query(
        f"RETURN COUNT({word}), REACH({word}), SUM({word}.x), {word}.x PATTERN SEQ(A {word}, B {word}2+) "
        f"WHERE {word}.x = 1 AND NEXT({word}).x > {word}.x AND 5 < {word}.y WITHIN 5 s"
    )
    assert [aggregate.alias for aggregate in read.aggregates] == [word] * 3
    assert read.pattern.parts[0] == Atom("A", word)
    assert read.where[0].left == read.where[1].right == Attribute(word, "x")
    assert read.where[1].left == Attribute(word, "x", next=True)
    assert read.where[2].right == Attribute(word, "y")


@pytest.mark.parametrize("word", [word for word in KEYWORDS if word != "not"])
def test_event_types(word):
    assert query(f"RETURN COUNT(*) PATTERN SEQ({word}, {word}+) WITHIN 5 s").pattern.parts[0] == Atom(
        word, word
    )


@pytest.mark.parametrize("word", KEYWORDS)
def test_labels(word):
    text = f"{word}: RETURN COUNT(*) PATTERN A WITHIN 5 s {word}2: RETURN COUNT(*) PATTERN A WITHIN 5 s"
    assert [read.name for read in parse_syntax(text).queries] == [word, f"{word}2"]


@pytest.mark.parametrize("word", KEYWORDS)
def test_quoted_names_are_never_keywords(word):
    read = query(
        f'RETURN "{word}".x, COUNT("{word}") PATTERN "{word}" "{word}"+ WHERE "{word}".x < 5 WITHIN 5 s'
    )
    assert read.pattern.body == Atom(word, word)


@pytest.mark.parametrize("word", [word for word in KEYWORDS if word not in ("true", "false", "null")])
def test_bare_words(word):
    read = query(f"RETURN COUNT(*) PATTERN A a WHERE a.x = {word} AND a.y > {word} WITHIN 5 s")
    assert read.where[0].right == read.where[1].right == Literal(word)


@pytest.mark.parametrize("word", [word for word in KEYWORDS if word not in ("true", "false", "null", "not")])
def test_bare_words_on_the_left_and_in_a_list(word):
    read = query(f"RETURN COUNT(*) PATTERN A a WHERE {word} = a.x AND a.y IN ({word}, {word}) WITHIN 5 s")
    assert read.where[0].left == Literal(word)
    assert read.where[1].items == (Literal(word), Literal(word))


@pytest.mark.parametrize("alias", ["d", "s", "h", "m", "min", "ms"])
def test_units_beside_aliases_of_the_same_name(alias):
    read = query(
        f"RETURN MIN({alias}.{alias}) PATTERN A {alias}+ WHERE 5 min > {alias}.v AND {alias}.v < 2 h WITHIN 3 d"
    )
    assert isinstance(read.where[0], Comparison)
    assert read.where[0].right == Attribute(alias, "v")


def test_clauses_win_over_aliases():
    read = query("RETURN COUNT(*) PATTERN A WHERE A.x < 1 GROUP BY g WINDOW 5 s")
    assert read.pattern == Atom("A", "A")
    assert len(read.where) == len(read.group_by) == 1


@pytest.mark.parametrize("word", [word for word in KEYWORDS if word != "not"])
def test_a_mode_after_any_name(word):
    read = query(f'RETURN COUNT(*) PATTERN {word} "{word}" SEMANTICS next WITHIN 5 s')
    assert (read.pattern, read.mode) == (Atom(word, word), Mode.NEXT)
    read = query(f"RETURN COUNT(*) PATTERN SEQ({word}, {word}+) SEMANTICS any WHERE [{word}] WITHIN 5 s")
    assert (read.mode, read.where) == (Mode.ANY, (Equivalence((word,)),))


@pytest.mark.parametrize("word", ["SEMANTICS", "where"])
def test_in_parentheses_no_clause_can_follow_so_its_word_is_a_name(word):
    assert query(f"RETURN COUNT(*) PATTERN SEQ(A {word}, B) WITHIN 5 s").pattern.parts[0] == Atom("A", word)


COUNTED = {
    "COUNT(PARTITIONS)": "SEQ(A, B)",
    "COUNT(Disjoint)": "SEQ(A, B)",
    "COUNT(partitions)": "SEQ(A PARTITIONS, PARTITIONS x)",
    "COUNT(DISJOINT)": "SEQ(A, B disjoint)",
}
OF_EVENTS = {
    "COUNT(PARTITIONS)": "SEQ(A PARTITIONS, B)",
    "COUNT(DISJOINT)": "SEQ(A, DISJOINT d)",
    "COUNT(Partitions)": "SEQ(A, NOT Partitions, B)",
    'COUNT("PARTITIONS")': "SEQ(A, B)",
    'COUNT("disjoint")': "SEQ(A DISJOINT, B)",
}


@pytest.mark.parametrize("text", COUNTED)
def test_count_knows_two_words(text):
    (read,) = query(f"RETURN {text} PATTERN {COUNTED[text]} WITHIN 5 s").aggregates
    assert (read.alias, read.label) == (None, text.upper())


@pytest.mark.parametrize("text", OF_EVENTS)
def test_a_name_spelled_so_and_a_quoted_one_win_over_the_words_of_count(text):
    (read,) = query(f"RETURN {text} PATTERN {OF_EVENTS[text]} WITHIN 5 s").aggregates
    assert (read.subject, read.label) == (None, text.replace('"', ""))


@pytest.mark.parametrize("word", ["PARTITIONS", "disjoint", "DURATION"])
def test_the_words_of_aggregates_are_names_in_all_other_places(word):
    read = query(f"RETURN REACH({word}), SUM({word}.v), {word} PATTERN {word}+ GROUP-BY {word} WITHIN 5 s")
    assert [aggregate.label for aggregate in read.aggregates] == [f"REACH({word})", f"SUM({word}.v)"]
    assert read.returns[2:] == read.group_by == (GroupAttribute(word),)


def test_duration_wins_over_an_alias_where_an_attribute_would_have_to_follow():
    read = query("RETURN SUM(DURATION), SUM(DURATION.v), COUNT(DURATION) PATTERN A DURATION WITHIN 5 s")
    assert [aggregate.alias for aggregate in read.aggregates] == [None, "DURATION", "DURATION"]


def test_slide_may_label_the_next_query():
    text = "RETURN COUNT(*) PATTERN A WITHIN 5 s slide: RETURN COUNT(*) PATTERN A WITHIN 5 s"
    assert parse_syntax(text).queries[1].name == "slide"


def test_group_minus_by_is_arithmetic_where_attributes_are_named():
    read = query("RETURN COUNT(*) PATTERN by WHERE by.x < by.group - by.y WITHIN 5 s")
    assert read.where[0].right.right == Attribute("by", "y")


def test_comments_between_a_word_and_its_parenthesis():
    read = query("RETURN COUNT -- all\n (*) PATTERN SEQ # parts\r\n (A, B) WITHIN 5 -- how long\n min")
    assert isinstance(read.pattern, Seq)


def test_names_are_case_sensitive_and_of_any_alphabet():
    read = query("RETURN COUNT(*) PATTERN SEQ(Größe Ab, 东 aB) WITHIN 5 s")
    assert read.pattern.parts == (Atom("Größe", "Ab"), Atom("东", "aB"))
