"""Matching modes and aggregates over trends on their way through the pipeline: what breaks, what is late, what is merged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from delta.tables import DeltaTable

from pipelines.checks.differences import Problem, differences
from pipelines.checks.greta import compare_with_greta
from pipelines.checks.results import check_results
from pipelines.reading import ColumnOptions
from pipelines.settings import JobSettings, SampleOptions
from pipelines.steps.execution import file_tasks
from pipelines.steps.execution.execute import ExecuteReport, execute
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.planning import needs_of
from pipelines.steps.publication.publish import publish
from pipelines.steps.publication.wide import publish_wide
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import expected_rows, settings_for, stream, table_rows, write_csv

SMALL = """
plain:  RETURN COUNT(*) PATTERN SEQ(View v, Cart c) WHERE [k] WITHIN 10 s
close:  RETURN COUNT(*), COUNT(PARTITIONS) PATTERN SEQ(View v, Cart c) SEMANTICS contiguous WHERE [k] WITHIN 10 s
funnel: RETURN REACH(v), REACH(c), COUNT(*), MAX(DURATION) PATTERN SEQ(View v, Cart c) SEMANTICS next WHERE [k] WITHIN 10 s
"""
EVENTS = [
    (1, "View", "x"), (2, "Other", "x"), (3, "Cart", "x"), (11, "View", "y"), (12, "Other", "x"), (13, "Cart", "y"), (21, "View", "z"),
]  # fmt: skip
FOUND = {
    ("plain", 0): {"COUNT(*)": "1"},
    ("plain", 10): {"COUNT(*)": "1"},
    ("close", 10): {"COUNT(*)": "1", "COUNT(PARTITIONS)": "1"},
    ("funnel", 0): {"REACH(v)": "1", "REACH(c)": "1", "COUNT(*)": "1", "MAX(DURATION)": "2"},
    ("funnel", 10): {"REACH(v)": "1", "REACH(c)": "1", "COUNT(*)": "1", "MAX(DURATION)": "2"},
    ("funnel", 20): {"REACH(v)": "1", "REACH(c)": "0", "COUNT(*)": "0", "MAX(DURATION)": None},
}

# Many partitions to each group and window, groups whose partitions lie in several buckets, and none at all.
MANY = """
merged:  RETURN COUNT(*), COUNT(PARTITIONS), COUNT(DISJOINT), REACH(a), REACH(b), SUM(DURATION), AVG(DURATION), MIN(DURATION),
                MAX(DURATION), SUM(b.v), AVG(b.v), MAX(b.w)
         PATTERN SEQ(A a, B b+) SEMANTICS {mode} WHERE [k] WITHIN 40 s SLIDE 20 s
grouped: RETURN g, REACH(b), COUNT(DISJOINT), AVG(DURATION) PATTERN SEQ(A a, NOT C c, B b) SEMANTICS {mode} WHERE [k] GROUP-BY g
         WITHIN 1 min
whole:   RETURN COUNT(*), REACH(b), COUNT(PARTITIONS), MAX(DURATION) PATTERN SEQ(C c?, B b+) SEMANTICS {mode}
         WHERE b.v < NEXT(b).v WITHIN 10 s
