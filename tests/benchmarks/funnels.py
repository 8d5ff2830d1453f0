"""Funnels over a day of clicks, and what asks for them: HAMLET, ClickHouse, DuckDB and Polars.

A user has reached a step who has done it after the step before, at a strictly later time. What is answered is how many
users reached each step, funnel after funnel; or how many times in all users went through one, without overlap.
Nothing but Python's own library is imported, unless it is asked: the others live in an environment of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

DAY = 1_772_409_600
"""The second at which the day of clicks begins."""
LASTS = 86_400
"""Seconds of a day."""

Steps: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """Funnels that are asked for at once; of a funnel, the windows of so many seconds are added up."""

    funnels: tuple[Steps, ...]
    disjoint: bool = False
    """Whether passages of a funnel are counted, and not users who reached its steps."""
    within: int = LASTS

    @property
    def types(self) -> list[str]:
        return sorted({name for steps in self.funnels for name in steps})

    @property
    def beginnings(self) -> list[Steps]:
        """What funnels begin with, each once, the shorter first: those with a common beginning share it."""
        found = (steps[: end + 1] for steps in self.funnels for end in range(len(steps)))
        return sorted(dict.fromkeys(found), key=len)

    @property
    def asked(self) -> list[Steps]:
        """The beginning that each number of an answer is of."""
        return [steps[: end + 1] for steps in self.funnels for end in range(len(steps))]


ONE = Question((("View", "Cart", "Purchase"),))
TEN = Question(
    (
        ("View", "Cart"),
        ("View", "Cart", "Purchase"),
        ("View", "Cart", "Checkout"),
        ("View", "Cart", "Checkout", "Purchase"),
        ("Search", "View"),
        ("Search", "View", "Cart"),
        ("Search", "View", "Cart", "Checkout", "Purchase"),
        ("Login", "Search", "Purchase"),
        ("View", "Wishlist", "Purchase"),
        ("Login", "View", "Checkout", "Purchase"),
    )
)
DISJOINT = Question(ONE.funnels, disjoint=True)
AGAIN = Question((("View", "View", "Cart"),))
SHORT = Question(ONE.funnels, within=1_800)


def workload(question: Question) -> str:
    """The queries in HAMLET's language.

    >>> print(workload(SHORT))
    f0: RETURN REACH(s0), REACH(s1), REACH(s2) PATTERN SEQ(View s0, Cart s1, Purchase s2) WHERE [user] WITHIN 1800 s
    """
    queries = []
    for number, steps in enumerate(question.funnels):
        reached = ", ".join(f"REACH(s{place})" for place in range(len(steps)))
        wanted = "COUNT(DISJOINT)" if question.disjoint else reached
        pattern = ", ".join(f"{name} s{place}" for place, name in enumerate(steps))
        queries.append(
            f"f{number}: RETURN {wanted} PATTERN SEQ({pattern}) WHERE [user] WITHIN {question.within} s"
        )
    return "\n".join(queries)


def of_rows(rows: Any) -> list[int]:
    """An answer from result rows of `run`, windows added up."""
    found: dict[tuple[str, str], int] = {}
    for query, aggregate, value in zip(
        *(rows[name].to_pylist() for name in ("query", "aggregate", "value")), strict=True
    ):
        found[query, aggregate] = found.get((query, aggregate), 0) + int(value)
    return list(found.values())


def for_clickhouse(question: Question, path: Path) -> str:
    """One query, one pass over the file: a column of `windowFunnel` or `sequenceCount` for each funnel.

    Times as 32 bits of milliseconds make its states smallest: with 64 bits of microseconds it takes half as long again.
    """
    time = f"toUInt32(toUnixTimestamp64Milli(time) - {DAY}000)"
    columns = []
    for number, steps in enumerate(question.funnels):
        function = f"windowFunnel({question.within}000)"
        if question.disjoint:
            chain = ".*".join(f"(?{place + 1})" for place in range(len(steps)))
            function = f"sequenceCount('{chain}')"
        conditions = ", ".join(f"type = '{name}'" for name in steps)
        columns.append(f"{function}({time}, {conditions}) AS f{number}")
    wanted = [
        f"sum(f{number})" if question.disjoint else f"countIf(f{number} > {place})"
        for number, steps in enumerate(question.funnels)
        for place in range(1 if question.disjoint else len(steps))
    ]
    return (
        f"SELECT {', '.join(wanted)} FROM (SELECT {', '.join(columns)} FROM file('{path}', Parquet) "
        f"WHERE type IN ({_listed(question)}) GROUP BY user) SETTINGS max_threads = 1"
    )


def for_duckdb(question: Question, path: Path) -> str:
    """When each user first reached each beginning, by joins; funnels with a common beginning share them."""
    names = {steps: f"b{number}" for number, steps in enumerate(question.beginnings)}
    window = f"epoch_us(time) // {question.within}000000" if question.within != LASTS else "0"
    tables = [
        f"e AS MATERIALIZED (SELECT user, {window} AS w, type, time FROM '{path}' WHERE type IN ({_listed(question)}))"
    ]
    for steps, name in names.items():
        before = names.get(steps[:-1])
        join = f"JOIN {before} p ON e.user = p.user AND e.w = p.w AND e.time > p.first" if before else ""
        tables.append(
            f"{name} AS MATERIALIZED (SELECT e.user, e.w, min(e.time) AS first FROM e {join} "
            f"WHERE e.type = '{steps[-1]}' GROUP BY e.user, e.w)"
        )
    wanted = ", ".join(f"(SELECT count(*) FROM {names[steps]})" for steps in question.asked)
    return f"WITH {', '.join(tables)} SELECT {wanted}"


def for_duckdb_by_lists(question: Question, path: Path) -> str:
    """One pass: lists of times by user and type, and in them the first time after that of the step before."""
    names = {steps: f"b{number}" for number, steps in enumerate(question.beginnings)}
    lists = ", ".join(f"list(time) FILTER (WHERE type = '{name}') AS \"{name}\"" for name in question.types)
    query = f"SELECT {lists} FROM '{path}' WHERE type IN ({_listed(question)}) GROUP BY user"
    for length in range(1, max(map(len, names)) + 1):
        first = ", ".join(
            f'list_min("{steps[-1]}") AS {name}'
            if length == 1
            else f'list_min(list_filter("{steps[-1]}", lambda x: x > {names[steps[:-1]]})) AS {name}'
            for steps, name in names.items()
            if len(steps) == length
        )
        query = f"SELECT *, {first} FROM ({query})"
    return f"SELECT {', '.join(f'count({names[steps]})' for steps in question.asked)} FROM ({query})"


def by_polars(question: Question, path: Path) -> list[int]:
    """The same joins, over a frame for each type."""
    import polars as pl

    own = pl.col("type").is_in(question.types)
    events = pl.scan_parquet(path).select("user", "type", "time").filter(own).collect()
    of_type = {
        name: frame.drop("type") for (name,), frame in events.partition_by("type", as_dict=True).items()
    }
    nobody = events.clear().drop("type")
    first: dict[Steps, pl.DataFrame] = {}
    for steps in question.beginnings:
        done = of_type.get(steps[-1], nobody).lazy()
        if len(steps) > 1:
            done = done.join(first[steps[:-1]].lazy(), on="user").filter(pl.col("time") > pl.col("first"))
        first[steps] = done.group_by("user").agg(first=pl.col("time").min()).collect()
    return [len(first[steps]) for steps in question.asked]


def _listed(question: Question) -> str:
    return ", ".join(f"'{name}'" for name in question.types)
