"""Wide tables: a query's part of the long table turned on its side, typed, in spans, and nothing else."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hamlet_core import run
from hamlet_core.errors import InvariantError
from pipelines.cli import main
from pipelines.querying import query
from pipelines.reading import ColumnOptions
from pipelines.settings import ExecuteOptions, JobSettings, NamedWorkload, Source
from pipelines.spans import Partition, Span
from pipelines.steps.publication import wide
from pipelines.steps.publication.shape import wide_name, wide_shapes
from pipelines.steps.publication.wide import publish_wide, wide_tables
from pipelines.wide import widened
from resources import tables
from resources.warehouse import Warehouse

TRICKY = (
    "plain", "", "null", None, "NULL", 'so"uth', "it's", "a/b\\c", "\\u0041", "line\nbreak\r\ttab", "nul\0end", "é", "e\u0301",
    "🚲 outside", "'; DROP TABLE events; --", "${jndi}", "{{ x }}", " ", '{"a":1}', "x" * 10_240, "\ufeff", "\u2028",
)  # fmt: skip
UTC_US = pa.timestamp("us", "UTC")
PROVENANCE = ("day", "workload", "workload_hash", "run_id", "events_version")
DAY = datetime(2026, 1, 5, tzinfo=UTC)


def events_of(columns: dict[str, pa.Array]) -> pa.Table:
    """One A and two B in each of three days, for each value of the columns."""
    rows = len(next(iter(columns.values())))
    seconds = [86_400 * day + second for day in range(3) for second in range(3)]
    times = [DAY + timedelta(seconds=second) for second in seconds]
    everything = {
        "time": pa.array([when for when in times for _ in range(rows)], UTC_US),
        "type": pa.array([kind for kind in "ABB" * 3 for _ in range(rows)]),
        "v": pa.array([float(place % 7) for place in range(9 * rows)]),
    }
    repeated = {name: pa.concat_arrays([column] * 9) for name, column in columns.items()}
    return pa.table(everything | repeated)


def settings_of(folder: Path, text: str, **execute: object) -> JobSettings:
    chosen = replace(ExecuteOptions(arithmetic="exact"), **execute)
    return JobSettings(NamedWorkload("rides", text), Source("-", ColumnOptions()), folder, execute=chosen)


def computed(settings: JobSettings, events: pa.Table, run_id: str = "run") -> pa.Table:
    """The rows that execute would write for these events."""
    workload = settings.workload
    found = run(workload.text, events, schema=settings.event_schema, arithmetic=settings.execute.arithmetic)
    labels = {"workload": "rides", "workload_hash": workload.hash, "run_id": run_id, "events_version": 7}
    rows = []
    for row in found.to_pylist():
        for name in ("window_start", "window_end"):
            if isinstance(row[name], int):
                row[name] = datetime.fromtimestamp(row[name], UTC)
        rows.append({**row, **labels, "day": (row["window_end"] - timedelta(microseconds=1)).date()})
    return pa.Table.from_pylist(rows, schema=tables.PUBLISHED.schema.remove_metadata())


def publish(
    settings: JobSettings, events: pa.Table, span: Span = Span(), run_id: str = "run"
) -> dict[str, int]:
    """Published rows as the steps before leave them, then the wide tables."""
    warehouse = Warehouse(settings.warehouse)
    deltalake.write_deltalake(warehouse.path_of("events"), events, mode="overwrite", schema_mode="overwrite")
    rows = computed(settings, events, run_id)
    deltalake.write_deltalake(warehouse.path_of(tables.PUBLISHED.name), rows, mode="overwrite")
    return publish_wide(warehouse, settings, span)


def wide_rows(warehouse: Warehouse, table: str) -> list[dict[str, object]]:
    return sorted(warehouse.rows(table).to_pylist(), key=str)


def turned(long: pa.Table, query: str) -> dict[tuple[object, ...], dict[str, object]]:
    """(window, group key) -> aggregate -> value, log2 and digits: the long table turned, plainly."""
    found: dict[tuple[object, ...], dict[str, object]] = defaultdict(dict)
    for row in long.to_pylist():
        if row["query"] == query:
            key = (row["window_start"], row["window_end"], row["group_key"])
            found[key][row["aggregate"]] = (row["value"], row["log2"], row["exact"])
    return dict(found)


KINDS = {
    "text": pa.array(TRICKY),
    "number": pa.array([0, None, -1, 2**63 - 1, -(2**63), 2**53 + 1]),
    "real": pa.array([0.1, None, -1e300, 5e-324, 3.0, 1e22, 1 / 3]),
    "flag": pa.array([True, False, None]),
    "moment": pa.array([0, None, -1, 1_767_600_000_000_001, 2**62, -(2**55)], pa.int64()).cast(pa.timestamp("us")).cast(UTC_US),
    "day_of": pa.array([date(2026, 1, 5), None, date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)]),
    "price": pa.array([Decimal("0.10"), None, Decimal("-12345678901234567890123456789012.345678"), Decimal("1.000000")], pa.decimal128(38, 6)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_group_values_come_back_in_their_own_type(tmp_path: Path, kind: str) -> None:
    events = events_of({kind: KINDS[kind]})
    settings = settings_of(
        tmp_path, f"q: RETURN COUNT(*), AVG(b.v) PATTERN SEQ(A a, B b+) GROUP-BY {kind} WITHIN 1 d"
    )
    assert publish(settings, events) == {"rides__q": 3 * len(KINDS[kind])}
    found = Warehouse(tmp_path).rows("rides__q")
    assert found.schema.field(kind).type == KINDS[kind].type
    stored, given = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
                     for column in (found.column(kind), KINDS[kind]))  # fmt: skip
    key = lambda value: (value is not None, value)  # noqa: E731
    assert sorted(stored.to_pylist(), key=key) == sorted([*given.to_pylist()] * 3, key=key)


def test_wide_rows_are_the_long_rows_turned(tmp_path: Path) -> None:
    events = events_of({"text": pa.array(TRICKY), "number": pa.array([*range(len(TRICKY))])})
    text = """
    many: RETURN text, COUNT(*), COUNT(b), SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.number)
          PATTERN SEQ(A a, B b+) GROUP-BY text, number WITHIN 2 d SLIDE 1 d
    all:  RETURN COUNT(*) PATTERN B b+ WITHIN 1 d
    """
    settings = settings_of(tmp_path, text)
    counts = publish(settings, events)
    warehouse, long = Warehouse(tmp_path), computed(settings, events)
    assert list(counts) == ["rides__many", "rides__all"]
    many = turned(long, "many")
    seen = {}
    for row in warehouse.rows("rides__many").to_pylist():
        key = json.dumps(
            {"number": row["number"], "text": row["text"]}, separators=(",", ":"), ensure_ascii=False
        )
        seen[row["window_start"], row["window_end"], key] = {
            "COUNT(*)": (row["count"], row["count_log2"], row["count_exact"]),
            "COUNT(b)": (row["count_b"], row["count_b_log2"], row["count_b_exact"]),
            "SUM(b.v)": (row["sum_b_v"], row["sum_b_v_log2"], row["sum_b_v_exact"]),
            "AVG(b.v)": (row["avg_b_v"], row["avg_b_v_exact"]),
            "MIN(b.v)": (row["min_b_v"], row["min_b_v_exact"]),
            "MAX(b.number)": (row["max_b_number"], row["max_b_number_exact"]),
        }
        assert (row["workload"], row["run_id"], row["events_version"]) == ("rides", "run", 7)
        assert row["workload_hash"] == settings.workload.hash
        assert row["day"] == (row["window_end"] - timedelta(microseconds=1)).date()
    without_log2 = ("AVG", "MIN", "MAX")
    expected = {
        place: {
            label: (numbers[0], numbers[2]) if label.startswith(without_log2) else numbers
            for label, numbers in aggregates.items()
        }
        for place, aggregates in many.items()
    }
    assert seen == expected
    assert counts == {"rides__many": len(many), "rides__all": len(turned(long, "all"))}


def test_columns_say_what_they_are(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        "q: RETURN COUNT(*), MIN(b.v) PATTERN B b+ GROUP-BY text WITHIN 1 d",
        arithmetic="scaled",
    )
    publish(settings, events_of({"text": pa.array(["x"])}))
    warehouse = Warehouse(tmp_path)
    stored = warehouse.schema("rides__q")
    comments = {field.name: (field.metadata or {}).get(b"comment", b"").decode() for field in stored}
    ours = {column.name: column.comment for column in tables.RESULT_COLUMNS}
    assert list(comments.items()) == [
        ("window_start", ours["window_start"]),
        ("window_end", ours["window_end"]),
        ("text", "GROUP-BY attribute text"),
        ("count", "COUNT(*)"),
        ("count_log2", "log2 of the absolute value of COUNT(*), finite however large it is"),
        ("min_b_v", "MIN(b.v)"),
        *((name, ours[name]) for name in ("day", "workload", "workload_hash", "run_id", "events_version")),
    ]
    assert warehouse.properties("rides__q") == {tables.WORKLOAD: "rides", tables.QUERY: "q"}
    protocol = warehouse.open("rides__q").protocol()
    assert (protocol.min_reader_version, protocol.reader_features) == (1, None)


def test_hamlet_query_knows_the_tables_and_what_their_columns_mean(tmp_path: Path) -> None:
    text = '"Müde \'; DROP": RETURN COUNT(*), AVG(b.v) PATTERN B b+ GROUP-BY text WITHIN 1 d'
    (name,) = publish(settings_of(tmp_path, text, arithmetic="scaled"), events_of({"text": pa.array(TRICKY)}))
    (about,) = query("SELECT * FROM hamlet_tables WHERE query IS NOT NULL", tmp_path).to_pylist()
    assert about["table"] == name
    assert (about["workload"], about["query"]) == ("rides", "Müde '; DROP")
    assert about["comment"] == "Query Müde '; DROP of workload rides: one row per window and group, checked."
    meant = query(
        f"SELECT comment FROM hamlet_columns WHERE \"table\" = '{name}' AND \"column\" = 'avg_b_v'", tmp_path
    )
    assert meant.to_pylist() == [{"comment": "AVG(b.v)"}]
    rows = query(f"SELECT text, count FROM {name} WHERE day = DATE '2026-01-05'", tmp_path).to_pylist()
    assert sorted(map(str, rows)) == sorted(str({"text": value, "count": 3.0}) for value in TRICKY)


def test_counts_beyond_a_double_have_their_logarithm_and_digits(tmp_path: Path) -> None:
    times = pa.array([DAY + timedelta(microseconds=number) for number in range(1_100)], UTC_US)
    events = pa.table({"time": times, "type": ["B"] * 1_100, "v": [1.0] * 1_100})
    publish(settings_of(tmp_path, "q: RETURN COUNT(*) PATTERN B+ WITHIN 1 d"), events)
    (row,) = Warehouse(tmp_path).rows("rides__q").to_pylist()
    assert (row["count"], row["count_log2"]) == (None, 1100.0)
    assert row["count_exact"] == str(2**1100 - 1)


def test_attributes_and_aggregates_named_like_our_columns(tmp_path: Path) -> None:
    names = (
        "day",
        "run_id",
        "Window_Start",
        "count",
        "sum_a_b_v",
        "workload",
        "group_day",
        "value",
        "query",
        "group_key",
    )
    events = events_of({name: pa.array([f"of {name}"]) for name in names})
    events = events.append_column("b_v", pa.array([100.0] * events.num_rows))
    text = f"""q: RETURN COUNT(*), SUM(x_b.v), SUM(x.b_v), SUM(a_b.v) PATTERN SEQ(A x, B x_b, B a_b)
               GROUP-BY {", ".join(names)} WITHIN 1 d"""
    publish(settings_of(tmp_path, text, arithmetic="scaled"), events)
    stored = Warehouse(tmp_path).schema("rides__q").names
    assert len({name.lower() for name in stored}) == len(stored)
    row = Warehouse(tmp_path).rows("rides__q").sort_by("day").to_pylist()[0]
    kept = ("count", "sum_a_b_v", "group_day", "value", "query", "group_key")
    assert {name: row[name] for name in kept} == {name: f"of {name}" for name in kept}
    renamed = ("day_2", "run_id", "Window_Start", "workload")
    assert {row[f"group_{name}"] for name in renamed} == {
        "of day",
        "of run_id",
        "of Window_Start",
        "of workload",
    }
    # Aggregates give way to attributes, and two whose names simplify to one are numbered.
    assert (row["count_2"], row["run_id"], row["workload"]) == (1.0, "run", "rides")
    assert (row["sum_x_b_v"], row["sum_x_b_v_2"], row["sum_a_b_v_2"]) == (1.0, 100.0, 2.0)


def test_type_and_time_as_groups(tmp_path: Path) -> None:
    events = events_of({"g": pa.array(["x"])})
    settings = settings_of(tmp_path, "q: RETURN COUNT(*) PATTERN (A OR B) GROUP-BY time, type WITHIN 1 d")
    publish(settings, events)
    found = Warehouse(tmp_path).rows("rides__q")
    assert found.schema.field("time").type == UTC_US
    seen = {(row["time"], row["type"]) for row in found.to_pylist()}
    assert seen == set(zip(*(events.column(name).to_pylist() for name in ("time", "type")), strict=True))


def test_integer_time_counts_from_the_epoch(tmp_path: Path) -> None:
    events = pa.table({"time": [-1, 0, 61, 62], "type": ["B"] * 4, "g": [None, "null", "null", None]})
    settings = settings_of(tmp_path, "q: RETURN COUNT(*) PATTERN B+ GROUP-BY time, g WITHIN 1 min")
    publish(settings, events)
    rows = Warehouse(tmp_path).rows("rides__q").to_pylist()
    assert [(row["window_start"].timestamp(), row["time"], row["g"]) for row in rows] == [
        (-60.0, -1, None), (0.0, 0, "null"), (60.0, 61, "null"), (60.0, 62, None),
    ]  # fmt: skip


def span(first: int, days: int) -> Span:
    """Partitions of a day each."""
    starts = [DAY + timedelta(days=first + day) for day in range(days)]
    return Span(tuple(Partition(f"{start:%F}", start, start + timedelta(days=1)) for start in starts))


Q = "q: RETURN COUNT(*) PATTERN B b+ GROUP-BY g WITHIN 6 h"


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    settings, events = settings_of(tmp_path, Q), events_of({"g": pa.array(["x", None])})
    publish(settings, events)
    warehouse = Warehouse(tmp_path)
    first = wide_rows(warehouse, "rides__q")
    assert len(first) == 6
    for part in (Span(), span(0, 1), span(1, 2), span(5, 3)):
        assert publish_wide(warehouse, settings, part) == {"rides__q": 6}
        assert wide_rows(warehouse, "rides__q") == first


def test_a_span_replaces_exactly_its_windows(tmp_path: Path) -> None:
    settings, events = settings_of(tmp_path, Q), events_of({"g": pa.array(["x", None])})
    publish(settings, events, run_id="first")
    publish(settings, events, span(1, 1), run_id="second")
    seen = {(row["day"].day, row["run_id"]) for row in wide_rows(Warehouse(tmp_path), "rides__q")}
    assert seen == {(5, "first"), (6, "second"), (7, "first")}
    publish(settings, events.slice(0, 6), span(1, 2), run_id="third")
    seen = {(row["day"].day, row["run_id"]) for row in wide_rows(Warehouse(tmp_path), "rides__q")}
    assert seen == {(5, "first")}


def test_an_edited_query_has_its_table_made_anew_from_all_that_is_published(tmp_path: Path) -> None:
    events = events_of({"g": pa.array(["x", None]), "h": pa.array(["y", "z"])})
    publish(settings_of(tmp_path, Q), events)
    edited = settings_of(tmp_path, Q.replace("COUNT(*)", "COUNT(*), MAX(b.v)"))
    publish(edited, events, span(2, 1))
    warehouse = Warehouse(tmp_path)
    assert len(wide_rows(warehouse, "rides__q")) == 6
    assert all(row["max_b_v"] is not None for row in wide_rows(warehouse, "rides__q"))
    version = warehouse.version("rides__q")
    publish(settings_of(tmp_path, Q.replace("BY g", "BY h")), events, span(2, 1))
    assert {row["h"] for row in wide_rows(warehouse, "rides__q")} == {"y", "z"}
    assert "g" not in warehouse.schema("rides__q").names
    assert warehouse.version("rides__q") == version + 1


def test_published_rows_of_an_older_grouping_are_left_out(tmp_path: Path) -> None:
    events = events_of({"g": pa.array(["x"]), "h": pa.array(["y"])})
    old = settings_of(tmp_path, Q)
    publish(old, events)
    warehouse, new = Warehouse(tmp_path), settings_of(tmp_path, Q.replace("BY g", "BY g, h"))
    later = computed(new, events.slice(6))
    deltalake.write_deltalake(warehouse.path_of(tables.PUBLISHED.name), later, mode="append")
    publish_wide(warehouse, new, span(2, 1))
    assert [(row["g"], row["h"], row["day"].day) for row in wide_rows(warehouse, "rides__q")] == [
        ("x", "y", 7)
    ]


def test_a_query_that_left_the_workload_leaves_an_empty_table(tmp_path: Path) -> None:
    events = events_of({"g": pa.array(["x"])})
    publish(settings_of(tmp_path, Q + "\nother: RETURN COUNT(*) PATTERN A WITHIN 1 d"), events)
    warehouse = Warehouse(tmp_path)
    assert wide_tables(warehouse, "rides") == {"q": "rides__q", "other": "rides__other"}
    publish(settings_of(tmp_path, Q), events)
    assert (warehouse.count("rides__q"), warehouse.count("rides__other")) == (3, 0)
    assert wide_tables(warehouse, "ride") == {}


def test_many_rows_are_taken_query_by_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = events_of({"g": pa.array(["x", "y"])})
    text = "\n".join(f"q{n}: RETURN COUNT(*) PATTERN B b+ GROUP-BY g WITHIN {n} h" for n in (1, 2, 3))
    settings = settings_of(tmp_path, text)
    monkeypatch.setattr(wide, "ROWS_AT_ONCE", 5)
    assert publish(settings, events) == {"rides__q1": 6, "rides__q2": 6, "rides__q3": 6}


def test_a_table_of_another_query_is_never_written(tmp_path: Path) -> None:
    events, settings = events_of({"g": pa.array(["x"])}), settings_of(tmp_path, Q)
    deltalake.DeltaTable.create(
        str(tmp_path / "rides__q"),
        pa.schema([("x", pa.int64())]),
        configuration={tables.WORKLOAD: "other"},
        raise_if_key_not_exists=False,
    )
    with pytest.raises(InvariantError) as raised:
        publish(settings, events)
    assert raised.value.code == "E913"


def test_names_are_typed_without_quotes_and_never_shared() -> None:
    pairs = [
        ("a", "b"), ("a", "B"), ("A", "b"), ("a_b", "c"), ("a", "b_c"), ("a__b", "c"), ("a", "b__c"), ("a-b", "c"), ("a.b", "c"),
        ("ab", "-c"), ("a", "größe"), ("a", "grosse"), ("a", "東京"), ("a", "大阪"), ("1", "2"), ("a", ""), ("a", " "), ("a", "x" * 200),
        ("a", "x" * 201), ("a" * 100, "b"), ("a", 'x"; DROP TABLE y'), ("a", "../../etc"), ("a", "q_"), ("a", "_q"),
    ]  # fmt: skip
    names = [wide_name(*pair) for pair in pairs]
    assert len({name.lower() for name in names}) == len(pairs)
    assert [name for name in names if not name.isidentifier() or not name.isascii() or len(name) > 100] == []
    assert names[0] == "a__b"


@pytest.mark.parametrize("arithmetic", ["exact", "scaled"])
def test_wide_results_of_a_run_are_the_published_table_without_its_provenance(
    tmp_path: Path, arithmetic: str
) -> None:
    text = "q: RETURN COUNT(*), AVG(b.v), MAX(b.number) PATTERN SEQ(A a, B b+) GROUP-BY text, moment, number WITHIN 1 d"
    values = {
        "text": pa.array([*TRICKY[1:4], "x"]), "moment": KINDS["moment"].slice(0, 4), "number": pa.array([1, None, 3, 4]),
    }  # fmt: skip
    events = events_of(values)
    publish(settings_of(tmp_path, text, arithmetic=arithmetic), events)
    pq.write_table(events, tmp_path / "events.parquet")
    (tmp_path / "rides.hamlet").write_text(text, encoding="utf-8")
    given = [str(tmp_path / "rides.hamlet"), "--events", str(tmp_path / "events.parquet")]
    shape = [
        "--wide",
        "--format",
        "parquet",
        "--out",
        str(tmp_path / "q.parquet"),
        "--arithmetic",
        arithmetic,
    ]
    assert main(["run", *given, *shape]) == 0
    found = pq.read_table(tmp_path / "q.parquet")
    published = Warehouse(tmp_path).rows("rides__q")
    assert found.num_rows == 12
    assert found.schema.names == published.schema.names[: -len(PROVENANCE)]
    assert published.schema.names[-len(PROVENANCE) :] == list(PROVENANCE)
    kept = published.drop_columns(list(PROVENANCE))
    assert found.schema.remove_metadata() == kept.schema.remove_metadata()
    assert found.field("count").metadata == {b"comment": b"COUNT(*)"}
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, kept.to_pylist()))


def test_a_shape_is_known_before_any_run(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, Q)
    (shape,) = wide_shapes(settings, pa.schema([("g", pa.int64())]))
    assert [column.name for column in shape.table.columns][2] == "g"
    assert shape.group_by == {"g"}


OVER_TRENDS = """
q: RETURN COUNT(*), COUNT(PARTITIONS), COUNT(DISJOINT), REACH(x), COUNT(partitions), SUM(DURATION), AVG(DURATION), MIN(DURATION),
          MAX(DURATION), SUM(partitions.v), REACH(B), AVG(partitions.v)
   PATTERN SEQ(A x, B partitions+) WHERE [k] GROUP-BY count_disjoint WITHIN 1 d
