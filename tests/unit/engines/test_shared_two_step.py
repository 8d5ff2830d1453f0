"""The engine that lists common parts once: who is covered by what, how trends are joined, and where it stops."""

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import EventSchema, StreamError, run
from hamlet_core.algebra.aggregates import algebra_of, components
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines import shared_two_step, two_step
from hamlet_core.engines.prepared import prepare
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.table.encode import encode
from hamlet_core.template.plan import plan_query, types_read

EXACT = ARITHMETICS["exact"]


def events(types):
    return pa.table({"time": range(len(types)), "type": list(types), "v": range(len(types))})


def asked(text, types):
    """A workload over a stream, as the engine gets it."""
    queries = analyse_workload(hamlet_core.parse(text))
    plans = [plan_query(one) for one in queries]
    columns = sorted({name for one in plans for name in one.columns})
    stream = encode(events(types), EventSchema(), columns, types_read(plans))
    found = []
    for one in queries:
        parts = components(one.query.aggregates, one.operands, EXACT)
        algebra = algebra_of(EXACT, parts, one.automaton.positions, stream.columns, stream.times)
        found.append(prepare(one, stream, algebra, text))
    return shared_two_step.planned(found)


def covers(shared):
    """Query -> the types of its runs."""
    types = ["".join(one.type for one in node.automaton.positions) for node in shared.nodes]
    return {name: " ".join(types[node] for node, _ in own) for name, own in shared.covers.items()}


def counts(shared):
    rows = range(len(shared.prepared[0].stream.times))
    return [next(iter(one.elements.values()), (0,))[0] for one in shared.evaluate(rows)]


def alone(shared):
    rows = range(len(shared.prepared[0].stream.times))
    found = [two_step.evaluate(one, rows) for one in shared.prepared]
    return [next(iter(one.elements.values()), (0,))[0] for one in found]


def counting(**patterns):
    return "\n".join(
        f"{name}: RETURN COUNT(*) PATTERN {pattern} WITHIN 100 s" for name, pattern in patterns.items()
    )


def test_what_is_common_is_listed_once_and_joined_with_the_rest():
    text = counting(p="SEQ(A, B+, C, D)", q="SEQ(B+, C)", r="SEQ(B+, C, E)", s="SEQ(D, E)")
    shared = asked(text, "ABBCADBCEDE")
    assert covers(shared) == {"p": "A BC D", "q": "BC", "r": "BC E"}
    assert counts(shared) == alone(shared) == [14, 10, 20, 3]


def test_each_part_is_constructed_once(monkeypatch):
    """Three queries of one Kleene body over one window: one listing of it."""
    made = []

    def listing(node, *given, **named):
        made.append([one.type for one in node.automaton.positions])
        return two_step.Listing(node, *given, **named)

    monkeypatch.setattr(shared_two_step, "Listing", listing)
    shared = asked(counting(p="SEQ(A, (B, C)+)", q="SEQ((B, C)+, D)", r="(B, C)+"), "ABCBCD")
    assert counts(shared) == [4, 4, 4]
    assert sorted(made) == [["A"], ["B", "C"], ["D"]]


def test_the_run_that_saves_most_comes_first():
    """AB of two saves two steps, BCD of three six; then nothing is left that p has in common with q."""
    text = counting(p="SEQ(A, B)", q="SEQ(A, B, C, D)", r="SEQ(B, C, D)", s="SEQ(E, B, C, D)")
    assert covers(asked(text, "ABCDE")) == {"q": "A BCD", "r": "BCD", "s": "E BCD"}


def test_a_query_may_share_several_runs():
    text = counting(p="SEQ(A+, B, X, C+, D)", q="SEQ(A+, B)", r="SEQ(C+, D)")
    assert covers(asked(text, "ABXCD")) == {"p": "AB X CD", "q": "AB", "r": "CD"}


def test_single_events_are_nothing_to_share():
    assert covers(asked(counting(p="SEQ(A, B)", q="SEQ(A, C)"), "ABC")) == {}


