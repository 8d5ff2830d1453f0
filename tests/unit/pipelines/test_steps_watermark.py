"""Which windows a micro-batch gives out: spans that follow each other, by days, and what there may still be to wait for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from pipelines.reading import awaited
from pipelines.spans import Partition, Span, moment
from pipelines.steps.watermark import MOST_DAYS, next_span
from resources.warehouse import DataFile

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MIDNIGHT = NOON.replace(hour=0)
DAY = timedelta(days=1)


def of_time(first: datetime, last: datetime) -> DataFile:
    return DataFile("events/1.parquet", 1, 1, {}, first=first, last=last)


def test_the_first_span_begins_with_the_day_of_the_first_event() -> None:
    files = [of_time(NOON, NOON + DAY), of_time(NOON + DAY, NOON + 2 * DAY)]
    span = next_span(files, None, NOON + 2 * DAY)
    assert span is not None
    assert [(one.key, one.after, one.until) for one in span.partitions] == [
        ("2026-01-05", MIDNIGHT, MIDNIGHT + DAY),
        ("2026-01-06", MIDNIGHT + DAY, MIDNIGHT + 2 * DAY),
        ("2026-01-07", MIDNIGHT + 2 * DAY, NOON + 2 * DAY),
    ]


def test_the_next_span_goes_on_where_the_last_one_ended() -> None:
    tick = timedelta(microseconds=1)
    marks = [NOON, NOON + tick, MIDNIGHT + DAY, MIDNIGHT + DAY + tick, NOON + 3 * DAY]
    spans = [next_span([], after, until) for after, until in pairwise(marks)]
    assert [(span.after, span.until) for span in spans if span is not None] == list(pairwise(marks))
    assert [span.keys for span in spans if span is not None] == [
        ("2026-01-05",),
        ("2026-01-05",),
        ("2026-01-06",),
        ("2026-01-06", "2026-01-07", "2026-01-08"),
    ]


@pytest.mark.parametrize("until", [NOON, NOON - DAY])
def test_a_watermark_that_does_not_move_gives_out_nothing(until: datetime) -> None:
    assert next_span([of_time(NOON, NOON)], NOON, until) is None


def test_a_lateness_longer_than_the_stream_gives_out_nothing_that_reads_an_event() -> None:
    span = next_span([of_time(NOON, NOON)], None, NOON - 3 * DAY)
    assert span is None or (span.until is not None and span.until <= NOON - 3 * DAY)


def test_an_event_of_long_ago_does_not_make_a_partition_of_each_day_since() -> None:
    span = next_span([of_time(datetime(1970, 1, 1, tzinfo=UTC), NOON)], None, NOON)
    assert span is not None
    assert len(span.partitions) == MOST_DAYS + 2
    assert span.partitions[0].key == f"before {MIDNIGHT - MOST_DAYS * DAY:%Y-%m-%d}"
    assert (span.after, span.until) == (datetime(1970, 1, 1, tzinfo=UTC), NOON)


def test_files_may_come_into_a_folder_and_where_a_pattern_matches_nothing(tmp_path: Path) -> None:
    assert awaited(tmp_path)
    assert awaited(tmp_path / "*.csv")
    assert not awaited(tmp_path / "nothing.csv")
    (tmp_path / "notes.txt").write_text("of the folder\n")
    assert awaited(tmp_path)
    assert not awaited(tmp_path / "notes.md")
    (tmp_path / "notes.md").write_text("no events\n")
    assert not awaited(tmp_path / "notes.md")
    (tmp_path / "events.csv").write_text("time,type\n")
    assert not awaited(tmp_path)
    assert not awaited(tmp_path / "*.csv")


@pytest.mark.parametrize("seed", range(200))
def test_a_span_has_ends_where_a_window_ends_in_it(seed: int) -> None:
    random = Random(seed)
    after, until = sorted(random.sample(range(-60, 60), 2))
    windows = [(random.randint(1, 30), random.randint(1, 30)) for _ in range(random.randint(1, 3))]
    origin = random.randint(-40, 40)
    ends = {
        origin + index * slide + within for within, slide in windows for index in range(-200 // slide, 200)
    }
    span = Span((Partition("some", moment(after), moment(until)),))
    assert span.has_ends(windows, origin) == any(after < end <= until for end in ends)
