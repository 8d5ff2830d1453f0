"""How large the terms of a sum may be: a bound on what scaled arithmetic may be wrong by where terms cancel out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hamlet_core import Query
from hamlet_core.language.syntax import Aggregate, AggregateFunction

_TOTALS = (AggregateFunction.SUM, AggregateFunction.AVG)
_EXTREMES = (AggregateFunction.MIN, AggregateFunction.MAX)


def with_magnitudes(query: Query) -> Query:
    """The query with MIN, MAX and COUNT beside each SUM and AVG: they bound the sum of absolute terms.

    Sums of DURATION have no terms of both signs.
    """
    wanted = dict.fromkeys(aggregate.label for aggregate in query.aggregates)
    more: list[Aggregate] = []
    for aggregate in query.aggregates:
        if aggregate.function in _TOTALS and aggregate.subject is None:
            alias, attribute = aggregate.alias, aggregate.attribute
            beside = [Aggregate(function, alias, attribute) for function in _EXTREMES]
            for one in (*beside, Aggregate(AggregateFunction.COUNT, alias)):
                if one.label not in wanted:
                    wanted[one.label] = None
                    more.append(one)
    return replace(query, returns=(*query.returns, *more))


def magnitudes(rows: Sequence[dict[str, Any]], queries: Sequence[Query]) -> Iterator[dict[str, Any]]:
    """The rows that the queries ask for; a SUM or AVG over terms of both signs with a bound on its absolute terms."""
    by_key = {(row["query"], row["window_start"], row["group_key"], row["aggregate"]): row for row in rows}
    asked = {query.name: {one.label: one for one in query.aggregates} for query in queries}
    for row in rows:
        aggregate = asked[row["query"]].get(row["aggregate"])
        if aggregate is None:
            continue
        if aggregate.function in _TOTALS and aggregate.subject is None:
            over = f"({aggregate.alias}.{aggregate.attribute})"
            key = row["query"], row["window_start"], row["group_key"]
            low, high = by_key[*key, f"MIN{over}"], by_key[*key, f"MAX{over}"]
            count = by_key[*key, f"COUNT({aggregate.alias})"]
            if low["sign"] == -1 and high["sign"] == 1:
                times = count["log2"] if aggregate.function is AggregateFunction.SUM else 0.0
                row["magnitude"] = max(low["log2"], high["log2"]) + times
        yield row
