"""The engine A-Seq: counts of the paper, and what it refuses, by name and place."""

import pickle

import pyarrow as pa
import pytest

from hamlet_core import QueryMeaningError, execute, explain, run
from hamlet_core.engines.registry import CHECKS, ENGINES, GENERAL


def events(types):
    return pa.table({"time": range(len(types)), "type": list(types), "v": range(len(types))})


def exact(text, types):
    return run(text, events(types), engine="aseq", arithmetic="exact").column("exact").to_pylist()


def counted(pattern, types, within=100):
    return exact(f"RETURN COUNT(*) PATTERN {pattern} WITHIN {within} s", types)


@pytest.mark.parametrize(
    ("pattern", "types", "count"),
    [
        ("SEQ(A, B)", "ABAB", ["3"]),
        ("SEQ(A, B, C, D)", "ABCABDBCD", ["7"]),
        ("A", "ABAB", ["2"]),
        ("SEQ(A x, A y)", "AAAA", ["6"]),
        ("SEQ(A x, B, A y)", "ABABA", ["4"]),
        ("SEQ(A, SEQ(B, C))", "ABBC", ["2"]),
        ("SEQ(A, B)", "BA", []),
    ],
)
def test_sequences_are_counted(pattern, types, count):
    assert counted(pattern, types) == count


def test_a_start_event_leaves_with_its_window():
    rows = run(
        "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 4 s SLIDE 1 s",
        pa.table({"time": [1, 2, 5], "type": ["A", "B", "B"]}),
        engine="aseq",
        arithmetic="exact",
    ).to_pylist()
    # The A at 1 is in the windows from -2 to 1, the B at 5 in those from 2 to 5.
    assert [(row["window_start"], row["exact"]) for row in rows] == [(-1, "1"), (0, "1"), (1, "1")]


@pytest.mark.parametrize(
    ("pattern", "types", "count"),
    [
        ("SEQ(A, NOT N, B)", "ANABB", ["2"]),
        ("SEQ(A, B, NOT N, C)", "ABNABC", ["2"]),
        ("SEQ(A, B, NOT N, NOT M, C)", "ABNBMBC", ["1"]),
        ("SEQ(A, NOT B b0, B)", "ABB", ["1"]),
        ("SEQ(NOT N, A, B)", "AANAB", ["2"]),
        ("SEQ(A, B, NOT N)", "ABNB", ["1"]),
    ],
)
def test_a_negated_event_resets_what_is_before_it(pattern, types, count):
    assert counted(pattern, types) == count


def test_events_of_one_time_see_older_ones_only():
    table = pa.table({"time": [1, 1, 2, 2], "type": ["A", "B", "N", "B"]})
    for pattern, found in {"SEQ(A, B)": ["1"], "SEQ(A, NOT N, B)": ["1"], "SEQ(A, B, NOT N)": ["1"]}.items():
        text = f"RETURN COUNT(*) PATTERN {pattern} WITHIN 9 s"
        rows = run(text, table, engine="aseq", arithmetic="exact")
        assert rows.column("exact").to_pylist() == found, pattern


def test_what_follows_from_counts():
    text = (
        "RETURN SUM(b.v), AVG(b.v), MIN(b.v), MAX(a.v), COUNT(a), REACH(b), COUNT(PARTITIONS), SUM(DURATION) "
    )
    assert exact(text + "PATTERN SEQ(A a, B b, C) WITHIN 100 s", "AABBC") == [
        "10",
        "5/2",
        "2",
        "1",
        "4",
        "1",
        "1",
        "14",
    ]


REFUSED = {
    "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 9 s": ("Kleene plus", "B+"),
    "RETURN COUNT(*) PATTERN SEQ(A, (B, C)+) WITHIN 9 s": ("Kleene plus", "(B, C)+"),
    "RETURN COUNT(*) PATTERN SEQ(A, B*) WITHIN 9 s": ("Kleene star", "B*"),
    "RETURN COUNT(*) PATTERN SEQ(A, B?) WITHIN 9 s": ("an optional part", "B?"),
    "RETURN COUNT(*) PATTERN SEQ(A, (B OR C)) WITHIN 9 s": ("OR of patterns", "(B OR C)"),
    "RETURN COUNT(*) PATTERN (A AND B) WITHIN 9 s": ("AND of patterns", "(A AND B)"),
    "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(B, C), D) WITHIN 9 s": (
        "NOT of anything but one event type",
        "NOT",
    ),
    "RETURN COUNT(*) PATTERN SEQ(A, NOT (B OR C), D) WITHIN 9 s": (
        "NOT of anything but one event type",
        "NOT",
    ),
    "RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS next WITHIN 9 s": (
        "SEMANTICS skip-till-next-match",
        "RETURN",
    ),
    "RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS contiguous WITHIN 9 s": ("SEMANTICS contiguous", "RETURN"),
    "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.v < NEXT(B).v WITHIN 9 s": (
        "a condition on neighbours, A -> NEXT(B)",
        "A.v",
    ),
    "RETURN COUNT(*), COUNT(DISJOINT) PATTERN SEQ(A, B) WITHIN 9 s": ("COUNT(DISJOINT)", "COUNT(DISJOINT)"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_its_paper_has_no_rule_for_is_refused_by_name_and_place(text):
    what, place = REFUSED[text]
    for asked in (run, execute):
        with pytest.raises(QueryMeaningError) as caught:
            asked(text, events(""), engine="aseq")
        assert caught.value.code == "E302"
        assert f"no rule for {what}" in caught.value.message
        assert "engine='greta'" in caught.value.hint
        assert text[caught.value.column - 1 :].startswith(place)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(QueryMeaningError, match="E302"):
        explain(text, engine="aseq")


def test_the_first_query_that_is_refused_is_named():
    text = "fixed: RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 9 s\nlong: RETURN COUNT(*) PATTERN A+ WITHIN 9 s"
    with pytest.raises(QueryMeaningError, match=r"line 2, .*query long"):
        run(text, events("AB"), engine="aseq")


def test_engines_that_refuse_nothing_are_known():
    assert GENERAL == ("hamlet", "greta", "two_step", "shared_two_step")
    assert set(ENGINES) == {*GENERAL, *CHECKS}
