"""What must not matter does not: other queries, other types, the order of ties, the zero of time, names, splits.

These need no second implementation, so they also see faults that all engines and the oracle would share.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given

import hamlet_core
from hamlet_core import QueryMeaningError
from hamlet_core.engines.registry import GENERAL
from hamlet_core.language.syntax import Equivalence, Timestamp, Workload
from tests.properties import comparison, strategies
from tests.properties.profiles import quick
from tests.properties.rewriting import as_timestamps, moments, renamed_types

pytestmark = pytest.mark.parametrize("engine", sorted(GENERAL))
SECOND = 1_000_000


def answers(case, engine, events=None, schema=comparison.SCHEMA):
    """Exact result rows, or the code of the refusal."""
    try:
        return comparison.run(case, engine, "exact", events, schema).to_pylist()
    except QueryMeaningError as error:
        return error.code


@quick(40)
@given(strategies.workload_cases)
def test_other_queries_change_nothing(engine, case):
    each_by_itself(case, engine)


@quick(30)
@given(strategies.matching_workload_cases)
def test_queries_of_other_modes_change_nothing(engine, case):
    each_by_itself(case, engine)


def each_by_itself(case, engine):
    """Queries asked together have the answers that each has alone."""
    together = answers(case, engine)
    apart = [
        answers(replace(case, workload=Workload((query,))), engine, comparison.table(case))
        for query in case.workload.queries
    ]
    refused = [rows for rows in apart if isinstance(rows, str)]
    assert together == (refused[0] if refused else [row for rows in apart for row in rows])


@quick(40)
@given(strategies.cases, strategies.streams)
def test_events_of_other_types_change_nothing(engine, case, others):
    strangers = tuple({**event, "type": "Stranger"} for event in others)
    mixed = replace(case, events=(*strangers[:3], *case.events, *strangers[3:]))
    assert answers(mixed, engine) == answers(case, engine)


@quick(40)
@given(strategies.cases, strategies.randoms)
def test_the_order_of_rows_changes_nothing(engine, case, random):
    shuffled = random.sample(case.events, len(case.events))
    assert answers(replace(case, events=tuple(shuffled)), engine) == answers(case, engine)


@quick(30)
@given(strategies.matching_cases, strategies.randoms)
def test_the_order_of_rows_changes_nothing_in_any_mode(engine, case, random):
    shuffled = random.sample(case.events, len(case.events))
    assert answers(replace(case, events=tuple(shuffled)), engine) == answers(case, engine)


@quick(40)
@given(strategies.cases, strategies.randoms)
def test_a_shift_by_slides_shifts_the_windows_only(engine, case, random):
    seconds = case.query.slide.microseconds // SECOND * random.choice((-1000, -3, 1, 2, 7))
    moved = with_times(case, lambda time: later(time, seconds))
    assert answers(moved, engine) == with_windows(answers(case, engine), lambda time: later(time, seconds))


@quick(30)
@given(strategies.cases, strategies.randoms)
def test_the_origin_moves_with_the_events(engine, case, random):
    assume(case.integer_time)
    seconds = random.choice((1, -1, 2, 3, 1000))
    moved = with_times(case, lambda time: time + seconds)
    schema = replace(comparison.SCHEMA, origin=seconds)
    expected = with_windows(answers(case, engine), lambda time: time + seconds)
    assert answers(moved, engine, schema=schema) == expected


@quick(30)
@given(strategies.cases)
def test_the_unit_of_time_changes_nothing(engine, case):
    assume(case.integer_time)
    finer = with_times(case, lambda time: time * 1000)
    schema = replace(comparison.SCHEMA, time_unit="ms")
    expected = with_windows(answers(case, engine), lambda time: time * 1000)
    assert answers(finer, engine, schema=schema) == expected


@quick(30)
@given(strategies.cases)
def test_integer_time_and_timestamps_are_the_same_time(engine, case):
    assume(case.integer_time)
    dated = replace(case, workload=as_timestamps(case.workload), integer_time=False)
    expected = with_windows(answers(case, engine), lambda time: later(datetime(1970, 1, 1, tzinfo=UTC), time))
    assert answers(dated, engine) == expected


def with_times(case, change):
    """The case with every event, and every point in time in a predicate, at another time."""
    return replace(
        case,
        workload=moments(case.workload, change),
        events=tuple({**event, "t": change(event["t"])} for event in case.events),
    )


def with_windows(rows, change):
    """Result rows in other windows; a refusal stays a refusal."""
    if isinstance(rows, str):
        return rows
    return [
        {**row, **{border: change(row[border]) for border in ("window_start", "window_end")}} for row in rows
    ]


def later(moment, seconds):
    match moment:
        case Timestamp(microseconds=microseconds):
            return Timestamp(microseconds + seconds * SECOND)
        case datetime():
            return moment + timedelta(seconds=seconds)
    return moment + seconds


@quick(40)
@given(strategies.cases)
def test_names_of_types_change_nothing(engine, case):
    def other(name):
        return {"A": "Zebra", "B": "a", "N": "SEQ", "M": "B"}.get(name, f"{name} {name}")

    renamed = replace(
        case,
        workload=renamed_types(case.workload, other),
        events=tuple({**event, "type": other(event["type"])} for event in case.events),
    )
    assert answers(renamed, engine) == answers(case, engine)


@quick(60)
@given(strategies.workload_cases)
def test_splitting_by_partition_and_merging_is_the_identity(engine, case):
    split_and_merged(case, engine)


@quick(40)
@given(strategies.matching_workload_cases)
def test_splitting_and_merging_is_the_identity_in_every_mode(engine, case):
    split_and_merged(case, engine)


def split_and_merged(case, engine):
    """The partial results of partitions, merged, are the answer to all of them."""
    for query in case.workload.queries:
        single = replace(case, workload=Workload((query,)))
        whole = comparison.table(single)
        expected = answers(single, engine, whole)
        if not isinstance(expected, str):
            parts = [_partials(single, engine, part) for part in _split(query, whole)]
            time_type = pa.int64() if case.integer_time else pa.timestamp("us", "UTC")
            merged = hamlet_core.merge_partials(
                single.workload, pa.concat_tables(parts), time_type=time_type, arithmetic="exact"
            )
            assert merged.to_pylist() == expected


def _partials(case, engine, events):
    return hamlet_core.partials(
        case.workload, events, schema=comparison.SCHEMA, engine=engine, arithmetic="exact"
    )


def _split(query, events):
    """The events by each combination of partition attributes, NULL being a value."""
    names = {item.name for item in query.group_by}
    names.update(name for part in query.where if isinstance(part, Equivalence) for name in part.attributes)
    parts = [events]
    for name in sorted(names):
        parts = [
            part.filter(
                pc.is_null(part[name])
                if value is None
                else pc.fill_null(pc.equal(part[name], value), fill_value=False)
            )
            for part in parts
            for value in part[name].unique().to_pylist()
        ]
    return parts