def test_conditions_inside_a_run_are_part_of_it_and_those_between_runs_are_not():
    text = """
        p: RETURN COUNT(*) PATTERN SEQ(A, B b, C) WHERE b.v < NEXT(C).v - 1 WITHIN 100 s
        q: RETURN COUNT(*) PATTERN SEQ(B x, C, D) WHERE x.v < NEXT(C).v - 1 AND C.v < NEXT(D).v - 2 WITHIN 100 s
        r: RETURN COUNT(*) PATTERN SEQ(B, C) WITHIN 100 s
        s: RETURN COUNT(*) PATTERN SEQ(A, B b, C) WHERE b.v > 1 WITHIN 100 s
    """
    shared = asked(text, "ABBCCDABCD")
    assert covers(shared) == {"p": "A BC", "q": "BC D"}
    assert counts(shared) == alone(shared) == [5, 3, 7, 5]


def test_runs_of_one_time_stamp_are_not_joined():
    table = pa.table({"time": [1, 2, 2, 3], "type": list("ABCD")})
    text = counting(p="SEQ(A, B, C, D)", q="SEQ(A, B)", r="SEQ(C, D)")
    for engine in ("shared_two_step", "greta"):
        rows = run(text, table, engine=engine, arithmetic="exact").to_pylist()
        assert [(row["query"], row["exact"]) for row in rows] == [("q", "1"), ("r", "1")]


@pytest.mark.parametrize(
    "pattern", ["SEQ(A, B*, C)", "SEQ(A, B+, NOT N, C)", "SEQ(A x+, A y+)", "(SEQ(A, B+) AND C)"]
)
def test_what_is_no_sequence_of_parts_goes_by_itself(pattern):
    text = counting(p=pattern, q=pattern)
    shared = asked(text, "AABBNCABC")
    assert covers(shared) == {}
    assert counts(shared) == alone(shared)


def test_other_clauses_that_go_by_themselves():
    texts = ["RETURN COUNT(*) PATTERN SEQ(A, B+) SEMANTICS next WITHIN 9 s"]
    texts += ["RETURN REACH(B) PATTERN SEQ(A, B+) WITHIN 9 s"]
    for text in texts:
        assert covers(asked(f"p: {text} q: {text}", "AB")) == {}


def test_all_aggregates_of_what_is_shared():
    returned = "COUNT(*), SUM(b.v), MIN(b.v), AVG(DURATION), COUNT(DISJOINT), COUNT(PARTITIONS)"
    text = "\n".join(
        f"{name}: RETURN {returned} PATTERN {pattern} WITHIN 100 s"
        for name, pattern in {"p": "SEQ(A, B b+)", "q": "SEQ(A, B b+, C)"}.items()
    )
    table = events("ABBCABBC")
    assert covers(asked(text, "ABBCABBC")) == {"p": "AB", "q": "AB C"}
    assert run(text, table, engine="shared_two_step").equals(run(text, table, engine="greta"))


@pytest.mark.parametrize("by_itself", [True, False])
def test_past_the_limit_it_raises(monkeypatch, by_itself):
    """A and B ten times: a thousand trends of A+ and of B+, a million joined."""
    monkeypatch.setattr(two_step, "TREND_LIMIT", 5_000)
    patterns = (
        {"p": "SEQ(A+, B+)"} if by_itself else {"p": "SEQ(A+, B+)", "q": "SEQ(A+, C)", "r": "SEQ(C, B+)"}
    )
    if not by_itself:
        assert covers(asked(counting(**patterns), "AB"))["p"] == "A B"
        run(counting(q="SEQ(A+, C)", r="SEQ(A+, D)"), events("A" * 10 + "B" * 10), engine="shared_two_step")
    with pytest.raises(StreamError, match=r"E301\] shared_two_step .* more than 5,000 sequences"):
        run(counting(**patterns), events("A" * 10 + "B" * 10), engine="shared_two_step")


def test_the_sequences_of_all_runs_count(monkeypatch):
    """One listing of A+ has 1,023 sequences, that of B+ as many, and nothing joins them."""
    text = counting(p="SEQ(C, A+)", q="SEQ(D, A+)", r="SEQ(C, B+)", s="SEQ(D, B+)")
    monkeypatch.setattr(two_step, "TREND_LIMIT", 2_046)
    assert run(text, events("A" * 10 + "B" * 10), engine="shared_two_step").num_rows == 0
    monkeypatch.setattr(two_step, "TREND_LIMIT", 2_045)
    with pytest.raises(StreamError, match="E301"):
        run(text, events("A" * 10 + "B" * 10), engine="shared_two_step")
