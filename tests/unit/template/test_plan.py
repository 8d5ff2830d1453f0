"""What a query reads, found without a table; and advice on what it will hardly mean."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hamlet_core import EventSchema, explain, plan
from hamlet_core.describe.warnings import advice
from hamlet_core.template.plan import types_read


def one(text: str):
    return plan(f"RETURN COUNT(*) {text} WITHIN 10 min SLIDE 1 min")[0]


def test_types_are_those_of_positive_and_negated_events():
    assert one("PATTERN SEQ(A a, NOT SEQ(C c, D d), B b+)").types == {"A", "B", "C", "D"}


def test_window_is_in_microseconds():
    assert (one("PATTERN A a").within, one("PATTERN A a").slide) == (600_000_000, 60_000_000)


def test_columns_are_every_attribute_that_is_read_anywhere():
    query = "RETURN g, SUM(a.s) PATTERN SEQ(A a, B b) WHERE [e] AND a.x < NEXT(b).y AND b.t LIKE 'z%' GROUP-BY g WITHIN 1 s"
    found = plan(query)[0]
    assert found.columns == ("e", "g", "s", "t", "x", "y")
    assert (found.equivalence, found.group_by) == (("e",), ("g",))


@pytest.mark.parametrize(
    ("condition", "numeric"),
    [
        ("a.v > 3", ("v",)),
        ("3 < -a.v", ("v",)),
        ("a.v IN (1, 2)", ("v",)),
        ("a.v BETWEEN 1 AND a.w", ("v", "w")),
        ("NOT (a.v = 2.5 OR a.w = 'x')", ("v",)),
        ("a.v * a.w > a.x", ("v", "w")),
        ("a.v + a.w > 3", ("v", "w")),
        ("a.v > a.w", ()),
        ("a.kind = 'Pool'", ()),
        ("a.flag = TRUE", ()),
        ("a.v IS NULL", ()),
        ("a.end - a.time < 5 min", ()),
        ("a.day < TIMESTAMP '2015-01-01'", ()),
    ],
)
def test_numeric_columns_are_those_that_can_only_be_numbers(condition, numeric):
    assert one(f"PATTERN A a WHERE {condition}").numeric_columns == numeric


def table(**columns):
    return pa.table({"time": [1, 2, 3], "type": ["A", "A", "B"], **columns})


def lines(text, events, schema=None):
    return advice(plan(text), events, schema or EventSchema())


def test_advice_names_types_without_partition_values():
    text = "q: RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE [u] GROUP-BY g WITHIN 9 s"
    assert lines(text, table(u=[1, None, None], g=[None, None, "x"])) == (
        "query q: type A never has g, so it meets only the group NULL",
        "query q: type B never has u, so its events belong to no partition",
    )
    assert lines(text, table(u=[1, None, 1], g=["x", None, "x"])) == ()


def test_advice_names_types_without_events():
    assert lines("q: RETURN COUNT(*) PATTERN SEQ(A a, NOT Z z, B b) WITHIN 9 s", table()) == (
        "query q: no event is of type Z",
    )
    only = EventSchema(type=None, type_value="Day")
    assert lines("q: RETURN COUNT(*) PATTERN Day d WITHIN 9 s", table(), only) == ()
    assert lines("q: RETURN COUNT(*) PATTERN Dya d WITHIN 9 s", table(), only) == (
        "query q: no event is of type Dya; did you mean Day?",
    )


def test_explain_shows_advice_for_a_table_and_not_for_a_schema():
    text = "q: RETURN COUNT(*) PATTERN SEQ(A a, Z z) WITHIN 9 s"
    warning = "warning: query q: no event is of type Z"
    assert warning in explain(text, table=table())
    assert "warning" not in explain(text, table=table().schema)


def test_a_contiguous_query_reads_every_type_and_names_those_of_its_pattern():
    modes = {name: one(f"PATTERN SEQ(A a, NOT N n, B b) SEMANTICS {name}") for name in ("next", "contiguous")}
    plain = one("PATTERN SEQ(A a, C c)")
    assert (plain.every_type, modes["next"].every_type, modes["contiguous"].every_type) == (
        False,
        False,
        True,
    )
    assert modes["contiguous"].types == {"A", "N", "B"}
    assert types_read([plain, modes["next"]]) == {"A", "B", "C", "N"}
    assert types_read([plain, modes["contiguous"]]) is None
    assert types_read([]) == frozenset()
