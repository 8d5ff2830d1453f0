"""The plan of a workload: classes by partition, paths and what an event pays; and what must hold of every plan."""

import json
import pickle

import pytest
from hypothesis import given, settings

from hamlet_core import QueryMeaningError, parse
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.template.access import Access
from hamlet_core.template.workload import Path, plan_workload
from tests.conftest import ROOT
from tests.properties import strategies
from tests.unit.template.workloads import analysed, query

CASES = json.loads((ROOT / "tests/golden/cases/workloads.json").read_text("utf-8"))


def planned(*queries):
    return plan_workload(analysed(*queries))


def check(queries):
    """What must hold of every plan; gives the plan."""
    plan = plan_workload(queries)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert sorted(index for one in plan.classes for index in one.queries) == list(range(len(queries)))
    for number, one in enumerate(plan.classes):
        assert one.template.queries == tuple(queries[index].query.name for index in one.queries)
        for index in one.queries:
            assert plan.queries[index].partition_class == number
            assert {*queries[index].equivalence, *queries[index].group_by} == set(one.partition)
        for length in (size for window in one.windows for size in (window.within, window.slide)):
            assert length % one.pane == 0
        for each in one.sets:
            assert each.pane % one.pane == 0
    for each in plan.sets:
        check_set(queries, each)
    for one, planned_query in zip(queries, plan.queries, strict=True):
        assert len(planned_query.steps) == len(one.automaton.edges)
        assert (planned_query.path is Path.BURSTS) == (not planned_query.reasons)
        if planned_query.path is Path.BURSTS:
            assert {step.access for step in planned_query.steps} <= {Access.RUNNING_TOTAL}
    return plan


def check_set(queries, each):
    assert len(each.queries) >= 2
    assert each.queries == tuple(sorted(each.queries))
    for member in each.members:
        one = queries[member.query]
        positions = [one.automaton.positions[index] for index in member.positions]
        assert tuple(dict.fromkeys(position.type for position in positions)) == each.types
        assert not one.ambiguous
        assert one.automaton.sides == 1
        assert {*one.equivalence, *one.group_by} == set(each.partition)
        assert one.query.within.microseconds % each.pane == 0
        assert one.query.slide.microseconds % each.pane == 0
        assert one.automaton.types() <= each.others.union(each.types)
        assert member.aggregates
        assert not each.others & set(each.types)
        for place in member.aggregates:
            aggregate = one.query.aggregates[place]
            assert aggregate.attribute in {each.unit.attribute, None}
            assert (aggregate.alias is None) == (each.unit.type is None)
        assert_nothing_enters_or_leaves_within_a_burst(one.automaton, member, each)
    assert_the_same_edges(queries, each)


def assert_nothing_enters_or_leaves_within_a_burst(automaton, member, each):
    """While only events of the body's types come, the totals around the body and its gaps stand still."""
    for negation in automaton.negations:
        assert not negation.types() & set(each.types)
    for edge in automaton.edges:
        if (edge.source in member.positions) != (edge.target in member.positions):
            outside = {edge.source, edge.target}.difference(member.positions)
            assert not {automaton.positions[index].type for index in outside} & set(each.types)


def assert_the_same_edges(queries, each):
    """The members' automata agree inside the body, place by place."""
    inner = set()
    for member in each.members:
        place = {index: place for place, index in enumerate(member.positions)}
        edges = queries[member.query].automaton.edges
        inner.add(
            frozenset(
                (place[edge.source], place[edge.target], len(edge.gap))
                for edge in edges
                if edge.source in place and edge.target in place
            )
        )
    assert len(inner) == 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_workloads(case):
    assert check(analyse_workload(parse(case["workload"]))).sets


def test_there_are_sixty_golden_workloads():
    assert len(CASES) == 60


@settings(max_examples=100)
@given(strategies.workload_cases)
def test_random_workloads(case):
    try:
        queries = analyse_workload(case.workload)
    except QueryMeaningError:
        return
    check(queries)


def test_classes_are_sets_of_partition_attributes():
    plan = planned(
        query("A", clauses="WHERE [u, g]"),
        query("A"),
        query("SEQ(B, A)", clauses="WHERE [u] GROUP-BY g", window="6 s SLIDE 4 s"),
        query("A", clauses="GROUP-BY g"),
    )
    assert [(one.partition, one.queries) for one in plan.classes] == [
        (("g", "u"), (0, 2)),
        ((), (1,)),
        (("g",), (3,)),
    ]
    assert [one.pane for one in plan.classes] == [2_000_000, 10_000_000, 10_000_000]
    assert [len(one.windows) for one in plan.classes] == [2, 1, 1]
    assert plan.classes[0].template.queries == ("q1", "q3")
    assert [one.partition_class for one in plan.queries] == [0, 1, 0, 2]


PATHS = {
    "SEQ(A, B+)": (),
    "SEQ(NOT M, A+, NOT SEQ(C, D+), B?, NOT X)": (),
    "(A+ AND B)": (),
    "SEQ(A x+, A y+)": ("an ambiguous pattern",),
    "SEQ(A, NOT SEQ(C, NOT X, D), B)": ("NOT inside a negated pattern",),
}


