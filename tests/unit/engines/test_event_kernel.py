"""The event kernel against GRETA: every construct, in all four arithmetics; and what only long streams show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from hamlet_core import EventSchema, QueryMeaningError, parse
from hamlet_core.algebra.aggregates import LATTICE, Component, Role, Shape, algebra_of, components
from hamlet_core.algebra.arithmetic import ARITHMETICS, COUNTS, PRIME, Unit
from hamlet_core.engines import greta
from hamlet_core.engines.hamlet import bursts, classes, event_class, numbers, values
from hamlet_core.engines.hamlet.frame import Jobs
from hamlet_core.engines.hamlet.residues import primes
from hamlet_core.engines.hamlet.strands import UNIT_WEIGHT, lattice_strands, number_strands
from hamlet_core.engines.partitions import fold_groups
from hamlet_core.engines.prepared import prepare
from hamlet_core.events import encode, ticks
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.predicates.pairs import compile_pairs
from hamlet_core.template.plan import plan_query
from hamlet_core.windows import WindowSpec
from tests.golden import harness
from tests.properties import comparison, generation

SCHEMA = EventSchema(time="t", type="type")
EXACT = ARITHMETICS["exact"]


@dataclass
class Setting:
    """One query and its stream, ready for the kernel, and what GRETA says."""

    analysed: Any
    stream: Any
    text: str

    def __post_init__(self):
        query = self.analysed.query
        length = [ticks(span.microseconds, self.stream.unit) for span in (query.within, query.slide)]
        self.spec = WindowSpec(*length, self.stream.origin)
        scaled = components(query.aggregates, self.analysed.operands, ARITHMETICS["scaled"])
        self.parts = [part for part in scaled if part.role not in LATTICE]
        self.extremes = [part for part in scaled if part.role in LATTICE]
        self.events = classes.class_events([self.analysed], self.stream, self.text)
        self.jobs = bursts.burst_jobs(self.events, [self.spec])
        conditions, self.edges = event_class.adjacent_conditions([self.analysed])
        self.pairs, _ = compile_pairs(conditions, self.stream.columns, unit=self.stream.unit, text=self.text)

    def rows(self):
        (rows,) = self.jobs.rows
        groups = self.events.partitioning.groups
        return [(int(index), groups[group]) for index, group in zip(rows.index, rows.group, strict=True)]

    def truth(self):
        parts = (*self.parts, *self.extremes)
        algebra = algebra_of(EXACT, parts, self.analysed.automaton.positions, self.stream.columns)
        prepared = prepare(self.analysed, self.stream, algebra, self.text)
        shape = Shape(self.analysed.query.aggregates, self.analysed.operands, parts)
        return fold_groups(prepared, self.spec, shape, EXACT, greta.evaluate)

    def workload(self, strands):
        jobs = Jobs(self.jobs.first, self.jobs.last, self.jobs.row)
        return event_class.Workload(
            strands,
            self.events.codes,
            self.events.predicates,
            self.edges,
            self.pairs,
            self.events.events,
            jobs,
            self.jobs.count,
        )

    def unit(self, part):
        if part.attribute is None or part.role in (Role.PRESENT, Role.OCCURRENCES):
            return COUNTS
        column = self.stream.columns[part.attribute]
        return Unit(column.kind, column.scale)

    def number_strands(self, columns):
        return number_strands([self.analysed], [self.parts], columns)

    # --- the arithmetics ----------------------------------------------------------------------

    def doubles(self, make):
        columns, table = values.scaled_columns(self.parts, self.stream.columns)
        return event_class.fold_events_class(
            self.workload(self.number_strands(columns)), numbers.ScaledValues(table), make
        )

    def check_doubles(self, truth, make):
        folded = self.doubles(make)
        if folded.lost.any():
            assert make is event_class.plain_arena
            return
        scaled = isinstance(folded.numbers, numbers.ScaledNumbers)
        for row, key in enumerate(self.rows()):
            if scaled:
                found = [
                    Fraction(float(mantissa)) * Fraction(2) ** max(int(exponent), -5000)
                    for mantissa, exponent in zip(
                        folded.numbers.mantissa[row], folded.numbers.exponent[row], strict=True
                    )
                ]
            else:
                found = [Fraction(float(number)) for number in folded.numbers.value[row]]
            element = truth.get(key)
            if element is None:
                assert not any(found), (key, found)
                continue
            by_part = dict(zip(self.parts, element[1:], strict=False))
            for part, number, got in zip([None, *self.parts], element, found, strict=False):
                bound = number
                if part is not None and part.role is Role.TOTAL:
                    bound = by_part[Component(Role.MAGNITUDE, part.alias, part.attribute)]
                unit = 1 if part is None else self.unit(part).denominator
                assert abs(got - Fraction(number, unit)) <= Fraction(abs(bound), unit) / 10**12, (key, part)
        assert set(truth) <= set(self.rows())

    def check_residues(self, truth, prime):
        columns, table = {}, []
        for part in self.parts:
            columns[part] = UNIT_WEIGHT
            if part.attribute is not None:
                columns[part] = len(table)
                table.append([self.residue(part, value, prime) for value in self.column(part)])
        shape = len(table), len(self.stream)
        significands = np.array(table, np.int64).reshape(shape)
        folded = event_class.fold_residues(
            self.workload(self.number_strands(columns)),
            numbers.ResidueValues(significands, np.zeros(shape, np.int32)),
            (prime,),
        )
        for row, key in enumerate(self.rows()):
            element = truth.get(key, (0,) * (1 + len(self.parts)))
            true = [number % prime for number in element[: 1 + len(self.parts)]]
            assert folded.numbers[row, :, 0].tolist() == true, key

    def column(self, part):
        return self.stream.columns[part.attribute].values

    def residue(self, part, value, prime):
        if value is None:
            return 0
        if part.role is Role.PRESENT:
            return 1
        number = self.unit(part).parts(value)
        return (abs(number) if part.role is Role.MAGNITUDE else number) % prime

    def check_lattice(self, truth):
        if not self.extremes:
            return
        keys = [
            values.keys(self.stream.columns[part.attribute], descending=part.role is Role.MAXIMUM)
            for part in self.extremes
        ]
        columns = {part: number for number, part in enumerate(self.extremes)}
        folded = event_class.fold_events_class(
            self.workload(lattice_strands([self.analysed], [self.extremes], columns)),
            numbers.LatticeValues(np.array([one.keys for one in keys])),
            event_class.lattice_arena,
        )
        for row, key in enumerate(self.rows()):
            for number, part in enumerate(self.extremes):
                got = folded.numbers.key[row, number]
                if key not in truth:
                    assert got == numbers.ABSENT
                    continue
                column = self.stream.columns[part.attribute]
                shown = values.values_of_keys(np.array([got]), keys[number], column)[0].as_py()
                assert shown == truth[key][1 + len(self.parts) + number], (key, part)

    def check(self, arithmetics=("scaled", "plain", "residues", "lattice")):
        truth = self.truth()
        for name in arithmetics:
            match name:
                case "scaled":
                    self.check_doubles(truth, event_class.scaled_arena)
                case "plain":
                    self.check_doubles(truth, event_class.plain_arena)
                case "residues":
                    self.check_residues(truth, PRIME)
                    self.check_residues(truth, primes(2)[1])
                case _:
                    self.check_lattice(truth)


def settings(workload, events) -> Iterator[Setting]:
    for analysed in analyse_workload(workload):
        plan = plan_query(analysed)
        stream = encode(events, SCHEMA, plan.columns, plan.types)
        yield Setting(analysed, stream, workload.text)


def settings_of(text, rows):
    return next(settings(parse(text), harness.table(rows)))


@pytest.mark.parametrize("file", harness.FILES)
def test_golden_cases(file):
    for case in harness.load(file):
        for setting in settings(parse(case.text), harness.table(case.events)):
            setting.check()


def random_cases(seeds):
    for seed in seeds:
        case = generation.case(Random(seed))
        try:
            analyse_workload(case.workload)
        except QueryMeaningError:
            continue
        yield seed, case


def check_seeds(seeds):
    for seed, case in random_cases(seeds):
        for setting in settings(case.workload, comparison.table(case)):
            try:
                setting.check()
            except Exception as error:
                raise AssertionError(f"seed {seed}\n{case!r}") from error


def test_random_queries():
    check_seeds(range(150))


@pytest.mark.slow
def test_thousands_of_random_queries():
    check_seeds(range(10**6, 10**6 + 4000))
