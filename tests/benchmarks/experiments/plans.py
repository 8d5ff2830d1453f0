"""f2. GLORIA's planning in shape (SIGMOD 2022): seconds, cost and nodes over the number of queries; gloria, greedy, noprune.

Sequences cut from a line of types, and queries around Kleene bodies they share. Costs are those of the paper's formula.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from statistics import median
from typing import Any

from hamlet_core import parse
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.sharing.gloria.baselines import plan_greedily
from hamlet_core.sharing.gloria.building import Pruning, build_graph
from hamlet_core.sharing.gloria.planning import plan_of, plan_sharing
from hamlet_core.sharing.gloria.plans import SharingPlan
from hamlet_core.sharing.gloria.workload import Workload, of_sequences
from hamlet_core.template.steps import merged_template, named, with_preceding
from tests.benchmarks.experiments.of_gloria import around_bodies
from tests.benchmarks.plots import Chart, picture
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject

LIMIT = 10.0
"""Seconds that a plan may take."""
SIZES = (2, 3, 4, 5, 6, 12, 24, 48)
TYPES = "ABCDEFGHIJKLMNOPQRST"
SEED = 3
GLORIA, GREEDY, NOPRUNE = "gloria", "greedy", "noprune"
SECONDS, COST, NODES = "s", "cost", "nodes"


def without_pruning(workload: Workload) -> SharingPlan:
    """The cheapest path through all nodes."""
    return plan_of(build_graph(workload, pruning=Pruning.NONE, limits=None))


PLANNERS: dict[str, Callable[[Workload], SharingPlan]] = {
    GLORIA: plan_sharing,
    GREEDY: plan_greedily,
    NOPRUNE: without_pruning,
}


def measure(scale: Scale, subject: Subject) -> Finding:
    """A table and two charts for each kind of workload."""
    tables: dict[str, list[dict[str, Any]]] = {}
    claims: list[Claim] = []
    charts: list[list[Chart]] = []
    for kind, make in {"sequences": sequences, "Kleene bodies": bodies}.items():
        rows = list(planned(scale, make))
        tables[f"{kind}:"] = rows
        charts.append([chart(rows, SECONDS), chart(rows, COST), chart(rows, NODES)])
        claims += list(compared(kind, rows))
    return Finding(
        "f2",
        "The plans of GLORIA, its greedy baseline, and its graph without pruning",
        claims=tuple(claims),
        tables=tables,
        pictures={"figure-f2-plans": picture("sequences, then Kleene bodies", charts)},
        notes=(
            (
                f"Medians of {scale.rounds}. > {LIMIT:g} s: stopped, and not tried on more. Where gloria's plan need not be the "
                "cheapest, `doubts` says why: the paper's search finds the optimum where paths do not meet again. Where it would "
                "take time exponential in the ways into a junction, it looks at some of them, and never ends dearer than greedy."
            ),
        ),
    )


def planned(scale: Scale, make: Callable[[int], Workload]) -> Iterator[dict[str, Any]]:
    """What each planner comes to, the smallest workload first."""
    stopped: set[str] = set()
    for queries in scale.of(SIZES, (2, 3)):
        workload = make(queries)
        for name, planner in PLANNERS.items():
            row: dict[str, Any] = {"queries": queries, "planner": name}
            if name in stopped:
                yield row | dict.fromkeys((SECONDS, COST, NODES, "doubts"), f"(> {LIMIT:g} s)")
                continue
            try:
                plan, seconds = timed(planner, workload, scale.rounds)
            except TimeoutError:
                stopped.add(name)
                yield row | dict.fromkeys((SECONDS, COST, NODES, "doubts"), f"> {LIMIT:g} s")
                continue
            doubts = "; ".join(one.value for one in plan.doubts)
            yield row | {SECONDS: seconds, COST: plan.cost, NODES: plan.nodes, "doubts": doubts}


def timed(
    planner: Callable[[Workload], SharingPlan], workload: Workload, rounds: int
) -> tuple[SharingPlan, float]:
    """A plan and its median seconds; raises TimeoutError."""
    seconds = []
    for _ in range(rounds):
        with at_most(LIMIT):
            begun = time.perf_counter()
            plan = planner(workload)
            seconds.append(time.perf_counter() - begun)
    return plan, median(seconds)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def compared(kind: str, rows: list[dict[str, Any]]) -> Iterator[Claim]:
    """What the paper prints: gloria's plans are never dearer than greedy ones, and take less to find than without pruning."""
    by = {(row["queries"], row["planner"]): row for row in rows if isinstance(row[SECONDS], float)}
    sizes = sorted({queries for queries, _ in by})
    cheaper = [by[size, GLORIA][COST] / by[size, GREEDY][COST] for size in sizes]
    yield Claim(f"{kind}: cost of gloria / greedy, the dearest", max(cheaper), at_most=1 + 1e-9)
    yield Claim(f"{kind}: cost of gloria / greedy, the cheapest", min(cheaper))
    both = [size for size in sizes if (size, NOPRUNE) in by]
    worst = max(by[size, GLORIA][COST] / by[size, NOPRUNE][COST] for size in both)
    yield Claim(f"{kind}: cost of gloria / noprune, the dearest", worst)
    last = by[both[-1], GLORIA], by[both[-1], NOPRUNE]
    label = f"{kind}: noprune s / gloria s, {both[-1]} queries"
    yield Claim(label, last[1][SECONDS] / last[0][SECONDS])
    yield Claim(
        f"{kind}: gloria s / greedy s, {sizes[-1]} queries",
        by[sizes[-1], GLORIA][SECONDS] / by[sizes[-1], GREEDY][SECONDS],
    )


def sequences(queries: int) -> Workload:
    """Of six types in a row, from a line of ten."""
    random = Random(SEED)
    firsts = [random.randrange(5) for _ in range(queries)]
    return of_sequences([TYPES[first : first + 6] for first in firsts], frequencies())


def bodies(queries: int) -> Workload:
    """Those of f3."""
    analysed = {one.query.name: one for one in analyse_workload(parse(around_bodies(list(TYPES), queries)))}
    keys = {name: [(own.type, None) for own in one.automaton.positions] for name, one in analysed.items()}
    names = named({name: with_preceding(one, keys[name]) for name, one in analysed.items()})
    known = frequencies()
    rates = {
        own: known[type_]
        for query, steps in names.items()
        for own, (type_, _) in zip(steps, keys[query], strict=True)
    }
    return merged_template(analysed, names, rates)[0]


def frequencies() -> dict[str, float]:
    """Events of each type per window."""
    random = Random(SEED)
    return {one: float(random.randint(1, 50)) for one in TYPES}


def chart(rows: list[dict[str, Any]], number: str) -> Chart:
    """A number over the number of queries."""
    lines = {
        name: [
            (row["queries"], row[number])
            for row in rows
            if row["planner"] == name and not isinstance(row[number], str)
        ]
        for name in PLANNERS
    }
    return Chart("queries", number, lines)
