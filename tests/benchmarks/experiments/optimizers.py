"""o. One optimizer beside those of the papers, on the same kernels: auto, hamlet, gloria, greedy, sharon, none.

Whole runs from Arrow to rows, planning included, in one thread. Two workloads with parts in common; those of benchmarks a, b
and h; and queries that were drawn for generated streams.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core import EventSchema, explain, run
from hamlet_core.bench.kernels import prepare_bench
from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.program.builder import builder_of
from hamlet_core.sharing.gloria.building import Pruning, build_graph
from hamlet_core.sharing.gloria.planning import plan_of, plan_sharing
from hamlet_core.sharing.gloria.workload import of_sequences
from hamlet_core.sharing.options import OPTIMIZERS, Sharing
from hamlet_core.streams import generate_stream, generate_workload
from tests.benchmarks.answers import require_same_rows
from tests.benchmarks.material import of_five_classes
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Contender, Timing, interleaved, speed_up

FIRST = 1_000
"""Events on which rows are compared with those of greta."""
ITEMS = 20
TIMES_ASEQ = 2.0
"""auto beside plans that share nothing, as those of A-Seq, on the workload of SHARON."""
OF_BEST = 1.05
"""auto beside the best of all others, everywhere."""
SECONDS = 1.0
"""To plan a hundred queries of eight types and to say what was planned."""
FEWER = 5.0
"""Nodes that GLORIA's pruning leaves, of those without pruning."""
STREAMS = "ridesharing", "smart_home", "taxi", "stock"
PURCHASES, AROUND = "Purchases", "Around SEQ(B+, C+)"


@dataclass(frozen=True)
class Case:
    """A workload and its stream."""

    name: str
    text: str
    table: pa.Table


def measure(scale: Scale, subject: Subject) -> Finding:
    """Each case in turns of its own."""
    timings: list[Timing] = []
    claims: list[Claim] = []
    numbers = []
    for case in cases(scale):
        timed = by_optimizers(scale, subject, case)
        timings += timed.values()
        auto, *others = (timed[f"{case.name}, {name}"] for name in OPTIMIZERS)
        best = min(others, key=lambda one: one.median)
        pairs = [one / other for one, other in zip(auto.seconds, best.seconds, strict=True)]
        ratio = f"{case.name}: auto s / {best.name.rsplit(', ', 1)[1]}, the best other, median of pairs"
        claims.append(Claim(ratio, median(pairs), at_most=OF_BEST))
        none = timed[f"{case.name}, none"]
        if case.name in (PURCHASES, AROUND):
            least = TIMES_ASEQ if case.name == PURCHASES else None
            claims.append(Claim(f"{case.name}: auto / none", speed_up(auto, none), least))
            numbers += totals_of(case)
    return Finding(
        "o",
        "One optimizer beside those of the papers",
        tuple(timings),
        (*claims, *planning(scale)),
        (
            "Rows are those of none, and on the first events those of greta.",
            (
                "Totals are numbers that are kept for positions of queries: each event of its type moves those of a position. No plan "
                "keeps fewer than those that differ, which auto keeps."
            ),
        ),
        {"Different totals of positions": numbers},
    )


def by_optimizers(scale: Scale, subject: Subject, case: Case) -> dict[str, Timing]:
    """Whole runs with each optimizer."""
    first = case.table.slice(0, FIRST)
    require_same_rows(f"{case.name}, greta", run(case.text, first), run(case.text, first, engine="greta"))
    expected = run(case.text, case.table, optimizer="none", threads=1)

    def contender(name: str) -> Contender:
        label = f"{case.name}, {name}"
        call = subject.run(case.text, case.table, policy="dynamic", optimizer=name, threads=1)
        return Contender(
            label, len(case.table), call, lambda found: require_same_rows(label, found, expected)
        )

    return interleaved([contender(name) for name in OPTIMIZERS], scale.rounds)


def cases(scale: Scale) -> Iterator[Case]:
    """The workloads, one stream at a time."""
    yield purchases(scale)
    yield around(scale)
    within = scale.of(10_000, 200)
    table = scale.stream(scale.of(1_000_000, 1_200))
    ordered = scale.w50(within=within, adjacent=True)
    yield Case("W50", scale.w50(within=within), table)
    yield Case("W50 with NEXT", ordered, table)
    yield Case("Selectivities of 10 to 90 %", scale.w50(within=within, local=True), table)
    yield Case("Five NEXT conditions, three windows", of_five_classes(ordered, within), table)
    for name in STREAMS:
        events, queries = scale.of(300_000, 3_000), scale.of(50, 6)
        drawn = generate_workload(name, queries, 12, adjacent_rate=0.3)
        yield Case(
            f"{name}, {queries} queries",
            drawn,
            generate_stream(name, events, 11, tie_rate=0.1, null_rate=0.03),
        )


