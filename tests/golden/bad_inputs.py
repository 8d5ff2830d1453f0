"""Bad inputs of the public functions, by name; what each says is in bad_inputs.toml."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core import (
    EventSchema,
    Session,
    check_columns,
    execute,
    explain,
    merge_partials,
    partials,
    plan,
    run,
    stream,
)
from hamlet_core.results.rows import PARTIAL_SCHEMA

COUNT = "RETURN COUNT(*) PATTERN A a+ WITHIN 10 s"
SUM = "RETURN SUM(a.v) PATTERN A a+ WITHIN 10 s"
GROUPED = "RETURN COUNT(*) PATTERN A a+ GROUP-BY v WITHIN 10 s"


def table(**columns: Any) -> pa.Table:
    """Three A events at 1, 2, 3 with a column v; a column given as None is left out."""
    given = {"time": [1, 2, 3], "type": ["A", "A", "A"], "v": [1, 2, 3], **columns}
    return pa.table({name: column for name, column in given.items() if column is not None})


def on(query: str, schema: EventSchema = EventSchema(), **columns: Any) -> Callable[[], object]:
    """Run a query on the three events."""
    return lambda: run(query, table(**columns), schema=schema)


def option(**options: Any) -> Callable[[], object]:
    """Run with options."""
    return lambda: run(COUNT, table(), **options)


def two_columns() -> pa.Table:
    """Two columns of one name."""
    names = ["time", "type", "v", "v"]
    return pa.Table.from_arrays([pa.array([1]), pa.array(["A"]), pa.array([1]), pa.array([2])], names)


def merged(**options: Any) -> Callable[[], object]:
    """Merge the partial results of the three events."""
    given = {"time_type": pa.int64(), "arithmetic": "scaled", **options}
    return lambda: merge_partials(COUNT, partials(COUNT, table()), **given)


def pushed(*batches: pa.Table, query: str = COUNT, **options: Any) -> Session:
    """A session that has taken these batches."""
    session = stream(query, **options)
    for batch in batches:
        session.push(batch)
    return session


def flushed() -> Session:
    """A session at its end."""
    session = pushed(table())
    session.flush()
    return session


INPUTS: dict[str, Callable[[], object]] = {
    "missing time column": on(COUNT, time=None),
    "missing type column": on(COUNT, type=None),
    "missing attribute": on(SUM, v=None),
    "missing attribute, close name": on(SUM, v=None, V=[1, 2, 3]),
    "missing sequence column": on(COUNT, EventSchema(sequence="nr")),
    "NULL time": on(COUNT, time=pa.array([1, None, 3])),
    "NULL time in events of another type": on(COUNT, time=pa.array([1, None, 3]), type=["A", "B", "A"]),
    "NULL type": on(COUNT, type=pa.array([None, "A", None])),
    "NaN": on(SUM, v=[1.0, float("nan"), 2.0]),
    "infinity": on(SUM, v=[float("inf"), 1.0, float("-inf")]),
    "many NaN": lambda: run(SUM, pa.table({"time": range(9), "type": ["A"] * 9, "v": [float("nan")] * 9})),
    "NaN in GROUP-BY": on(GROUPED, v=[1.0, float("nan"), 2.0]),
    "list column": on(GROUPED, v=[[1], [2], [3]]),
    "struct column": on(GROUPED, v=[{"x": 1}, {"x": 2}, {"x": 3}]),
    "binary column": on(GROUPED, v=[b"1", b"2", b"3"]),
    "time as text": on(COUNT, time=["1", "2", "3"]),
    "time as doubles": on(COUNT, time=[1.0, 2.0, 3.0]),
    "types as numbers": on(COUNT, type=[1, 2, 3]),
    "sequence as text": on(COUNT, EventSchema(sequence="v"), v=["1", "2", "3"]),
    "text in SUM": on(SUM, v=["1", "2", "3"]),
    "boolean in SUM": on(SUM, v=[True, False, True]),
    "uint64 beyond int64": on(SUM, v=pa.array([1, 2**63, 2**64 - 1], pa.uint64())),
    "nanoseconds that are no microseconds": on(COUNT, time=pa.array([1, 1000, 2000], pa.timestamp("ns"))),
    "seconds beyond int64 microseconds": on(COUNT, time=pa.array([2**62, 1, 2], pa.timestamp("s"))),
    "windows beyond int64": on(COUNT, time=[1, 2, 2**63 - 1]),
    "windows without number": on(COUNT.replace("WITHIN 10 s", "WITHIN 3650 d SLIDE 1 s")),
    "two columns of one name": lambda: run(SUM, two_columns()),
    "origin of timestamps for integers": on(COUNT, EventSchema(origin=datetime(2015, 1, 1, tzinfo=UTC))),
    "origin of integers for timestamps": on(
        COUNT, EventSchema(origin=5), time=pa.array([1, 2, 3], pa.timestamp("s"))
    ),
    "origin as text": lambda: EventSchema(origin="2015-01-01"),
    "window finer than the unit": on(COUNT.replace("10 s", "10 ms")),
    "step limit finer than the unit": on(
        "RETURN COUNT(*) PATTERN A a+ WHERE NEXT(a).time - a.time < 5 ms WITHIN 10 s"
    ),
    "unknown unit": lambda: EventSchema(time_unit="fortnight"),
    "type beside type_value": lambda: EventSchema(type="kind", type_value="Day"),
    "neither type nor type_value": lambda: EventSchema(type=None),
    "time and type in one column": lambda: EventSchema(time="x", type="x"),
    "empty time": lambda: EventSchema(time=""),
    "unknown engine": option(engine="flink"),
    "unknown policy": option(policy="sometimes"),
    "unknown cost model": option(cost_model="free"),
    "unknown choice": option(choice="best"),
    "unknown optimizer": option(optimizer="best"),
    "unknown arithmetic": option(arithmetic="float"),
    "an option of another class": option(engine=["greta"]),
    "a schema of another class": option(schema="time"),
    "events in a list": lambda: run(COUNT, [{"time": 1, "type": "A"}]),
    "events in an array": lambda: run(COUNT, np.zeros(3)),
    "events at a path where nothing is": lambda: run(COUNT, "no/such.parquet"),
    "events at the path of another format": lambda: run(COUNT, Path("pyproject.toml")),
    "a workload of another class": lambda: execute(42, table()),
    "a workload of another class, planned": lambda: plan(None),
    "columns of another class": lambda: check_columns(COUNT, table(), EventSchema()),
    "explained table of another class": lambda: explain(COUNT, table=[1]),
    "merging in an unknown arithmetic": merged(arithmetic="float"),
    "merging with bounds of another type": merged(time_type=pa.date32()),
    "merging another workload's results": lambda: merge_partials(
        f"other: {COUNT}", partials(COUNT, table()), time_type=pa.int64()
    ),
    "merging what is no partial result": lambda: merge_partials(COUNT, table(), time_type=pa.int64()),
    "decimal in LIKE": on(
        "RETURN COUNT(*) PATTERN A a WHERE a.v LIKE '1%' WITHIN 10 s", v=[Decimal("1.5")] * 3
    ),
    "lateness as a word": lambda: stream(COUNT, lateness="soon"),
    "lateness as a number with a point": lambda: stream(COUNT, lateness=1.5),
    "lateness that is negative": lambda: stream(COUNT, lateness=-1),
    "lateness finer than the unit": lambda: pushed(table(), lateness="10 ms"),
    "lateness in units beside timestamps": lambda: pushed(
        table(time=pa.array([1, 2, 3], pa.timestamp("s"))), lateness=5
    ),
    "NULL time in a pushed batch": lambda: pushed(table(), table(time=pa.array([1, None, 3]))),
    "NaN in a pushed batch": lambda: pushed(table(v=[1.0, float("nan"), 2.0]), query=SUM),
    "a batch without a column": lambda: pushed(table(), table(v=None), query=SUM),
    "a column of another kind than before": lambda: pushed(table(), table(v=["1", "2", "3"]), query=GROUPED),
    "a decimal column of another scale than before": lambda: pushed(
        table(v=pa.array([Decimal("1.5")] * 3)), table(v=pa.array([Decimal("1.25")] * 3)), query=SUM
    ),
    "timestamps after integers": lambda: pushed(table(), table(time=pa.array([1, 2, 3], pa.timestamp("s")))),
    "a batch in a list": lambda: pushed([{"time": 1, "type": "A"}]),
    "a batch after the end": lambda: flushed().push(table()),
    "a query whose name is there": lambda: stream(COUNT).add(SUM),
    "a query that reads what is not there": lambda: pushed(table(v=None)).add(f"other: {SUM}"),
    "a query that is not there": lambda: stream(COUNT).remove("q2"),
    "a state of another class": lambda: Session.restore("state"),
    "a state of no bytes": lambda: Session.restore(b""),
    "a state of other bytes": lambda: Session.restore(b"PAR1" * 20),
    "a state cut short": lambda: Session.restore(pushed(table()).state()[:-1]),
    "a state with another byte": lambda: Session.restore(pushed(table()).state()[:-1] + b"?"),
    "a state of another version": lambda: Session.restore(stream(COUNT).state().replace(b"\1", b"\2", 1)),
    "partial rows of another schema": lambda: merge_partials(
        COUNT, PARTIAL_SCHEMA.remove(4).empty_table(), time_type=pa.int64()
    ),
}
