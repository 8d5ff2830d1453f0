"""A workload over events that arrive: batches in, the rows of windows that became final out, each window once.

The watermark is the largest time seen minus the lateness. A window is final when the watermark reaches its end: what comes
later and is earlier than the watermark is late, and is handed back. So an event that is in time lies in no window that was
given out. Windows that close are folded by what folds a run, over the events that are held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines.registry import DEFAULT_ENGINE, Options, check_queries
from hamlet_core.errors import InvariantError, StreamError
from hamlet_core.execution import check_schema, check_windows, fold_stream
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Workload
from hamlet_core.online.arrival import Columns, Lateness, Reading, check_lateness
from hamlet_core.online.asked import Asked, calls
from hamlet_core.online.held import Held
from hamlet_core.online.saved import packed, unpacked
from hamlet_core.online.sliding import Chains
from hamlet_core.online.snapshot import (
    events_of,
    events_table,
    kinds_of,
    lateness_of,
    plain_kinds,
    plain_lateness,
    plain_schema,
    schema_of,
)
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.results.counters import Work
from hamlet_core.results.folded import Folded, shapes_of
from hamlet_core.results.rows import result_schema
from hamlet_core.results.totals import Totals, one_table
from hamlet_core.sharing.adapting import PlanChange, PlansInUse
from hamlet_core.table.encode import Column, EventSchema
from hamlet_core.table.frames import Events
from hamlet_core.windows import Wanted

_OPTIONS = ("engine", "policy", "cost_model", "arithmetic", "choice", "optimizer")
_COUNTS = ("top", "closed", "ended", "rows", "late_rows", "result_rows")
"""What of a position is a plain value."""


@dataclass(frozen=True, slots=True)
class SessionStats:
    """What a session has seen, and what it holds; times are in ticks of the input (timestamps: microseconds)."""

    rows: int
    """That were pushed, late ones and those of types that no query reads among them."""
    late: int
    """Of these, rows that came too late."""
    late_waiting: int
    """Of these, rows that nobody has taken yet."""
    result_rows: int
    """That were given out."""
    watermark: int | None
    """The largest time seen minus the lateness; None before the first row."""
    held_events: int
    """That open windows need."""
    held_bytes: int
    """Of these events."""
    pane_bytes: int
    """Of what is kept of panes, from which sliding windows are joined."""
    folded_events: int
    """By this object: events that folds have read, an event once more where a fold reads it again."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a stream stands: a value, so that what is refused changes nothing."""

    held: Held = Held()
    columns: Columns | None = None
    top: int | None = None
    closed: int | None = None
    """The watermark up to which windows were given out."""
    ended: bool = False
    rows: int = 0
    late_rows: int = 0
    result_rows: int = 0
    late: tuple[pa.Table, ...] = ()


def stream(
    workload: Workload | str,
    *,
    schema: EventSchema = EventSchema(),
    lateness: Lateness = "0 s",
    engine: str = DEFAULT_ENGINE,
    policy: str = "dynamic",
    cost_model: str = "measured",
    choice: str = "guarded",
    optimizer: str = "auto",
    arithmetic: str = "scaled",
    threads: int | None = None,
) -> Session:
    """Ask a workload of events that arrive in batches; the rows are those of `run` on all events in time.

    `lateness` is how much earlier than the largest time seen an event may be: a length of time such as "5 min", a
    timedelta, or a number of units of an integer time column. The other options are those of `run`; a state does not
    keep `threads`, which are those of a machine.

    Raises QuerySyntaxError, QueryMeaningError, or StreamError: E201, E210, E213, E230, and E221 for what is no lateness.

    >>> import pyarrow as pa
    >>> session = stream("RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s", lateness="5 s", arithmetic="exact")
    >>> session.push(pa.table({"time": [1, 3, 2], "type": ["A", "B", "B"]})).num_rows
    0
    >>> rows = session.push(pa.table({"time": [15, 9], "type": ["A", "B"]}))
    >>> rows.select(["window_start", "exact"]).to_pylist()
    [{'window_start': 0, 'exact': '3'}]
    >>> [late.select(["time", "type", "late_watermark"]).to_pylist() for late in session.take_late()]
    [[{'time': 9, 'type': 'B', 'late_watermark': 10}]]
    """
    check_schema(schema)
    check_lateness(lateness)
    options = Options(engine, policy, cost_model, arithmetic, choice, threads=threads, optimizer=optimizer)
    asked = Asked.of(workload)
    check_queries(engine, asked.meaning.queries, asked.text)
    return Session(asked, schema, lateness, options)


