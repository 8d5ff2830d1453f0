"""Can a sequence be bound in two ways? Ambiguous pairs, ambiguous aliases, sets of positions and their limit."""

from itertools import product

import pytest
from hypothesis import given, settings

from hamlet_core import QueryMeaningError
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Workload
from hamlet_core.pattern import meaning
from hamlet_core.pattern.ambiguity import (
    ambiguous_aliases,
    ambiguous_pairs,
    predecessors,
    reachable_sets,
    successors,
)
from hamlet_core.pattern.automaton import CLEAN
from hamlet_core.pattern.meaning import STATE_LIMIT, analyse_workload
from tests.properties import strategies
from tests.unit.pattern.test_construction import automaton


def ambiguous_aliases_of(pattern):
    found = automaton(pattern)
    alias = [f"{position.alias}{position.side or ''}" for position in found.positions]
    return {f"{alias[p]}-{alias[q]}" for p, q in ambiguous_pairs(found) if p < q}


PAIRS = {
    "SEQ(A a+, B b+)": set(),
    "SEQ(A x, A y)": set(),
    "SEQ(A x+, A y)": set(),
    "SEQ(A x+, A y+)": {"x-y"},
    "SEQ(A x*, A y)": set(),
    "SEQ(A x?, A y?, B b)": {"x-y"},
    "SEQ(A x, A y)+": set(),
    "SEQ(A x, A y?)+": {"x-y"},
    "SEQ(A x+, B b?, A y+)": {"x-y"},
    "SEQ(A x+, B b, A y+)": set(),
    "(A x OR A y)": {"x-y"},
    "(SEQ(A x, B b) OR SEQ(A y, C c))": set(),
    "(SEQ(A x, B b) OR SEQ(A y, B d))": {"x-y", "b-d"},
    "(A a AND A b)": {"a-b1"},
    "(SEQ(A a, B b) AND SEQ(A a, C c))": set(),
    "(SEQ(A a, B b) AND SEQ(A a, B b))": {"a-a1", "b-b1"},
    "SEQ(A x+, A y+, A z+)": {"x-y", "x-z", "y-z"},
    # Dead ends make nothing ambiguous: two ways that part must both arrive.
    "(SEQ(A x, A y, B b) OR SEQ(A z, C c))": set(),
    # A negated type is read by a gap, it binds nothing.
    "SEQ(A x, NOT A n, A y)": set(),
}


@pytest.mark.parametrize("pattern", PAIRS)
def test_ambiguous_pairs(pattern):
    assert ambiguous_aliases_of(pattern) == PAIRS[pattern]


def words(found, length):
    """Every sequence of types up to a length that the automaton accepts, with the number of its paths."""
    follow, starts = successors(found), [start.position for start in found.starts]
    ends = {end.position for end in found.ends}
    paths = [(position,) for position in starts]
    counted = {}
    for _ in range(length):
        for path in paths:
            if path[-1] in ends:
                word = tuple(found.positions[p].type for p in path)
                counted.setdefault(word, []).append(path)
        paths = [(*path, following) for path in paths for following in follow[path[-1]]]
    return counted


@settings(max_examples=150)
@given(strategies.cases)
def test_ambiguous_pairs_are_the_places_where_two_short_paths_part(case):
    (query,) = (case.query,)
    try:
        found = analyse_workload(Workload((query,)))[0].automaton
    except QueryMeaningError:
        return
    parted = {
        (p, q)
        for paths in words(found, 5).values()
        for one, other in product(paths, paths)
        for p, q in zip(one, other, strict=True)
        if p != q
    }
    assert parted <= ambiguous_pairs(found)
    if not ambiguous_pairs(found):
        assert all(len(paths) == 1 for paths in words(found, 5).values())


def test_ambiguous_aliases_are_those_of_pairs_that_differ():
    found = automaton("SEQ(A x+, B b, A y+, A z+)")
    assert ambiguous_aliases(found, ambiguous_pairs(found)) == {"y", "z"}
    # Both ways bind the same alias: COUNT of it has one value.
    same = automaton("(SEQ(A a, B b) OR SEQ(A a, B b?))")
    assert ambiguous_pairs(same)
    assert ambiguous_aliases(same, ambiguous_pairs(same)) == set()


def test_successors_and_predecessors_are_the_edges():
    found = automaton("SEQ(A a, B b+, C c?)")
    assert successors(found) == {0: (1,), 1: (1, 2), 2: ()}
    assert predecessors(found) == {0: (), 1: (0, 1), 2: (1,)}


def never(*_):
    return False


def always(*_):
    return True


def test_sets_of_positions_of_a_pattern_without_conditions():
    found = automaton("SEQ(A x+, A y+)")
    assert reachable_sets(found, never, never, 10) == {(0,), (0, 1)}


def test_what_a_condition_may_take_away_gives_more_sets():
    found = automaton("SEQ(A x+, A y+)")
    assert reachable_sets(found, always, never, 10) == {(0,), (1,), (0, 1)}
    assert reachable_sets(found, never, always, 10) == {(0,), (1,), (0, 1)}
    assert reachable_sets(found, lambda position: position == 1, never, 10) == {(0,), (0, 1)}


def test_a_gap_is_as_unsure_as_a_condition():
    assert reachable_sets(automaton("SEQ(A x, NOT N n, A y?, A z)"), never, never, 10) == {
        (0,),
        (1,),
        (2,),
        (1, 2),
    }


def test_the_limit_on_sets():
    found = automaton("SEQ(A x+, A y+, A z+)")
    assert reachable_sets(found, always, never, 7) == {(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)}
    assert reachable_sets(found, always, never, 6) is None


def many(count, filtered):
    pattern = ", ".join(f"A a{place}+" for place in range(count))
    where = " AND ".join(f"a{place}.v > {place}" for place in range(count))
    return f"RETURN COUNT(*) PATTERN SEQ({pattern}) {f'WHERE {where}' if filtered else ''} WITHIN 10 s"


def test_a_pattern_with_too_many_sets_is_refused():
    with pytest.raises(QueryMeaningError) as caught:
        analyse_workload(parse_syntax(many(11, filtered=True)))
    assert caught.value.code == "E132"
    assert f"{STATE_LIMIT:,}" in caught.value.message
    assert 2**11 - 1 > STATE_LIMIT > 2**10 - 1
    assert analyse_workload(parse_syntax(many(10, filtered=True)))[0].ambiguous


def test_without_conditions_many_repetitions_have_few_sets():
    (query,) = analyse_workload(parse_syntax(many(40, filtered=False)))
    assert len(reachable_sets(query.automaton, never, never, STATE_LIMIT)) == 40


def test_the_limit_is_the_one_that_is_asked(monkeypatch):
    monkeypatch.setattr(meaning, "STATE_LIMIT", 2)
    with pytest.raises(QueryMeaningError, match="E132"):
        analyse_workload(parse_syntax(many(3, filtered=False)))


def test_edges_without_gaps_are_clean():
    assert {edge.gap for edge in automaton("SEQ(A a, B b+)").edges} == {CLEAN}


def test_reach_and_the_aggregates_of_trends_need_no_single_binding():
    text = "RETURN REACH(x), COUNT(PARTITIONS), COUNT(DISJOINT), SUM(DURATION) PATTERN SEQ(A x+, A y+) WITHIN 9 s"
    (found,) = analyse_workload(parse_syntax(text))
    assert found.ambiguous
    assert found.operands == ("x", None, None, None)