def purchases(scale: Scale) -> Case:
    """Purchases of customers, as in SHARON: sequences of items cut from three orders of them, minutes that slide."""
    events, queries = scale.of(2_000_000, 3_000), scale.of(60, 8)
    random, numbers = Random(1), np.random.default_rng(1)
    items = [f"I{number}" for number in range(ITEMS)]
    lines = {}
    while len(lines) < queries:
        turn = 5 * random.randrange(3)
        order = items[turn:] + items[:turn]
        first, length = random.randrange(4), random.randint(*scale.of((5, 10), (2, 4)))
        cut = ", ".join(order[first : first + length])
        window = "WITHIN 10 min SLIDE 1 min"
        lines[f"RETURN COUNT(*) PATTERN SEQ({cut}) WHERE [customer] {window}"] = None
    table = pa.table(
        {
            "time": np.arange(events) // 20,
            "type": pa.array(numbers.choice(items, events)),
            "customer": numbers.integers(0, scale.of(50, 2), events),
        }
    )
    return Case(PURCHASES, "\n".join(f"q{number}: {line}" for number, line in enumerate(lines)), table)


def around(scale: Scale) -> Case:
    """Ten beginnings and ten ends around a common part with conditions on neighbours, short bursts of B and C in turns."""
    events, queries = scale.of(1_000_000, 2_000), scale.of(50, 6)
    numbers = np.random.default_rng(1)
    ways = scale.of(10, 2)
    types: list[str] = []
    while len(types) < events:
        types.append(f"A{numbers.integers(ways)}")
        for _ in range(3):
            types += ["B"] * int(numbers.integers(1, 6)) + ["C"] * int(numbers.integers(1, 6))
        types.append(f"E{numbers.integers(ways)}")
    table = pa.table(
        {"time": np.arange(events), "type": types[:events], "x": numbers.integers(0, 100, events)}
    )
    lines = (
        f"q{number}: RETURN COUNT(*) PATTERN SEQ(A{number % ways} a, B b+, C c+, E{number // 5 % ways} e) "
        f"WHERE b.x <= NEXT(b).x AND c.x <= NEXT(c).x WITHIN {scale.of(600, 100)} s"
        for number in range(queries)
    )
    return Case(AROUND, "\n".join(lines), table)


def totals_of(case: Case) -> list[dict[str, Any]]:
    """How many totals each optimizer keeps."""
    rows = []
    for name in OPTIMIZERS:
        bench = prepare_bench(case.text, case.table, EventSchema(), sharing=Sharing(optimizer=name))
        count = 0
        for _, passes in bench.classes:
            known = passes.events.codes, passes.events.predicates, passes.conditions, 0
            builder = builder_of(
                [Accumulator(place, one) for place, one in enumerate(passes.own.queries)], *known
            )
            builder.find_equals(passes.sharing)
            count += len(set(builder.same.values()))
        rows.append({"workload": case.name, "optimizer": name, "totals": count})
    return rows


def planning(scale: Scale) -> Iterator[Claim]:
    """How long a plan takes that is explained, and what pruning is worth where all nodes can be looked at."""
    random, names = Random(3), "ABCDEFGHIJKL"
    patterns = [
        "".join(names[first : first + 8]) for first in (random.randrange(5) for _ in range(scale.of(100, 10)))
    ]
    some = ["".join(sorted(random.sample(names[:8], random.randint(3, 8)))) for _ in range(scale.of(100, 10))]
    for what, chosen in (("cut from a line", patterns), ("of eight types in all", some)):
        text = "\n".join(
            f"q{number}: RETURN COUNT(*) PATTERN SEQ({', '.join(one)}) WITHIN 1 min"
            for number, one in enumerate(chosen)
        )
        for name in ("gloria", "sharon"):
            seconds = []
            for _ in range(scale.rounds):
                begun = time.perf_counter()
                explain(text, optimizer=name)
                seconds.append(time.perf_counter() - begun)
            label = f"plan and explain {len(chosen)} queries {what}, {name}"
            yield Claim(label, median(seconds), at_most=SECONDS, unit="s")
    frequencies = {one: random.uniform(1, 50) for one in names}
    chain = of_sequences([names[: scale.of(10, 5)]] * 4, frequencies)
    whole = build_graph(chain, pruning=Pruning.NONE, limits=None)
    pruned, best = plan_sharing(chain), plan_of(whole)
    assert abs(pruned.cost - best.cost) <= 1e-9 * best.cost, (pruned.cost, best.cost)
    label = "4 queries of 10 types: nodes without pruning / kept by GLORIA"
    yield Claim(label, best.nodes / (pruned.nodes - len(pruned.pruned)), FEWER)
