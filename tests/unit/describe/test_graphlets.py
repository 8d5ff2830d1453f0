"""What EXPLAIN says of graphlets is what a run finds: the same groups, lanes and numbers, under every policy."""

import re
from pathlib import Path

import pytest

from hamlet_core import EventSchema, explain
from hamlet_core.bench.kernels import prepare_bench
from hamlet_core.describe.graphlets import graphlet_plans
from hamlet_core.execution import execute
from hamlet_core.language.parser import parse_syntax
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.sharing.options import Sharing
from hamlet_core.streams import generate_stream, generate_workload
from hamlet_core.streams.w50 import w50
from hamlet_core.template.access import Access
from tests.golden.harness import load, table

GOLDEN = Path(__file__).parents[2] / "golden" / "cli" / "sharing.hamlet"
SUMS = """
a: RETURN COUNT(*), SUM(b.v) PATTERN SEQ(P0 p, B b+) WHERE b.x < NEXT(b).x WITHIN 50 s
b: RETURN COUNT(*), AVG(b.v), MAX(b.v) PATTERN SEQ(P0 p, B b+, S0 s) WHERE b.v < 50 AND b.x < NEXT(b).x WITHIN 50 s
c: RETURN COUNT(*) PATTERN SEQ(P1 p, B b+) WHERE b.x < NEXT(b).x WITHIN 20 s
d: RETURN COUNT(*) PATTERN SEQ(P1 p, B b+, S1 s) WHERE b.v < 9 AND b.x < NEXT(b).x WITHIN 20 s
e: RETURN COUNT(*), SUM(b.v) PATTERN SEQ(P1 p, B b+) WHERE b.v < NEXT(b).v AND b.x < NEXT(b).x WITHIN 20 s
f: RETURN COUNT(*) PATTERN SEQ(P0 p, B b+) WHERE b.v < 5 AND b.v < NEXT(b).v AND b.x < NEXT(b).x WITHIN 20 s
"""
WORKLOADS = {
    "ordered": w50(queries=20, types=2, within=60, adjacent=True),
    "selective": w50(queries=20, types=2, within=60, adjacent=True, local=True),
    "by key": w50(queries=6, types=2, within=60, adjacent=True, equivalence=True)
    + "\n"
    + w50(queries=6, types=3, within=60, adjacent=True).replace("q", "k"),
    "running totals": w50(queries=10, types=5, within=60),
    "sums": SUMS,
    "golden": GOLDEN.read_text("utf-8"),
}
SCHEMA = EventSchema(time="t")
STREAM = generate_stream("bursty", 400, 7)


def found_in_a_run(text, sharing, events=STREAM, schema=EventSchema()):
    """By group: type, queries, different totals, lanes it opens with, numbers of a lane."""
    prepared = prepare_bench(text, events, schema, sharing=sharing)
    prepared.fold()
    return sorted(
        (
            group.type,
            tuple(sorted({passes.own.places[query] for own in group.queries for query in own})),
            len(group.places),
            1 if group.condition < 0 else len(set(group.inputs.values())),
            group.unit,
        )
        for _, passes in prepared.classes
        if not passes.own.absent
        for decided in passes.decided
        for group in decided.groups
    )


def said(text, *, everywhere=False):
    """Of all groups, or of those about which a run decides."""
    plans = graphlet_plans(analyse_workload(parse_syntax(text)), everywhere=everywhere)
    return sorted(
        (one.type, one.queries, one.totals, one.lanes, one.lane_numbers)
        for one in plans
        if everywhere or (one.gains and not one.closed_form)
    )


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_groups_of_explain_are_those_of_a_run(name):
    text = WORKLOADS[name]
    if name == "golden":
        text = text.replace("SEQ(P p", "SEQ(P0 p").replace("S s", "S0 s").replace("Q q", "P1 q")
    dynamic = said(text)
    assert found_in_a_run(text, Sharing()) == dynamic
    if name == "ordered":
        assert dynamic
    if name == "running totals":
        assert dynamic == []
        assert [one.closed_form for one in graphlet_plans(analyse_workload(parse_syntax(text)))] == [True]
    assert found_in_a_run(text, Sharing("always")) == said(text, everywhere=True)
    assert found_in_a_run(text, Sharing("never")) == []


