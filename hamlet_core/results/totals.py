"""Results as arrays: the elements of a whole query in, result rows or partial rows out, the same as `rows` makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.algebra.aggregates import COUNTED, Shape
from hamlet_core.algebra.arithmetic import Arithmetic, Unit
from hamlet_core.algebra.measuring import Extremes, Numbers, appended, integers, plain
from hamlet_core.algebra.showing import MeasureColumns, Shown, shown
from hamlet_core.language.syntax import Aggregate
from hamlet_core.results.rows import PartialRow, result_schema
from hamlet_core.table.arrow import numbers_of, of_numbers, of_texts

__all__ = ["Extremes", "Numbers", "Totals", "partial_rows", "totals_table"]

Integers: TypeAlias = npt.NDArray[np.int64]

BATCH = 20_000
"""Rows of totals that are shown at once."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The elements of one query, one row per (window, group) where there is a trend, in any order."""

    name: str
    window_start: Integers
    """In ticks of the input, as `window_end`."""
    window_end: Integers
    group: Integers
    """Row -> place in `groups`."""
    groups: tuple[str, ...]
    """Texts of group keys; queries that group alike share the tuple."""
    trends: Numbers
    parts: tuple[Numbers | Extremes, ...]
    """In the order of `Shape.parts`."""


