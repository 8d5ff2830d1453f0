"""GLORIA's plans on random workloads: as cheap as a brute force, as every path, and never dearer than greedy ones."""

from random import Random

import numpy as np
import pytest

from hamlet_core.sharing.gloria import search
from hamlet_core.sharing.gloria.baselines import plan_by_enumeration, plan_greedily
from hamlet_core.sharing.gloria.building import Limits, Pruning, build_graph
from hamlet_core.sharing.gloria.change import plan_cost
from hamlet_core.sharing.gloria.planning import plan_of, plan_sharing
from hamlet_core.sharing.gloria.plans import Doubt
from hamlet_core.sharing.gloria.workload import KleeneBody, Transition, Workload, of_sequences
from tests.unit.sharing.gloria_workloads import (
    NAMES,
    body_first,
    brute_force,
    chain,
    frequencies,
    parting,
    tree,
    with_shortcuts,
)

SHAPES = ["chain", "one end", "one start", "either", "shortcuts", "parting"]


def drawn(shape, random, queries, most, **limits):
    """A workload of a shape; `types`: at most so many."""
    match shape:
        case "chain":
            return chain(random, queries, most, **limits)
        case "shortcuts":
            return with_shortcuts(random, chain(random, queries, most, **limits))
        case "parting":
            return parting(random, queries, most)
        case "body":
            return body_first(random, queries, most)
    return tree(random, queries, most, shape, **limits)


@pytest.mark.parametrize("shape", [*SHAPES, "body"])
@pytest.mark.parametrize(("queries", "workloads"), [(1, 30), (2, 300), (3, 150), (4, 25)])
@pytest.mark.parametrize("most", [4, 40])
def test_no_path_is_cheaper(shape, queries, workloads, most):
    random = Random(f"{shape} {queries} {most}")
    for _ in range(workloads):
        workload = drawn(shape, random, queries, most)
        plan = plan_sharing(workload)
        assert plan.optimal, workload
        assert plan.cost == plan_by_enumeration(workload).cost, workload
        assert plan.cost <= plan_greedily(workload).cost, workload
        assert plan.cost == plan_cost(workload, plan), workload


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("queries", [1, 2, 3])
def test_no_plan_at_all_is_cheaper(shape, queries):
    random = Random(f"all plans {shape} {queries}")
    for _ in range(40 if queries < 3 else 12):
        workload = drawn(shape, random, queries, 20, types=5)
        assert plan_sharing(workload).cost == brute_force(workload), workload


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*SHAPES, "body"])
@pytest.mark.parametrize("most", [3, 8, 100])
def test_no_path_is_cheaper_in_many_workloads(shape, most):
    random = Random(f"many {shape} {most}")
    for _ in range(4_000):
        workload = drawn(shape, random, random.randrange(2, 5), most)
        every = plan_of(build_graph(workload, pruning=Pruning.NONE, limits=None))
        plan = plan_sharing(workload)
        assert (plan.optimal, plan.cost) == (True, every.cost), workload


def test_diamonds_are_told_and_never_dearer_than_a_greedy_plan():
    random = Random(7)
    nearly = 0
    for _ in range(100):
        ways = ["ABDE", "ACDE", "ABD", "CDE", "SABDE", "SACD"]
        chosen = ["SABDE", "SACDE", *random.choices(ways, k=random.randrange(3))]
        workload = of_sequences(chosen, {name: random.randrange(1, 20) for name in "SABCDE"})
        plan, best = plan_sharing(workload), plan_by_enumeration(workload)
        assert Doubt.DIAMOND in plan.doubts
        assert best.cost <= plan.cost <= plan_greedily(workload).cost, workload
        nearly += plan.cost == best.cost
    assert nearly > 50


def test_a_graph_that_is_cut_keeps_the_plans_of_everybody_and_nobody():
    """Queries that are alike share all together or not at all: few nodes are enough."""
    random = Random(23)
    cuts = 0
    for _ in range(40):
        names = NAMES[: random.randrange(5, 8)]
        workload = of_sequences([names] * 4, frequencies(random, names, 100))
        cut = build_graph(workload, limits=Limits(nodes=12))
        assert max(map(len, cut.nodes)) <= 12
        assert plan_of(cut).cost == plan_of(build_graph(workload, limits=None)).cost, workload
        cuts += cut.doubts == (Doubt.MANY_SETS,)
    assert cuts > 20


def test_the_printed_rule_of_node_pruning_on_pieces_of_chains():
    """It may lose, as two queries of which one ends earlier show; it never finds what is not there."""
    random = Random(3)
    for _ in range(300):
        workload = chain(random, 2, 12)
        paper = plan_of(build_graph(workload, pruning=Pruning.PAPER))
        assert paper.cost >= plan_sharing(workload).cost, workload


