"""A stream, micro-batch by micro-batch: the rows of a run over everything, each window once; whatever is killed or comes late."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from hamlet_core.errors import HamletError
from pipelines import streaming
from pipelines.checks import rows as rows_module
from pipelines.checks.events import check_events
from pipelines.checks.rows import events_of
from pipelines.settings import JobSettings, NamedWorkload
from pipelines.spans import EPOCH, Partition, Span
from pipelines.steps import compaction
from pipelines.steps.execution.computed import Computed, due, latest_ingest
from pipelines.steps.execution.execute import ExecuteReport, execute
from pipelines.steps.ingestion.ingest import IngestedFile, IngestReport, Needs, ingest
from pipelines.steps.ingestion.ledger import Ledger, remove_killed_ingests
from pipelines.steps.publication import wide
from pipelines.steps.publication.publish import publish
from pipelines.steps.watermark import Position, positions
from pipelines.streaming import MicroBatch, RedCheck, advance
from resources import warehouse as warehouse_module
from resources.warehouse import DataFile, Warehouse
from tests.conftest import ROOT
from tests.spark.pipeline_cases import (
    RESULT_COLUMNS,
    WORKLOAD,
    Killed,
    expected_rows,
    settings_for,
    sorted_rows,
    stream,
    table_rows,
    write_csv,
)

SECONDS = 240
LATENESS = timedelta(seconds=20)
DAY = timedelta(days=1)


class Arriving(NamedTuple):
    """A stream of files, and what it is streamed with."""

    settings: JobSettings
    parts: tuple[pa.Table, ...]

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(self.settings.warehouse)

    def bring(self, number: int) -> None:
        write_csv(self.parts[number], Path(self.settings.source.path) / f"{number}.csv")

    def final(self, settings: JobSettings | None = None) -> list[dict[str, object]]:
        """What a run over all files gives for the windows up to the watermark."""
        latest = max(one["time"].to_pylist()[-1] for one in self.parts)
        until = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=latest) - LATENESS
        return [row for row in expected_rows(settings or self.settings) if row["window_end"] <= until]


def arriving(folder: Path, parts: int, seed: int = 1, rows: int = 300, text: str = WORKLOAD) -> Arriving:
    """A stream in so many files, whose events are out of order by no more than the lateness; the last one is the last."""
    draw, table = Random(seed), stream(rows, seed, days=3)
    times = table["time"].to_pylist()
    order = sorted(range(rows - 1), key=lambda row: times[row] + draw.uniform(0, LATENESS.seconds))
    table = table.take([*order, rows - 1])
    cuts = [0, *sorted(draw.sample(range(1, rows), parts - 1)), rows]
    settings = settings_for(folder / "inbox", folder / "warehouse", text=text)
    Path(settings.source.path).mkdir()
    return Arriving(settings, tuple(table.slice(a, b - a) for a, b in pairwise(cuts)))


def asking_one(folder: Path) -> JobSettings:
    """Of a stream that counts events of one type in windows of ten seconds."""
    settings = settings_for(
        folder / "inbox", folder / "warehouse", text="q: RETURN COUNT(*) PATTERN B WITHIN 10 s"
    )
    Path(settings.source.path).mkdir()
    return settings


def in_open_windows(one: Arriving, files: int, watermark: datetime) -> int:
    """Of the events in so many files those whose last window, of any query, is not final."""
    second = 1_000_000
    spans = [(plan.within // second, plan.slide // second) for plan in one.settings.workload.plans]
    times = [time for part in one.parts[:files] for time in part["time"].to_pylist()]
    until = watermark.timestamp()
    return sum(any(time // slide * slide + within > until for within, slide in spans) for time in times)


def published(warehouse: Warehouse) -> list[dict[str, object]]:
    return table_rows(warehouse, "trend_aggregates")


def days_of(warehouse: Warehouse) -> dict[tuple[str, str], Partition]:
    return {key: one.partition for key, one in Computed.of(warehouse, "test").entries.items()}


def daily(settings: JobSettings, first: str, days: int) -> JobSettings:
    """The same for the partitions that a workload with daily ones has."""
    start = datetime.fromisoformat(first).replace(tzinfo=UTC)
    bounds = [start + number * DAY for number in range(days + 1)]
    parts = [Partition(f"{a:%Y-%m-%d}", a, b) for a, b in pairwise(bounds)]
    return replace(settings, span=Span(tuple(parts)))


def test_a_stream_in_files_gives_each_final_window_once_and_the_batch_job_nothing_to_do(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = arriving(tmp_path, 5)
    assert advance(spark, one.settings, LATENESS).watermark is None, "nothing is there yet"
    seen: list[MicroBatch] = []
    for number in range(5):
        one.bring(number)
        seen.append(advance(spark, one.settings, LATENESS))
    assert published(one.warehouse) == one.final() != []
    spans = [batch.given for batch in seen if batch.given is not None]
    assert len(spans) >= 3
    assert [a.until for a in spans[:-1]] == [b.after for b in spans[1:]], "no window twice, and none left out"
    assert sum(sum(batch.rows.values()) for batch in seen) == len(published(one.warehouse))
    assert [batch.late for batch in seen] == [0] * 5
    held = [
        in_open_windows(one, files, batch.watermark) for files, batch in enumerate(seen, 1) if batch.watermark
    ]
    assert [batch.held for batch in seen] == held != [0] * 5
    versions = {name: one.warehouse.version(name) for name in one.warehouse.names()}
    again = advance(spark, one.settings, LATENESS)
    assert (again.ingested, again.given, again.idle) == (None, None, True)
    assert {name: one.warehouse.version(name) for name in one.warehouse.names()} == versions
    runs = set(one.warehouse.rows("trend_aggregates", ["run_id"]).column(0).to_pylist())
    assert runs == {batch.run_id for batch in seen if batch.given is not None and any(batch.rows.values())}
    for days, wanted in ((2, set()), (3, {"1970-01-03"})):
        asked = daily(one.settings, "1970-01-01", days)
        assert set(due(one.warehouse, asked, Computed.of(one.warehouse, "test")).by_partition()) == wanted


@pytest.mark.parametrize("few", [0, 50_000])
def test_only_events_that_came_in_since_are_checked_wherever_they_lie(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(rows_module, "FEW", few)
    place = tmp_path / "odd {x,y} 100% *?"
    place.mkdir()
    one = arriving(place, 3)
    for number in range(2):
        one.bring(number)
        advance(spark, one.settings, LATENESS)
    since = latest_ingest(one.warehouse)
    one.bring(2)
    ingest(spark, one.warehouse, one.settings.source, Needs())

    def found(moment: datetime | None) -> list[dict[str, Any]]:
        rows = events_of(spark, one.warehouse, since=moment)
        assert rows.few == bool(few)
        return sorted_rows(rows.frame.toArrow().to_pylist(), one.warehouse.schema("events").names)

    every = sorted_rows(
        one.warehouse.rows("events").to_pylist(), names := one.warehouse.schema("events").names
    )
    new = [row for row in every if row["ingested_at"] > since]
    assert 0 < len(new) < len(every)
    assert (found(None), found(since)) == (every, new)
    assert {*names} == {*new[0]}
    by_partition: dict[tuple[str, ...], list[DataFile]] = {}
    for file in one.warehouse.files("events"):
        by_partition.setdefault(tuple(file.partition.values()), []).append(file)
    one.warehouse.merge_files("events", [files for files in by_partition.values() if len(files) > 1])
    assert found(since) == new, "also out of files of several ingests"


def killed_after(write: str) -> Callable[[str], None]:
    """Instead of `passed`: the process ends after this write."""

    def passed(done: str) -> None:
        if done == write:
            raise Killed

    return passed


def test_files_are_put_together_while_a_stream_goes_on_whenever_it_is_killed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row changes, every check looks at the same rows, and what a killed ingest left goes out of what was put together."""
    one = arriving(tmp_path, 8)
    monkeypatch.setattr(compaction, "TOGETHER", 2)

    deaths = 0
    for number in range(8):
        one.bring(number)
        with monkeypatch.context() as patch:
            if deaths < 2:
                patch.setattr(warehouse_module, "passed", killed_after("optimize:events"))
            try:
                advance(spark, one.settings, LATENESS)
            except Killed:
                deaths += 1
    assert deaths == 2
    assert published(one.warehouse) == one.final() != []
    events = one.warehouse.files("events")
    ingests = len(one.warehouse.rows("ingested_files"))
    assert (
        max(Counter(file.partition["day"] + file.partition["bucket"] for file in events).values()) < ingests
    )
    assert any(file.oldest != file.newest for file in events), "files of several ingests"
    assert len(one.warehouse.files("ingested_files")) < ingests
    assert all(outcome.passed for outcome in check_events(spark, one.warehouse).outcomes)
    assert remove_killed_ingests(spark, one.warehouse, Ledger.of(one.warehouse)) == 0
    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", killed_after("append:events"))
        write_csv(one.parts[0].slice(0, 40), tmp_path / "inbox" / "killed.csv")
        with pytest.raises(Killed):
            advance(spark, one.settings, LATENESS)
    rows = one.warehouse.count("events")
    merged = one.warehouse.files("events")
    one.warehouse.merge_files("events", [[file for file in merged if file.partition == merged[0].partition]])
    assert remove_killed_ingests(spark, one.warehouse, Ledger.of(one.warehouse)) == 1
    assert one.warehouse.count("events") == rows - 40


