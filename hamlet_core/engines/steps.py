"""Which positions of several queries the same events may take, and how many do: what the engines of papers plan by.

Two positions may have one name if they have the same type and the same events may take them; an engine may ask for more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hamlet_core.engines.partitions import partitions, rows_that_matter, windows
from hamlet_core.engines.prepared import PreparedQuery
from hamlet_core.template.steps import Key, Names
from hamlet_core.windows import WindowSpec


def takers(prepared: PreparedQuery) -> tuple[Key, ...]:
    """Position -> its type and the rows that may take it."""
    rows: list[list[int]] = [[] for _ in prepared.root.automaton.positions]
    for row, positions in enumerate(prepared.root.bindable):
        for position in positions:
            rows[position].append(row)
    types = (position.type for position in prepared.root.automaton.positions)
    return tuple((type_, tuple(own)) for type_, own in zip(types, rows, strict=True))


def rates(
    queries: Mapping[str, PreparedQuery], names: Mapping[str, Names], spec: WindowSpec
) -> dict[str, float]:
    """Events that may take a step, per window of a partition that has any events; the queries have the same of both."""
    if not queries:
        return {}
    own = tuple(queries.values())
    stream = own[0].stream
    taken: Counter[str] = Counter(dict.fromkeys((one for steps in names.values() for one in steps), 0))
    number = 0
    for partition in partitions(own[0].analysed, stream, rows_that_matter(own)):
        number += sum(1 for _ in windows(spec, [stream.times[row] for row in partition.rows]))
        for row in partition.rows:
            steps = {
                names[query][position]
                for query, prepared in queries.items()
                for position in prepared.root.bindable[row]
            }
            taken.update(dict.fromkeys(steps, len(spec.indices(stream.times[row]))))
    return {step: count / max(number, 1) for step, count in taken.items()}
