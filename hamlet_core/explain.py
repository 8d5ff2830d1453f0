"""Every stage of a workload as text a person can read, with its automaton as a Mermaid picture. Read-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from hamlet_core.engines.registry import DEFAULT_ENGINE, Options
from hamlet_core.events import EventSchema, table_kinds
from hamlet_core.execution import check_columns, plan
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import AggregateFunction, Workload
from hamlet_core.language.writer import write_expression, write_query
from hamlet_core.pattern.automaton import CLEAN, Automaton, Gaps
from hamlet_core.pattern.meaning import AnalysedQuery, analyse_workload
from hamlet_core.predicates.kinds import Kind
from hamlet_core.template.advice import advice
from hamlet_core.template.plan import QueryPlan


def explain(
    workload: Workload | str,
    *,
    schema: EventSchema | None = None,
    table: pa.Table | pa.Schema | None = None,
    engine: str = DEFAULT_ENGINE,
) -> str:
    """How each query will be evaluated: parsed form, automaton, partitions, cost per event, memory, exactness.

    With `table` (a table or its Arrow schema) column types are checked too; a table also gives warnings about types
    without events or without partition values. Raises as `parse` and `run` would.
    """
    Options(engine)
    schema = schema or EventSchema()
    workload = parse_syntax(workload) if isinstance(workload, str) else workload
    kinds: dict[str, tuple[Kind, int]] = {}
    plans = plan(workload)
    columns = table.schema if isinstance(table, pa.Table) else table
    if columns is not None:
        check_columns(workload, columns, schema)
        names = sorted({name for one in plans for name in one.columns})
        kinds = table_kinds(columns, schema, names)
    sections = (
        "\n".join(_section(analysed, one, kinds, engine))
        for analysed, one in zip(analyse_workload(workload), plans, strict=True)
    )
    warnings = (
        [f"warning: {line}" for line in advice(plans, table, schema)] if isinstance(table, pa.Table) else []
    )
    return "\n\n".join((*sections, *warnings)) + "\n"


def _section(
    analysed: AnalysedQuery, plan: QueryPlan, kinds: Mapping[str, tuple[Kind, int]], engine: str
) -> Iterator[str]:
    yield f"== query {plan.name} =="
    yield write_query(analysed.query).rstrip()
    yield ""
    yield f"reads types      {', '.join(sorted(plan.types))}"
    yield f"reads columns    {', '.join(_column(name, kinds) for name in plan.columns) or 'none'}"
    yield f"partition        {', '.join(dict.fromkeys((*plan.equivalence, *plan.group_by))) or 'one'}"
    yield f"reported per     {', '.join(plan.group_by) or 'one group'}"
    yield f"windows per event {_windows(plan)}"
    yield f"counted as       {_counting(analysed)}"
    yield ""
    yield "automaton (predecessor -> position: what an event of the position costs)"
    yield from _lines(analysed, analysed.automaton, "  ")
    yield ""
    yield f"engine           {engine}: {_ENGINES[engine]}"
    yield f"memory           {_memory(analysed)}"
    yield f"exact            {_exact(analysed, kinds)}"
    yield ""
    yield "```mermaid"
    yield from mermaid(analysed.automaton)
    yield "```"


_ENGINES = {
    "greta": "aggregates over the event graph, no trend is listed",
    "two_step": "lists every trend, then aggregates; raises past its limit",
}


def _column(name: str, kinds: Mapping[str, tuple[Kind, int]]) -> str:
    return f"{name} ({kinds[name][0].value})" if name in kinds else name


def _windows(plan: QueryPlan) -> str:
    whole, rest = divmod(plan.within, plan.slide)
    return f"{whole} or {whole + 1}" if rest else str(whole)


def _counting(analysed: AnalysedQuery) -> str:
    if analysed.ambiguous:
        return "sets of positions: the pattern can bind one sequence in several ways, and it counts once"
    return "paths: the pattern binds a sequence in one way only"


def _lines(analysed: AnalysedQuery, automaton: Automaton, indent: str) -> Iterator[str]:
    names = _names(automaton)
    for start in automaton.starts:
        yield f"{indent}start -> {names[start.position]}: O(1){_gap(start.gaps, 'before it')}"
    for edge in automaton.edges:
        cost, why = _cost(analysed, automaton, edge.source, edge.target, edge.gaps)
        gap = _gap(edge.gaps, "between")
        yield f"{indent}{names[edge.source]} -> {names[edge.target]}: {cost}{why}{gap}"
    for end in automaton.ends:
        yield f"{indent}{names[end.position]} -> end: O(1){_gap(end.gaps, 'after it in the window')}"
    for index, negation in enumerate(automaton.negations):
        yield f"{indent}negated pattern N{index}:"
        yield from _lines(analysed, negation, indent + "  ")


def _names(automaton: Automaton) -> list[str]:
    sides = ("", "") if automaton.sides == 1 else (" [left]", " [right]")
    return [f"{position.type} {position.alias}{sides[position.side]}" for position in automaton.positions]


def _cost(
    analysed: AnalysedQuery, automaton: Automaton, source: int, target: int, gaps: Gaps
) -> tuple[str, str]:
    aliases = automaton.positions[source].alias, automaton.positions[target].alias
    conditions = [
        write_expression(condition.expression)
        for condition in analysed.adjacent
        if (condition.left, condition.right) == aliases
    ]
    if conditions:
        return "O(n)", f" scan, because of {' AND '.join(conditions)}"
    if analysed.ambiguous and gaps != CLEAN:
        return "O(n)", " scan, because of NOT in an ambiguous pattern"
    return "O(1)", " running total"


def _gap(gaps: Gaps, where: str) -> str:
    if gaps == CLEAN:
        return ""
    ways = " or ".join(" and ".join(f"N{index}" for index in sorted(gap)) or "anything" for gap in gaps)
    return f", no {ways} {where}"


def _memory(analysed: AnalysedQuery) -> str:
    if analysed.adjacent:
        return "every matched event of a window and partition, because of the adjacent conditions"
    if analysed.ambiguous and any(edge.gaps != CLEAN for edge in analysed.automaton.edges):
        return "every matched event of a window and partition, because of NOT in an ambiguous pattern"
    return f"{len(analysed.automaton.positions)} totals per window and partition beside the input"


def _exact(analysed: AnalysedQuery, kinds: Mapping[str, tuple[Kind, int]]) -> str:
    doubles = [
        aggregate.label
        for aggregate in analysed.query.aggregates
        if aggregate.function in (AggregateFunction.SUM, AggregateFunction.AVG)
        and kinds.get(aggregate.attribute or "", (None, 0))[0] is Kind.DOUBLE
    ]
    return (
        f"all but {', '.join(doubles)}: sums over doubles have no exact digits"
        if doubles
        else "every aggregate"
    )


def mermaid(automaton: Automaton) -> Iterator[str]:
    """The automaton as lines of a Mermaid flowchart; a gap stands on its edge."""
    yield "flowchart LR"
    for position, name in zip(automaton.positions, _names(automaton), strict=True):
        yield f'  p{position.index}(["{_quoted(name)}"])'
    for start in automaton.starts:
        yield f"  start((start)) {_arrow(automaton, start.gaps)} p{start.position}"
    for edge in automaton.edges:
        yield f"  p{edge.source} {_arrow(automaton, edge.gaps)} p{edge.target}"
    for end in automaton.ends:
        yield f"  p{end.position} {_arrow(automaton, end.gaps)} finish((end))"


def _arrow(automaton: Automaton, gaps: Gaps) -> str:
    if gaps == CLEAN:
        return "-->"
    ways = (" and ".join(_negation(automaton.negations[index]) for index in sorted(gap)) for gap in gaps)
    return f'-->|"no {_quoted(" or ".join(ways))}"|'


def _negation(automaton: Automaton) -> str:
    return ", ".join(dict.fromkeys(position.type for position in automaton.positions))


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
