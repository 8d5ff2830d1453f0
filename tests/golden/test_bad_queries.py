"""Every bad query says exactly what is recorded: class, code, place, message, hint."""

import pytest

from hamlet_core import HamletError
from tests.golden import refusals

QUERIES = refusals.queries()
PARTS = ("class", "code", "line", "column", "message", "hint")


def test_the_table_is_as_long_as_it_should_be_and_names_each_query_once():
    assert len(QUERIES) >= 60
    assert (
        len({entry["name"] for entry in QUERIES}) == len({entry["text"] for entry in QUERIES}) == len(QUERIES)
    )


@pytest.mark.parametrize("entry", QUERIES, ids=lambda entry: entry["name"])
def test_bad_query(entry):
    found = refusals.error_of(lambda: refusals.ask(entry))
    assert found == {part: entry[part] for part in PARTS if part in entry}
    assert found, "the query is accepted"


@pytest.mark.parametrize("entry", QUERIES, ids=lambda entry: entry["name"])
def test_the_place_is_in_the_text(entry):
    if "line" not in entry:
        return
    lines = entry["text"].split("\n")
    assert 1 <= entry["line"] <= len(lines)
    assert 1 <= entry["column"] <= len(lines[entry["line"] - 1]) + 1


@pytest.mark.parametrize(
    "entry", [entry for entry in QUERIES if "line" in entry], ids=lambda entry: entry["name"]
)
def test_the_text_of_the_error_points_at_the_place(entry):
    with pytest.raises(HamletError) as caught:
        refusals.ask(entry)
    text = str(caught.value)
    assert text.startswith(
        f"[{entry['code']}] line {entry['line']}, column {entry['column']}: {entry['message']}"
    )
    source = entry["text"].split("\n")[entry["line"] - 1]
    if source.strip():
        assert f"\n  {source}\n  {' ' * (entry['column'] - 1)}^" in text
    assert text.endswith(f"hint: {entry['hint']}") or not entry["hint"]
