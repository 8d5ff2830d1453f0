"""GLORIA's optimizer: the numbers of the paper, recomputed, and those that follow from its rules."""

from dataclasses import replace

import pytest

from hamlet_core.errors import InvariantError
from hamlet_core.sharing.gloria import costs, nodes
from hamlet_core.sharing.gloria.baselines import paths, plan_by_enumeration, plan_greedily
from hamlet_core.sharing.gloria.building import Pruning, build_graph
from hamlet_core.sharing.gloria.nodes import Incoming
from hamlet_core.sharing.gloria.planning import plan_of, plan_sharing, search_space
from hamlet_core.sharing.gloria.plans import Doubt, QuerySet, written
from hamlet_core.sharing.gloria.search import cheapest_path, distance_to_end, path_cost
from hamlet_core.sharing.gloria.workload import KleeneBody, Transition, Workload, of_sequences

# q1 SEQ(F,A,B,C,D), q2 SEQ(A,B,C,D), q3 SEQ(E,C,D), numbered from 0.
THREE = of_sequences(["FABCD", "ABCD", "ECD"], {"F": 10, "A": 5, "B": 10, "C": 12, "D": 4, "E": 3})
GREEDY_LOSES = of_sequences(["FABCD", "ABCD"], {"F": 1, "A": 20, "B": 2, "C": 30, "D": 10})
FLAT = Workload(
    (),
    (("A",),) * 2,
    (("B",),) * 2,
    {"A": 5, "B": 10},
    (KleeneBody((("A", "B"), ("B", "A")), (0, 1)),),
)
NESTED = Workload(
    (),
    (("C",),) * 4,
    (("D",),) * 4,
    {"A": 5, "B": 10, "C": 12, "D": 4},
    (KleeneBody((("C", "A"), ("A", "B"), ("B", "A"), ("B", "D"), ("D", "C")), (0, 1, 2, 3)),),
)


def distances(graph):
    """(first transition of the pool, plan) -> distance from the starts."""
    return {
        ("".join(pool.transitions[0]), written(node.sets)): node.distance_from_start
        for pool, found in zip(graph.pools.pools, graph.nodes, strict=True)
        for node in found
        if pool.transitions
    }


def plans(plan):
    return {one.source + one.target: written(one.sets) for one in plan.transitions}


def cost_of(graph, **wanted):
    """The cost of the whole path with these plans; pools with one node need not be named."""
    path = []
    for pool, found in zip(graph.pools.pools, graph.nodes, strict=True):
        names = [written(node.sets) for node in found]
        key = "".join(pool.transitions[0]) if pool.transitions else ""
        path.append(names.index(wanted[key]) if key in wanted else 0)
        assert key in wanted or len(found) == 1
    return path_cost(graph, path)


@pytest.mark.parametrize("pruning", [Pruning.PAPER, Pruning.GUARDED])
def test_the_distances_of_the_nodes_that_stay(pruning):
    found = distances(build_graph(THREE, pruning=pruning))
    expected = {
        ("FA", "(0)"): 10,
        ("AB", "(0,1)^A"): 65,
        ("AB", "(0) (1)"): 65,
        ("BC", "(0,1)^A"): 70,
        ("BC", "(0) (1)"): 165,
        ("EC", "(2)"): 3,
        ("CD", "(0,1)^A (2)"): 159,
        ("CD", "(0) (1) (2)"): 444,
        ("CD", "(0,1,2)^C"): 279,
    }
    assert expected.items() <= found.items()
    # What the printed graph leaves out: a query of the first two joined with the third one alone.
    assert set(found) - set(expected) == {("CD", "(0,2)^C (1)"), ("CD", "(0) (1,2)^C")}


@pytest.mark.parametrize("pruning", [Pruning.PAPER, Pruning.GUARDED])
def test_the_nodes_that_are_pruned_and_why(pruning):
    graph = build_graph(THREE, pruning=pruning)
    found = [
        ("".join(one.transitions[0]), written(one.sets), one.distance_from_start, written(one.by))
        for one in graph.pruned
    ]
    assert found == [
        ("BC", "(0,1)^B", 165, "(0,1)^A"),
        ("CD", "(0,1)^C (2)", 279, "(0,1)^A (2)"),
    ]
    assert [one.distance_of_other for one in graph.pruned] == [70, 159]


def test_the_successor_of_a_pruned_node_is_never_built():
    graph = build_graph(THREE)
    every = set(distances(graph)) | {("".join(one.transitions[0]), written(one.sets)) for one in graph.pruned}
    assert ("CD", "(0,1)^B (2)") not in every
    assert ("CD", "(0,1)^B (2)") in distances(build_graph(THREE, pruning=Pruning.NONE))


