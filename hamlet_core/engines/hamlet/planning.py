"""Which segments the queries of a class share, planned before they are folded: by GLORIA, its greedy baseline, or SHARON.

Plans are made from the events of each step per window, counted over the first events of the stream. What a paper has no rule
for goes alone. The papers count trends; queries that ask for more share a segment as far as their totals are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from hamlet_core.engines import gloria, sharon
from hamlet_core.engines.hamlet.bursts.fold import burst_jobs
from hamlet_core.engines.hamlet.input.chunks import Limits, chunks
from hamlet_core.engines.hamlet.input.query_class import QueryClass, class_events
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.sharing.gloria.baselines import plan_greedily
from hamlet_core.sharing.gloria.planning import plan_sharing
from hamlet_core.sharing.gloria.plans import SharingPlan
from hamlet_core.sharing.gloria.workload import Workload
from hamlet_core.sharing.options import STATIC, Sharing
from hamlet_core.sharing.segments import Place, Segments
from hamlet_core.sharing.sharon.candidates import place
from hamlet_core.sharing.sharon.plan import Limits as OfSearch
from hamlet_core.sharing.sharon.plan import SharonPlan, sharon_plan
from hamlet_core.table.encode import Stream
from hamlet_core.template.steps import Key, Names, merged_template, named, with_preceding
from hamlet_core.windows import WindowSpec

LOOKED_AT = 1 << 15
"""Events at the beginning of a stream that rates are counted from."""
SECONDS = 0.2
"""That SHARON's search for the best plan may take; beyond them it is the greedy one."""

Rates: TypeAlias = Mapping[Key, float]
"""(type, local predicate or None) -> events per window of a partition that has any."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What queries with the same partitions and windows share."""

    spec: WindowSpec
    queries: tuple[str, ...]
    """Those that the plan is for, ..."""
    refused: tuple[str, ...]
    """... and those that the paper has no rule for."""
    found: SharingPlan | SharonPlan
    segments: Mapping[Place, Hashable]
    """Position -> what tells its segment apart; those of one query are none."""
    types: Mapping[Place, str]
    """The event types of these positions."""


def with_plans(
    sharing: Sharing, own: QueryClass, specs: Sequence[WindowSpec], stream: Stream, text: str
) -> Sharing:
    """The same with the segments of a plan, if the optimizer is one that makes any; `specs` are those of all queries."""
    if sharing.optimizer not in STATIC or not sharing.shares:
        return sharing
    found: dict[Place, Hashable] = {}
    for number, plan in enumerate(plans(own, specs, stream, text, sharing.optimizer)):
        found.update({one: (number, segment) for one, segment in plan.segments.items()})
    return replace(sharing, segments=Segments.of(found))


def plans(
    own: QueryClass, specs: Sequence[WindowSpec], stream: Stream | None, text: str, optimizer: str
) -> Iterator[Plan]:
    """A plan for each specification of windows; `specs` are those of all queries of the workload.

    Without a stream it is supposed that each step has one event per window.
    """
    of_query = [specs[number] for number in own.places]
    answers, planned = _OPTIMIZERS[optimizer]
    for spec in dict.fromkeys(of_query):
        queries = [query for query, its in enumerate(of_query) if its == spec]
        taken = {query: own.queries[query] for query in queries if answers(own.queries[query])}
        keys = {query: _keys(own, query) for query in taken}
        wanted = {key for steps in keys.values() for key in steps}
        rates = dict.fromkeys(wanted, 1.0) if stream is None else _rates(own, spec, wanted, stream, text)
        found, segments = planned(taken, keys, rates)
        names = {query: own.queries[query].query.name for query in queries}
        yield Plan(
            spec,
            tuple(names[query] for query in taken),
            tuple(name for query, name in names.items() if query not in taken),
            found,
            {(names[query], at): segment for (query, at), segment in segments.items()},
            {(names[query], at): keys[query][at][0] for query, at in segments},
        )


def _keys(own: QueryClass, query: int) -> list[Key]:
    """By position its type and local predicate."""
    positions = own.queries[query].automaton.positions
    return [(one.type, own.local.predicates.bit.get((query, one.alias))) for one in positions]


def _rates(own: QueryClass, spec: WindowSpec, wanted: Collection[Key], stream: Stream, text: str) -> Rates:
    """Events per window of a partition that has any, in the windows that begin among the first events of the stream."""
    beginning = next(chunks(stream.between(0, min(len(stream), LOOKED_AT)), [spec], 0, Limits()), None)
    if beginning is None:
        return dict.fromkeys(wanted, 0.0)
    events = class_events(own, beginning.stream, text)
    jobs = burst_jobs(events, (spec,), beginning.windows)
    found: dict[Key, float] = {}
    for key in wanted:
        type_, bit = key
        taken = events.events.code == events.codes[type_]
        if isinstance(bit, int):
            taken = taken & ((events.events.bits[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1)).astype(
                bool
            )
        before = np.concatenate(([0], np.cumsum(taken)))
        found[key] = float((before[jobs.last] - before[jobs.first]).sum()) / max(len(jobs.first), 1)
    return found


_Found: TypeAlias = tuple[SharingPlan | SharonPlan, Mapping[tuple[int, int], Hashable]]
"""A plan, and (query, position) -> what tells its segment apart."""
_Queries: TypeAlias = Mapping[int, AnalysedQuery]
_Keys: TypeAlias = Mapping[int, Sequence[Key]]


def _by_gloria(
    make: Callable[[Workload], SharingPlan], queries: _Queries, keys: _Keys, rates: Rates
) -> _Found:
    """A segment is what a set of queries carries from one type to the next, as long as it is the same set."""
    analysed = {str(query): one for query, one in queries.items()}
    names = named({str(query): with_preceding(one, keys[query]) for query, one in queries.items()})
    workload, names = merged_template(analysed, names, _by_name(names, keys, rates))
    plan = make(workload)
    segments: dict[tuple[int, int], Hashable] = {}
    for number, (query, one) in enumerate(queries.items()):
        own = names[str(query)]
        for edge in one.automaton.edges:
            for its in plan.sets(own[edge.source], own[edge.target]):
                if its.shared and number in its.queries:
                    segments.setdefault((query, edge.source), its.queries)
    return plan, segments


def _by_sharon(queries: _Queries, keys: _Keys, rates: Rates) -> _Found:
    """A segment is a part of sequences that several queries share."""
    names = named({str(query): keys[query] for query in queries})
    plan = sharon_plan(names, _by_name(names, keys, rates), OfSearch(SECONDS))
    segments: dict[tuple[int, int], Hashable] = {}
    for number, part in enumerate(plan.shared):
        for query in part.queries:
            first = place(part.types, names[query])
            segments.update({(int(query), first + step): number for step in range(len(part.types))})
    return plan, segments


def _by_name(names: Mapping[str, Names], keys: _Keys, rates: Rates) -> dict[str, float]:
    return {
        name: rates[key]
        for query, own in names.items()
        for name, key in zip(own, keys[int(query)], strict=True)
    }


_OPTIMIZERS: Mapping[
    str, tuple[Callable[[AnalysedQuery], bool], Callable[[_Queries, _Keys, Rates], _Found]]
] = {
    "gloria": (gloria.answers, lambda *about: _by_gloria(plan_sharing, *about)),
    "greedy": (gloria.answers, lambda *about: _by_gloria(plan_greedily, *about)),
    "sharon": (sharon.answers, _by_sharon),
}
"""Name of an optimizer -> which queries it plans for, and how."""
