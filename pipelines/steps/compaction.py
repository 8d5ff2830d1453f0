"""Small files that a stream leaves, put together while it runs: here and there a few, in the time of a micro-batch.

The maintenance job puts together all that there is; without it, a stream would open more files with every hour.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import pyarrow as pa
from deltalake.exceptions import DeltaError

from hamlet_core.errors import HamletError
from pipelines.steps.layout import Layout
from resources import tables
from resources.warehouse import DataFile, Warehouse

LOG = logging.getLogger("hamlet.progress")

TOGETHER = 16
"""Files of one partition and about one size that are worth putting together."""
MOST_ROWS, MOST_BYTES = 1_000_000, 64 << 20
"""Files with so many rows or bytes stay as they are: their rows pass this process."""
WORTH = 3 * MOST_ROWS // 4
"""Rows in fewer files, of windows that are given out: they are read for a part of their times no more."""
AT_ONCE = 2
"""Groups of files of a table that are put together after one micro-batch, at least."""

Group = tuple[DataFile, ...]

_OURS = frozenset(table.name for table in tables.ALL)


def tidy(warehouse: Warehouse, open_since: datetime) -> int:
    """Put together small files of our tables, those of the most crowded partitions first; the caller has the warehouse
    alone, and all ingests are complete. Windows that are open read events from a time on. Returns how many files are gone.

    Nobody needs it to be done: what fails is told, and is tried again after the next micro-batch.
    """
    gone = 0
    for name in warehouse.names():
        try:
            gone += _tidy(warehouse, name, open_since)
        except (HamletError, DeltaError, pa.ArrowException, OSError) as failure:
            LOG.warning("%s", f"small files of {name} are not put together: {failure}")
    return gone


def _tidy(warehouse: Warehouse, name: str, open_since: datetime) -> int:
    found = warehouse.open(name)
    # In other tables files may have rows that are gone, or columns of other names.
    plain = found.protocol().min_reader_version == 1
    if not plain or not (name in _OURS or tables.QUERY in found.metadata().configuration):
        return 0
    groups = crowded(warehouse.files(name), open_since)
    groups = groups[: max(AT_ONCE, len(groups) // TOGETHER)]
    if groups:
        key = Layout.of(warehouse.properties(name)).key if name == "events" else None
        warehouse.merge_files(name, groups, () if key is None else (*key, "event_time"))
    warehouse.sum_up(name)
    return sum(map(len, groups))


def crowded(files: Sequence[DataFile], open_since: datetime) -> list[Group]:
    """Files of one partition that are worth putting together, the largest groups first."""
    alike: dict[tuple[bool, int, tuple[tuple[str, str], ...]], list[DataFile]] = defaultdict(list)
    for file in files:
        if 0 < file.rows < MOST_ROWS and file.size < MOST_BYTES:
            over = file.last is None or file.last < open_since
            alike[over, _size(file), tuple(sorted(file.partition.items()))].append(file)
    found = []
    for (over, _, _), members in alike.items():
        worth = (one for one in _groups(members) if len(one) >= TOGETHER or (over and _many(one)))
        found += [group for group in (next(worth, None),) if group is not None]
    return sorted(found, key=lambda group: (-len(group), group[0].path))


def _size(file: DataFile) -> int:
    """About how large a file is: what is put together is of the next size, so that no row is written often."""
    return (file.rows.bit_length() + 3) // 4


def _many(group: Group) -> bool:
    return len(group) > 1 and sum(file.rows for file in group) >= WORTH


def _groups(files: Iterable[DataFile]) -> Iterator[Group]:
    """The files from the oldest on, in groups of `MOST_ROWS` and `MOST_BYTES` together."""
    begun: list[DataFile] = []
    for file in sorted(files, key=lambda one: (one.first is None, one.first, one.path)):
        rows, size = (sum(values) for values in ([one.rows for one in begun], [one.size for one in begun]))
        if begun and (rows + file.rows > MOST_ROWS or size + file.size > MOST_BYTES):
            yield tuple(begun)
            begun = []
        begun.append(file)
    if begun:
        yield tuple(begun)
