"""A workload folded over a stream, and the tables that are made of it: result rows, or partial rows to be added up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hamlet_core.algebra.aggregates import DURATION, Shape, components
from hamlet_core.algebra.arithmetic import Arithmetic, Unit, unit_of_durations
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.results.counters import Work
from hamlet_core.results.rows import PartialRow, decision_table, merged_rows, partial_table, result_table
from hamlet_core.results.totals import (
    Totals,
    in_batches,
    one_table,
    partial_rows,
    rows_by_query,
    rows_of,
    totals_table,
)
from hamlet_core.table.stream import Stream


@dataclass(frozen=True, slots=True)
class Part:
    """What one task has of an answer: result rows of some queries, partial rows of the others."""

    results: pa.Table
    partials: pa.Table
    events: int
    """Events of the types that the queries name."""
    decisions: pa.Table
    """The decision log: every row has its pane."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Rows of the queries that are taken one by one, and totals of those that compiled kernels fold.

    The totals are made as they are asked for, once; `work` is complete when they are.
    """

    stream: Stream
    shapes: Mapping[str, Shape]
    numbers: Arithmetic
    work: Work
    chunks: Iterator[list[Totals]] = iter(())
    rows: Sequence[PartialRow] = ()

    @property
    def units(self) -> dict[str, Unit]:
        """What sums over each column count."""
        columns = self.stream.columns
        return {
            **{name: Unit(column.kind, column.scale) for name, column in columns.items()},
            DURATION: unit_of_durations(self.stream.time_type),
        }

    def results(self) -> pa.Table:
        """Result rows, merged and in order."""
        return self.part(frozenset(self.shapes)).results

    def part(self, finished: frozenset[str]) -> Part:
        """Result rows of these queries, and rows of the others that can be shipped and added up."""
        units, time_type = self.units, self.stream.time_type
        tables: list[pa.Table] = []
        counts: list[Mapping[str, int]] = []
        if not finished.isdisjoint(row.query for row in self.rows):
            complete = partial_table(row for row in self.rows if row.query in finished)
            merged = merged_rows(complete, self.shapes, self.numbers)
            tables.append(result_table(merged, self.shapes, self.numbers, time_type))
            counts.append(rows_by_query(tables[0]))
        open_rows = [row for row in self.rows if row.query not in finished]
        for totals in in_batches(self.chunks):
            done, others = _divided(totals, finished)
            if own := rows_of(done, self.shapes):
                tables.append(totals_table(done, self.shapes, units, self.numbers, time_type))
                counts.append(own)
            open_rows += partial_rows(others, self.shapes, units, self.numbers)
        if not tables:
            tables.append(result_table([], self.shapes, self.numbers, time_type))
        shown = one_table(tables, self.shapes, counts)
        return Part(shown, partial_table(open_rows), len(self.stream), decision_table(self.work.decisions))


def _divided(totals: list[Totals], finished: frozenset[str]) -> tuple[list[Totals], list[Totals]]:
    done = [one for one in totals if one.name in finished]
    return done, [one for one in totals if one.name not in finished]


def shapes_of(analysed: tuple[AnalysedQuery, ...], arithmetic: Arithmetic) -> dict[str, Shape]:
    """What each query adds up, by its label."""
    return {
        one.query.name: Shape(
            one.query.aggregates, one.operands, components(one.query.aggregates, one.operands, arithmetic)
        )
        for one in analysed
    }
