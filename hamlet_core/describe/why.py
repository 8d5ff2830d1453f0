"""Why a number is what it is: the trends of one group and window, event by event. Read-only, for small windows."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core.algebra.aggregates import LatestStart
from hamlet_core.engines.partitions import Partition, group_key, partitions
from hamlet_core.engines.prepared import PreparedQuery, prepare
from hamlet_core.engines.two_step import Listing, Trend
from hamlet_core.errors import StreamError
from hamlet_core.execution import check_columns
from hamlet_core.instants import iso
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Workload
from hamlet_core.pattern.meaning import AnalysedQuery, analyse_workload
from hamlet_core.table.encode import Column, EventSchema, Stream, encode, ticks
from hamlet_core.table.kinds import Kind
from hamlet_core.template.plan import QueryPlan, plan_query, types_read
from hamlet_core.windows import WindowSpec

SIDES = ("left", "right")
BOTH = "both"

MOST_STEPS = 500_000
"""Of a listing that go into counting trends which nobody sees: about a second."""


@dataclass(frozen=True, slots=True)
class BoundEvent:
    """One event of a trend. `row` counts from 0 in the input; `attributes` are those that the query reads."""

    alias: str
    """As the pattern binds it; `x or y` where it can bind the same trend in several ways."""
    type: str
    time: int | str
    """In the input's unit, or ISO 8601."""
    row: int
    attributes: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class BoundTrend:
    """A trend, oldest event first; `side` (left, right, both) is empty but for AND."""

    events: tuple[BoundEvent, ...]
    side: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """The trends of one query, group and window: how many there are, and the first of them.

    For AND, `sides` counts the trends that match one side only or both, and `pairs` is what COUNT(*) counts. Where there
    are far more than are shown, nobody counts them here (`trends` is None, `sides` is empty): `run` does, in no time.
    """

    query: str
    window_start: int | str
    window_end: int | str
    group_key: str
    trends: int | None
    shown: tuple[BoundTrend, ...]
    sides: tuple[tuple[str, int], ...] = ()
    pairs: int | None = None


