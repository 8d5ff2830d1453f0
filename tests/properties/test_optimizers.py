"""hamlet == greta with every optimizer; what is shared is in the segments of the plan, wherever these lie in the queries."""

from collections import Counter
from itertools import count, cycle, islice
from random import Random

import pytest

import hamlet_core
from hamlet_core.engines.hamlet import planning
from hamlet_core.engines.hamlet.bursts import layout
from hamlet_core.engines.hamlet.events import fold
from hamlet_core.engines.hamlet.passes import ClassPasses
from hamlet_core.engines.hamlet.program import builder
from hamlet_core.sharing.options import OPTIMIZERS, STATIC
from hamlet_core.sharing.segments import Segments
from tests.properties import agreement, bursty, comparison, sequences, trends
from tests.properties.test_spans import sliding

WHERE = ("at a beginning", "in the middle", "at an end")


class Watched:
    """What plans and kernels share from here on; that it is in one segment is asserted each time."""

    def __init__(self, monkeypatch):
        self.met = Counter()
        self.made = planning.made
        equal_places, equal_positions = builder.equal_places, layout.equal_positions
        find_groups, together = builder.Builder.find_groups, ClassPasses._together

        def places(accumulators, numbers, folds, sharing):
            return self.merged(accumulators, equal_places(accumulators, numbers, folds, sharing), sharing)

        def positions(accumulators, *about):
            return self.merged(accumulators, equal_positions(accumulators, *about), about[-1])

        def groups(made, sharing):
            find_groups(made, sharing)
            for group in made.groups:
                assert sharing.graphlets
                assert len({label(sharing, made.accumulators, one) for one in group.places}) == 1
                self.met[f"{sharing.optimizer}: graphlets"] += 1

        def sets(passes, *about):
            found = together(passes, *about)
            several = any(len(one) > 1 for one in found)
            assert not several or passes.sharing.optimizer == "auto"
            self.met["windows that differ in one fold"] += several
            return found

        lanes_of = fold.lanes_of

        def lanes(*about):
            found = lanes_of(*about)
            self.met["windows that overlap in one fold"] += found > 1
            return found

        monkeypatch.setattr(fold, "lanes_of", lanes)
        monkeypatch.setattr(planning, "made", self.planned)
        monkeypatch.setattr(builder, "equal_places", places)
        monkeypatch.setattr(layout, "equal_positions", positions)
        monkeypatch.setattr(builder.Builder, "find_groups", groups)
        monkeypatch.setattr(ClassPasses, "_together", sets)

    def planned(self, asked, rates):
        plan, optimizer = self.made(asked, rates), asked.optimizer
        queries = {one.query.name: one for one in asked.queries.values()}
        assert {*plan.queries, *plan.refused} == queries.keys()
        numbers = {}
        for (query, position), segment in Segments.of(plan.segments).numbers:
            numbers.setdefault((segment, query), set()).add(position)
        found = set()
        for (_, query), taken in numbers.items():
            found.update(kinds(queries[query].automaton, taken))
        self.met.update(f"{optimizer}: {kind}" for kind in found)
        self.met[f"{optimizer}: refused"] += bool(plan.refused)
        return plan

    def merged(self, accumulators, same, sharing):
        for place, first in same.items():
            if accumulators[place[0]].query != accumulators[first[0]].query:
                assert sharing.equals
                assert label(sharing, accumulators, place) == label(sharing, accumulators, first)
                self.met[f"{sharing.optimizer}: folded once"] += 1
        return same


def label(sharing, accumulators, place):
    return sharing.label(accumulators[place[0]].analysed.query.name, place[1])


def kinds(automaton, taken):
    """Where some positions of a query lie in it, and what they are."""
    if len(taken) == len(automaton.positions):
        yield "a whole query"
        return
    starts, ends = ({one.position for one in own} & taken for own in (automaton.starts, automaton.ends))
    yield WHERE[0 if starts else 2 if ends else 1]
    if len({automaton.positions[one].type for one in taken}) > 1:
        yield "of several types"
        if any(
            edge.source in taken and edge.target in taken and edge.source > edge.target
            for edge in automaton.edges
        ):
            yield "of several types in a Kleene body"


