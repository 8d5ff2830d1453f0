"""Every Great Expectations rule can turn red: one bad row each, and a table without one stays green."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from pipelines.checks.event_rules import event_rules
from pipelines.checks.events import check_events
from pipelines.checks.group_rules import Operand, group_rules
from pipelines.checks.ledger_rules import CONTENT_RULES, ENTRIES, file_rules
from pipelines.checks.result_rules import result_rules
from pipelines.checks.results import outcomes_of
from pipelines.checks.rows import Rows
from pipelines.checks.rules import NotNullRule, RowRule, TypeRule, UniqueRule
from pipelines.checks.suites import run_rules
from pipelines.checks.trend_rules import trend_rules
from pipelines.expectations import ColumnExpectation, ColumnType, ExpectationError, Expectations
from pipelines.settings import Source
from pipelines.steps.execution.merging import RESULT_SCHEMA
from pipelines.steps.ingestion.ingest import Needs, ingest
from resources.warehouse import Warehouse, values
from tests.spark.pipeline_cases import expected_rows, settings_for, stream, write_csv

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
PRIME = 2**61 - 1
TEXT = """
few: RETURN g, COUNT(*) PATTERN A a GROUP-BY g WITHIN 1 d
all: RETURN g, COUNT(*), COUNT(a), SUM(a.v), AVG(a.v), MIN(a.v), MAX(a.v) PATTERN A a+ GROUP-BY g WITHIN 1 d
funnel: RETURN g, COUNT(*), COUNT(PARTITIONS), COUNT(DISJOINT), REACH(a), REACH(b), SUM(DURATION), AVG(DURATION), MIN(DURATION),
               MAX(DURATION), COUNT(b) PATTERN SEQ(A a, B b) WHERE [k] GROUP-BY g WITHIN 1 d