def why(
    workload: Workload | str,
    events: pa.Table | pa.RecordBatchReader,
    *,
    group: str,
    window_start: int | datetime | date | np.datetime64,
    schema: EventSchema = EventSchema(),
    limit: int | None = 20,
) -> tuple[Why, ...]:
    """The trends behind the result rows of one group and window, for each query that has both.

    `group` is a `group_key` (a JSON object; layout does not matter), `window_start` is in the time column's own kind
    (NumPy's for a year beyond 9999 or before 1), and `limit` is the number of trends returned for each query (None: all).
    Raises as `run`; StreamError E216 if no query has such a window, E217 such a group, and E301 if those that are to be
    shown are not found among the first million sequences, complete or not.

    >>> table = pa.table({"time": [1, 2, 3], "type": ["A", "B", "B"]})
    >>> text = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s"
    >>> (found,) = why(text, table, group="{}", window_start=0)
    >>> found.trends, [[event.time for event in trend.events] for trend in found.shown]
    (3, [[1, 3], [1, 2], [1, 2, 3]])
    """
    parsed = parse_syntax(workload) if isinstance(workload, str) else workload
    check_columns(parsed, events.schema, schema)
    pairs = [(one, plan_query(one)) for one in analyse_workload(parsed)]
    wanted = _Group.of(group)
    pairs = wanted.fitting(pairs)
    columns = sorted({name for _, plan in pairs for name in plan.columns})
    stream = encode(events, schema, columns, types_read(plan for _, plan in pairs))
    start = _in_ticks(window_start, stream)
    found = [
        _why(one, plan, stream, spec, wanted.key, start, limit)
        for one, plan in pairs
        if (start - (spec := _windows(plan, stream)).origin) % spec.slide == 0
    ]
    if not found:
        raise _no_window(
            window_start, start, [(plan.name, _windows(plan, stream)) for _, plan in pairs], stream
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Group:
    """The wanted group: its names, and its canonical key."""

    names: frozenset[str]
    key: str

    @classmethod
    def of(cls, text: str) -> _Group:
        try:
            values = json.loads(text)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise StreamError(
                f"{text!r} is no group key",
                code="E217",
                hint='give a JSON object such as {"district":"Harbour"}, or {}',
            )
        return cls(frozenset(values), group_key(values))

    def fitting(self, pairs: list[tuple[AnalysedQuery, QueryPlan]]) -> list[tuple[AnalysedQuery, QueryPlan]]:
        """The queries that report such groups."""
        fits = [(one, plan) for one, plan in pairs if frozenset(plan.group_by) == self.names]
        if not fits:
            groups = "; ".join(
                f"{plan.name} groups by {', '.join(plan.group_by)}"
                if plan.group_by
                else f"{plan.name} has one group, {{}}"
                for _, plan in pairs
            )
            raise StreamError(f"no query reports groups like {self.key}", code="E217", hint=groups)
        return fits


def _windows(plan: QueryPlan, stream: Stream) -> WindowSpec:
    return WindowSpec(ticks(plan.within, stream.unit), ticks(plan.slide, stream.unit), stream.origin)


def _in_ticks(start: int | datetime | date | np.datetime64, stream: Stream) -> int:
    """The start of a window in ticks of the stream."""
    numbered = pa.types.is_integer(stream.time_type)
    if isinstance(start, int) != numbered:
        raise StreamError(
            f"the window starts at {start!r}, but the time column holds {'integers' if numbered else 'timestamps'}",
            code="E216",
            hint="give the start of the window as the results show it",
        )
    if isinstance(start, int):
        return start
    if isinstance(start, np.datetime64):
        return int(start.astype("datetime64[us]").astype(np.int64))
    naive = datetime(start.year, start.month, start.day) if not isinstance(start, datetime) else start  # noqa: DTZ001
    return int(pa.scalar(naive, pa.timestamp("us")).value if naive.tzinfo is None else _aware(naive))


def _aware(moment: datetime) -> int:
    return int(pa.scalar(moment, pa.timestamp("us", "UTC")).value)


def _no_window(given: object, start: int, specs: list[tuple[str, WindowSpec]], stream: Stream) -> StreamError:
    near = "; ".join(
        f"{name} has windows from {_time(before, stream)} and {_time(before + spec.slide, stream)}"
        for name, spec in specs
        for before in (start - (start - spec.origin) % spec.slide,)
    )
    return StreamError(f"no query has a window that starts at {given}", code="E216", hint=near)


def _why(
    analysed: AnalysedQuery,
    plan: QueryPlan,
    stream: Stream,
    spec: WindowSpec,
    key: str,
    start: int,
    limit: int | None,
) -> Why:
    prepared = prepare(analysed, stream, LatestStart())
    tally = _Tally(limit)
    end = start + spec.within
    first, last = bisect_left(stream.times, start), bisect_left(stream.times, end)
    rows = [row for row in range(first, last) if prepared.matters(row)]
    for partition in partitions(analysed, stream, rows):
        if partition.group == key:
            tally.add(prepared, partition)
    shown = tuple(_bound(trend, prepared) for trend in tally.shown)
    both = analysed.automaton.sides > 1 and not tally.more
    return Why(
        plan.name,
        _time(start, stream),
        _time(end, stream),
        key,
        None if tally.more else sum(tally.sides.values()),
        shown,
        tuple((side, tally.sides[side]) for side in (*SIDES, BOTH)) if both else (),
        tally.pairs if both else None,
    )


@dataclass(slots=True)
class _Tally:
    """Mutable: the trends of some partitions, counted, and the first of them kept."""

    limit: int | None
    shown: list[Trend] = field(default_factory=list)
    sides: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    steps: int = 0
    more: bool = False
    """Whether there are more than were counted."""

    def add(self, prepared: PreparedQuery, partition: Partition) -> None:
        """Count the trends of one partition; pairs never cross partitions."""
        here: Counter[str] = Counter()
        listing = Listing(prepared.root, prepared.stream.times, partition.rows, prepared.mode)
        for trend in () if self.more else listing.trends():
            if self.limit is None or len(self.shown) < self.limit:
                self.shown.append(trend)
            elif self.steps + listing.steps > MOST_STEPS:
                self.more = True
                return
            here[_side(trend, prepared)] += 1
        self.steps += listing.steps
        left, right, both = (here[side] for side in (*SIDES, BOTH))
        self.sides.update(here)
        self.pairs += left * right + left * both + right * both + both * (both - 1) // 2


def _side(trend: Trend, prepared: PreparedQuery) -> str:
    positions = prepared.root.automaton.positions
    sides = {positions[binding[-1]].side for binding in trend.bindings}
    return BOTH if len(sides) == 2 else SIDES[sides.pop()]


def _bound(trend: Trend, prepared: PreparedQuery) -> BoundTrend:
    side = _side(trend, prepared) if prepared.analysed.automaton.sides == 2 else ""
    return BoundTrend(tuple(_events(trend, prepared)), side)


def _events(trend: Trend, prepared: PreparedQuery) -> Iterator[BoundEvent]:
    stream, positions = prepared.stream, prepared.root.automaton.positions
    read = [name for name in plan_query(prepared.analysed).columns if name not in ("time", "type")]
    for place, row in enumerate(trend.rows):
        aliases = dict.fromkeys(positions[binding[place]].alias for binding in trend.bindings)
        yield BoundEvent(
            " or ".join(aliases),
            stream.types[row],
            _time(stream.times[row], stream),
            stream.rows[row],
            tuple((name, _value(stream.columns[name], row)) for name in read),
        )


def _value(column: Column, row: int) -> Any:
    value = column.values[row]
    if column.kind is Kind.TIMESTAMP and value is not None:
        return iso(value)
    return f"{value:f}" if isinstance(value, Decimal) else value


def _time(tick: int, stream: Stream) -> int | str:
    return tick if pa.types.is_integer(stream.time_type) else iso(tick)
