"""The Delta tables of a warehouse, declared once as data: columns with comments, partitions, properties."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a Delta table, with the text that its readers see."""

    name: str
    type: pa.DataType
    comment: str


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint: Delta refuses a commit with a row of which `holds`, in Spark SQL, is false or NULL.

    That a column is known is one, too: Delta adds NOT NULL to no table that exists.
    """

    name: str
    holds: str


@dataclass(frozen=True, slots=True)
class Table:
    """The shape of a Delta table; `properties` are stored with it and name = value strings."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    partition: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with the comments as field metadata (as Spark and delta-rs keep them)."""
        return pa.schema([pa.field(c.name, c.type, metadata={"comment": c.comment}) for c in self.columns])


def known(*columns: str) -> Check:
    """These columns are never NULL.

    >>> known("a", "b").holds
    'a IS NOT NULL AND b IS NOT NULL'
    """
    return Check("known", " AND ".join(f"{column} IS NOT NULL" for column in columns))


def day_of(microseconds: str) -> Check:
    """The column `day` is the UTC day of this expression, whatever the time zone of the session that writes."""
    first = "unix_date(day) * 86400000000"
    return Check("day_fits", f"{microseconds} BETWEEN {first} AND {first} + 86399999999")


EVENT_COLUMNS = (
    Column("event_time", TIMESTAMP, "when the event happened; integer times count from the epoch"),
    Column("event_type", pa.string(), "the type of the event, as the queries name it"),
    Column("source_file", pa.string(), "the file the event was read from, relative to what was ingested"),
    Column("ingested_at", TIMESTAMP, "which ingest brought the event; joins ingested_files"),
    Column("day", pa.date32(), "UTC day of event_time"),
    Column("bucket", pa.int32(), "hash of the bucket key modulo the number of buckets (table properties)"),
)
"""What `events` adds to the columns of the source."""

EVENT_CHECKS = (
    known("event_time", "event_type", "source_file", "ingested_at", "day", "bucket"),
    day_of("unix_micros(event_time)"),
    Check("bucket_counts", "bucket >= 0"),
)

BUCKET_KEY = "hamlet.bucketKey"
BUCKETS = "hamlet.buckets"
SOURCE_OPTIONS = "hamlet.source"
"""Names of the properties of `events`: the bucket key (JSON list), their number, how files were read (JSON)."""


WORKLOAD = "hamlet.workload"
QUERY = "hamlet.query"
"""Names of the properties of a wide table: the workload and the query as their author wrote them."""


def events_table(source: tuple[Column, ...], properties: tuple[tuple[str, str], ...]) -> Table:
    """The `events` table for these source columns; statistics only where a reader can skip files by them."""
    statistics = ("delta.dataSkippingStatsColumns", "event_time,event_type,ingested_at")
    return Table(
        "events",
        "One row an event: the columns of the source, typed, and where each came from.",
        source + EVENT_COLUMNS,
        partition=("day", "bucket"),
        properties=(statistics, *properties),
        checks=EVENT_CHECKS,
    )


QUARANTINE = Table(
    "events_quarantine",
    "What could not be read as an event, with the reason: nothing is lost.",
    (
        Column("source_file", pa.string(), "the file of the row"),
        Column("row_number", pa.int64(), "1-based row of the file; NULL where the whole file is unreadable"),
        Column("raw", pa.string(), "the row as it stood in the file"),
        Column("reason", pa.string(), "why it is no event, for people"),
        Column("code", pa.string(), "why it is no event, for programs: a stable code"),
        Column("ingested_at", TIMESTAMP, "which ingest refused it; joins ingested_files"),
    ),
    checks=(
        known("source_file", "reason", "code", "ingested_at"),
        Check("row_number_counts", "row_number IS NULL OR row_number >= 1"),
    ),
)

