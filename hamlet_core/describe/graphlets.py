"""Which positions may share graphlets, said before any event: the groups that a run would find, for EXPLAIN.

Column types are not looked at, so that what a table tells (which conditions can be rearranged) is left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hamlet_core.algebra.aggregates import LATTICE, Component, Role, components
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines.hamlet.accumulators import UNIT_WEIGHT, Accumulator, number_accumulators
from hamlet_core.engines.hamlet.engine import with_magnitudes
from hamlet_core.engines.hamlet.input.query_class import QueryClass, classes_of
from hamlet_core.engines.hamlet.passes import folds_by_bursts
from hamlet_core.engines.hamlet.program.builder import builder_of
from hamlet_core.engines.hamlet.program.groups import Finder, Group
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.sharing.options import Sharing
from hamlet_core.template.access import Access, access_paths
from hamlet_core.template.sharable import folded_alone, window_of


@dataclass(frozen=True, slots=True)
class GraphletPlan:
    """Queries that may share graphlets of a type: what these open with, and what is kept without them."""

    type: str
    queries: tuple[int, ...]
    """Places in the workload, ascending."""
    totals: int
    """Different ones: equal totals are one in any case."""
    access: Access
    """How an event finds the older events that it may follow."""
    lanes: int
    """Snapshot lanes that a graphlet of all of them opens with, each of `lane_numbers` numbers."""
    lane_numbers: int
    numbers: int
    """That the totals keep alone; sums included."""
    gains: bool
    """Whether a graphlet without disagreement has fewer numbers than all queries have."""
    closed_form: bool
    """The burst kernel folds a burst for each query at once, unless graphlets are kept everywhere."""


def graphlet_plans(
    workload: Sequence[AnalysedQuery], *, everywhere: bool = False
) -> tuple[GraphletPlan, ...]:
    """In the order of the classes of the workload, and of the queries in each; `everywhere` as in `Sharing`."""
    places = [place for place, one in enumerate(workload) if not folded_alone(one)]
    return tuple(
        replace(plan, queries=tuple(places[query] for query in plan.queries))
        for own in classes_of([workload[place] for place in places])
        for plan in _of_class(own, everywhere)
    )


def _of_class(own: QueryClass, everywhere: bool) -> Iterator[GraphletPlan]:
    accumulators = _accumulators(own.queries)
    for window in dict.fromkeys(map(window_of, own.queries)):
        here = [one for one in accumulators if window_of(one.analysed) == window]
        closed = [] if everywhere else [one for one in here if folds_by_bursts(one.analysed)]
        for chosen in ([one for one in here if one not in closed], closed):
            for group in _groups(own, chosen):
                yield _plan(own, chosen, group, closed_form=chosen is closed)


def _accumulators(queries: Sequence[AnalysedQuery]) -> list[Accumulator]:
    scaled = ARITHMETICS["scaled"]
    parts = [with_magnitudes(components(one.query.aggregates, one.operands, scaled)) for one in queries]
    columns: dict[Component, int] = {}
    known: dict[tuple[str, Role], int] = {}
    for part in (part for own in parts for part in own if part.role not in LATTICE):
        columns[part] = (
            UNIT_WEIGHT
            if part.attribute is None
            else known.setdefault((part.attribute, part.role), len(known))
        )
    return number_accumulators(queries, parts, columns)


def _groups(own: QueryClass, accumulators: Sequence[Accumulator]) -> list[Group]:
    """Every group of two or more, whether it can gain or not."""
    types = sorted(set().union(*(one.analysed.automaton.types() for one in accumulators)))
    codes = {name: code for code, name in enumerate(types)}
    builder = builder_of(accumulators, codes, own.local.predicates, own.between.of_edges, 0)
    builder.find_equals(Sharing())
    if len(builder.paths()) < 2:
        return []
    return Finder(accumulators, builder.paths(), builder.folds, builder.same).groups(everywhere=True)


def _plan(
    own: QueryClass, accumulators: Sequence[Accumulator], group: Group, *, closed_form: bool
) -> GraphletPlan:
    first, position = group.places[0]
    paths = access_paths(accumulators[first].analysed)
    widths = [accumulators[place[0]].width for place in group.places]
    everyone = sum(len(queries) * width for queries, width in zip(group.queries, widths, strict=True))
    return GraphletPlan(
        group.type,
        tuple(sorted({own.places[query] for queries in group.queries for query in queries})),
        len(group.places),
        next(step.access for step in paths if step.source == step.target == position),
        1 if group.condition < 0 else len(set(group.inputs.values())),
        group.unit,
        sum(widths),
        group.may_gain(everyone),
        closed_form,
    )
