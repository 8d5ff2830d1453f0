"""Many queries in one fold of prefixes: each has the rows it has by itself, and those of the reference."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from hamlet_core import EventSchema, execute, parse, partials, run
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines.hamlet.prefixes import fold as folding
from hamlet_core.engines.hamlet.prefixes.lanes import fold as fold_module
from hamlet_core.engines.hamlet.prefixes.lanes.fold import ROOM
from hamlet_core.engines.hamlet.prefixes.lanes.tables import MOST_LANES
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.template.prefixes import folds, why_by_itself
from hamlet_core.template.workload import plan_workload

SCHEMA = EventSchema()
EXACT = {"arithmetic": "exact"}


def stream(random: Random, count: int) -> pa.Table:
    """Ties, NULLs, equal values."""
    times, maybe = sorted(random.choices(range(count * 2 // 3), k=count)), [None, *range(5)]
    return pa.table(
        {
            "time": times,
            "type": random.choices("ABBBCD", k=count),
            "k": random.choices([1, 2, None], [5, 5, 1], k=count),
            "x": pa.array(random.choices(maybe, k=count), pa.int64()),
            "y": pa.array(random.choices(maybe, k=count), pa.int64()),
        }
    )


def rows(text: str, table: pa.Table, **options: str) -> list[dict[str, object]]:
    """All but what may differ in its last digit."""
    return run(text, table, schema=SCHEMA, **options).drop_columns(["value", "log2"]).to_pylist()


def together(text: str) -> list[tuple[int, ...]]:
    return folds(analyse_workload(parse(text)))


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_more_queries_than_lanes(arithmetic):
    table = stream(Random(5), 300)
    lines = [
        f"q{number}: RETURN COUNT(*), REACH(b), SUM(b.y) PATTERN SEQ(A a, B b+) SEMANTICS next "
        f"WHERE [k] AND b.x < NEXT(b).x AND b.y < {1 + number} WITHIN 100 s"
        for number in range(MOST_LANES + 3)
    ]
    found = rows("\n".join(lines), table, arithmetic=arithmetic)
    assert len({row["query"] for row in found}) == len(lines)
    assert found == [row for line in lines for row in rows(line, table, arithmetic=arithmetic)]


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("RETURN COUNT(*), REACH(b) PATTERN SEQ(A a, B b+) SEMANTICS next WHERE [k] AND b.x > 1 WITHIN 10 s", False),
        ("RETURN COUNT(PARTITIONS) PATTERN SEQ(A a, B b+) WHERE [k] WITHIN 10 s", False),
        ("RETURN COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS contiguous WITHIN 10 s", False),
        ("RETURN COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS contiguous WHERE a.x < NEXT(b).x WITHIN 10 s", True),
        ("RETURN COUNT(*) PATTERN SEQ(A a, B b+) SEMANTICS next WHERE b.x < NEXT(b).x WITHIN 10 s", True),
        ("RETURN REACH(b) PATTERN SEQ(A a, B b+) WHERE a.x != NEXT(b).x WITHIN 10 s", True),
    ],
)  # fmt: skip
def test_what_waits_one_by_one_is_compiled_where_a_condition_makes_it(monkeypatch, text, alone):
    given = []
    right = fold_module.fold_lanes

    def watched(fold, singles, *rest):
        given.append(singles is not None)
        return right(fold, singles, *rest)

    monkeypatch.setattr(fold_module, "fold_lanes", watched)
    table = stream(Random(7), 60)
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)
    assert set(given) == {alone}


def test_rows_that_would_take_too_much_room_are_folded_with_fewer_lanes(monkeypatch):
    table = stream(Random(6), 200)
    text = "\n".join(
        f"q{number}: RETURN COUNT(*), REACH(a) PATTERN {pattern} SEMANTICS next WHERE [k] WITHIN 10 s"
        for number, pattern in enumerate(("SEQ(A a, B b)", "SEQ(A a, B b+)", "SEQ(A a, B b+, C c)", "A a+"))
    )
    ran: list[int] = []
    counted: list[int] = []
    right = folding.fold_together

    def watched(steps, shape, lanes, *rest, **options):
        ran.append(len(lanes))
        counted.append(rest[-1])
        return right(steps, shape, lanes, *rest, **options)

    monkeypatch.setattr(folding, "fold_together", watched)
    before = rows(text, table)
    monkeypatch.setattr(fold_module, "MOST_NUMBERS", 20 * counted[0])
    assert fold_module.lanes_at_once(counted[0], 1) == 2
    assert rows(text, table) == before
    assert ran == [4, 2, 2]


@pytest.mark.parametrize("condition", ["b.x < NEXT(b).x", "b.x < NEXT(b).x AND b.y <= NEXT(b).y"])
def test_room_grows_for_prefixes_in_order_and_in_a_list(condition):
    """Values that fall: everybody waits, in both lanes; then one event takes all of them in the one, and C in the other."""
    count = 5 * ROOM
    text = f"""two: RETURN COUNT(*), SUM(b.x) PATTERN SEQ(B b+, C c) SEMANTICS next WHERE {condition} WITHIN 1 h
               one: RETURN COUNT(*), SUM(b.x) PATTERN B b+ SEMANTICS next WHERE {condition} WITHIN 1 h"""
    values = [*range(count, 0, -1), 0, count + 1, 0]
    table = pa.table(
        {
            "time": list(range(count + 3)),
            "type": [*"B" * count, "C", "B", "C"],
            "x": values,
            "y": [0] * (count + 3),
        }
    )
    assert together(text) == [(0, 1)]
    found = {(row["query"], row["aggregate"]): row["exact"] for row in rows(text, table, **EXACT)}
    total = count * (count + 1) // 2
    assert found == {
        ("two", "COUNT(*)"): str(count + 1),
        ("two", "SUM(b.x)"): str(total + count + 1),
        ("one", "COUNT(*)"): str(2 * count + 1),
        ("one", "SUM(b.x)"): str(total + total + (count + 1) * (count + 1)),
    }


def test_keys_at_the_ends_of_64_bits_and_null():
    low, high = -(2**63), 2**63 - 1
    table = pa.table(
        {
            "time": list(range(8)),
            "type": list("BBBBBBBB"),
            "x": pa.array([high, None, low, low, 0, None, high, high], pa.int64()),
        }
    )
    for comparison in ("<", "<=", ">", ">="):
        text = f"RETURN COUNT(*), COUNT(b) PATTERN B b+ SEMANTICS next WHERE b.x {comparison} NEXT(b).x WITHIN 1 h"
        assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)


def test_one_query_beyond_64_bits_does_not_take_the_others_along():
    """Three events at each time: 3**45 sequences to the last; the other query asks for few of them."""
    times = [time for time in range(45) for _ in range(3)]
    table = pa.table({"time": times, "type": ["B"] * len(times), "x": list(range(len(times)))})
    text = """many: RETURN COUNT(*) PATTERN B b+ SEMANTICS contiguous WITHIN 100 s
              few:  RETURN COUNT(*) PATTERN B b+ SEMANTICS contiguous WHERE b.x < 30 WITHIN 100 s"""
    assert together(text) == [(0, 1)]
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)
    assert execute(text, table, schema=SCHEMA, **EXACT).counters.kernel_events > 0


@pytest.mark.parametrize("mode", ["next", "contiguous"])
def test_the_end_of_a_run_may_have_the_time_of_what_takes_the_event_before(mode):
    table = pa.table({"time": [1, 2, 3, 4, 4, 5], "type": list("AAAABB")})
    text = f"RETURN COUNT(*), REACH(b) PATTERN SEQ(A a, B b) SEMANTICS {mode} WITHIN 1 h"
    trends = {"next": "4", "contiguous": "2"}[mode]
    assert [row["exact"] for row in rows(text, table, **EXACT)] == [trends, "1"]
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("RETURN COUNT(*) PATTERN SEQ(A a, NOT C c, B b) SEMANTICS next WITHIN 1 min", "NOT"),
        ("RETURN COUNT(*) PATTERN (A a AND B b) SEMANTICS next WITHIN 1 min", "AND"),
        ("RETURN REACH(a), COUNT(*), MIN(DURATION) PATTERN SEQ(A a, B b) WITHIN 1 min", ""),
        (
            "RETURN AVG(DURATION) PATTERN SEQ(A a, B b) WITHIN 1 min",
            "sums over trends under skip-till-any-match, which may be many",
        ),
        (
            "RETURN COUNT(*) PATTERN SEQ(A a+, A b) SEMANTICS next WITHIN 1 min",
            "a sequence may stand in several places of its pattern",
        ),
        ("RETURN COUNT(*) PATTERN SEQ(A a, B b+) SEMANTICS next WITHIN 1 min", ""),
    ],
)
def test_what_goes_by_itself(text, why):
    (analysed,) = analyse_workload(parse(text))
    assert why_by_itself(analysed) == why


def test_the_folds_that_explain_names_are_those_that_run(monkeypatch):
    """Three funnels of one mode, two of them equal; the same contiguous; two of any; one with NOT."""
    steps = "SEQ(A a, B b, C c)"
    text = "\n".join(
        f"q{number}: RETURN REACH(a), REACH(c) PATTERN {pattern} SEMANTICS {mode} WHERE [k] WITHIN 10 s"
        for number, (pattern, mode) in enumerate(
            [
                (steps, "next"),
                ("SEQ(A a, C c)", "next"),
                (steps, "next"),
                (steps, "contiguous"),
                (steps, "any"),
                ("SEQ(A a, C c)", "any"),
                ("SEQ(A a, NOT B b, C c)", "next"),
            ]
        )
    )
    ran: list[list[int]] = []
    right = folding.fold_together

    def watched(steps, shape, lanes, *rest, **options):
        ran.append(list(lanes))
        return right(steps, shape, lanes, *rest, **options)

    monkeypatch.setattr(folding, "fold_together", watched)
    found = rows(text, stream(Random(8), 80))
    queries = plan_workload(analyse_workload(parse(text))).queries
    assert sorted({one.beside for one in queries}) == [("q0", "q1", "q2"), ("q3",), ("q4", "q5"), ("q6",)]
    assert ran == [[0, 1, 0], [0], [0, 1]]
    assert found == rows(text, stream(Random(8), 80), engine="greta")


def test_modes_partitions_groups_and_windows_keep_queries_apart():
    head = "RETURN COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS"
    text = "\n".join(
        f"q{number}: {head} {rest}"
        for number, rest in enumerate(
            (
                "next WHERE [k] WITHIN 1 min",
                "contiguous WHERE [k] WITHIN 1 min",
                "next WITHIN 1 min",
                "next WHERE [k] WITHIN 2 min",
                "next WHERE [k] AND a.x > 1 WITHIN 1 min",
                "next GROUP-BY k WITHIN 1 min",
            )
        )
    )
    assert together(text) == [(0, 4), (1,), (2,), (3,), (5,)]


def test_a_window_that_only_a_reach_has_is_handed_on_without_a_trend():
    """Nobody asks for the number of trends; what tasks hand on of windows is what the reference does."""
    table = pa.table({"time": [1, 2, 3], "type": list("ABA"), "k": [1, 1, 2]})
    text = (
        "RETURN REACH(a), REACH(b), MIN(DURATION) PATTERN SEQ(A a, B b) SEMANTICS next GROUP-BY k WITHIN 9 s"
    )
    assert together(text) == [(0,)]
    assert partials(text, table, schema=SCHEMA) == partials(text, table, schema=SCHEMA, engine="greta")