"""


def test_aggregates_over_trends_have_columns_like_all_others(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, OVER_TRENDS)
    (shape,) = wide_shapes(settings, pa.schema([("count_disjoint", pa.string()), ("k", pa.int64())]))
    columns = {column.name: column.comment for column in shape.table.columns if column.type == pa.float64()}
    assert {name: comment for name, comment in columns.items() if not name.endswith("_log2")} == {
        "count": "COUNT(*)", "count_partitions": "COUNT(PARTITIONS)", "count_disjoint_2": "COUNT(DISJOINT)", "reach_x": "REACH(x)",
        "count_partitions_2": "COUNT(partitions)", "sum_duration": "SUM(DURATION)", "avg_duration": "AVG(DURATION)",
        "min_duration": "MIN(DURATION)", "max_duration": "MAX(DURATION)", "sum_partitions_v": "SUM(partitions.v)",
        "reach_B": "REACH(B)", "avg_partitions_v": "AVG(partitions.v)",
    }  # fmt: skip
    assert {name.removesuffix("_log2") for name in columns if name.endswith("_log2")} == {
        "count", "count_partitions", "count_disjoint_2", "reach_x", "count_partitions_2", "sum_duration", "sum_partitions_v", "reach_B",
    }  # fmt: skip
    exact = [column.name for column in shape.table.columns if column.name.endswith("_exact")]
    assert {f"{name}_exact" for name in columns if not name.endswith("_log2")} == set(exact)


def test_a_row_that_only_a_reach_brings_is_turned_like_any_other(tmp_path: Path) -> None:
    """COUNT and SUM are 0 there, AVG, MIN and MAX have nothing."""
    text = "q: RETURN REACH(a), COUNT(*), SUM(b.v), AVG(b.v), MAX(DURATION), COUNT(PARTITIONS) PATTERN SEQ(A a, B b) GROUP-BY g WITHIN 1 d"
    settings = settings_of(tmp_path, text)
    (shape,) = wide_shapes(settings, pa.schema([("g", pa.string())]))
    zero, nothing = (0.0, 0, None, "0"), (None, None, None, None)
    numbers = {
        "REACH(a)": (2.0, 1, 1.0, "2"), "COUNT(*)": zero, "SUM(b.v)": zero, "AVG(b.v)": nothing, "MAX(DURATION)": nothing,
        "COUNT(PARTITIONS)": zero,
    }  # fmt: skip
    place = {
        "query": "q", "window_start": DAY, "window_end": DAY + timedelta(days=1), "group_key": '{"g":null}', "workload": "rides",
        "workload_hash": "h", "run_id": "r", "events_version": 1, "day": DAY.date(),
    }  # fmt: skip
    rows = [
        {**place, "aggregate": label, **dict(zip(("value", "sign", "log2", "exact"), known, strict=True))}
        for label, known in numbers.items()
    ]
    (row,) = widened(pa.Table.from_pylist(rows, tables.PUBLISHED.schema.remove_metadata()), shape).to_pylist()
    assert {name: row[name] for name in row if not name.endswith("_log2") and name not in place} == {
        "g": None, "reach_a": 2.0, "reach_a_exact": "2", "count": 0.0, "count_exact": "0", "sum_b_v": 0.0, "sum_b_v_exact": "0",
        "avg_b_v": None, "avg_b_v_exact": None, "max_duration": None, "max_duration_exact": None, "count_partitions": 0.0,
        "count_partitions_exact": "0",
    }  # fmt: skip
    assert (row["count_log2"], row["sum_b_v_log2"], row["reach_a_log2"]) == (None, None, 1.0)