beside:  RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+) WHERE [k] WITHIN 20 s
"""
MODES = ("skip-till-any-match", "skip-till-next-match", "contiguous")


def small(events: list[tuple[int, str, str]]) -> pa.Table:
    times, types, keys = zip(*events, strict=True)
    return pa.table({"time": pa.array(times, pa.int64()), "type": types, "k": keys})


def compute(spark, settings: JobSettings, run_id: str = "run") -> tuple[Warehouse, ExecuteReport]:
    warehouse = Warehouse(settings.warehouse)
    ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    return warehouse, execute(spark, warehouse, settings, run_id)


def digits(warehouse: Warehouse) -> dict[tuple[str, int], dict[str, str | None]]:
    """(query, start of the window in seconds) -> aggregate -> digits."""
    found: dict[tuple[str, int], dict[str, str | None]] = {}
    for row in warehouse.rows("computed_aggregates").to_pylist():
        place = row["query"], int(row["window_start"].timestamp())
        found.setdefault(place, {})[row["aggregate"]] = row["exact"]
    return found


@pytest.mark.parametrize(("path", "here"), [("files", 10_000), ("files", 0), ("shuffle", 0)])
def test_an_event_of_another_type_breaks_contiguity_and_nothing_else(
    spark, tmp_path, monkeypatch, path, here
):
    monkeypatch.setattr(file_tasks, "MOST_HERE", here)
    source = write_csv(small(EVENTS), tmp_path / "in" / "events.csv").parent
    settings = settings_for(source, tmp_path / "warehouse", text=SMALL, path=path)
    warehouse, _ = compute(spark, settings)
    assert digits(warehouse) == FOUND
    assert table_rows(warehouse, "computed_aggregates") == expected_rows(settings)
    planned = {row["query"]: row["mode"] for row in plan_rows_of(settings)}
    assert planned == {"plain": MODES[0], "close": MODES[2], "funnel": MODES[1]}


def plan_rows_of(settings: JobSettings) -> list[dict[str, object]]:
    from pipelines.steps.planning import plan_rows

    return plan_rows(settings.workload, "run")


def test_late_events_change_a_reach_and_break_contiguity(spark, tmp_path):
    source = write_csv(small(EVENTS), tmp_path / "in" / "events.csv").parent
    settings = settings_for(source, tmp_path / "warehouse", text=SMALL)
    warehouse, first = compute(spark, settings)
    assert first.kept == frozenset()
    write_csv(small([(12, "Other", "y")]), source / "unrelated.csv")
    _, second = compute(spark, settings, "second")
    assert second.kept == {"plain", "funnel"}
    broken = {place: numbers for place, numbers in FOUND.items() if place != ("close", 10)}
    assert digits(warehouse) == broken
    write_csv(small([(25, "Cart", "z")]), source / "late.csv")
    _, third = compute(spark, settings, "third")
    assert third.kept == frozenset()
    reached = {"REACH(v)": "1", "REACH(c)": "1", "COUNT(*)": "1", "MAX(DURATION)": "4"}
    close = {"COUNT(*)": "1", "COUNT(PARTITIONS)": "1"}
    assert digits(warehouse) == broken | {
        ("plain", 20): {"COUNT(*)": "1"}, ("close", 20): close, ("funnel", 20): reached,
    }  # fmt: skip
    assert table_rows(warehouse, "computed_aggregates") == expected_rows(settings)
    assert compute(spark, settings, "fourth")[1].tasks == ()


LATE = """
any:   RETURN COUNT(*), REACH(v), REACH(c) PATTERN SEQ(View v, Cart c) WHERE [k] WITHIN 10 s
next:  RETURN COUNT(*), REACH(v), REACH(c) PATTERN SEQ(View v, Cart c) SEMANTICS next WHERE [k] WITHIN 10 s
close: RETURN COUNT(*), REACH(v), REACH(c) PATTERN SEQ(View v, Cart c) SEMANTICS contiguous WHERE [k] WITHIN 10 s
far:   RETURN REACH(c) PATTERN SEQ(View v, Cart c, Pay p) SEMANTICS contiguous WHERE [k] WITHIN 10 s
"""
MODES_OF_LATE = ("any", "next", "close")
EARLY = [(1, "View", "x"), (3, "Cart", "x"), (4, "View", "y"), (6, "Cart", "y")]


def numbers(warehouse: Warehouse) -> dict[tuple[str, int], tuple[int, ...]]:
    """(query, start of the window in seconds) -> COUNT(*), REACH(v) and REACH(c), as far as they are there."""
    return {
        place: tuple(
            int(found[label] or 0) for label in ("COUNT(*)", "REACH(v)", "REACH(c)") if label in found
        )
        for place, found in digits(warehouse).items()
    }


@pytest.mark.parametrize(
    ("late", "changed", "kept"),
    [
        # One more partition comes as far as c.
        ([(5, "View", "z"), (7, "Cart", "z")],
         {**{(mode, 0): (3, 3, 3) for mode in MODES_OF_LATE}, ("far", 0): (3,)}, set()),
        # A View between makes one more trend; under contiguous it is in place of the one that it breaks.
        ([(2, "View", "x")], {("any", 0): (3, 2, 2), ("next", 0): (3, 2, 2), ("close", 0): (2, 2, 2)}, set()),
        # An event of a type that no query names breaks one trend of two, and lowers the reach of its end.
        ([(2, "Other", "x")], {("close", 0): (1, 2, 1), ("far", 0): (1,)}, {"any", "next"}),
        # Both are broken: a row that had nothing but this reach is gone.
        ([(2, "Other", "x"), (5, "Other", "y")], {("close", 0): (0, 2, 0), ("far", 0): ()}, {"any", "next"}),
        # A window of which nothing is known so far has a reach and no trend.
        ([(31, "View", "x"), (32, "View", "y")], {(mode, 30): (0, 2, 0) for mode in MODES_OF_LATE}, set()),
        # A partition that has no trend makes no difference to the others' trends.
        ([(9, "View", "z")], {(mode, 0): (2, 3, 2) for mode in MODES_OF_LATE}, set()),
    ],
    ids=["one more", "a View between", "broken once", "broken twice", "a window of its own", "a View alone"],
)  # fmt: skip
def test_late_events_change_what_they_must(spark, tmp_path, late, changed, kept):
    source = write_csv(small(EARLY), tmp_path / "in" / "events.csv").parent
    settings = settings_for(source, tmp_path / "warehouse", text=LATE)
    before = {**{(mode, 0): (2, 2, 2) for mode in MODES_OF_LATE}, ("far", 0): (2,)}
    warehouse, _ = compute(spark, settings)
    assert numbers(warehouse) == before
    write_csv(small(late), source / "late.csv")
    assert compute(spark, settings, "second")[1].kept == kept
    assert numbers(warehouse) == {place: told for place, told in {**before, **changed}.items() if told}
    assert table_rows(warehouse, "computed_aggregates") == expected_rows(settings)


def test_a_window_that_only_a_reach_has_is_published_and_other_programs_read_it(spark, tmp_path):
    """Also where no other aggregate is asked for, and after a late event has changed it."""
    source = write_csv(small(EVENTS), tmp_path / "in" / "events.csv").parent
    text = f"{SMALL}seen: RETURN REACH(v), REACH(c) PATTERN SEQ(View v, Cart c) SEMANTICS next WHERE [k] WITHIN 10 s"
    settings = settings_for(source, tmp_path / "warehouse", text=text)
    for number, reached in enumerate((1, 2)):
        if number:
            write_csv(small([(22, "View", "y")]), source / "late.csv")
        warehouse, _ = compute(spark, settings, f"run{number}")
        report = check_results(spark, warehouse, settings)
        assert [one for one in report.outcomes if not one.passed] == []
        publish(spark, warehouse, "test")
        assert publish_wide(warehouse, settings) == {
            "test__plain": 2, "test__close": 1, "test__funnel": 3, "test__seen": 3,
        }  # fmt: skip
        assert table_rows(warehouse, "trend_aggregates") == expected_rows(settings)
        for read in (by_delta_rs, by_duckdb):
            rows = [
                row for row in read(warehouse, "trend_aggregates") if row["window_start"].timestamp() == 20
            ]
            assert {(row["query"], row["aggregate"]): row["exact"] for row in rows} == {
                ("funnel", "REACH(v)"): str(reached), ("funnel", "REACH(c)"): "0", ("funnel", "COUNT(*)"): "0",
                ("funnel", "MAX(DURATION)"): None, ("seen", "REACH(v)"): str(reached), ("seen", "REACH(c)"): "0",
            }  # fmt: skip
            for table, columns in WIDE.items():
                (last,) = [row for row in read(warehouse, table) if row["window_start"].timestamp() == 20]
                assert {name: last[name] for name in columns} == {**columns, "reach_v": float(reached)}


# Of the last window.
WIDE = {
    "test__funnel": {"reach_v": 0.0, "reach_c": 0.0, "count": 0.0, "count_exact": "0", "max_duration": None,
                     "max_duration_exact": None},
    "test__seen": {"reach_v": 0.0, "reach_c": 0.0},
}  # fmt: skip


def by_delta_rs(warehouse: Warehouse, table: str) -> list[dict[str, object]]:
    return deltalake.DeltaTable(warehouse.path_of(table)).to_pyarrow_table().to_pylist()


def by_duckdb(warehouse: Warehouse, table: str) -> list[dict[str, object]]:
    seen = deltalake.DeltaTable(warehouse.path_of(table)).to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("seen", seen)
        return connection.sql("SELECT * FROM seen").to_arrow_table().to_pylist()


def many(folder: Path, mode: str, time: str, **execute: object) -> JobSettings:
    """Settings for a stream of a few hundred events, some of a type that no query names."""
    events = stream(300, seed=3)
    types = ["D" if place % 9 == 0 else kind for place, kind in enumerate(events.column("type").to_pylist())]
    events = events.set_column(events.schema.get_field_index("type"), "type", pa.array(types))
    if time == "timestamps":
        ticks = pc.multiply(events.column("time"), pa.scalar(1_000_000, pa.int64()))
        moments = pc.add(ticks, pa.array(range(events.num_rows))).cast(pa.timestamp("us", "UTC"))
        events = events.set_column(0, "time", moments)
    source = write_csv(events, folder / "events.csv")
    text = MANY.format(mode=mode)
    return settings_for(source, folder / "warehouse", text=text, options=ColumnOptions(), **execute)


@pytest.mark.parametrize(
    ("mode", "time", "arithmetic", "path"),
    [
        (MODES[0], "integers", "exact", "files"),
        (MODES[0], "timestamps", "scaled", "shuffle"),
        (MODES[1], "timestamps", "exact", "files"),
        (MODES[1], "integers", "modular", "shuffle"),
        (MODES[2], "timestamps", "modular", "files"),
        (MODES[2], "integers", "scaled", "files"),
        (MODES[2], "integers", "exact", "shuffle"),
    ],
)
def test_partitions_of_a_group_are_merged_and_what_comes_out_holds(
    spark, tmp_path, monkeypatch, mode, time, arithmetic, path
):
    """Partial rows of several tasks, then rules and comparison over the result."""
    monkeypatch.setattr(file_tasks, "MOST_HERE", 0)
    settings = many(tmp_path, mode, time, arithmetic=arithmetic, path=path)
    warehouse, report = compute(spark, settings)
    rows, expected = table_rows(warehouse, "computed_aggregates"), expected_rows(settings)
    # Sums of scaled numbers depend on the order in the last digit.
    assert differences(rows, expected) == () if arithmetic == "scaled" else rows == expected
    assert {row["query"] for row in rows} == {"merged", "grouped", "whole", "beside"}
    assert any(row["aggregate"] == "COUNT(PARTITIONS)" and row["value"] > 1 for row in rows)
    assert len([task for task in report.tasks if "merged" in task.queries and task.events]) > 1
    outcomes = check_results(spark, warehouse, settings).outcomes
    assert [one for one in outcomes if not one.passed] == []
    sampled = replace(settings, sample=SampleOptions(size=600, everything_up_to=0))
    for asked in (settings, sampled):
        comparison = compare_with_greta(warehouse, asked)
        assert comparison.differences == ()
        assert comparison.compared > 50


def test_a_wrong_reach_is_found_by_the_comparison(spark, tmp_path):
    settings = many(tmp_path, "contiguous", "integers")
    warehouse, _ = compute(spark, settings)
    table = DeltaTable.forPath(spark, warehouse.path_of("computed_aggregates"))
    table.update(
        "query = 'grouped' AND aggregate = 'REACH(b)'",
        {"value": "value + 1", "exact": "string(bigint(exact) + 1)"},
    )
    sampled = replace(settings, sample=SampleOptions(size=600, everything_up_to=0))
    for asked in (settings, sampled):
        found = compare_with_greta(warehouse, asked).differences
        assert {(one.problem, one.query, one.aggregate) for one in found} == {
            (Problem.DIFFERENT, "grouped", "REACH(b)")
        }
