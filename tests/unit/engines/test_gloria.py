"""The engine GLORIA: expressions over snapshots as the paper has them, what is shared, and what is refused."""

import re
from dataclasses import dataclass

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import EventSchema, QueryMeaningError, explain, run
from hamlet_core.algebra.aggregates import algebra_of, components
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines import gloria, greta
from hamlet_core.engines.prepared import prepare
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.sharing.gloria.plans import QuerySet, SharingPlan, TransitionPlan, written
from hamlet_core.table.encode import encode
from hamlet_core.template.plan import plan_query, types_read
from hamlet_core.windows import WindowSpec

EXACT = ARITHMETICS["exact"]
SPEC = WindowSpec(100, 100)


def events(types):
    return pa.table({"time": range(len(types)), "type": list(types), "v": range(len(types))})


def prepared(text, types):
    queries = analyse_workload(hamlet_core.parse(text))
    plans = [plan_query(one) for one in queries]
    columns = sorted({name for one in plans for name in one.columns})
    stream = encode(events(types), EventSchema(), columns, types_read(plans))
    found = []
    for one in queries:
        parts = components(one.query.aggregates, one.operands, EXACT)
        algebra = algebra_of(EXACT, parts, one.automaton.positions, stream.columns, stream.times)
        found.append(prepare(one, stream, algebra, text))
    return found


def counting(**patterns):
    return "\n".join(
        f"{name}: RETURN COUNT(*) PATTERN {pattern} WITHIN 100 s" for name, pattern in patterns.items()
    )


@dataclass
class Asked:
    """A workload over a stream, as the engine gets it; `plan` in place of its own: who shares which snapshots, by pair."""

    shared: gloria.Shared

    @classmethod
    def of(cls, text, types, plan=None):
        given = prepared(text, types)
        if plan is None:
            return cls(gloria.planned(given, SPEC, EXACT))
        names = {
            one.analysed.query.name: tuple(position.type for position in one.root.automaton.positions)
            for one in given
        }
        transitions = tuple(TransitionPlan(*pair, sets) for pair, sets in plan.items())
        made = SharingPlan(transitions, 0, 0, (), 0, 0, (), 0.0)
        return cls(gloria.with_plan(given, EXACT, names, made))

    @property
    def plan(self):
        """Pair of types -> who shares; names of steps without their numbers."""
        found = {}
        for one in self.shared.plan.transitions:
            pair = one.source[0] + one.target[0]
            found[pair] = " ".join(
                [*found.get(pair, "").split(), *re.sub(r"#\d+", "", written(one.sets)).split()]
            )
        return found

    @property
    def rows(self):
        return range(len(self.shared.prepared[0].stream.times))

    def expressions(self):
        """After each event the coefficients that its step has got for each set, all older events taken off."""
        found, before = [], {}
        for row in self.rows:
            totals = self.shared.folded(range(row + 1)).totals
            news = {}
            for (step, own), total in totals.items():
                older = before.get((step, own), {})
                new = {key: number - older.get(key, 0) for key, number in total.items()}
                if new := {key: number for key, number in new.items() if number}:
                    news[step, str(own)] = new
            found.append(news)
            before = totals
        return found

    def snapshots(self):
        return self.shared.folded(self.rows).snapshots[1:]

    def counts(self):
        return [next(iter(one.elements.values()), (0,))[0] for one in self.shared.evaluate(self.rows)]

    def reference(self):
        found = [greta.evaluate(one, self.rows) for one in self.shared.prepared]
        return [next(iter(one.elements.values()), (0,))[0] for one in found]


PAPER = counting(q1="SEQ(C, SEQ(A, B)+, D)", q2="SEQ(C, SEQ(A, B)+)")
BOTH = QuerySet((0, 1), "C")


def test_the_expressions_of_the_paper():
    """C A B A B D with snapshots of type C: s s s 2s 3s 4s; q1 = 4 and q2 = 1 + 3 (ALGORITHMS 2.6)."""
    sets = dict.fromkeys((("C", "A"), ("A", "B"), ("B", "A")), (BOTH,)) | {("B", "D"): (QuerySet((0,), "C"),)}
    asked = Asked.of(PAPER, "CABABD", sets)
    assert asked.snapshots() == [{0: 1, 1: 1}]
    own = [found.get((step, str(BOTH))) for step, found in zip("CABAB", asked.expressions(), strict=False)]
    assert own == [{1: 1}, {1: 1}, {1: 1}, {1: 2}, {1: 3}]
    assert asked.counts() == [4, 4]


