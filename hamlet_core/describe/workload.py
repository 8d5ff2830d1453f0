"""The plan of a workload as lines a person can read: classes, what is shared, merged templates, paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from hamlet_core.describe.plans import PlanText
from hamlet_core.describe.template import names_of, template_lines, template_mermaid
from hamlet_core.language.literals import duration_text
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.template.prefixes import reads
from hamlet_core.template.sharable import SharableSet, window_of
from hamlet_core.template.workload import LANES, PartitionClass, Path, PlannedQuery, WorkloadPlan
from hamlet_core.windows import WindowSpec

FEW = 5
"""Names of queries that are told; of more the number."""


def workload_lines(
    workload: Sequence[AnalysedQuery],
    plan: WorkloadPlan,
    graphlets: Mapping[int, Sequence[tuple[tuple[int, ...], str]]],
    rule: str,
    planned: Mapping[int, PlanText],
) -> Iterator[str]:
    """The section of EXPLAIN about the whole workload; `plan` must be the plan of `workload`.

    `graphlets`: place of a class -> who may share graphlets in it, and a line on them; `rule`: what
    the optimizer does; `planned`: place of a class -> its plan.
    """
    yield "== workload =="
    queries, classes = _number(len(plan.queries), "query", "queries"), len(plan.classes)
    yield f"{queries} in {_number(classes, 'class', 'classes')} of equal partitions, {_passes(plan)}"
    yield f"optimizer {rule}"
    for place, one in enumerate(plan.classes):
        yield ""
        yield f"-- class {place + 1} --"
        yield from _class(workload, plan, one, graphlets.get(place, ()), planned.get(place, PlanText()))
    yield ""
    yield "paths: how the events of each query are folded"
    width = max(len(query.name) for query in plan.queries)
    for query in plan.queries:
        yield f"  {query.name:{width}}  {path_text(query)}"


def path_text(query: PlannedQuery) -> str:
    """The path of a query and the reason for it."""
    reasons = "; ".join(query.reasons)
    match query.path:
        case Path.BURSTS:
            return "bursts: events of one type in a row are folded at once"
        case Path.EVENTS:
            return f"events: one by one, because of {reasons}"
        case Path.PREFIXES:
            rest = "; all other aggregates as bursts or events, by itself" if query.halved else ""
            return f"prefixes: {_fellows(query)}, event by event, because of {reasons}{rest}"
        case Path.REFERENCE:
            return f"reference: by itself and without kernels, because of {reasons} and what NOT holds"
    assert_never(query.path)


def _fellows(query: PlannedQuery) -> str:
    """With whom the prefixes of a query are folded."""
    others = [name for name in query.beside if name != query.name]
    if others:
        return f"in one fold with {_few(others)}"
    return f"by itself ({query.by_itself})" if query.by_itself else "by itself"


def _few(names: Sequence[str]) -> str:
    return _list(names) if len(names) <= FEW else f"{_list(names[:FEW])} and {len(names) - FEW} more"


def _passes(plan: WorkloadPlan) -> str:
    alone = [query.name for query in plan.queries if query.path not in LANES and len(query.beside) < 2]
    together = dict.fromkeys(query.beside for query in plan.queries if len(query.beside) > 1)
    if len(alone) == len(plan.queries):
        return "one pass over the events each"
    passes = [f"one for the prefixes of {_few(names)}" for names in together]
    passes += [f"one each for {_list(alone)}"] if alone else []
    if any(query.path in LANES for query in plan.queries):
        passes.insert(0, "one pass over the events")
    else:
        passes[0] = passes[0].replace("one", "one pass", 1)
    return ", and ".join(passes)


def _class(
    workload: Sequence[AnalysedQuery],
    plan: WorkloadPlan,
    one: PartitionClass,
    graphlets: Sequence[tuple[tuple[int, ...], str]],
    planned: PlanText,
) -> Iterator[str]:
    names = {index: plan.queries[index].name for index in one.queries}
    yield f"queries        {_list(names.values())}"
    yield f"partition      {f'by {_list(one.partition)}' if one.partition else 'none: all events together'}"
    for attribute in one.partition:
        yield f"NULL           in {attribute}: {_null(workload, names, attribute)}"
    for window in one.windows:
        takers = [name for index, name in names.items() if window_of(workload[index]) == window]
        yield f"windows        {_window(window)}: {names_of(takers, one.template.queries)}"
    yield f"panes          of {duration_text(one.pane)}"
    for shared in one.sets:
        yield f"sharable       {_shared(shared, one.template.queries)}"
    joined = {index for queries, _ in graphlets for index in queries}
    for index, name in names.items():
        if index not in joined and len(plan.queries[index].beside) < 2:
            yield from (f"alone          {name}: {why}" for why in plan.queries[index].alone)
    yield from (f"events         {line}" for line in _read_once(workload, plan, one))
    yield from (f"together       {line}" for line in _together(plan, one))
    yield from (f"plan           {line}" for line in planned.lines)
    yield from (f"graphlets      {line}" for _, line in graphlets)
    yield ""
    yield "template: the steps of a trend, and the queries that take them"
    yield from template_lines(one.template)
    yield ""
    yield "```mermaid"
    yield from template_mermaid(one.template)
    yield "```"
    for drawing in planned.drawings:
        yield ""
        yield "plan: segments are boxes, folded once for their queries as far as totals are equal"
        yield ""
        yield "```mermaid"
        yield from drawing
        yield "```"


def _read_once(workload: Sequence[AnalysedQuery], plan: WorkloadPlan, one: PartitionClass) -> Iterator[str]:
    """The queries of a class whose prefixes are folded over the same events, whatever their modes and windows."""
    alike: dict[object, list[int]] = {}
    for index in one.queries:
        if plan.queries[index].beside:
            alike.setdefault(reads(workload[index]), []).append(index)
    for some in alike.values():
        if len(some) > 1:
            yield f"of {_few([plan.queries[index].name for index in some])}: sorted and cut into partitions once"


def _together(plan: WorkloadPlan, one: PartitionClass) -> Iterator[str]:
    """The queries of a class whose prefixes are folded in one fold."""
    for names in dict.fromkeys(plan.queries[index].beside for index in one.queries):
        if len(names) > 1:
            yield (
                f"{_few(names)}: their prefixes in one fold, which looks at an event once for all that "
                "expect it at an equal step; equal totals are one"
            )


def _null(workload: Sequence[AnalysedQuery], names: Mapping[int, str], attribute: str) -> str:
    """What becomes of events without a value: equivalence leaves them out, GROUP-BY alone makes them a group."""
    without = [name for index, name in names.items() if attribute in workload[index].equivalence]
    group = [name for name in names.values() if name not in without]
    everyone = list(names.values())
    parts = (("no partition for", without), ("a group of its own for", group))
    return "; ".join(f"{what} {names_of(some, everyone)}" for what, some in parts if some)


def _window(window: WindowSpec) -> str:
    return f"of {duration_text(window.within)}, one begins every {duration_text(window.slide)}"


def _shared(shared: SharableSet, everyone: Sequence[str]) -> str:
    names = names_of(list(dict.fromkeys(member.name for member in shared.members)), everyone)
    what = f"{shared.kleene} for {shared.unit.label}: {names}"
    return f"{what}; panes of {duration_text(shared.pane)}; {_bursts(shared)}"


def _bursts(shared: SharableSet) -> str:
    ends = [
        f"{name} ends {f'at {_list(sorted(ending))}' if (ending := shared.ending(name)) else 'with its pane'}"
        for name in shared.types
    ]
    return f"a burst of {', of '.join(ends)}"


def _number(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