alone: RETURN g, COUNT(PARTITIONS), REACH(a) PATTERN A a GROUP-BY g WITHIN 1 d
"""
V = Operand("a", "v", "A")
ALL = {"COUNT(*)": 4.0, "COUNT(a)": 4.0, "SUM(a.v)": 10.0, "AVG(a.v)": 2.5, "MIN(a.v)": 1.0, "MAX(a.v)": 4.0}
FUNNEL = {
    "COUNT(*)": 4.0, "COUNT(PARTITIONS)": 2.0, "COUNT(DISJOINT)": 3.0, "REACH(a)": 5.0, "REACH(b)": 2.0, "SUM(DURATION)": 10.0,
    "AVG(DURATION)": 2.5, "MIN(DURATION)": 1.0, "MAX(DURATION)": 4.0, "COUNT(b)": 4.0,
}  # fmt: skip
NOTHING = {"value": None, "sign": None, "log2": None, "exact": None, "fingerprint": None}


def number(value: float, arithmetic: str, aggregate: str) -> dict[str, object]:
    """A value with everything that goes with it."""
    counted = aggregate.startswith(("COUNT", "SUM", "REACH"))
    return {
        "value": value,
        "sign": int(math.copysign(1, value)) if value else 0,
        "log2": math.log2(abs(value)) if value else None,
        "exact": str(Fraction(value)) if arithmetic == "exact" else None,
        "fingerprint": int(value) % PRIME if arithmetic == "modular" and counted else None,
    }


def one(tag: str, arithmetic: str = "exact", **changes: object) -> list[dict[str, object]]:
    """The one row of a group of the query `few`."""
    sound = {
        "query": "few", "window_start": START, "window_end": START + DAY, "group_key": tag, "aggregate": "COUNT(*)",
        "workload": "test", "day": START.date(), **number(4.0, arithmetic, "COUNT"),
    }  # fmt: skip
    return [{**sound, **changes}]


def group(tag: str, arithmetic: str = "exact", **changes: object) -> list[dict[str, object]]:
    """The rows of a group of the query `all`; `changes` by function, a number or columns."""
    rows = []
    for aggregate, value in ALL.items():
        change = changes.get(aggregate.split("(")[0], value) if aggregate != "COUNT(*)" else value
        told = change if isinstance(change, dict) else number(change, arithmetic, aggregate)
        rows += one(tag, arithmetic, query="all", aggregate=aggregate, **told)
    return rows


def funnel(
    tag: str, arithmetic: str = "exact", changes: dict[str, object] | None = None
) -> list[dict[str, object]]:
    """The rows of a group of the query `funnel`; `changes` by aggregate, a number or columns."""
    rows = []
    for aggregate, value in {**FUNNEL, **(changes or {})}.items():
        told = value if isinstance(value, dict) else number(value, arithmetic, aggregate)
        rows += one(tag, arithmetic, query="funnel", aggregate=aggregate, **told)
    return rows


def alone(tag: str, arithmetic: str = "exact", reach: float = 1.0) -> list[dict[str, object]]:
    """The rows of a group of the query `alone`."""
    labels = {"COUNT(PARTITIONS)": 1.0, "REACH(a)": reach}
    told = [(label, number(value, arithmetic, label)) for label, value in labels.items()]
    return [
        row
        for label, columns in told
        for row in one(tag, arithmetic, query="alone", aggregate=label, **columns)
    ]


NOBODY = {
    "COUNT(*)": 0.0, "COUNT(PARTITIONS)": 0.0, "COUNT(DISJOINT)": 0.0, "REACH(b)": 0.0, "SUM(DURATION)": 0.0,
    "AVG(DURATION)": NOTHING, "MIN(DURATION)": NOTHING, "MAX(DURATION)": NOTHING, "COUNT(b)": 0.0,
}  # fmt: skip
"""What a window without a trend has."""

# The rule -> rows of a group against it; the name of the group is the name of the rule.
BROKEN = {
    "query is known": one("query is known", query=None),
    "window_start is known": one("window_start is known", window_start=None),
    "window_end is known": one("window_end is known", window_end=None),
    "group_key is known": one("group_key is known", group_key=None),
    "aggregate is known": one("aggregate is known", aggregate=None),
    "windows have a length": one("windows have a length", window_end=START, day=date(2025, 12, 31)),
    "day fits window": one("day fits window", day=date(2026, 1, 2)),
    "a row is a trend": one("a row is a trend", value=0.0, sign=0, log2=None, exact="0"),
    "counts are counts": group("counts are counts", COUNT=-4.0),
    "numbers are finite": group("numbers are finite", MAX={**NOTHING, "value": math.inf, "sign": 1, "log2": math.inf}),
    "sign fits value": group("sign fits value", MAX={**number(4.0, "", ""), "sign": -1}),
    "log2 fits value": group("log2 fits value", MAX={**number(4.0, "", ""), "log2": 2.1}),
    "nothing or too large": group("nothing or too large", MAX={**NOTHING, "sign": 1, "log2": 5.0}),
    "query is the workload's": one("query is the workload's", query="another"),
    "window is the query's": one(
        "window is the query's", window_start=START + DAY / 2, window_end=START + 3 * DAY / 2, day=date(2026, 1, 2)
    ),
    "counts have digits": one("counts have digits", exact=None),
    "digits fit value": group("digits fit value", SUM={**number(10.0, "exact", ""), "exact": "11"}),
    "no residues": one("no residues", fingerprint=4),
    "no digits": one("no digits", "modular", exact="4"),
    "residues in range": one("residues in range", "modular", fingerprint=PRIME),
    "residues fit counts": one("residues fit counts", "modular", fingerprint=5),
    "one row a key": [*group("one row a key"), *group("one row a key")[2:3]],
    "complete": group("complete")[:-1],
    "MIN <= AVG <= MAX": group("MIN <= AVG <= MAX", MIN=2.75),
    "nothing is nothing": group("nothing is nothing", MIN=NOTHING),
    "SUM = AVG * COUNT": group("SUM = AVG * COUNT", COUNT=5.0),
    "SUM between extremes": group("SUM between extremes", SUM=17.0, AVG=4.0, COUNT=4.0),
    "whole numbers": funnel("whole numbers", changes={"REACH(a)": 5.5}),
    "a partition a group": alone("a partition a group", reach=2.0),
    "durations fit windows": funnel("durations fit windows", changes={"MAX(DURATION)": 86_400.0}),
    "durations have digits": funnel(
        "durations have digits", changes={"MIN(DURATION)": {**number(1.0, "exact", ""), "exact": "1.0"}}
    ),
    "trends or none": funnel("trends or none", changes={"COUNT(PARTITIONS)": 0.0}),
    "no trend, no numbers": funnel("no trend, no numbers", changes={**NOBODY, "REACH(a)": 0.0}),
    "PARTITIONS <= DISJOINT <= trends": funnel("PARTITIONS <= DISJOINT <= trends", changes={"COUNT(DISJOINT)": 5.0}),
    "REACH never grows": funnel("REACH never grows", changes={"REACH(b)": 6.0}),
    "COUNT(PARTITIONS) <= REACH": funnel("COUNT(PARTITIONS) <= REACH", changes={"REACH(b)": 1.0}),
}  # fmt: skip
MODULAR = {"no digits", "residues in range", "residues fit counts"}

# Rows against a rule, where not only its own is: some wrong rows cannot but be wrong twice.
MORE = {
    "log2 fits value": 2,
    "window is the query's": 2,
    "counts have digits": 3,
    "complete": 4,
    "SUM = AVG * COUNT": 2,
    "SUM between extremes": 2,
    "residues fit counts": 2,
}


def sound(arithmetic: str) -> list[dict[str, object]]:
    """Everything that can be."""
    huge = {"value": None, "sign": 1, "log2": 5000.25, "exact": None, "fingerprint": None}
    if arithmetic == "exact":
        huge |= {"exact": str(round(2**0.25 * 10**15) * 2**5000 // 10**15)}
    if arithmetic == "modular":
        huge |= {"fingerprint": 7}
    return [
        *one("o1", arithmetic),
        *one("o2", arithmetic, **huge),
        *group("g1", arithmetic),
        *group("g2", arithmetic, COUNT=huge, SUM={**huge, "log2": 5000.25 + math.log2(2.5)} | (
            {"exact": str(int(huge["exact"]) * 5 // 2)} if arithmetic == "exact" else {})),
        *group("nothing", arithmetic, SUM=0.0, AVG=NOTHING, MIN=NOTHING, MAX=NOTHING),
        *group("negative", arithmetic, SUM=-10.0, AVG=-2.5, MIN=-4.0, MAX=-1.0),
        *group("zero", arithmetic, SUM=0.0, AVG=0.0, MIN=-1.0, MAX=1.0),
        *funnel("f1", arithmetic),
        *funnel("nobody", arithmetic, {**NOBODY, "REACH(a)": 3.0}),
        *funnel("moments", arithmetic, dict.fromkeys(("SUM(DURATION)", "AVG(DURATION)", "MIN(DURATION)", "MAX(DURATION)"), 0.0)),
        *funnel("to the end", arithmetic, {"MIN(DURATION)": 0.0, "MAX(DURATION)": last(arithmetic)}),
        *funnel("many", arithmetic, {
            "COUNT(*)": huge, "COUNT(b)": huge, "SUM(DURATION)": {**huge, "log2": 5000.25 + math.log2(2.5)} | (
                {"exact": str(int(huge["exact"]) * 5 // 2)} if arithmetic == "exact" else {}),
        }),
        *alone("p1", arithmetic),
        *([] if arithmetic == "exact" else
          group("cancelled", arithmetic, SUM={**number(1e-9, "", ""), "sign": None}, AVG={**number(1e-9, "", ""), "sign": None},
                MIN=-8.0, MAX=8.0)),
    ]  # fmt: skip


def last(arithmetic: str) -> dict[str, object]:
    """A microsecond less than the window."""
    digits = "86399.999999" if arithmetic == "exact" else None
    return {**number(86_399.999999, "", ""), "exact": digits}


def outcomes(spark, rows, arithmetic="exact", complete=frozenset({V}), *, few=True):
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    settings = settings_for(Path("none"), Path("none"), text=TEXT, arithmetic=arithmetic)
    return {found.rule: found for found in outcomes_of(Rows(frame, few), settings, complete)}


def test_every_rule_on_results_has_rows_against_it():
    plans = settings_for(Path("none"), Path("none"), text=TEXT).workload.plans
    ours = {rule.name for kind in ("exact", "modular", "scaled") for rule in result_rules(plans, 0, kind)}
    assert ours | {rule.name for rule in (*group_rules(plans), *trend_rules(plans))} == BROKEN.keys()


@pytest.mark.parametrize(("arithmetic", "few"), [("exact", True), ("exact", False), ("modular", True)])
def test_rules_on_results_turn_red_for_their_row(spark, arithmetic, few):
    asked = {name: rows for name, rows in BROKEN.items() if (name in MODULAR) == (arithmetic == "modular")}
    rows = [*sound(arithmetic), *(row for rows in asked.values() for row in rows)]
    found = outcomes(spark, rows, arithmetic, few=few)
    for name, rows in asked.items():
        assert not found[name].passed, name
        assert found[name].broken == MORE.get(name, 1), found[name]
        assert (rows[0]["group_key"] or "query=few") in "; ".join(found[name].examples)


@pytest.mark.parametrize("arithmetic", ["exact", "modular", "scaled"])
def test_rules_on_results_accept_everything_that_can_be(spark, arithmetic):
    found = outcomes(spark, sound(arithmetic), arithmetic)
    assert [one for one in found.values() if not one.passed] == []


LEAST, LEAST_NORMAL = 5e-324, 2.2250738585072014e-308
TINY = [
    (0.0, LEAST, 0.0),
    (2 * LEAST, -LEAST, 0.0, 0.0),
    (1e-310, 3e-310, 7e-320, 3 * LEAST),
    (0.0, LEAST_NORMAL, LEAST),
]
"""Values of the first event of a group, and of those that follow: their averages lie between the doubles there are."""


@pytest.mark.parametrize("arithmetic", ["scaled", "exact"])
def test_rules_accept_averages_too_small_for_a_double(spark, tmp_path, arithmetic):
    """As SEMANTICS 8 has it: the value is rounded, to 0 if need be, and sign and log2 are those of the number."""
    pattern = "PATTERN SEQ(A a, B b+) WHERE [g] GROUP-BY g WITHIN 1 d"
    text = f"all: RETURN g, COUNT(*), COUNT(b), SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v) {pattern}"
    events = [
        ("AB"[place > 0], str(group), v)
        for group, values in enumerate(TINY)
        for place, v in enumerate(values)
    ]
    types, groups, values = zip(*events, strict=True)
    table = pa.table(
        {"time": range(len(events)), "type": types, "g": groups, "v": pa.array(values, pa.float64())}
    )
    settings = settings_for(
        write_csv(table, tmp_path / "events.csv"), tmp_path, text=text, arithmetic=arithmetic
    )
    rows = [{**row, "workload": "test", "day": row["window_start"].date()} for row in expected_rows(settings)]
    tiny = [row for row in rows if row["value"] == 0.0 and row["sign"]]
    assert len(tiny) > 1
    assert {row["sign"] for row in tiny} == {1, -1}
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    operand = frozenset({Operand("b", "v", "B")})
    assert [one for one in outcomes_of(Rows(frame, few=False), settings, operand) if not one.passed] == []


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("sign fits value", {"value": 0.0, "sign": 1, "log2": -1074.0}),
        ("sign fits value", {"value": 0.0, "sign": 1, "log2": None}),
        ("log2 fits value", {"value": 0.0, "sign": 0, "log2": -1080.0}),
        ("log2 fits value", {"value": LEAST, "sign": 1, "log2": -1072.0}),
        ("log2 fits value", {"value": LEAST_NORMAL, "sign": 1, "log2": -1021.99}),
    ],
)
def test_numbers_near_zero_still_have_to_fit(spark, rule, changes):
    assert not outcomes(spark, group("tiny", "scaled", AVG={**NOTHING, **changes}), "scaled")[rule].passed


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("durations fit windows", {"MIN(DURATION)": -1.0}),
        ("durations fit windows", {"AVG(DURATION)": 86_401.0}),
        ("durations fit windows", {"SUM(DURATION)": NOTHING}),
        ("no trend, no numbers", {**NOBODY, "SUM(DURATION)": 1.0}),
        ("trends or none", {"AVG(DURATION)": NOTHING, "MIN(DURATION)": NOTHING, "MAX(DURATION)": NOTHING}),
        ("trends or none", {"COUNT(b)": 0.0}),
        ("PARTITIONS <= DISJOINT <= trends", {"COUNT(DISJOINT)": 1.0}),
        ("MIN <= AVG <= MAX", {"MIN(DURATION)": 3.0}),
        ("SUM = AVG * COUNT", {"COUNT(*)": 5.0}),
        ("SUM between extremes", {"SUM(DURATION)": 17.0, "AVG(DURATION)": 4.0}),
        ("counts are counts", {"COUNT(*)": 0.5}),
        ("whole numbers", {"COUNT(PARTITIONS)": NOTHING}),
    ],
)
def test_aggregates_over_trends_have_to_fit_one_another(spark, rule, changes):
    assert not outcomes(spark, funnel("wrong", "scaled", changes), "scaled")[rule].passed


def test_residues_of_reaches_and_durations_have_to_be_there(spark):
    for label in ("REACH(a)", "SUM(DURATION)", "COUNT(PARTITIONS)"):
        told = {**number(FUNNEL[label], "modular", label), "fingerprint": None}
        assert not outcomes(spark, funnel("none", "modular", {label: told}), "modular")[
            "residues in range"
        ].passed


@pytest.mark.parametrize(
    ("unit", "longest"), [(1_000_000, 86_399.0), (3_600_000_000, 23.0), (1, 86_399_999_999.0)]
)
def test_durations_count_the_unit_of_an_integer_time(spark, unit, longest):
    settings = settings_for(Path("none"), Path("none"), text=TEXT, arithmetic="scaled")
    for most, fits in ((longest, True), (longest + 1, False)):
        rows = funnel("f", "scaled", {"MAX(DURATION)": most})
        frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
        found = {
            one.rule: one.passed for one in outcomes_of(Rows(frame, few=False), settings, frozenset(), unit)
        }
        assert found["durations fit windows"] == fits


def test_a_sum_of_fewer_values_than_events_is_right_only_where_values_may_be_missing(spark):
    fewer = group("fewer", COUNT=6.0)
    assert not outcomes(spark, fewer)["SUM = AVG * COUNT"].passed
    assert outcomes(spark, fewer, complete=frozenset())["SUM = AVG * COUNT"].passed
    assert not outcomes(spark, group("more", COUNT=3.0), complete=frozenset())["SUM = AVG * COUNT"].passed


EXPECTED = Expectations(
    columns=(
        ColumnExpectation("v", ColumnType.INTEGER, 0, 19, most_null=0.5),
        ColumnExpectation("w", ColumnType.NUMBER, low=-1.25),
        ColumnExpectation("event_time", high=datetime(9000, 1, 1, tzinfo=UTC)),
    ),
    unique=(("time", "type", "k", "g", "v"), ("w",)),
    most_duplicates=0.2,
    ahead=timedelta(days=365),
)


@pytest.fixture(scope="module")
def warehouse(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    ingested = Warehouse(folder / "warehouse")
    rows = stream(40)
    for number, part in enumerate((rows.slice(0, 30), rows.slice(30))):
        write_csv(part, folder / f"events/{number}.csv")
    ingest(
        spark,
        ingested,
        Source(str(folder / "events")),
        Needs(partitions=(frozenset({"k"}),), read=frozenset({"k", "v"})),
    )
    return ingested


# The rule -> what is wrong with the row, or with the whole table: rows instead of one, a column of another type.
BROKEN_EVENTS: dict[str, dict[str, object]] = {
    "event_time is known": {"event_time": None},
    "event_type is known": {"event_type": None},
    "source_file is known": {"source_file": None},
    "ingested_at is known": {"ingested_at": None},
    "day fits time": {"day": date(2001, 1, 1)},
    "bucket fits key": {"bucket": 2},
    "years 1 to 9999": {
        "event_time": 10_000 * 365 * 86_400 * 1_000_000
    },  # beyond what Python's datetime can say
    "time fits source": {"time": 2**62},
    "type fits source": {"type": "other"},
    "numbers are finite": {"w": math.nan},
    "range of v": {"v": 20},
    "range of w": {"w": -1.5},
    "range of event_time": {"event_time": datetime(9001, 1, 1, tzinfo=UTC)},
    "not ahead of its ingest": {"ingested_at": datetime(1900, 1, 1, tzinfo=UTC)},
}
BROKEN_TABLES = {
    "values in v": {"v": None},
    "few copies": {},
    "time, type, k, g, v unique": {},
    "w unique": {},
}
TYPES = ("event_time", "event_type", "source_file", "ingested_at", "day", "bucket", "v", "w")


def rules_of(warehouse, expectations=EXPECTED):
    return event_rules(warehouse.schema("events"), warehouse.properties("events"), expectations)


def with_rows(spark, warehouse, changes):
    table = warehouse.rows("events")
    good = table.slice(0, 1).to_pylist()[0]
    added = pa.Table.from_pylist([{**good, **change} for change in changes], schema=table.schema)
    return warehouse.read(spark, "events").unionByName(spark.createDataFrame(added))


def test_every_rule_on_events_has_something_against_it(warehouse):
    ours = {f"type of {name}" for name in TYPES} | BROKEN_EVENTS.keys() | BROKEN_TABLES.keys()
    assert {rule.name for rule in rules_of(warehouse)} == ours


def test_rules_on_events_turn_red_for_their_row(spark, warehouse):
    frame = with_rows(spark, warehouse, [{"g": name, **change} for name, change in BROKEN_EVENTS.items()])
    found = {one.rule: one for one in run_rules(frame, "events", rules_of(warehouse))}
    for name in BROKEN_EVENTS:
        assert not found[name].passed, name
        assert name in "; ".join(found[name].examples), found[name]
    assert found["range of v"].examples[0].startswith("v=")
    assert found["range of v"].declared
    assert not found["day fits time"].declared


def test_rules_on_shares_and_keys_turn_red(spark, warehouse):
    for name, change in BROKEN_TABLES.items():
        rules = [rule for rule in rules_of(warehouse) if rule.name == name]
        (found,) = run_rules(with_rows(spark, warehouse, [change] * 60), "events", rules)
        assert not found.passed, name
        assert found.broken, name


def test_rules_on_types_turn_red_and_other_rules_survive_it(spark, warehouse):
    frame = warehouse.read(spark, "events")
    for name in TYPES:
        kind = "timestamp" if name in ("event_type", "source_file") else "string"
        retyped = frame.withColumn(name, frame[name].cast(kind) if kind == "string" else frame["event_time"])
        rules = [rule for rule in rules_of(warehouse) if rule.name == f"type of {name}"]
        (found,) = run_rules(retyped, "events", rules)
        assert (found.passed, found.examples) == (False, (f"the type is {kind}",))
    found = {one.rule: one for one in run_rules(frame.drop("day", "v"), "events", rules_of(warehouse))}
    assert not found["type of day"].passed
    assert "cannot be asked" in found["day fits time"].examples[0]
    assert not found["time, type, k, g, v unique"].passed
    assert found["years 1 to 9999"].passed


def test_rules_on_events_accept_what_was_ingested(spark, warehouse):
    found = check_events(spark, warehouse)
    assert [one for one in found.outcomes if not one.passed] == []
    assert found.rows == 40
    declared = replace(EXPECTED, unique=(), columns=EXPECTED.columns[:2])
    assert [one for one in check_events(spark, warehouse, declared).outcomes if not one.passed] == []


# The rule -> changes of a row of ENTRIES that is all right.
CONTENT = {"entry": "day", "source_file": "a.csv", "ingested_at": START, "day": START.date(), "known": True, "rows": 3,
           "rows_of_the_file": 3, "checksum": 5, "checksum_of_the_file": 5}  # fmt: skip
BROKEN_CONTENTS = {
    "every ingest is known": {"known": False, "rows_of_the_file": None, "checksum_of_the_file": None},
    "rows add up": {"rows": 4, "checksum": 6},
    "no event has changed": {"checksum": 6},
}
FILE = {
    "entry": "file",
    "source_file": "a.csv",
    "ingested_at": START,
    "rows": 9,
    "rejected": 9,
    "same_content": 1,
    "same_events": 1,
}
BROKEN_FILES = {
    "no content twice": {"same_content": 2},
    "no events twice": {"same_events": 2},
    "enough rows are events": {"rejected": 1000},
    "files are mostly events": {"rejected": 10},
}


def judged(spark, rows, rules):
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=ENTRIES))
    found, of_values = (run_rules(frame, "rows", rules, few=few) for few in (False, True))
    assert found == of_values
    return [one.rule for one in found if not one.passed]


def test_batches_without_rows_end_no_frame(spark):
    some = pa.record_batch({"n": pa.array([1, 2])})
    rows = pa.Table.from_batches([some.slice(0, 0), some, some.slice(0, 0), some])
    assert sorted(row.n for row in values(spark, rows).collect()) == [1, 1, 2, 2]
    assert values(spark, rows.slice(0, 0)).count() == 0


def test_few_rows_and_many_are_judged_alike(spark):
    """What is unique, missing or of which type is told by Spark for many rows, and by pandas for few."""
    table = pa.table(
        {
            "k": pa.array([1, 2, 3, None, None]),
            "x": pa.array([0.0, -0.0, math.nan, math.nan, None]),
            "t": pa.array([START, START, None, None, None], pa.timestamp("us", tz="UTC")),
        }
    )
    rules = [
        *(
            UniqueRule(f"{'+'.join(key)} unique", "", key)
            for key in (("k",), ("x",), ("t",), ("k", "x"), ("x", "t"))
        ),
        *(NotNullRule(name) for name in ("k", "x", "t")),
        TypeRule("k", "", ("LongType",)),
        TypeRule("x", "", ("LongType", "StringType")),
        RowRule("mostly", "", "x >= 0", mostly=0.6),
        RowRule("hardly", "", "x >= 0", mostly=0.9),
    ]
    for rows in (table, table.slice(0, 0)):
        frame = values(spark, rows)
        found, of_values = (run_rules(frame, "rows", rules, few=few) for few in (False, True))
        assert found == of_values
        passed = {one.rule for one in found if one.passed}
        assert passed == (
            {"k unique", "k+x unique", "type of k", "mostly"}
            if rows.num_rows
            else {one.name for one in rules} - {"type of x"}
        )


def test_rules_on_contents_and_files_turn_red_alone(spark):
    files = file_rules(Expectations())
    assert {rule.name for rule in CONTENT_RULES} == BROKEN_CONTENTS.keys()
    assert {rule.name for rule in files} == BROKEN_FILES.keys()
    rules, much = (*CONTENT_RULES, *files), {**FILE, "rows": 100}
    assert judged(spark, [CONTENT, FILE, much], rules) == []
    for name, change in BROKEN_CONTENTS.items():
        assert judged(spark, [CONTENT, {**CONTENT, **change}, FILE, much], rules) == [name]
    for name, change in BROKEN_FILES.items():
        wrong = judged(spark, [CONTENT, {**FILE, **change}, much], rules)
        assert wrong == [name] or (name == "enough rows are events" and wrong[0] == name), wrong
    equal = file_rules(Expectations(equal_files=True))
    assert judged(spark, [{**FILE, "same_events": 2}, much], equal) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: ColumnExpectation("v", low=2, high=1),
        lambda: ColumnExpectation("v", low=math.nan),
        lambda: ColumnExpectation("v", low=1, high=START),
        lambda: ColumnExpectation("v", most_null=1.5),
        lambda: ColumnExpectation("v", high=2**70),
        lambda: Expectations(most_rejected=-0.1),
        lambda: Expectations(most_duplicates=2),
        lambda: Expectations(ahead=-DAY),
        lambda: Expectations(unique=((),)),
        lambda: Expectations(unique=(("v", "v"),)),
        lambda: Expectations(columns=(ColumnExpectation("v"), ColumnExpectation("v"))),
    ],
)
def test_expectations_that_cannot_be_are_refused(make):
    with pytest.raises(ExpectationError, match="E535"):
        make()


@pytest.mark.parametrize(
    "wrong",
    [
        Expectations(columns=(ColumnExpectation("absent"),)),
        Expectations(unique=(("v", "absent"),)),
        Expectations(columns=(ColumnExpectation("g", low=1),)),
        Expectations(columns=(ColumnExpectation("v", low=START),)),
    ],
)
def test_expectations_that_do_not_fit_the_table_are_refused(warehouse, wrong):
    with pytest.raises(ExpectationError, match="E536"):
        rules_of(warehouse, wrong)
