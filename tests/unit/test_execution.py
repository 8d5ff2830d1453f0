"""The front door: what comes in, in any shape and order, and splits of the events that change nothing."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet_core import (
    DECISION_SCHEMA,
    PARTIAL_SCHEMA,
    EventSchema,
    HamletError,
    QueryMeaningError,
    StreamError,
    check_columns,
    execute,
    merge_partials,
    parse,
    partials,
    plan,
    run,
    run_part,
)
from hamlet_core.engines.hamlet.bursts import fold as bursts
from hamlet_core.engines.hamlet.events import fold as events
from hamlet_core.engines.hamlet.input import query_class
from hamlet_core.language.syntax import Workload
from hamlet_core.results.counters import Counters

TEXT = """
pairs: RETURN COUNT(*), SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v)
       PATTERN SEQ(A a, B b+) WHERE [e] GROUP-BY g WITHIN 6 s SLIDE 2 s
gaps:  RETURN COUNT(*) PATTERN SEQ(A a, NOT N n, B b) WHERE [e] AND a.v < NEXT(b).v GROUP-BY g WITHIN 8 s
both:  RETURN COUNT(*) PATTERN (A a+ AND B b+) WHERE [e] GROUP-BY g WITHIN 8 s
"""
ARITHMETICS = ("exact", "scaled", "modular")


def table(rows):
    names = ("time", "type", "g", "e", "v")
    kinds = (pa.int64(), pa.string(), pa.string(), pa.int64(), pa.int64())
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.table(
        {name: pa.array(column, kind) for name, column, kind in zip(names, columns, kinds, strict=True)}
    )


rows_of_events = st.lists(
    st.tuples(
        st.integers(-6, 12),
        st.sampled_from("ABNX"),
        st.sampled_from(("x", "y", None)),
        st.sampled_from((1, 2, 3, None)),
        st.none() | st.integers(-5, 5),
    ),
    max_size=14,
)


def same(one, other, arithmetic):
    """Equal tables; a scaled value may be rounded differently when its terms come in another order."""
    assert one.schema == other.schema
    exact = ["query", "window_start", "window_end", "group_key", "aggregate", "exact", "fingerprint"]
    assert one.select(exact).to_pylist() == other.select(exact).to_pylist()
    if arithmetic == "exact":
        assert one == other
    for row, twin in zip(one.to_pylist(), other.to_pylist(), strict=True):
        assert (row["value"] is None) == (twin["value"] is None)
        assert row["value"] is None or row["value"] == pytest.approx(twin["value"], rel=1e-12, abs=1e-9)


@settings(max_examples=60)
@given(rows_of_events, st.integers(1, 4), st.sampled_from(ARITHMETICS), st.randoms(use_true_random=False))
def test_splits_by_partition_key_change_nothing(rows, tasks, arithmetic, random):
    # Groups x and y with e = 1, 2, 3 are apart from one another, so one group's sums are merged over tasks.
    places = {}
    split = [[] for _ in range(tasks)]
    for row in rows:
        split[places.setdefault(row[2:4], random.randrange(tasks))].append(row)
    parts = [partials(TEXT, table(part), arithmetic=arithmetic) for part in split]
    random.shuffle(parts)
    merged = merge_partials(TEXT, pa.concat_tables(parts), time_type=pa.int64(), arithmetic=arithmetic)
    same(merged, run(TEXT, table(rows), arithmetic=arithmetic), arithmetic)


@settings(max_examples=60, deadline=None)
@given(rows_of_events, st.sampled_from(ARITHMETICS), st.sampled_from(("hamlet", "greta")))
def test_queries_whose_groups_are_whole_are_finished_at_once(rows, arithmetic, engine):
    # Parts by g hold whole groups; the query gaps still leaves partial rows, which are merged afterwards.
    how = {"arithmetic": arithmetic, "engine": engine}
    groups = [[row for row in rows if row[2] == group] for group in ("x", "y", None)]
    parts = [run_part(TEXT, table(own), {"pairs", "both"}, **how) for own in groups]
    assert sum(part.events for part in parts) == sum(row[1] != "X" for row in rows)
    assert all(set(part.partials["query"].to_pylist()) <= {"gaps"} for part in parts)
    left = pa.concat_tables([part.partials for part in parts])
    added = merge_partials(TEXT, left, time_type=pa.int64(), arithmetic=arithmetic)
    order = {name: place for place, name in enumerate(("pairs", "gaps", "both"))}
    found = pa.concat_tables([*(part.results for part in parts), added]).to_pylist()
    expected = run(TEXT, table(rows), **how)
    found.sort(key=lambda row: (order[row["query"]], row["window_start"], row["group_key"]))
    same(pa.Table.from_pylist(found, schema=expected.schema), expected, arithmetic)


@settings(max_examples=30)
@given(rows_of_events, st.sampled_from(ARITHMETICS), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(rows, arithmetic, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    same(
        run(TEXT, table(shuffled), arithmetic=arithmetic),
        run(TEXT, table(rows), arithmetic=arithmetic),
        arithmetic,
    )


def test_merging_adds_over_equivalence():
    rows = [(1, "A", "x", 1, 1), (2, "B", "x", 1, 5), (1, "A", "x", 2, 1), (2, "B", "x", 2, 7)]
    text = "RETURN COUNT(*), SUM(b.v), MIN(b.v) PATTERN SEQ(A, B b) WHERE [e] GROUP-BY g WITHIN 6 s"
    parts = [
        partials(text, table([row for row in rows if row[3] == key]), arithmetic="exact") for key in (1, 2)
    ]
    assert [part.num_rows for part in parts] == [1, 1]
    merged = merge_partials(text, pa.concat_tables(parts), time_type=pa.int64(), arithmetic="exact")
    assert merged["exact"].to_pylist() == ["2", "12", "5"]


def test_no_partial_rows_merge_to_no_rows():
    merged = merge_partials(TEXT, PARTIAL_SCHEMA.empty_table(), time_type=pa.int64())
    assert merged.num_rows == 0


@pytest.mark.parametrize("made", ARITHMETICS)
@pytest.mark.parametrize("merged", ARITHMETICS)
@pytest.mark.parametrize("asked", ["COUNT(*)", "SUM(b.v)"])
def test_partial_rows_of_another_arithmetic_are_refused(made, merged, asked):
    text = f"RETURN {asked} PATTERN SEQ(A, B b) WITHIN 6 s"
    rows = partials(text, EVENTS, arithmetic=made)
    if made == merged:
        assert merge_partials(text, rows, time_type=pa.int64(), arithmetic=merged).num_rows == 1
        return
    with pytest.raises(StreamError, match=f"of {made} arithmetic, not {merged}") as caught:
        merge_partials(text, rows, time_type=pa.int64(), arithmetic=merged)
    assert caught.value.code == "E215"


@pytest.mark.parametrize("other", ["COUNT(*)", "COUNT(b)", "SUM(b.e)", "MIN(b.v)", "SUM(b.v), MAX(b.v)"])
def test_partial_rows_of_other_aggregates_are_refused(other):
    rows = partials(f"RETURN {other} PATTERN SEQ(A, B b) WITHIN 6 s", EVENTS)
    assert rows.num_rows == 1
    with pytest.raises(StreamError, match="partial results of q1 are of other aggregates") as caught:
        merge_partials("RETURN MAX(b.v) PATTERN SEQ(A, B b) WITHIN 6 s", rows, time_type=pa.int64())
    assert caught.value.code == "E215"


EVENTS = table([(1, "A", "x", 1, 1), (2, "B", "x", 1, 5), (3, "B", "x", 1, 7), (3, "X", "x", 1, 0)])


def test_text_and_tree_give_the_same():
    workload = parse(TEXT)
    assert run(workload, EVENTS) == run(TEXT, EVENTS)
    assert run(pickle.loads(pickle.dumps(workload)), EVENTS) == run(TEXT, EVENTS)
    assert run(workload, EVENTS).num_rows > 0


@pytest.mark.parametrize("left", [query_class.KEPT_PROGRAMS, 0])
def test_what_one_run_plans_is_there_for_the_next(monkeypatch, left):
    monkeypatch.setattr(query_class, "KEPT_PROGRAMS", left)
    planned = []
    for module, name in ((bursts, "compile_bursts"), (events, "sharing_builder"), (events, "event_program")):
        plans = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, plans=plans, **named: planned.append(plans) or plans(*given, **named)
        )
    text = TEXT.replace("WITHIN 8 s", f"WITHIN {70 + left} s")  # which no other test has
    first = run(text, EVENTS)
    made = len(planned)
    assert {one.__name__ for one in planned} == {"compile_bursts", "sharing_builder", "event_program"}
    assert run(text, EVENTS) == first
    assert len(planned) == (made if left else 2 * made)
    for policy in ("never", "always", "dynamic"):  # which have other plans
        same(run(text, EVENTS, policy=policy), first, "scaled")
    more = pa.concat_tables([EVENTS, table([(4, "N", "y", 1, 2), (5, "A", "y", 2, 3), (6, "B", "y", 2, 4)])])
    assert run(text, more, arithmetic="exact") == run(parse(text), more, arithmetic="exact")


def test_tables_in_pieces_batches_and_readers_give_the_same():
    whole = run(TEXT, EVENTS)
    assert run(TEXT, pa.concat_tables([EVENTS.slice(2), EVENTS.slice(0, 2)])) == whole
    assert run(TEXT, EVENTS.to_reader(max_chunksize=1)) == whole
    assert run(TEXT, EVENTS.combine_chunks().to_batches()[0]) == whole


def test_a_table_of_one_type():
    days = pa.table({"time": [0, 1, 2]})
    text = "RETURN COUNT(*) PATTERN Day+ WITHIN 10 s"
    assert run(text, days, schema=EventSchema(type=None, type_value="Day"))["value"].to_pylist() == [7.0]


def test_what_execute_tells_beside_the_results():
    execution = execute("RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b.v > 5 WITHIN 10 s", EVENTS)
    assert execution.results["value"].to_pylist() == [1.0]
    assert execution.decisions.schema == DECISION_SCHEMA
    # X is read by no query; the first B fails its condition.
    assert execution.counters == Counters(
        events=3, matched_events=2, result_rows=1, kernel_events=2, bursts=2
    )


@pytest.mark.parametrize("engine", ["greta", "two_step"])
def test_engines_that_take_query_by_query_fold_nothing_in_kernels(engine):
    text = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b.v > 5 WITHIN 10 s"
    assert execute(text, EVENTS, engine=engine).counters == Counters(3, 2, 1)


def test_a_reader_is_consumed_once_for_all_queries():
    text = "RETURN COUNT(*) PATTERN A WITHIN 10 s RETURN COUNT(*) PATTERN B WITHIN 10 s"
    assert run(text, EVENTS.to_reader())["value"].to_pylist() == [1.0, 2.0]


def test_plan_tells_what_is_read():
    pairs, gaps, _ = plan(TEXT)
    assert pairs.types == {"A", "B"}
    assert gaps.types == {"A", "B", "N"}
    assert pairs.columns == gaps.columns == ("e", "g", "v")
    assert (pairs.within, pairs.slide, pairs.group_by, pairs.equivalence) == (
        6_000_000,
        2_000_000,
        ("g",),
        ("e",),
    )


REFUSED_BY_COLUMNS = {
    "RETURN COUNT(*) PATTERN A WITHIN 10 ms": "E220",
    "RETURN COUNT(*) PATTERN A WITHIN 10 s SLIDE 1 ms": "E220",
    "RETURN COUNT(*) PATTERN A+ WHERE NEXT(A).time - A.time < 5 ms WITHIN 10 s": "E220",
    "RETURN COUNT(*) PATTERN A WHERE A.g > 5 WITHIN 10 s": "E121",
    "RETURN SUM(A.g) PATTERN A WITHIN 10 s": "E135",
    "RETURN COUNT(*) PATTERN A WHERE [z] WITHIN 10 s": "E202",
}


@pytest.mark.parametrize("text", REFUSED_BY_COLUMNS)
def test_columns_are_checked_without_events_as_a_run_would(text):
    with pytest.raises(HamletError) as by_columns:
        check_columns(text, EVENTS.schema, EventSchema())
    with pytest.raises(HamletError) as by_run:
        run(text, EVENTS)
    assert by_columns.value.code == by_run.value.code == REFUSED_BY_COLUMNS[text]
    assert str(by_columns.value) == str(by_run.value)
    check_columns(TEXT, EVENTS.schema, EventSchema())


def test_a_workload_built_by_hand_with_one_label_twice_is_refused():
    (query, *_) = parse(TEXT).queries
    with pytest.raises(QueryMeaningError) as caught:
        run(Workload((query, query)), EVENTS)
    assert caught.value.code == "E140"


def test_an_empty_workload_gives_no_rows():
    assert run(Workload(()), EVENTS).num_rows == 0


def test_parse_refuses_what_is_no_text():
    with pytest.raises(StreamError, match="a workload cannot be of class NoneType") as caught:
        parse(None)
    assert caught.value.code == "E213"
