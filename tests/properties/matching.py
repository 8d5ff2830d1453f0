"""Random queries with matching modes and the aggregates over trends and partitions, and streams for them.

What `generation`, `workloads` and `bursty` draw, asked in one of the three modes; draws from a `random.Random` as they do.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hamlet_core.language.syntax import Aggregate, AggregateFunction, And, Mode, Query, Subject, Workload
from tests.properties import bursty, generation, workloads
from tests.properties.patterns import positive, weighted

MODES = {Mode.ANY: 2, Mode.NEXT: 4, Mode.CONTIGUOUS: 3}
"""How often each mode is drawn."""
SUBJECTS = (
    Aggregate(AggregateFunction.COUNT, subject=Subject.PARTITIONS),
    Aggregate(AggregateFunction.COUNT, subject=Subject.DISJOINT),
    Aggregate(AggregateFunction.SUM, subject=Subject.DURATION),
    Aggregate(AggregateFunction.AVG, subject=Subject.DURATION),
    Aggregate(AggregateFunction.MIN, subject=Subject.DURATION),
    Aggregate(AggregateFunction.MAX, subject=Subject.DURATION),
)
HOW_MANY = {
    Mode.ANY: (0, 0, 0, 1, 2, 3, 5),
    Mode.NEXT: (0, 1, 1, 2, 2, 3, 5),
    Mode.CONTIGUOUS: (0, 1, 1, 2, 2, 3, 5),
}
"""Of these aggregates in a query, each as likely: only queries in mode `any` without them share."""
MOST_EVENTS = 60
"""Of a stream that is too long to enumerate: what a mode has to remember of a prefix may be much."""


def case(random: Random) -> generation.Case:
    """One query and a stream."""
    return _asked(random, generation.case(random))


def workload_case(random: Random) -> generation.Case:
    """Two or three queries and one stream."""
    return _asked(random, generation.workload_case(random))


def task(random: Random) -> workloads.Task:
    """Several queries, as often about runs of one type that they may share, and up to sixty events."""
    drawn = random.choice((workloads.task, bursty.task))(random)
    return replace(drawn, workload=_workload(random, drawn.workload), events=drawn.events[:MOST_EVENTS])


def _asked(random: Random, drawn: generation.Case) -> generation.Case:
    """The case with modes and more aggregates; points in time are often no whole seconds."""
    asked = replace(drawn, workload=_workload(random, drawn.workload))
    if asked.integer_time or random.random() < 0.2:
        return asked
    finer = tuple(
        event | {"t": event["t"] * 1000 + random.choice((0, 0, 1, 250, 500))} for event in asked.events
    )
    return replace(asked, events=finer, unit="ms")


def _workload(random: Random, drawn: Workload) -> Workload:
    """The queries, two of three workloads in one mode: others never share."""
    common = weighted(random, MODES) if random.random() < 0.67 else None
    return Workload(tuple(in_mode(random, one, common or weighted(random, MODES)) for one in drawn.queries))


def in_mode(random: Random, drawn: Query, mode: Mode) -> Query:
    """The query in a mode; AND takes no other aggregates, and REACH no negated alias."""
    if isinstance(drawn.pattern, And):
        return replace(drawn, mode=mode)
    aliases = sorted({atom.alias for atom in positive(drawn.pattern)})
    drawn_from = [*SUBJECTS, *(Aggregate(AggregateFunction.REACH, random.choice(aliases)) for _ in range(4))]
    more = random.sample(drawn_from, random.choice(HOW_MANY[mode]))
    kept = [item for item in drawn.aggregates if not more or random.random() < 0.6]
    labelled = {item.label: item for item in random.sample([*kept, *more], len(kept) + len(more))}
    groups = tuple(item for item in drawn.returns if not isinstance(item, Aggregate))
    return replace(drawn, returns=(*groups, *labelled.values()), mode=mode)
