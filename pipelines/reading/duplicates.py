"""Duplicates by key: of events with equal values in all columns of a key, none of them NULL, the first is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.reading.chunks import Numbers
from pipelines.reading.reasons import REJECTED_SCHEMA, Reason
from pipelines.reading.values import true_at

_ROW = "row"


def first_of_each(
    events: pa.Table, key: Sequence[str], places: Sequence[tuple[str, Numbers]]
) -> tuple[pa.Table, pa.Table]:
    """The events without duplicates, and the duplicates as rejected rows; `places` are the files of the events, and
    their rows there, piece by piece.
    """
    rows = pa.array(np.arange(events.num_rows))
    keyed = pa.table([*(events[name] for name in key), rows], names=[*map(str, range(len(key))), _ROW])
    known = np.ones(events.num_rows, dtype=np.bool_)
    for name in key:
        known &= true_at(pc.is_valid(events[name]).combine_chunks())
    names = keyed.column_names[:-1]
    firsts = keyed.filter(pa.array(known)).group_by(names, use_threads=False).aggregate([(_ROW, "min")])
    kept = ~known
    kept[np.asarray(firsts[f"{_ROW}_min"])] = True
    twice = np.flatnonzero(~kept)
    if not len(twice):
        return events, REJECTED_SCHEMA.empty_table()
    files = np.repeat([name for name, _ in places], [len(numbers) for _, numbers in places])
    numbers = np.concatenate([numbers for _, numbers in places])
    refused = [
        {
            "source_file": str(files[place]),
            "row_number": int(numbers[place]),
            "raw": as_json(row),
            "reason": why_twice({name: row[name] for name in key}),
            "code": str(Reason.DUPLICATE),
        }
        for place, row in zip(twice, texts_of(events.take(pa.array(twice))), strict=True)
    ]
    return events.filter(pa.array(kept)), pa.Table.from_pylist(refused, schema=REJECTED_SCHEMA)


def why_twice(key: Mapping[str, str | None]) -> str:
    """A sentence for a person.

    >>> why_twice({"ride": "7"})
    'an earlier event has ride 7, too'
    """
    return f"an earlier event has {', '.join(f'{name} {value}' for name, value in key.items())}, too"


def texts_of(events: pa.Table | pa.RecordBatch) -> list[dict[str, str | None]]:
    """Events with their values as Arrow writes them: Python's datetime knows no year 10000."""
    texts = [column.cast(pa.string()) for column in events.columns]
    return pa.table(texts, names=events.schema.names).to_pylist()


def as_json(row: Mapping[str, str | None]) -> str:
    """One event as a rejected row shows it, where its line is not at hand."""
    return json.dumps(row, ensure_ascii=False)
