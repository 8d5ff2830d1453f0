"""A folder of workloads over ten days of events, for the tests of partitions, sensors and schedules."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
DAYS = 10
KEYS = tuple(f"{FIRST + timedelta(days=day):%Y-%m-%d}" for day in range(DAYS))

JAMS = """jams: RETURN car, COUNT(*), MIN(t.speed), AVG(t.speed), SUM(t.speed) PATTERN Travel t+
      WHERE [car] AND t.speed > NEXT(t).speed GROUP-BY car WITHIN 6 hours SLIDE 2 hours
stops: RETURN COUNT(*), COUNT(s) PATTERN SEQ(Travel t, Stop s+) WHERE [car] WITHIN 2 days SLIDE 1 day
"""
EVERY_MODE = """jams: RETURN car, COUNT(*), MIN(t.speed), AVG(t.speed), SUM(t.speed), COUNT(DISJOINT), REACH(t) PATTERN Travel t+
      WHERE [car] AND t.speed > NEXT(t).speed GROUP-BY car WITHIN 6 hours SLIDE 2 hours
stops: RETURN COUNT(*), COUNT(s), REACH(t), REACH(s), COUNT(PARTITIONS), AVG(DURATION), MAX(DURATION)
       PATTERN SEQ(Travel t, Stop s+) SEMANTICS next WHERE [car] WITHIN 2 days SLIDE 1 day
close: RETURN COUNT(*), REACH(t), REACH(s), SUM(DURATION), MIN(DURATION)
       PATTERN SEQ(Travel t, Stop s) SEMANTICS contiguous WHERE [car] WITHIN 1 hour
"""
"""The same in every mode, with aggregates over trends and partitions: many an hour has a REACH and no trend."""
DAILY = "partitions: daily\nstart: 2026-01-05\narithmetic: exact\n"


def day_of_events(day: int, rows: int = 120, seed: int = 0) -> pa.Table:
    """Events of one day, in order of time; day 0 is FIRST."""
    draw = random.Random(100 * seed + day)
    start = FIRST + timedelta(days=day)
    times = sorted(start + timedelta(seconds=draw.randrange(86_400)) for _ in range(rows))
    return pa.table(
        {
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "kind": [draw.choice(["Travel", "Travel", "Travel", "Stop", "Park"]) for _ in times],
            "car": [draw.choice(["a", "b", None]) for _ in times],
            "speed": pa.array([draw.randrange(60) for _ in times], pa.int64()),
        }
    )


def make_folder(root: Path, workloads: dict[str, tuple[str, str]], days: int = DAYS) -> Path:
    """A folder whose inbox has a file a day; workloads by name: text and settings."""
    inbox = root / "inbox"
    inbox.mkdir(parents=True)
    (root / "pipeline.yaml").write_text("events: inbox\ntime: at\ntype: kind\nwait_seconds: 0\n")
    for name, (text, settings) in workloads.items():
        (root / f"{name}.hamlet").write_text(text, encoding="utf-8")
        if settings:
            (root / f"{name}.yaml").write_text(settings, encoding="utf-8")
    for day in range(days):
        drop(root, day)
    return root


def drop(root: Path, day: int, *, name: str = "", table: pa.Table | None = None) -> Path:
    """Put a file of events into the inbox."""
    place = root / "inbox" / (name or f"day{day:02}.csv")
    pa_csv.write_csv(table if table is not None else day_of_events(day), place)
    return place
