"""Which totals one lane can serve."""

import pyarrow as pa
import pytest

from hamlet_core import run
from hamlet_core.engines.hamlet.equal_states import equal_totals


def test_places_are_equal_if_all_ways_into_them_are():
    labels = {(0, 0): "P", (0, 1): "B", (1, 0): "P", (1, 1): "B", (2, 0): "Q", (2, 1): "B"}
    ways = {place: [] for place in labels} | {
        (query, 1): [((query, 0), 0), ((query, 1), 0)] for query in range(3)
    }
    same = equal_totals(labels, ways)
    assert same == {
        (0, 0): (0, 0),
        (0, 1): (0, 1),
        (1, 0): (0, 0),
        (1, 1): (0, 1),
        (2, 0): (2, 0),
        (2, 1): (2, 1),
    }


def test_conditions_and_the_number_of_ways_count():
    labels = {(0, 0): "A", (0, 1): "B", (1, 0): "A", (1, 1): "B", (2, 0): "A", (2, 1): "B"}
    ways = {place: [] for place in labels} | {
        (0, 1): [((0, 0), 7)],
        (1, 1): [((1, 0), 8)],
        (2, 1): [((2, 0), 7), ((2, 0), 7)],
    }
    same = equal_totals(labels, ways)
    assert [same[query, 1] for query in range(3)] == [(0, 1), (1, 1), (2, 1)]
    assert [same[query, 0] for query in range(3)] == [(0, 0)] * 3


def test_a_difference_far_up_the_way_is_seen():
    chain = [(query, place) for query in range(2) for place in range(6)]
    labels = {place: place[1] for place in chain} | {(0, 0): "other"}
    ways = {(query, place): [((query, place - 1), 0)] if place else [] for query, place in chain}
    assert all(place == same for place, same in equal_totals(labels, ways).items())


EVENTS = pa.table(
    {
        "time": [1, 2, 3, 4, 5, 6, 7],
        "type": list("ABBCBAB"),
        "v": [1, 2, 3, 4, 5, 6, 7],
        "w": [7, 6, 5, 4, 3, 2, 1],
    }
)
DIFFERENT = {
    "sum": "RETURN COUNT(*), SUM(b.w) PATTERN SEQ(A a, B b+) WITHIN 10 s",
    "extreme": "RETURN COUNT(*), MAX(b.w) PATTERN SEQ(A a, B b+) WITHIN 10 s",
    "predicate": "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b.v > 2 WITHIN 10 s",
    "neighbours": "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b.v < NEXT(b).v WITHIN 10 s",
    "other neighbours": "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b.v > NEXT(b).v WITHIN 10 s",
    "window": "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 5 s",
    "slide": "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s SLIDE 2 s",
    "not": "RETURN COUNT(*) PATTERN SEQ(A a, NOT C, B b+) WITHIN 10 s",
    "not at the end": "RETURN COUNT(*) PATTERN SEQ(A a, B b+, NOT C) WITHIN 10 s",
    "not at the start": "RETURN COUNT(*) PATTERN SEQ(NOT C, A a, B b+) WITHIN 10 s",
    "prefix": "RETURN COUNT(*) PATTERN SEQ(C c, B b+) WITHIN 10 s",
    "optional": "RETURN COUNT(*) PATTERN SEQ(A a?, B b+) WITHIN 10 s",
    "no Kleene": "RETURN COUNT(*) PATTERN SEQ(A a, B b) WITHIN 10 s",
    "suffix": "RETURN COUNT(*) PATTERN SEQ(A a, B b+, C c) WITHIN 10 s",
    "both": "RETURN COUNT(*) PATTERN (SEQ(A a, B b+) AND SEQ(A x, C y)) WITHIN 10 s",
    "ambiguous": "RETURN COUNT(*) PATTERN SEQ(A a, B x+, B b+) WITHIN 10 s",
    "aliases": "RETURN COUNT(*), SUM(z.w) PATTERN SEQ(A y, B z+) WITHIN 10 s",
}


@pytest.mark.parametrize("arithmetic", ["exact", "scaled", "modular"])
@pytest.mark.parametrize("one", DIFFERENT)
@pytest.mark.parametrize("two", DIFFERENT)
def test_queries_that_differ_in_one_thing_share_no_more_than_is_equal(one, two, arithmetic):
    plain = "RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+) WITHIN 10 s"
    text = f"q0: {plain}\nq1: {DIFFERENT[one]}\nq2: {DIFFERENT[two]}"
    together = run(text, EVENTS, policy="always", arithmetic=arithmetic)
    assert together.equals(run(text, EVENTS, policy="never", arithmetic=arithmetic))
    alone = [run(line, EVENTS, policy="never", arithmetic=arithmetic) for line in text.splitlines()]
    assert together.equals(pa.concat_tables(alone))
