"""The picture of a plan: the way of each query through it is the query's own automaton."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from hamlet_core import parse
from hamlet_core.describe.plans import plan_texts
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.sharing.options import STATIC, Sharing
from hamlet_core.table.encode import EventSchema

ARROW = re.compile(r'  (\S+) -->\|"(.*)"\| (\S+)')
NODE = re.compile(r' +(s\d+)\(\["(\w+)(?: of (\w+))?"\]\)')
TEXT = """
one: RETURN COUNT(*) PATTERN SEQ(A a, B b, A c, C d) WITHIN 10 s
two: RETURN COUNT(*) PATTERN SEQ(A a, B b, A c, D d) WITHIN 10 s
three: RETURN COUNT(*) PATTERN SEQ(E e, A a, B b, A c) WITHIN 10 s
body: RETURN COUNT(*) PATTERN SEQ(F f, SEQ(G g, H h)+, K k) WITHIN 10 s
bodies: RETURN COUNT(*) PATTERN SEQ(F f, SEQ(G g, H h)+, L l) WITHIN 10 s
alone: RETURN COUNT(*) PATTERN SEQ(Q q, R r) WITHIN 10 s
"""


@pytest.mark.parametrize("optimizer", STATIC)
def test_each_query_goes_its_own_way(optimizer: str) -> None:
    workload = parse(TEXT)
    queries = {one.query.name: one for one in analyse_workload(workload)}
    (text,) = plan_texts(
        workload, tuple(queries.values()), Sharing(optimizer=optimizer), None, EventSchema()
    ).values()
    (drawing,) = text.drawings
    nodes = {found[1]: (found[2], found[3]) for line in drawing if (found := NODE.fullmatch(line))}
    arrows = [found.groups() for line in drawing if (found := ARROW.fullmatch(line))]
    everyone = list(queries) if optimizer != "sharon" else ["one", "two", "three", "alone"]
    ways: dict[str, Counter[tuple[str, str]]] = {}
    for source, names, target in arrows:
        for name in everyone if names == "all" else names.split(", "):
            ends = (nodes[end][0] if end in nodes else end for end in (source, target))
            ways.setdefault(name, Counter())[tuple(ends)] += 1
            assert all(nodes[end][1] in (None, name) for end in (source, target) if end in nodes)
    assert "alone" not in ways
    assert {"one", "two"} <= ways.keys()
    for name, way in ways.items():
        automaton = queries[name].automaton
        types = [one.type for one in automaton.positions]
        expected = Counter((types[one.source], types[one.target]) for one in automaton.edges)
        expected.update(("start((start))", types[one.position]) for one in automaton.starts)
        expected.update((types[one.position], "finish((end))") for one in automaton.ends)
        assert way == expected, name
    boxes = [line for line in drawing if line.startswith("  subgraph")]
    assert boxes
    assert drawing.count("  end") == len(boxes)


def test_what_shares_nothing_is_not_drawn() -> None:
    workload = parse(
        "one: RETURN COUNT(*) PATTERN SEQ(A a, B b) WITHIN 10 s\ntwo: RETURN COUNT(*) PATTERN SEQ(C c, D d) WITHIN 10 s"
    )
    (text,) = plan_texts(
        workload, analyse_workload(workload), Sharing(optimizer="gloria"), None, EventSchema()
    ).values()
    assert text.drawings == []
    assert text.lines[-1] == "no segment is worth sharing"
