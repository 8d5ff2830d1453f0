"""What explain says, word for word, and that it is true of the engine.

`python -m tests.unit.test_explain` records the texts anew; read the difference before it is committed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings

from hamlet_core import EventSchema, QueryMeaningError, StreamError, explain, parse
from hamlet_core.algebra.aggregates import algebra_of
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines.greta import PathFold, SetFold
from hamlet_core.engines.prepared import prepare
from hamlet_core.language.syntax import Workload
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.table.encode import encode
from tests.properties import strategies

GOLDEN = Path(__file__).parents[2] / "golden" / "explained"
TABLE = pa.schema(
    [("time", pa.int64()), ("type", pa.string()), ("v", pa.float64()), ("w", pa.int32()), ("g", pa.string())]
)
EVENTS = pa.table(
    {"time": [1, 2], "type": ["A", "B"], "v": [0.5, 1.5], "w": pa.array([1, 2], pa.int32()), "g": ["x", None]}
)


ADJACENT = "RETURN COUNT(*), MAX(b.v) PATTERN SEQ(A a, B b+) WHERE b.v < NEXT(b).v WITHIN 10 s SLIDE 4 s"
NEGATED_SEQUENCE = "RETURN COUNT(*) PATTERN SEQ(NOT M, A a+, NOT SEQ(C c, NOT X x, D d+), B b?) WHERE c.v > NEXT(d).v WITHIN 1 h"
AMBIGUOUS_SCAN = "RETURN COUNT(*) PATTERN SEQ(A x+, NOT N n, A y+) WITHIN 10 s"
NEXT = """
funnel: RETURN COUNT(PARTITIONS), REACH(c), AVG(DURATION) PATTERN SEQ(View v, Cart c+, NOT SEQ(Drop d, Leave l), Pay p)
  SEMANTICS skip-till-next-match WHERE [user] AND c.price < NEXT(c).price WITHIN 1 h
"""
MODES = f"""
plain: RETURN COUNT(*) PATTERN SEQ(View v, Cart c+) WHERE [user] WITHIN 1 h
{NEXT}
close: RETURN district, COUNT(*), SUM(c.v) PATTERN SEQ(View v, Cart c+) SEMANTICS contiguous WHERE [user] GROUP-BY district WITHIN 1 h
reach: RETURN REACH(c) PATTERN SEQ(View v, Cart c+) WHERE [user] AND v.price < NEXT(c).price WITHIN 1 h
"""
FUNNEL = """
FUNNEL checkout: View v -> NOT Leave l -> Cart c+ -> Pay WHERE c.price > 5 BY user GROUP-BY country WITHIN 7 days
"""
WORKLOAD = (
    "one: RETURN COUNT(*) PATTERN A WITHIN 1 s\ntwo: RETURN COUNT(*) PATTERN (A OR SEQ(B, C?)) WITHIN 2 s"
)

TOGETHER = """
first:  RETURN REACH(v), REACH(p), AVG(DURATION) PATTERN SEQ(View v, Pay p) SEMANTICS next WHERE [user] WITHIN 1 d
second: RETURN COUNT(*) PATTERN SEQ(View v+, Cart c, Pay p) SEMANTICS next
        WHERE [user] AND v.price < NEXT(v).price AND NEXT(c).price >= v.price AND c.shop != NEXT(p).shop WITHIN 1 d
third:  RETURN COUNT(*) PATTERN SEQ(View v+, Cart c) SEMANTICS next
        WHERE [user] AND v.price < NEXT(v).price AND v.price > NEXT(c).price WITHIN 1 d
