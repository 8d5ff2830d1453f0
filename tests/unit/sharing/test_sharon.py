"""The traffic workload of the paper and numbers that follow from its rules; on random workloads, nothing is lost."""

import doctest
import importlib
from itertools import chain, combinations
from random import Random

import pytest

from hamlet_core.errors import InvariantError
from hamlet_core.sharing.sharon import candidates, conflicts, plan
from hamlet_core.sharing.sharon.candidates import Candidate, benefit, clashes, expanded, mined
from hamlet_core.sharing.sharon.conflicts import ConflictGraph, conflict_graph, greedy_plan
from hamlet_core.sharing.sharon.plan import Found, Limits, best_plan, reduced, score_max, sharon_plan

# O Oak, M Main, P Park, W West, S State, E Elm.
TRAFFIC = {
    f"q{number}": tuple(types)
    for number, types in enumerate(("OMS", "OMW", "POM", "POMW", "MS", "EP", "EP"), 1)
}
TABLE = {
    "p1": ("OM", "1234", 25),
    "p2": ("PO", "34", 9),
    "p3": ("POM", "34", 12),
    "p4": ("MW", "24", 15),
    "p5": ("OMW", "24", 20),
    "p6": ("MS", "15", 8),
    "p7": ("EP", "67", 18),
}
"""The paper's candidates: types, queries, weight."""
NAMES = tuple(TABLE)


def candidate(types, queries):
    return Candidate(tuple(types), tuple(f"q{one}" for one in queries))


def traffic():
    weights = {candidate(types, queries): weight for types, queries, weight in TABLE.values()}
    return conflict_graph(weights, TRAFFIC)


def named(vertices):
    return " ".join(NAMES[one] for one in sorted(vertices))


def subsets(items):
    return chain.from_iterable(combinations(items, size) for size in range(1, len(items) + 1))


def is_valid(graph, vertices):
    return all(other not in graph.conflicts[one] for one, other in combinations(vertices, 2))


def exhaustive(graph):
    """What the best of all plans saves, each looked at."""
    return max(
        (graph.score(one) for one in subsets(graph.vertices) if is_valid(graph, one)),
        default=0,
    )


# --- the traffic workload -------------------------------------------------------------------------


def test_the_candidates_of_the_traffic_workload_are_those_of_the_paper():
    assert set(mined(TRAFFIC)) == {candidate(types, queries) for types, queries, _ in TABLE.values()}


@pytest.mark.parametrize(
    ("name", "others", "most"),
    [
        ("p1", "p2 p3 p4 p5 p6", 43),
        ("p2", "p1 p3 p5", 50),
        ("p3", "p1 p2 p4 p5", 38),
        ("p4", "p1 p3 p5", 50),
        ("p5", "p1 p2 p3 p4", 46),
        ("p6", "p1", 82),
        ("p7", "", 107),
    ],
)
def test_what_is_in_conflict_and_the_most_that_a_plan_with_it_saves(name, others, most):
    graph, vertex = traffic(), NAMES.index(name)
    assert named(graph.conflicts[vertex]) == others
    assert score_max(graph, vertex, set(graph.vertices)) == most


def test_the_graph_has_ten_edges_and_its_guarantee():
    graph = traffic()
    assert graph.weights == (25, 9, 12, 15, 20, 8, 18)
    assert graph.edges == 10
    assert graph.guarantee == pytest.approx(38.57, abs=0.005)


def test_one_vertex_is_pruned_and_one_is_free():
    found = reduced(traffic())
    assert (named(found.pruned), named(found.free), named(found.left)) == ("p3", "p7", "p1 p2 p4 p5 p6")


def test_the_best_plan_of_the_traffic_workload_and_how_many_plans_it_took():
    graph = traffic()
    found = best_plan(graph, seconds=60)
    assert (named(found.plan), found.score, found.found) == ("p2 p4 p6 p7", 50, Found.BEST)
    assert (found.plans, found.reduced_plans, found.valid_plans) == (127, 96, 10)
    assert found.plans - found.reduced_plans - found.valid_plans == 21
    assert [round(100 * part / 127, 2) for part in (96, 10, 21)] == [75.59, 7.87, 16.54]


