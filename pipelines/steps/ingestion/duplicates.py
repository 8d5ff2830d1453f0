"""Duplicates by key, over all files: of events with one key the first that came is kept, the others are rejected rows."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql.functions import col, concat, concat_ws, lit, row_number, struct, to_json, when

from pipelines.reading import Reason
from pipelines.steps.ingestion.ledger import Replaced
from pipelines.steps.ingestion.parsing import PLACE, REJECTED, is_event
from resources.sql import quoted
from resources.warehouse import Warehouse

_TWICE = "is a duplicate"


def without_duplicates(
    parsed: DataFrame,
    warehouse: Warehouse,
    source_columns: Sequence[str],
    key: Sequence[str],
    replaced: Sequence[Replaced],
) -> DataFrame:
    """The rows of `parse_files`, of which an event whose key an earlier one has is rejected.

    Earlier is what is in `events`, readings aside that are `replaced`, then the order of the files and of their rows. An
    event with a NULL in its key is none of these.
    """
    names = [quoted(name) for name in key]
    keyed = is_event()
    for name in names:
        keyed &= col(name).isNotNull()
    place = col(quoted(PLACE))
    order = Window.partitionBy(*names).orderBy(place["file"], place["row_number"])
    events = parsed.where(keyed).withColumn(_TWICE, row_number().over(order) > 1)
    if warehouse.exists("events") and {*key} <= {*warehouse.schema("events").names}:
        # Of this version: what is lazy is read once more when these very rows are in.
        stored = warehouse.read(parsed.sparkSession, "events", warehouse.version("events"))
        if replaced:
            stored = stored.where(f"NOT ({' OR '.join(one.rows for one in replaced)})")
        theirs = [f"key {place}" for place in range(len(key))]
        known = stored.select(*(col(name).alias(their) for name, their in zip(names, theirs, strict=True)))
        equal = [col(name) == col(quoted(their)) for name, their in zip(names, theirs, strict=True)]
        events = (
            events.join(known.distinct(), equal, "left")
            .withColumn(_TWICE, col(quoted(_TWICE)) | col(quoted(theirs[0])).isNotNull())
            .drop(*theirs)
        )
    twice = col(quoted(_TWICE))
    kept = events.where(~twice).select(*map(quoted, parsed.columns))
    said = concat_ws(", ", *(concat(lit(f"{name} "), col(quoted(name)).cast("string")) for name in key))
    why = struct(
        place["row_number"].alias("row_number"),
        to_json(struct(*(col(quoted(name)) for name in source_columns))).alias("raw"),
        concat(lit("an earlier event has "), said, lit(", too")).alias("reason"),
        lit(str(Reason.DUPLICATE)).alias("code"),
    )
    rejected = events.where(twice).withColumn(REJECTED, why)
    blank = [_blank(name) for name in parsed.columns]
    return parsed.where(~keyed).unionByName(kept).unionByName(rejected.select(*blank))


def _blank(name: str) -> Column:
    """A column of a rejected row: all but its file and what is wrong are NULL."""
    column = col(quoted(name))
    if name in ("source_file", REJECTED):
        return column
    return when(lit(False), column).alias(name)
