"""The GRETA comparison: recompute stored results from the raw events with the reference engine, and compare.

Small slices of the stream are recomputed entirely, large ones by a sample, whose parts the caller may have recomputed elsewhere.
The reference reads the Delta table `events` itself, and shares no step with the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import EventSchema, QueryPlan, run
from hamlet_core.errors import HamletError
from hamlet_core.table.encode import TIME_UNITS
from pipelines.checks.differences import Difference, Row, differences
from pipelines.checks.magnitudes import magnitudes, with_magnitudes
from pipelines.checks.raw_events import RawEvents, key_of_group
from pipelines.checks.sampling import Ending, Sample, draw
from pipelines.settings import JobSettings
from pipelines.spans import Span
from resources import tables
from resources.warehouse import Warehouse

_EVENTS_AT_ONCE = 500_000
"""Events of samples that are held in memory together, about."""
_EVENTS_HERE = 50_000
"""Events that this process recomputes: a second or two, in which tasks have hardly begun."""
Each: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any], Sequence[int]], list[Any]]
"""Does work on each of some items, whose sizes follow, wherever it likes; all of it pickles."""

_DIGITS = {"exact": "exact", "modular": "fingerprint"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was recomputed, and in what the stored rows differ from it."""

    everything: bool
    compared: int
    """(query, window, group) that were recomputed; for everything: rows."""
    left_out: int
    """Candidates with more events than the reference engine should take."""
    stored: int
    """Rows that there are to compare."""
    differences: tuple[Difference, ...]

    @property
    def blind(self) -> bool:
        """There are results, and none of them could be compared."""
        return bool(self.stored and not self.compared and not self.differences)


@dataclass(frozen=True, slots=True)
class _Reference:
    """What every recomputation needs."""

    settings: JobSettings
    plans: dict[str, QueryPlan]
    schema: EventSchema
    unit: int
    ending: Ending

    @property
    def digits(self) -> str | None:
        """The column in which not one digit may differ."""
        return _DIGITS.get(self.settings.execute.arithmetic)

    def rows(self, names: Iterable[str], events: pa.Table) -> list[Row]:
        """Recompute these queries over some events; windows as timestamps, only those of the span that are final."""
        workload = self.settings.workload.parsed
        arithmetic = self.settings.execute.arithmetic
        queries = tuple(self.plans[name].query for name in names)
        asked = queries if arithmetic == "exact" else tuple(with_magnitudes(query) for query in queries)
        found = run(
            replace(workload, queries=asked),
            events,
            schema=self.schema,
            engine="greta",
            arithmetic="modular" if arithmetic == "modular" else "exact",
        )
        rows = [self._in_time(row) for row in found.to_pylist()]
        if arithmetic != "exact":
            rows = list(magnitudes(rows, queries))
        return [row for row in rows if self.ending.has(row["window_end"])]

    def _in_time(self, row: dict[str, Any]) -> dict[str, Any]:
        for name in ("window_start", "window_end"):
            if isinstance(row[name], int):
                row[name] = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row[name] * self.unit)
        return row


def compare_with_greta(
    warehouse: Warehouse,
    settings: JobSettings,
    span: Span | None = None,
    each: Each | None = None,
) -> Comparison:
    """Compare the computed windows of a span, else that of the settings, with what the reference finds in `events`.

    `each` recomputes the parts of a large sample; without it this process does.
    """
    span = settings.span if span is None else span
    stored = _stored(warehouse, settings.workload.name, span)
    reference, events = _reference(warehouse, settings, span, stored)
    options = settings.sample
    if events.at_most(options.everything_up_to):
        expected = reference.rows(reference.plans, events.everything())
        found = differences(stored.to_pylist(), expected, reference.digits)
        return Comparison(True, len(expected), 0, stored.num_rows, found)
    plans = tuple(reference.plans.values())
    drawn = draw(events, stored, plans, reference.ending, options.size, options.largest)
    found = tuple(_sample_differences(reference, events, stored, drawn.samples, each))
    return Comparison(False, len(drawn.samples), drawn.left_out, stored.num_rows, found)


def _sample_differences(
    reference: _Reference,
    events: RawEvents,
    stored: pa.Table,
    samples: Mapping[Sample, int],
    each: Each | None,
) -> Iterator[Difference]:
    places = {sample: sample.place(reference.plans[sample.query]) for sample in samples}
    for together in _packs(samples):
        own = events.of_places([places[sample] for sample in together])
        names = [sample.query for sample in together]
        for sample, rows in zip(together, _recomputed(reference, names, own, each), strict=True):
            expected = [row for row in rows if row["window_start"] == sample.window_start]
            yield from differences(_at(stored, sample), expected, reference.digits)


def _recomputed(
    reference: _Reference, names: Sequence[str], events: Sequence[pa.Table], each: Each | None
) -> list[list[Row]]:
    """The rows of each of some queries over the events beside it."""

    def rows(item: tuple[str, pa.Table]) -> list[Row] | HamletError:
        try:
            return reference.rows((item[0],), item[1])
        except HamletError as error:  # raised here, as it is
            return error

    items, sizes = list(zip(names, events, strict=True)), [one.num_rows for one in events]
    here = each is None or sum(sizes) <= _EVENTS_HERE
    found = list(map(rows, items)) if here or each is None else each(rows, items, sizes)
    told: list[list[Row]] = []
    for one in found:
        if isinstance(one, HamletError):
            raise one
        told.append(one)
    return told


def _packs(samples: Mapping[Sample, int]) -> Iterator[list[Sample]]:
    """Samples in order of their windows, as many together as memory should hold: each lot is read from a time of its own."""
    together: list[Sample] = []
    held = 0
    for sample, count in sorted(samples.items(), key=lambda item: item[0].window_start):
        if together and held + count > _EVENTS_AT_ONCE:
            yield together
            together, held = [], 0
        together.append(sample)
        held += count
    if together:
        yield together


def _stored(warehouse: Warehouse, workload: str, span: Span) -> pa.Table:
    table = warehouse.dataset(tables.COMPUTED.name)
    wanted = pc.field("workload") == workload
    if span.after is not None:
        wanted &= pc.field("window_end") > pa.scalar(span.after, tables.TIMESTAMP)
    if span.until is not None:
        wanted &= pc.field("window_end") <= pa.scalar(span.until, tables.TIMESTAMP)
    return table.to_table(filter=wanted)


def _at(stored: pa.Table, sample: Sample) -> list[Row]:
    """The stored rows of one sample."""
    place = (pc.field("query") == sample.query) & (pc.field("group_key") == key_of_group(sample.group))
    rows: list[Row] = stored.filter(place & (pc.field("window_start") == sample.window_start)).to_pylist()
    return rows


def _reference(
    warehouse: Warehouse, settings: JobSettings, span: Span, stored: pa.Table
) -> tuple[_Reference, RawEvents]:
    """And the events of the latest version that a stored result was computed from: late ones may have come since."""
    version = pc.max(stored.column("events_version")).as_py() if stored.num_rows else None
    final = None
    latest = max((file.partition["day"] for file in warehouse.files("events", version)), default=None)
    if latest is not None and not settings.execute.flush:
        final = datetime.combine(date.fromisoformat(latest), datetime.min.time(), UTC)
    schema, plans = settings.event_schema, settings.workload.plans
    reference = _Reference(
        settings=settings,
        plans={plan.name: plan for plan in plans},
        schema=schema,
        unit=TIME_UNITS[schema.time_unit],
        ending=Ending(span, final, settings.origin),
    )
    return reference, RawEvents.of(warehouse, version, plans, schema, settings.origin, span)
