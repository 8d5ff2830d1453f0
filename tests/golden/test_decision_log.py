"""The snapshot tables and the decisions of ALGORITHMS 1.5, through the engine: counts event by event, and the log as text.

`--complete` records the texts anew; read the difference before it is committed. Values of snapshots are not part of the
log: an event's own trends (what a result grows by when the event comes) show them.
"""

from pathlib import Path

import pyarrow as pa
import pytest

import hamlet_core

GOLDEN = Path(__file__).parent / "decisions"
POLICIES = {
    "always": {"policy": "always", "cost_model": "paper"},
    "dynamic": {"policy": "dynamic", "cost_model": "paper"},
}
COLUMNS = {
    "pane": "pane", "burst": "burst", "bursts": "bursts", "events": "events", "queries": "queries",
    "outcome": "outcome", "snapshots_created": "created", "snapshots_carried": "carried", "cost_shared": "shared",
    "cost_alone": "alone", "reason": "reason",
}  # fmt: skip


def stream(*rows):
    """A table of (time, type, v)."""
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(("time", "type", "v"))})


def in_order(types, **values):
    """Events of one type each, at times 0, 1, ...; `values` by the event's name: its type and number, as in b2."""
    seen: dict[str, int] = {}
    rows = []
    for time, kind in enumerate(types):
        seen[kind] = seen.get(kind, 0) + 1
        rows.append((time, kind, values.get(f"{kind.lower()}{seen[kind]}", 0)))
    return stream(*rows)


def queries(first, second, window="WITHIN 100 s"):
    return f"q1: RETURN COUNT(*) PATTERN {first} {window}\nq2: RETURN COUNT(*) PATTERN {second} {window}"


PAPER = "AACBBBBAACCCBB"
DIFFERENT = {"b1": 1, "b2": 2, "b3": 2, "b4": 3, "b5": 4, "b6": 5}
"""Only b2 and b3 are equal."""
CASES = {
    "two_snapshots": (queries("SEQ(A a, B b+)", "SEQ(C c, B b+)"), in_order(PAPER)),
    "edge_cut_for_one": (
        queries("SEQ(A a, B b+)", "SEQ(C c, B b+) WHERE b.v != NEXT(b).v"),
        in_order(PAPER, **DIFFERENT),
    ),
    "edge_cut_for_both": (
        queries("SEQ(A a, B b+) WHERE b.v != NEXT(b).v", "SEQ(C c, B b+) WHERE b.v != NEXT(b).v"),
        in_order(PAPER, **DIFFERENT),
    ),
    "event_of_one": (
        queries("SEQ(A a, B b+)", "SEQ(C c, B b+) WHERE b.v < 5"),
        in_order(PAPER, b3=9),
    ),
    "start_type": (queries("B b+", "SEQ(C c, B b+)"), in_order("BBCBB")),
    "ties": (
        queries("SEQ(A a, B b+)", "SEQ(A a, B b+) WHERE b.v < 5"),
        stream((1, "A", 0), (5, "B", 0), (5, "A", 0), (6, "B", 0), (6, "B", 0), (7, "B", 0)),
    ),
    "merge_split_merge": (
        queries("SEQ(A a, B b+)", "SEQ(C c, B b+) WHERE b.v < 5", "WITHIN 40 s SLIDE 30 s"),
        stream(
            *((0, "A", 0), (1, "C", 0), (2, "B", 0)),
            *((time, "B", 0) for time in (10, 11, 12, 13)),
            *((20, "B", 0), (21, "B", 9), (22, "B", 0), (23, "B", 0)),
            *((time, "B", 0) for time in (30, 31, 32, 33)),
        ),
    ),
}