@pytest.mark.parametrize("type_", "AB")
def test_a_body_with_snapshots_of_one_of_its_types(type_):
    """What enters before the first such event is carried to it, and evaluated there."""
    both = QuerySet((0, 1), type_)
    sets = {
        ("C", "A"): (QuerySet((0, 1), "C"),),
        ("A", "B"): (both,),
        ("B", "A"): (both,),
        ("B", "D"): (QuerySet((0,)),),
    }
    asked = Asked.of(PAPER, "CABCABBADBD", sets)
    assert asked.counts() == asked.reference()
    assert len(asked.snapshots()) == 2 + "CABCABBADBD".count(type_)


def test_a_snapshot_has_a_value_for_each_query_that_has_trends_there():
    text = counting(q1="SEQ(A, B, C)", q2="SEQ(B, C)", q3="SEQ(E, B, C)")
    shared = QuerySet((0, 1, 2), "B")
    sets = {("A", "B"): (QuerySet((0,)),), ("E", "B"): (QuerySet((2,)),), ("B", "C"): (shared,)}
    asked = Asked.of(text, "AABEBC", sets)
    assert asked.snapshots() == [{0: 2, 1: 1}, {0: 2, 1: 1, 2: 1}]
    assert asked.expressions()[4]["B", str(shared)] == {2: 1}
    assert asked.counts() == [4, 2, 1]


def test_what_is_not_the_same_for_a_whole_set_is_a_snapshot_of_its_own():
    """Snapshots of C go on through B, where q2 also starts: its 1 there is no coefficient of them."""
    text = counting(q1="SEQ(C, B, D)", q2="SEQ(B, D)")
    sets = {("C", "B"): (QuerySet((0,), "C"),), ("B", "D"): (QuerySet((0, 1), "C"),)}
    asked = Asked.of(text, "CBCBD", sets)
    assert asked.counts() == [3, 2]


def test_a_plan_is_made_by_the_events_at_hand():
    asked = Asked.of(counting(q1="SEQ(F, A, B, D)", q2="SEQ(A, B, D)", q3="SEQ(E, D)"), "FAABBBBBBBEDD")
    assert asked.plan == {"FA": "(0)", "AB": "(0,1)^A", "BD": "(0,1)^A", "ED": "(2)"}
    assert asked.counts() == asked.reference()
    assert Asked.of(counting(q1="SEQ(A, B)"), "").shared.evaluate([])[0].elements == {}


def test_the_greedy_plan_is_taken_where_it_is_asked_for(monkeypatch):
    """By these rates the greedy plan costs 1101 reads a window, the best one 223; answers are the same."""
    costs = []
    with_plan = gloria.with_plan
    monkeypatch.setattr(gloria, "with_plan", lambda *about: costs.append(about[-1].cost) or with_plan(*about))
    text = "\n".join(
        f"RETURN COUNT(*) PATTERN SEQ({', '.join(one)}) WITHIN 100 s" for one in ("FABCD", "ABCD")
    )
    types = "F" + "A" * 20 + "BB" + "C" * 30 + "D" * 10
    table = pa.table({"time": range(len(types)), "type": list(types)})
    best, greedy = (run(text, table, engine="gloria", optimizer=one) for one in ("auto", "greedy"))
    assert best.equals(greedy)
    assert best.equals(run(text, table, engine="greta"))
    assert costs == [223, 1101]


def test_a_kleene_body_is_shared_as_one():
    """The flat body of ALGORITHMS 2.6, five A and ten B, costs 115; 10 * 5 more on the way to C, and 2 * 1 * 5 there."""
    asked = Asked.of(counting(q1="SEQ((A, B)+, C)", q2="SEQ((A, B)+, C)"), "ABBABBABBABBABBC")
    assert asked.plan == {"AB": "(0,1)^A", "BA": "(0,1)^A", "BC": "(0,1)^A"}
    assert asked.shared.plan.cost == 115 + 50 + 10
    assert asked.counts() == asked.reference()


