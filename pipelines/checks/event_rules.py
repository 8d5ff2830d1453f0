"""What must hold of the Delta table `events`, whoever wrote to it."""

from __future__ import annotations

import pyarrow as pa

from pipelines.checks.rules import NotNullRule, RowCountRule, RowRule, Rule
from pipelines.steps.layout import Layout
from resources import tables
from resources.sql import quoted
from resources.warehouse import Warehouse


def event_rules(warehouse: Warehouse) -> tuple[Rule, ...]:
    """The rules for the table as it is: its columns, its layout and its ledger."""
    columns = warehouse.schema("events")
    buckets = Layout.of(warehouse.properties("events")).buckets
    ledger = warehouse.rows(tables.LEDGER.name).to_pylist()
    known = sorted({round(row["ingested_at"].timestamp() * 1000) for row in ledger})
    return (
        *(NotNullRule(name) for name in ("event_time", "event_type", "source_file", "ingested_at")),
        RowCountRule(
            "rows add up",
            "as many rows as the ledger of ingested files says",
            sum(row["rows"] for row in ledger),
        ),
        RowRule(
            "every ingest is known",
            "rows come from an ingest that the ledger has",
            f"unix_millis(ingested_at) IN ({', '.join(map(str, known)) or 'NULL'})",
        ),
        RowRule("day fits time", "the day of a row is the UTC day of its time", "day = to_date(event_time)"),
        RowRule("bucket in range", "the bucket is one of the table's", f"bucket BETWEEN 0 AND {buckets - 1}"),
        RowRule(
            "years 1 to 9999",
            "times are in years that every reader knows",
            "event_time >= TIMESTAMP '0001-01-01' AND event_time < TIMESTAMP '+10000-01-01'",
        ),
        *_finite(columns),
    )


def _finite(columns: pa.Schema) -> tuple[Rule, ...]:
    """NaN and infinity are bad data: no query may meet them."""
    names = [quoted(field.name) for field in columns if pa.types.is_floating(field.type)]
    holds = " AND ".join(f"({name} IS NULL OR abs({name}) < double('infinity'))" for name in names)
    return (RowRule("numbers are finite", "no number is NaN or infinite", holds),) if names else ()