class Session:
    """Mutable: a stream of events and the workload that it is asked; made by `stream` or `restore`.

    One thread at a time. What raises an error has changed nothing: the session stands where it stood before the call.
    """

    def __init__(
        self,
        asked: Asked,
        schema: EventSchema,
        lateness: Lateness,
        options: Options,
        position: Position = Position(),
    ) -> None:
        self._asked, self._schema, self._lateness, self._options = asked, schema, lateness, options
        self._reading = Reading(asked.meaning, asked.text, schema, lateness)
        self._chains = Chains(options)
        self._plans: PlansInUse[Any] = PlansInUse()
        self._now = position

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries, in the order of results."""
        return self._asked.names

    def push(self, events: Events) -> pa.Table:
        """Take a batch of events, in any order; returns the rows that are final now, in the columns and order of `run`.

        `events` are what `run` takes. Rows that are late are not counted, but wait in `take_late`.

        Raises what `run` raises for such events, and StreamError E223 for a column that was of another kind in the
        batches before, E224 after `flush`.
        """
        now = self._now
        if now.ended:
            raise StreamError(
                "events came after the end of the stream",
                code="E224",
                hint="flush() ends a stream, for it gives out windows that are open; begin another one",
            )
        arrived = self._reading.arrived(events, now.columns, now.top)
        if now.closed is not None and len(arrived.stream) and int(arrived.stream.time[0]) < now.closed:
            raise InvariantError("stream: an event in time lies before the watermark", code="E914")
        if arrived.columns is None or arrived.top is None:
            return self._nothing(now.columns)
        late = () if arrived.late is None else (arrived.late,)
        after = replace(
            now,
            held=now.held.and_events(arrived.stream, arrived.columns.kinds),
            columns=arrived.columns,
            top=arrived.top,
            rows=now.rows + arrived.rows,
            late_rows=now.late_rows + sum(map(len, late)),
            late=(*now.late, *late),
        )
        return self._given_out(after, arrived.columns, arrived.top, arrived.top - arrived.columns.lateness)

    def flush(self) -> pa.Table:
        """End the stream: returns the rows of all windows that are open. Later calls return none."""
        now = self._now
        if now.columns is None or now.top is None or now.ended:
            self._now = replace(now, ended=True)
            return self._nothing(now.columns)
        return self._given_out(replace(now, ended=True), now.columns, now.top, None)

    def take_late(self) -> tuple[pa.Table, ...]:
        """The rows that came too late and were not taken before: a table for each batch that had some.

        They are as they came, and behind their columns stand `late_watermark`, what the watermark was when each came,
        and `late_reason`.
        """
        late, self._now = self._now.late, replace(self._now, late=())
        return late

    def add(self, query_text: str) -> None:
        """Ask one more query, or some: each answers from its first window that begins after the largest time seen.

        Raises as `stream`, StreamError E222 for a name that a query has, and what `run` raises for the columns seen.
        """
        self._ask(self._asked.added(query_text, self._options.engine, self._now.top))

    def remove(self, name: str) -> None:
        """Ask a query no more: it has no rows of windows that are open. Raises StreamError E222 if there is none."""
        self._ask(self._asked.removed(name))

    def _ask(self, asked: Asked) -> None:
        now, reading = self._now, Reading(asked.meaning, asked.text, self._schema, self._lateness)
        if now.columns is not None:
            columns = reading.columns(now.columns.table, replace(now.columns, table=pa.schema([])))
            now = replace(now, columns=columns, held=now.held.with_columns(columns.kinds))
        self._asked, self._reading, self._now = asked, reading, self._without_the_past(now, asked)
        self._chains.made.clear()
        self._plans.plans.clear()

    def stats(self) -> SessionStats:
        """What it has seen, and what it holds."""
        now = self._now
        return SessionStats(
            rows=now.rows,
            late=now.late_rows,
            late_waiting=sum(map(len, now.late)),
            result_rows=now.result_rows,
            watermark=None if now.top is None or now.columns is None else now.top - now.columns.lateness,
            held_events=len(now.held),
            held_bytes=now.held.bytes,
            pane_bytes=self._chains.bytes,
            folded_events=self._chains.folded,
        )

    @property
    def plan_changes(self) -> tuple[PlanChange, ...]:
        """Where the optimizer has planned anew, because rates had changed: by this object, the last thousand times."""
        return tuple(self._plans.changes)

    def state(self) -> bytes:
        """All that the session knows, for `restore`, here or in another process; the session goes on as before."""
        now, asked, options = self._now, self._asked, self._options
        columns = now.columns
        kinds = {} if columns is None else columns.kinds
        header = {
            "text": asked.text,
            "since": asked.since,
            "schema": plain_schema(self._schema),
            "lateness": plain_lateness(self._lateness),
            "options": {name: getattr(options, name) for name in _OPTIONS},
            "counts": {name: getattr(now, name) for name in _COUNTS},
            "kinds": plain_kinds(kinds),
            "seen": columns is not None,
            "pieces": len(now.held.pieces),
        }
        tables = [] if columns is None else [pa.Table.from_batches([], columns.table)]
        tables += [events_table(piece, tuple(kinds)) for piece in now.held.pieces]
        return packed(header, [*tables, *now.late])

    @classmethod
    def restore(cls, state: bytes) -> Session:
        """The session whose `state()` these bytes are. Raises StreamError E225 for bytes that are damaged, or no state."""
        header, tables = unpacked(state)
        schema, lateness = schema_of(header["schema"]), lateness_of(header["lateness"])
        workload = parse_syntax(header["text"]) if header["text"] else Workload(())
        session = cls(Asked(workload, header["since"]), schema, lateness, Options(**header["options"]))
        now = replace(session._now, **header["counts"])
        if header["seen"]:
            kinds = kinds_of(header["kinds"])
            columns = replace(session._reading.columns(tables.pop(0).schema, None), kinds=kinds)
            pieces = (events_of(table, columns.nothing, kinds) for table in tables[: header["pieces"]])
            now = replace(now, columns=columns, held=Held(tuple(pieces)))
        session._now = replace(now, late=tuple(tables[header["pieces"] :]))
        return session

    # --- windows that close -------------------------------------------------------------------

    def _nothing(self, columns: Columns | None) -> pa.Table:
        """No rows; before any event window bounds are integers."""
        time_type = pa.int64() if columns is None else columns.nothing.time_type
        return pa.Table.from_batches([], result_schema(time_type))

    def _given_out(self, after: Position, columns: Columns, top: int, until: int | None) -> pa.Table:
        """The rows of windows that end up to a time (None: of all); the stream stands behind them then."""
        try:
            rows = self._rows_until(after, columns, top, until)
        except BaseException:
            self._chains = Chains(self._options)  # they may have gone on, and the stream has not
            raise
        closed = top if until is None else until
        after = replace(after, closed=closed, result_rows=after.result_rows + rows.num_rows)
        self._now = self._without_the_past(after, self._asked)
        return rows

    def _rows_until(self, after: Position, columns: Columns, top: int, until: int | None) -> pa.Table:
        first, before = after.held.first(), after.closed
        tables: list[pa.Table] = []
        if first is not None:
            wanted = [
                self._asked.closing(place, spec, (before, until), (first, top))
                for place, spec in enumerate(columns.specs)
            ]
            for places, only in calls(columns.specs, wanted):
                tables += self._tables(places, only, after.held, columns)
        tables = [one for one in tables if one.num_rows]
        return one_table(tables, self._asked.names) if tables else self._nothing(columns)

    def _tables(
        self, places: tuple[int, ...], only: Wanted, held: Held, columns: Columns
    ) -> Iterator[pa.Table]:
        """The rows of some queries in these windows, in the order of results in each table."""
        left, meaning, specs = list(places), self._asked.meaning, columns.specs
        for alike in self._chains.alike(meaning, places, specs):
            queries, spec = [meaning.queries[place] for place in alike], specs[alike[0]]
            found = self._chains.totals(queries, spec, only[spec], held, columns.kinds, self._asked.text)
            if found is not None:
                left = [place for place in left if place not in alike]
                yield self._shown(queries, found, columns)
        if left:
            yield self._folded(tuple(left), only, held, columns)

    def _shown(self, queries: Sequence[AnalysedQuery], totals: list[Totals], columns: Columns) -> pa.Table:
        """Totals as rows."""
        numbers = ARITHMETICS[self._options.arithmetic]
        units = {name: Column(name, kind, scale, []) for name, (kind, scale) in columns.kinds.items()}
        events = replace(columns.nothing, columns=units)
        return Folded(events, shapes_of(tuple(queries), numbers), numbers, Work(), iter([totals])).results()

    def _folded(self, places: tuple[int, ...], only: Wanted, held: Held, columns: Columns) -> pa.Table:
        """The rows of some queries in these windows, whose events are folded once more."""
        asked = {columns.specs[place] for place in places}
        bounds = [spec.bounds(index) for spec in asked for index in (only[spec][0], only[spec][-1])]
        first, last = min(start for start, _ in bounds), max(end for _, end in bounds)
        events = held.between(first, last, columns.kinds)
        if events is None:
            return self._nothing(columns)
        meaning, specs = self._asked.part(places), [columns.specs[place] for place in places]
        for one, spec in zip(meaning.queries, specs, strict=True):
            check_windows(spec, events, one.query.name)
        self._chains.folded += len(events)
        return fold_stream(
            meaning, self._asked.text, events, specs, self._options, only, self._plans
        ).results()

    @staticmethod
    def _without_the_past(now: Position, asked: Asked) -> Position:
        """Without the events that no open window holds."""
        if now.columns is None or now.closed is None:
            return now
        if now.ended or not now.columns.specs:
            return replace(now, held=Held())
        needed = min(
            spec.bounds(asked.open_from(place, spec, now.closed))[0]
            for place, spec in enumerate(now.columns.specs)
        )
        return replace(now, held=now.held.since(needed, now.columns.kinds))
