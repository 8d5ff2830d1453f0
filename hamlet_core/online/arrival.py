"""A batch of events as it comes in: read once, typed and refused as a run does, and parted into events in time and late ones.

Rows count in the order in which they stand: a row is late if its time is before the largest time of the rows that came
before it, minus the lateness. So how a stream is cut into batches changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from hamlet_core.errors import StreamError
from hamlet_core.execution import Meaning, check_types, check_windows, window_spec
from hamlet_core.language.literals import duration_text, length
from hamlet_core.online.held import Kinds, chosen
from hamlet_core.table.arrow import numbers_of, of_numbers, of_texts, whole
from hamlet_core.table.columns import normalise, selected
from hamlet_core.table.encode import TIMESTAMP_TYPE, EventSchema, Stream, encode, table_kinds
from hamlet_core.table.frames import Events, opened
from hamlet_core.table.kinds import Kind
from hamlet_core.table.schema import find_frame
from hamlet_core.template.plan import types_read
from hamlet_core.windows import WindowSpec

Lateness: TypeAlias = str | int | timedelta
"""How late an event may come: a length of time, or a number of units of an integer time column."""

LATE_COLUMNS = ("late_watermark", "late_reason")
"""Behind the columns of late events: what the watermark was when each came, and why it is late, in words."""

_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class Columns:
    """What is known of the events since the first batch."""

    nothing: Stream
    """A stream without events: the unit and origin of time, and the type of window bounds."""
    kinds: Kinds
    """Of the attributes that queries read."""
    table: pa.Schema
    """Of the last batch."""
    lateness: int
    """In ticks."""
    specs: tuple[WindowSpec, ...]
    """By query."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """What a batch brings."""

    stream: Stream
    """The events in time, of types that are read."""
    columns: Columns | None
    """None as long as there was no row."""
    top: int | None
    """The largest time of all rows so far."""
    rows: int
    late: pa.Table | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What queries read of events, and how."""

    meaning: Meaning
    text: str
    schema: EventSchema
    lateness: Lateness
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = sorted({name for one in self.meaning.plans for name in one.columns})
        object.__setattr__(self, "names", tuple(names))

    def arrived(self, events: Events, known: Columns | None, top: int | None) -> Arrived:
        """Read a batch; raises what a run of it would raise, and StreamError E223 for columns of other kinds than before."""
        table = _whole(opened(events, self.schema.type))
        columns = self.columns(table.schema, known if len(table) else None)
        if not len(table):  # its columns may have no types yet
            return Arrived(columns.nothing, known, top, 0, None)
        stream = encode(table, self.schema, self.names, types_read(self.meaning.plans))
        for one, spec in zip(self.meaning.queries, columns.specs, strict=True):
            check_windows(spec, stream, one.query.name)
        times = _times(table, self.schema)
        late, floor = _lateness_of(times, top, columns.lateness)
        tops = [*([] if top is None else [top]), *([int(times.max())] if len(times) else [])]
        handed_back = None
        if late is not None:
            handed_back = _handed_back(table, late, floor, columns, self.lateness)
            stream = chosen(stream, ~late[stream.row_numbers])
        return Arrived(stream, columns, max(tops, default=None), len(times), handed_back)

    def columns(self, table: pa.Schema, known: Columns | None) -> Columns:
        """What is known with a batch of these columns, of which all before it is `known`."""
        if known is not None and set(self.names) <= known.kinds.keys() and table == known.table:
            return known
        kinds = table_kinds(table, self.schema, self.names)
        if known is not None:
            kinds = {name: _agreed(name, kind, known.kinds.get(name)) for name, kind in kinds.items()}
        for one in self.meaning.queries:
            check_types(one, {name: kind for name, (kind, _) in kinds.items()}, self.text)
        nothing = encode(pa.Table.from_batches([], table), self.schema, (), frozenset())
        if known is not None and nothing.time_type != known.nothing.time_type:
            raise _other_kind(self.schema.time, _time_kind(nothing), _time_kind(known.nothing))
        specs = tuple(window_spec(one, nothing, self.text) for one in self.meaning.queries)
        return Columns(nothing, kinds, table, ticks_of(self.lateness, nothing), specs)


def _whole(found: Any) -> pa.Table:
    """What `opened` gave, as a table: late rows are handed back with all their columns."""
    if isinstance(found, pa.Table):
        return found
    return found.to_table() if hasattr(found, "scanner") else found.read_all()


