"""A decision log as text: predicted costs, who shares, and the most frequent decisions first."""

import pyarrow as pa
import pytest

from hamlet_core.describe.sharing import MOST_ROWS, decision_lines, predicted_costs
from hamlet_core.results.rows import DECISION_SCHEMA

ROW = {
    "pane": 0,
    "partition": "{}",
    "kleene": "B+",
    "burst": 0,
    "bursts": 1,
    "events": 5,
    "candidates": "p, q, r",
    "queries": "p, q, r",
    "outcome": "open",
    "reason": "everybody is cheapest",
    "snapshots_created": 1,
    "snapshots_carried": 1,
    "cost_shared": 40.0,
    "cost_alone": 100.0,
}
NOBODY = ROW | {"queries": "", "outcome": "apart", "reason": "sharing gains nothing", "cost_alone": 30.0}


def log(*rows):
    return pa.Table.from_pylist(list(rows), DECISION_SCHEMA)


@pytest.mark.parametrize(
    ("row", "decided"),
    [
        (ROW, 40.0),
        (NOBODY, 30.0),
        (NOBODY | {"cost_shared": float("inf")}, 30.0),
        (ROW | {"cost_alone": 10.0, "reason": "policy always"}, 40.0),
        (ROW | {"queries": None, "outcome": "merge"}, 40.0),
        (ROW | {"queries": None, "outcome": "apart"}, 100.0),
        (ROW | {"queries": None, "outcome": "split"}, 40.0),
        (ROW | {"queries": "", "outcome": "split"}, 100.0),
    ],
)
def test_the_cost_of_what_was_decided(row, decided):
    assert predicted_costs(log(row, NOBODY)) == (row["cost_alone"] + 30.0, decided + 30.0)


def test_decisions_that_say_the_same_are_one_row_wherever_they_were_taken():
    elsewhere = ROW | {"pane": 60, "partition": '{"g":1}', "burst": 4, "bursts": 7}
    lines = list(decision_lines(log(NOBODY, ROW, elsewhere)))
    assert [" ".join(line.split()) for line in lines] == [
        "bursts events snapshots shared alone Kleene outcome who shares why",
        "8 10 2 80 200 B+ open all everybody is cheapest",
        "1 5 1 40 30 B+ apart nobody sharing gains nothing",
    ]


@pytest.mark.parametrize(
    ("queries", "candidates", "shown"),
    [
        ("p, q", "p, q, r", "p, q "),
        ("p, q; r, s", "p, q, r, s", "p, q; r, s "),
        (", ".join("abcdefgh"), ", ".join("abcdefghi"), "all but i "),
        (", ".join(f"name{one}" for one in range(9)), ", ".join(f"name{one}" for one in range(30)), "..."),
        (None, "p, q, r", "some "),
    ],
)
def test_who_shares_in_few_words(queries, candidates, shown):
    lines = list(decision_lines(log(ROW | {"queries": queries, "candidates": candidates})))
    assert shown in lines[1]
    assert len(lines[1]) < 140


def test_rare_decisions_are_counted_and_left_out():
    rows = [ROW | {"kleene": f"B{number}+", "bursts": number + 1} for number in range(MOST_ROWS + 3)]
    lines = list(decision_lines(log(*rows)))
    assert len(lines) == 1 + MOST_ROWS + 1
    assert lines[1].split()[0] == str(MOST_ROWS + 3)
    assert lines[-1] == "and 3 more kinds of decisions"