LEDGER = Table(
    "ingested_files",
    "The files that are completely in `events` and `events_quarantine`; written last by an ingest.",
    (
        Column("source_file", pa.string(), "name of the file, relative to what was ingested"),
        Column("path", pa.string(), "where the file lay"),
        Column("fingerprint", pa.string(), "SHA-256 of its content: no content is ingested twice"),
        Column("rows", pa.int64(), "rows that became events"),
        Column("rejected", pa.int64(), "rows in quarantine"),
        Column("ingested_at", TIMESTAMP, "the ingest that read it"),
        Column(
            "days",
            pa.list_(pa.struct([("day", pa.date32()), ("rows", pa.int64()), ("checksum", pa.int64())])),
            "per UTC day of the events: how many, and a checksum of their values",
        ),
        Column("size", pa.int64(), "its bytes"),
        Column("modified", TIMESTAMP, "when it was last changed, as far as its place tells"),
        Column(
            "replaces",
            pa.struct([("source_file", pa.string()), ("ingested_at", TIMESTAMP)]),
            "an earlier reading of the file, whose rows are still to go; NULL once they are gone",
        ),
        Column(
            "removed_days",
            pa.list_(pa.date32()),
            "UTC days of events that an earlier reading of the file had, and this one has not",
        ),
        Column(
            "faults",
            pa.list_(pa.struct([("column", pa.string()), ("values", pa.int64()), ("refused", pa.bool_())])),
            "values that do not fit their column: whether each cost its event, or is NULL as no query reads it",
        ),
    ),
    checks=(
        known("source_file", "path", "fingerprint", "rows", "rejected", "ingested_at"),
        Check("rows_count", "rows >= 0 AND rejected >= 0"),
    ),
)

PLAN = Table(
    "workload_plan",
    "One row a query: what the planner understood of each workload, whatever text it had when its rows were made.",
    (
        Column("workload", pa.string(), "name of the workload"),
        Column("workload_hash", pa.string(), "SHA-256 of the canonical text of the workload"),
        Column("query", pa.string(), "label of the query"),
        Column("text", pa.string(), "canonical text of the query"),
        Column("types", pa.list_(pa.string()), "event types it names; by time, a contiguous query reads all"),
        Column("columns", pa.list_(pa.string()), "attributes it reads besides time and type"),
        Column(
            "partition", pa.list_(pa.string()), "equivalence and GROUP-BY attributes: trends never cross them"
        ),
        Column("within_us", pa.int64(), "length of a window in microseconds"),
        Column("slide_us", pa.int64(), "distance of two windows in microseconds"),
        Column("explanation", pa.string(), "every stage of the plan, for people"),
        Column("run_id", pa.string(), "the run that planned it"),
        Column("position", pa.int32(), "place of the query in the text, from 0"),
        Column("mode", pa.string(), "which events a step of a trend may skip, as SEMANTICS says it"),
    ),
    checks=(
        known("workload", "workload_hash", "query", "text", "run_id"),
        Check("windows_have_a_length", "within_us > 0 AND slide_us > 0"),
        Check("position_counts", "position IS NULL OR position >= 0"),
        Check(
            "mode_is_one",
            "mode IS NULL OR mode IN ('skip-till-any-match', 'skip-till-next-match', 'contiguous')",
        ),
    ),
)

RESULT_COLUMNS = (
    Column("query", pa.string(), "label of the query"),
    Column("window_start", TIMESTAMP, "start of the window, inclusive"),
    Column("window_end", TIMESTAMP, "end of the window, exclusive"),
    Column("group_key", pa.string(), "JSON object of the GROUP-BY attributes; {} without GROUP-BY"),
    Column("aggregate", pa.string(), "the aggregate, such as COUNT(*) or SUM(t.price)"),
    Column("value", pa.float64(), "the number; NULL if there is none or beyond the double range"),
    Column("sign", pa.int8(), "-1, 0 or 1; NULL where there is no value"),
    Column("log2", pa.float64(), "log2 of the absolute value; NULL for 0 and where there is no value"),
    Column("exact", pa.string(), "all digits, in exact arithmetic"),
    Column("fingerprint", pa.int64(), "residue modulo 2^61 - 1, in modular arithmetic"),
    Column("workload", pa.string(), "name of the workload"),
    Column("workload_hash", pa.string(), "SHA-256 of the canonical text of the workload"),
    Column("run_id", pa.string(), "the run that computed the row"),
    Column("events_version", pa.int64(), "version of the Delta table `events` it was computed from"),
    Column("day", pa.date32(), "UTC day of window_end minus one microsecond"),
)

