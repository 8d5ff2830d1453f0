"""The GRETA comparison: recompute stored results from the raw events with the reference engine, and compare.

Small tables are recomputed entirely, large ones by a sample. The reference reads the Delta table `events` itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import EventSchema, QueryPlan, run
from hamlet_core.events import TIME_UNITS
from pipelines.checks.differences import Difference, Row, differences
from pipelines.checks.raw_events import RawEvents, key_of_group
from pipelines.checks.sampling import Sample, from_events, from_results
from pipelines.settings import JobSettings
from pipelines.steps.slices import results_filter
from resources import tables
from resources.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was recomputed, and in what the stored rows differ from it."""

    everything: bool
    compared: int
    """(query, window, group) that were recomputed; for everything: rows."""
    left_out: int
    """Samples with more events than the reference engine should take."""
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class _Reference:
    """What every recomputation needs."""

    settings: JobSettings
    events: RawEvents
    plans: dict[str, QueryPlan]
    schema: EventSchema
    unit: int
    final_until: datetime | None

    def rows(self, names: Iterable[str], events: pa.Table) -> list[Row]:
        """Recompute these queries over some events; windows as timestamps, only final ones."""
        workload = self.settings.workload.parsed
        queries = tuple(self.plans[name].query for name in names)
        modular = self.settings.execute.arithmetic == "modular"
        found = run(
            replace(workload, queries=queries),
            events,
            schema=self.schema,
            engine="greta",
            arithmetic="modular" if modular else "exact",
        )
        rows = (self._in_time(row) for row in found.to_pylist())
        return [row for row in rows if self.asked(row["window_end"])]

    def asked(self, end: datetime) -> bool:
        """Whether windows that end then are of the span, and final."""
        span = self.settings.span
        bounds = [bound for bound in (span.until, self.final_until) if bound is not None]
        return (span.after is None or end > span.after) and all(end <= bound for bound in bounds)

    def _in_time(self, row: dict[str, Any]) -> Row:
        for name in ("window_start", "window_end"):
            if isinstance(row[name], int):
                row[name] = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row[name] * self.unit)
        return row


def compare_with_greta(warehouse: Warehouse, settings: JobSettings) -> Comparison:
    """Compare `computed_aggregates` of the workload with what the reference engine finds in `events`."""
    table = warehouse.dataset(tables.COMPUTED.name)
    stored = table.to_table(filter=results_filter(settings.workload.name, settings.span))
    reference = _reference(warehouse, settings, stored)
    options = settings.sample
    count = reference.events.rows.count_rows()
    if count <= options.everything_up_to:
        expected = reference.rows(reference.plans, reference.events.rows.to_table())
        return Comparison(True, len(expected), 0, differences(stored.to_pylist(), expected))
    half = options.size // 2
    chosen = from_results(stored, reference.events.types, options.size - half)
    drawn = from_events(reference.events, tuple(reference.plans.values()), settings.origin, half)
    chosen += tuple(one for one in drawn if reference.asked(one.window_end))
    return _compare_samples(reference, stored, tuple(dict.fromkeys(chosen)), options.largest)


def _compare_samples(
    reference: _Reference, stored: pa.Table, samples: Sequence[Sample], largest: int
) -> Comparison:
    found: list[Difference] = []
    left_out = 0
    for sample in samples:
        plan = reference.plans[sample.query]
        events = reference.events.of(plan, sample.window_start, sample.window_end, sample.group, largest)
        if events is None:
            left_out += 1
            continue
        expected = [
            row
            for row in reference.rows((sample.query,), events)
            if row["window_start"] == sample.window_start
        ]
        found.extend(differences(_at(stored, sample), expected))
    return Comparison(False, len(samples) - left_out, left_out, tuple(found))


def _at(stored: pa.Table, sample: Sample) -> list[Row]:
    """The stored rows of one sample."""
    place = (pc.field("query") == sample.query) & (pc.field("group_key") == key_of_group(sample.group))
    rows: list[Row] = stored.filter(place & (pc.field("window_start") == sample.window_start)).to_pylist()
    return rows


def _reference(warehouse: Warehouse, settings: JobSettings, stored: pa.Table) -> _Reference:
    """The events of the version that the results were computed from."""
    version = stored.column("events_version")[0].as_py() if stored.num_rows else None
    rows = warehouse.dataset("events", version)
    latest = max((file.partition["day"] for file in warehouse.files("events", version)), default=None)
    final = None
    if latest is not None and not settings.execute.flush:
        final = datetime.combine(date.fromisoformat(latest), datetime.min.time(), UTC)
    schema = settings.event_schema
    return _Reference(
        settings=settings,
        events=RawEvents(rows, rows.schema),
        plans={plan.name: plan for plan in settings.workload.plans},
        schema=schema,
        unit=TIME_UNITS[schema.time_unit],
        final_until=final,
    )
