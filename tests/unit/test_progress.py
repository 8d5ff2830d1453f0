"""How far a run is: told while it goes on, never falling, and changing nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core import check_columns, run
from hamlet_core.engines.hamlet.events import turns
from hamlet_core.progress import (
    COMPILE_TIME,
    UNWATCHED,
    Progress,
    Stopwatch,
    before_compiling,
    watching,
)
from hamlet_core.table.encode import EventSchema

EVENTS = 3_000
DRAWN = np.random.default_rng(22)
STREAM = pa.table(
    {
        "time": np.arange(EVENTS),
        "type": np.where(DRAWN.random(EVENTS) < 0.3, "A", "B"),
        "k": DRAWN.integers(0, 4, EVENTS),
        "v": DRAWN.integers(0, 1000, EVENTS),
    }
)
MANY = """
bursts: RETURN COUNT(*), MIN(b.v) PATTERN SEQ(A a, B b+) WITHIN 90 s SLIDE 30 s
pairs: RETURN COUNT(*), MAX(b.v) PATTERN SEQ(A a, B b+) WHERE b.v < NEXT(b).v WITHIN 60 s
keyed: RETURN COUNT(*) PATTERN B b+ WHERE [k] AND b.v < NEXT(b).v WITHIN 1000 s
"""


def told(text: str, events: pa.Table, **options: Any) -> list[tuple[int, int]]:
    """What a run tells; its answer is that of one that nobody watches."""
    found: list[tuple[int, int]] = []
    with watching(lambda done, of: found.append((done, of))):
        results = run(text, events, **options)
    assert results.equals(run(text, events, **options))
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"arithmetic": "exact"},
        {"arithmetic": "modular"},
        {"policy": "always"},
        {"engine": "greta"},
    ],
    ids=str,
)
def test_what_is_told_never_falls_and_ends_with_all_events(options: dict[str, Any]) -> None:
    found = told(MANY, STREAM.slice(0, 600) if "engine" in options else STREAM, **options)
    of = {of for _, of in found}
    done = [done for done, _ in found]
    assert len(of) == 1
    assert done == sorted(done)
    assert (done[0], {done[-1]}) == (0, of)
    assert len(set(done)) >= 4


def test_a_long_fold_tells_between_calls_of_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "RETURN COUNT(*) PATTERN B b+ WHERE [k] AND b.v < NEXT(b).v WITHIN 50 s"
    few = {done for done, _ in told(text, STREAM)}
    monkeypatch.setattr(turns, "FIRST", 16)
    many = {done for done, _ in told(text, STREAM)}
    assert len(many) > len(few) + 4


def test_only_events_that_queries_name_are_counted() -> None:
    found = told("RETURN COUNT(*) PATTERN A a+ WITHIN 10 s", STREAM)
    assert found[-1][1] == STREAM.column("type").to_pylist().count("A")


def test_no_events_and_no_watcher_tell_nothing() -> None:
    assert told(MANY, STREAM.slice(0, 0)) == []
    found: list[tuple[int, int]] = []
    with watching(lambda done, of: found.append((done, of))):
        check_columns(MANY, STREAM.schema, EventSchema())
    run(MANY, STREAM)
    assert found == []
    UNWATCHED.at(1.0)


def test_parts_of_parts_come_one_after_the_other() -> None:
    found: list[int] = []
    whole = Progress(lambda done, _: found.append(done), 1000)
    for first in range(2):
        for second in range(5):
            whole.part(first, 2).between(second / 5, (second + 1) / 5).at(0.5)
    assert found == [50, 150, 250, 350, 450, 550, 650, 750, 850, 950]


def test_who_asks_is_told_once_that_kernels_are_compiled_and_only_meanwhile() -> None:
    told: list[str] = []
    with before_compiling(lambda: told.append("once")):
        assert told == []
        for _ in range(2):
            COMPILE_TIME.begin()
            COMPILE_TIME.end()
    with before_compiling(lambda: told.append("never")):
        pass
    COMPILE_TIME.begin()
    COMPILE_TIME.end()
    assert told == ["once"]


def test_a_stopwatch_counts_what_overlaps_once() -> None:
    time = 0.0
    watch = Stopwatch(lambda: time)
    assert watch.seconds == 0.0
    watch.begin()
    time = 2.0
    watch.begin()
    time = 3.0
    watch.end()
    assert watch.seconds == 3.0
    watch.end()
    time = 10.0
    assert watch.seconds == 3.0
    watch.begin()
    time = 11.0
    assert watch.seconds == 4.0
