"""The queue of running totals against a plain list, and long streams that no list of trends could hold."""

from __future__ import annotations

import time
from decimal import Decimal
from math import log2

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core import run
from hamlet_core.algebra.arithmetic import PRIME, digits
from hamlet_core.engines.greta import Waiting

LONG = 50_000


class Multisets:
    """An algebra whose elements are sorted tuples: every number that was added, and how often."""

    def plus(self, left, right):
        return tuple(sorted(left + right))


actions = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3)),
    max_size=40,
)


@given(actions)
def test_waiting_is_a_list_whose_old_part_is_dropped(steps):
    queue, kept = Waiting(Multisets()), []
    now = since = 0
    for number, (push, ahead) in enumerate(steps):
        if push:
            now += ahead
            queue.push(now, (number,))
            kept.append((now, number))
        else:
            since = min(since + ahead, now)
            kept = [(at, what) for at, what in kept if at >= since]
            expected = tuple(sorted(what for _, what in kept)) or None
            assert queue.total(since) == expected
            assert queue.total(None) == expected


def test_waiting_keeps_what_is_at_the_bound_itself():
    queue = Waiting(Multisets())
    for at in (1, 2, 2, 3):
        queue.push(at, (at,))
    assert queue.total(None) == (1, 2, 2, 3)
    assert queue.total(2) == (2, 2, 3)
    queue.push(4, (4,))
    assert queue.total(3) == (3, 4)
    assert queue.total(5) is None


class Counted(Multisets):
    """Counts additions."""

    additions = 0

    def plus(self, left, right):
        self.additions += 1
        return left + right


def test_waiting_costs_a_constant_number_of_additions_per_event():
    algebra = Counted()
    queue = Waiting(algebra)
    for at in range(10_000):
        queue.push(at, 1)
        assert queue.total(at - 100) == min(at, 100) + 1
    assert algebra.additions < 4 * 10_000


def events(types, **columns):
    return pa.table({"time": range(len(types)), "type": list(types), **columns})


def only(text, table, arithmetic, engine="greta"):
    rows = run(text, table, arithmetic=arithmetic, engine=engine).to_pylist()
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize("arithmetic", ["exact", "scaled", "modular"])
def test_fifty_thousand_events_of_a_kleene_plus(arithmetic):
    began = time.monotonic()
    row = only(f"RETURN COUNT(*) PATTERN B+ WITHIN {LONG} s", events("B" * LONG), arithmetic)
    assert time.monotonic() - began < 10
    assert (row["value"], row["sign"], row["log2"]) == (None, 1, pytest.approx(LONG))
    true = 2**LONG - 1
    if arithmetic == "exact":
        assert len(row["exact"]) == 15_052
        assert Decimal(row["exact"]) == true
    else:
        assert row["exact"] is None
    assert row["fingerprint"] == (true % PRIME if arithmetic == "modular" else None)