def test_what_ends_no_window_is_checked_and_computes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, inbox = asking_one(tmp_path), tmp_path / "inbox"
    computed: list[Span] = []

    def watched(spark: SparkSession, warehouse: Warehouse, part: JobSettings, run_id: str) -> ExecuteReport:
        computed.append(part.span)
        return streaming_recompute(spark, warehouse, part, run_id)

    streaming_recompute = streaming.recompute
    monkeypatch.setattr(streaming, "recompute", watched)
    seen = []
    for number, times in enumerate(([1, 12], [13, 15], [14, 19], [16, 21], [29], [30])):
        write_csv(pa.table({"time": times, "type": ["B"] * len(times)}), inbox / f"{number}.csv")
        seen.append(advance(spark, settings, timedelta(0)))
    assert [batch.up_to[-14:-6] for batch in seen] == [
        f"00:00:{second}" for second in (12, 15, 19, 21, 29, 30)
    ]
    assert [sum(batch.rows.values()) for batch in seen] == [1, 0, 0, 1, 0, 1]
    assert [span.until.second for span in computed if span.until is not None] == [12, 21, 30]
    assert [batch.late for batch in seen] == [0, 0, 1, 1, 0, 0], "in windows that are open, too"
    counts = [row["value"] for row in published(Warehouse(settings.warehouse))]
    assert counts == [1.0, 6.0, 2.0]


