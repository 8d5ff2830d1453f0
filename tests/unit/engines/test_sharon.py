"""The engine SHARON: what is shared, how counts of parts are combined, and what stays with A-Seq."""

from dataclasses import dataclass

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import EventSchema, QueryMeaningError, explain, run
from hamlet_core.algebra.aggregates import Counting, algebra_of, components
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines import aseq, sharon
from hamlet_core.engines.partitions import alike
from hamlet_core.engines.prepared import prepare
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.sharing.sharon.plan import Found
from hamlet_core.table.encode import encode
from hamlet_core.template.plan import plan_query, types_read
from hamlet_core.windows import WindowSpec

EXACT = ARITHMETICS["exact"]
SPEC = WindowSpec(100, 100)


def events(types):
    return pa.table({"time": range(len(types)), "type": list(types), "v": range(len(types))})


@dataclass
class Asked:
    """A workload over a stream, as the engine gets it."""

    shared: sharon.Shared

    @classmethod
    def of(cls, text, types):
        queries = analyse_workload(hamlet_core.parse(text))
        plans = [plan_query(one) for one in queries]
        columns = sorted({name for one in plans for name in one.columns})
        stream = encode(events(types), EventSchema(), columns, types_read(plans))
        prepared = []
        for one in queries:
            parts = components(one.query.aggregates, one.operands, EXACT)
            algebra = algebra_of(EXACT, parts, one.automaton.positions, stream.columns, stream.times)
            prepared.append(prepare(one, stream, algebra, text))
        return cls(sharon.planned(prepared, SPEC, EXACT))

    @property
    def plan(self):
        """Shared parts by the types of their steps, and who shares them."""
        return [
            ("".join(step.partition("#")[0] for step in one.types), one.queries)
            for one in self.shared.plan.shared
        ]

    def counts(self):
        rows = range(len(self.shared.prepared[0].stream.times))
        return [next(iter(one.elements.values()), (0,))[0] for one in self.shared.evaluate(rows)]


def sequences(**patterns):
    return "\n".join(
        f"{name}: RETURN COUNT(*) PATTERN SEQ({', '.join(types)}) WITHIN 100 s"
        for name, types in patterns.items()
    )


def test_a_prefix_and_a_suffix_are_multiplied_with_what_is_shared():
    asked = Asked.of(sequences(p="ABCD", q="BC", r="BCE"), "ABCABDBCD")
    assert asked.plan == [("BC", ("p", "q", "r"))]
    # BC is one part; p has A before it and D behind, r has E behind.
    assert [len(chain) for chain in asked.shared.chains.values()] == [3, 1, 2]
    assert asked.counts() == [7, 4, 0]


def test_two_shared_parts_of_one_query():
    types = "POMWPMWPOOMMWWPMW"
    asked = Asked.of(sequences(a="PO", b="MW", c="POMW", d="PO", e="MWY"), types)
    assert asked.plan == [("PO", ("a", "c", "d")), ("MW", ("b", "c", "e"))]
    assert len(asked.shared.chains["c"]) == 2
    alone = [one.elements for one in by_aseq(asked)]
    assert asked.counts() == [next(iter(one.values()), (0,))[0] for one in alone]
    assert asked.counts()[2] > 10


def by_aseq(asked):
    rows = range(len(asked.shared.prepared[0].stream.times))
    return [aseq.evaluate(one, rows) for one in asked.shared.prepared]


def test_a_shared_part_is_counted_once(monkeypatch):
    """Three queries of one sequence: one part, and nothing by A-Seq."""
    monkeypatch.setattr(aseq, "evaluate", None)
    asked = Asked.of(sequences(p="ABC", q="ABC", r="ABC"), "ABCABC")
    assert len(asked.shared.parts) == 1
    assert asked.counts() == [4, 4, 4]


def test_the_greedy_plan_is_taken_where_it_is_asked_for(monkeypatch):
    """It shares what weighs most by itself, and so not what is best together; answers are the same."""
    found = []
    plan = sharon.sharon_plan
    monkeypatch.setattr(sharon, "sharon_plan", lambda *about: found.append(plan(*about)) or found[-1])
    text = "\n".join(
        f"RETURN COUNT(*) PATTERN SEQ({', '.join(one)}) WITHIN 100 s"
        for one in ("ABCD", "ABCE", "BCDE", "ABE")
    )
    table = events("ABCDE" * 6)
    best, greedy = (run(text, table, engine="sharon", optimizer=one) for one in ("auto", "greedy"))
    assert best.equals(greedy)
    assert best.equals(run(text, table, engine="greta"))
    assert [one.search.found for one in found] == [Found.BEST, Found.UNSEARCHED]
    assert found[1].search.valid_plans == 0