RESULT_CHECKS = (
    known(
        *("query", "window_start", "window_end", "group_key", "aggregate"),
        *("workload", "workload_hash", "run_id", "events_version", "day"),
    ),
    Check("windows_have_a_length", "window_end > window_start"),
    day_of("unix_micros(window_end) - 1"),
)
"""Of every result. What only a wrong computation breaks is left to the checks of the run, which show the rows."""

RESULT_STATISTICS = (("delta.dataSkippingStatsColumns", "query,window_start,window_end,workload"),)
"""What readers skip files by; nobody asks for the extremes of the other columns."""

COMPUTED = Table(
    "computed_aggregates",
    "Aggregates as the executor computed them, before the checks: published as trend_aggregates.",
    RESULT_COLUMNS,
    partition=("day",),
    properties=RESULT_STATISTICS,
)
"""Without constraints, which would be tested twice: the checks of a run look at each row before it is published."""
COMPUTED_PARTITIONS = Table(
    "computed_partitions",
    "What computed_aggregates holds: one row per query and partition; written after the results themselves.",
    (
        Column("workload", pa.string(), "name of the workload"),
        Column("partition", pa.string(), "key of the partition, such as 2026-01-05; all without partitions"),
        Column("after", TIMESTAMP, "the partition is the windows that end later than this; NULL: no bound"),
        Column("until", TIMESTAMP, "and no later than this; NULL: no bound"),
        Column("query", pa.string(), "label of the query"),
        Column("query_hash", pa.string(), "SHA-256 of all that the numbers depend on, besides the events"),
        Column("events_until", TIMESTAMP, "the last ingest whose events are in the numbers"),
        Column("events_version", pa.int64(), "version of the Delta table `events` they were computed from"),
        Column("workload_hash", pa.string(), "SHA-256 of the canonical text of the workload"),
        Column("run_id", pa.string(), "the run that computed them"),
    ),
    checks=(
        known(
            *("workload", "partition", "query", "query_hash", "events_until", "events_version"),
            *("workload_hash", "run_id"),
        ),
    ),
)
STREAMS = Table(
    "stream_progress",
    "How far a stream is: one row per query; written last, after its windows are published.",
    (
        Column("workload", pa.string(), "name of the workload"),
        Column("query", pa.string(), "label of the query"),
        Column("query_hash", pa.string(), "SHA-256 of all that the numbers depend on, besides the events"),
        Column("began", TIMESTAMP, "windows that end later than this were given out"),
        Column("watermark", TIMESTAMP, "and no later than this: the largest event time less the lateness"),
        Column("late", TIMESTAMP, "the watermark when late events last came that its windows read; or NULL"),
        Column("events_until", TIMESTAMP, "the last ingest whose events are in the numbers"),
        Column("workload_hash", pa.string(), "SHA-256 of the canonical text of the workload"),
        Column("run_id", pa.string(), "the micro-batch that came so far"),
    ),
    checks=(
        known(
            *("workload", "query", "query_hash", "began", "watermark", "events_until"),
            *("workload_hash", "run_id"),
        ),
    ),
)
LATE = Table(
    "events_late",
    "Events that came to a stream when windows were given out which they belong to; they are in events, too.",
    (
        Column("workload", pa.string(), "name of the workload"),
        Column("event_time", TIMESTAMP, "when the event happened, in UTC"),
        Column("event_type", pa.string(), "its type"),
        Column("source_file", pa.string(), "the file that brought it"),
        Column("ingested_at", TIMESTAMP, "which ingest brought it; joins ingested_files"),
        Column("watermark", TIMESTAMP, "windows that end no later were given out before it came"),
        Column("queries", pa.string(), "those with such a window that it belongs to: `p, q`; empty: none"),
        Column("first_window_end", TIMESTAMP, "end of the first of these windows; NULL: none"),
        Column("last_window_end", TIMESTAMP, "end of the last of these windows; NULL: none"),
        Column("workload_hash", pa.string(), "SHA-256 of the canonical text of the workload"),
        Column("run_id", pa.string(), "the micro-batch that found it"),
    ),
    checks=(
        known(
            *("workload", "event_time", "event_type", "source_file", "ingested_at", "watermark", "queries"),
            *("workload_hash", "run_id"),
        ),
    ),
)
PUBLISHED = Table(
    "trend_aggregates",
    "The result: one row per query, window, group and aggregate, checked.",
    RESULT_COLUMNS,
    partition=("day",),
    properties=RESULT_STATISTICS,
    checks=(
        *RESULT_CHECKS,
        Check("sign_is_a_sign", "sign IS NULL OR sign IN (-1, 0, 1)"),
        Check(
            "numbers_are_finite",
            "(value IS NULL OR abs(value) < double('infinity')) AND (log2 IS NULL OR abs(log2) < double('infinity'))",
        ),
        Check(
            "fingerprint_is_a_residue",
            "fingerprint IS NULL OR fingerprint BETWEEN 0 AND 2305843009213693950",
        ),
    ),
)

