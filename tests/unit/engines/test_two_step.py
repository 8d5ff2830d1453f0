"""The engine that lists trends: it says so when there are too many, and never cuts the list short."""

import pyarrow as pa
import pytest

from hamlet_core import StreamError, run
from hamlet_core.engines import two_step


def events(types):
    return pa.table({"time": range(len(types)), "type": list(types)})


def test_past_its_limit_it_raises(monkeypatch):
    monkeypatch.setattr(two_step, "TREND_LIMIT", 1_000)
    text = "RETURN COUNT(*) PATTERN B+ WITHIN 100 s"
    rows = run(text, events("B" * 9), engine="two_step", arithmetic="exact").to_pylist()
    assert [row["exact"] for row in rows] == ["511"]
    with pytest.raises(StreamError, match="1,000 sequences") as caught:
        run(text, events("B" * 10), engine="two_step")
    assert caught.value.code == "E301"
    assert "greta" in caught.value.hint


def test_sequences_that_never_finish_count_towards_the_limit(monkeypatch):
    monkeypatch.setattr(two_step, "TREND_LIMIT", 1_000)
    with pytest.raises(StreamError, match="E301"):
        run("RETURN COUNT(*) PATTERN SEQ(B+, C) WITHIN 100 s", events("B" * 12), engine="two_step")


def test_matches_of_a_negated_pattern_count_towards_the_limit(monkeypatch):
    monkeypatch.setattr(two_step, "TREND_LIMIT", 1_000)
    with pytest.raises(StreamError, match="E301"):
        run("RETURN COUNT(*) PATTERN SEQ(A, NOT B+) WITHIN 100 s", events("A" + "B" * 12), engine="two_step")


def test_the_limit_is_for_a_window_not_for_a_run(monkeypatch):
    monkeypatch.setattr(two_step, "TREND_LIMIT", 511)
    rows = run("RETURN COUNT(*) PATTERN B+ WITHIN 9 s", events("B" * 90), engine="two_step").to_pylist()
    assert [row["value"] for row in rows] == [511.0] * 10
