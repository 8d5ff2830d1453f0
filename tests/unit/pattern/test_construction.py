"""Glushkov's construction with gaps: each operator, nested ones, patterns that may be empty, every place of a NOT."""

import pytest

from hamlet_core import QueryMeaningError
from hamlet_core.language.parser import parse_syntax
from hamlet_core.pattern.automaton import Position
from hamlet_core.pattern.construction import construct
from tests.unit.pattern.drawing import drawn, lines


def refuse(code, message, hint, culprit):
    return QueryMeaningError(message, code=code, hint=hint)


def automaton(pattern):
    (query,) = parse_syntax(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10 s").queries
    return construct(query.pattern, refuse)


WITHOUT_NOT = {
    "A a": "start a, a end",
    "A a+": "start a, a a, a end",
    "SEQ(A a, B b)": "start a, a b, b end",
    "SEQ(A a, B b+)": "start a, a b, b b, b end",
    "SEQ(A a+, B b+)": "start a, a a, a b, b b, b end",
    "(SEQ(A a, B b))+": "start a, a b, b a, b end",
    "(SEQ(A a, B b))++": "start a, a b, b a, b end",
    "SEQ(A a?, B b)": "start a, start b, a b, b end",
    "SEQ(A a, B b?)": "start a, a b, a end, b end",
    "SEQ(A a, B b?, C c)": "start a, a b, b c, a c, c end",
    "SEQ(A a, B b*, C c)": "start a, a b, b b, b c, a c, c end",
    "SEQ(A a?, B b?, C c)": "start a, start b, start c, a b, a c, b c, c end",
    "SEQ(A a, B b?, C c*)": "start a, a b, a c, b c, c c, a end, b end, c end",
    "(A a OR B b)": "start a, start b, a end, b end",
    "(A a OR B b OR C c)": "start a, start b, start c, a end, b end, c end",
    "(A a OR B b)+": "start a, start b, a a, a b, b a, b b, a end, b end",
    "SEQ(A a, (B b OR C c)+, D d)": "start a, a b, a c, b b, b c, c b, c c, b d, c d, d end",
    "SEQ(C c, SEQ(A a, B b+)+)": "start c, c a, a b, b b, b a, b end",
    "SEQ(C c, SEQ(A a, B b+)+)+": "start c, c a, a b, b b, b a, b c, b end",
    "(SEQ(A a?, B b?, C c))+": "start a, start b, start c, a b, a c, b c, c a, c b, c c, c end",
    "SEQ(A a, (SEQ(B b?, C c?))+, D d)": "start a, a b, a c, b b, b c, c b, c c, a d, b d, c d, d end",
    "SEQ(A a, SEQ(SEQ(B b, C c)))": "start a, a b, b c, c end",
    "SEQ(A a)": "start a, a end",
    "(A a+ AND B b)": "start a, start b, a a, a end, b end",
}


@pytest.mark.parametrize("pattern", WITHOUT_NOT)
def test_without_not(pattern):
    assert drawn(automaton(pattern)) == lines(WITHOUT_NOT[pattern])


WITH_NOT = {
    "SEQ(A a, NOT N n, B b)": "start a, a b no 0, b end",
    "SEQ(A a, NOT N n)": "start a, a end no 0",
    "SEQ(NOT N n, A a)": "start a no 0, a end",
    "SEQ(NOT N n, A a, NOT M m)": "start a no 0, a end no 1",
    # Several NOTs in a gap must all be absent.
    "SEQ(A a, NOT N n, NOT M m, B b)": "start a, a b no 0+1, b end",
    # A NOT holds once for the gap, not between the iterations beside it.
    "SEQ(A a+, NOT N n, B b+)": "start a, a a, a b no 0, b b, b end",
    # Middle with b, trailing without.
    "SEQ(A a, NOT N n, B b?)": "start a, a b no 0, a end no 0, b end",
    "SEQ(A a, NOT N n, B b*)": "start a, a b no 0, a end no 0, b b, b end",
    # Middle with a, leading without.
    "SEQ(A a?, NOT N n, B b)": "start a, start b no 0, a b no 0, b end",
    # The gap reaches over what is absent.
    "SEQ(A a, NOT N n, B b?, C c)": "start a, a b no 0, b c, a c no 0, c end",
    "SEQ(A a, B b?, NOT N n, C c)": "start a, a b, b c no 0, a c no 0, c end",
    "SEQ(A a, NOT N n, B b?, NOT M m, C c)": "start a, a b no 0, b c no 1, a c no 0+1, c end",
    # Nested sequences are flattened before the place of a NOT is judged.
    "SEQ(A a, SEQ(NOT N n, B b))": "start a, a b no 0, b end",
    "SEQ(SEQ(A a, NOT N n), B b)": "start a, a b no 0, b end",
    "SEQ(A a, SEQ(NOT N n), B b)": "start a, a b no 0, b end",
    # Under a Kleene the rule holds in each iteration, not between two.
    "(SEQ(A a, NOT N n, B b))+": "start a, a b no 0, b a, b end",
    "SEQ(C c, (SEQ(A a, NOT N n, B b))+, NOT M m)": "start c, c a, a b no 0, b a, b end no 1",
    # Each branch of an OR at the top has gaps of its own.
    "(SEQ(A a, NOT N n) OR SEQ(NOT M m, B b))": "start a, start b no 1, a end no 0, b end",
    "(SEQ(A a, NOT N n) AND SEQ(NOT M m, B b))": "start a, start b no 1, a end no 0, b end",
    # An optional part with a NOT inside leaves a way around it.
    "SEQ(A a, SEQ(NOT N n, B b)?, C c)": "start a, a b no 0, b c, a c, c end",
    "SEQ(A a, SEQ(B b, NOT N n)?, C c)": "start a, a b, b c no 0, a c, c end",
    # Two ways over the same edge: the less demanding one is enough.
    "SEQ(A a, SEQ(NOT N n, B b?)?, C c)": "start a, a b no 0, b c, a c, c end",
    "SEQ(A a, SEQ(NOT N n, SEQ(B b, NOT M m)?), C c)": "start a, a b no 0, b c no 1, a c no 0, c end",
}


@pytest.mark.parametrize("pattern", WITH_NOT)
def test_with_not(pattern):
    assert drawn(automaton(pattern)) == lines(WITH_NOT[pattern])


def test_a_way_round_a_not_is_enough():
    found = drawn(automaton("SEQ(A a, NOT M m, SEQ(NOT N n, B b?)?, C c)"))
    assert found == lines("start a, a b no 0+1, b c, a c no 0, c end")


def test_a_gap_grows_over_absent_parts_inside_a_kleene_body():
    found = drawn(automaton("SEQ(A a, SEQ(B b, NOT N n, C c?, NOT M m, D d)+)"))
    assert found == lines("start a, a b, b c no 0, c d no 1, b d no 0+1, d b, d end")


def test_negated_patterns_are_automata_of_their_own():
    found = automaton("SEQ(A a, NOT SEQ(C c, NOT X x, D d+), NOT (E e OR F f), B b)")
    assert drawn(found) == lines("start a, a b no 0+1, b end")
    sequence, either = found.negations
    assert drawn(sequence) == lines("start c, c d no 0, d d, d end")
    assert drawn(sequence.negations[0]) == lines("start x, x end")
    assert drawn(either) == lines("start e, start f, e end, f end")
    assert found.types() == set("ABCDEFX")
    assert found.aliases() == {"a", "b"}
    assert {(one.alias, other.alias) for one, other in found.all_edges()} == {
        ("a", "b"),
        ("c", "d"),
        ("d", "d"),
    }


def test_positions_keep_the_order_of_the_text_and_the_side_of_and():
    assert automaton("(SEQ(B x, A y) AND SEQ(A, C z)+)").positions == (
        Position(0, "B", "x", 0),
        Position(1, "A", "y", 0),
        Position(2, "A", "A", 1),
        Position(3, "C", "z", 1),
    )
    assert automaton("(A a AND B b)").sides == 2
    assert automaton("(A a OR B b)").sides == 1


def test_kleene_nests_without_limit():
    pattern = "A a"
    for depth in range(40):
        pattern = f"SEQ(B b{depth}, ({pattern})+)"
    found = automaton(pattern)
    assert len(found.positions) == 41
    # One edge into each level, one back to the start of each repeated body.
    assert len(found.edges) == 40 + 40


REFUSED = {
    "A a*": "E105",
    "A a?": "E105",
    "SEQ(A a?, B b*)": "E105",
    "(A a OR B b?)": "E105",
    "(A a AND B b*)": "E105",
    "SEQ(NOT N n)": "E105",
    "SEQ(NOT N n, A a?)": "E105",
    "SEQ(A a, NOT N n?, B b)": "E106",
    "SEQ(A a, NOT SEQ(N n*, M m?), B b)": "E106",
    "NOT A a": "E107",
    "(NOT A a)+": "E107",
    "SEQ(A a, (NOT N n)?)": "E107",
    "(A a OR NOT B b)": "E107",
    "SEQ(A a, NOT (NOT N n), B b)": "E107",
    "SEQ(A a, (SEQ(B b, NOT N n))+)": "E108",
    "SEQ(A a, (SEQ(NOT N n, B b))*)": "E108",
    "SEQ(A a, (SEQ(B b?, NOT N n, C c))+)": "E108",
    "SEQ(A a, (SEQ(NOT N n))+, B b)": "E108",
    "SEQ(A a, (SEQ(B b, NOT N n) OR C c))": "E109",
    "SEQ(A a, (SEQ(B b?, NOT N n, C c) OR D d))": "E109",
    "(A a OR (B b OR SEQ(NOT N n, C c))+)": "E109",
    "SEQ(A a, NOT SEQ(NOT M m, N n), B b)": "E110",
    "SEQ(A a, NOT SEQ(M m, NOT N n, O o?), B b)": "E110",
    "SEQ(A a, (B b AND C c))": "E111",
    "SEQ(A a, NOT (B b AND C c), D d)": "E111",
    "(A a AND B b)?": "E111",
}


@pytest.mark.parametrize("pattern", REFUSED)
def test_refused(pattern):
    with pytest.raises(QueryMeaningError) as caught:
        automaton(pattern)
    assert caught.value.code == REFUSED[pattern]


def test_an_or_at_the_top_may_nest():
    assert drawn(automaton("(A a OR (B b OR SEQ(NOT N n, C c)))")) == lines(
        "start a, start b, start c no 0, a end, b end, c end"
    )