close:  RETURN COUNT(*) PATTERN SEQ(View v, Pay p) SEMANTICS contiguous WHERE [user] WITHIN 1 d
reach:  RETURN COUNT(*), REACH(v) PATTERN SEQ(View v, Pay p) WHERE [user] WITHIN 1 d
other:  RETURN REACH(v) PATTERN SEQ(View v, Cart c, Pay p) WHERE [user] WITHIN 1 d
summed: RETURN AVG(DURATION) PATTERN SEQ(View v, Pay p) WHERE [user] WITHIN 1 d
"""
"""In each mode: in one fold, or not and why; what an event takes at once, by a key, and one by one."""

PLANNED = """
abc: RETURN COUNT(*) PATTERN SEQ(A, B, C) WITHIN 10 s
abd: RETURN COUNT(*) PATTERN SEQ(A, B, D) WITHIN 10 s
eab: RETURN COUNT(*) PATTERN SEQ(E, A, B) WITHIN 10 s
long: RETURN COUNT(*) PATTERN SEQ(A, B b+, C) WHERE b.v < NEXT(b).v WITHIN 10 s
more: RETURN COUNT(*) PATTERN SEQ(A, B b+, D) WHERE b.v < NEXT(b).v WITHIN 10 s
other: RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 20 s
neither: RETURN COUNT(*) PATTERN SEQ(A, NOT B, C) WITHIN 10 s
"""
PLANNED_FOR = pa.table(
    {
        "time": range(600),
        "type": list("AABBBBCDE" * 66 + "ABCDEA"),
        "v": [float(one % 7) for one in range(600)],
    }
)
"""Nine types of ten seconds again and again."""

EXPLAINED = {
    "ride_sharing": lambda: explain(
        """
        q1: RETURN T.district, COUNT(*), SUM(T.duration)
            PATTERN SEQ(Request R, Travel T+, NOT Pickup P)
            WHERE [driver, rider] AND R.kind = Pool AND T.speed < 10
            GROUP-BY T.district
            WITHIN 30 min SLIDE 1 min
        """
    ),
    "adjacent": lambda: explain(ADJACENT),
    "negated_sequence": lambda: explain(NEGATED_SEQUENCE),
    "ambiguous": lambda: explain("RETURN COUNT(*) PATTERN SEQ(A x+, A y+) WHERE x.v > 3 WITHIN 10 s"),
    "ambiguous_scan": lambda: explain(AMBIGUOUS_SCAN),
    "pairs": lambda: explain('RETURN COUNT(*) PATTERN (A a+ AND "Big <B>" b) WITHIN 10 s SLIDE 20 s'),
    "columns": lambda: explain(
        "RETURN SUM(a.v), AVG(a.w) PATTERN SEQ(A a+, B b) WHERE [g] WITHIN 10 s", table=TABLE
    ),
    "warnings": lambda: explain(
        "RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) WHERE [g] WITHIN 10 s", table=EVENTS
    ),
    "two_step": lambda: explain(
        "RETURN COUNT(*) PATTERN SEQ(A a+, NOT N) GROUP-BY g WITHIN 10 s", engine="two_step"
    ),
    "compiled": lambda: explain(
        """
        one: RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+) WHERE [g] AND b.v > 3 WITHIN 12 s SLIDE 4 s
        two: RETURN COUNT(*) PATTERN SEQ(C c, NOT N n, B b+) WHERE b.v < NEXT(b).v GROUP-BY g WITHIN 10 s
        three: RETURN AVG(x.v) PATTERN SEQ(B x+, D, NOT SEQ(N, M)) WHERE NEXT(D).time - x.time < 5 s GROUP-BY g WITHIN 12 s SLIDE 4 s
        four: RETURN COUNT(*) PATTERN (A AND B+) WHERE [g] WITHIN 10 s
        five: RETURN COUNT(*) PATTERN SEQ(A x+, A y+) WITHIN 10 s
        """
    ),
    "compiled_bodies": lambda: explain(
        "one: RETURN COUNT(*) PATTERN SEQ(C, (SEQ(A, B+))+) WITHIN 10 s\n"
        "two: RETURN COUNT(*) PATTERN SEQ((SEQ(A, B b+))+, NOT N) WITHIN 6 s\n"
        "three: RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 s"
    ),
    "workload": lambda: explain(WORKLOAD),
    "modes": lambda: explain(MODES),
    "funnel": lambda: explain(FUNNEL),
    "together": lambda: explain(TOGETHER),
    "greta_next": lambda: explain(NEXT, engine="greta"),
    "aseq": lambda: explain(
        "RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A, NOT N, B b) WHERE [g] WITHIN 10 s SLIDE 5 s", engine="aseq"
    ),
    "sharon": lambda: explain(
        "a: RETURN COUNT(*) PATTERN SEQ(A, B, C) WITHIN 10 s\n"
        "b: RETURN COUNT(*) PATTERN SEQ(B, C) WITHIN 10 s",
        engine="sharon",
    ),
    "gloria": lambda: explain(
        "a: RETURN COUNT(*) PATTERN SEQ(A, SEQ(B b, C)+) WHERE b.v < NEXT(C).v WITHIN 10 s", engine="gloria"
    ),
    "shared_two_step": lambda: explain(
        "a: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s", engine="shared_two_step"
    ),
    "two_step_next": lambda: explain(NEXT, engine="two_step"),
    "greta_adjacent": lambda: explain(ADJACENT, engine="greta"),
    "greta_negated_sequence": lambda: explain(NEGATED_SEQUENCE, engine="greta"),
    "greta_ambiguous_scan": lambda: explain(AMBIGUOUS_SCAN, engine="greta"),
    "greta_workload": lambda: explain(WORKLOAD, engine="greta"),
    "plan_none": lambda: explain(PLANNED, optimizer="none"),
    "plan_hamlet": lambda: explain(PLANNED, optimizer="hamlet"),
    "plan_gloria": lambda: explain(PLANNED, table=PLANNED_FOR, optimizer="gloria"),
    "plan_greedy": lambda: explain(PLANNED, optimizer="greedy"),
    "plan_sharon": lambda: explain(PLANNED, table=PLANNED_FOR, optimizer="sharon"),
}


def said(name):
    """A text, without the time that planning took."""
    return re.sub(r"took [0-9.]+ ms", "took ... ms", EXPLAINED[name]())


@pytest.mark.parametrize("name", EXPLAINED)
def test_explained(name):
    assert said(name) == (GOLDEN / f"{name}.txt").read_text("utf-8")


def test_no_text_is_left_over():
    assert {path.stem for path in GOLDEN.iterdir()} == set(EXPLAINED)


def test_text_and_tree_are_explained_alike():
    text = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s"
    assert explain(parse(text)) == explain(text)


REFUSED = {
    "a table without the column": (
        lambda: explain("RETURN SUM(a.z) PATTERN A a WITHIN 1 s", table=TABLE),
        StreamError,
    ),
    "a column of the wrong type": (
        lambda: explain("RETURN SUM(a.g) PATTERN A a WITHIN 1 s", table=TABLE),
        QueryMeaningError,
    ),
    "a window finer than the time": (
        lambda: explain(
            "RETURN COUNT(*) PATTERN A a WITHIN 1 s", table=TABLE, schema=EventSchema(time_unit="h")
        ),
        QueryMeaningError,
    ),
    "an unknown engine": (
        lambda: explain("RETURN COUNT(*) PATTERN A a WITHIN 1 s", engine="flink"),
        StreamError,
    ),
    "a bad query": (lambda: explain("RETURN COUNT(*) PATTERN A a* WITHIN 1 s"), QueryMeaningError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_a_run_would(name):
    act, kind = REFUSED[name]
    with pytest.raises(kind):
        act()


def scans(text):
    """The steps of the pattern itself (not of a negated one) that the text says are scanned."""
    lines = text.split("\nautomaton: ")[1].split("```")[0].splitlines()
    return sum("O(n) scan" in line for line in lines if not line.startswith("   "))


@settings(max_examples=60)
@given(strategies.cases)
def test_what_an_event_costs_is_what_the_engine_does(case):
    workload = Workload((case.query,))
    try:
        (analysed,) = analyse_workload(workload)
    except QueryMeaningError:  # ambiguous aggregates
        return
    automaton, text = analysed.automaton, explain(workload, engine="greta")
    empty = pa.schema({"time": pa.int64(), "type": pa.string()}).empty_table()
    stream = encode(empty, EventSchema(), [], frozenset())
    bare = prepare(
        replace(analysed, local=(), adjacent=()),
        stream,
        algebra_of(ARITHMETICS["exact"], (), automaton.positions, {}),
    )
    alias = [position.alias for position in automaton.positions]
    conditioned = {(one.left, one.right) for one in analysed.adjacent}
    scanned = [edge for edge in automaton.edges if (alias[edge.source], alias[edge.target]) in conditioned]
    if analysed.ambiguous:
        everything = bool(scanned) or SetFold(bare.root, bare.algebra).scanning
        assert scans(text) == (len(automaton.edges) if everything else 0)
    else:
        assert scans(text) == len(scanned)
        waiting = {position for position, _ in PathFold(bare.root, bare.algebra).waiting}
        assert text.count("because of NOT behind it") == len(waiting - {edge.source for edge in scanned})


def record():
    """Write the texts down."""
    for name in EXPLAINED:
        (GOLDEN / f"{name}.txt").write_text(said(name), "utf-8")


if __name__ == "__main__":
    record()
