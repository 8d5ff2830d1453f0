"""The kernel of prefixes where its numbers, its room or its elements reach their ends; else random cases compare it."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from hamlet_core import EventSchema, execute, run
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines.hamlet.prefixes.fold import ROOM

SCHEMA = EventSchema()
EXACT = {"arithmetic": "exact"}


def events(times, types, **columns) -> pa.Table:
    return pa.table({"time": times, "type": types, **columns})


def rows(text, table, **options):
    """What identifies a number: all but the doubles, which may differ in their last digit."""
    found = run(text, table, schema=SCHEMA, **options).drop_columns(["value", "log2"])
    return found.to_pylist()


def kernel_events(text, table, **options) -> int:
    return execute(text, table, schema=SCHEMA, **options).counters.kernel_events


def ties(stamps: int, each: int) -> pa.Table:
    times = [time for time in range(stamps) for _ in range(each)]
    return events(times, ["B"] * len(times), v=list(range(len(times))))


@pytest.mark.parametrize(("stamps", "by_kernel"), [(30, True), (45, False)])
def test_a_query_whose_trends_are_beyond_64_bits_goes_to_the_reference(stamps, by_kernel):
    """Three events at each time: 3**30 sequences to the last one, or 3**45."""
    text, table = "RETURN COUNT(*), COUNT(b) PATTERN B b+ SEMANTICS contiguous WITHIN 100 s", ties(stamps, 3)
    (count, _) = rows(text, table, **EXACT)
    assert int(count["exact"]) == sum(3**length * (stamps - length + 1) for length in range(1, stamps + 1))
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)
    assert (kernel_events(text, table, **EXACT) > 0) is by_kernel


@pytest.mark.parametrize("value", [2**61, -(2**61), 2**62])
def test_sums_beyond_64_bits_go_to_the_reference(value):
    text = "RETURN SUM(b.v), AVG(b.v), MIN(b.v) PATTERN B b+ SEMANTICS next WITHIN 100 s"
    table = events([1, 2, 3, 4], ["B"] * 4, v=[value] * 4)
    for arithmetic in ARITHMETICS:
        assert rows(text, table, arithmetic=arithmetic) == rows(
            text, table, engine="greta", arithmetic=arithmetic
        )


@pytest.mark.parametrize("end", ["", ", NOT N"])
def test_room_for_prefixes_grows_as_they_wait(end):
    """Values that fall: nobody is prolonged, everybody waits, until one prolongs them all."""
    count = 5 * ROOM
    text = f"RETURN COUNT(*), MAX(DURATION), REACH(b) PATTERN SEQ(B b+{end}) SEMANTICS next WHERE b.v < NEXT(b).v WITHIN 1 h"
    values = [count - place for place in range(count)]
    table = events([*range(count), count], ["B"] * (count + 1), v=[*values, count + 1])
    longest, trends = str(count), str(2 * count + 1)
    assert [row["exact"] for row in rows(text, table, **EXACT)] == [trends, longest, "1"]
    assert kernel_events(text, table) == count + 1


REACHED = """RETURN COUNT(*), REACH(c), SUM(b.v), MIN(b.v), COUNT(DISJOINT), MAX(DURATION), REACH(b), AVG(b.d)
PATTERN SEQ(A a, B b+, C c) WHERE [k] WITHIN 100 s SLIDE 50 s"""


def long_stream() -> pa.Table:
    """Windows with 2**98 trends of one user, windows that only a reach has, before and behind, and in between."""
    times = [10, 11, *range(100, 200), 260, 261, 310, 411, 412, 413]
    types = ["A", "B", "A", *"B" * 98, "C", *"AB", "A", *"ABC"]
    users = [1, 1, *[2] * 100, 3, 3, 1, 4, 4, 4]
    values = list(range(len(times)))
    decimals = [Decimal(value) / 4 if value % 3 else None for value in values]
    return events(times, types, k=users, v=values, d=pa.array(decimals, pa.decimal128(9, 2)))


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_trends_beyond_64_bits_are_counted_beside_the_reach_of_the_same_query(arithmetic):
    table, how = long_stream(), {"arithmetic": arithmetic}
    found = rows(REACHED, table, **how)
    assert found == rows(REACHED, table, engine="greta", **how)
    done = execute(REACHED, table, schema=SCHEMA, **how)
    assert done.counters.kernel_events == done.counters.matched_events > 0
    starts = [row["window_start"] for row in found]
    assert starts == sorted(starts)
    reach_only = {row["window_start"] for row in found if row["aggregate"] == "COUNT(*)" and row["sign"] == 0}
    assert min(reach_only) < 100 < max(reach_only)


def test_what_an_alias_has_gathered_depends_on_the_branch():
    """Under next a prefix A may stand in either branch, and only one of them has the alias a."""
    text = """RETURN SUM(a.v), COUNT(c), COUNT(*), MAX(b.v)
              PATTERN (SEQ(A a, B b) OR SEQ(A c, C d)) SEMANTICS next WITHIN 100 s"""
    table = events([1, 2, 3, 4, 5, 6], list("AABCAC"), v=[1, 2, 3, 4, 5, 6])
    assert [row["exact"] for row in rows(text, table, **EXACT)] == ["3", "1", "3", "3"]
    assert rows(text, table, **EXACT) == rows(text, table, engine="greta", **EXACT)
    assert kernel_events(text, table) == 6


def test_durations_of_timestamps_are_seconds_to_the_microsecond():
    text = """RETURN SUM(DURATION), AVG(DURATION), MIN(DURATION), MAX(DURATION), REACH(a)
              PATTERN SEQ(A a, B b) SEMANTICS next WITHIN 100 s"""
    micro = [0, 250_000, 1_000_000, 1_000_001, 200_000_000]
    table = events(pa.array(micro, pa.timestamp("us", "UTC")), list("ABABA"))
    found = rows(text, table, **EXACT)
    assert [row["exact"] for row in found] == [
        "0.250001", "250001/2000000", "0.000001", "0.25", "1", "0", None, None, None, "1",
    ]  # fmt: skip
    assert found == rows(text, table, engine="greta", **EXACT)
    (total, *_) = rows(text, table, arithmetic="modular")
    assert total["fingerprint"] == 250_001


def test_a_contiguous_query_beside_one_that_names_fewer_types():
    text = """close: RETURN COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS contiguous WITHIN 100 s
              plain: RETURN COUNT(*) PATTERN SEQ(A a, B b) WITHIN 100 s"""
    table = events([1, 2, 3, 4, 5], ["A", "Other", "B", "A", "B"])
    found = run(text, table, schema=SCHEMA, **EXACT).to_pylist()
    assert [(row["query"], row["exact"]) for row in found] == [("close", "1"), ("plain", "3")]
