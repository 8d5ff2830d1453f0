"""How `events` is laid out: which columns decide the bucket, how many buckets, and which names are possible."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, functions

from pipelines.reading import UTC, ColumnOptions
from pipelines.steps.row_hashes import row_hashes
from resources import tables
from resources.sql import quoted
from resources.warehouse import WarehouseError

ROWS_PER_BUCKET = 50_000
_UNWRITABLE = re.compile(r"[ ,;{}()\n\t=]")


@dataclass(frozen=True, slots=True)
class Layout:
    """The key columns whose hash is the bucket of an event, and the number of buckets.

    A query whose partition attributes include the whole key can be computed bucket by bucket.
    """

    key: tuple[str, ...]
    buckets: int

    @classmethod
    def choose(
        cls, partitions: Sequence[frozenset[str]], columns: Iterable[str], rows: int, cores: int
    ) -> Layout:
        """The layout for queries with these partition attributes and about so many events.

        >>> Layout.choose([frozenset("ab"), frozenset("a"), frozenset("ac")], "abc", 1_000_000, 2)
        Layout(key=('a',), buckets=8)
        """
        key = bucket_key(partitions, columns)
        buckets = max(2, min(4 * cores, rows // ROWS_PER_BUCKET)) if key else 1
        return cls(key, buckets)

    @classmethod
    def of(cls, properties: dict[str, str]) -> Layout:
        """The layout that a table of events has."""
        return cls(tuple(json.loads(properties[tables.BUCKET_KEY])), int(properties[tables.BUCKETS]))

    def properties(self) -> tuple[tuple[str, str], ...]:
        """The layout as table properties."""
        return (tables.BUCKET_KEY, json.dumps(self.key)), (tables.BUCKETS, str(self.buckets))

    def bucket(self) -> Column:
        """The bucket of an event, 0 <= bucket < buckets."""
        if not self.key:
            return functions.lit(0)
        hashed = functions.xxhash64(*(functions.col(quoted(name)) for name in self.key))
        return functions.pmod(hashed, functions.lit(self.buckets)).cast("int")

    def buckets_of(self, events: pa.RecordBatch) -> pa.Array:
        """As `bucket`, of events in Arrow."""
        if not self.key:
            return pa.repeat(pa.scalar(0, pa.int32()), events.num_rows)
        hashed = row_hashes([events.column(name) for name in self.key], events.num_rows)
        return pa.array((hashed.view(np.int64) % self.buckets).astype(np.int32))


def bucket_key(partitions: Sequence[frozenset[str]], columns: Iterable[str]) -> tuple[str, ...]:
    """The columns common to the partition attributes of as many queries as one key can serve, sorted.

    >>> bucket_key([frozenset("ab"), frozenset("abc"), frozenset("d"), frozenset()], "abcd")
    ('a', 'b')
    """
    present = frozenset(columns)
    served = Counter(name for partition in partitions for name in sorted(partition & present))
    if not served:
        return ()
    most = min(served, key=lambda name: (-served[name], name))
    return tuple(sorted(frozenset.intersection(*(p & present for p in partitions if most in p))))


def source_properties(options: ColumnOptions) -> tuple[tuple[str, str], ...]:
    """How the files were read, as a table property: one table holds files read the same way. What is not said is not
    in it, and strictness neither, for files are read again where it changes what becomes of a row.
    """
    read: dict[str, object] = {
        "time": options.time_column,
        "type": options.type_column,
        "type_value": None if options.type_column else options.type_value,
        "time_unit": options.time_unit,
    }
    more = {
        "types": dict(options.types) or None,
        "time_format": options.time_format,
        "zone": None if options.zone == UTC else options.zone,
        "type_trim": options.type_trim or None,
        "type_case": options.type_case,
        "unique": list(options.unique) or None,
    }
    read |= {name: given for name, given in more.items() if given is not None}
    return ((tables.SOURCE_OPTIONS, json.dumps(read, sort_keys=True)),)


def refuse_impossible_names(columns: pa.Schema) -> None:
    """WarehouseError for column names that the table of events cannot have."""
    ours = {column.name for column in tables.EVENT_COLUMNS}
    for name in columns.names:
        if name.lower() in ours:
            raise _impossible(name, "the table of events has a column of its own of that name")
        if _UNWRITABLE.search(name) or not name:
            raise _impossible(name, "Delta tables allow no empty name, blank, comma or one of ; { } ( ) =")
    spellings = Counter(name.lower() for name in columns.names)
    for name in columns.names:
        if spellings[name.lower()] > 1:
            raise _impossible(name, "another column differs only in upper and lower case")


def _impossible(name: str, why: str) -> WarehouseError:
    return WarehouseError(
        f"column {name!r} cannot be kept in the warehouse: {why}",
        code="E521",
        hint="rename the column in the files (and in the queries)",
    )
