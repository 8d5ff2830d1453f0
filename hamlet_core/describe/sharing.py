"""Sharing as people read it: what is decided while a workload runs, and what a run has decided and saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hamlet_core.describe.template import names_of
from hamlet_core.execution import Execution
from hamlet_core.sharing.burst import Outcome
from hamlet_core.sharing.log import SUMMED, summarised
from hamlet_core.sharing.options import Sharing
from hamlet_core.template.access import Access

if TYPE_CHECKING:
    from hamlet_core.describe.graphlets import GraphletPlan

MOST_ROWS = 10
"""Of the table of decisions."""

LONGEST = 40
"""Characters of names in it."""

_PLACES = ("pane", "partition", "burst")
"""Columns that say when and where, not what."""

_OPENED = frozenset({Outcome.OPEN.value, Outcome.CONTINUE.value, Outcome.MERGE.value})


def graphlet_text(plan: GraphletPlan, sharing: Sharing) -> str:
    """How older events are found, how many numbers are kept, shared and alone, and what is decided at run time."""
    lanes = _number(plan.lanes, "snapshot lane")
    each = f" of {_number(plan.lane_numbers, 'number')}" if plan.lane_numbers > 1 else ""
    alone = f"{_number(plan.numbers, 'number')} alone"
    if plan.totals < len(plan.queries):
        alone += f" (equal totals are one: {plan.totals} for {len(plan.queries)} queries)"
    return f"{plan.access.value}; opens with {lanes}{each}, against {alone}; {_decided(plan, sharing)}"


def _decided(plan: GraphletPlan, sharing: Sharing) -> str:
    if not sharing.shares:
        return f"nothing is decided: {'policy never' if sharing.policy == 'never' else 'optimizer none'}"
    if not sharing.everywhere:
        if plan.closed_form:
            return "nothing is decided: the burst kernel folds each total in closed form"
        if not plan.gains:
            return "nothing is decided: more numbers would be shared than there are"
    if sharing.policy == "always":
        return "all share, as long as there is room for their snapshots"
    if plan.access is Access.RUNNING_TOTAL:
        return "decided for each burst"
    return "decided for the first burst of a window; those that share then go on or split"


def decided_lines(execution: Execution, cost_model: str = "measured") -> Iterator[str]:
    """The section of EXPLAIN about a run: counters, predicted costs, and the most frequent decisions."""
    done, log = execution.counters, execution.decisions
    yield "== what was decided =="
    if not done.decided_bursts:
        why = "no burst was one that queries might share at run time"
        if done.undecided_events:
            why = f"in {done.undecided_events:,} events sharing could not gain what it costs to ask"
        yield f"nothing: {why}"
        return
    yield f"bursts         {done.decided_bursts:,} decided, {done.shared_bursts:,} of them shared"
    yield f"snapshots      {done.snapshots:,} lanes made, {done.lanes:,} carried through shared bursts"
    yield f"graphlets      {_number(done.splits, 'split')}, {_number(done.merges, 'merge')}"
    alone, decided = predicted_costs(log)
    unit = "ns" if cost_model == "measured" else "older events read"
    yield f"predicted      {decided:,.0f} {unit} as decided, {alone:,.0f} if all go alone: {_saved(alone, decided)}"
    yield f"deciding       took {done.decision_seconds * 1e3:.2f} ms"
    if done.undecided_events:
        yield f"resting        {done.undecided_events:,} events, while groups rested that lose by sharing"
    yield ""
    yield from decision_lines(log)


def predicted_costs(log: pa.Table) -> tuple[float, float]:
    """(if every query goes alone, as decided); of a split in a summary the cheaper is believed."""
    alone = decided = 0.0
    for row in log.to_pylist():
        shares = bool(row["queries"]) if row["queries"] is not None else row["outcome"] in _OPENED
        alone += row["cost_alone"]
        if row["queries"] is None and row["outcome"] == Outcome.SPLIT.value:
            decided += min(row["cost_alone"], row["cost_shared"])
        else:
            decided += row["cost_shared" if shares else "cost_alone"]
    return alone, decided


def decision_lines(log: pa.Table) -> Iterator[str]:
    """The decisions that were taken most often as a table, costs in units of the cost model."""
    kinds = _kinds(log)
    rows = [
        ("bursts", "events", "snapshots", "shared", "alone", "Kleene", "outcome", "who shares", "why"),
        *map(_cells, kinds[:MOST_ROWS]),
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for line in rows:
        cells = [
            f"{cell:>{width}}" if place < 5 else f"{cell:{width}}"
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
    if len(kinds) > MOST_ROWS:
        yield f"and {len(kinds) - MOST_ROWS:,} more kinds of decisions"


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    counts = (f"{row[name]:,}" for name in ("bursts", "events", "snapshots_created"))
    costs = (f"{row[name]:,.0f}" for name in ("cost_shared", "cost_alone"))
    return *counts, *costs, row["kleene"], row["outcome"], _who(row), row["reason"]


def _kinds(log: pa.Table) -> list[Mapping[str, Any]]:
    """A row for all decisions that say the same, wherever and whenever, the most frequent first."""
    for name in _PLACES:
        place = log.schema.get_field_index(name)
        log = log.set_column(
            place, log.schema.field(name), pa.nulls(log.num_rows, log.schema.field(name).type)
        )
    alike = [name for name in log.column_names if name not in SUMMED]
    different = log.group_by(alike).aggregate([]).num_rows
    rows: list[Mapping[str, Any]] = summarised(log, different).to_pylist()
    return sorted(rows, key=lambda row: -row["bursts"])


def _who(row: Mapping[str, Any]) -> str:
    """Those that share in few words."""
    if row["queries"] is None:
        return "some" if row["outcome"] in _OPENED else "nobody"
    if not row["queries"]:
        return "nobody"
    everyone = row["candidates"].split(", ") if row["candidates"] else []
    sets = (names_of(own.split(", "), everyone or own.split(", ")) for own in row["queries"].split("; "))
    text = "; ".join(sets)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _saved(alone: float, decided: float) -> str:
    if alone <= 0 or decided == alone:
        return "nothing saved"
    share = 100 * (alone - decided) / alone
    return f"{share:.0f} % saved" if share > 0 else f"{-share:.0f} % more"


def _number(number: int, one: str) -> str:
    return f"{number:,} {one}" + ("" if number == 1 else "s")
