"""Many queries of one mode in one fold, as the reference has each of them."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from hamlet_core import EventSchema, QueryMeaningError, parse, run
from hamlet_core.engines.hamlet.prefixes.lanes.program import Member, StepBuilder
from hamlet_core.engines.hamlet.prefixes.lanes.tables import HEAP
from hamlet_core.language.syntax import Mode
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.template.access import conditions_text, taken_in_order
from hamlet_core.template.prefixes import folds

SCHEMA = EventSchema()
EXACT = {"arithmetic": "exact"}
PATTERNS = (
    "SEQ(A a, B b)",
    "SEQ(A a, B b+)",
    "SEQ(A a, B b+, C c)",
    "SEQ(A a, B b, C c+, D d)",
    "SEQ(A a, B b, B e)",
    "SEQ(B b+, C c+)",
    "B b+",
    "SEQ(A a, (B b OR C c), D d)",
    "SEQ(A a+, B b?, C c)",
)
COMPARISONS = (
    "b.x < NEXT(b).x",
    "b.x <= NEXT(b).x",
    "b.x > NEXT(b).x",
    "b.x >= NEXT(b).y",
    "b.x < NEXT(b).y",
    "b.x = NEXT(b).x",
    "b.x != NEXT(b).x",
    "b.x < NEXT(b).x AND b.y < NEXT(b).y",
    "a.x < NEXT(b).x",
    "b.x + NEXT(b).y > 3",
)
"""One by order; equal and unequal; two; of two aliases; none that can be parted."""
LOCAL = ("b.x > 1", "b.y < 3", "a.x >= 1", "c.y != 2")
AGGREGATES = (
    "COUNT(*)",
    "COUNT(b)",
    "SUM(b.x)",
    "AVG(b.y)",
    "MIN(b.x)",
    "MAX(b.y)",
    "SUM(b.d)",
    "MIN(b.d)",
    "REACH(b)",
    "COUNT(PARTITIONS)",
    "COUNT(DISJOINT)",
    "SUM(DURATION)",
    "AVG(DURATION)",
    "MIN(DURATION)",
    "MAX(DURATION)",
)


def query(random: Random, name: str, mode: str) -> str:
    """Of all that is drawn the first that means something."""
    while True:
        conditions = [
            one for one in (*random.sample(COMPARISONS, 2), *random.sample(LOCAL, 2)) if random.random() < 0.4
        ]
        returns, where = ", ".join(random.sample(AGGREGATES, 4)), " AND ".join(["[k]", *conditions])
        text = (
            f"{name}: RETURN {returns} PATTERN {random.choice(PATTERNS)} SEMANTICS {mode} WHERE {where} "
            "WITHIN 20 s SLIDE 10 s"
        )
        try:
            parse(text)
        except QueryMeaningError:
            continue
        return text


def stream(random: Random, count: int) -> pa.Table:
    """Ties, NULLs, equal values, events of a type that nobody names."""
    times = sorted(random.choices(range(count * 2 // 3), k=count))
    maybe = [None, *range(5)]
    return pa.table(
        {
            "time": times,
            "type": random.choices("ABBBCDX", k=count),
            "k": random.choices([1, 2, None], [5, 5, 1], k=count),
            "x": pa.array(random.choices(maybe, k=count), pa.int64()),
            "y": pa.array(random.choices(maybe, k=count), pa.int64()),
            "d": pa.array([random.choice([None, 0.5, 1.25, -2.0]) for _ in range(count)]),
        }
    )


def rows(text: str, table: pa.Table, **options: str) -> list[dict[str, object]]:
    """All but what may differ in its last digit."""
    return run(text, table, schema=SCHEMA, **options).drop_columns(["value", "log2"]).to_pylist()


@pytest.mark.parametrize("mode", ["any", "next", "contiguous"])
@pytest.mark.parametrize("seed", range(30))
def test_random_queries_in_one_fold(mode, seed):
    random = Random(f"{mode} {seed}")
    text = "\n".join(query(random, f"q{number}", mode) for number in range(random.randint(2, 9)))
    table = stream(random, 60)
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)


DEEP = ("B b+", "SEQ(B b+, C c)", "SEQ(A a, B b+)", "SEQ(A a, B b+, C c)", "SEQ(B b+, C c+)")


@pytest.mark.parametrize("mode", ["any", "next"])
@pytest.mark.parametrize("seed", range(20))
def test_many_that_wait_in_order(mode, seed):
    """Long windows of one partition, and values that mostly go the way in which nobody is taken; some are NULL."""
    random = Random(f"deep {mode} {seed}")
    sign = random.choice("<>")
    comparisons = [f"b.x {sign} NEXT(b).x", f"b.x {sign}= NEXT(b).x", f"b.x {sign} NEXT(b).y"]
    text = "\n".join(
        f"q{number}: RETURN {', '.join(random.sample(AGGREGATES, 3))} PATTERN {random.choice(DEEP)} "
        f"SEMANTICS {mode} WHERE {random.choice(comparisons)} WITHIN 1000 s"
        for number in range(4)
    )
    count, slope = 150, -1 if sign == "<" else 1
    drift = [slope * place + random.randint(-40, 40) for place in range(count)]
    table = stream(random, count)
    for place, name in enumerate(("x", "y")):
        values = [None if random.random() < 0.1 else number + 20 * slope * place for number in drift]
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values, pa.int64()))
    table = table.set_column(1, "type", pa.array(random.choices("ABBBBBBBC", k=count)))
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)


BEGUN = (
    "SEQ(A a, B b+)",
    "SEQ(A a, B b+, C c)",
    "SEQ(A a, C c+, D d)",
    "SEQ((A a OR C c), B b+, D d)",
    "SEQ(A a, C c?, B b+)",
    "SEQ(A a, B b, A e)",
    "SEQ(A a, A e, B b+)",
    "SEQ(B b+, A a)",
    "SEQ(B b, A a+)",
    "SEQ(C c, A a+, B b+)",
    "A a+",
)
"""Trends that an A begins, of which a count may be all that is known until something follows; and others that A goes on."""
OF_RUNS = ("COUNT(*)", "COUNT(b)", "SUM(b.x)", "MIN(b.y)", "REACH(a)", "REACH(b)", "COUNT(PARTITIONS)")
KEPT_OF_BEGINNINGS = ("SUM(a.x)", "MAX(DURATION)", "COUNT(DISJOINT)")


def runs(random: Random, count: int) -> pa.Table:
    """Runs of one type, in half of the streams some share a time stamp with the next; few values, or many that mostly fall; some
    are NULL.
    """
    types, times, users, now, apart = [], [], [], 0, random.random() < 0.5
    while len(types) < count:
        kind, user, close = random.choice("AABBBCDX"), random.choice([1, 1, 1, 2]), random.random()
        for _ in range(random.choice([1, 2, 5, 15])):
            now += apart or random.random() > 0.3 * close
            types.append(kind)
            times.append(now)
            users.append(user if random.random() < 0.9 else 2)
    if random.random() < 0.5:
        values = [[random.choice([None, *range(5)]) for _ in types] for _ in "xy"]
    else:
        values = [
            [random.choice([None, random.randint(0, 99) - place]) for place in range(len(types))]
            for _ in "xy"
        ]
    columns = {name: pa.array(own, pa.int64()) for name, own in zip("xy", values, strict=True)}
    return pa.table({"time": times, "type": types, "k": users, **columns})


@pytest.mark.parametrize("mode", ["any", "next", "contiguous"])
@pytest.mark.parametrize("seed", range(40))
def test_runs_of_one_type(mode, seed):
    """What a run changes nothing of is passed over: as the reference has it, in which each event is looked at."""
    random = Random(f"runs {mode} {seed}")
    sign = random.choice("<>")
    comparisons = [
        f"e.x {sign} NEXT(e).x",
        f"e.x {sign}= NEXT(e).x",
        f"e.x {sign} NEXT(e).y",
        "e.x = NEXT(e).x",
    ]
    lines: list[str] = []
    while len(lines) < random.choice([1, 2, 6]):
        wanted = [*random.sample(OF_RUNS, 3), *random.sample(KEPT_OF_BEGINNINGS, random.choice([0, 0, 0, 1]))]
        pattern = random.choice(BEGUN)
        repeated = random.choice([alias for alias in "abc" if f"{alias}+" in pattern] or ["b"])
        compared = random.choice(comparisons).replace("e.", f"{repeated}.").replace("(e)", f"({repeated})")
        drawn = [(0.5, "[k]"), (0.6, compared), (0.2, "a.x > 1"), (0.2, "b.y < 3")]
        where = " AND ".join(condition for often, condition in drawn if random.random() < often)
        text = (
            f"q{len(lines)}: RETURN {', '.join(wanted)} PATTERN {pattern} SEMANTICS {mode} "
            f"{'WHERE' if where else ''} {where} WITHIN {random.choice([20, 1000])} s"
        )
        try:
            parse(text)
        except QueryMeaningError:
            continue
        lines.append(text)
    table = runs(random, 90)
    found = rows("\n".join(lines), table, **EXACT)
    assert found == rows("\n".join(lines), table, engine="greta", **EXACT)


@pytest.mark.parametrize("mode", ["next", "contiguous"])
@pytest.mark.parametrize("pattern", ["SEQ(A a, B b)", "SEQ(A a, B b+)"])
def test_a_run_whose_last_events_have_the_time_of_what_follows(mode, pattern):
    """Two of A and one of B at 5: these two wait for the B at 6."""
    table = pa.table({"time": [1, 2, 5, 5, 5, 6], "type": list("AAAABB")})
    text = f"q: RETURN COUNT(*), REACH(b) PATTERN {pattern} SEMANTICS {mode} WITHIN 100 s"
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)


ONE_BEGINNING = (
    "SEQ(A a, B b)",
    "SEQ(A a, C c)",
    "SEQ(A a, D d+)",
    "SEQ(A a, (B b OR C c))",
    "SEQ((A a OR C c), B b)",
    "SEQ(A a, B b, C c)",
    "SEQ(A a, B b, B e)",
)


@pytest.mark.parametrize("mode", ["any", "next", "contiguous"])
@pytest.mark.parametrize("seed", range(20))
def test_events_of_several_types_take_what_begins_at_one_step(mode, seed):
    """Each takes it in the lanes of some queries only, and more begins before the others come."""
    random = Random(f"beginning {mode} {seed}")
    lines = [
        f"q{number}: RETURN COUNT(*), COUNT(PARTITIONS) PATTERN {pattern} SEMANTICS {mode} "
        f"{random.choice(['', '', 'WHERE a.x > 1 '])}WITHIN 1000 s"
        for number, pattern in enumerate(random.sample(ONE_BEGINNING, random.choice([2, 3, 5])))
    ]
    types = [kind for _ in range(40) for kind in random.choice("AAABCD") * random.choice([1, 1, 3])]
    gaps = [0, 1] if random.random() < 0.4 else [1]
    times = list(accumulate(random.choices(gaps, k=len(types))))
    table = pa.table({"time": times, "type": types, "x": random.choices(range(4), k=len(types))})
    text = "\n".join(lines)
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)


@pytest.mark.parametrize("mode", ["any", "next"])
@pytest.mark.parametrize("seed", range(40))
def test_what_is_taken_alone(mode, seed):
    """Times that differ, runs of B, values that differ and mostly fall or mostly rise: often one of those that wait goes on."""
    random = Random(f"alone {mode} {seed}")
    compared = random.choice(["b.x < NEXT(b).x", "b.x >= NEXT(b).x", "b.x > NEXT(b).y", "b.x <= NEXT(b).y"])
    lines = [
        f"q{number}: RETURN {', '.join(random.sample(OF_RUNS + KEPT_OF_BEGINNINGS, 4))} "
        f"PATTERN {random.choice(['SEQ(A a, B b+)', 'SEQ(A a, B b+, C c)', 'SEQ(C a, B b+)'])} "
        f"SEMANTICS {mode} WHERE {compared}{random.choice(['', '', ' AND b.y > 10', ' AND b.y < 30'])} WITHIN {random.choice([30, 1000])} s"
        for number in range(random.choice([1, 2, 3]))
    ]
    types: list[str] = []
    while len(types) < 120:
        types += [random.choice("ABBBBC")] * random.choice([1, 2, 8])
    slope = random.choice([-3, -1, 1])
    columns = {
        name: pa.array(
            [
                None if random.random() < 0.05 else slope * place + random.randint(0, 60)
                for place in range(len(types))
            ],
            pa.int64(),
        )
        for name in "xy"
    }
    table = pa.table({"time": range(len(types)), "type": types, **columns})
    text = "\n".join(lines)
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)


def test_the_random_queries_go_together():
    """Those whose sequences have one place each; the others of the text are folded by themselves."""
    random = Random(1)
    text = "\n".join(query(random, f"q{number}", "next") for number in range(40))
    sizes = sorted(map(len, folds(analyse_workload(parse(text)))))
    assert sizes[-1] > 20
    assert sizes[:-1] == [1] * (len(sizes) - 1)


def test_explain_says_how_prefixes_wait(monkeypatch):
    """Of each step with a condition: in order where the kernel has a heap, and one by one where it has a list."""
    seen: Counter[bool] = Counter()
    add = StepBuilder.add

    def watched(builder: StepBuilder, member: Member, *rest: Any) -> int:
        lane = add(builder, member, *rest)
        automaton = member.analysed.automaton
        for edge in automaton.edges:
            if conditions_text(member.analysed, automaton, edge):
                own = automaton.positions[edge.source].type
                (kind,) = {
                    builder.kind(step, Mode.NEXT)[0]
                    for key, step in builder.steps.items()
                    if key[0] == own and key[2]
                }
                assert (kind == HEAP) is taken_in_order(member.analysed, edge)
                seen[kind == HEAP] += 1
        return lane

    monkeypatch.setattr(StepBuilder, "add", watched)
    for seed in range(120):
        random = Random(f"explain {seed}")
        run(query(random, "q", "next"), stream(random, 20), schema=SCHEMA)
    assert min(seen[True], seen[False]) > 10
