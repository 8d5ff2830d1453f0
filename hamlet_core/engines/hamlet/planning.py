"""Which segments the queries of a class share, planned before they are folded: by GLORIA, its greedy baseline, or SHARON.

Plans are made from the events of each step per window, counted over the first events of a chunk of the stream, and anew where
these have changed. What a paper has no rule for goes alone. The papers count trends; queries that ask for more share a segment
as far as their totals are equal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.engines import gloria, sharon
from hamlet_core.engines.hamlet.bursts.fold import burst_jobs
from hamlet_core.engines.hamlet.input.chunks import Limits, chunks
from hamlet_core.engines.hamlet.input.query_class import QueryClass, class_events
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.sharing.adapting import DRIFT, InUse, PlanChange, PlansInUse, most_changed
from hamlet_core.sharing.gloria.baselines import plan_greedily
from hamlet_core.sharing.gloria.change import plan_cost
from hamlet_core.sharing.gloria.planning import plan_sharing
from hamlet_core.sharing.gloria.plans import SharingPlan
from hamlet_core.sharing.gloria.workload import Workload
from hamlet_core.sharing.options import STATIC, Sharing
from hamlet_core.sharing.segments import Place, Segments
from hamlet_core.sharing.sharon.candidates import benefit, place
from hamlet_core.sharing.sharon.plan import Limits as OfSearch
from hamlet_core.sharing.sharon.plan import SharonPlan, sharon_plan
from hamlet_core.table.encode import Stream
from hamlet_core.template.steps import Key, Names, merged_template, named, with_preceding
from hamlet_core.windows import WindowSpec

_LOG = logging.getLogger("hamlet_core")

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
    sharing: Sharing,
    own: QueryClass,
    specs: Sequence[WindowSpec],
    stream: Stream,
    text: str,
    in_use: PlansInUse[Plan] | None = None,
) -> Sharing:
    """The same with the segments of a plan, if the optimizer is one that makes any; `specs` are those of all queries.

    `in_use`: plans that earlier events had; they stay unless rates have changed and others cost less.
    """
    if sharing.optimizer not in STATIC or not sharing.shares:
        return sharing
    in_use = PlansInUse() if in_use is None else in_use
    found: dict[Place, Hashable] = {}
    for number, asked in enumerate(_asked(own, specs, sharing.optimizer)):
        plan = _kept_or_changed(asked, _rates(asked, stream, text), stream, in_use)
        found.update({one: (number, segment) for one, segment in plan.segments.items()})
    return replace(sharing, segments=Segments.of(found))


def plans(
    own: QueryClass, specs: Sequence[WindowSpec], stream: Stream | None, text: str, optimizer: str
) -> Iterator[Plan]:
    """A plan for each specification of windows; `specs` are those of all queries of the workload.

    Without a stream it is supposed that each step has one event per window.
    """
    for asked in _asked(own, specs, optimizer):
        yield made(asked, dict.fromkeys(asked.wanted, 1.0) if stream is None else _rates(asked, stream, text))


@dataclass(frozen=True, slots=True)
class Asked:
    """Queries of a class with the same windows, and what an optimizer is told of those that it has rules for."""

    own: QueryClass
    spec: WindowSpec
    optimizer: str
    queries: Mapping[int, AnalysedQuery]
    taken: Mapping[int, AnalysedQuery]
    keys: Mapping[int, Sequence[Key]]

    @property
    def wanted(self) -> tuple[Key, ...]:
        """The steps whose rates matter."""
        return tuple(dict.fromkeys(key for steps in self.keys.values() for key in steps))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the queries that are planned for."""
        return tuple(one.query.name for one in self.taken.values())


def _asked(own: QueryClass, specs: Sequence[WindowSpec], optimizer: str) -> Iterator[Asked]:
    of_query = [specs[number] for number in own.places]
    for spec in dict.fromkeys(of_query):
        queries = {query: own.queries[query] for query, its in enumerate(of_query) if its == spec}
        answers = _OPTIMIZERS[optimizer].answers
        taken = {query: one for query, one in queries.items() if answers(one)}
        yield Asked(own, spec, optimizer, queries, taken, {query: _keys(own, query) for query in taken})


def made(asked: Asked, rates: Rates) -> Plan:
    """The plan of an optimizer by these rates."""
    found, segments = _OPTIMIZERS[asked.optimizer].planned(asked.taken, asked.keys, rates)
    names = {query: one.query.name for query, one in asked.queries.items()}
    return Plan(
        asked.spec,
        asked.names,
        tuple(name for query, name in names.items() if query not in asked.taken),
        found,
        {(names[query], at): segment for (query, at), segment in segments.items()},
        {(names[query], at): asked.keys[query][at][0] for query, at in segments},
    )