def test_both_ways_to_the_frequent_snapshots():
    graph = build_graph(THREE, pruning=Pruning.NONE)
    (rows,) = (
        weights
        for (before, after), weights in graph.weights.items()
        if graph.pools.pools[before].transitions == (("A", "B"),)
    )
    found = dict(zip([written(node.sets) for node in graph.nodes[3]], zip(*rows, strict=True), strict=True))
    # From (0,1)^A and from (0) (1), both at distance 65.
    assert found == {"(0,1)^A": (5, float("inf")), "(0,1)^B": (105, 100), "(0) (1)": (float("inf"), 100)}


def test_the_cheapest_whole_paths_through_the_last_nodes():
    graph = build_graph(THREE)
    shared = {"AB": "(0,1)^A", "BC": "(0,1)^A"}
    assert cost_of(graph, **shared, CD="(0,1)^A (2)") == 307
    assert cost_of(graph, **shared, CD="(0,1,2)^C") == 435
    assert cost_of(graph, AB="(0) (1)", BC="(0) (1)", CD="(0) (1) (2)") == 588
    best = {}
    for cost, path in paths(graph):
        last = written(graph.nodes[4][path[4]].sets)
        best[last] = min(cost, best.get(last, cost))
    assert {name: best[name] for name in ("(0,1)^A (2)", "(0,1,2)^C", "(0) (1) (2)")} == {
        "(0,1)^A (2)": 307,
        "(0,1,2)^C": 435,
        "(0) (1) (2)": 588,
    }
    assert min(best.values()) == 307


def test_the_chosen_path():
    plan = plan_sharing(THREE)
    assert plans(plan) == {
        "FA": "(0)",
        "AB": "(0,1)^A",
        "BC": "(0,1)^A",
        "EC": "(2)",
        "CD": "(0,1)^A (2)",
    }
    assert (plan.cost, plan.optimal, plan.doubts) == (307, True, ())
    assert (plan.nodes, len(plan.pruned), plan.edges, plan.edges_kept) == (13, 2, 20, 15)
    assert plan.seconds > 0


def test_a_distance_and_the_way_on_make_the_cheapest_path_through_a_node():
    workload = of_sequences(["FABCD", "ABCD"], {"F": 10, "A": 5, "B": 10, "C": 12, "D": 4})
    graph = build_graph(workload, pruning=Pruning.NONE)
    best = {}
    for cost, path in paths(graph):
        for pool, node in enumerate(path):
            best[pool, node] = min(cost, best.get((pool, node), cost))
    onwards = distance_to_end(graph)
    assert best == {
        (pool, index): node.distance_from_start + onwards[pool][index]
        for pool, found in enumerate(graph.nodes)
        for index, node in enumerate(found)
    }


def test_greedy_shares_on_a_tie():
    plan = plan_greedily(THREE)
    assert (plan.cost, plan.sets("A", "B")) == (307, (QuerySet((0, 1), "A"),))
    assert plan.doubts == (Doubt.GREEDY,)
    assert not plan.optimal


def test_where_greedy_loses():
    graph = build_graph(GREEDY_LOSES, pruning=Pruning.NONE)
    assert cost_of(graph, AB="(0) (1)", BC="(0,1)^B", CD="(0,1)^B") == 223
    assert cost_of(graph, AB="(0,1)^A", BC="(0,1)^B", CD="(0,1)^B") == 243
    assert cost_of(graph, AB="(0) (1)", BC="(0) (1)", CD="(0) (1)") == 841
    greedy, best = plan_greedily(GREEDY_LOSES), plan_sharing(GREEDY_LOSES)
    assert (greedy.cost, set(plans(greedy).values())) == (1101, {"(0)", "(0,1)^A"})
    assert (best.cost, best.optimal) == (223, True)
    assert plans(best) == {"FA": "(0)", "AB": "(0) (1)", "BC": "(0,1)^B", "CD": "(0,1)^B"}
    assert plan_by_enumeration(GREEDY_LOSES).cost == 223


def test_a_flat_body():
    every = distances(build_graph(FLAT, pruning=Pruning.NONE))
    assert every == {("AB", "(0,1)^A"): 115, ("AB", "(0,1)^B"): 270, ("AB", "(0) (1)"): 210}
    graph = build_graph(FLAT)
    assert [written(one.sets) for one in graph.pruned] == ["(0,1)^B"]
    assert set(distances(graph)) == {("AB", "(0,1)^A"), ("AB", "(0) (1)")}


