"""Summaries of a decision log: bounded, and what they add up to stays."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from hamlet_core import DECISION_SCHEMA, parse, run_part
from hamlet_core.sharing.burst import Outcome
from hamlet_core.sharing.log import SUMMED, summarised


def row(**values: object) -> dict[str, object]:
    """A decision; what is not said is that of one quiet burst."""
    quiet = {
        "pane": 0, "partition": '{"k":"x"}', "kleene": "B+", "burst": 0, "bursts": 1, "events": 3,
        "candidates": "p, q", "queries": "p, q", "outcome": "open", "reason": "everybody is cheapest",
        "snapshots_created": 1, "snapshots_carried": 1, "cost_shared": 2.0, "cost_alone": 4.0,
    }  # fmt: skip
    return quiet | values


def log(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), DECISION_SCHEMA)


def drawn(rows: int, seed: int, panes: int = 50) -> pa.Table:
    """A log in order of time."""
    draw = random.Random(seed)
    sets = ["", "p, q", "p, q; r, s", "p, r"]
    return log(
        *(
            row(
                pane=60 * (number * panes // rows),
                partition=draw.choice(['{"k":"x"}', '{"k":null}']),
                burst=draw.randrange(5),
                bursts=draw.randrange(1, 4),
                events=draw.randrange(3, 9),
                queries=draw.choice(sets),
                outcome=draw.choice([one.value for one in Outcome]),
                reason=draw.choice(["this", "that"]),
                snapshots_created=draw.randrange(3),
                cost_shared=float(draw.randrange(99)),
            )
            for number in range(rows)
        )
    )


def sums(table: pa.Table) -> dict[str, object]:
    return {name: table[name].to_pylist() and sum(table[name].to_pylist()) for name in SUMMED}


def test_a_log_that_is_short_enough_is_left_alone() -> None:
    found = drawn(20, 1)
    assert summarised(found, 20) is found
    assert summarised(log(), 0).schema == DECISION_SCHEMA


def test_partitions_are_given_up_first_and_then_panes() -> None:
    rows = [row(pane=pane, partition=f'{{"k":{key}}}', burst=key) for pane in (0, 60) for key in range(3)]
    by_pane = summarised(log(*rows), 3).to_pylist()
    assert [(one["pane"], one["partition"], one["burst"], one["bursts"]) for one in by_pane] == [
        (0, '{"k":0}', 0, 1), (0, None, None, 2), (60, None, None, 3),
    ]  # fmt: skip
    (whole,) = summarised(log(*rows), 1).to_pylist()
    assert whole == row(
        pane=None, partition=None, burst=None, bursts=6, events=18, snapshots_created=6, snapshots_carried=6,
        cost_shared=12.0, cost_alone=24.0,
    )  # fmt: skip


def test_a_column_that_agrees_keeps_its_value_and_one_that_is_unknown_does_not_agree() -> None:
    (same,) = summarised(log(row(burst=2), row(burst=2, events=7)), 1).to_pylist()
    assert same == row(burst=2, bursts=2, events=10, snapshots_created=2, snapshots_carried=2,
                       cost_shared=4.0, cost_alone=8.0)  # fmt: skip
    (other,) = summarised(log(row(), row(partition=None, burst=None)), 1).to_pylist()
    assert (other["partition"], other["burst"], other["bursts"]) == (None, None, 2)


def test_as_a_last_resort_only_outcomes_and_whether_anybody_shares_are_kept_apart() -> None:
    rows = [
        row(queries="", outcome="split"),
        row(queries="p, q", outcome="split"),
        row(queries="", outcome="apart", kleene="C+"),
        row(queries="", outcome="apart", kleene="D+", reason="no two queries"),
        row(queries="r, s", outcome="split", candidates="r, s", reason="other"),
    ]
    found = summarised(log(*rows), 3).to_pylist()
    assert [(one["outcome"], one["queries"], one["kleene"], one["candidates"], one["bursts"]) for one in found] == [
        ("split", "", "B+", "p, q", 1), ("split", None, "B+", None, 2), ("apart", "", None, "p, q", 2),
    ]  # fmt: skip
    assert len(summarised(log(*rows), 1)) == 3


def test_columns_of_others_are_never_mixed() -> None:
    days = log(row(), row(pane=60), row(pane=120)).append_column("day", pa.array([1, 1, 2]))
    found = summarised(days, 2).to_pylist()
    assert [(one["day"], one["pane"], one["bursts"]) for one in found] == [(1, None, 2), (2, 120, 1)]


@pytest.mark.parametrize("most", [10, 40, 120, 300])
def test_no_more_rows_than_asked_and_the_same_sums_also_in_steps(most: int) -> None:
    found = drawn(400, most)
    whole = summarised(found, most)
    assert most // 2 < whole.num_rows <= most
    assert sums(whole) == sums(found)
    assert whole.schema == DECISION_SCHEMA
    first, rest = summarised(found.slice(0, 250), most), summarised(found.slice(250), most)
    again = summarised(pa.concat_tables([first, rest]), most)
    assert again.num_rows <= most
    assert sums(again) == sums(found)
    shared = [
        sum(one["bursts"] for one in table.to_pylist() if one["queries"] != "") for table in (found, again)
    ]
    assert shared[0] == shared[1]


def test_the_first_rows_keep_their_detail() -> None:
    found = drawn(400, 3)
    shown = summarised(found, 300)
    detailed = next(place for place, one in enumerate(shown.to_pylist()) if one["burst"] is None)
    assert detailed > 30
    assert shown.slice(0, 30).equals(found.slice(0, 30))


def test_a_part_carries_its_log() -> None:
    events = pa.table({"time": [1, 2], "type": ["A", "B"]})
    part = run_part(parse("q: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s"), events, ["q"])
    assert part.decisions.schema == DECISION_SCHEMA
    assert part.decisions.num_rows == 0