def _kept_or_changed(asked: Asked, rates: Rates, stream: Stream, in_use: PlansInUse[Plan]) -> Plan:
    """The plan in use, or another one, which is then in use and told."""
    # A session folds queries with others or without, as windows close, and predicates are numbered among those folded together.
    key = asked.names, asked.spec, asked.wanted
    before = in_use.plans.get(key)
    if before is None:
        plan = made(asked, rates)
        in_use.plans[key] = InUse(plan, rates)
        return plan
    if not rates or not len(stream):
        return before.plan
    step, factor = most_changed(before.rates, rates)
    if factor < DRIFT:
        return before.plan
    plan, cost_of = made(asked, rates), _OPTIMIZERS[asked.optimizer].cost
    old, new = (cost_of(one.found, asked.taken, asked.keys, rates) for one in (before.plan, plan))
    if new >= old:
        in_use.plans[key] = InUse(before.plan, rates)
        return before.plan
    change = PlanChange(
        asked.optimizer, asked.names, int(stream.time[0]), step[0], before.rates[step], rates[step], old, new
    )
    _LOG.info("%s", change)
    in_use.change(change)
    in_use.plans[key] = InUse(plan, rates)
    return plan


def _keys(own: QueryClass, query: int) -> list[Key]:
    """By position its type and local predicate."""
    positions = own.queries[query].automaton.positions
    return [(one.type, own.local.predicates.bit.get((query, one.alias))) for one in positions]


def _rates(asked: Asked, stream: Stream, text: str) -> Rates:
    """Events per window of a partition that has any, in the windows that begin among the first events of the stream."""
    few = stream.between(0, min(len(stream), LOOKED_AT))
    beginning = next(chunks(few, [asked.spec], 0, Limits()), None)
    if beginning is None:
        return dict.fromkeys(asked.wanted, 0.0)
    events = class_events(asked.own, beginning.stream, text)
    jobs = burst_jobs(events, (asked.spec,), beginning.windows)
    found: dict[Key, float] = {}
    for key in asked.wanted:
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
    workload, names = _template(queries, keys, rates)
    plan = make(workload)
    segments: dict[tuple[int, int], Hashable] = {}
    for number, (query, one) in enumerate(queries.items()):
        own = names[str(query)]
        for edge in one.automaton.edges:
            for its in plan.sets(own[edge.source], own[edge.target]):
                if its.shared and number in its.queries:
                    segments.setdefault((query, edge.source), its.queries)
    return plan, segments


def _cost_by_gloria(plan: SharingPlan, queries: _Queries, keys: _Keys, rates: Rates) -> float:
    """Reads per window."""
    return plan_cost(_template(queries, keys, rates)[0], plan)


def _template(queries: _Queries, keys: _Keys, rates: Rates) -> tuple[Workload, dict[str, Names]]:
    analysed = {str(query): one for query, one in queries.items()}
    names = named({str(query): with_preceding(one, keys[query]) for query, one in queries.items()})
    return merged_template(analysed, names, _by_name(names, keys, rates))


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


def _cost_by_sharon(plan: SharonPlan, queries: _Queries, keys: _Keys, rates: Rates) -> float:
    """What the plan saves per window, below zero."""
    names = named({str(query): keys[query] for query in queries})
    by_name = _by_name(names, keys, rates)
    return -sum(benefit(part, names, by_name) for part in plan.shared)


def _by_name(names: Mapping[str, Names], keys: _Keys, rates: Rates) -> dict[str, float]:
    return {
        name: rates[key]
        for query, own in names.items()
        for name, key in zip(own, keys[int(query)], strict=True)
    }


@dataclass(frozen=True, slots=True)
class _Optimizer:
    """Which queries an optimizer plans for, how, and what a plan of its costs by some rates."""

    answers: Callable[[AnalysedQuery], bool]
    planned: Callable[[_Queries, _Keys, Rates], _Found]
    cost: Callable[[Any, _Queries, _Keys, Rates], float]


_OPTIMIZERS: Mapping[str, _Optimizer] = {
    "gloria": _Optimizer(gloria.answers, partial(_by_gloria, plan_sharing), _cost_by_gloria),
    "greedy": _Optimizer(gloria.answers, partial(_by_gloria, plan_greedily), _cost_by_gloria),
    "sharon": _Optimizer(sharon.answers, _by_sharon, _cost_by_sharon),
}