def cheapest(sizes, *, prune):
    """The cost of two queries that are both the whole chain, one chain a row: all nodes, or after node pruning as printed.

    A pool has the node without sharing (kept apart) and one for each type so far whose snapshots may be carried.
    """
    chains, types = sizes.shape
    alone = 2 * sizes[:, 0]
    shared = alone[:, None]  # by snapshot type
    for here in range(1, types):
        before = sizes[:, here - 1]
        length = np.concatenate([sizes[:, : here - 1], np.ones((chains, 1), sizes.dtype)], axis=1)
        carried = shared + before[:, None] * length
        alone = alone + 2 * before * sizes[:, here]
        values = 2 * sizes[:, here, None] * sizes[:, :here]
        evaluated = (carried + values).min(axis=1)
        if here == types - 1:
            return np.minimum(alone, evaluated)
        shared = np.concatenate([carried, np.minimum(alone, evaluated)[:, None]], axis=1)
        if prune:
            shared = without_dominated(shared, sizes[:, : here + 1])
    raise AssertionError("a chain has two types")


def without_dominated(distances, sizes):
    """Infinite distances for nodes that are no nearer and no rarer than another one, and worse in one of both."""
    nearer = distances[:, :, None] <= distances[:, None, :]
    rarer = sizes[:, :, None] <= sizes[:, None, :]
    better = (distances[:, :, None] < distances[:, None, :]) | (sizes[:, :, None] < sizes[:, None, :])
    return np.where((nearer & rarer & better).any(axis=1), np.inf, distances)


def chains(seed, number, types, most):
    return np.random.default_rng(seed).integers(1, most, (number, types)).astype(float)


@pytest.mark.parametrize("types", range(2, 9))
@pytest.mark.parametrize("most", [3, 12, 90])
def test_the_solver_of_chains_is_the_optimizer(types, most):
    rows = chains(types, 25, types, most)
    for row, every, pruned in zip(rows, cheapest(rows, prune=False), cheapest(rows, prune=True), strict=True):
        names = NAMES[:types]
        workload = of_sequences([names, names], dict(zip(names, row, strict=True)))
        assert plan_of(build_graph(workload, pruning=Pruning.NONE)).cost == every
        assert plan_of(build_graph(workload, pruning=Pruning.PAPER)).cost == pruned
        assert plan_sharing(workload).cost == every


def test_dominated_nodes_are_seen():
    distances, sizes = np.array([[5.0, 6.0, 6.0, 4.0]]), np.array([[2.0, 2.0, 1.0, 3.0]])
    assert without_dominated(distances, sizes).tolist() == [[5.0, np.inf, 6.0, 4.0]]


@pytest.mark.parametrize(
    "number", [2_000, pytest.param(800_000, marks=pytest.mark.slow)], ids=lambda number: f"{number} chains"
)
def test_node_pruning_as_printed_loses_no_optimum_where_both_queries_are_the_chain(number):
    shapes = [(types, most) for types in range(3, 9) for most in (3, 6, 20, 100)]
    for types, most in shapes:
        rows = chains(types * most, -(-number // len(shapes)), types, most)
        lost = cheapest(rows, prune=True) > cheapest(rows, prune=False)
        assert not lost.any(), rows[lost][:3]


def between(ways, queries):
    """Queries with a Kleene body in common, between as many beginnings and ends."""
    starts, ends = [f"P{way}" for way in range(ways)], [f"S{way}" for way in range(ways)]
    taken = [(starts[query % ways], ends[query // ways % ways]) for query in range(queries)]
    transitions = [
        *(
            (start, "B", tuple(query for query, one in enumerate(taken) if one[0] == start))
            for start in starts
        ),
        *(("B", end, tuple(query for query, one in enumerate(taken) if one[1] == end)) for end in ends),
    ]
    return Workload(
        tuple(Transition(*one) for one in transitions if one[2]),
        tuple((start,) for start, _ in taken),
        tuple((end,) for _, end in taken),
        {name: 10.0 + place for place, name in enumerate((*starts, "B", *ends))},
        (KleeneBody((("B", "B"),), tuple(range(queries))),),
    )


def test_a_body_between_many_beginnings_and_ends_is_planned_and_the_plan_is_in_doubt():
    """All ways to choose a node for each beginning would be looked at for ever."""
    workload = between(10, 50)
    plan = plan_sharing(workload)
    assert Doubt.MANY_SETS in plan.doubts
    assert plan.cost == plan_cost(workload, plan) <= plan_greedily(workload).cost


@pytest.mark.parametrize("shape", SHAPES)
def test_ways_that_are_not_all_tried_lead_to_plans_near_the_best(shape, monkeypatch):
    random, found = Random(f"few ways {shape}"), []
    for _ in range(60):
        workload = drawn(shape, random, 3, 40)
        best = plan_sharing(workload).cost
        with monkeypatch.context() as patch:
            patch.setattr(search, "MOST_WAYS", 0)
            plan = plan_sharing(workload)
        assert plan.cost == plan_cost(workload, plan)
        assert best <= plan.cost <= plan_greedily(workload).cost
        found.append(plan.cost == best)
    assert sum(found) >= 50