def check(make, seeds, optimizers):
    """Compare workloads with the reference, each with the next optimizer; how many have rows."""
    rows = 0
    for seed, optimizer in zip(seeds, cycle(optimizers), strict=False):
        case = make(Random(seed))
        wrong, counters = agreement.compare(
            case.workload, comparison.table(case), comparison.SCHEMA, optimizer=optimizer
        )
        assert wrong == [], (seed, optimizer, case)
        rows += any(one.result_rows for one in counters)
    return rows


def check_bursts(seeds, optimizers):
    """The same for workloads over long bursts, in one arithmetic each."""
    for seed, optimizer, arithmetic in zip(
        seeds, cycle(optimizers), cycle(("exact", "scaled", "modular", "exact")), strict=False
    ):
        case = bursty.task(Random(seed))
        how = {"schema": case.schema, "arithmetic": arithmetic}
        truth = hamlet_core.run(case.workload, case.table(), engine="greta", **how)
        found = hamlet_core.run(case.workload, case.table(), optimizer=optimizer, **how)
        wrong = agreement.heads_differ(found, truth)
        if arithmetic == "scaled":
            wrong += agreement.doubles_differ(found, truth, case.workload, case.table(), case.schema)
        else:
            name = {"exact": "exact", "modular": "fingerprint"}[arithmetic]
            wrong += agreement.column_differs(found, truth, name)
        assert wrong == [], (seed, optimizer, case)


def missed(met, least):
    return {name: (met[name], count) for name, count in least.items() if met[name] < count}


def test_no_optimizer_changes_an_answer(monkeypatch):
    watched = Watched(monkeypatch)
    assert check(trends.common_case, range(90), OPTIMIZERS) > 45
    assert check(sequences.common_case, range(60), ("auto", "sharon", "sharon", "none")) > 30
    assert check(sliding, range(30), ("auto", "auto", "gloria")) > 15
    check_bursts(range(60), OPTIMIZERS)
    wanted = [f"{name}: folded once" for name in ("auto", *STATIC)]
    wanted += [f"{name}: graphlets" for name in ("auto", "hamlet")]
    wanted += [
        f"{name}: {kind}" for name in STATIC for kind in ("at a beginning", "of several types", "refused")
    ]
    wanted += ["gloria: in the middle", "sharon: at an end", "gloria: of several types in a Kleene body"]
    wanted += ["windows that differ in one fold"]
    assert missed(watched.met, dict.fromkeys(wanted, 1)) == {}
    never = ("none: folded once", "none: graphlets", "hamlet: folded once", "sharon: graphlets")
    assert not any(watched.met[name] for name in never)


@pytest.mark.slow
def test_no_optimizer_changes_an_answer_of_twenty_thousand_workloads(monkeypatch):
    watched, seeds = Watched(monkeypatch), count(10**6)
    assert check(trends.common_case, islice(seeds, 5_000), ("gloria", "gloria", "greedy", "auto")) > 2_500
    assert check(sequences.common_case, islice(seeds, 9_000), ("sharon",) * 9 + ("none",)) > 4_500
    assert check(sliding, islice(seeds, 2_000), ("auto", "auto", "auto", "gloria")) > 1_000
    check_bursts(islice(seeds, 4_000), ("gloria", "auto", "hamlet", "greedy"))
    print(watched.met)
    wanted = [f"{name}: folded once" for name in ("auto", *STATIC)]
    wanted += [f"{name}: graphlets" for name in ("auto", "hamlet")]
    wanted += [
        f"gloria: {kind}" for kind in (*WHERE[:2], "of several types", "of several types in a Kleene body")
    ]
    wanted += [f"sharon: {kind}" for kind in (*WHERE, "of several types")]
    wanted += ["windows that differ in one fold", "windows that overlap in one fold"]
    assert missed(watched.met, dict.fromkeys(wanted, 500)) == {}
    assert missed(watched.met, {"gloria: graphlets": 50, "greedy: graphlets": 50}) == {}
