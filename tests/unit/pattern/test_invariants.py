"""The invariants hold for every query we can think of, and each of them sees its own kind of damage."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from hamlet_core import InvariantError, QueryMeaningError
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Workload
from hamlet_core.pattern import invariants
from hamlet_core.pattern.ambiguity import ambiguous_pairs
from hamlet_core.pattern.automaton import Border, Edge, Position
from hamlet_core.pattern.meaning import analyse_workload
from tests.golden import harness
from tests.properties import strategies

CASES = [case for file in harness.FILES for case in harness.load(file)]


def analysed(pattern, where="", returns="COUNT(*)"):
    text = f"RETURN {returns} PATTERN {pattern} {where} WITHIN 10 s"
    (query,) = analyse_workload(parse_syntax(text))
    return query


def test_every_golden_query_keeps_them():
    for case in CASES:
        for query in analyse_workload(parse_syntax(case.text)):
            invariants.check_analysed(query)


@settings(max_examples=300)
@given(strategies.cases)
def test_every_random_query_keeps_them(case):
    try:
        (query,) = analyse_workload(Workload((case.query,)))
    except QueryMeaningError as error:
        if error.code not in {"E114", "E132"}:  # ambiguous aggregates are refused, and nothing else
            raise
        return
    invariants.check_analysed(query)


GOOD = analysed("SEQ(A a, NOT SEQ(M m, N n), SEQ(B b, NOT N k, C c)+, D d?)")
AUTOMATON = GOOD.automaton


def damaged(**changes):
    return replace(AUTOMATON, **changes)


BORDER = AUTOMATON.starts[0]
DAMAGE = {
    "numbered": damaged(positions=AUTOMATON.positions[::-1]),
    "nothing starts": damaged(starts=()),
    "nothing ends": damaged(ends=()),
    "edges are not sorted": damaged(edges=AUTOMATON.edges[::-1]),
    "stands twice": damaged(starts=(BORDER, BORDER)),
    "position that does not exist": damaged(starts=(*AUTOMATON.starts, Border(9, BORDER.gap))),
    "an edge names a position": damaged(edges=(*AUTOMATON.edges, Edge(9, 9, BORDER.gap))),
    "negated pattern that does not exist": damaged(starts=(Border(0, frozenset({7})),)),
    "no trend reaches": damaged(edges=AUTOMATON.edges[1:]),
    "no trend can end": damaged(
        positions=(*AUTOMATON.positions, Position(4, "X", "x")),
        edges=(*AUTOMATON.edges, Edge(3, 4, BORDER.gap)),
    ),
    "gap at its edge": damaged(negations=(AUTOMATON.negations[0], analysed("SEQ(A a, NOT B b)").automaton)),
    "two sides": damaged(negations=(AUTOMATON.negations[0], analysed("(A a AND B b)").automaton)),
    "negated pattern: nothing starts": damaged(
        negations=(replace(AUTOMATON.negations[0], starts=()), AUTOMATON.negations[1])
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_seen(damage):
    with pytest.raises(InvariantError, match=damage) as caught:
        invariants.check_automaton(DAMAGE[damage], "here")
    assert str(caught.value).startswith("[E901] here")


def test_an_edge_between_the_sides_of_and_is_seen():
    both = analysed("(A a+ AND B b+)").automaton
    edges = tuple(
        sorted((*both.edges, Edge(0, 1, both.edges[0].gap)), key=lambda edge: (edge.source, edge.target))
    )
    with pytest.raises(InvariantError, match="one side of AND to the other"):
        invariants.check_automaton(replace(both, edges=edges))
    with pytest.raises(InvariantError, match="does not start"):
        invariants.check_automaton(replace(both, starts=both.starts[:1]))


def test_damage_to_ambiguous_pairs_is_seen():
    automaton = analysed("SEQ(A x+, A y+)").automaton
    assert ambiguous_pairs(automaton) == {(0, 1), (1, 0)}
    with pytest.raises(InvariantError, match="the other way round"):
        invariants.check_ambiguous_pairs(automaton, frozenset({(0, 1)}))
    with pytest.raises(InvariantError, match="cannot be ambiguous pairs"):
        invariants.check_ambiguous_pairs(automaton, frozenset({(1, 1)}))
    with pytest.raises(InvariantError, match="cannot be ambiguous pairs"):
        invariants.check_ambiguous_pairs(analysed("SEQ(A x, B y)").automaton, frozenset({(0, 1), (1, 0)}))


def test_damage_to_a_query_is_seen():
    query = analysed("SEQ(A a, NOT N n, B b+)", "WHERE [g] AND a.v > 1 AND b.v < NEXT(b).v", "COUNT(b)")
    invariants.check_analysed(query)
    changes = {
        "a local condition": {"local": (replace(query.local[0], alias="z"),)},
        "an adjacent condition": {"adjacent": (replace(query.adjacent[0], right="a"),)},
        "an aggregate reads": {"operands": ("n",)},
        "an aggregate": {"operands": ()},
        "called ambiguous": {"ambiguous": True},
        "stands twice": {"equivalence": ("g", "g")},
        "not the atoms": {"automaton": AUTOMATON},
        "the pattern has": {"automaton": replace(query.automaton, edges=query.automaton.edges[:1])},
    }
    for what, change in changes.items():
        with pytest.raises(InvariantError, match=what):
            invariants.check_analysed(replace(query, **change))