def test_a_query_that_would_close_a_cycle_goes_by_itself():
    text = counting(q1="SEQ(A, B, C)", q2="SEQ(B, C, A)", q3="SEQ(C, A, B)", q4="SEQ(A, B, C)")
    asked = Asked.of(text, "ABCABCABC" * 3)
    assert asked.counts() == asked.reference()
    alone = {
        query for one in asked.shared.plan.transitions if "@q3" in one.source for query in one.sets[0].queries
    }
    assert alone == {2}
    assert any(own.queries == (0, 3) for one in asked.shared.plan.transitions for own in one.sets)


def test_steps_that_are_entered_on_other_conditions_are_not_shared():
    text = """
        p: RETURN COUNT(*) PATTERN SEQ(A, B b, D d) WHERE b.v + 3 < NEXT(d).v WITHIN 100 s
        q: RETURN COUNT(*) PATTERN SEQ(A, B x, D y) WHERE x.v + 3 < NEXT(y).v WITHIN 100 s
        r: RETURN COUNT(*) PATTERN SEQ(A, B x, D y) WHERE x.v < NEXT(y).v WITHIN 100 s
        s: RETURN COUNT(*) PATTERN SEQ(A, B, D) WITHIN 100 s
    """
    asked = Asked.of(text, "ABBBBDBBBDDD")
    assert asked.counts() == asked.reference()
    assert asked.plan["AB"] == "(0,1,2,3)^A"
    assert sorted(asked.plan["BD"].split()) == ["(0,1)^A", "(2)^A", "(3)^A"]


def test_a_type_that_stands_twice_is_two_steps():
    """The condition is on the step to b from x in one query, and from y in the other."""
    pattern = "SEQ(A x, SEQ(B b, A y)+)"
    text = "\n".join(
        f"{name}: RETURN COUNT(*) PATTERN {pattern} WHERE {left}.v < NEXT(b).v - 3 WITHIN 100 s"
        for name, left in (("p", "x"), ("q", "y"))
    )
    asked = Asked.of(text, "ABABABAAB")
    assert asked.counts() == asked.reference()
    assert asked.counts()[0] != asked.counts()[1]


def test_queries_that_return_more_than_their_number_do_not_share():
    text = counting(p="SEQ(A, B+)", q="SEQ(A, B+)")
    text += "\nr: RETURN COUNT(*), SUM(b.v), AVG(DURATION) PATTERN SEQ(A, B b+) WITHIN 100 s"
    asked = Asked.of(text, "AABBABB")
    assert asked.shared.counting == ("p", "q")
    assert run(text, events("AABBABB"), engine="gloria").equals(run(text, events("AABBABB"), engine="greta"))


REFUSED = {
    "SEQ(A, NOT N, B+)": ("NOT", "NOT N"),
    "SEQ(A, B*)": ("Kleene star", "B*"),
    "SEQ(A, (B, C?)+)": ("an optional part", "C?"),
    "SEQ(A, (B OR C)+)": ("OR of patterns", "(B OR C)"),
    "(A+ AND B)": ("AND of patterns", "(A+ AND B)"),
    "SEQ(A x+, A y+)": ("a pattern that one sequence of events may match in two ways", "SEQ"),
}


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_its_paper_has_no_rule_for_is_refused_by_name_and_place(pattern):
    what, place = REFUSED[pattern]
    text = f"RETURN COUNT(*) PATTERN {pattern} WITHIN 9 s"
    for ask in (lambda: run(text, events(""), engine="gloria"), lambda: explain(text, engine="gloria")):
        with pytest.raises(QueryMeaningError) as caught:
            ask()
        assert caught.value.code == "E302"
        assert "the engine gloria folds sequences and Kleene plus" in caught.value.message
        assert caught.value.message.endswith(f"no rule for {what}")
        assert text[caught.value.column - 1 :].startswith(place)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("RETURN COUNT(*) PATTERN SEQ(A, B+) SEMANTICS next WITHIN 9 s", "SEMANTICS skip-till-next-match"),
        ("RETURN COUNT(DISJOINT) PATTERN SEQ(A, B+) WITHIN 9 s", r"COUNT\(DISJOINT\)"),
    ],
)
def test_clauses_that_are_refused(text, what):
    with pytest.raises(QueryMeaningError, match=f"E302.*no rule for {what}"):
        run(text, events(""), engine="gloria")