@pytest.mark.parametrize("pattern", PATHS)
def test_paths(pattern):
    (one,) = planned(pattern).queries
    assert (one.path, one.reasons) == (Path.EVENTS if PATHS[pattern] else Path.BURSTS, PATHS[pattern])


FOLDED_ALONE = {
    ("COUNT(*)", "SEMANTICS next"): ("SEMANTICS skip-till-next-match",),
    ("REACH(b), COUNT(*)", "SEMANTICS contiguous WHERE b.v < NEXT(b).v"): (
        "SEMANTICS contiguous",
        "REACH(b)",
    ),
    ("MIN(b.v), COUNT(PARTITIONS), MAX(DURATION)", ""): ("COUNT(PARTITIONS)", "MAX(DURATION)"),
    ("COUNT(DISJOINT)", "SEMANTICS any"): ("COUNT(DISJOINT)",),
}


@pytest.mark.parametrize("asked", FOLDED_ALONE)
def test_modes_and_aggregates_over_trends_take_the_path_of_prefixes_and_share_nothing(asked):
    returns, clauses = asked
    plan = planned(query("SEQ(A, B b+)", returns, clauses=clauses), "SEQ(C, B+)", "SEQ(D, B+)")
    assert (plan.queries[0].path, plan.queries[0].reasons) == (Path.PREFIXES, FOLDED_ALONE[asked])
    assert plan.queries[0].alone == (", ".join(FOLDED_ALONE[asked]),)
    assert [one.path for one in plan.queries[1:]] == [Path.BURSTS, Path.BURSTS]
    assert [one.queries for one in plan.sets] == [(1, 2)]


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("SEQ(A, NOT SEQ(C c, D d), B b+)", "WHERE c.v = NEXT(d).v"),
        ("SEQ(A, NOT SEQ(C c, NOT E e, D d), B b+)", ""),
    ],
)
def test_what_the_kernel_of_prefixes_cannot_negate_is_left_to_the_reference(pattern, where):
    (one,) = planned(query(pattern, clauses=f"SEMANTICS next {where}")).queries
    assert one.path is Path.REFERENCE


def test_an_alias_called_like_a_word_of_aggregates_is_an_alias():
    (one,) = planned(query("SEQ(A, B PARTITIONS+)", "COUNT(PARTITIONS), COUNT(A)")).queries
    assert one.path is Path.BURSTS


def test_adjacent_conditions_take_the_path_of_events():
    (one,) = planned(
        query("SEQ(A a, NOT SEQ(C c, D d), B b+)", clauses="WHERE b.v < NEXT(b).v AND c.v = NEXT(d).v")
    ).queries
    assert one.path is Path.EVENTS
    assert one.reasons == ("b.v < NEXT(b).v", "c.v = NEXT(d).v inside NOT")


ACCESS = {
    "a.x < NEXT(b).x": Access.ORDERED_TREE,
    "NEXT(b).x >= a.y": Access.ORDERED_TREE,
    "a.x = NEXT(b).x": Access.ORDERED_TREE,
    "a.x != NEXT(b).x": Access.ORDERED_TREE,
    "NEXT(b).time - a.time < 5 min": Access.PERHAPS_ORDERED,
    "a.x * 2 < NEXT(b).x + 5": Access.ORDERED_TREE,
    "NOT a.x < NEXT(b).x": Access.ORDERED_TREE,
    "NOT a.x != NEXT(b).x": Access.ORDERED_TREE,
    "NOT a.x = NEXT(b).x": Access.ORDERED_TREE,
    "-(a.x - NEXT(b).x) > a.y": Access.PERHAPS_ORDERED,
    "2 * (NEXT(b).time - a.time) < 5 min": Access.PERHAPS_ORDERED,
    "a.x * NEXT(b).x < 5": Access.SCAN,
    "a.x < NEXT(b).x OR a.y < NEXT(b).y": Access.SCAN,
    "a.x < NEXT(b).x AND a.y < NEXT(b).y": Access.SCAN,
    "NEXT(b).x BETWEEN a.x AND a.y": Access.SCAN,
}


@pytest.mark.parametrize("condition", ACCESS)
def test_what_an_event_pays(condition):
    (one,) = planned(query("SEQ(A a, B b+)", clauses=f"WHERE {condition}")).queries
    edge, loop = one.steps
    assert (edge.source, edge.target, edge.access) == (0, 1, ACCESS[condition])
    assert edge.because == condition
    assert (loop.access, loop.because) == (Access.RUNNING_TOTAL, "")


def test_an_ambiguous_pattern_scans_where_a_step_depends_on_the_pair():
    steps = planned("SEQ(A x+, A y+)")
    assert {step.access for step in steps.queries[0].steps} == {Access.RUNNING_TOTAL}
    steps = planned("SEQ(A x+, NOT N, A y+)")
    assert {(step.access, step.because) for step in steps.queries[0].steps} == {
        (Access.SCAN, "NOT in an ambiguous pattern")
    }


def test_who_is_alone_and_why():
    plan = planned("SEQ(A, B+)", "SEQ(C, B+)", "SEQ(A, C+)", "(A AND B+)", query("B b+", "MIN(b.v)"))
    nobody = "no other query of its partition has a Kleene sub-pattern and an aggregate in common with it"
    assert [one.alone for one in plan.queries] == [(), (), (nobody,), ("AND of patterns",), (nobody,)]