@pytest.mark.parametrize("arithmetic", ["exact", "scaled", "modular"])
def test_a_long_stream_with_sums_and_negation(arithmetic):
    count = 5_000
    values = [1, -2] * (count // 2)
    table = events("A" + "B" * count + "NB", v=[0, *values, 0, 5])
    text = f"RETURN SUM(b.v), COUNT(b) PATTERN SEQ(A, B b+, NOT N, B c) WITHIN {2 * count} s"
    total, occurrences = run(text, table, arithmetic=arithmetic).to_pylist()
    # The last B has the N before it, so c is one of the older ones; the B at `place` is under b if a later one
    # is taken, whatever is taken before it.
    times = [2 ** (count - 1) - 2**place for place in range(count)]
    true = sum(value * often for value, often in zip(values, times, strict=True)), sum(times)
    for row, number in zip((total, occurrences), true, strict=True):
        assert row["sign"] == (1 if number > 0 else -1)
        assert row["log2"] == pytest.approx(log2(abs(number)), abs=1e-9)
        assert row["fingerprint"] == (number % PRIME if arithmetic == "modular" else None)
        if arithmetic == "exact":
            assert row["exact"] == digits(number, 0)


def test_no_trend_has_the_negated_event_in_its_gap():
    first = "RETURN COUNT(*) PATTERN SEQ(A, NOT N, B+) WITHIN 10 s"
    # Any of the four B in any number, but not the last alone.
    assert only(first, events("ABBBNB"), "exact")["exact"] == "14"
    assert run("RETURN COUNT(*) PATTERN SEQ(A, B b+, NOT N, C) WITHIN 10 s", events("ABBBNC")).num_rows == 0
    last = "RETURN COUNT(*) PATTERN SEQ(A, B b+, NOT N, C) WITHIN 10 s"
    # The B after the N must be there, the other three may be.
    assert only(last, events("ABBBNBC"), "exact")["exact"] == "8"


@pytest.mark.parametrize("engine", ["hamlet", "greta", "two_step"])
def test_a_negated_pattern_between_optional_parts_sees_only_what_lies_between(engine):
    text = "RETURN COUNT(*) PATTERN SEQ(B+, SEQ(C, NOT SEQ(N n, N n2), B b2+)?) WITHIN 100 s"
    # The first N lies before the C: {B2}, {B5}, {B2, B5} and {B2, C3, B5}.
    assert only(text, events("NBCNB"), "exact", engine)["exact"] == "4"
    # Two N after the C forbid the last of them.
    assert only(text, events("BCNNB"), "exact", engine)["exact"] == "3"


def test_a_count_that_is_zero_modulo_the_prime_keeps_its_row():
    row = only("RETURN COUNT(*) PATTERN B+ WITHIN 100 s", events("B" * 61), "modular")
    assert row["fingerprint"] == 0
    assert (row["value"], row["sign"], row["log2"]) == (float(2**61), 1, 61.0)
    assert only("RETURN COUNT(*) PATTERN B+ WITHIN 100 s", events("B" * 61), "exact")["exact"] == str(PRIME)


def test_a_pair_count_that_is_zero_modulo_the_prime_keeps_its_row():
    row = only("RETURN COUNT(*) PATTERN (A AND B+) WITHIN 100 s", events("A" + "B" * 61), "modular")
    assert (row["fingerprint"], row["sign"]) == (0, 1)


@pytest.mark.parametrize("pattern", ["(A+ AND B+)", "(A a+ AND A b+)", "(SEQ(A a, B b+) AND SEQ(A a+, B b))"])
@pytest.mark.parametrize("size", [3, 70])
def test_and_modulo_the_prime_is_and_of_the_exact_counts(pattern, size):
    table = events("AABB" * size)
    text = f"RETURN COUNT(*) PATTERN {pattern} WITHIN {4 * size} s"
    exact = int(only(text, table, "exact")["exact"])
    assert only(text, table, "modular")["fingerprint"] == exact % PRIME
    assert only(text, table, "scaled")["log2"] == pytest.approx(only(text, table, "exact")["log2"], abs=1e-9)


@pytest.mark.parametrize("engine", ["greta", "two_step"])
def test_one_trend_matched_by_both_sides_is_no_pair(engine):
    text = "RETURN COUNT(*) PATTERN (A a AND A b) WITHIN 10 s"
    assert run(text, events("A"), engine=engine).num_rows == 0
    # Two events, two trends, one pair of different ones.
    assert only(text, events("AA"), "exact", engine)["exact"] == "1"


@pytest.mark.parametrize("engine", ["greta", "two_step"])
def test_equal_times_never_follow_one_another(engine):
    table = pa.table({"time": [1, 1, 2, 2], "type": list("ABAB")})
    assert only("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 s", table, "exact", engine)["exact"] == "1"
    table = pa.table({"time": [1] * 5, "type": list("BBBBB")})
    assert only("RETURN COUNT(*) PATTERN B+ WITHIN 10 s", table, "exact", engine)["exact"] == "5"
