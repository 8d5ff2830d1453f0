"""Events in: an Arrow table and the schema that says where time and type stand. Out: a `Stream`, sorted by time,
with only the rows and columns that the queries read (SEMANTICS 1, API 1). Strict: bad data is a `StreamError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.errors import QueryMeaningError, StreamError
from hamlet_core.progress import Progress
from hamlet_core.table.arrow import Mask, numbers_of, of_numbers, of_texts
from hamlet_core.table.columns import coded, decoded, filled, frozen, is_text, normalise, plain_type, selected
from hamlet_core.table.kinds import Kind
from hamlet_core.table.schema import (
    TIME_UNITS,
    EventSchema,
    Frame,
    Source,
    find_frame,
    find_sources,
    table_kinds,
)
from hamlet_core.table.stream import Column, Stream, from_list
from hamlet_core.threads import Crew, Piece

__all__ = [
    "TIMESTAMP_TYPE",
    "TIME_UNITS",
    "Column",
    "EventSchema",
    "Stream",
    "encode",
    "table_kinds",
    "ticks",
]

TIMESTAMP_TYPE = pa.timestamp("us", "UTC")
_SHOWN_ROWS = 5
_STRIDE = 1 << 18
"""Rows that are looked at together where a copy of all would only be thrown away."""
_BYTE = 127
"""Numbers of types that a byte holds."""
_SHARED = 1 << 23
"""Rows from which on threads look at them together; at fewer one has looked before another has woken up."""
_MANY_ROWS = 1 << 19
"""Rows from which on there are threads for the batches, and of a piece of small batches that are concatenated."""
_FEW_ROWS = 65_536
"""Batches of a table that are smaller on average are concatenated first."""


def ticks(
    duration_microseconds: int,
    stream_unit: int,
    *,
    span: tuple[int, int] | None = None,
    text: str = "",
    what: str = "the duration",
) -> int:
    """A duration in ticks of `stream_unit` microseconds; QueryMeaningError E220 if it is finer than the unit.

    >>> ticks(300_000_000, TIME_UNITS["min"])
    5
    """
    count, rest = divmod(duration_microseconds, stream_unit)
    if rest:
        line, column = span or (1, 1)
        raise QueryMeaningError(
            f"{what} {_length(duration_microseconds)} is finer than the unit of the time column, "
            f"{_length(stream_unit)}",
            code="E220",
            hint="use a multiple of the unit, or declare a finer time_unit",
            line=line,
            column=column,
            text=text,
        )
    return count


def _length(microseconds: int) -> str:
    """A duration as a query would write it."""
    fitting = [name for name, size in TIME_UNITS.items() if microseconds % size == 0]
    return f"{microseconds // TIME_UNITS[fitting[-1]]} {fitting[-1]}"


def encode(
    events: pa.Table | pa.RecordBatchReader,
    schema: EventSchema,
    columns: Iterable[str],
    types: frozenset[str] | None,
    threads: int = 1,
) -> Stream:
    """The events of these types (None: of all), sorted by time (ties keep the input's order), with these columns.

    So many threads look at batches of a large table at once.

    A reader is consumed batch by batch; only rows of `types` are kept. Sorted input costs no sort, and where all rows
    are kept the stream's arrays are views of the table's. Raises StreamError as `schema.table_kinds`, and E204 NULL time or type in any row, E205 NaN or infinity in a row and column
    that is kept, E206 a value that int64 or microseconds cannot hold, E209 events of another class.
    """
    if isinstance(events, pa.RecordBatch):
        events = pa.Table.from_batches([events])
    if not isinstance(events, pa.Table | pa.RecordBatchReader):
        raise StreamError(
            f"events are a {type(events).__module__}.{type(events).__qualname__}",
            code="E209",
            hint="give a pyarrow.Table or RecordBatchReader; pyarrow.Table.from_pandas(frame) makes one",
        )
    frame = find_frame(events.schema, schema)
    sources = find_sources(events.schema, schema, columns)
    large = isinstance(events, pa.Table) and events.num_rows >= _MANY_ROWS
    with Crew(threads if large else 1) as crew:
        gathering = _Gathering(frame, sources, types, crew)
        for batch in crew.each(_pieces(gathering, events)):
            gathering.add(batch)
        return gathering.stream()


def _pieces(gathering: _Gathering, events: pa.Table | pa.RecordBatchReader) -> Iterator[Piece[_Batch]]:
    first = 0
    for column, count in _batches(events, gathering.used()):
        yield Piece(partial(gathering.looked_at, column, _Rows(first, count)))
        first += count


def _batches(
    events: pa.Table | pa.RecordBatchReader, used: list[int]
) -> Iterator[tuple[Callable[[int], Any], int]]:
    """(index -> array, number of rows) of each batch; many small batches of a table as one."""
    if isinstance(events, pa.RecordBatchReader):
        yield from ((batch.column, batch.num_rows) for batch in events)
        return
    batches = events.to_batches()
    if len(batches) > 1 + events.num_rows // _FEW_ROWS:
        try:
            whole = events.select(used).unify_dictionaries()
        except pa.ArrowException:
            whole = None
        # Texts of an array have 2 GiB together.
        if whole is not None and all(column.nbytes < 1 << 31 for column in whole.columns):
            for first in range(0, events.num_rows, _MANY_ROWS):
                part = whole.slice(first, _MANY_ROWS)
                yield partial(_together, part, used), part.num_rows
            return
    yield from ((batch.column, batch.num_rows) for batch in batches)


def _together(part: pa.Table, used: list[int], index: int) -> Any:
    """A column of a table of the columns `used`, as one array."""
    return part.column(used.index(index)).combine_chunks()


@dataclass(slots=True)
class _Fault:
    """Bad values of one column, counted over all batches."""

    count: int = 0
    rows: list[int] = field(default_factory=list)

    def add(self, rows: npt.NDArray[np.int64]) -> None:
        self.count += len(rows)
        self.rows += rows[: _SHOWN_ROWS - len(self.rows)].tolist()

    def __str__(self) -> str:
        rows = ", ".join(str(row) for row in self.rows)
        more = ", ..." if self.count > len(self.rows) else ""
        return f"{self.count} {'value' if self.count == 1 else 'values'}, first at row {rows}{more} (from 0)"


_NULL = "NULL"
_HINTS = {
    "E204": "every event needs a time and a type: drop such rows, or let the pipeline's ingest quarantine them",
    "E205": "make it NULL if it means 'missing', or drop such rows",
    "E206": "round or cast the column, so that nothing is lost silently",
}


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one batch, or those of them that are kept: by place in the batch."""

    first: int
    count: int
    kept: npt.NDArray[np.int64] | None = None

    def numbers(self) -> npt.NDArray[np.int64]:
        if self.kept is None:
            return np.arange(self.first, self.first + self.count)
        return self.kept + self.first if self.first else self.kept

    def of(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What is kept of a batch's numbers."""
        return numbers if self.kept is None else np.take(numbers, self.kept)


@dataclass(slots=True)
class _Batch:
    """What is kept of a batch, before its types have numbers. Mutable while it is looked at: faults are noted."""

    rows: _Rows
    names: list[str] = field(default_factory=list)
    """Each wanted type that the batch has."""
    codes: npt.NDArray[np.int8] | npt.NDArray[np.int32] | None = None
    """By row that is kept, the place of its type among the names; None: it is the first."""
    times: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    values: dict[int, Any] = field(default_factory=dict)
    sequence: Any = None
    faults: list[tuple[int, str, str, npt.NDArray[np.int64]]] = field(default_factory=list)
    """Column, code, what is wrong, and the numbers of the rows."""

    def note(self, index: int, code: str, reason: str, bad: Mask, rows: _Rows) -> None:
        self.faults.append((index, code, reason, rows.numbers()[bad]))


@dataclass(slots=True)
class _Gathering:
    """Mutable: takes batches, keeps the rows of the wanted types, and counts what is wrong."""

    frame: Frame
    sources: dict[str, Source]
    types: frozenset[str] | None
    crew: Crew
    rows: list[_Rows] = field(default_factory=list)
    times: list[npt.NDArray[np.int64]] = field(default_factory=list)
    codes: list[npt.NDArray[np.int32]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    sequences: list[Any] = field(default_factory=list)
    values: dict[int, list[Any]] = field(default_factory=dict)
    faults: dict[tuple[int, str, str], _Fault] = field(default_factory=dict)

    def used(self) -> list[int]:
        """Every column that is read, each once."""
        frame = self.frame
        special = (index for index in (frame.time, frame.type, frame.sequence) if index is not None)
        return list(dict.fromkeys([*special, *self._attributes()]))

    def add(self, batch: _Batch) -> None:
        """Fold in one batch; faults are only noted, so that the error can count them all."""
        numbers = [self.names.setdefault(name, len(self.names)) for name in batch.names]
        self.rows.append(batch.rows)
        self.times.append(batch.times)
        self.codes.append(_numbered(batch, np.array(numbers, np.int32)))
        for index, values in batch.values.items():
            self.values.setdefault(index, []).append(values)
        if self.frame.sequence is not None:
            self.sequences.append(batch.sequence)
        for index, code, reason, rows in batch.faults:
            self.faults.setdefault((index, code, reason), _Fault()).add(rows)

    def looked_at(self, column: Callable[[int], Any], every: _Rows, _: Progress) -> _Batch:
        """What one batch brings; changes nothing here, as batches are looked at by several threads."""
        batch = _Batch(every)
        codes, kept = self._coded(column, batch)
        times = self._column(self.frame.time, column(self.frame.time), batch, required=True)
        if kept is not None:
            batch.rows = _Rows(every.first, every.count, np.flatnonzero(kept))
        batch.codes = None if codes is None else batch.rows.of(codes)
        batch.times = batch.rows.of(filled(times.cast(pa.int64())))
        keep = None if kept is None else of_numbers(kept)
        for index in self._attributes():
            batch.values[index] = self._kept(index, column(index), keep, batch)
        if self.frame.sequence is not None:
            batch.sequence = self._kept(self.frame.sequence, column(self.frame.sequence), keep, batch)
        return batch

    def _coded(
        self, column: Callable[[int], Any], batch: _Batch
    ) -> tuple[npt.NDArray[np.int8] | npt.NDArray[np.int32] | None, Mask | None]:
        """The place of each row's type among the names of the batch, and which rows are kept (None: all)."""
        rows = batch.rows
        if self.frame.type is None:
            if not self._wanted(self.frame.type_value):
                return None, np.zeros(rows.count, np.bool_)
            batch.names = [str(self.frame.type_value)]
            return None, None
        labels = self._labels(column(self.frame.type))
        if labels.null_count:
            batch.note(self.frame.type, "E204", _NULL, numbers_of(labels.is_null()), rows)
        names = labels.dictionary.to_pylist()
        codes = filled(labels.indices, len(names))
        batch.names = [str(name) for name in names if self._wanted(name)]
        if not labels.null_count and len(batch.names) == len(names):
            return codes, None
        if batch.names == names[: len(batch.names)]:
            if _everywhere(self.crew, len(codes), lambda rows: int(codes[rows].max()) < len(batch.names)):
                return codes, None
            kept = codes < len(batch.names)
        else:
            places = {name: place for place, name in enumerate(batch.names)}
            table = np.array([*(places.get(name, -1) for name in names), -1])
            codes = _renumbered(codes, table.astype(np.int8 if len(places) <= _BYTE else np.int32))
            kept = codes >= 0
        return codes, None if kept.all() else kept

    def _labels(self, array: Any) -> Any:
        """Types as a dictionary array with int32 codes."""
        if pa.types.is_dictionary(array.type) and len(array.dictionary) <= len(array):
            return coded(array)
        labels = decoded(array)
        if not pa.types.is_string(labels.type):
            labels = labels.cast(pa.large_string())
        import pyarrow.compute as pc

        return pc.dictionary_encode(labels)

    def _wanted(self, name: str | None) -> bool:
        return name is not None and (self.types is None or name in self.types)

    def _attributes(self) -> Iterator[int]:
        """The columns to keep beside time and type, each once."""
        special = {self.frame.time, self.frame.type, None}
        for index in dict.fromkeys(source.index for source in self.sources.values()):
            if index is not None and index not in special:
                yield index

    def _kept(self, index: int, array: Any, keep: Any | None, batch: _Batch) -> Any:
        values = array if keep is None else selected(array, keep)
        return coded(values) if is_text(plain_type(array.type)) else self._column(index, values, batch)

    def _column(self, index: int, array: Any, batch: _Batch, *, required: bool = False) -> Any:
        normal = normalise(array)
        if required and normal.array.null_count:
            batch.note(index, "E204", _NULL, numbers_of(normal.array.is_null()), batch.rows)
        if normal.bad is not None and normal.bad.any():
            code = "E205" if pa.types.is_floating(normal.array.type) else "E206"
            batch.note(index, code, normal.reason, normal.bad, batch.rows)
        return normal.array

    def stream(self) -> Stream:
        """What was gathered, sorted; raises the first fault (by code, then column)."""
        for (index, code, reason), fault in sorted(
            self.faults.items(), key=lambda item: (item[0][1], item[0][0])
        ):
            raise StreamError(
                f"column {self.frame.names[index]!r}: {reason} in {fault}", code=code, hint=_HINTS[code]
            )
        times, codes = _joined(self.times, np.int64), _joined(self.codes, np.int32)
        apart = not self.sequences and _ascending(self.crew, times, np.greater)
        order = None if apart else self._order(times)
        if order is not None:
            times, codes = times[order], codes[order]
        names = tuple(self.names)
        stream = Stream(
            frozen(times),
            frozen(codes),
            names,
            self._selection(order),
            {},
            pa.int64() if self.frame.time_kind is Kind.TICK else TIMESTAMP_TYPE,
            self.frame.unit,
            self.frame.origin,
        )
        if apart:
            vars(stream)["tied"] = False  # as looking for it would find
        stream.columns.update(
            (name, Column(name, source.kind, source.scale, self._values(source, stream, order)))
            for name, source in self.sources.items()
        )
        return stream

    def _order(self, times: Any) -> Any | None:
        """A stable order by time (and sequence); None where the rows stand in it already."""
        if self.sequences:
            numbers = _one_array(self.sequences)
            last = numbers_of(numbers.is_null())
            return np.lexsort((filled(numbers), last, times))
        if _ascending(self.crew, times, np.greater_equal):
            return None
        return np.argsort(times, kind="stable")

    def _selection(self, order: Any | None) -> npt.NDArray[np.int64] | None:
        """The row numbers in order; None if they just count."""
        if all(rows.kept is None for rows in self.rows):
            return order
        numbers = _joined([rows.numbers() for rows in self.rows], np.int64)
        return numbers if order is None else numbers[order]

    def _values(self, source: Source, stream: Stream, order: Any | None) -> Any:
        if source.index is None or source.index == self.frame.type:
            names = of_texts(stream.type_names, pa.large_string())
            return pa.DictionaryArray.from_arrays(of_numbers(stream.type_codes), names)
        if source.index == self.frame.time:
            return of_numbers(stream.time)
        arrays = self.values.get(source.index, [])
        if not arrays:
            return from_list([], source.kind, source.scale)
        values = _one_array(arrays)
        return values if order is None else values.take(of_numbers(order))


def _ascending(crew: Crew, times: npt.NDArray[np.int64], compared: np.ufunc) -> bool:
    """Whether each time compares so with the one before it."""

    def holds(rows: slice) -> bool:
        later = times[rows.start + 1 : rows.stop + 1]
        return bool(np.all(compared(later, times[rows][: len(later)])))

    return _everywhere(crew, len(times), holds)


def _everywhere(crew: Crew, count: int, holds: Callable[[slice], bool]) -> bool:
    """Whether it holds for every block of so many rows: block by block little memory is taken. Each thread has as many of them."""
    blocks = [slice(first, first + _STRIDE) for first in range(0, count, _STRIDE)]

    def piece(own: list[slice]) -> Piece[bool]:
        return Piece(lambda _: all(map(holds, own)))

    if crew.threads == 1 or len(blocks) <= 1 or count < _SHARED:
        return all(map(holds, blocks))
    each = -(-len(blocks) // crew.threads)
    found: Iterator[bool] = crew.each(
        piece(blocks[first : first + each]) for first in range(0, len(blocks), each)
    )
    return all(found)


def _numbered(batch: _Batch, table: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """By row that is kept, the number of its type."""
    codes = batch.codes
    if codes is None:
        count = batch.rows.count if batch.rows.kept is None else len(batch.rows.kept)
        return np.full(count, table[0] if count else 0, np.int32)
    if np.array_equal(table, np.arange(len(table))):
        return codes.astype(np.int32, copy=False)
    return _renumbered(codes, table)


def _renumbered(codes: npt.NDArray[Any], table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`table[codes]`, block by block: NumPy makes wide indices of what it is given. All codes have an entry."""
    found = np.empty(len(codes), table.dtype)
    for first in range(0, len(codes), _STRIDE):
        block = slice(first, first + _STRIDE)
        # Other modes look for codes without an entry first.
        np.take(table, codes[block], out=found[block], mode="clip")
    return found


def _joined(arrays: list[npt.NDArray[Any]], number: type[np.generic]) -> npt.NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, number), *arrays])


def _one_array(arrays: list[Any]) -> Any:
    """Arrays of one type, at least one, as one; texts get a common dictionary."""
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
