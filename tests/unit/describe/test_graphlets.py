"""What EXPLAIN says of graphlets is what a run finds: the same groups, lanes and numbers, under every policy."""

from pathlib import Path

import pytest

from hamlet_core import EventSchema
from hamlet_core.bench.kernels import prepare_bench
from hamlet_core.describe.graphlets import graphlet_plans
from hamlet_core.language.parser import parse_syntax
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.sharing.options import Sharing
from hamlet_core.streams import generate_stream
from hamlet_core.streams.w50 import w50
from hamlet_core.template.access import Access

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
STREAM = generate_stream("bursty", 400, 7)


def found_in_a_run(text, sharing):
    """By group: type, queries, different totals, lanes it opens with, numbers of a lane."""
    prepared = prepare_bench(text, STREAM, EventSchema(), sharing=sharing)
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
        for decided in passes.decided
        for group in decided.groups
    )


def said(text, wanted):
    plans = graphlet_plans(analyse_workload(parse_syntax(text)))
    return sorted(
        (one.type, one.queries, one.totals, one.lanes, one.lane_numbers) for one in plans if wanted(one)
    )


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_groups_of_explain_are_those_of_a_run(name):
    text = WORKLOADS[name]
    if name == "golden":
        text = text.replace("SEQ(P p", "SEQ(P0 p").replace("S s", "S0 s").replace("Q q", "P1 q")
    dynamic = said(text, lambda one: one.gains and not one.closed_form)
    assert found_in_a_run(text, Sharing()) == dynamic
    if name == "ordered":
        assert dynamic
    if name == "running totals":
        assert dynamic == []
        assert len(said(text, lambda one: one.closed_form)) == 1
    assert found_in_a_run(text, Sharing("always")) == said(text, lambda _: True)
    assert found_in_a_run(text, Sharing("never")) == []


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
