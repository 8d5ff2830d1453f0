"""Warnings about types without events or without partition values, in every encoding of a column."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hamlet_core import EventSchema, plan
from hamlet_core.describe.warnings import advice, window_advice

PLANS = plan("q: RETURN COUNT(*) PATTERN SEQ(A a, NOT N n, Z) WHERE [u] GROUP-BY g WITHIN 9 s")
WARNINGS = (
    "query q: type A never has g, so it meets only the group NULL",
    "query q: type N never has u, so its events belong to no partition",
    "query q: no event is of type Z",
)
ENCODINGS = {
    "plain": lambda array: array,
    "large": lambda array: array.cast(pa.large_string()),
    "view": lambda array: array.cast(pa.string_view()),
    "dictionary": lambda array: array.dictionary_encode(),
    "dictionary with NULL": lambda array: array.dictionary_encode("encode"),
    "run ends": pc.run_end_encode,
}


@pytest.fixture(params=ENCODINGS)
def table(request):
    texts = {"type": ["A", "A", "N"], "u": [None, "x", None], "g": [None, None, "y"]}
    columns = {name: ENCODINGS[request.param](pa.array(values)) for name, values in texts.items()}
    return pa.table({"time": [1, 2, 3], **columns})


def test_warnings_are_the_same_in_every_encoding(table):
    assert advice(PLANS, table, EventSchema()) == WARNINGS


def test_warnings_are_of_the_whole_table(table):
    parts = pa.concat_tables([table.slice(2), table.slice(0, 1), table.slice(1, 1)])
    assert advice(PLANS, parts, EventSchema()) == WARNINGS


def test_an_empty_table_has_no_event_of_any_type(table):
    none = tuple(f"query q: no event is of type {name}" for name in "ANZ")
    assert advice(PLANS, table.slice(0, 0), EventSchema()) == none
    assert advice(PLANS, pa.Table.from_batches([], table.schema), EventSchema()) == none


@pytest.mark.parametrize(
    ("asked", "near"),
    [("Travle", "Travel"), ("PICKUP", "Pickup"), ("page-view", "page view"), ("Dropoff", None)],
)
def test_a_type_that_is_mistyped_is_told_with_the_nearest(asked, near):
    events = pa.table({"time": [1, 2, 3, 4], "type": ["Travel", "Pickup", "page view", None]})
    said = f"query q1: no event is of type {asked}" + (f"; did you mean {near}?" if near else "")
    plans = plan(f'RETURN COUNT(*) PATTERN "{asked}" a WITHIN 9 s')
    assert advice(plans, events, EventSchema()) == (said,)
    coded = events.set_column(1, "type", events["type"].dictionary_encode())
    assert advice(plans, coded, EventSchema()) == (said,)


def test_windows_with_gaps_between_them_are_told():
    plans = plan(
        "a: RETURN COUNT(*) PATTERN A WITHIN 1 s SLIDE 2 s\nb: RETURN COUNT(*) PATTERN A WITHIN 2 s SLIDE 2 s"
    )
    said = ("query a: SLIDE is longer than WITHIN, so events between two windows are in none",)
    assert window_advice(plans) == said
    assert advice(plans, pa.table({"time": [1], "type": ["A"]}), EventSchema()) == said


def test_a_table_of_one_type(table):
    schema = EventSchema(type=None, type_value="A")
    assert advice(PLANS, table, schema) == (
        "query q: no event is of type N",
        "query q: no event is of type Z",
    )
    assert WARNINGS[0] in advice(PLANS, table.slice(0, 2), schema)


def test_a_contiguous_query_is_told_of_the_types_that_it_names_alone(table):
    """What other events lack is no slip: they only break what they are in the partition of."""
    text = (
        "q: RETURN COUNT(*) PATTERN SEQ(A a, NOT N n, Z) SEMANTICS contiguous WHERE [u] GROUP-BY g WITHIN 9 s"
    )
    more = pa.table({"time": [4], "type": ["Other"], "u": pa.nulls(1, pa.string()), "g": ["y"]})
    plain = pa.table(
        {"time": [1, 2, 3], "type": ["A", "A", "N"], "u": [None, "x", None], "g": [None, None, "y"]}
    )
    assert advice(plan(text), pa.concat_tables([plain, more]), EventSchema()) == WARNINGS
    assert advice(plan(text), table, EventSchema()) == WARNINGS
