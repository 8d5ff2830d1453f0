"""Merged templates: transitions with the queries that take them; every query is found in its template again."""

import pickle

from hypothesis import given, settings

from hamlet_core import QueryMeaningError
from hamlet_core.describe.template import template_lines, template_mermaid
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.template.merged import merge
from tests.properties import strategies
from tests.unit.template.workloads import analysed


def lines(*queries):
    return [" ".join(line.split()) for line in template_lines(merge(analysed(*queries)))]


def test_the_template_of_the_paper():
    template = merge(analysed("SEQ(A, B+)", "SEQ(C, B+)"))
    assert [state.name for state in template.states] == ["A", "B", "C"]
    assert template.places == ((0, 1), (2, 1))
    assert lines("SEQ(A, B+)", "SEQ(C, B+)") == [
        "start -> A q1",
        "start -> C q2",
        "A -> B q1",
        "B -> B all",
        "C -> B q2",
        "B -> end all",
    ]
    assert pickle.loads(pickle.dumps(template)) == template


def test_the_second_of_a_type_is_a_state_of_its_own():
    assert lines("SEQ(B x, C, B y+)", "B+") == [
        "start -> B all",
        "B -> B q2",
        "B -> C q1",
        "C -> B (2) q1",
        "B (2) -> B (2) q1",
        "B -> end q2",
        "B (2) -> end q1",
    ]


def test_gaps_are_part_of_a_label():
    assert lines("SEQ(A, NOT N n, B)", "SEQ(A, B)", "SEQ(A, NOT SEQ(N, M), NOT X, B, NOT N n)") == [
        "start -> A all",
        "A -> B q1 (no N n); q2; q3 (no SEQ(N, M) and no X)",
        "B -> end q1, q2; q3 (no N n)",
    ]


def test_sides_of_and_stay_apart():
    assert lines("(A a AND SEQ(A a, B b))") == [
        "start -> A q1",
        "start -> A (2) q1",
        "A (2) -> B q1",
        "A -> end q1",
        "B -> end q1",
    ]


def test_the_picture():
    assert list(template_mermaid(merge(analysed('SEQ("A<1>", B+)', "B+")))) == [
        "flowchart LR",
        '  s0(["&quot;A&lt;1&gt;&quot;"])',
        '  s1(["B"])',
        '  start((start)) -->|"q1"| s0',
        '  start((start)) -->|"q2"| s1',
        '  s0 -->|"q1"| s1',
        '  s1 -->|"all"| s1',
        '  s1 -->|"all"| finish((end))',
    ]


@settings(max_examples=100)
@given(strategies.workload_cases)
def test_every_query_is_in_its_template_as_it_was(case):
    try:
        queries = analyse_workload(case.workload)
    except QueryMeaningError:
        return
    template = merge(queries)
    for place, one in enumerate(queries):
        automaton = one.automaton
        assert len(set(template.places[place])) == len(automaton.positions)
        assert all(
            template.states[state].type == position.type
            for state, position in zip(template.places[place], automaton.positions, strict=True)
        )
        assert template.of_query(place) == {
            *((None, start.position, start.gap) for start in automaton.starts),
            *((edge.source, edge.target, edge.gap) for edge in automaton.edges),
            *((end.position, None, end.gap) for end in automaton.ends),
        }
