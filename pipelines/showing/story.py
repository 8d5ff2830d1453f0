"""Results that a person understands: each query's question in words, and the groups and windows that stand out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.showing.largest import ranked
from pipelines.showing.people import print_places
from pipelines.showing.rows import rows_of

_COMMENT = re.compile(r"^\s*(?:--|#)\s?(.*)$")
_LABEL = re.compile(r"^\s*(?:FUNNEL\s+)?\"?(\w+)\"?\s*:", re.IGNORECASE)

SHOWN = 3
"""Rows that are shown of each query."""


def questions(text: str) -> dict[str, str]:
    r"""The comment right above each label of a workload.

    >>> questions("-- How many?\nq1: RETURN COUNT(*) PATTERN A WITHIN 1 s")
    {'q1': 'How many?'}
    >>> questions("-- How far?\nFUNNEL steps: a -> b BY u WITHIN 1 s")
    {'steps': 'How far?'}
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


def tell(results: pa.Table, text: str, queries: Iterable[tuple[str, tuple[str, ...]]], out: IO[str]) -> None:
    """Each query, as (name, aggregates in order): its question, and the places with the largest first aggregate."""
    asked = questions(text)
    for name, labels in queries:
        mine = _ordered(results.filter(pc.equal(results.column("query"), name)), labels)
        ranking = ranked(mine)
        print(f"\n{name}: {asked.get(name, '')}", file=out)
        print(f"{len(ranking.order):,} windows and groups; the largest by {labels[0]}:", file=out)
        chosen = ranking.order[:SHOWN]
        places = [list(rows_of(mine.slice(ranking.first[one], ranking.length[one]))) for one in chosen]
        print_places(places, out)


def _ordered(results: pa.Table, labels: tuple[str, ...]) -> pa.Table:
    """Rows of each place in the order of RETURN, whatever order the table's files have."""
    rank = pc.index_in(results.column("aggregate"), pa.array(labels))
    keys = ("window_start", "group_key", "rank")
    return results.append_column("rank", rank).sort_by([(key, "ascending") for key in keys])