DECISIONS = Table(
    "sharing_decisions",
    "Which queries shared which bursts, and why: a row is one burst, or several that were decided alike.",
    (
        Column("workload", pa.string(), "name of the workload"),
        Column("workload_hash", pa.string(), "SHA-256 of the canonical text of the workload"),
        Column("run_id", pa.string(), "the run that decided"),
        Column("pane", pa.int64(), "start of the pane in ticks of the input; NULL in a summary over panes"),
        Column("partition", pa.string(), "JSON object of the partition; NULL in a summary over partitions"),
        Column("burst", pa.int64(), "number of the first burst within its pane, from 0; NULL in a summary"),
        Column("queries", pa.string(), "sets that share: `p, q; r, s`; empty: nobody; NULL: several ways"),
        Column("outcome", pa.string(), "of the graphlets: open, continue, split, merge or apart"),
        Column("reason", pa.string(), "why; NULL where there are several reasons"),
        Column(
            "cost_shared", pa.float64(), "predicted cost of sharing, of these bursts; unit of the cost model"
        ),
        Column("cost_alone", pa.float64(), "predicted cost if each query goes by itself, in the same unit"),
        Column("slot", TIMESTAMP, "UTC day of the pane, or hour with hourly partitions: runs replace slots"),
        Column("pane_start", TIMESTAMP, "pane as a time; NULL where pane is, and beyond the years 1 to 9999"),
        Column("kleene", pa.string(), "the Kleene part that may be shared, such as B+"),
        Column("bursts", pa.int64(), "how many equal decisions the row stands for"),
        Column("events", pa.int64(), "events of these bursts"),
        Column(
            "candidates", pa.string(), "the queries that could share: `p, q, r`; NULL in a coarse summary"
        ),
        Column("snapshots_created", pa.int64(), "snapshots made for these bursts"),
        Column("snapshots_carried", pa.int64(), "snapshots that expressions over these bursts contain"),
    ),
    checks=(
        known("workload", "workload_hash", "run_id"),
        Check("bursts_count", "bursts >= 1 AND events >= 0"),
        Check("outcome_is_one", "outcome IN ('open', 'continue', 'split', 'merge', 'apart')"),
    ),
)

METRICS = Table(
    "run_metrics",
    "Numbers of each run: how much was read, computed and published, and how long it took.",
    (
        Column("run_id", pa.string(), "the run"),
        Column("workload", pa.string(), "name of the workload"),
        Column("step", pa.string(), "ingest, execute or publish"),
        Column("metric", pa.string(), "what was measured, with its unit"),
        Column("query", pa.string(), "the query measured; NULL where the number is of the whole step"),
        Column("value", pa.float64(), "the number"),
        Column("measured_at", TIMESTAMP, "when"),
    ),
    checks=(known("run_id", "workload", "step", "metric", "measured_at"),),
)

ALL = (
    events_table((), ()),
    QUARANTINE,
    LEDGER,
    PLAN,
    COMPUTED,
    COMPUTED_PARTITIONS,
    STREAMS,
    LATE,
    PUBLISHED,
    DECISIONS,
    METRICS,
)
"""Every table of a warehouse; of `events`, the columns that are not its source's."""