def test_the_greedy_plan_of_the_traffic_workload():
    graph = traffic()
    assert (named(greedy_plan(graph)), graph.score(greedy_plan(graph))) == ("p1 p7", 43)
    assert graph.score([NAMES.index("p2"), NAMES.index("p4")]) == 24
    assert graph.score([NAMES.index("p1")]) == 25


@pytest.mark.parametrize(("together", "plan", "score"), [(False, "p5 p6 p7", 46), (True, "p6 p7", 26)])
def test_a_reduction_that_forgets_what_is_free_loses_the_best_plan(together, plan, score):
    """The rule as the paper prints it, one vertex at a time or all at once; ours does not end there."""
    graph, left, free = traffic(), set(range(7)), set()
    while True:
        free |= {one for one in left if not graph.conflicts[one] & left}
        left -= free
        hopeless = [one for one in sorted(left) if score_max(graph, one, left) < graph.guarantee]
        if not hopeless:
            break
        left -= set(hopeless if together else hopeless[:1])
    assert (named(free | left), graph.score(free | left)) == (plan, score)
    assert score < best_plan(graph, seconds=60).score


def test_a_part_inside_of_another_is_in_conflict_with_it():
    types = tuple("ABCD")
    inner, outer = candidate("BC", "12"), candidate("ABCD", "12")
    patterns = {"q1": types, "q2": types}
    assert clashes((inner, outer), patterns)[inner.types, outer.types] == {"q1", "q2"}
    assert conflict_graph({inner: 1, outer: 1}, patterns).edges == 1


# --- expansion --------------------------------------------------------------------------------------


def test_every_subset_of_two_or_more_queries_is_an_option():
    asked = tuple(candidate(types, queries) for types, queries, _ in TABLE.values())
    found = expanded(asked, TRAFFIC, most=1_000)
    options = {one.queries for one in found.candidates if one.types == tuple("OM")}
    queries = ("q1", "q2", "q3", "q4")
    assert options == {own for own in subsets(queries) if len(own) > 1}
    assert (len(options), found.left_out) == (11, 0)
    # Dropping all queries that cause a conflict at once would give four.
    assert at_once(asked[0], asked) == {queries, queries[1:], queries[:2], ("q1", "q3")}
    # What is in no conflict has no option, and of two queries none can be dropped.
    assert len(found.candidates) == len(asked) + 10


def at_once(one, others):
    """The query sets of a candidate if a conflict is resolved by dropping all queries that cause it."""
    clashing = clashes(others, TRAFFIC)
    found, waiting = set(), [one.queries]
    while waiting:
        own = waiting.pop()
        if len(own) < 2 or own in found:
            continue
        found.add(own)
        for other in others:
            if other != one:
                dropped = clashing[one.types, other.types].intersection(own, other.queries)
                waiting += [tuple(query for query in own if query not in dropped)] if dropped else []
    return found


def test_options_of_one_part_are_in_conflict_where_they_have_a_query_in_common():
    first, second, third = (candidate("OM", queries) for queries in ("12", "34", "23"))
    graph = conflict_graph({first: 1, second: 1, third: 1}, TRAFFIC)
    assert graph.conflicts == (frozenset({2}), frozenset({2}), frozenset({0, 1}))


def test_expansion_stops_at_its_bound_and_says_so():
    patterns = {f"q{number}": tuple("ABC") for number in range(60)}
    asked = mined(patterns)
    found = expanded(asked, patterns, most=50)
    assert found.candidates[: len(asked)] == asked
    assert len(found.candidates) == 50
    # Of 60 queries up to 58 can be dropped, in each of AB, BC and ABC: all subsets but those of none, one and all.
    assert found.left_out == 3 * (2**60 - 1 - 60 - 1) - 47
    # The fewest dropped queries come first.
    assert {len(one.queries) for one in found.candidates} == {59, 60}
    assert expanded(asked, patterns, most=0).candidates == asked