def _agreed(name: str, new: tuple[Kind, int], known: tuple[Kind, int] | None) -> tuple[Kind, int]:
    """The kind of a column of which batches have one each; a column that is NULL all over may have any."""
    if known is None or known == new or known[0] is Kind.NULL:
        return new
    if new[0] is Kind.NULL:
        return known
    raise _other_kind(name, _told(new), _told(known))


def _told(kind: tuple[Kind, int]) -> str:
    return f"{kind[0].value} of scale {kind[1]}" if kind[0] is Kind.DECIMAL else kind[0].value


def _time_kind(nothing: Stream) -> str:
    return "a timestamp" if nothing.time_type == TIMESTAMP_TYPE else "an integer time"


def _other_kind(name: str, new: str, known: str) -> StreamError:
    return StreamError(
        f"column {name!r} is {new}, and was {known} in the batches before",
        code="E223",
        hint="cast it to what it was, or begin another stream",
    )


def check_lateness(lateness: object) -> None:
    """Raise StreamError E221 for what is no lateness."""
    if isinstance(lateness, int) and not isinstance(lateness, bool) and 0 <= lateness <= _INT64.max:
        return
    if isinstance(lateness, timedelta) and lateness >= timedelta(0):
        return
    if isinstance(lateness, str) and length(lateness) is not None:
        return
    raise StreamError(
        f"lateness={lateness!r} is no length of time",
        code="E221",
        hint="give one such as '5 min', a timedelta, or a number of units of an integer time column; none is negative",
    )


def ticks_of(lateness: Lateness, nothing: Stream) -> int:
    """The lateness in ticks of a stream; raises StreamError E221 where it has none."""
    if isinstance(lateness, int):
        if nothing.time_type == TIMESTAMP_TYPE and lateness:
            raise StreamError(
                f"lateness={lateness} is a number of units, and the time column holds timestamps",
                code="E221",
                hint="give a length of time such as '5 min'",
            )
        return lateness
    microseconds = _microseconds(lateness)
    ticks, rest = divmod(microseconds, nothing.unit)
    if rest:
        raise StreamError(
            f"lateness={lateness!r} is finer than the unit of the time column, {duration_text(nothing.unit)}",
            code="E221",
            hint="use a multiple of the unit, or declare a finer time_unit",
        )
    return ticks


def _microseconds(lateness: str | timedelta) -> int:
    if isinstance(lateness, timedelta):
        return lateness // timedelta(microseconds=1)
    return length(lateness) or 0


def shown_lateness(lateness: Lateness, unit: str) -> str:
    """As people say it."""
    return f"{lateness} {unit}" if isinstance(lateness, int) else duration_text(_microseconds(lateness))


def _times(table: pa.Table, schema: EventSchema) -> Any:
    """The time of every row, in ticks; `encode` has refused those that have none."""
    column = table.column(find_frame(table.schema, schema).time)
    chunks = [numbers_of(normalise(chunk).array.cast(pa.int64())) for chunk in column.chunks]
    return np.concatenate([np.zeros(0, np.int64), *chunks])


def _lateness_of(times: Any, top: int | None, lateness: int) -> tuple[Any | None, Any]:
    """Which rows are late (None: none is), and by row the watermark when it came."""
    if not len(times):
        return None, times
    before = np.empty_like(times)
    before[0] = _INT64.min if top is None else top
    np.maximum.accumulate(np.maximum(times[:-1], before[0]), out=before[1:])
    lowest = _INT64.min + lateness
    floor = np.where(before < lowest, _INT64.min, before - np.int64(lateness))
    late = times < floor
    return (late if late.any() else None), floor


def _handed_back(table: pa.Table, late: Any, floor: Any, columns: Columns, lateness: Lateness) -> pa.Table:
    rows = np.flatnonzero(late)
    keep = of_numbers(late)
    arrays = [selected(whole(column), keep) for column in table.columns]
    found = pa.Table.from_arrays(arrays, names=table.column_names)
    watermark = of_numbers(floor[rows]).view(columns.nothing.time_type)
    unit = f"units of {duration_text(columns.nothing.unit)}"
    reason = f"earlier than the watermark, the largest time before it minus {shown_lateness(lateness, unit)}"
    reasons = pa.DictionaryArray.from_arrays(of_numbers(np.zeros(len(rows), np.int32)), of_texts([reason]))
    for name, values in zip(LATE_COLUMNS, (watermark, reasons.dictionary_decode()), strict=True):
        found = found.append_column(name, values)
    return found
