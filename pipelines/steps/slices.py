"""Which rows of a table of results belong to a span: as a condition of Spark SQL, and the same for Arrow."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pipelines.spans import Span, microseconds
from resources import tables
from resources.sql import equal, literal

_TICK = timedelta(microseconds=1)


def results_of(workload: str, span: Span = Span(), *, but: Collection[str] = ()) -> str:
    """The rows of a workload whose windows end in the span, except those of the queries `but`.

    >>> results_of("w", but=["q"])
    "workload = 'w' AND query NOT IN ('q')"
    """
    conditions = [equal(workload=workload), *_ending(span)]
    if but:
        conditions.append(f"query NOT IN ({', '.join(literal(name) for name in sorted(but))})")
    return " AND ".join(conditions)


def results_filter(workload: str, span: Span = Span(), *, but: Collection[str] = ()) -> pc.Expression:
    """The same rows for a scan of Arrow."""
    wanted = pc.field("workload") == workload
    if but:
        wanted &= ~pc.field("query").isin(sorted(but))
    if span.after is not None:
        wanted &= pc.field("day") >= pa.scalar(first_day(span.after))
        wanted &= pc.field("window_end") > pa.scalar(span.after, tables.TIMESTAMP)
    if span.until is not None:
        wanted &= pc.field("day") <= pa.scalar(last_day(span.until))
        wanted &= pc.field("window_end") <= pa.scalar(span.until, tables.TIMESTAMP)
    return wanted


def rows_by_partition(results: ds.Dataset, workload: str, span: Span) -> dict[str, int]:
    """How many rows of a table of results each partition of a span has."""
    found = results.to_table(columns=["window_end"], filter=results_filter(workload, span)).column(0)
    if span.until is None:
        return {key: len(found) for key in span.keys}
    untils = np.array([microseconds(one.until) for one in span.partitions if one.until is not None])
    places = np.searchsorted(untils, np.asarray(found.cast(pa.int64())))
    counts = np.bincount(places, minlength=len(untils))
    return dict(zip(span.keys, counts.tolist(), strict=True))


def first_day(after: datetime) -> date:
    """The earliest `day` of windows that end later than this."""
    return after.astimezone(UTC).date()


def last_day(until: datetime) -> date:
    """The latest `day` of windows that end no later than this."""
    return (until.astimezone(UTC) - _TICK).date()


def _ending(span: Span) -> list[str]:
    """Conditions on the partition column first: whole days need no other."""
    conditions = []
    if span.after is not None:
        conditions.append(f"day >= DATE'{first_day(span.after)}'")
        if span.after.astimezone(UTC).time() != datetime.min.time():
            conditions.append(f"window_end > {_timestamp(span.after)}")
    if span.until is not None:
        conditions.append(f"day <= DATE'{last_day(span.until)}'")
        if span.until.astimezone(UTC).time() != datetime.min.time():
            conditions.append(f"window_end <= {_timestamp(span.until)}")
    return conditions


def _timestamp(when: datetime) -> str:
    return f"TIMESTAMP'{when.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00:00'"