def test_a_plan_says_what_there_was_no_room_for():
    patterns = {f"q{number}": tuple("ABC") for number in range(6)}
    rates = dict.fromkeys("ABC", 10)
    asked = sharon_plan(patterns, rates, Limits(options=8))
    assert len(asked.graph.candidates) == 8
    assert asked.options_left_out == 3 * (2**6 - 1 - 6 - 1) - 5
    assert sharon_plan(patterns, rates, Limits(options=0)).options_left_out == 0


# --- benefit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "part", "rates", "saved"),
    [
        ("CAB ABD", "AB", {"A": 2, "B": 3, "C": 1, "D": 4}, 24 - 37),
        ("CAB ABD AB", "AB", {"A": 2, "B": 3, "C": 1, "D": 4}, 34 - 37),
        ("ABCD ABCE ABCF", "ABC", {**dict.fromkeys("ABC", 10), **dict.fromkeys("DEF", 1)}, 930 - 333),
        ("DABC EABC FABC", "ABC", {**dict.fromkeys("ABC", 10), **dict.fromkeys("DEF", 1)}, 93 - 333),
    ],
)
def test_benefit(texts, part, rates, saved):
    patterns = {f"q{number}": tuple(types) for number, types in enumerate(texts.split(), 1)}
    assert benefit(Candidate(tuple(part), tuple(patterns)), patterns, rates) == saved


def test_candidates_without_benefit_are_counted_and_left_out():
    patterns = {"q1": tuple("DABC"), "q2": tuple("EABC"), "q3": tuple("FABC")}
    found = sharon_plan(patterns, {**dict.fromkeys("ABC", 10), **dict.fromkeys("DEF", 1)})
    assert (found.shared, found.score) == ((), 0)
    assert (found.mined, found.useless, found.graph.candidates) == (3, 3, ())


def test_a_query_that_holds_a_part_twice_does_not_share_it():
    patterns = {"q1": tuple("ABAB"), "q2": tuple("ABC"), "q3": tuple("CAB")}
    assert candidate("AB", "23") in mined(patterns)
    assert all("q1" not in one.queries for one in mined(patterns) if one.types == tuple("AB"))


def test_statistics_that_do_not_fit_are_refused():
    patterns = {"q1": tuple("ABC"), "q2": tuple("ABD")}
    with pytest.raises(InvariantError, match=r"E941.*no rate of C"):
        sharon_plan(patterns, {"A": 1, "B": 1, "D": 1})
    with pytest.raises(InvariantError, match=r"E941.*B, C stands 0 times in A, B, D"):
        benefit(candidate("BC", "12"), patterns, dict.fromkeys("ABCD", 1))


# --- the search on random graphs and workloads ------------------------------------------------------


def random_graph(random):
    """A graph of up to nine vertices, some of equal weights that no double holds."""
    size = random.randint(0, 9)
    density = random.random()
    edges = {pair for pair in combinations(range(size), 2) if random.random() < density}
    neighbours = tuple(
        frozenset(other for other in range(size) if (min(one, other), max(one, other)) in edges)
        for one in range(size)
    )
    weights = tuple(random.choice((0.1, 0.3, 1, random.randint(1, 40))) for _ in range(size))
    return ConflictGraph(tuple(candidate("AB", [number, 99]) for number in range(size)), weights, neighbours)


def random_workload(random):
    """Two to five queries of up to five of six types, and rates."""
    types = "ABCDEF"
    patterns = {
        f"q{number}": tuple(random.sample(types, random.randint(2, 5)))
        if random.random() < 0.3
        else tuple(types[(first := random.randint(0, 4)) : first + random.randint(2, 5)])
        for number in range(random.randint(3, 6))
    }
    return patterns, {one: random.choice((1, 2, 5, 20, 0.5)) for one in types}


def test_the_search_finds_what_looking_at_every_plan_finds():
    pruned = beyond_greedy = 0
    for seed in range(1_500):
        graph = random_graph(Random(seed))
        found, best = best_plan(graph, seconds=60), exhaustive(graph)
        assert found.score == pytest.approx(best), seed
        assert is_valid(graph, found.plan), seed
        assert found.score == graph.score(found.plan), seed
        pruned += len(found.reduction.pruned)
        beyond_greedy += found.score > graph.score(greedy_plan(graph)) + 1e-6
    assert pruned > 1_000
    assert beyond_greedy > 20


