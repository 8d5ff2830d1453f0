"""A stream pushed batch by batch has the rows of a run: random workloads, streams, orders, cuts and restarts."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from random import Random

import pyarrow as pa
import pytest
from hypothesis import assume, given

import hamlet_core
from hamlet_core import QueryMeaningError, Session, Workload, write_query
from hamlet_core.language.syntax import Duration
from hamlet_core.online import sliding
from hamlet_core.sharing.options import OPTIMIZERS
from tests.properties import agreement, comparison, generation, matching, strategies
from tests.properties.generation import SECOND
from tests.properties.profiles import quick
from tests.properties.pushed import arriving, batches, gone_on, in_order, pushed


@pytest.fixture(params=[sliding.JOIN, 0.0], ids=["as it pays", "always joined"], autouse=True)
def joining(request, monkeypatch):
    """Small windows would never be joined from panes, if joining them cost something."""
    monkeypatch.setattr(sliding, "JOIN", request.param)


@pytest.fixture(scope="module")
def other_process():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


def check(case, random, engine="hamlet", elsewhere=None):
    events, lateness = comparison.table(case), random.choice((0, 0, 1, 4, 100))
    arithmetic = random.choice(("exact", "exact", "modular", "scaled"))
    how = {"schema": comparison.SCHEMA, "engine": engine, "arithmetic": arithmetic}
    expected = rows_or_code(lambda: comparison.run(case, engine, arithmetic, events))
    how["optimizer"] = random.choice(OPTIMIZERS)
    found = rows_or_code(
        lambda: pushed(case.workload, events, random, lateness=lateness, elsewhere=elsewhere, **how)
    )
    if isinstance(expected, str) or isinstance(found, str) or arithmetic == "exact":
        assert found == expected, case
        return
    assert agreement.heads_differ(found, expected) == [], case
    assert agreement.column_differs(found, expected, "fingerprint") == [], case
    assert agreement.doubles_differ(found, expected, case.workload, events, comparison.SCHEMA) == [], case


def rows_or_code(answer):
    """Result rows, or the code of the refusal."""
    try:
        return answer()
    except QueryMeaningError as refusal:
        return refusal.code


@quick(60)
@given(strategies.workload_cases, strategies.randoms)
def test_pushed_and_run_are_the_same(case, random):
    check(case, random)


@quick(40)
@given(strategies.matching_workload_cases, strategies.randoms)
def test_pushed_and_run_are_the_same_in_any_mode(case, random):
    check(case, random)


@quick(30)
@given(strategies.workload_cases, strategies.randoms)
def test_pushed_and_run_are_the_same_in_the_reference(case, random):
    check(case, random, "greta")


def test_windows_of_many_panes_are_those_of_a_run():
    """Several panes come between two closings of windows, and each window has some from before and from after."""
    for seed in range(150):
        random = Random(seed)
        case, slide = generation.workload_case(random), random.choice((1, 2, 3))
        window = {
            "within": Duration(random.choice((4, 5, 9)) * slide * SECOND),
            "slide": Duration(slide * SECOND),
        }
        queries = tuple(replace(query, **window) for query in case.workload.queries)
        check(replace(case, workload=replace(case.workload, queries=queries)), random)


@quick(60)
@given(strategies.workload_cases, strategies.randoms)
def test_queries_come_and_go(case, random):
    come_and_go(case, random)


@quick(30)
@given(strategies.matching_workload_cases, strategies.randoms)
def test_queries_come_and_go_in_any_mode(case, random):
    come_and_go(case, random)


def come_and_go(case, random):
    """A query that comes answers from its first window that begins later, one that goes up to the last that has closed."""
    how = {"schema": comparison.SCHEMA, "arithmetic": "exact"}
    expected = rows_or_code(lambda: comparison.run(case, "hamlet", "exact"))
    assume(not isinstance(expected, str))
    first, *others = case.workload.queries
    session = hamlet_core.stream(Workload((first,)), lateness="2 s", **how)
    came, went, found, top = {}, {}, [], None
    for batch in batches(arriving(comparison.table(case), random, 2), random):
        if others and random.random() < 0.5:
            query = others.pop()
            session.add(write_query(query))
            came[query.name] = top
        if random.random() < 0.2:
            name = random.choice(session.queries) if session.queries else None
            if name:
                session.remove(name)
                went[name] = session.stats().watermark
        if random.random() < 0.3:
            session = Session.restore(session.state())
        found.append(session.push(batch))
        top = max([*([] if top is None else [top]), *batch["t"].cast(pa.int64()).to_pylist()])
    found.append(session.flush())
    names = [query.name for query in case.workload.queries]
    kept = [
        row
        for row, start, end in zip(expected.to_pylist(), *bounds(expected), strict=True)
        if row["query"] in (first.name, *came)
        and (came.get(row["query"]) is None or start > came[row["query"]])
        and (row["query"] not in went or (went[row["query"]] is not None and end <= went[row["query"]]))
    ]
    assert in_order([one for one in found if one.num_rows] or found[-1:], tuple(names)).to_pylist() == kept, (
        case
    )


def bounds(rows):
    """Window bounds in ticks."""
    return [rows[name].cast(pa.int64()).to_pylist() for name in ("window_start", "window_end")]


@pytest.mark.slow
@pytest.mark.parametrize("make", [generation.workload_case, matching.workload_case], ids=["any", "modes"])
def test_pushed_and_run_are_the_same_five_thousand_times(make, other_process):
    """Twice and twice: joined as it pays, and always; batches by chance pushed in another process."""
    gone = []

    def elsewhere(state, batch):
        gone.append(len(batch))
        return other_process.submit(gone_on, state, batch, sliding.JOIN).result()

    for seed in range(10**6, 10**6 + 5_000):
        random = Random(seed)
        check(make(random), random, elsewhere=elsewhere)
    assert len(gone) > 1_000
