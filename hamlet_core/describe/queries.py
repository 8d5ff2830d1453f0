"""Every stage of a workload as text a person can read, with its automaton as a Mermaid picture. Read-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from hamlet_core.describe.plans import RULES, plan_texts
from hamlet_core.describe.sharing import graphlet_text
from hamlet_core.describe.template import names_of, quoted
from hamlet_core.describe.warnings import advice
from hamlet_core.describe.workload import path_text, workload_lines
from hamlet_core.engines.registry import DEFAULT_ENGINE, Options, check_queries
from hamlet_core.engines.two_step import TREND_LIMIT
from hamlet_core.execution import check_columns, plan
from hamlet_core.language.literals import duration_text
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import AggregateFunction, Atom, Mode, Pattern, Workload
from hamlet_core.language.writer import write_name, write_pattern, write_query
from hamlet_core.pattern.automaton import Automaton, Gap
from hamlet_core.pattern.construction import negated_patterns
from hamlet_core.pattern.meaning import AnalysedQuery, analyse_workload, position_sets
from hamlet_core.sharing.options import STATIC, Sharing
from hamlet_core.table.encode import EventSchema, table_kinds
from hamlet_core.table.kinds import Kind
from hamlet_core.template.access import (
    Access,
    access_paths,
    conditions_text,
    scanned_pairs,
    taken_in_order,
)
from hamlet_core.template.plan import QueryPlan
from hamlet_core.template.prefixes import why_by_itself
from hamlet_core.template.workload import LANES, Path, PlannedQuery, WorkloadPlan, plan_workload


def explain(
    workload: Workload | str,
    *,
    schema: EventSchema | None = None,
    table: pa.Table | pa.Schema | None = None,
    engine: str = DEFAULT_ENGINE,
    policy: str = "dynamic",
    cost_model: str = "measured",
    choice: str = "guarded",
    optimizer: str = "auto",
) -> str:
    """How each query will be evaluated: parsed form, automaton, partitions, cost per event, memory, exactness.

    For the engine hamlet the whole workload comes first: classes by partition, sharable sets, who may share graphlets
    and what is decided about it under `optimizer`, `policy`, `cost_model` and `choice`, merged templates, paths.
    With `table` (a table or its Arrow schema) column types are checked too; a table also gives warnings about types
    without events or without partition values. Raises as `parse` and `run` would.
    """
    Options(engine, policy, cost_model, choice=choice, optimizer=optimizer)
    sharing = Sharing(policy, cost_model, choice, optimizer=optimizer)
    schema = schema or EventSchema()
    workload = parse_syntax(workload) if isinstance(workload, str) else workload
    kinds: dict[str, tuple[Kind, int]] = {}
    plans = plan(workload)
    columns = table.schema if isinstance(table, pa.Table) else table
    if columns is not None:
        check_columns(workload, columns, schema)
        names = sorted({name for one in plans for name in one.columns})
        kinds = table_kinds(columns, schema, names)
    queries = analyse_workload(workload)
    check_queries(engine, queries, workload.text)
    whole = plan_workload(queries) if engine == "hamlet" else None
    sections = [
        "\n".join(_section(analysed, one, kinds, engine, _planned(whole, place)))
        for place, (analysed, one) in enumerate(zip(queries, plans, strict=True))
    ]
    if whole:
        rule = (
            f"{optimizer}: {RULES[optimizer]}"
            if sharing.shares or optimizer == "none"
            else f"{optimizer}: nothing is shared, by the policy never"
        )
        events = table if isinstance(table, pa.Table) else None
        planned = {
            whole.queries[query].partition_class: text
            for query, text in plan_texts(workload, queries, sharing, events, schema).items()
        }
        sections.insert(
            0, "\n".join(workload_lines(queries, whole, _graphlets(queries, whole, sharing), rule, planned))
        )
    warnings = (
        [f"warning: {line}" for line in advice(plans, table, schema)] if isinstance(table, pa.Table) else []
    )
    return "\n\n".join((*sections, *warnings)) + "\n"


def _graphlets(
    queries: Sequence[AnalysedQuery], whole: WorkloadPlan, sharing: Sharing
) -> Mapping[int, list[tuple[tuple[int, ...], str]]]:
    """Place of a class -> for each group of positions that may share graphlets the queries and a line on them."""
    from hamlet_core.describe.graphlets import graphlet_plans  # it loads the compiler

    found: dict[int, list[tuple[tuple[int, ...], str]]] = {}
    if sharing.optimizer in STATIC:  # who may is a matter of the plan
        return found
    for one in graphlet_plans(queries, everywhere=sharing.everywhere):
        place = whole.queries[one.queries[0]].partition_class
        everyone = whole.classes[place].template.queries
        names = names_of([whole.queries[query].name for query in one.queries], everyone)
        line = f"{one.type}+ of {names}: {graphlet_text(one, sharing)}"
        found.setdefault(place, []).append((one.queries, line))
    return found


def _planned(whole: WorkloadPlan | None, place: int) -> PlannedQuery | None:
    return whole.queries[place] if whole else None


def _section(
    analysed: AnalysedQuery,
    plan: QueryPlan,
    kinds: Mapping[str, tuple[Kind, int]],
    engine: str,
    planned: PlannedQuery | None,
) -> Iterator[str]:
    alone = planned is not None and planned.path not in LANES
    folding = engine if planned is None or not alone else planned.path.value
    yield f"== query {plan.name} =="
    if analysed.query.funnel:
        yield f"{write_name(plan.name)}: FUNNEL stands for"
    yield write_query(analysed.query).rstrip()
    yield ""
    yield f"reads types    {_types(plan)}"
    yield f"reads columns  {', '.join(_column(name, kinds) for name in plan.columns) or 'time and type only'}"
    yield f"partition      {_partition(plan)}"
    yield f"windows        {_windows(plan)}"
    if analysed.query.mode is not Mode.ANY:
        yield f"semantics      {analysed.query.mode.value}: {_MODES[analysed.query.mode]}"
    yield f"counts         {_counting(analysed)}"
    yield f"engine         {engine}: {_ENGINES[folding]}"
    if planned:
        yield f"path           {path_text(planned)}"
    yield f"memory         {'; '.join(_memory(analysed, folding, None if alone else planned))}"
    yield f"exact          {_exact(analysed, kinds)}"
    yield ""
    if folding in LISTING:
        yield "automaton: the steps of a trend"
    elif analysed.query.mode is not Mode.ANY:
        yield "automaton: the steps of a trend, and which older events of the window each looks at"
    else:
        yield "automaton: the steps of a trend, and what an event costs for each (n: older events of the window)"
    yield from _drawn(analysed, folding)
    yield ""
    yield "```mermaid"
    yield from mermaid(analysed)
    yield "```"


LISTING = frozenset({"two_step", "shared_two_step"})
"""Engines that list trends."""

_ENGINES = {
    "hamlet": "compiled kernels fold all queries of the workload in one pass over the events",
    "prefixes": "a compiled kernel folds it prefix by prefix; where a number leaves 64 bits the reference does",
    "reference": "the reference folds the query by itself, without kernels",
    "greta": "aggregates over the event graph, no trend is listed",
    "two_step": (
        "lists every trend, then aggregates; time grows with the number of trends, which may double with "
        f"every event; raises beyond {TREND_LIMIT:,} in one window"
    ),
    "shared_two_step": (
        "as two_step, and trends of what sequences of parts have in common are listed once, for all queries that are joined "
        "from them"
    ),
    "aseq": "counts each prefix of the pattern for each START event, no sequence is listed",
    "sharon": (
        "as aseq, and parts that queries which return COUNT(*) alone have in common are counted once where that saves: "
        "planned before a run, by the events of each type"
    ),
    "gloria": (
        "aggregates over the event graph; queries which return COUNT(*) alone share expressions over snapshots where that "
        "saves: planned before a run, by the events of each type"
    ),
}


_MODES = {
    Mode.NEXT: "a step goes to the earliest event that prolongs the trend, and skips what does not",
    Mode.CONTIGUOUS: "a step skips no event of the partition, of whatever type",
}

_KEPT_BY = {
    "two_step": "one trend at a time, and every match of a negated pattern in the window",
    "shared_two_step": "the trends of common parts and of what is between them in a window; as two_step for other queries",
    "aseq": "a count per START event of a window and position",
    "sharon": "a count per START event of a window and position, START events of shared parts included",
    "gloria": "an expression per position and set of queries that share: a number per snapshot of a window",
}

_KEPT = {
    Mode.NEXT: "totals of the events of a window that still wait",
    Mode.CONTIGUOUS: "totals of the events of one time stamp",
}


def _types(plan: QueryPlan) -> str:
    names = ", ".join(sorted(plan.types))
    return f"every type, by its time; the pattern names {names}" if plan.every_type else names


def _column(name: str, kinds: Mapping[str, tuple[Kind, int]]) -> str:
    return f"{name} ({kinds[name][0].value})" if name in kinds else name


def _partition(plan: QueryPlan) -> str:
    names = tuple(dict.fromkeys((*plan.equivalence, *plan.group_by)))
    apart = f"by {', '.join(names)}" if names else "none: all events together"
    return f"{apart}; a result per window" + (f" and {', '.join(plan.group_by)}" if plan.group_by else "")


def _windows(plan: QueryPlan) -> str:
    whole, rest = divmod(plan.within, plan.slide)
    times = f"{whole} or {whole + 1}" if rest else str(whole)
    length, step = duration_text(plan.within), duration_text(plan.slide)
    return f"of {length}, one begins every {step}: an event is in {times}"


def _counting(analysed: AnalysedQuery) -> str:
    if analysed.query.mode is Mode.NEXT:
        return (
            "sequences of events: what prolongs one is asked of all its paths through the automaton together"
        )
    if not analysed.ambiguous:
        return "paths of the automaton: no sequence of events has two"
    sets = position_sets(analysed)
    number = f"{len(sets)} sets" if sets is not None else "sets"
    return f"{number} of positions, because one sequence may have several paths and is one trend all the same"


# --- the automaton, and what its steps cost ------------------------------------------------------


def _drawn(analysed: AnalysedQuery, engine: str) -> Iterator[str]:
    lines = list(_lines(analysed, analysed.automaton, analysed.query.pattern, engine))
    width = max(len(step) for step, _ in lines)
    for step, cost in lines:
        yield f"{step:{width}}  {cost}".rstrip()


def _lines(
    analysed: AnalysedQuery, automaton: Automaton, pattern: Pattern, engine: str, label: str = "N"
) -> Iterator[tuple[str, str]]:
    """(step, cost and conditions) of every start, edge and end, then those of each negated pattern, labelled."""
    names = _names(automaton)
    priced = engine not in LISTING and analysed.query.mode is Mode.ANY
    costs = (
        _looks(analysed, automaton, engine)
        if engine not in LISTING and not priced
        else _costs(analysed, automaton, engine)
    )
    for start in automaton.starts:
        yield (
            f"  start -> {names[start.position]}",
            _noted("O(1)" * priced, _gap(start.gap, label, "before it")),
        )
    for edge, cost in zip(automaton.edges, costs, strict=True):
        notes = (cost * (engine not in LISTING), _gap(edge.gap, label, "in between"))
        yield f"  {names[edge.source]} -> {names[edge.target]}", _noted(*notes)
    for end in automaton.ends:
        yield f"  {names[end.position]} -> end", _noted("O(1)" * priced, _gap(end.gap, label, "after it"))
    for index, (negation, body) in enumerate(
        zip(automaton.negations, negated_patterns(pattern), strict=True)
    ):
        yield f"  {label}{index} is {write_pattern(body)}:", ""
        for step, cost in _lines(analysed, negation, body, engine, f"{label}{index}."):
            yield f"  {step}", cost


def _noted(*notes: str) -> str:
    return ", ".join(note for note in notes if note)


def _names(automaton: Automaton) -> list[str]:
    sides = ("", "") if automaton.sides == 1 else (" (left)", " (right)")
    return [
        write_pattern(Atom(position.type, position.alias)) + sides[position.side]
        for position in automaton.positions
    ]


def _costs(analysed: AnalysedQuery, automaton: Automaton, engine: str) -> Iterator[str]:
    """What each edge costs an event; the reference engine scans wherever a pair of events decides."""
    for step in access_paths(analysed, automaton):
        if engine in {"aseq", "sharon"}:
            yield "O(n), a count per START event"
            continue
        scans = engine != "hamlet" and step.access is not Access.RUNNING_TOTAL
        cost = (Access.SCAN if scans else step.access).value
        if engine == "gloria":
            cost += ", of a number per snapshot where queries share"
        yield f"{cost}, because of {step.because}" if step.because else cost


def _looks(analysed: AnalysedQuery, automaton: Automaton, engine: str) -> Iterator[str]:
    """Which older events each edge looks at; a negated pattern is matched by any, whatever the mode."""
    mode = analysed.query.mode if automaton is analysed.automaton else Mode.ANY
    together = engine == Path.PREFIXES.value and not why_by_itself(analysed)
    for edge in automaton.edges:
        conditions = conditions_text(analysed, automaton, edge)
        told = f", if {conditions}" if conditions else ""
        match mode:
            case Mode.ANY:
                yield f"all older ones{told}"
            case Mode.CONTIGUOUS:
                yield f"those of the last time stamp of the partition{told}"
            case Mode.NEXT if not together:
                yield f"those that still wait, each taken once{told}"
            case Mode.NEXT if not conditions:
                yield "all that still wait, each taken once"
            case Mode.NEXT if taken_in_order(analysed, edge):
                yield f"those that still wait, in the order of their keys, each taken once in O(log n){told}"
            case Mode.NEXT:
                yield f"those that still wait, one by one, each taken once{told}"


def _gap(gap: Gap, label: str, where: str) -> str:
    absent = " and ".join(f"no {label}{index}" for index in sorted(gap))
    return f"{absent} {where}" if absent else ""


def _memory(analysed: AnalysedQuery, engine: str, planned: PlannedQuery | None) -> Iterator[str]:
    """What is kept beside the input while one window of one partition is evaluated, or all that are open."""
    yield "the input"
    if kept := _KEPT_BY.get(engine, _KEPT.get(analysed.query.mode)):
        yield kept
        return
    automaton = analysed.automaton
    overlapping = analysed.query.slide.microseconds < analysed.query.within.microseconds
    each = " and open window" if planned else ""
    where = each if overlapping and each else " in a window"
    if analysed.ambiguous:
        edges, ends = automaton.edges, automaton.ends
        why = scanned_pairs(analysed)
        if why or any(end.gap for end in ends):
            yield f"a total per matched event of a window, because of {why or 'NOT at the end'}"
        elif edges or ends:
            yield f"a total per set of positions{each}"
        return
    yield f"a running total per position{each}"
    names = _names(automaton)
    scanned = [edge.source for edge in automaton.edges if conditions_text(analysed, automaton, edge)]
    gaps = [edge.source for edge in automaton.edges if edge.gap and edge.source not in scanned]
    gaps += [end.position for end in automaton.ends if end.gap and end.position not in scanned]
    if planned and planned.path is Path.BURSTS:
        for position in dict.fromkeys(gaps):
            yield f"what waits behind {names[position]} per open window, because of NOT"
        return
    for positions, why in ((scanned, "conditions on its next event"), (gaps, "NOT behind it")):
        for position in dict.fromkeys(positions):
            yield f"a total per event of {names[position]}{where}, because of {why}"


def _exact(analysed: AnalysedQuery, kinds: Mapping[str, tuple[Kind, int]]) -> str:
    sums = [
        aggregate
        for aggregate in analysed.query.aggregates
        if aggregate.function in (AggregateFunction.SUM, AggregateFunction.AVG) and aggregate.subject is None
    ]
    doubles = [one.label for one in sums if kinds.get(one.attribute or "", (None, 0))[0] is Kind.DOUBLE]
    if doubles:
        return f"digits of all but {', '.join(doubles)}: sums over doubles have none"
    unknown = ", ".join(one.label for one in sums if one.attribute not in kinds)
    return "digits of every aggregate" + (f"; of {unknown} unless the column is a double" if unknown else "")


# --- the picture ---------------------------------------------------------------------------------


def mermaid(analysed: AnalysedQuery) -> Iterator[str]:
    """The automaton as lines of a Mermaid flowchart; conditions and gaps stand on the arrows."""
    automaton = analysed.automaton
    absent = [write_pattern(body) for body in negated_patterns(analysed.query.pattern)]
    yield "flowchart LR"
    for position, name in zip(automaton.positions, _names(automaton), strict=True):
        yield f'  p{position.index}(["{quoted(name)}"])'
    for start in automaton.starts:
        yield f"  start((start)) {_arrow(absent, start.gap)} p{start.position}"
    for edge in automaton.edges:
        arrow = _arrow(absent, edge.gap, conditions_text(analysed, automaton, edge))
        yield f"  p{edge.source} {arrow} p{edge.target}"
    for end in automaton.ends:
        yield f"  p{end.position} {_arrow(absent, end.gap)} finish((end))"


def _arrow(absent: Sequence[str], gap: Gap, conditions: str = "") -> str:
    label = _noted(conditions, " and ".join(f"no {absent[index]}" for index in sorted(gap)))
    return f'-->|"{quoted(label)}"|' if label else "-->"
