"""What a REACH may be beside another follows from the pattern; workloads without such aggregates have no more rules."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from hypothesis import given, settings

from hamlet_core import QueryMeaningError, plan
from hamlet_core.language.syntax import Workload
from hamlet_core.pattern.meaning import analyse_workload
from pipelines.checks.group_rules import group_rules
from pipelines.checks.magnitudes import with_magnitudes
from pipelines.checks.result_rules import result_rules
from pipelines.checks.trend_rules import always_before, in_every_trend, trend_rules
from tests.properties import strategies

# Pattern -> alias -> what is always before it; and what every trend has.
ORDERS = {
    "SEQ(A a, B b, C c)": ({"a": "", "b": "a", "c": "ab"}, "abc"),
    "SEQ(A a+, B b+)": ({"a": "", "b": "a"}, "ab"),
    "SEQ(A a, B b?, C c)": ({"a": "", "b": "a", "c": "a"}, "ac"),
    "SEQ(A a*, B b, C c*)": ({"a": "", "b": "", "c": "b"}, "b"),
    "SEQ(A a, (B b OR C c), D d)": ({"a": "", "b": "a", "c": "a", "d": "a"}, "ad"),
    "(SEQ(A a, B b, D d) OR SEQ(B b, C c, D d))": ({"a": "", "b": "", "c": "b", "d": "b"}, "bd"),
    "(A a OR SEQ(B b, C c))": ({"a": "", "b": "", "c": "b"}, ""),
    "SEQ(A a, SEQ(B b, C c)+, D d)": ({"a": "", "b": "a", "c": "ab", "d": "abc"}, "abcd"),
    "SEQ(A a, NOT N n, B b, NOT N m)": ({"a": "", "b": "a"}, "ab"),
    "SEQ(A x+, A y+)": ({"x": "", "y": "x"}, "xy"),
}


@pytest.mark.parametrize("pattern", ORDERS)
def test_what_is_always_before(pattern):
    before, always = ORDERS[pattern]
    (one,) = plan(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 s")
    (analysed,) = analyse_workload(Workload((one.query,)))
    assert {alias: always_before(analysed.automaton, alias) for alias in before} == {
        alias: frozenset(others) for alias, others in before.items()
    }
    assert in_every_trend(analysed.automaton) == frozenset(always)


def short_paths(automaton, longest=5):
    """Every path from a start, of so many events at most."""
    waiting = [(start.position,) for start in automaton.starts]
    while waiting:
        path = waiting.pop()
        yield path
        if len(path) < longest:
            waiting += [(*path, edge.target) for edge in automaton.edges if edge.source == path[-1]]


@settings(max_examples=100)
@given(strategies.cases)
def test_no_short_path_is_against_it(case):
    try:
        (analysed,) = analyse_workload(Workload((case.query,)))
    except QueryMeaningError:
        return
    automaton = analysed.automaton
    aliases = [position.alias for position in automaton.positions]
    ends = {end.position for end in automaton.ends}
    before = {alias: always_before(automaton, alias) for alias in aliases}
    always = in_every_trend(automaton)
    for path in short_paths(automaton):
        held = {aliases[position] for position in path}
        assert before[aliases[path[-1]]] <= held
        assert path[-1] not in ends or always <= held


def rules_of(text):
    plans = plan(text)
    return {
        rule.name: rule
        for rule in (*result_rules(plans, 0, "exact"), *group_rules(plans), *trend_rules(plans))
    }


PLAIN = "q: RETURN COUNT(*), COUNT(b), SUM(b.v), AVG(b.v) PATTERN SEQ(A a, B b+) WITHIN 1 s"


def test_a_workload_without_such_aggregates_has_the_rules_it_had():
    assert trend_rules(plan(PLAIN)) == ()
    assert (
        not {"whole numbers", "a partition a group", "durations fit windows", "durations have digits"}
        & rules_of(PLAIN).keys()
    )
    assert "'q', array('COUNT(*)')" in rules_of(PLAIN)["a row is a trend"].holds


def compared(condition):
    """(less, more) of each comparison in a rule."""
    found = re.findall(
        r"try_element_at\(numbers, '([^']*)'\)\.value <= try_element_at\(numbers, '([^']*)'\)", condition
    )
    return set(found)


def test_reaches_are_compared_where_one_is_always_before_the_other():
    text = "q: RETURN REACH(a), REACH(b), REACH(C), COUNT(PARTITIONS), COUNT(DISJOINT) PATTERN SEQ(A a, B b?, C c+) WITHIN 1 s"
    rules = rules_of(text)
    assert compared(rules["REACH never grows"].holds) == {("REACH(b)", "REACH(a)"), ("REACH(C)", "REACH(a)")}
    assert compared(rules["COUNT(PARTITIONS) <= REACH"].holds) == {
        ("COUNT(PARTITIONS)", "REACH(a)"),
        ("COUNT(PARTITIONS)", "REACH(C)"),
    }
    assert compared(rules["PARTITIONS <= DISJOINT <= trends"].holds) == {
        ("COUNT(PARTITIONS)", "COUNT(DISJOINT)")
    }


def test_branches_of_or_say_nothing_of_one_another():
    rules = rules_of(
        "q: RETURN COUNT(*), REACH(b), REACH(c), COUNT(PARTITIONS) PATTERN SEQ(A a, (B b OR C c)) WITHIN 1 s"
    )
    assert rules["REACH never grows"].holds == rules["COUNT(PARTITIONS) <= REACH"].holds == "true"


def test_an_alias_that_is_called_like_a_word_is_no_count_of_partitions():
    text = """
    one: RETURN COUNT(*), COUNT(PARTITIONS), SUM(PARTITIONS.v), AVG(PARTITIONS.v) PATTERN SEQ(A a, B PARTITIONS+) WITHIN 1 s
    two: RETURN COUNT(*), COUNT(partitions), SUM(PARTITIONS.v), AVG(PARTITIONS.v) PATTERN SEQ(A a, B PARTITIONS+) WITHIN 1 s
    """
    rules = rules_of(text)
    assert "query IN ('two')" in rules["SUM = AVG * COUNT"].holds
    assert "'two', array('COUNT(PARTITIONS)')" in rules["whole numbers"].holds
    assert "'one'" not in rules["whole numbers"].holds
    assert "query IN" not in rules_of(PLAIN)["SUM = AVG * COUNT"].holds


def test_only_queries_that_return_a_reach_may_have_rows_without_a_trend():
    rules = rules_of(
        f"{PLAIN}\nr: RETURN COUNT(*), REACH(a), COUNT(DISJOINT) PATTERN SEQ(A a, B b) WITHIN 1 s"
    )
    assert "'r'" not in rules["a row is a trend"].holds
    assert rules["no trend, no numbers"].holds.startswith("CASE query WHEN 'r' THEN")


def test_the_reference_asks_no_extremes_of_durations():
    (one,) = plan("RETURN SUM(DURATION), AVG(DURATION), SUM(b.v), REACH(a) PATTERN SEQ(A a, B b) WITHIN 1 s")
    labels = [aggregate.label for aggregate in with_magnitudes(one.query).aggregates]
    assert labels == [
        "SUM(DURATION)",
        "AVG(DURATION)",
        "SUM(b.v)",
        "REACH(a)",
        "MIN(b.v)",
        "MAX(b.v)",
        "COUNT(b)",
    ]


def test_every_pair_of_steps_of_a_sequence_is_in_order():
    (one,) = plan("RETURN COUNT(*) PATTERN SEQ(A a, B b+, C c, D d) WITHIN 1 s")
    (analysed,) = analyse_workload(Workload((one.query,)))
    for earlier, later in permutations("abcd", 2):
        assert (earlier in always_before(analysed.automaton, later)) == (earlier < later)
