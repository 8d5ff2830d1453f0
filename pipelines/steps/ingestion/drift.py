"""New files for an old table: the table's types win where nothing is lost, and a retyped column is refused."""

from __future__ import annotations

import pyarrow as pa

from pipelines.reading import ColumnEvidence, Evidence
from resources.warehouse import WarehouseError


def columns_for_table(columns: pa.Schema, found: Evidence, table: pa.Schema) -> pa.Schema:
    """The types to read new files with, given the table they go to; WarehouseError for a retyped column.

    A column new to the table keeps its type; columns that the files lack become NULL.
    """
    empty = {column.name for column in found.columns if column == ColumnEvidence(column.name)}
    _refuse_other_spelling(columns, table)
    return pa.schema(
        [_agreed(field, table.field(field.name), field.name in empty) if field.name in table.names else field
         for field in columns]
    )  # fmt: skip


def _agreed(new: pa.Field, old: pa.Field, empty: bool) -> pa.Field:
    kept = pa.field(new.name, old.type)
    integer_in_reals = pa.types.is_integer(new.type) and pa.types.is_floating(old.type)
    if new.type == old.type or empty or integer_in_reals or pa.types.is_string(old.type):
        return kept
    raise WarehouseError(
        f"column {new.name!r} is {new.type} in the new files, but {old.type} in the warehouse",
        code="E525",
        hint="correct the files, rename the column, or use another --warehouse",
    )


def _refuse_other_spelling(columns: pa.Schema, table: pa.Schema) -> None:
    spellings = {name.lower(): name for name in table.names}
    for name in columns.names:
        known = spellings.get(name.lower(), name)
        if known != name:
            raise WarehouseError(
                f"column {name!r} of the new files is {known!r} in the warehouse",
                code="E525",
                hint="upper and lower case must agree: rename the column",
            )