def test_the_greedy_plan_is_valid_between_its_guarantee_and_the_best():
    for seed in range(1_500):
        graph = random_graph(Random(seed))
        greedy = greedy_plan(graph)
        assert is_valid(graph, greedy), seed
        assert graph.guarantee - 1e-9 <= graph.score(greedy) <= exhaustive(graph) + 1e-9, seed


def test_of_equally_good_vertices_the_first_is_taken():
    pair = (frozenset({1}), frozenset({0}))
    assert greedy_plan(ConflictGraph((candidate("AB", "12"), candidate("BC", "12")), (3, 3), pair)) == (0,)


def test_no_reduction_loses_the_best_plan():
    for seed in range(1_500):
        graph = random_graph(Random(seed))
        kept = reduced(graph)
        assert sorted((*kept.free, *kept.pruned, *kept.left)) == list(graph.vertices), seed
        best = max(
            graph.score((*kept.free, *one))
            for one in chain([()], subsets(kept.left))
            if is_valid(graph, (*kept.free, *one))
        )
        assert best == pytest.approx(exhaustive(graph)), seed


def test_each_valid_plan_is_built_once():
    for seed in range(300):
        graph = random_graph(Random(seed))
        found = best_plan(graph, seconds=60)
        left = found.reduction.left
        assert found.valid_plans == sum(is_valid(graph, one) for one in subsets(left)), seed


def test_rounding_prunes_no_best_plan():
    """Three in conflict with each other: the guarantee is the weight of one, give or take what doubles lose."""
    for size in range(2, 12):
        everybody = frozenset(range(size))
        weights = (0.1,) * size
        asked = tuple(candidate("AB", [number, 99]) for number in range(size))
        graph = ConflictGraph(asked, weights, tuple(everybody - {one} for one in range(size)))
        assert best_plan(graph, seconds=60).score == 0.1, size


def test_expansion_never_loses_and_sometimes_gains():
    gained = 0
    for seed in range(400):
        patterns, rates = random_workload(Random(seed))
        plain = sharon_plan(patterns, rates, Limits(seconds=60, options=0))
        wider = sharon_plan(patterns, rates, Limits(seconds=60, options=60))
        assert wider.search.found is Found.BEST
        assert wider.score >= plain.score - 1e-9, seed
        gained += wider.score > plain.score + 1e-9
        assert_no_query_shares_an_event_type_twice(wider, patterns)
    assert gained > 10


def assert_no_query_shares_an_event_type_twice(found, patterns):
    for query, types in patterns.items():
        covered = [one.types for one in found.shared if query in one.queries]
        places = [
            at + step
            for part in covered
            for at in range(len(types))
            if types[at : at + len(part)] == part
            for step in range(len(part))
        ]
        assert len(places) == len(set(places)), (query, covered)


class Clock:
    """A second passes whenever it is looked at."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def test_when_time_is_up_the_greedy_plan_is_taken():
    graph = traffic()
    # Looked at once before the search and once for each of the ten plans.
    assert best_plan(graph, 9.5, Clock()).found is Found.GREEDY
    late = best_plan(graph, 4.5, Clock())
    assert (late.found, named(late.plan), late.score, late.valid_plans) == (Found.GREEDY, "p1 p7", 43, 4)
    assert best_plan(graph, 10.5, Clock()).found is Found.BEST


def test_a_plan_says_how_long_it_took():
    patterns = {"q1": ("A", "B"), "q2": ("A", "B")}
    found = sharon_plan(patterns, {"A": 3, "B": 4}, clock=Clock())
    assert [str(one) for one in found.shared] == ["A, B of q1, q2"]
    # No plan is left to look at: clocks are read at the start, before the search and at the end.
    assert found.seconds == 2.0
    assert found.score == 3 * 7


@pytest.mark.parametrize("module", [candidates, conflicts, plan])
def test_doctests(module):
    done = doctest.testmod(importlib.import_module(module.__name__))
    assert done.failed == 0
    assert done.attempted > 0 or module is conflicts