def test_a_nested_body():
    every = distances(build_graph(NESTED, pruning=Pruning.NONE))
    everybody = {f"(0,1,2,3)^{name}": cost for name, cost in zip("DABC", (264, 333, 678, 984), strict=True)}
    assert every == {("CA", name): cost for name, cost in {**everybody, "(0) (1) (2) (3)": 1040}.items()}
    for pruning in (Pruning.PAPER, Pruning.GUARDED):
        graph = build_graph(NESTED, pruning=pruning)
        assert set(distances(graph)) == {("CA", "(0,1,2,3)^D"), ("CA", "(0) (1) (2) (3)")}
        assert sorted(written(one.sets)[-1] for one in graph.pruned) == ["A", "B", "C"]
    plan = plan_sharing(NESTED)
    assert plan.optimal
    assert set(plans(plan).values()) == {"(0,1,2,3)^D"}
    # Each D event has its value in every round: that queries end there costs nothing more.
    assert plan.cost == 264


def test_a_body_that_ends_at_another_type_is_evaluated_there():
    plan = plan_sharing(FLAT)
    # 115 and 2 * 10 * 5 at the ends would be 215.
    assert (plan.cost, plans(plan)["AB"]) == (210, "(0) (1)")
    assert plan_by_enumeration(FLAT).cost == 210
    rare = replace(FLAT, frequencies={"A": 1, "B": 10})
    assert (plan_sharing(rare).cost, plans(plan_sharing(rare))["AB"]) == (35, "(0,1)^A")


def test_a_body_that_comes_later():
    """SEQ(F, SEQ(A,B)+, D) twice: numbers enter the body, and leave it at B."""
    workload = Workload(
        (Transition("F", "A", (0, 1)), Transition("B", "D", (0, 1))),
        (("F",),) * 2,
        (("D",),) * 2,
        {"F": 1, "A": 5, "B": 10, "D": 2},
        (KleeneBody((("A", "B"), ("B", "A")), (0, 1)),),
    )
    plan = plan_sharing(workload)
    assert plan.doubts == (Doubt.KLEENE,)
    assert plans(plan) == {"FA": "(0) (1)", "AB": "(0,1)^A", "BA": "(0,1)^A", "BD": "(0,1)^A"}
    # Starts 2; F to A 10; rounds 5 + 50 + 50; B to D 50, evaluated at D 20.
    assert plan.cost == 187 == plan_by_enumeration(workload).cost


def test_expressions_that_enter_a_body_are_evaluated_at_its_snapshots():
    workload = Workload(
        (Transition("F", "A", (0, 1)), Transition("B", "D", (0, 1))),
        (("F",),) * 2,
        (("D",),) * 2,
        {"F": 1, "A": 5, "B": 10, "D": 2},
        (KleeneBody((("A", "B"), ("B", "A")), (0, 1)),),
    )
    graph = build_graph(workload, pruning=Pruning.NONE)
    # Starts 2; F to A 1; evaluated at B 20; rounds 50 + 10 + 200; B to D 10, evaluated at D 40.
    assert cost_of(graph, FA="(0,1)^F", AB="(0,1)^B", BD="(0,1)^B") == 333


def test_a_body_that_is_entered_with_numbers_and_expressions_is_shared():
    """SEQ(OR(F, G), A+) twice; both share on the way from G only."""
    workload = Workload(
        (Transition("F", "A", (0, 1)), Transition("G", "A", (0, 1))),
        (("F", "G"),) * 2,
        (("A",),) * 2,
        {"F": 3, "G": 4, "A": 5},
        (KleeneBody((("A", "A"),), (0, 1)),),
    )
    graph = build_graph(workload)
    numbers, expressions = (QuerySet((0,)), QuerySet((1,))), (QuerySet((0, 1), "G"),)
    coming = nodes.incoming(graph.pools, 2, [numbers, expressions])
    assert [(one.own.queries, one.settled) for one in coming] == [((0, 1), False)]
    found = list(nodes.candidates(graph.pools, 2, coming, workload.frequencies, None))
    assert found == [(QuerySet((0, 1), "A"),)]
    # Starts 14; F to A 15 and G to A 20 for each query; rounds 5 and 50.
    assert plan_sharing(workload).cost == plan_by_enumeration(workload).cost == 14 + 30 + 40 + 50


def test_one_query_of_a_body_goes_alone():
    alone = replace(FLAT, starts=(("A",),), ends=(("B",),), bodies=(replace(FLAT.bodies[0], queries=(0,)),))
    plan = plan_sharing(alone)
    assert (plan.cost, plan.nodes, plans(plan)) == (105, 1, {"AB": "(0)", "BA": "(0)"})


