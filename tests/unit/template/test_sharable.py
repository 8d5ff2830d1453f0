"""Sharable query sets on worked workloads: who shares what with whom, for which aggregate, and who may not."""

import pickle

import pytest

from hamlet_core.template.sharable import refusals, sharable_sets
from tests.unit.template.workloads import analysed, query


def shared(*queries):
    """`kleene unit: queries` of every set."""
    return [
        f"{one.kleene} {one.unit.label}: {' '.join(f'q{place + 1}' for place in one.queries)}"
        for one in sharable_sets(analysed(*queries))
    ]


def test_the_example_of_the_paper():
    (one,) = sharable_sets(analysed("SEQ(A, B+)", "SEQ(C, B+)"))
    assert (one.kleene, one.unit.label, one.queries) == ("B+", "COUNT(*)", (0, 1))
    assert [member.positions for member in one.members] == [(1,), (1,)]
    assert [member.aggregates for member in one.members] == [(0,), (0,)]
    assert (one.types, one.others, one.ending("B")) == (("B",), {"A", "C"}, {"A", "C"})
    assert pickle.loads(pickle.dumps(one)) == one


SHARED = {
    "aliases do not matter": (("SEQ(A a, B x+)", "SEQ(C c, B y+)"), ["B+ COUNT(*): q1 q2"]),
    "one query is no set": (("SEQ(A, B+)",), []),
    "no common sub-pattern": (("SEQ(A, B+)", "SEQ(A+, B)"), []),
    "nothing repeats": (("SEQ(A, B)", "SEQ(A, B)"), []),
    "a star is a plus that may be absent": (("SEQ(A, B*)", "SEQ(C, B+)"), ["B+ COUNT(*): q1 q2"]),
    "several sub-patterns, several sets": (
        ("SEQ(A+, B+)", "SEQ(A+, C)", "SEQ(C, B+)"),
        ["A+ COUNT(*): q1 q2", "B+ COUNT(*): q1 q3"],
    ),
    "a nested body and the body in it": (
        ("SEQ(A, B+)+", "SEQ(C, SEQ(A, B+)+)", "SEQ(C, B+)"),
        ["SEQ(A, B+)+ COUNT(*): q1 q2", "B+ COUNT(*): q1 q2 q3"],
    ),
    "a body of a sequence": (("SEQ(C, SEQ(A, B)+)", "SEQ(A, B)+"), ["SEQ(A, B)+ COUNT(*): q1 q2"]),
    "branches in another order": (("(A OR B)+", "SEQ(C, (B OR A)+)"), ["(A OR B)+ COUNT(*): q1 q2"]),
    "predicates may differ": (
        (query("SEQ(A, B b+)", clauses="WHERE b.v < 3"), query("B b+", clauses="WHERE b.v < NEXT(b).v")),
        ["B+ COUNT(*): q1 q2"],
    ),
    "windows may differ, and may have holes": (
        (query("SEQ(A, B+)", window="10 s SLIDE 4 s"), query("SEQ(C, B+)", window="2 s SLIDE 7 s")),
        ["B+ COUNT(*): q1 q2"],
    ),
    "the same set of partition attributes, by either clause": (
        (query("B+", clauses="WHERE [u, g]"), query("B+", clauses="WHERE [u] GROUP-BY g")),
        ["B+ COUNT(*): q1 q2"],
    ),
    "other partition attributes": ((query("B+", clauses="WHERE [u]"), query("B+")), []),
    "AND never shares": (("(A AND B+)", "SEQ(C, B+)"), []),
    "several paths for one sequence": (("SEQ(B x+, B y+)", "SEQ(C, B+)"), []),
    "a negated type of the body": (("SEQ(B+, C, NOT B n)", "SEQ(C, B+)"), []),
    "another B directly before it": (("SEQ(B x, B y+)", "SEQ(C, B+)"), []),
    "another B directly behind it": (("SEQ(B x+, B y)", "SEQ(C, B+)"), []),
    "another B further off": (("SEQ(B x, C, B y+)", "SEQ(C, B+)"), ["B+ COUNT(*): q1 q2"]),
    "twice in one query": (("SEQ(B x+, C, B y+)", "B+"), ["B+ COUNT(*): q1 q2"]),
    "twice in one query is no set": (("SEQ(B x+, C, B y+)",), []),
    "a negated repetition is none": (("SEQ(A, NOT SEQ(B, C+), D)", "SEQ(A, C+)"), []),
    "COUNT(*) only with COUNT(*)": ((query("B b+", "SUM(b.v)"), query("SEQ(A, B b+)")), []),
    "SUM with AVG and COUNT(E)": (
        (query("B b+", "SUM(b.v)"), query("B x+", "AVG(x.v)"), query("B+", "COUNT(B)")),
        ["B+ SUM(B.v): q1 q2 q3"],
    ),
    "COUNT(E) with each sum, sums of two attributes with neither": (
        (query("B b+", "SUM(b.v)"), query("B b+", "COUNT(b)"), query("B b+", "SUM(b.w)")),
        ["B+ SUM(B.v): q1 q2", "B+ SUM(B.w): q2 q3"],
    ),
    "COUNT(E) with itself": ((query("B b+", "COUNT(b)"), query("B b+", "COUNT(b)")), ["B+ COUNT(B): q1 q2"]),
    "MIN with the same MIN": (
        (
            query("B b+", "MIN(b.v)"),
            query("B b+", "MIN(b.v), MAX(b.v)"),
            query("B b+", "MAX(b.v)"),
            query("B b+", "MIN(b.w)"),
        ),
        ["B+ MIN(B.v): q1 q2", "B+ MAX(B.v): q2 q3"],
    ),
    "several aggregates are several units": (
        (
            query("B b+", "COUNT(*), SUM(b.v), MIN(b.v)"),
            query("SEQ(A, B b+)", "MIN(b.v), AVG(b.v), COUNT(*)"),
        ),
        ["B+ COUNT(*): q1 q2", "B+ SUM(B.v): q1 q2", "B+ MIN(B.v): q1 q2"],
    ),
    "an aggregate outside the body": (
        (
            query("SEQ(A a, B+)", "SUM(a.v)"),
            query("SEQ(A x, B+, C)", "SUM(x.v)"),
            query("SEQ(B+, A)", "SUM(A.w)"),
        ),
        ["B+ SUM(A.v): q1 q2"],
    ),
    "inside the body of one and outside that of the other": (
        (query("SEQ(B x, C, B y+)", "SUM(x.v)"), query("SEQ(C, B y+)", "SUM(y.v)")),
        [],
    ),
    "not at the same place of the body": (
        (query("SEQ(A x, B, A y, C)+", "SUM(x.v)"), query("SEQ(A x, B, A y, C)+", "SUM(y.v)")),
        [],
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_shared(name):
    queries, expected = SHARED[name]
    assert shared(*queries) == expected


def test_positions_of_members_correspond_by_place():
    (one,) = sharable_sets(analysed("(A a OR SEQ(B b, D d))+", "SEQ(C, (SEQ(B, D) OR A)+)"))
    assert one.types == ("A", "B", "D")
    assert [member.positions for member in one.members] == [(0, 1, 2), (3, 1, 2)]


def test_a_query_that_has_the_body_twice_is_two_members():
    (one,) = sharable_sets(analysed("SEQ(B x+, C, B y+)", "B+"))
    assert [(member.query, member.positions) for member in one.members] == [(0, (0,)), (0, (2,)), (1, (0,))]


def test_aggregates_name_what_a_unit_serves():
    sets = sharable_sets(
        analysed(query("B b+", "COUNT(b), AVG(b.v), SUM(b.v)"), query("B b+", "COUNT(*), COUNT(b)"))
    )
    assert [(one.unit.label, [member.aggregates for member in one.members]) for one in sets] == [
        ("SUM(B.v)", [(0, 1, 2), (1,)])
    ]


def test_a_pane_divides_every_window_and_slide():
    (one,) = sharable_sets(
        analysed(
            query("B+", window="30 s SLIDE 12 s"), query("B+", window="20 s"), query("B+", window="18 s")
        )
    )
    assert one.pane == 2_000_000


def test_positive_and_negated_types_end_a_burst():
    nested, flat = sharable_sets(
        analysed(
            "SEQ(A, NOT SEQ(N, M), SEQ(B, D+)+)", "SEQ(SEQ(B, NOT X, D+)+, C)", "SEQ(SEQ(B, D+)+, NOT Y)"
        )
    )
    assert (nested.kleene, nested.queries) == ("SEQ(B, D+)+", (0, 2))
    assert nested.others == {"A", "N", "M", "Y"}
    assert nested.ending("B") == {"A", "D", "N", "M", "Y"}
    assert (flat.kleene, flat.queries) == ("D+", (0, 1, 2))
    assert flat.ending("D") == {"A", "B", "C", "N", "M", "X", "Y"}


REFUSALS = {
    "(A AND B+)": ("AND of patterns",),
    "SEQ(A, B)": ("no Kleene sub-pattern",),
    "SEQ(B x+, B y+)": ("an ambiguous pattern",),
    "SEQ(A+, NOT B n, C, B+)": ("B+: B is negated, too",),
    "SEQ(B x, B y+, C+)": ("B+: another B stands beside it",),
    "SEQ(A, B+)": (),
}


@pytest.mark.parametrize("pattern", REFUSALS)
def test_refusals(pattern):
    (one,) = analysed(pattern)
    assert refusals(one) == REFUSALS[pattern]
