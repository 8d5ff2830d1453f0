"""The words of a check: what to do about a broken expectation of one's own comes first, and rows a line each."""

from __future__ import annotations

import pyarrow as pa

from pipelines.assets.checks import in_words
from pipelines.checks.event_rules import event_rules
from pipelines.checks.rules import Outcome, markdown
from pipelines.expectations import ColumnExpectation, ColumnType, Expectations
from resources import tables

SOUND = Outcome("day fits time", "the day of a row is the UTC day of its time", passed=True)
OURS = Outcome("rows add up", "of each file and day as many rows", False, 1, ("source_file=a.csv",))
ROWS = tuple(f"speed={900 + row}, driver=`{row}` {'|' * 300}" for row in range(5))
OWN = Outcome("range of speed", "speed lies in 0 to 90", False, 1_234, ROWS, declared=True)
COLUMNS = {"event_time": pa.timestamp("us", "UTC"), "time": pa.int64(), "speed": pa.float64()}
PROPERTIES = {
    tables.SOURCE_OPTIONS: '{"time": "time", "type": null, "type_value": "T", "time_unit": "s"}',
    tables.BUCKET_KEY: "[]",
    tables.BUCKETS: "1",
}


def test_a_broken_expectation_of_ones_own_says_what_to_do_and_shows_five_rows() -> None:
    advice, nothing, head, gap, *rows = in_words((SOUND, OWN), "restore the table").split("\n")
    assert advice.startswith("broken: range of speed; your own expectation: ")
    assert "restore" not in advice
    assert (nothing, gap) == ("", "")
    assert head == "range of speed: speed lies in 0 to 90; 1,234 rows are against it, such as"
    assert [row.split()[1:3] for row in rows] == [
        [f"`speed={900 + row},", f"driver='{row}'"] for row in range(5)
    ]
    assert all(row.endswith("…`") and len(row) < 110 for row in rows)


def test_it_comes_before_what_is_wrong_with_the_tables() -> None:
    said = in_words((OURS, SOUND, OWN), "restore the table")
    assert said.index("your own expectation") < said.index("broken: rows add up; restore the table")
    assert "source_file" not in said
    alone = in_words((OURS, SOUND), "restore the table")
    assert alone.startswith("broken: rows add up; restore the table\n")
    assert alone.endswith("\n- `source_file=a.csv`")
    assert "your own" not in alone
    assert in_words((SOUND,), "") == "all 1 rules hold"


def test_rows_stay_in_their_cell() -> None:
    assert "| 1 | source_file=a.csv |" in markdown((OURS, SOUND))


def test_what_a_user_expects_is_known_as_such() -> None:
    expected = Expectations(
        (ColumnExpectation("speed", ColumnType.NUMBER, 0, 90, 0.1),), unique=(("time",),), most_duplicates=0.5
    )
    rules = event_rules(pa.schema(COLUMNS), PROPERTIES, expected)
    assert {rule.name for rule in rules if rule.declared} == {
        "type of speed", "range of speed", "values in speed", "time unique", "few copies",
    }  # fmt: skip
    assert not any(rule.declared for rule in event_rules(pa.schema(COLUMNS), PROPERTIES))