def test_where_nothing_comes_nothing_is_shared():
    assert Asked.of(sequences(p="ABC", q="ABC"), "").plan == []
    assert run(sequences(p="ABC", q="ABC"), events(""), engine="sharon").num_rows == 0


def test_steps_that_other_events_may_take_are_not_shared():
    text = """
        p: RETURN COUNT(*) PATTERN SEQ(A a, B b, C) WHERE a.v > 2 WITHIN 100 s
        q: RETURN COUNT(*) PATTERN SEQ(A, B x, C) WITHIN 100 s
        r: RETURN COUNT(*) PATTERN SEQ(A y, B, C) WHERE y.v > 2 WITHIN 100 s
    """
    asked = Asked.of(text, "ABCABCABC")
    assert ("ABC", ("p", "r")) in asked.plan or ("BC", ("p", "q", "r")) in asked.plan
    assert all("q" not in queries for types, queries in asked.plan if "A" in types)
    assert asked.counts() == [4, 10, 4]


def test_queries_that_return_more_than_their_number_do_not_share():
    text = sequences(p="ABC", q="ABC") + "\nr: RETURN SUM(C.v) PATTERN SEQ(A, B, C) WITHIN 100 s"
    asked = Asked.of(text, "ABCABC")
    assert asked.plan == [("ABC", ("p", "q"))]
    assert not isinstance(asked.shared.prepared[2].algebra, Counting)
    assert run(text, events("ABCABC"), engine="sharon").equals(run(text, events("ABCABC"), engine="greta"))


def test_only_queries_with_the_same_partitions_and_windows_are_folded_together():
    texts = {
        "a": "WHERE [g, u] WITHIN 10 s",
        "b": "WHERE [u, g] WITHIN 10 s SLIDE 10 s",
        "c": "WHERE [g] WITHIN 10 s",
        "d": "WHERE [g] GROUP-BY u WITHIN 10 s",
        "e": "WHERE [g, u] WITHIN 10 s SLIDE 5 s",
        "f": "GROUP-BY g, u WITHIN 10 s",
        "g": "GROUP-BY u, g WITHIN 10 s",
    }
    text = "\n".join(f"{name}: RETURN COUNT(*) PATTERN SEQ(A, B) {rest}" for name, rest in texts.items())
    queries = analyse_workload(hamlet_core.parse(text))
    specs = [WindowSpec(10, one.query.slide.microseconds // 1_000_000) for one in queries]
    assert alike(queries, specs) == ((0, 1), (2,), (3,), (4,), (5, 6))


def test_rates_are_events_per_window_of_a_partition():
    text = sequences(p="AB", q="AB")
    queries = analyse_workload(hamlet_core.parse(text))
    plans = [plan_query(one) for one in queries]
    table = pa.table({"time": [0, 1, 2, 3, 12], "type": list("AABBA")})
    stream = encode(table, EventSchema(), [], types_read(plans))
    prepared = [prepare(one, stream, Counting(EXACT), text) for one in queries]
    # Windows of 10 s every 5 s: three hold an A or a B of the first four, two the A at 12, one of which holds none else.
    shared = sharon.planned(prepared, WindowSpec(10, 5), EXACT)
    rates = {"A": (2 * 2 + 1 * 2) / 4, "B": 2 * 2 / 4}
    assert shared.plan.score == pytest.approx(rates["A"] * (rates["A"] + rates["B"]))


def test_what_its_paper_has_no_rule_for_is_refused_by_name_and_place():
    for text, what in {
        "RETURN COUNT(*) PATTERN SEQ(A, NOT N, B) WITHIN 9 s": "NOT",
        "RETURN COUNT(*) PATTERN SEQ(A, SEQ(B, NOT N)) WITHIN 9 s": "NOT",
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 9 s": "Kleene plus",
    }.items():
        for ask in (
            lambda text: run(text, events(""), engine="sharon"),
            lambda text: explain(text, engine="sharon"),
        ):
            with pytest.raises(QueryMeaningError, match=f"E302.*engine sharon.*no rule for {what}\n"):
                ask(text)
    text = "RETURN COUNT(*) PATTERN SEQ(A, NOT N, B) WITHIN 9 s"
    with pytest.raises(QueryMeaningError) as caught:
        run(text, events(""), engine="sharon")
    assert text[caught.value.column - 1 :].startswith("NOT N")