def shared_in_the_log(done):
    """(Kleene part, queries) of which some shared a burst."""
    return {(row["kleene"], row["candidates"]) for row in done.decisions.to_pylist() if row["queries"]}


def test_what_explain_says_of_the_golden_workloads_is_what_their_runs_count():
    """The groups of each of the sixty, and in the log and the counters what they shared, under three policies."""
    groups, shared, bursts = [], [], 0
    for case in load("workloads"):
        analysed, events = analyse_workload(parse_syntax(case.text)), table(case.events)
        for sharing in (Sharing(), Sharing("always"), Sharing("dynamic", "paper")):
            plans = graphlet_plans(analysed, everywhere=sharing.everywhere)
            decided = said(case.text, everywhere=sharing.everywhere)
            # The numbers of a lane depend on the table: a column without NULL needs no count of its own.
            assert [one[:4] for one in found_in_a_run(case.text, sharing, events, SCHEMA)] == [
                one[:4] for one in decided
            ], case.name
            names = {
                (f"{one.type}+", ", ".join(analysed[query].query.name for query in one.queries))
                for one in plans
            }
            done = execute(
                case.text, events, schema=SCHEMA, policy=sharing.policy, cost_model=sharing.cost_model
            )
            found = shared_in_the_log(done)
            assert found <= names, case.name
            assert (done.counters.shared_bursts > 0) == bool(found), case.name
            if sharing.policy == "always":
                assert done.counters.shared_bursts == done.counters.decided_bursts
                groups += [(case.name, *one) for one in names]
                shared += [(case.name, *one) for one in found]
                bursts += done.counters.shared_bursts
    # Without events of its type, or with one query's alone, a group shares nothing.
    assert len(groups) >= 25
    assert len(shared) > len(groups) // 2
    assert bursts > 100


@pytest.mark.parametrize("kind", ["bursty", "ridesharing"])
def test_nobody_is_said_to_go_alone_who_shares(kind):
    """Of two queries of which one counts and one adds up, both have the number of trends; nobody has what `solo` has."""
    sharing = 0
    for seed in range(6):
        text = (
            generate_workload(kind, 8, seed) + "\nsolo: RETURN COUNT(*) PATTERN SEQ(Y y, Z z+) WITHIN 1 min\n"
        )
        log = execute(text, generate_stream(kind, 300, seed), schema=EventSchema(), policy="always").decisions
        shared = {name for row in log.to_pylist() if row["queries"] for name in row["queries"].split(", ")}
        alone = set(re.findall(r"^alone +(\w+):", explain(text), re.MULTILINE))
        assert "solo" in alone
        assert not shared & alone, text
        sharing += len(shared)
    assert sharing > 10


def test_access_paths_and_numbers_are_told():
    plans = {one.queries: one for one in graphlet_plans(analyse_workload(parse_syntax(SUMS)))}
    sums, ordered, scanned = plans[0, 1], plans[2, 3], plans[4, 5]
    assert (sums.access, ordered.access, scanned.access) == (
        Access.ORDERED_TREE,
        Access.ORDERED_TREE,
        Access.SCAN,
    )
    assert (sums.lanes, ordered.lanes, scanned.lanes) == (1, 1, 2)
    assert (ordered.lane_numbers, ordered.numbers, ordered.totals, ordered.gains) == (1, 2, 2, True)
    assert sums.numbers > ordered.numbers
    assert sums.lane_numbers > 1
    assert (scanned.lane_numbers, scanned.numbers, scanned.gains) == (3, 4, False)


def test_one_query_has_nobody_to_share_with():
    assert graphlet_plans(analyse_workload(parse_syntax(w50(queries=1, types=1)))) == ()
