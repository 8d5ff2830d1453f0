"""Publish, for people: `trend_aggregates` -> a wide, typed Delta table per query, written without a JVM.

A wide table is its query's part of `trend_aggregates`, turned on its side, and nothing else: it can be made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import deltalake
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.errors import InvariantError
from pipelines.settings import JobSettings
from pipelines.spans import Span
from pipelines.steps.publication.shape import wide_shapes
from pipelines.steps.slices import results_filter
from pipelines.wide import WideShape, widened
from resources import tables
from resources.sql import moment
from resources.tables import Table
from resources.warehouse import Warehouse, passed

ROWS_AT_ONCE = 4_000_000
"""Rows of `trend_aggregates` that are held in memory together; queries are taken in turn where there are more."""


def publish_wide(warehouse: Warehouse, settings: JobSettings, span: Span = Span()) -> dict[str, int]:
    """Replace the windows of the span in the wide table of each query; table -> its rows afterwards.

    Each table in one commit, so that a killed run leaves whole tables, and the next run the right ones. A table whose
    columns are no longer the query's is made anew, with all windows. One whose query has left the workload loses the
    windows of the span, and keeps its name.
    """
    shapes = wide_shapes(settings, warehouse.schema("events"))
    workload = settings.workload.name
    outdated = [shape for shape in shapes if _create(warehouse, shape.table)]
    current = [shape for shape in shapes if shape not in outdated]
    for chosen, windows in ((outdated, Span()), (current, span)):
        for shape, rows in _rows_by_query(warehouse, workload, chosen, windows):
            _replace(warehouse, shape.table, widened(rows, shape), windows)
    for table in _left_behind(warehouse, workload, shapes):
        _delete(warehouse, table, span)
    return {shape.table.name: warehouse.count(shape.table.name) for shape in shapes}


def wide_tables(warehouse: Warehouse, workload: str) -> dict[str, str]:
    """The wide tables of a workload that the warehouse has: query -> table."""
    folders = [name for name in warehouse.location.folders() if "__" in name]
    known = {name: warehouse.properties(name) for name in folders if warehouse.exists(name)}
    return {
        properties[tables.QUERY]: name
        for name, properties in known.items()
        if properties.get(tables.WORKLOAD) == workload and tables.QUERY in properties
    }


def _create(warehouse: Warehouse, table: Table) -> bool:
    """Make the table if there is none; whether all of its rows have to be written."""
    if not warehouse.exists(table.name):
        deltalake.DeltaTable.create(
            warehouse.path_of(table.name),
            table.schema,
            description=table.comment,
            configuration=dict(table.properties),
            raise_if_key_not_exists=False,
            storage_options=warehouse.location.storage_options(),
            commit_properties=warehouse.commit_properties("create", table.name),
        )
        passed(f"create:{table.name}")
        return True
    stored = warehouse.properties(table.name)
    if any(stored.get(name) != value for name, value in table.properties):
        raise InvariantError(f"publish: the table {table.name} is another query's: {stored}", code="E913")
    # A table without a single file may be what a run left that was killed before its first rows.
    return not warehouse.schema(table.name).equals(table.schema, check_metadata=True) or not warehouse.files(
        table.name
    )


def _rows_by_query(
    warehouse: Warehouse, workload: str, shapes: Sequence[WideShape], span: Span
) -> Iterator[tuple[WideShape, pa.Table]]:
    """The published rows of each query in the span."""
    if not shapes:
        return
    published = warehouse.dataset(tables.PUBLISHED.name)
    here = results_filter(workload, span)
    columns = [column.name for column in tables.RESULT_COLUMNS if column.name not in ("sign", "fingerprint")]
    passes = min(len(shapes), -(-published.count_rows(filter=here) // ROWS_AT_ONCE) or 1)
    for turn in range(passes):
        chosen = shapes[turn::passes]
        names = [shape.query for shape in chosen]
        rows = published.to_table(columns=columns, filter=here & pc.field("query").isin(names))
        for shape in chosen:
            yield shape, rows.filter(pc.equal(rows.column("query"), shape.query))


def _replace(warehouse: Warehouse, table: Table, rows: pa.Table, span: Span) -> None:
    """In one commit, these rows in place of those of the span; of the whole table, its columns too."""
    where = _condition(span)
    deltalake.write_deltalake(
        warehouse.path_of(table.name),
        rows,
        mode="overwrite",
        predicate=where,
        schema_mode=None if where else "overwrite",
        storage_options=warehouse.location.storage_options(),
        commit_properties=warehouse.commit_properties("replace", table.name),
    )
    passed(f"replace:{table.name}")


def _delete(warehouse: Warehouse, table: str, span: Span) -> None:
    """In one commit, remove the rows of the span."""
    properties = warehouse.commit_properties("delete", table)
    warehouse.open(table).delete(_condition(span), commit_properties=properties)
    passed(f"delete:{table}")


def _left_behind(warehouse: Warehouse, workload: str, shapes: Sequence[WideShape]) -> list[str]:
    queries = {shape.query for shape in shapes}
    return [table for query, table in wide_tables(warehouse, workload).items() if query not in queries]


def _condition(span: Span) -> str | None:
    """The windows of the span as SQL of delta-rs; only times of ours are in it."""
    bounds = (("window_end > ", span.after), ("window_end <= ", span.until))
    parts = [f"{bound}'{moment(when)}'" for bound, when in bounds if when is not None]
    return " AND ".join(parts) or None