COUNTS = {
    "two_snapshots": ([2, 4, 8, 16, 34, 68], [1, 2, 4, 8, 19, 38]),
    "edge_cut_for_one": ([2, 4, 8, 16, 34, 68], [1, 2, 2, 6, 15, 30]),
    "edge_cut_for_both": ([2, 4, 4, 12, 26, 52], [1, 2, 2, 6, 15, 30]),
    "event_of_one": ([2, 4, 8, 16, 34, 68], [1, 2, 0, 4, 11, 22]),
    "start_type": ([1, 2, 4, 8], [0, 0, 1, 2]),
    "ties": ([1, 3, 3, 9], [1, 3, 3, 9]),
}
"""Trends that end with each B. In a graphlet they are its snapshot times 1 2 4 8, up to where an edge is cut."""

TOTALS = {
    "two_snapshots": (132, 72),
    "edge_cut_for_one": (132, 56),
    "edge_cut_for_both": (100, 56),
    "event_of_one": (132, 40),
    "start_type": (15, 3),
    "ties": (16, 16),
}


def totals(text, events, how):
    """Trends of q1 and q2; 0 where there is no row."""
    rows = hamlet_core.run(text, events, arithmetic="exact", **how).to_pylist()
    found = {row["query"]: int(row["exact"]) for row in rows}
    assert len(found) == len(rows)
    return found.get("q1", 0), found.get("q2", 0)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_the_snapshot_tables(name, policy):
    text, events = CASES[name]
    assert totals(text, events, POLICIES[policy]) == TOTALS[name]
    sums = [totals(text, events.slice(0, length), POLICIES[policy]) for length in range(len(events) + 1)]
    at = [place for place, kind in enumerate(events["type"].to_pylist()) if kind == "B"]
    grown = [tuple(new - old for new, old in zip(sums[one + 1], sums[one], strict=True)) for one in at]
    assert tuple(map(list, zip(*grown, strict=True))) == COUNTS[name]


def told(name):
    """The decision logs of a case as text."""
    text, events = CASES[name]
    parts = [text, " ".join(f"{kind}{time}" for time, kind in zip(*map(events.column, (0, 1)), strict=True))]
    for policy, how in POLICIES.items():
        log = hamlet_core.execute(text, events, **how).decisions.to_pylist()
        parts.append(f"policy {policy}\n{formatted(log)}")
    return "\n\n".join(parts) + "\n"


def formatted(log):
    """Rows of a decision log in columns."""
    cells = [list(COLUMNS.values())]
    cells += [[_cell(row[name]) for name in COLUMNS] for row in log]
    widths = [max(len(row[place]) for row in cells) for place in range(len(COLUMNS))]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
    return "\n".join(lines) if log else "nothing to decide"


def _cell(value):
    return f"{value:g}" if isinstance(value, float) else str(value) or "-"


def test_a_tied_event_that_is_for_others_adds_nothing():
    text = queries("SEQ(A a, B b+) WHERE b.v < 8", "SEQ(C c, B b+) WHERE b.v < 5")
    text += "\nq3: RETURN COUNT(*) PATTERN SEQ(D d, C c2, B b+) WHERE b.v < NEXT(b).v WITHIN 100 s"
    events = stream((1, "A", 0), (2, "B", 9), (2, "B", 3))
    assert totals(text, events, POLICIES["dynamic"]) == (1, 0)


@pytest.mark.parametrize("name", CASES)
def test_decisions(name, pytestconfig):
    file = GOLDEN / f"{name}.txt"
    if pytestconfig.getoption("complete"):
        file.write_text(told(name), encoding="utf-8")
    assert told(name) == file.read_text(encoding="utf-8")


def test_every_text_has_a_case():
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(CASES)


def test_the_decisions_that_the_paper_works_out():
    log = hamlet_core.execute(*CASES["merge_split_merge"], **POLICIES["dynamic"]).decisions.to_pylist()
    taken = [
        (row["outcome"], row["cost_shared"], row["cost_alone"]) for row in log if row["outcome"] != "apart"
    ]
    assert taken == [("merge", 44, 56), ("split", 120, 88), ("merge", 76, 120)]
