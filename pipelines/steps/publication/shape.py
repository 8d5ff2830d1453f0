"""The wide table of each query of a workload: its name in SQL, and what it has beside the numbers."""

from __future__ import annotations

import hashlib
import re
import unicodedata

import pyarrow as pa

from hamlet_core import QueryPlan
from pipelines.settings import JobSettings
from pipelines.wide import WideShape, group_types, wide_shape
from resources import tables
from resources.tables import Table

_PLAIN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST = 40
_PROVENANCE = ("day", "workload", "workload_hash", "run_id", "events_version")


def wide_shapes(settings: JobSettings, events: pa.Schema) -> tuple[WideShape, ...]:
    """The wide table of each query of the workload, in their order; `events` is the schema of that table."""
    return tuple(_shape(settings, plan, events) for plan in settings.workload.plans)


def _shape(settings: JobSettings, plan: QueryPlan, events: pa.Schema) -> WideShape:
    name = wide_name(settings.workload.name, plan.name)
    comment = (
        f"Query {plan.name} of workload {settings.workload.name}: one row per window and group, checked."
    )
    ours = {column.name: column for column in tables.RESULT_COLUMNS}
    properties = ((tables.WORKLOAD, settings.workload.name), (tables.QUERY, plan.name))
    table = Table(name, comment, tuple(ours[one] for one in _PROVENANCE), properties=properties)
    groups = group_types(plan, events, settings.event_schema)
    return wide_shape(plan, table, groups, exact=settings.execute.arithmetic == "exact")


def wide_name(workload: str, query: str) -> str:
    """The name of a query's wide table: typed without quotes, the same in every run, no other query's.

    Names that are lower-case words stand as they are; others are simplified, and a digest keeps them apart.

    >>> wide_name("ride_sharing", "slowing_down")
    'ride_sharing__slowing_down'
    >>> wide_name("for-hire.v2", "Größe")
    'for_hire_v2__grosse__393dbb0fdc'
    """
    if _is_plain(workload) and _is_plain(query):
        return f"{workload}__{query}"
    digest = hashlib.sha256(f"{len(workload)}:{workload}{query}".encode()).hexdigest()[:10]
    return f"{_simple(workload, 'workload')}__{_simple(query, 'query')}__{digest}"


def _is_plain(name: str) -> bool:
    return len(name) <= _LONGEST and _PLAIN.fullmatch(name) is not None


def _simple(name: str, otherwise: str) -> str:
    ascii_letters = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "_", ascii_letters)[:_LONGEST].strip("_")
    return words if words[:1].isalpha() else f"{otherwise}_{words}".strip("_")
