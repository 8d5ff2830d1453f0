"""Plans and a table in, warnings out: what is allowed but hardly meant (SEMANTICS 6, events without a partition)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from hamlet_core.table.columns import decoded
from hamlet_core.table.encode import EventSchema
from hamlet_core.template.plan import QueryPlan

_TEXT = pa.large_string()


def advice(plans: Sequence[QueryPlan], table: pa.Table, schema: EventSchema) -> tuple[str, ...]:
    """The lines of `window_advice`, and one for each event type that is not in the table, or has no value in a partition
    attribute. The table must have the columns that the plans read.
    """
    there = _There(table, schema)
    lines = (line for plan in plans for line in _lines(plan, there))
    return tuple(dict.fromkeys((*window_advice(plans), *lines)))


def window_advice(plans: Sequence[QueryPlan]) -> tuple[str, ...]:
    """One line for each query whose windows leave gaps; needs no events."""
    return tuple(
        f"query {plan.name}: SLIDE is longer than WITHIN, so events between two windows are in none"
        for plan in plans
        if plan.slide > plan.within
    )


def _lines(plan: QueryPlan, there: _There) -> Iterator[str]:
    for name in sorted(plan.types):
        if name not in there.types:
            near = _nearest(name, there.types)
            yield f"query {plan.name}: no event is of type {name}" + (
                f"; did you mean {near}?" if near else ""
            )
            continue
        for attribute in plan.equivalence:
            if name not in there.having(attribute):
                yield f"query {plan.name}: type {name} never has {attribute}, so its events belong to no partition"
        for attribute in plan.group_by:
            if name not in there.having(attribute):
                yield f"query {plan.name}: type {name} never has {attribute}, so it meets only the group NULL"


def _nearest(name: str, types: Collection[str]) -> str | None:
    """The type that reads most like this one; upper and lower case are alike."""
    by_folded = {one.casefold(): one for one in types}
    near = get_close_matches(name.casefold(), by_folded, 1)
    return by_folded[near[0]] if near else None


class _There:
    """The types that are in a table. Mutable: what was looked for is remembered."""

    def __init__(self, table: pa.Table, schema: EventSchema) -> None:
        self.table = table
        if schema.type is None:
            self._types = pa.chunked_array([pa.repeat(pa.scalar(schema.type_value, _TEXT), table.num_rows)])
        else:
            self._types = _plain(table.column(schema.type))
        self.types = _names(self._types)
        self._having: dict[str, dict[str, None]] = {}

    def having(self, attribute: str) -> Collection[str]:
        """The types of the events that have a value in this attribute; all, if the table has no such column."""
        if attribute not in self.table.column_names:
            return self.types
        if attribute not in self._having:
            column = _plain(self.table.column(attribute))
            some = column.null_count > 0
            self._having[attribute] = _names(self._types.filter(column.is_valid())) if some else self.types
        return self._having[attribute]


def _names(types: pa.ChunkedArray) -> dict[str, None]:
    """Each of them once, in order of appearance, NULL left out."""
    return dict.fromkeys(one for one in types.unique().cast(_TEXT).to_pylist() if one is not None)


def _plain(column: Any) -> Any:
    """The column without dictionaries, run ends and views, for which Arrow lacks functions and counts of NULLs."""
    arrays = [decoded(chunk) for chunk in column.chunks]
    arrays = [one.cast(_TEXT) if pa.types.is_string_view(one.type) else one for one in arrays]
    return pa.chunked_array(arrays) if arrays else pa.chunked_array([], pa.null())
