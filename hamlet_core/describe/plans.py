"""Plans of whole workloads as people read them: which segments are shared, by whom, at what predicted cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from hamlet_core.describe.template import names_of, quoted
from hamlet_core.execution import windowed_queries
from hamlet_core.language.syntax import Workload
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.sharing.gloria.plans import SharingPlan
from hamlet_core.sharing.options import STATIC, Sharing
from hamlet_core.sharing.segments import Segments
from hamlet_core.sharing.sharon.plan import SharonPlan
from hamlet_core.table.encode import EventSchema
from hamlet_core.template.sharable import folded_alone, window_of

if TYPE_CHECKING:
    from hamlet_core.engines.hamlet.planning import Plan

RULES = {
    "auto": "what is equal whatever the events are is folded once; bursts are decided about as they come",
    "hamlet": "bursts are decided about as they come; all else goes alone",
    "gloria": "segments of a plan for queries with equal partitions and windows; each goes on alone behind them",
    "greedy": "segments of a plan that takes the cheapest step each time; each query goes on alone behind them",
    "sharon": "parts of sequences that a plan for queries with equal partitions and windows has found; no Kleene plus",
    "none": "nothing is shared",
}
"""What the optimizers do."""


@dataclass(frozen=True, slots=True)
class PlanText:
    """The plans of a class as lines, and as lines of Mermaid flowcharts, one for each plan that shares anything."""

    lines: list[str] = field(default_factory=list)
    drawings: list[list[str]] = field(default_factory=list)


def plan_texts(
    workload: Workload,
    queries: Sequence[AnalysedQuery],
    sharing: Sharing,
    table: pa.Table | None,
    schema: EventSchema,
) -> Mapping[int, PlanText]:
    """First query of a class, by its place -> what its queries share; without a table by one event a step and window."""
    if not sharing.shares or sharing.optimizer not in STATIC:
        return {}
    from hamlet_core.engines.hamlet.input.query_class import classes_of  # it loads the compiler
    from hamlet_core.engines.hamlet.planning import plans

    places = [place for place, one in enumerate(queries) if not folded_alone(one)]
    chosen = [queries[place] for place in places]
    stream, specs = None, [window_of(one) for one in chosen]
    if table is not None:
        windowed, stream = windowed_queries(workload, table, schema, "scaled")
        specs = [windowed[place].spec for place in places]
    found: dict[int, PlanText] = {}
    for own in classes_of(chosen):
        text = found.setdefault(places[own.places[0]], PlanText())
        for one in plans(own, specs, stream, workload.text, sharing.optimizer):
            text.lines.extend(_lines(one, sharing.optimizer, supposed=stream is None))
            if drawing := list(drawn(one, {query.query.name: query for query in own.queries})):
                text.drawings.append(drawing)
    return found


def drawn(plan: Plan, queries: Mapping[str, AnalysedQuery]) -> Iterator[str]:
    """The plan as lines of a Mermaid flowchart, if anything is shared: segments are boxes, entered and left by the arrows of
    their queries; what a query has outside of them is its own. Queries that share nothing are left out.
    """
    segment = dict(Segments.of(plan.segments).numbers)
    sharing = [name for name in plan.queries if any(query == name for query, _ in segment)]
    nodes: dict[Hashable, str] = {}
    boxes: dict[int | None, list[str]] = {}
    arrows: dict[tuple[str, str], list[str]] = {}
    for name in sharing:
        automaton = queries[name].automaton
        own: list[str] = []
        seen: Counter[tuple[int | None, str]] = Counter()
        for place, position in enumerate(automaton.positions):
            number = segment.get((name, place))
            nth = seen[number, position.type]
            seen[number, position.type] += 1
            key = (name, place) if number is None else (number, position.type, nth)
            if key not in nodes:
                nodes[key] = f"s{len(nodes)}"
                label = position.type if number is not None else f"{position.type} of {name}"
                boxes.setdefault(number, []).append(f'{nodes[key]}(["{quoted(label)}"])')
            own.append(nodes[key])
        ways = [
            *(("start((start))", own[one.position]) for one in automaton.starts),
            *((own[one.source], own[one.target]) for one in automaton.edges),
            *((own[one.position], "finish((end))") for one in automaton.ends),
        ]
        for way in dict.fromkeys(ways):
            arrows.setdefault(way, []).append(name)
    if not sharing:
        return
    yield "flowchart LR"
    for number in sorted(one for one in boxes if one is not None):
        takers = [
            name
            for name in sharing
            if any(place[0] == name and its == number for place, its in segment.items())
        ]
        yield f'  subgraph g{number}["segment of {quoted(names_of(takers, plan.queries))}"]'
        yield from (f"    {node}" for node in boxes[number])
        yield "  end"
    yield from (f"  {node}" for node in boxes.get(None, ()))
    for (source, target), names in arrows.items():
        yield f'  {source} -->|"{quoted(names_of(names, plan.queries))}"| {target}'


def _lines(plan: Plan, optimizer: str, *, supposed: bool) -> Iterator[str]:
    """On the queries of one specification of windows; of one query by itself there is nothing to say."""
    if len(plan.queries) > 1:
        found = plan.found
        by = "one event of each step per window, for want of events" if supposed else "the first events"
        told = _gloria(found) if isinstance(found, SharingPlan) else _sharon(found)
        yield f"{', '.join(plan.queries)}: {told}; by {by}; planning took {found.seconds * 1e3:.1f} ms"
        yield from _segments(plan)
    if plan.refused:
        yield f"alone, because {optimizer} has no rule for them: {', '.join(plan.refused)}"


def _segments(plan: Plan) -> Iterator[str]:
    shared: dict[int, dict[str, list[str]]] = {}
    for place, number in Segments.of(plan.segments).numbers:
        shared.setdefault(number, {}).setdefault(place[0], []).append(plan.types[place])
    for own in shared.values():
        by_part: dict[tuple[str, ...], list[str]] = {}
        for query, types in own.items():
            by_part.setdefault(tuple(types), []).append(query)
        parts = (f"{', '.join(types)} of {names_of(names, plan.queries)}" for types, names in by_part.items())
        yield f"segment {'; '.join(parts)}"
    if not shared:
        yield "no segment is worth sharing"


def _gloria(plan: SharingPlan) -> str:
    doubts = f"perhaps not the cheapest: {'; '.join(one.value for one in plan.doubts)}"
    return (
        f"cost {plan.cost:,.0f} reads per window, {'the least' if plan.optimal else doubts}; of {plan.nodes} candidates "
        f"{len(plan.pruned)} pruned, of {plan.edges} steps {plan.edges_kept} kept"
    )


def _sharon(plan: SharonPlan) -> str:
    search = plan.search
    return (
        f"saves {plan.score:,.0f} counts per window, {search.found.value}; of {plan.mined} parts in common {plan.useless} without "
        f"benefit, {search.valid_plans} plans looked at of {search.plans}"
    )
