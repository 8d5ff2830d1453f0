"""Partitions with so many events that it matters how tasks of Spark take them, for `hamlet explain`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import EventSchema, QueryPlan
from hamlet_core.table.encode import TIME_UNITS
from hamlet_core.template.plan import types_read
from pipelines.showing.durations import duration
from pipelines.steps.execution.file_tasks import MOST_SHARES, fair_share


def hot_keys(plans: Sequence[QueryPlan], events: pa.Table, schema: EventSchema, parts: int) -> Iterator[str]:
    """A line for each partitioning of queries whose largest partition has far more than one of `parts` fair shares of the events:
    whether tasks share it, which they do in time, no piece shorter than the longest window.
    """
    alike: dict[tuple[str, ...], list[QueryPlan]] = defaultdict(list)
    for plan in plans:
        alike[tuple(dict.fromkeys(plan.equivalence + plan.group_by))].append(plan)
    share = fair_share(events.num_rows, parts)
    for key, several in alike.items():
        read = types_read(several)
        own = events
        if read is not None and schema.type in events.column_names:
            own = events.filter(
                pc.is_in(events.column(schema.type).cast(pa.string()), pa.array(sorted(read)))
            )
        values, rows = _largest(own, key)
        if rows > MOST_SHARES * share:
            longest = max(plan.within for plan in several)
            pieces = min(-(-rows // share), _lasts(own.column(schema.time), schema) // longest)
            names = ", ".join(plan.name for plan in several)
            where = ", ".join(f"{name} = {value}" for name, value in zip(key, values, strict=True))
            yield _line(names, where, rows, events.num_rows, pieces, duration(longest))


def _largest(events: pa.Table, key: Sequence[str]) -> tuple[Sequence[object], int]:
    """The values of the largest partition, and how many events it has."""
    if not key or not events.num_rows:
        return (), events.num_rows
    counted = events.group_by(list(key)).aggregate([([], "count_all")])
    place = pc.index(counted.column("count_all"), pc.max(counted.column("count_all"))).as_py()
    largest = counted.slice(place, 1).to_pylist()[0]
    return [largest[name] for name in key], largest["count_all"]


def _lasts(times: pa.ChunkedArray, schema: EventSchema) -> int:
    """Microseconds from the first event to the last."""
    unit = TIME_UNITS[schema.time_unit] if pa.types.is_integer(times.type) else 1
    if not pa.types.is_integer(times.type):
        times = times.cast(pa.timestamp("us", getattr(times.type, "tz", None)))
    ends = pc.min_max(times.cast(pa.int64())).as_py()
    return int(ends["max"] - ends["min"]) * unit if times.null_count < len(times) else 0


def _line(names: str, where: str, rows: int, every: int, pieces: int, longest: str) -> str:
    known = (
        f"Spark: {rows:,} of {every:,} events are one partition of {names}{f' ({where})' if where else ''}"
    )
    if pieces > 1:
        return f"{known}; tasks take it in about {pieces} pieces, cut where windows of {longest} end"
    return f"{known}, and windows of {longest} are not cut: one task takes it, which no number of cores makes faster"
