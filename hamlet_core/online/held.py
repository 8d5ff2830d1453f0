"""Events that open windows need: pieces of a stream, each in order of time, joined where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from hamlet_core.table.arrow import of_numbers
from hamlet_core.table.columns import frozen, within_int64
from hamlet_core.table.encode import Column, Stream
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import from_list

Kinds: TypeAlias = Mapping[str, tuple[Kind, int]]
"""By attribute its kind and decimal scale."""

_SMALL = 4096
"""Pieces of fewer events are joined with one another, so that there are few."""
_FEW_TEXTS = 1024
"""So many texts that no event has any more are kept."""


@dataclass(frozen=True, slots=True)
class Held:
    """Pieces in the order in which they came; each is sorted by time, and owns its memory."""

    pieces: tuple[Stream, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    @property
    def bytes(self) -> int:
        """Of their arrays."""
        return sum(map(_bytes, self.pieces))

    def first(self) -> int | None:
        """The earliest time of an event; None where there is none."""
        return min((int(piece.time[0]) for piece in self.pieces), default=None)

    def and_events(self, stream: Stream, kinds: Kinds) -> Held:
        """These and more, which are sorted; nothing of `stream` is kept but copies."""
        if not len(stream):
            return self
        pieces = [*self.pieces, joined([stream], kinds, copied=True)]
        while len(pieces) > 1 and len(pieces[-1]) < _SMALL and len(pieces[-2]) < 2 * len(pieces[-1]):
            pieces[-2:] = [joined(pieces[-2:], kinds)]
        return Held(tuple(pieces))

    def with_columns(self, kinds: Kinds) -> Held:
        """Without the columns that nobody reads any more."""
        return Held(
            tuple(
                replace(piece, columns={name: piece.columns[name] for name in kinds if name in piece.columns})
                for piece in self.pieces
            )
        )

    def count(self, first: int, last: int) -> int:
        """How many events there are from one time up to another."""
        bounds = within_int64(first, last)
        return sum(
            int(end - begin) for begin, end in (np.searchsorted(one.time, bounds) for one in self.pieces)
        )

    def between(self, first: int, last: int, kinds: Kinds) -> Stream | None:
        """The events from one time up to another, in order; None where there is none."""
        found = []
        for piece in self.pieces:
            begin, end = np.searchsorted(piece.time, within_int64(first, last)).tolist()
            if begin < end:
                found.append(piece if end - begin == len(piece) else piece.between(begin, end))
        return joined(found, kinds) if found else None

    def since(self, time: int, kinds: Kinds) -> Held:
        """Without the events before a time; a piece that is for the most part gone gives its memory back."""
        pieces = []
        for piece in self.pieces:
            gone = int(np.searchsorted(piece.time, within_int64(time)[0]))
            if gone < len(piece):
                copied = 2 * gone > len(piece)
                rest = piece.between(gone, len(piece)) if gone else piece
                pieces.append(joined([rest], kinds, copied=True) if copied else rest)
        return Held(tuple(pieces))


def _bytes(stream: Stream) -> int:
    columns = sum(column.array.nbytes for column in stream.columns.values())
    return int(stream.time.nbytes + stream.type_codes.nbytes + columns)


def joined(pieces: Sequence[Stream], kinds: Kinds, *, copied: bool = False) -> Stream:
    """Some pieces as one, in order of time, with these columns; `copied`: also where one is as it should be.

    A column that a piece has not, or that was NULL all over before it had a kind, is NULL there.
    """
    head = pieces[0]
    if len(pieces) == 1 and not copied and _fits(head, kinds):
        return head
    time = np.concatenate([piece.time for piece in pieces])
    names = tuple(sorted({name for piece in pieces for name in piece.type_names}))
    number = {name: place for place, name in enumerate(names)}
    codes = np.concatenate(
        [
            np.array([number[name] for name in piece.type_names], np.int32)[piece.type_codes]
            for piece in pieces
        ]
    )
    order = None if len(pieces) == 1 else np.argsort(time, kind="stable")
    columns = {
        name: Column(
            name, kind, scale, _one_array([_values(piece, name, kind, scale) for piece in pieces], order)
        )
        for name, (kind, scale) in kinds.items()
    }
    if order is not None:
        time, codes = time[order], codes[order]
    return replace(
        head,
        time=frozen(time),
        type_codes=frozen(codes),
        type_names=names,
        selection=None,
        columns=columns,
        offset=0,
    )


def _fits(piece: Stream, kinds: Kinds) -> bool:
    return {name: (column.kind, column.scale) for name, column in piece.columns.items()} == dict(kinds)


def _values(piece: Stream, name: str, kind: Kind, scale: int) -> Any:
    column = piece.columns.get(name)
    if column is None or (column.kind is Kind.NULL and kind is not Kind.NULL):
        return from_list([None] * len(piece), kind, scale)
    return column.array


def _one_array(arrays: Sequence[Any], order: Any | None) -> Any:
    """Arrays of one kind as one, in this order (None: as they are), copied."""
    if pa.types.is_decimal(arrays[0].type) and len({array.type for array in arrays}) > 1:
        wide = any(pa.types.is_decimal256(array.type) for array in arrays)
        scale = arrays[0].type.scale
        kind = pa.decimal256(76, scale) if wide else pa.decimal128(38, scale)
        arrays = [array.cast(kind) for array in arrays]
    whole = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    places = np.arange(len(whole)) if order is None else order
    whole = whole.take(of_numbers(places))
    if pa.types.is_dictionary(whole.type) and len(whole.dictionary) > len(whole) + _FEW_TEXTS:
        whole = whole.dictionary_decode().dictionary_encode()
    return whole


def chosen(stream: Stream, keep: Any) -> Stream:
    """The events where the Boolean array `keep` is true."""
    rows = np.flatnonzero(keep)
    columns = {
        name: replace(column, data=column.array.take(of_numbers(rows)))
        for name, column in stream.columns.items()
    }
    return replace(
        stream,
        time=frozen(stream.time[rows]),
        type_codes=frozen(stream.type_codes[rows]),
        selection=None,
        columns=columns,
        offset=0,
    )
