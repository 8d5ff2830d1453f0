"""Results that a person understands: each query's question in words, and the groups and windows that stand out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa

from pipelines.showing.numbers import number
from pipelines.showing.people import print_table, window

_COMMENT = re.compile(r"^\s*(?:--|#)\s?(.*)$")
_LABEL = re.compile(r"^\s*\"?(\w+)\"?\s*:")

SHOWN = 3
"""Rows that are shown of each query."""


def questions(text: str) -> dict[str, str]:
    r"""The comment right above each label of a workload.

    >>> questions("-- How many?\nq1: RETURN COUNT(*) PATTERN A WITHIN 1 s")
    {'q1': 'How many?'}
    """
    found: dict[str, str] = {}
    above: list[str] = []
    for line in text.splitlines():
        if comment := _COMMENT.match(line):
            above.append(comment[1].strip())
            continue
        if (label := _LABEL.match(line)) and above:
            found[label[1]] = " ".join(above)
        above = []
    return found


@dataclass(slots=True)
class Place:
    """One window and group of a query, with the rows of its aggregates."""

    query: str
    window: str
    group: Mapping[str, Any]
    size: float
    """log2 of the first aggregate: it orders values of any magnitude."""
    aggregates: dict[str, str] = field(default_factory=dict)


def places(rows: Iterable[Mapping[str, Any]]) -> list[Place]:
    """Result rows, those of one query, window and group together."""
    found: dict[tuple[Any, ...], Place] = {}
    for row in rows:
        key = (row["query"], row["window_start"], row["group_key"])
        if key not in found:
            size = row["log2"] if row["log2"] is not None else float("-inf")
            found[key] = Place(row["query"], window(row), json.loads(row["group_key"]), size)
        found[key].aggregates[row["aggregate"]] = number(row)
    return list(found.values())


def tell(results: pa.Table, text: str, queries: Iterable[tuple[str, tuple[str, ...]]], out: IO[str]) -> None:
    """Each query, as (name, aggregates in order): its question, and the places with the largest first aggregate."""
    asked = questions(text)
    everything = places(_ordered(results, [label for _, labels in queries for label in labels]))
    for name, labels in queries:
        mine = [place for place in everything if place.query == name]
        largest = sorted(mine, key=lambda place: -place.size)[:SHOWN]
        print(f"\n{name}: {asked.get(name, '')}", file=out)
        print(f"{len(mine):,} windows and groups; the largest by {labels[0]}:", file=out)
        groups = tuple(largest[0].group) if largest else ()
        lines = [
            (
                place.window,
                *(str(place.group[one]) for one in groups),
                *(place.aggregates[one] for one in labels),
            )
            for place in largest
        ]
        print_table(("window", *groups, *labels), lines, out, right=labels)


def _ordered(results: pa.Table, labels: list[str]) -> list[dict[str, Any]]:
    """Rows of each place in the order of RETURN, whatever order the table's files have."""
    rank = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    keys = ("query", "window_start", "group_key")
    rows: list[dict[str, Any]] = results.to_pylist()
    return sorted(rows, key=lambda row: (*(row[key] for key in keys), rank[row["aggregate"]]))
