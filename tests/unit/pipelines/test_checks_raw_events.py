"""Which rows belong to which window and group, for many of them in one pass; as asking row by row."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipelines.checks.raw_events import Place, RawEvents
from resources import tables
from resources.data_files import parquet

VALUES: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "b": (pa.bool_(), (True, False)),
    "i": (pa.int64(), (0, 1, -(2**63))),
    "f": (pa.float64(), (0.0, -0.0, 1.5)),
    "s": (pa.string(), ("", "x", "é")),
    "d": (pa.decimal128(5, 2), (Decimal("1.20"), Decimal("-3.00"))),
    "t": (tables.TIMESTAMP, (datetime(2026, 1, 1, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC))),
    "y": (pa.date32(), (date(2026, 1, 1), date(1950, 2, 3))),
}


def events(random: Random, count: int) -> pa.Table:
    columns = {
        name: pa.array(random.choices([None, *values], k=count), kind)
        for name, (kind, values) in VALUES.items()
    }
    times = pa.array(sorted(random.choices(range(50), k=count)), pa.int64()).cast(tables.TIMESTAMP)
    return pa.table({"event_time": times, "event_type": random.choices("ABC", k=count), **columns})


def place(random: Random) -> Place:
    names = random.sample(sorted(VALUES), random.choice([0, 1, 1, 2, 7]))
    start, end = sorted(random.choices(range(-5, 60), k=2))
    types = random.choice([None, frozenset("A"), frozenset("BC")])
    return Place(types, start, end, tuple((name, random.choice([None, *VALUES[name][1]])) for name in names))


def belongs(row: dict[str, Any], place: Place) -> bool:
    time = np.datetime64(row["event_time"].replace(tzinfo=None), "us").astype(int)
    return (
        place.start <= time < place.end
        and (place.types is None or row["event_type"] in place.types)
        and all(row[name] == value for name, value in place.group)
    )


@pytest.mark.parametrize("seed", range(40))
def test_each_place_has_its_events(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    table = events(random, random.choice([1, 30, 400]))
    pa.parquet.write_table(table, tmp_path / "part.parquet", row_group_size=random.choice([7, 1000]))
    some = [place(random) for _ in range(40)]
    some += [Place(one.types, one.start, one.end, tuple(reversed(one.group))) for one in some[:5]]
    found = RawEvents(
        parquet([str(tmp_path / "part.parquet")], table.schema),
        table.schema,
        pa.compute.scalar(True),
        tuple(table.column_names),
    )
    rows = table.to_pylist()
    expected = [[row for row in rows if belongs(row, one)] for one in some]
    assert found.counts(some) == [len(one) for one in expected]
    names = sorted(table.column_names)
    assert [one.select(names).to_pylist() for one in found.of_places(some)] == [
        [{name: row[name] for name in names} for row in one] for one in expected
    ]
    assert [found.at_most(table.num_rows + more) for more in (-1, 0, 1)] == [False, True, True]
    assert seed or any(map(len, expected))


def test_batches_hold_little_more_than_a_row_group(tmp_path: Path) -> None:
    rows, groups, files = 100_000, 4, 8
    numbers = np.random.default_rng(1).integers(0, 2**60, rows * groups)
    times = pa.array(np.arange(rows * groups)).cast(tables.TIMESTAMP)
    kinds = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows * groups, np.int32)), ["A"]).cast(
        pa.string()
    )
    table = pa.table({"event_time": times, "event_type": kinds, "i": pa.array(numbers)})
    paths = [str(tmp_path / f"{number}.parquet") for number in range(files)]
    for path in paths:
        pa.parquet.write_table(table, path, row_group_size=rows)
    events = RawEvents(parquet(paths, table.schema), table.schema, pc.scalar(True), tuple(table.column_names))
    before, most, seen = pa.total_allocated_bytes(), 0, 0
    for batch in events.batches(table.column_names):
        seen += batch.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
    assert seen == rows * groups * files
    assert most < 0.6 * files * table.nbytes
