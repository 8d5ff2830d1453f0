"""Plans and a table in, warnings out: what is allowed but hardly meant (SEMANTICS 6, events without a partition)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from hamlet_core.table.arrow import scalar_of
from hamlet_core.table.columns import normalise
from hamlet_core.table.encode import EventSchema
from hamlet_core.template.plan import QueryPlan


def advice(plans: Sequence[QueryPlan], table: pa.Table, schema: EventSchema) -> tuple[str, ...]:
    """The lines of `window_advice`, and one for each event type that is not in the table, or has no value in a partition
    attribute. The table must have the columns that the plans read.
    """
    lines = (line for plan in plans for line in _lines(plan, table, schema))
    return tuple(dict.fromkeys((*window_advice(plans), *lines)))


def window_advice(plans: Sequence[QueryPlan]) -> tuple[str, ...]:
    """One line for each query whose windows leave gaps; needs no events."""
    return tuple(
        f"query {plan.name}: SLIDE is longer than WITHIN, so events between two windows are in none"
        for plan in plans
        if plan.slide > plan.within
    )


def _lines(plan: QueryPlan, table: pa.Table, schema: EventSchema) -> Iterator[str]:
    for name in sorted(plan.types):
        of_type = _of_type(table, schema, name)
        if not _any(of_type):
            near = _nearest(name, table, schema)
            yield f"query {plan.name}: no event is of type {name}" + (
                f"; did you mean {near}?" if near else ""
            )
            continue
        for attribute in plan.equivalence:
            if _always_null(table, attribute, of_type):
                yield f"query {plan.name}: type {name} never has {attribute}, so its events belong to no partition"
        for attribute in plan.group_by:
            if _always_null(table, attribute, of_type):
                yield f"query {plan.name}: type {name} never has {attribute}, so it meets only the group NULL"


def _nearest(name: str, table: pa.Table, schema: EventSchema) -> str | None:
    """The type in the table that reads most like this one; upper and lower case are alike."""
    if schema.type is None:
        known = [schema.type_value]
    else:
        import pyarrow.compute as pc

        known = pc.unique(_plain(table.column(schema.type)).cast(pa.large_string())).to_pylist()
    by_folded = {one.casefold(): one for one in known if one is not None}
    near = get_close_matches(name.casefold(), by_folded, 1)
    return by_folded[near[0]] if near else None


def _of_type(table: pa.Table, schema: EventSchema, name: str) -> Any:
    """One Boolean per row."""
    if schema.type is None:
        return pa.chunked_array([pa.repeat(scalar_of(name == schema.type_value, pa.bool_()), table.num_rows)])
    import pyarrow.compute as pc

    return pc.equal(
        _plain(table.column(schema.type)).cast(pa.large_string()), scalar_of(name, pa.large_string())
    )


def _always_null(table: pa.Table, attribute: str, of_type: Any) -> bool:
    if attribute not in table.column_names:
        return False
    import pyarrow.compute as pc

    return not _any(pc.and_(of_type, pc.is_valid(_plain(table.column(attribute)))))


def _plain(column: Any) -> Any:
    """The column without dictionaries, run ends and views, for which Arrow lacks functions and counts of NULLs."""
    arrays = [normalise(chunk).array for chunk in column.chunks]
    return pa.chunked_array(arrays) if arrays else pa.chunked_array([], pa.null())


def _any(truths: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(truths).as_py())
