"""Small files that a stream leaves, put together while it runs: here and there a few, in the time of a micro-batch.

The maintenance job puts together all that there is; without it, a stream would open more files with every hour.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from pipelines.steps.layout import Layout
from resources.warehouse import DataFile, Warehouse

TOGETHER = 16
"""Files of one partition and about one size that are worth putting together."""
MOST_ROWS = 1_000_000
"""Files with so many rows stay as they are: their rows pass this process."""
WORTH = 3 * MOST_ROWS // 4
"""Rows in fewer files, of windows that are given out: they are read for a part of their times no more."""
AT_ONCE = 2
"""Partitions of a table in which files are put together after one micro-batch."""

Group = tuple[DataFile, ...]


def tidy(warehouse: Warehouse, names: Iterable[str], open_since: datetime) -> int:
    """Put together small files of these tables, those of the most crowded partitions first; the caller has the warehouse
    alone, and all ingests are complete. Windows that are open read events from a time on. Returns how many files are gone.
    """
    gone = 0
    for name in names:
        order: tuple[str, ...] = ()
        if groups := crowded(warehouse.files(name), open_since)[:AT_ONCE]:
            if name == "events":
                order = *Layout.of(warehouse.properties(name)).key, "event_time"
            warehouse.merge_files(name, groups, order)
            gone += sum(map(len, groups))
        warehouse.sum_up(name)
    return gone


def crowded(files: Sequence[DataFile], open_since: datetime) -> list[Group]:
    """Files of one partition that are worth putting together, the largest groups first."""
    alike: dict[tuple[object, ...], list[DataFile]] = defaultdict(list)
    for file in files:
        if 0 < file.rows < MOST_ROWS:
            over = file.last is None or file.last < open_since
            alike[over, _size(file), *sorted(file.partition.items())].append(file)
    groups = ((over, _begin(members)) for (over, *_), members in alike.items())
    found = [group for over, group in groups if len(group) >= TOGETHER or (over and _many(group))]
    return sorted(found, key=lambda group: (-len(group), group[0].path))


def _size(file: DataFile) -> int:
    """About how large a file is: what is put together is of the next size, so that no row is written often."""
    return (file.rows.bit_length() + 3) // 4


def _many(group: Group) -> bool:
    return len(group) > 1 and sum(file.rows for file in group) >= WORTH


def _begin(files: Iterable[DataFile]) -> Group:
    """The oldest of some files, of `MOST_ROWS` together."""
    begun, rows = [], 0
    for file in sorted(files, key=lambda one: (one.first is None, one.first, one.path)):
        rows += file.rows
        if rows > MOST_ROWS:
            break
        begun.append(file)
    return tuple(begun)