@pytest.mark.parametrize(("queries", "ways"), list(enumerate([1, 1, 2, 5, 15, 52])))
def test_the_search_space_grows_with_bells_numbers(queries, ways):
    sets = [Incoming(QuerySet((query,))) for query in range(queries)]
    found = {
        frozenset(frozenset(one.own for one in group) for group in way) for way in nodes.partitions(sets)
    }
    assert len(found) == len(list(nodes.partitions(sets))) == nodes.bell(queries) == ways


def test_the_search_space_of_a_workload():
    assert search_space(THREE) == 1 * 2 * 2 * 5 * 1
    assert search_space(NESTED) == 15**5


def test_costs_at_a_type():
    shared, alone = QuerySet((0, 1), "A"), QuerySet((2,))
    assert costs.start(THREE.frequencies, "F") == 10
    assert [costs.computed(THREE.frequencies, pair, shared) for pair in (("A", "B"), ("B", "C"))] == [5, 50]
    assert costs.computed(THREE.frequencies, ("E", "C"), alone) == 36
    assert costs.evaluated(THREE.frequencies, 2, "D", "A") == 40


def test_without_node_pruning_the_path_is_the_same():
    plan = plan_of(build_graph(THREE, pruning=Pruning.NONE, limits=None))
    assert (plan.cost, plan.pruned) == (307, ())
    assert plan.transitions == plan_sharing(THREE).transitions == plan_by_enumeration(THREE).transitions


def test_the_printed_rule_of_node_pruning_can_lose():
    """A set of which one query is left has new snapshots at E, no rarer than the old: one term at the next step."""
    workload = of_sequences(["CDEF", "BCDE"], {"B": 2, "C": 10, "D": 7, "E": 7, "F": 7})
    best = plan_by_enumeration(workload)
    assert (best.cost, plans(best)["EF"]) == (308, "(0)^E")
    assert plan_of(build_graph(workload, pruning=Pruning.PAPER)).cost == 319
    guarded = plan_sharing(workload)
    assert (guarded.cost, guarded.optimal) == (308, True)


def test_behind_a_parting_of_ways_no_node_is_pruned():
    """What brings the first query to F cheaply, numbers and then snapshots of D, is dear for the others at E."""
    workload = of_sequences(["SADF", "SADE", "SADE"], {"S": 15, "A": 3, "D": 3, "E": 2, "F": 5})
    best = plan_sharing(workload)
    assert (best.cost, best.optimal) == (228, True) == (plan_by_enumeration(workload).cost, True)
    assert plans(best) == {"SA": "(0) (1) (2)", "AD": "(0,1,2)^A", "DF": "(0)^A", "DE": "(1,2)^A"}
    assert plan_of(build_graph(workload, pruning=Pruning.PAPER)).cost == 234


def test_a_diamond_is_unknown():
    workload = of_sequences(["SABD", "SACD", "SABD"], dict.fromkeys("SABCD", 4))
    plan = plan_sharing(workload)
    assert plan.doubts == (Doubt.DIAMOND,)
    assert not plan.optimal
    assert plan.cost <= plan_greedily(workload).cost


def test_where_the_search_loses_the_greedy_plan_is_taken():
    patterns = ["CDF", "ABF", "BEF", "BDH", "BDEF", "ABCD", "ADEF", "CDEG", "ABC", "ACDG", "ADGH", "BCFH"]
    sizes = {"A": 90, "B": 90, "C": 1, "D": 90, "E": 1, "F": 1, "G": 90, "H": 10}
    workload = of_sequences(patterns, sizes)
    plan = plan_sharing(workload)
    assert plan.doubts == (Doubt.DIAMOND, Doubt.GREEDY)
    assert plan.cost == plan_greedily(workload).cost < plan_of(build_graph(workload)).cost


def test_one_query_on_both_sides_of_a_diamond():
    both = Workload(
        tuple(Transition(source, target, (0, 1)) for source, target in ("AB", "AC", "BD", "CD", "DE")),
        (("A",),) * 2,
        (("E",),) * 2,
        {"A": 3, "B": 4, "C": 5, "D": 6, "E": 7},
    )
    plan = plan_sharing(both)
    assert plan.doubts == (Doubt.DIAMOND,)
    # Snapshots of A would reach D on both ways; numbers that come with expressions need new snapshots.
    for one in plan.transitions:
        assert sorted(query for own in one.sets for query in own.queries) == [0, 1]
    assert plan.cost == plan_by_enumeration(both).cost


