"""What the oracle says of a random case, what an engine says, and whether they agree."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pyarrow as pa

import hamlet_core
from hamlet_core import EventSchema, QueryMeaningError
from hamlet_core.language.syntax import AggregateFunction
from tests.golden import harness
from tests.oracle.oracle import MICROSECONDS, AmbiguousBindingError, oracle_rows
from tests.properties.generation import Case
from tests.properties.patterns import may_be_ambiguous
from tests.properties.streams import columns

SCHEMA = EventSchema(time="t", type="type")
SCALE = 2
MICROSECOND = 6
"""The scale of seconds in which a duration between timestamps is exact."""
TYPES: Mapping[str, pa.DataType] = {
    "v": pa.int64(),
    "u": pa.int64(),
    "g": pa.string(),
    "d": pa.float64(),
    "m": pa.decimal128(16, SCALE),
    "s": pa.string(),
}
Values = dict[harness.Key, int | Fraction | None]


def table(case: Case) -> pa.Table:
    """The stream of a case, with every column its queries read."""
    read = sorted({name for query in case.workload.queries for name in columns(query)})
    events = harness.table(case.events, {name: TYPES[name] for name in read})
    if case.integer_time:
        return events
    times = events["t"].cast(pa.timestamp(case.unit)).cast(pa.timestamp("us"))
    return events.set_column(events.column_names.index("t"), "t", times)


def expected(case: Case, limit: int = 60_000) -> tuple[Values, Values]:
    """Exact values and their magnitudes by enumeration."""
    values: Values = {}
    magnitudes: Values = {}
    how = {"unit": case.unit, "integer_time": case.integer_time, "limit": limit}
    for query in case.workload.queries:
        for row in oracle_rows(query, case.events, **how):
            start = row.window_start * MICROSECONDS[case.unit] // MICROSECONDS["s"]
            place = (query.name, start, harness.group_key(row.group))
            values.update({(*place, label): value for label, value in row.values.items()})
            magnitudes.update({(*place, label): value for label, value in row.magnitudes.items()})
    return values, magnitudes


def run(
    case: Case,
    engine: str,
    arithmetic: str,
    events: pa.Table | None = None,
    schema: EventSchema = SCHEMA,
) -> pa.Table:
    """The public answer to a case."""
    stream = table(case) if events is None else events
    return hamlet_core.run(case.workload, stream, schema=schema, engine=engine, arithmetic=arithmetic)


def disagreements(case: Case, engines: tuple[str, ...], arithmetics: tuple[str, ...]) -> list[str]:
    """Everything in which an engine differs from enumeration; a query refused for ambiguity must be ambiguous."""
    try:
        values, magnitudes = expected(case)
    except AmbiguousBindingError:
        return [f"{engine} accepts an ambiguous alias" for engine in engines if not _refused(case, engine)]
    found: list[str] = []
    scales = {"m": SCALE, "DURATION": 0 if case.integer_time else MICROSECOND}
    for engine in engines:
        for arithmetic in arithmetics:
            try:
                result = run(case, engine, arithmetic)
            except QueryMeaningError as error:
                found += [] if _rightly(case, error) else [f"{engine} refuses: {error}"]
            else:
                wrong = harness.differences(
                    result, values, arithmetic, magnitudes, doubles=("d",), scales=scales
                )
                found += [f"{engine}, {arithmetic}: {text}" for text in wrong]
    return found


def _refused(case: Case, engine: str) -> bool:
    try:
        run(case, engine, "exact")
    except QueryMeaningError as error:
        return _rightly(case, error)
    return False


def _rightly(case: Case, error: QueryMeaningError) -> bool:
    return error.code == "E114" and any(
        item.alias is not None
        and item.function is not AggregateFunction.REACH
        and may_be_ambiguous(query.pattern, item.alias)
        for query in case.workload.queries
        for item in query.aggregates
    )
