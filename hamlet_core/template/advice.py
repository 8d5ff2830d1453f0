"""Plans and a table in, warnings out: what is allowed but hardly meant (SEMANTICS 6, events without a partition)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.events import EventSchema
from hamlet_core.template.plan import QueryPlan


def advice(plans: Sequence[QueryPlan], table: pa.Table, schema: EventSchema) -> tuple[str, ...]:
    """One line for each event type that is not in the table, or has no value in a partition attribute.

    The table must have the columns that the plans read.
    """
    return tuple(dict.fromkeys(line for plan in plans for line in _lines(plan, table, schema)))


def _lines(plan: QueryPlan, table: pa.Table, schema: EventSchema) -> Iterator[str]:
    for name in sorted(plan.types):
        rows = _of_type(table, schema, name)
        if rows.num_rows == 0:
            yield f"query {plan.name}: no event is of type {name}"
            continue
        for attribute in plan.equivalence:
            if _always_null(rows, attribute):
                yield f"query {plan.name}: type {name} never has {attribute}, so its events belong to no partition"
        for attribute in plan.group_by:
            if _always_null(rows, attribute):
                yield f"query {plan.name}: type {name} never has {attribute}, so it meets only the group NULL"


def _of_type(table: pa.Table, schema: EventSchema, name: str) -> pa.Table:
    if schema.type is None:
        return table if name == schema.type_value else table.slice(0, 0)
    return table.filter(pc.equal(table.column(schema.type).cast(pa.string()), name))


def _always_null(rows: pa.Table, attribute: str) -> bool:
    return attribute in rows.column_names and bool(rows.column(attribute).null_count == rows.num_rows)
