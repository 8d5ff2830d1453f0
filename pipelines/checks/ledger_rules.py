"""What must hold between `events` and the ledger of ingested files: no row more, less or other than the files had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import count

from pipelines.checks.rules import RowRule, Rule
from pipelines.expectations import Expectations
from pipelines.steps.ingestion.contents import checksum
from pipelines.steps.ingestion.ledger import Part, brought
from resources import tables

ENTRIES = pa.schema(
    [
        ("source_file", pa.string()),
        ("ingested_at", tables.TIMESTAMP),
        ("day", pa.date32()),
        ("known", pa.bool_()),
        ("rows", pa.int64()),
        ("rows_of_the_file", pa.int64()),
        ("checksum", pa.int64()),
        ("checksum_of_the_file", pa.int64()),
        ("rejected", pa.int64()),
        ("same_content", pa.int64()),
        ("same_events", pa.int64()),
        ("entry", pa.string()),
    ]
)
"""Two kinds of rows, named by `entry`. `day` is one of a file and a day: what the table has of it, beside what the ledger
says that it brought. `file` is one of a file of the ledger: how much of it was rejected, and how many are like it, itself
included.
"""

CONTENT_RULES: tuple[Rule, ...] = (
    RowRule(
        "every ingest is known",
        "rows come from a file and an ingest that the ledger has",
        "entry <> 'day' OR known",
    ),
    RowRule(
        "rows add up",
        "of each file and day there are as many rows as the file brought",
        "entry <> 'day' OR NOT known OR rows_of_the_file IS NULL OR rows = rows_of_the_file",
    ),
    RowRule(
        "no event has changed",
        "the values of the rows of each file and day have the checksum that they had in the file",
        "entry <> 'day' OR NOT known OR rows <> rows_of_the_file OR checksum_of_the_file IS NULL"
        " OR checksum = checksum_of_the_file",
    ),
)

Ledger = Iterable[Mapping[str, Any]]


def file_rules(expectations: Expectations) -> tuple[Rule, ...]:
    """The rules for the files of the ledger."""
    most = expectations.most_rejected
    equal = () if expectations.equal_files else (_NO_EVENTS_TWICE,)
    return (
        RowRule(
            "no content twice",
            "no content of a file was ingested twice",
            "entry <> 'file' OR same_content = 1",
        ),
        *equal,
        RowRule(
            "enough rows are events",
            f"of all rows of all files no more than {most:.4g} are in quarantine",
            f"entry <> 'file' OR sum(rejected) OVER () <= {float(most)!r}D * sum(rows + rejected) OVER ()",
        ),
        RowRule(
            "files are mostly events",
            f"of the rows of each file no more than {most:.4g} are in quarantine",
            f"entry <> 'file' OR rejected <= {float(most)!r}D * (rows + rejected)",
            warns=True,
        ),
    )


_NO_EVENTS_TWICE = RowRule(
    "no events twice",
    "no two files brought the same events, as bytes or in other formats",
    "entry <> 'file' OR same_events = 1",
)


def contents(
    events: DataFrame, ledger: Ledger, first: date | None, last: date | None
) -> list[dict[str, Any]]:
    """Rows of `ENTRIES` about the events of these days; the frame holds no others. One pass over the events."""
    ours = {column.name for column in tables.EVENT_COLUMNS}
    names = [name for name in events.columns if name not in ours]
    found = (
        events.groupBy("source_file", "ingested_at", "day")
        .agg(count("*").alias("rows"), checksum(names).alias("checksum"))
        .toArrow()
        .to_pylist()
    )
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    files = {(file["source_file"], file["ingested_at"]): file.get("days") for file in ledger}
    for file, days in files.items():
        for one in days or ():
            if (first is None or first <= one["day"]) and (last is None or one["day"] <= last):
                told = {"rows_of_the_file": one["rows"], "checksum_of_the_file": one["checksum"]}
                rows[*file, one["day"]] = {"known": True, "rows": 0, **told}
    for one in found:
        file = one["source_file"], one["ingested_at"]
        # A ledger of an older release does not tell the days of its files.
        nothing = {"rows_of_the_file": None if file in files and files[file] is None else 0}
        row = rows.setdefault((*file, one["day"]), {"known": file in files, **nothing})
        row |= {"rows": one["rows"], "checksum": one["checksum"]}
    keys = "source_file", "ingested_at", "day"
    return [{"entry": "day", **dict(zip(keys, key, strict=True)), **row} for key, row in rows.items()]


def files_of(ledger: Ledger, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Rows of `ENTRIES` about some files of the ledger, which is these parts; files without an event are like no other, and those
    without a row in no way.
    """
    return [
        {
            "entry": "file",
            **{name: entry[name] for name in ("source_file", "ingested_at", "rows", "rejected")},
            "same_content": sum(part.contents[entry["fingerprint"]] for part in parts)
            if entry["rows"] + entry["rejected"]
            else 1,
            "same_events": sum(part.events[brought(entry)] for part in parts) if entry.get("days") else 1,
        }
        for entry in ledger
    ]
