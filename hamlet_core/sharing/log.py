"""A decision log in, one of bounded length out: rows of `DECISION_SCHEMA` that say the same are added up."""

from __future__ import annotations

import pyarrow as pa

SUMMED = ("bursts", "events", "snapshots_created", "snapshots_carried", "cost_shared", "cost_alone")
"""Columns that are added up."""

COARSER = (("partition", "burst"), ("pane",), ("queries", "reason"), ("kleene", "candidates"))
"""Columns that summaries are made over: the first of these first, the others only where that is not enough."""

_NOBODY = " nobody"


def summarised(decisions: pa.Table, most: int) -> pa.Table:
    """The log in at most `most` rows: the first rows as they are, and the others added up with those that say the same.

    Rows say the same if they agree in all columns but `SUMMED`, `partition` and `burst`. Where these are still too many,
    `pane` may differ too; then `queries` and `reason` (only whether nobody shares is kept apart), then `kleene` and
    `candidates`. A column that differs is NULL in a summary. `outcome`, and columns that are not of `DECISION_SCHEMA`,
    never differ: only if their values are more than `most` by themselves, so are the rows. Summaries of summaries add up
    to the same.

    >>> one = {"pane": 0, "partition": "{}", "burst": 0, "queries": "p, q", "outcome": "open", "bursts": 1, "events": 5}
    >>> log = pa.Table.from_pylist([one, one | {"pane": 60}, one | {"pane": 60, "burst": 4, "bursts": 2}])
    >>> summarised(log, 2).select(["pane", "burst", "bursts", "events"]).to_pylist()
    [{'pane': 0, 'burst': 0, 'bursts': 1, 'events': 5}, {'pane': 60, 'burst': None, 'bursts': 3, 'events': 10}]
    """
    if decisions.num_rows <= most:
        return decisions
    import pyarrow.compute as pc

    nobody = pc.fill_null(pc.equal(decisions["queries"], ""), False)
    log = decisions.append_column(_NOBODY, nobody)
    over: tuple[str, ...] = ()
    for columns in COARSER:
        over += columns
        alike = _alike(log, over)
        kinds = log.group_by(alike).aggregate([]).num_rows
        if kinds <= most:
            break
    whole = max(most - kinds, 0)
    summary = _added_up(log.slice(whole), alike).select(decisions.column_names)
    return pa.concat_tables([decisions.slice(0, whole), summary.cast(decisions.schema)])


def _alike(log: pa.Table, over: tuple[str, ...]) -> list[str]:
    """The columns that rows which are added up have in common."""
    return [name for name in log.column_names if name not in SUMMED and name not in over]


def _added_up(log: pa.Table, alike: list[str]) -> pa.Table:
    """One row for rows that agree in these columns, in order of the first of them; what else differs is NULL."""
    import pyarrow.compute as pc

    summed = [name for name in log.column_names if name in SUMMED]
    others = [name for name in log.column_names if name not in summed and name not in alike]
    differing = [(name, "count_distinct", pc.CountOptions(mode="all")) for name in others]
    wanted = [*((name, "sum") for name in summed), *((name, "first") for name in others), *differing]
    found = log.group_by(alike, use_threads=False).aggregate(wanted)
    columns = {name: found[name] for name in alike} | {name: found[f"{name}_sum"] for name in summed}
    for name in others:
        same = pc.equal(found[f"{name}_count_distinct"], 1)
        columns[name] = pc.if_else(same, found[f"{name}_first"], pa.scalar(None, log.schema.field(name).type))
    return pa.table(columns)
