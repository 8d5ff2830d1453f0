"""Kleene sub-patterns in normal form: equal for equal structures, whatever the aliases and the way of writing."""

import pytest
from hypothesis import given, settings

from hamlet_core import QueryMeaningError
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Workload
from hamlet_core.language.writer import write_pattern
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.template.kleene import kleene_bodies
from tests.properties import strategies

BODIES = {
    "SEQ(A, B)": [],
    "SEQ(A a, B b+)": [("B", (1,))],
    "SEQ(A a+, B b*)": [("A", (0,)), ("B", (1,))],
    "SEQ(C c, SEQ(A a, B b+)+)": [("SEQ(A, B+)", (1, 2)), ("B", (2,))],
    "SEQ(C, SEQ(A, SEQ(B, D)+)+)+": [
        ("SEQ(C, SEQ(A, SEQ(B, D)+)+)", (0, 1, 2, 3)),
        ("SEQ(A, SEQ(B, D)+)", (1, 2, 3)),
        ("SEQ(B, D)", (2, 3)),
    ],
    "(SEQ(A, SEQ(B, C)))+": [("SEQ(A, B, C)", (0, 1, 2))],
    "A++": [("A", (0,))],
    "A?*": [("A", (0,))],
    "A*+": [("A", (0,))],
    "(A+)?": [("A", (0,))],
    "(SEQ(C, NOT N n, A))+": [("SEQ(C, NOT N, A)", (0, 1))],
    "SEQ(A, NOT SEQ(N, M m+), B+)": [("B", (1,))],
    "(C c OR (B b OR A a))+": [("(A OR B OR C)", (2, 1, 0))],
    "(A a+ AND B b+)": [("A", (0,)), ("B", (1,))],
}


def pattern(text):
    return parse_syntax(f"RETURN COUNT(*) PATTERN {text} WITHIN 1 s").queries[0].pattern


@pytest.mark.parametrize("text", BODIES)
def test_bodies(text):
    found = [(write_pattern(body.body), body.positions) for body in kleene_bodies(pattern(text))]
    assert found == BODIES[text]


ALIKE = (
    ("SEQ(B b, C c)+", "SEQ(B x, C y)*"),
    ("(B OR C)+", "(C c OR B b)+"),
    ("SEQ(A, SEQ(B, C))+", "SEQ(SEQ(A, B), C)+"),
    ("SEQ(A, B++)+", "SEQ(A a, B b+)+"),
    ("SEQ(A, B+?)+", "SEQ(A, B*)+"),
)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_alike(one, other):
    assert kleene_bodies(pattern(one))[0].body == kleene_bodies(pattern(other))[0].body


def test_different():
    different = (
        "SEQ(A, B)+",
        "SEQ(B, A)+",
        "SEQ(A, B+)+",
        "SEQ(A, NOT N, B)+",
        "SEQ(A, NOT M, B)+",
        "(A OR B)+",
    )
    assert len({kleene_bodies(pattern(text))[0].body for text in different}) == len(different)


@settings(max_examples=100)
@given(strategies.cases)
def test_atoms_of_a_body_are_positions_of_the_automaton_and_closed_under_repetition(case):
    try:
        (analysed,) = analyse_workload(Workload((case.query,)))
    except QueryMeaningError:
        return
    positions = analysed.automaton.positions
    edges = {(edge.source, edge.target) for edge in analysed.automaton.edges}
    for body in kleene_bodies(analysed.query.pattern):
        inside = sorted(body.positions)
        assert inside == list(range(inside[0], inside[0] + len(inside)))
        types = sorted(positions[index].type for index in inside)
        assert types == sorted(atom for atom in _types(body.body))
        reached = {target for source, target in edges if source in inside}
        assert set(inside) <= reached


def _types(body):
    text = write_pattern(body)
    for negated in _negated(body):
        text = text.replace(f"NOT {negated}", "")
    for sign in "(),+*?":
        text = text.replace(sign, " ")
    return [word for word in text.split() if word not in {"SEQ", "OR"}]


def _negated(body):
    from hamlet_core.pattern.construction import negated_patterns

    return [write_pattern(one) for one in negated_patterns(body)]
