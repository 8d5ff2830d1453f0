"""A FUNNEL is the query that it stands for, whatever its steps and clauses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core import explain
from hamlet_core.language import parse_syntax, write_expression, write_pattern, write_workload
from hamlet_core.language.syntax import Atom, Mode, Not, Or, Pattern, Plus, Query, Seq
from hamlet_core.language.writer import write_name
from tests.unit.language import trees

LONG = {
    "FUNNEL checkout: view -> cart -> purchase BY user_id WITHIN 7 days": (
        "checkout: RETURN REACH(view), REACH(cart), REACH(purchase), AVG(DURATION) PATTERN SEQ(view, cart, purchase) "
        "SEMANTICS skip-till-next-match WHERE [user_id] WITHIN 7 d"
    ),
    "funnel f: View v -> Cart c+ -> Pay p semantics any where c.price > 5 and v.kind = x by user, device "
    "group by country, v.plan window 1 h slide 5 min": (
        "f: RETURN REACH(v), REACH(c), REACH(p), AVG(DURATION) PATTERN SEQ(View v, Cart c+, Pay p) "
        "SEMANTICS skip-till-any-match WHERE [user, device] AND c.price > 5 AND v.kind = x "
        "GROUP-BY country, v.plan WITHIN 1 h SLIDE 5 min"
    ),
    "FUNNEL f: a -> NOT x -> b -> NOT (y OR Z z) BY u WITHIN 1 d": (
        "f: RETURN REACH(a), REACH(b), AVG(DURATION) PATTERN SEQ(a, NOT x, b, NOT (y OR Z z)) "
        "SEMANTICS next WHERE [u] WITHIN 1 d"
    ),
    "FUNNEL f: (a OR B b) -> (c OR d)+ BY u WITHIN 1 d": (
        "f: RETURN REACH(a), REACH(b), REACH(c), REACH(d), AVG(DURATION) PATTERN SEQ((a OR B b), (c OR d)+) "
        "SEMANTICS next WHERE [u] WITHIN 1 d"
    ),
    "FUNNEL f: a -> b SEMANTICS contiguous WHERE a.x = 1 OR a.x = 2 BY u WITHIN 1 d": (
        "f: RETURN REACH(a), REACH(b), AVG(DURATION) PATTERN SEQ(a, b) SEMANTICS contiguous "
        "WHERE [u] AND (a.x = 1 OR a.x = 2) WITHIN 1 d"
    ),
    "FUNNEL f: a -> b WHERE [s] AND b.x > 5 BY u WITHIN 1 d": (
        "f: RETURN REACH(a), REACH(b), AVG(DURATION) PATTERN SEQ(a, b) SEMANTICS next WHERE [u] AND [s] AND b.x > 5 "
        "WITHIN 1 d"
    ),
    'FUNNEL "my funnel": "log-in" l -> "BY" -> DURATION -> funnel BY "user id" WITHIN 1 d': (
        '"my funnel": RETURN REACH(l), REACH("BY"), REACH(DURATION), REACH(funnel), AVG(DURATION) '
        'PATTERN SEQ("log-in" l, "BY", DURATION, funnel) SEMANTICS next WHERE ["user id"] WITHIN 1 d'
    ),
}


def only(text: str) -> Query:
    (query,) = parse_syntax(text).queries
    return query


@pytest.mark.parametrize("text", LONG)
def test_a_funnel_is_its_long_form(text):
    read, long = parse_syntax(text), parse_syntax(LONG[text])
    assert read == long
    assert read.queries[0].funnel
    assert not long.queries[0].funnel
    assert parse_syntax(write_workload(read)) == read


def test_funnels_and_queries_stand_in_one_workload_in_any_order():
    text = """RETURN COUNT(*) PATTERN A FUNNEL WITHIN 5 s
    FUNNEL one: a -> b BY u WITHIN 1 d -- the first
    FUNNEL two: a->b BY u GROUP-BY g WITHIN 1 d SLIDE 1 h
    funnel: RETURN COUNT(*) PATTERN funnel WITHIN 5 s FUNNEL funnel2: a -> b BY u WITHIN 1 d"""
    read = parse_syntax(text).queries
    assert [query.name for query in read] == ["q1", "one", "two", "funnel", "funnel2"]
    assert [query.funnel for query in read] == [False, True, True, False, True]
    assert read[0].pattern == Atom("A", "FUNNEL")
    assert read[3].pattern == Atom("funnel", "funnel")


def test_spans_are_those_of_the_text():
    read = only(
        "FUNNEL f:\n  view v\n  -> (cart c OR wish)\n  -> NOT x\n  BY user\n  WITHIN 7 days SLIDE 1 d"
    )
    assert read.span == (1, 1)
    assert [one.span for one in read.aggregates] == [(2, 3), (3, 7), (3, 17), (2, 3)]
    assert [part.span for part in read.pattern.parts] == [(2, 3), (3, 6), (4, 6)]
    assert read.where[0].span == (5, 3)
    assert (read.within_span, read.slide_span) == ((6, 10), (6, 23))


@pytest.mark.parametrize("word", ["funnel", "FUNNEL", "by", "BY", "view"])
def test_the_words_of_a_funnel_are_names_elsewhere(word):
    read = only(
        f"{word}: RETURN COUNT({word}), SUM({word}.{word}), {word} PATTERN SEQ({word}, A a) "
        f"WHERE [{word}] AND {word}.{word} = {word} GROUP-BY {word} WITHIN 5 s"
    )
    assert read.name == word
    assert read.pattern.parts[0] == Atom(word, word)
    assert only(f"RETURN COUNT(*) PATTERN A {word}+ WITHIN 5 s").pattern == Plus(Atom("A", word))


@pytest.mark.parametrize("word", ["funnel", "by", "within", "where", "semantics", "group", "return", "seq"])
def test_words_that_are_names_in_a_funnel(word):
    text = f"FUNNEL {word}: {word} -> x BY {word} GROUP-BY {word} WITHIN 1 d"
    read = only(text)
    assert (read.name, read.pattern) == (word, Seq((Atom(word, word), Atom("x", "x"))))
    assert read == only(
        f"{word}: RETURN REACH({word}), REACH(x), AVG(DURATION) PATTERN SEQ({word}, x) SEMANTICS next "
        f"WHERE [{word}] GROUP-BY {word} WITHIN 1 d"
    )


def test_explain_says_what_a_funnel_stands_for():
    shown = explain("FUNNEL checkout: view -> cart BY user WITHIN 7 days")
    assert (
        "== query checkout ==\n"
        "checkout: FUNNEL stands for\n"
        "checkout: RETURN REACH(view), REACH(cart), AVG(DURATION)\n"
        "  PATTERN SEQ(view, cart)\n"
        "  SEMANTICS skip-till-next-match\n"
        "  WHERE [user]\n"
        "  WITHIN 7 d\n"
    ) in shown
    long = explain(write_workload(parse_syntax("FUNNEL checkout: view -> cart BY user WITHIN 7 days")))
    assert shown.replace("checkout: FUNNEL stands for\n", "") == long


# --- random funnels ------------------------------------------------------------------------------

_events = st.builds(Atom, trees.names, trees.names)
_choices = st.builds(Or, trees.several(_events))
_reached = st.one_of(_events, _events, _choices, st.builds(Plus, st.one_of(_events, _choices)))
_absent = st.builds(Not, st.one_of(_events, _choices))


def _quoted(name: str) -> str:
    """A name that is a keyword nowhere."""
    return '"' + name.replace('"', '""') + '"'


def _step(step: Pattern) -> str:
    match step:
        case Atom(kind, alias):
            return _quoted(kind) if kind == alias else f"{_quoted(kind)} {_quoted(alias)}"
        case Or(branches):
            return f"({' OR '.join(_step(branch) for branch in branches)})"
        case Plus(body):
            return f"{_step(body)}+"
        case Not(body):
            return f"NOT {_step(body)}"
    raise AssertionError(step)


def _aliases(step: Pattern) -> list[str]:
    match step:
        case Atom(_, alias):
            return [alias]
        case Or(branches):
            return [alias for branch in branches for alias in _aliases(branch)]
        case Plus(body):
            return _aliases(body)
    return []


@given(
    first=_reached,
    between=st.lists(st.one_of(_reached, _absent), max_size=4),
    last=_reached,
    trailing=st.lists(_absent, max_size=1),
    mode=st.none() | st.sampled_from(Mode),
    conditions=st.lists(trees.expressions, max_size=2),
    by=st.lists(trees.names, min_size=1, max_size=3),
    groups=st.lists(trees.names, max_size=2),
    within=st.sampled_from(["7 days", "1 h SLIDE 5 min", "90 s"]),
)
def test_random_funnels(first, between, last, trailing, mode, conditions, by, groups, within):
    steps = [first, *between, last, *trailing]
    where = [f"NOT ({write_expression(condition)})" for condition in conditions]
    names, keys = ", ".join(map(_quoted, by)), ", ".join(map(_quoted, groups))
    grouped = f"GROUP-BY {keys}" if groups else ""
    said = f"SEMANTICS {mode.value}" if mode else ""
    conditioned = f"WHERE {' AND '.join(where)}" if where else ""
    funnel = f"FUNNEL f: {' -> '.join(map(_step, steps))} {said} {conditioned} BY {names} {grouped} WITHIN {within}"
    reaches = ", ".join(f"REACH({_quoted(alias)})" for step in steps for alias in _aliases(step))
    long = (
        f"f: RETURN {reaches}, AVG(DURATION) PATTERN {write_pattern(Seq(tuple(steps)))} "
        f"SEMANTICS {(mode or Mode.NEXT).value} WHERE {' AND '.join([f'[{names}]', *where])} {grouped} WITHIN {within}"
    )
    read = parse_syntax(funnel)
    assert read == parse_syntax(long)
    assert parse_syntax(write_workload(read)) == read
    assert write_name("f") in write_workload(read)