def joined_totals(totals: Sequence[Totals]) -> Totals:
    """Elements of one query that differ in their groups as one."""
    if len(totals) == 1:
        return totals[0]
    offsets = np.cumsum([0, *(len(one.groups) for one in totals)])
    return Totals(
        totals[0].name,
        np.concatenate([one.window_start for one in totals]),
        np.concatenate([one.window_end for one in totals]),
        np.concatenate([one.group + offset for one, offset in zip(totals, offsets, strict=False)]),
        tuple(chain.from_iterable(one.groups for one in totals)),
        appended([one.trends for one in totals]),
        tuple(map(appended, zip(*(one.parts for one in totals), strict=True))),
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """What one aggregate of one query shows, and the result rows it goes to."""

    at: Integers
    unit: Unit
    of: Numbers | Extremes
    magnitude: Numbers | None = None
    count: Numbers | None = None


def totals_table(
    totals: Sequence[Totals],
    shapes: Mapping[str, Shape],
    units: Mapping[str, Unit],
    arithmetic: Arithmetic,
    time_type: pa.DataType,
) -> pa.Table:
    """Result rows of `result_schema`, in the order of results; `units` by attribute, queries ordered as `shapes`."""
    order = {name: place for place, name in enumerate(shapes)}
    totals = sorted((one for one in totals if len(one.group)), key=lambda one: order[one.name])
    schema = result_schema(time_type)
    if not totals:
        return pa.Table.from_batches([], schema)
    aggregates = [shapes[one.name].aggregates for one in totals]
    heads = _Heads.of(totals, [len(some) for some in aggregates])
    columns = MeasureColumns.of_nulls(len(heads.row), arithmetic)
    tasks: list[Shown] = []
    for one, first in zip(totals, heads.places, strict=True):
        tasks += shown(shapes[one.name], one.trends, one.parts, units, first)
    columns.fill(tasks)
    arrays = [
        of_texts([one.name for one in totals]).take(of_numbers(heads.query)),
        of_numbers(heads.starts).view(time_type),
        of_numbers(heads.ends).view(time_type),
        heads.groups,
        _labels(aggregates, heads),
        *columns.arrays(),
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def in_batches(chunks: Iterable[list[Totals]]) -> Iterator[list[Totals]]:
    """Totals of successive chunks of time together, until there are `BATCH` rows: large tables have few pieces."""
    batch: list[Totals] = []
    rows = 0
    for totals in chunks:
        batch += totals
        rows += sum(len(one.group) for one in totals)
        if rows >= BATCH:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def rows_of(totals: Iterable[Totals], shapes: Mapping[str, Shape]) -> dict[str, int]:
    """How many rows each query has in the table of some totals."""
    found: dict[str, int] = {}
    for one in totals:
        if rows := len(one.group) * len(shapes[one.name].aggregates):
            found[one.name] = found.get(one.name, 0) + rows
    return found


def one_table(
    tables: Sequence[pa.Table], names: Iterable[str], counts: Sequence[Mapping[str, int]] = ()
) -> pa.Table:
    """Tables of result rows, each in the order of results and about windows after those before it, as one table.

    `names` are those of the queries, in order, `counts` how many rows each has in each table, if that is known. Nothing is copied:
    the rows stay in pieces.
    """
    if len(tables) == 1:
        return tables[0]
    runs = _runs(counts or [rows_by_query(one) for one in tables], names)
    if not runs:
        return tables[0]
    return pa.concat_tables([tables[number].slice(first, count) for number, first, count in runs])


def rows_by_query(table: pa.Table) -> dict[str, int]:
    """How many rows each query has in a table of results."""
    import pyarrow.compute as pc

    values, numbers = pc.value_counts(table["query"]).flatten()
    return dict(zip(values.to_pylist(), numbers.to_pylist(), strict=True))


def _runs(counts: Sequence[Mapping[str, int]], names: Iterable[str]) -> list[tuple[int, int, int]]:
    """(table, first row, rows) of every query in every table where it has rows, in the order of results."""
    places, runs = [0] * len(counts), []
    for name in names:
        for number, own in enumerate(counts):
            if name in own:
                runs.append((number, places[number], own[name]))
                places[number] += own[name]
    return runs


@dataclass(frozen=True, slots=True)
class _Heads:
    """The order of results: for each result row its query, window, group and aggregate."""

    row: Integers
    query: Integers
    starts: Integers
    ends: Integers
    groups: Any
    aggregate: Integers
    """Its place among the aggregates of the query."""
    places: tuple[Integers, ...]
    """By query: the result row of the first aggregate of each row of its totals."""

    @classmethod
    def of(cls, totals: Sequence[Totals], widths: Sequence[int]) -> _Heads:
        """`widths`: how many aggregates each query returns."""
        lengths = [len(one.group) for one in totals]
        query = np.repeat(np.arange(len(totals)), lengths)
        starts = np.concatenate([one.window_start for one in totals])
        ends = np.concatenate([one.window_end for one in totals])
        texts, text = _texts(totals, lengths)
        order = _order(query, starts, texts, text)
        width = np.array(widths)[query]
        last = np.cumsum(width)
        row = np.repeat(np.arange(len(query)), width)
        aggregate = np.arange(len(row)) - (last - width)[row]
        firsts = np.empty(len(query), np.int64)
        firsts[order] = last - width
        source = order[row]
        return cls(
            row,
            query[row],
            starts[source],
            ends[source],
            texts.take(of_numbers(text[source])),
            aggregate,
            tuple(firsts[end - rows : end] for end, rows in zip(accumulate(lengths), lengths, strict=True)),
        )


def _texts(totals: Sequence[Totals], lengths: Sequence[int]) -> tuple[Any, Integers]:
    """The texts of all groups, and for each row of all totals the place of its text."""
    distinct = list({id(one.groups): one.groups for one in totals}.values())
    ends = np.cumsum([len(groups) for groups in distinct])
    first = {id(groups): end - len(groups) for groups, end in zip(distinct, ends.tolist(), strict=True)}
    offsets = np.repeat([first[id(one.groups)] for one in totals], lengths)
    texts = of_texts(list(chain.from_iterable(distinct)))
    return texts, np.concatenate([one.group for one in totals]) + offsets


def _order(query: Integers, starts: Integers, texts: Any, text: Integers) -> Integers:
    """Rows by query, window and group; a query's windows end in the order in which they start."""
    rank = np.zeros(len(query), np.int64)
    if len(texts) > 1:
        codes = texts.dictionary_encode()  # bytes of UTF-8 sort as code points do
        import pyarrow.compute as pc

        by_text = numbers_of(pc.sort_indices(codes.dictionary))
        ranks = np.empty(len(by_text), np.int64)
        ranks[by_text] = np.arange(len(by_text))
        rank = ranks[numbers_of(codes.indices)][text]
    later = (starts[1:] > starts[:-1]) | ((starts[1:] == starts[:-1]) & (rank[1:] > rank[:-1]))
    if bool(np.all(later | (query[1:] > query[:-1]))):
        return np.arange(len(query))
    return np.lexsort((rank, starts, query))


def _labels(aggregates: Sequence[tuple[Aggregate, ...]], heads: _Heads) -> Any:
    """The label of every result row."""
    firsts = np.cumsum([0, *(len(some) for some in aggregates)])[:-1]
    labels = of_texts([one.label for some in aggregates for one in some])
    return labels.take(of_numbers(firsts[heads.query] + heads.aggregate))


def partial_rows(
    totals: Sequence[Totals], shapes: Mapping[str, Shape], units: Mapping[str, Unit], arithmetic: Arithmetic
) -> list[PartialRow]:
    """The same elements as plain values, one partial row each; `units` by attribute."""
    rows: list[PartialRow] = []
    for one in totals:
        shape = shapes[one.name]
        told = tuple((name, units[name].kind.name, units[name].scale) for name in shape.attributes)
        labels = tuple(some.label for some in shape.aggregates)
        parts = (
            integers(part) if of.role in COUNTED else plain(part)
            for of, part in zip(shape.parts, one.parts, strict=True)
        )
        elements = zip(plain(one.trends), *parts, strict=True)
        windows = zip(one.window_start.tolist(), one.window_end.tolist(), strict=True)
        for window, group, element in zip(windows, one.group.tolist(), elements, strict=True):
            key = one.name, *window, one.groups[group]
            rows.append(PartialRow(*key, element, told, arithmetic.name, labels))
    return rows