def test_more_sets_than_are_joined_in_every_way():
    workload = of_sequences(["ABC"] * 9, {"A": 5, "B": 10, "C": 12})
    plan = plan_sharing(workload)
    assert plan.doubts == (Doubt.MANY_SETS,)
    assert plans(plan) == {"AB": "(0,1,2,3,4,5,6,7,8)^A", "BC": "(0,1,2,3,4,5,6,7,8)^A"}
    assert plan.nodes < 10


def test_a_query_of_one_type():
    plan = plan_sharing(of_sequences(["A", "AB"], {"A": 5, "B": 3}))
    assert (plan.cost, plans(plan)) == (5 + 5 + 15, {"AB": "(1)"})


def test_a_set_of_which_one_query_goes_on_keeps_its_snapshots():
    plan = plan_sharing(of_sequences(["ABCD", "AB"], {"A": 1, "B": 10, "C": 10, "D": 10}))
    assert plans(plan) == {"AB": "(0,1)^A", "BC": "(0)^A", "CD": "(0)^A"}
    # Starts 2, A to B 1, evaluated for the query that ends 10, B to C 10, C to D 10, evaluated 10.
    assert plan.cost == 43


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ({"frequencies": {"A": 5}}, "type B has the frequency None"),
        ({"frequencies": {"A": 5, "B": -1}}, "type B has the frequency -1"),
        ({"starts": (("A",),)}, "1 queries start and 2 end"),
        ({"transitions": (Transition("A", "B", (0, 2)),)}, r"A to B is taken by \(0, 2\)"),
        ({"transitions": (Transition("A", "B", (0, 1)),) * 2}, "query 0 goes from A to B twice"),
        ({"ends": (("A",), ("B",))}, "query 0 stops at B"),
        ({"starts": (("A",), ("B",))}, "query 1 comes from nowhere to A"),
        (
            {"transitions": tuple(Transition(source, target, (0, 1)) for source, target in ("AB", "BA"))},
            "no Kleene body holds the cycle of [AB] [AB]",
        ),
        (
            {"bodies": (KleeneBody((("A", "A"),), (0,)), KleeneBody((("A", "A"), ("B", "B")), (0,)))},
            "query 0 goes from A to A twice",
        ),
        (
            {
                "bodies": (
                    KleeneBody((("A", "A"),), (0,)),
                    KleeneBody((("B", "B"), ("B", "A"), ("A", "A")), (1,)),
                    KleeneBody((("B", "B"), ("B", "A")), (0,)),
                )
            },
            "two bodies of query 0 have a type in common",
        ),
    ],
)
def test_what_is_no_template(broken, complaint):
    whole = of_sequences(["AB", "AB"], {"A": 5, "B": 10})
    with pytest.raises(InvariantError, match=complaint):
        plan_sharing(replace(whole, **broken))


def test_who_starts_later_enters_no_expression():
    """SEQ(A?, B, C, D) and SEQ(A, B, C, D): the first one brings numbers to B, so that both need new snapshots there."""
    workload = replace(
        of_sequences(["ABCD", "ABCD"], {"A": 2, "B": 3, "C": 4, "D": 5}), starts=(("A", "B"), ("A",))
    )
    graph = build_graph(workload, pruning=Pruning.NONE)
    found = distances(graph)
    assert {name for pair, name in found if pair == "BC"} == {"(0,1)^B", "(0) (1)"}
    assert all(distance < float("inf") for distance in found.values())
    both = replace(workload, starts=(("A", "B"), ("A", "B")))
    assert ("BC", "(0,1)^A") in distances(build_graph(both, pruning=Pruning.NONE))


def test_a_query_that_also_starts_where_ways_part():
    """SEQ(A?, B, OR(C, D))."""
    workload = Workload(
        tuple(Transition(source, target, (0, 1)) for source, target in ("AB", "BC", "BD")),
        (("A", "B"), ("A",)),
        (("C", "D"),) * 2,
        {"A": 2, "B": 3, "C": 4, "D": 5},
    )
    plan = plan_sharing(workload)
    assert plan.optimal
    assert plan.cost == plan_by_enumeration(workload).cost


def test_every_pool_has_a_plan_of_its_queries():
    graph = build_graph(THREE)
    path = cheapest_path(graph)
    for pool, found, node in zip(graph.pools.pools, graph.nodes, path, strict=True):
        if pool.transitions:
            assert sorted(query for own in found[node].sets for query in own.queries) == list(pool.queries)