def test_a_stream_takes_so_many_files_at_once_the_oldest_first(spark: SparkSession, tmp_path: Path) -> None:
    one = arriving(tmp_path, 5)
    for number in range(5):
        one.bring(number)
        os.utime(Path(one.settings.source.path) / f"{number}.csv", (number, number))
    seen = [advance(spark, one.settings, LATENESS, at_most=2) for _ in range(3)]
    assert [sorted(file.name for file in batch.ingested.files) for batch in seen if batch.ingested] == [
        ["0.csv", "1.csv"],
        ["2.csv", "3.csv"],
        ["4.csv"],
    ]
    assert [(batch.left, batch.late) for batch in seen] == [(3, 0), (1, 0), (0, 0)]
    assert published(one.warehouse) == one.final() != []


def test_a_micro_batch_that_could_read_no_file_is_not_followed_at_once() -> None:
    """Else a stream would ask again and again for files that are still being written."""
    read = IngestReport((IngestedFile("a.csv", 1, 0),), (), (), 0, left=3)
    batch = MicroBatch("run", read, None, None, {}, 0, 0.1)
    assert batch.left == 3
    assert replace(batch, ingested=replace(read, files=())).left == 0
    assert replace(batch, ingested=None).left == 0


def test_events_that_come_too_late_are_told_and_the_batch_job_repairs_their_days(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = arriving(tmp_path, 3)
    for number in range(2):
        one.bring(number)
        advance(spark, one.settings, LATENESS)
    columns = one.parts[0].slice(3, 1)
    late = pa.table(
        {name: columns[name] if name != "time" else pa.array([30]) for name in columns.column_names}
    )
    twins = pa.concat_tables([late, late.set_column(0, "time", pa.array([31]))])
    write_csv(twins.set_column(1, "type", pa.array(["A", "B"])), Path(one.settings.source.path) / "late.csv")
    told = advance(spark, one.settings, LATENESS)
    assert told.late == one.warehouse.rows("events_late").num_rows == 2
    one.bring(2)
    assert advance(spark, one.settings, LATENESS).late == 0
    assert published(one.warehouse) != one.final(), "the windows of the late events were given out before"
    days = daily(one.settings, "1970-01-01", 2)
    assert set(due(one.warehouse, days, Computed.of(one.warehouse, "test")).by_partition()) == {"1970-01-01"}
    execute(spark, one.warehouse, days, "batch")
    publish(spark, one.warehouse, "test", days.span)
    assert published(one.warehouse) == one.final()


def test_late_events_are_kept_with_the_windows_that_they_would_have_touched(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against all windows one by one; also where the micro-batch is killed and does it again."""
    one, draw = arriving(tmp_path, 3), Random(5)
    for number in range(2):
        one.bring(number)
        advance(spark, one.settings, LATENESS)
    known = positions(one.warehouse, "test")
    (watermark,) = {position.watermark for position in known.values()}
    passed = int(watermark.timestamp())
    times = [draw.randrange(passed + 30) for _ in range(60)]
    like = one.parts[0].take([0] * len(times))
    late = like.set_column(0, "time", pa.array(times))
    write_csv(
        late.set_column(1, "type", pa.array(draw.choices("ABCX", k=len(times)))),
        Path(one.settings.source.path) / "late.csv",
    )

    def die(write: str) -> None:
        if write == "replace:events_late":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", die)
        with pytest.raises(Killed):
            advance(spark, one.settings, LATENESS)
    advance(spark, one.settings, LATENESS)
    found = one.warehouse.rows("events_late").to_pylist()
    assert sorted(int(row["event_time"].timestamp()) for row in found) == sorted(
        time for time in times if time < passed
    )
    for row in found:
        ends = dict(_given_with(one.settings, known, row["event_time"], row["event_type"]))
        assert row["queries"] == ", ".join(ends), row
        assert row["first_window_end"] == min((min(one) for one in ends.values()), default=None), row
        assert row["last_window_end"] == max((max(one) for one in ends.values()), default=None), row
        assert (row["workload"], row["watermark"], row["source_file"]) == ("test", watermark, "late.csv")
    assert len({row["queries"] for row in found}) > 2
    version = one.warehouse.version("events_late")
    one.bring(2)
    advance(spark, one.settings, LATENESS)
    assert one.warehouse.version("events_late") == version, "told once"


def _given_with(
    settings: JobSettings, known: Mapping[str, Position], time: datetime, kind: str
) -> Iterator[tuple[str, list[datetime]]]:
    """The queries that read such an event, with the ends of their given windows that have it."""
    tick, moment = timedelta(microseconds=1), int(time.timestamp() * 1_000_000)
    for plan in settings.workload.plans:
        starts = [
            start
            for start in range(-plan.within // plan.slide * plan.slide, moment + 1, plan.slide)
            if moment < start + plan.within
        ]
        ends = [EPOCH + (start + plan.within) * tick for start in starts]
        own = known[plan.name]
        given = [end for end in ends if own.began < end <= own.watermark]
        if kind in plan.types and given:
            yield plan.name, given


def test_events_that_come_late_for_a_day_that_goes_on_make_all_of_it_stale(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = asking_one(tmp_path)
    names = ("early", "late", "later")
    for name, times in zip(names, ([1, 100], [2, 200], [86_400, 90_000]), strict=True):
        rows = pa.table({"time": times, "type": ["B"] * len(times)})
        write_csv(rows, Path(settings.source.path) / f"{name}.csv")
        batch = advance(spark, settings, LATENESS)
        assert (name, batch.late) == (name, int(name == "late"))
    warehouse = Warehouse(settings.warehouse)
    days = daily(settings, "1970-01-01", 1)
    assert set(due(warehouse, days, Computed.of(warehouse, "test")).by_partition()) == {"1970-01-01"}
    execute(spark, warehouse, days, "batch")
    publish(spark, warehouse, "test", days.span)
    assert [(row["query"], row["exact"]) for row in published(warehouse)] == [("q", "2")] + [("q", "1")] * 3


def test_late_events_are_told_once_whether_or_not_windows_are_given_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = asking_one(tmp_path)
    warehouse, found = Warehouse(settings.warehouse), []
    for number, times in enumerate(([1, 100], [2], [3, 79], [80], [4, 300])):
        rows = pa.table({"time": times, "type": ["B"] * len(times)})
        write_csv(rows, Path(settings.source.path) / f"{number}.csv")
        batch = advance(spark, settings, LATENESS)
        stored = (
            warehouse.rows("events_late").to_pylist() if warehouse.exists("events_late") else list[dict]()
        )
        late = sorted((int(row["event_time"].timestamp()), row["queries"]) for row in stored)
        found.append((batch.given is not None, batch.late, late))
    told = [(2, "q"), (3, "q"), (4, "q"), (79, "q")]
    assert found == [
        (True, 0, []),
        (False, 1, told[:1]),
        (False, 2, [*told[:2], told[3]]),
        (False, 0, [*told[:2], told[3]]),
        (True, 1, told),
    ]


WIDE = tuple(f"replace:{name}" for name in ("test__rising", "test__pairs", "test__all"))
WRITES = (
    *("append:events", "append:ingested_files", "append:computed_aggregates", "replace:sharing_decisions"),
    *("replace:trend_aggregates", *WIDE, "replace:computed_partitions", "replace:stream_progress"),
    "replace:run_metrics",
)
"""What a micro-batch that gives out windows writes, once all tables are there."""
OFTEN = {
    "append:events",
    "append:computed_aggregates",
    "replace:trend_aggregates",
    "replace:computed_partitions",
}


@pytest.mark.parametrize(
    "last", [write if write in OFTEN else pytest.param(write, marks=pytest.mark.slow) for write in WRITES]
)
def test_a_stream_that_is_killed_after_a_write_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    one = arriving(tmp_path, 3, rows=120)
    writes: list[str] = []

    def die(write: str) -> None:
        writes.append(write)
        if write == last:
            raise Killed

    one.bring(0)
    advance(spark, one.settings, LATENESS)
    one.bring(1)
    with monkeypatch.context() as patch:
        for module in (warehouse_module, wide):
            patch.setattr(module, "passed", die)
        with pytest.raises(Killed):
            advance(spark, one.settings, LATENESS)
    assert tuple(writes) == WRITES[: len(writes)]
    one.bring(2)
    advance(spark, one.settings, LATENESS)
    assert published(one.warehouse) == one.final() != []
    for name in ("rising", "pairs", "all"):
        windows = one.warehouse.rows(f"test__{name}", ["window_start", "window_end"]).num_rows
        assert windows == len(
            {(r["window_start"], r["group_key"]) for r in one.final() if r["query"] == name}
        )
    days = daily(one.settings, "1970-01-01", 2)
    assert due(one.warehouse, days, Computed.of(one.warehouse, "test")).by_partition() == {}


def test_queries_come_change_and_go_while_a_stream_runs(spark: SparkSession, tmp_path: Path) -> None:
    one = arriving(tmp_path, 3)
    rising, pairs, everything = re.split(r"\n(?=\w+:)", WORKLOAD.strip())
    other = pairs.replace("> 10", "> 5")
    texts = ["\n".join(text) for text in ((rising, pairs), (rising, other, everything), (everything, rising))]
    marks: list[datetime] = []
    for number, text in enumerate(texts):
        one.bring(number)
        settings = replace(one.settings, workload=NamedWorkload("test", text))
        batch = advance(spark, settings, LATENESS)
        assert batch.watermark is not None
        marks.append(batch.watermark)
        assert batch.began == (("rising", "pairs"), ("pairs", "all"), ())[number]
    wanted = []
    for number, text in enumerate(texts):
        after = marks[number - 1] if number else datetime.min.replace(tzinfo=UTC)
        rows = expected_rows(replace(one.settings, workload=NamedWorkload("test", text)))
        wanted += [row for row in rows if after < row["window_end"] <= marks[number]]
    assert published(one.warehouse) == sorted_rows(wanted, RESULT_COLUMNS)
    hashes = {NamedWorkload("test", text).hash for text in texts}
    planned = set(one.warehouse.rows("workload_plan", ["workload_hash"]).column(0).to_pylist())
    stored = set(one.warehouse.rows("trend_aggregates", ["workload_hash"]).column(0).to_pylist())
    assert stored <= planned == hashes


@pytest.mark.parametrize("lost", ["query = 'pairs'", "aggregate = 'COUNT(*)'"])
def test_rows_that_are_wrong_stop_the_stream_and_are_not_published(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """A reference engine, or a rule, finds that rows are missing."""
    one = arriving(tmp_path, 2, rows=120)
    one.bring(0)
    advance(spark, one.settings, LATENESS)
    before = published(one.warehouse)
    one.bring(1)
    right = streaming.recompute

    def recompute(session: SparkSession, warehouse: Warehouse, *more: Any) -> ExecuteReport:
        report = right(session, warehouse, *more)
        warehouse.delete(session, "computed_aggregates", lost)
        return report

    with monkeypatch.context() as patch:
        patch.setattr(streaming, "recompute", recompute)
        for _ in range(2):
            with pytest.raises(RedCheck, match=r"E552.*(the reference engine finds|expectations on results)"):
                advance(spark, one.settings, LATENESS)
            assert published(one.warehouse) == before
    advance(spark, one.settings, LATENESS)
    assert published(one.warehouse) == one.final()


@pytest.mark.parametrize("computing", ["goes on", "fails"])
def test_events_that_are_not_those_of_the_files_stop_the_stream(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computing: str
) -> None:
    """They are checked while aggregates are computed, and are told where these fail, too."""
    one = arriving(tmp_path, 2, rows=120)
    one.bring(0)
    advance(spark, one.settings, LATENESS)
    before = published(one.warehouse)
    ingest(
        spark,
        one.warehouse,
        replace(one.settings.source, path=str(write_csv(one.parts[1], tmp_path / "1.csv"))),
        Needs(),
    )
    first = min(one.parts[1]["time"].to_pylist())
    one.warehouse.delete(spark, "events", f"event_time = timestamp_seconds({first})")

    def failing(*_: object) -> ExecuteReport:
        raise HamletError("something of these events", code="E502")

    if computing == "fails":
        monkeypatch.setattr(streaming, "recompute", failing)
    for _ in range(2):
        with pytest.raises(RedCheck, match=r"E552.*expectations on events are broken: rows add up"):
            advance(spark, one.settings, LATENESS)
        assert published(one.warehouse) == before


def test_the_command_streams_until_it_is_stopped_and_goes_on_where_it_was(tmp_path: Path) -> None:
    one = arriving(tmp_path, 3, rows=120)
    text = tmp_path / "test.hamlet"
    text.write_text(WORKLOAD)
    command = [
        sys.executable,
        "-m",
        "pipelines.cli",
        "stream",
        str(text),
        "--source",
        one.settings.source.path,
    ]
    command += ["--warehouse", str(one.settings.warehouse), "--lateness", "20 s", "--arithmetic", "exact"]
    how: dict[str, Any] = {
        "cwd": ROOT,
        "env": {**os.environ, "HAMLET_ENVIRONMENT": "ci"},
        "stderr": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
    }
    running = subprocess.Popen([*command, "--trigger", "0.5 s"], **how)
    try:
        one.bring(0)
        wait_for(lambda: one.warehouse.exists("stream_progress") and one.warehouse.exists("run_metrics"))
        text.write_text("no workload")
        time.sleep(2)
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=SECONDS)
    finally:
        running.kill()
    assert running.returncode == 143, said
    assert "rising, pairs, all begin" in said
    assert said.count(f"{text} cannot be used, and its last text stays: ") == 1
    assert said.endswith("Terminated: nothing is lost: run it again, and it goes on from what is there.\n")
    text.write_text(WORKLOAD)
    one.bring(1)
    one.bring(2)
    done = subprocess.run([*command, "--once"], check=False, timeout=SECONDS, **how)
    assert done.returncode == 0, done.stderr
    assert published(one.warehouse) == one.final() != []
    assert "begin" not in done.stderr
    assert done.stdout.splitlines()[0].startswith("rising: ")
    assert "published: windows up to 1970-01-0" in done.stdout


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.2)
