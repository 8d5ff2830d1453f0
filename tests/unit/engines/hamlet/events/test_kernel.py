"""The event kernel against GRETA: every construct, in all four arithmetics; and what only long streams show."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core import EventSchema, QueryMeaningError, parse, run
from hamlet_core.algebra.aggregates import LATTICE, Component, Role, Shape, algebra_of, components
from hamlet_core.algebra.arithmetic import ARITHMETICS, COUNTS, PRIME, Unit
from hamlet_core.engines.hamlet.accumulators import UNIT_WEIGHT, lattice_accumulators, number_accumulators
from hamlet_core.engines.hamlet.bursts import fold as bursts
from hamlet_core.engines.hamlet.events import fold
from hamlet_core.engines.hamlet.events.spans import Layout, Windows
from hamlet_core.engines.hamlet.input import query_class
from hamlet_core.engines.hamlet.input.pair_conditions import PairConditions
from hamlet_core.engines.hamlet.numbers import arenas
from hamlet_core.engines.hamlet.numbers import columns as number_columns
from hamlet_core.engines.hamlet.numbers.residues import primes
from hamlet_core.engines.partitions import fold_together
from hamlet_core.engines.prepared import prepare
from hamlet_core.engines.registry import evaluator
from hamlet_core.language.syntax import Equivalence, GroupAttribute, Workload
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.predicates.pairs import compile_pairs
from hamlet_core.table.encode import encode, ticks
from hamlet_core.template.plan import plan_query
from hamlet_core.template.workload import LANES, path_of
from hamlet_core.windows import WindowSpec
from tests.conftest import ROOT
from tests.golden import harness
from tests.properties import comparison, generation
from tests.properties.streams import stream as random_stream

SCHEMA = EventSchema(time="t", type="type")
EXACT = ARITHMETICS["exact"]
ALL = ("scaled", "plain", "residues", "lattice")


def scaled_arena(size):
    """So many scaled numbers, of any value."""
    return arenas.ScaledNumbers(np.empty(size), np.empty(size, np.int64))


def plain_arena(size):
    return arenas.PlainNumbers(np.empty(size))


def lattice_arena(size):
    return arenas.LatticeNumbers(np.empty(size, np.int64))


@dataclass
class Setting:
    """Queries of one class and their stream, ready for the kernel, and what GRETA says."""

    queries: tuple[Any, ...]
    stream: Any
    text: str

    def __post_init__(self):
        query = self.queries[0].query
        length = [ticks(span.microseconds, self.stream.unit) for span in (query.within, query.slide)]
        self.spec = WindowSpec(*length, self.stream.origin)
        scaled = [
            components(one.query.aggregates, one.operands, ARITHMETICS["scaled"]) for one in self.queries
        ]
        self.parts = [[part for part in own if part.role not in LATTICE] for own in scaled]
        self.extremes = [[part for part in own if part.role in LATTICE] for own in scaled]
        self.events = query_class.class_events(
            query_class.classes_of(self.queries)[0], self.stream, self.text
        )
        self.jobs = bursts.burst_jobs(self.events, [self.spec])
        between = PairConditions.of(self.queries)
        self.edges = between.of_edges
        self.pairs, _ = compile_pairs(
            between.different, self.stream.columns, unit=self.stream.unit, text=self.text
        )

    def rows(self):
        (rows,) = self.jobs.rows
        groups = self.events.partitioning.groups
        return [(int(index), groups[group]) for index, group in zip(rows.index, rows.group, strict=True)]

    def truth(self):
        """Per query: (window, group) -> element."""
        found = []
        for analysed, own, extremes in zip(self.queries, self.parts, self.extremes, strict=True):
            parts = (*own, *extremes)
            algebra = algebra_of(EXACT, parts, analysed.automaton.positions, self.stream.columns)
            prepared = prepare(analysed, self.stream, algebra, self.text)
            shape = Shape(analysed.query.aggregates, analysed.operands, parts)
            evaluate = evaluator("greta", [prepared], self.spec, EXACT)
            found += fold_together([prepared], self.spec, [shape], EXACT, evaluate)
        return found

    def workload(self, accumulators):
        windows = Windows(self.jobs.first, self.jobs.last, self.jobs.row, np.zeros_like(self.jobs.row))
        width = sum(accumulator.width for accumulator in accumulators)
        return fold.Workload(
            accumulators,
            self.events.codes,
            self.events.predicates,
            self.edges,
            self.pairs,
            self.events.events,
            windows,
            Layout([self.jobs.count], [len(accumulators)], [width]),
        )

    def unit(self, part):
        if part is None or part.attribute is None or part.role in (Role.PRESENT, Role.OCCURRENCES):
            return COUNTS
        column = self.stream.columns[part.attribute]
        return Unit(column.kind, column.scale)

    def check(self, arithmetics=ALL):
        truth = self.truth()
        for name in arithmetics:
            match name:
                case "scaled":
                    self.check_doubles(truth, scaled_arena)
                case "plain":
                    self.check_doubles(truth, plain_arena)
                case "residues":
                    self.check_residues(truth, PRIME)
                    self.check_residues(truth, primes(2)[1])
                case _:
                    self.check_lattice(truth)

    # --- the arithmetics ----------------------------------------------------------------------

    def doubles(self, make):
        columns, table = number_columns.scaled_columns(
            (part for own in self.parts for part in own), self.stream.columns
        )
        accumulators = number_accumulators(self.queries, self.parts, columns)
        return fold.fold_events_class(self.workload(accumulators), arenas.ScaledValues(table), make)

    def check_doubles(self, truth, make):
        folded = self.doubles(make)
        if folded.lost.any():
            assert make is plain_arena
            return
        for row, key in enumerate(self.rows()):
            numbers_of_row = iter(shown(folded.numbers[0], row))
            for own, elements in zip(self.parts, truth, strict=True):
                found = [next(numbers_of_row) for _ in (None, *own)]
                element = elements.get(key)
                if element is None:
                    assert not any(found), (key, found)
                    continue
                by_part = dict(zip(own, element[1:], strict=False))
                for part, number, got in zip([None, *own], element, found, strict=False):
                    bound = number
                    if part is not None and part.role is Role.TOTAL:
                        bound = by_part[Component(Role.MAGNITUDE, part.alias, part.attribute)]
                    unit = self.unit(part).denominator
                    error = abs(got - Fraction(number, unit))
                    assert error <= Fraction(abs(bound), unit) / 10**12, (key, part)
        for elements in truth:
            assert set(elements) <= set(self.rows())

    def check_residues(self, truth, prime):
        columns, table = {}, []
        for part in {part: None for own in self.parts for part in own}:
            columns[part] = UNIT_WEIGHT
            if part.attribute is not None:
                columns[part] = len(table)
                column = self.stream.columns[part.attribute].values
                table.append([self.residue(part, value, prime) for value in column])
        shape = len(table), len(self.stream)
        significands = np.array(table, np.int64).reshape(shape)
        folded = fold.fold_residues(
            self.workload(number_accumulators(self.queries, self.parts, columns)),
            arenas.ResidueValues(significands, np.zeros(shape, np.int32)),
            (prime,),
        )
        for row, key in enumerate(self.rows()):
            true = [
                number % prime
                for own, elements in zip(self.parts, truth, strict=True)
                for number in elements.get(key, (0,) * (1 + len(own)))[: 1 + len(own)]
            ]
            assert folded.numbers[0][row, :, 0].tolist() == true, key

    def residue(self, part, value, prime):
        if value is None:
            return 0
        if part.role is Role.PRESENT:
            return 1
        number = self.unit(part).parts(value)
        return (abs(number) if part.role is Role.MAGNITUDE else number) % prime

    def check_lattice(self, truth):
        wanted = list(dict.fromkeys((part.attribute, part.role) for own in self.extremes for part in own))
        if not wanted:
            return
        keys = [
            number_columns.keys(self.stream.columns[name], descending=role is Role.MAXIMUM)
            for name, role in wanted
        ]
        columns = {part: wanted.index((part.attribute, part.role)) for own in self.extremes for part in own}
        folded = fold.fold_events_class(
            self.workload(lattice_accumulators(self.queries, self.extremes, columns)),
            arenas.LatticeValues(np.array([one.keys for one in keys])),
            lattice_arena,
        )
        for row, key in enumerate(self.rows()):
            found = iter(folded.numbers[0].key[row])
            for own, extremes, elements in zip(self.parts, self.extremes, truth, strict=True):
                for place, part in enumerate(extremes):
                    got = next(found)
                    if key not in elements:
                        assert got == arenas.ABSENT
                        continue
                    column = self.stream.columns[part.attribute]
                    shown_value = number_columns.values_of_keys(np.array([got]), keys[columns[part]], column)[
                        0
                    ]
                    assert shown_value.as_py() == elements[key][1 + len(own) + place], (key, part)


def shown(found, row):
    """The numbers of a row of results as fractions."""
    if isinstance(found, arenas.PlainNumbers):
        return [Fraction(float(number)) for number in found.value[row]]
    return [
        Fraction(float(mantissa)) * Fraction(2) ** int(exponent) if mantissa else Fraction(0)
        for mantissa, exponent in zip(found.mantissa[row], found.exponent[row], strict=True)
    ]


def setting_of(queries, events, text):
    plans = [plan_query(one) for one in queries]
    names = sorted({name for plan in plans for name in plan.columns})
    types = frozenset().union(*(plan.types for plan in plans))
    return Setting(tuple(queries), encode(events, SCHEMA, names, types), text)


def settings(workload, events) -> Iterator[Setting]:
    for analysed in analyse_workload(workload):
        yield setting_of([analysed], events, workload.text)


def written(text, rows):
    """The setting of queries as text, and rows."""
    return setting_of(analyse_workload(parse(text)), harness.table(rows), text)


@pytest.mark.parametrize("file", harness.FILES)
def test_golden_cases(file):
    checked_some = False
    for case in harness.load(file):
        workload = parse(case.text)
        if all(path_of(one) in LANES for one in analyse_workload(workload)):
            for setting in settings(workload, harness.table(case.events)):
                setting.check()
                checked_some = True
    assert checked_some


def checked(seed, case, made):
    """Check what `made` yields of a case; 0 if its query is refused, which only ambiguity can be."""
    try:
        found = list(made(case))
    except QueryMeaningError:
        return 0
    for setting in found:
        try:
            setting.check()
        except Exception as error:
            raise AssertionError(f"seed {seed}\n{case!r}") from error
    return len(found)


def alone(case):
    return settings(case.workload, comparison.table(case))


def together(case):
    return [setting_of(analyse_workload(case.workload), comparison.table(case), case.workload.text)]


def class_case(random):
    """Several random queries of one class, and their common stream."""
    queries = [generation.query(random, f"q{number}") for number in range(random.randint(2, 6))]
    shared = tuple(one for one in queries[0].where if isinstance(one, Equivalence))
    queries = tuple(
        replace(
            query,
            returns=query.aggregates,
            within=queries[0].within,
            slide=queries[0].slide,
            group_by=tuple(GroupAttribute(one.name, None) for one in queries[0].group_by),
            where=(*(one for one in query.where if not isinstance(one, Equivalence)), *shared),
        )
        for query in queries
    )
    return generation.Case(Workload(queries), random_stream(random, queries))


def check_seeds(seeds, make, made):
    return sum(checked(seed, make(Random(seed)), made) for seed in seeds)


def test_random_queries():
    assert check_seeds(range(150), generation.case, alone) > 100


def test_queries_of_one_class_in_one_pass():
    assert check_seeds(range(60), class_case, together) > 40


@pytest.mark.slow
def test_thousands_of_random_queries():
    assert check_seeds(range(10**6, 10**6 + 6000), generation.case, alone) > 5000
    assert check_seeds(range(10**6, 10**6 + 2000), class_case, together) > 1500


LONG = {
    "trees": """
a: RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+) WHERE b.v < NEXT(b).v WITHIN 400 s
b: RETURN COUNT(*) PATTERN SEQ(B b+, C c) WHERE b.v >= NEXT(b).v AND b.v != NEXT(c).v WITHIN 400 s
c: RETURN COUNT(*) PATTERN B b+ WHERE b.v = NEXT(b).v AND b.w > 1 WITHIN 400 s
d: RETURN COUNT(*) PATTERN B b+ WHERE b.v > NEXT(b).v WITHIN 400 s
e: RETURN COUNT(*) PATTERN B b+ WHERE b.v <= NEXT(b).w WITHIN 400 s
f: RETURN COUNT(*) PATTERN B b+ WHERE NEXT(b).time - b.time < 7 s WITHIN 400 s""",
    "scans": """
a: RETURN COUNT(*), MIN(b.v) PATTERN SEQ(A a, B b+) WHERE b.v < NEXT(b).v AND b.w > NEXT(b).w WITHIN 90 s
b: RETURN COUNT(*) PATTERN SEQ(A a, NOT C c, B b)+ WHERE a.v < NEXT(b).v WITHIN 90 s""",
    "queues": """
a: RETURN COUNT(*), SUM(a.v) PATTERN SEQ(A a+, NOT SEQ(C c, D d), B b) WHERE c.v < NEXT(d).v WITHIN 300 s
b: RETURN COUNT(*), MAX(a.v) PATTERN SEQ(A a, NOT SEQ(C c+, D d)) WITHIN 300 s
c: RETURN COUNT(*) PATTERN SEQ(NOT SEQ(C c, NOT B x, D d), A a+) WITHIN 300 s""",
    "sets": """
a: RETURN COUNT(*) PATTERN SEQ(A x+, B b*, A y+, C c?, A z+) WITHIN 60 s
b: RETURN COUNT(*) PATTERN SEQ(A x+, A y+) WHERE x.v < NEXT(y).v WITHIN 60 s
c: RETURN COUNT(*) PATTERN (SEQ(A x+, B b) AND SEQ(A y, B z+)) WITHIN 60 s
d: RETURN COUNT(*) PATTERN SEQ(A x+, NOT C c, A y+, NOT D d) WITHIN 60 s""",
}


def long_rows(seed, length, names="ABCD"):
    random = Random(seed)
    time, rows = 0, []
    for _ in range(length):
        rows.append(
            {"t": time, "type": random.choice(names), "v": random.randint(0, 60), "w": random.randint(0, 9)}
        )
        time += random.choice((0, 1, 1, 1))
    return rows


@pytest.mark.parametrize("name", LONG)
def test_long_streams(name):
    written(LONG[name], long_rows(1, 400)).check()


def test_more_positions_of_a_type_than_a_word_has():
    steps = ", ".join(f"A a{number}?" for number in range(40))
    written(f"q: RETURN COUNT(*) PATTERN SEQ({steps}, B b) WITHIN 9 s", long_rows(2, 40, "AAB")).check()


def test_standings_grow_beyond_their_first_room():
    text = "q: RETURN COUNT(*) PATTERN SEQ(A x+, A y+, A z+) WHERE x.v <= NEXT(y).v WITHIN 3000 s"
    written(text, long_rows(3, 350, "A")).check(("scaled",))


def test_plain_numbers_say_what_they_lost():
    setting = written("q: RETURN COUNT(*) PATTERN A a+ WITHIN 1000 s", long_rows(4, 2000, "A"))
    scaled = setting.doubles(scaled_arena)
    plain = setting.doubles(plain_arena)
    (scaled,), (plain_numbers,) = scaled.numbers, plain.numbers
    large = scaled.exponent[:, 0] > 900
    assert plain.lost.tolist() == large.tolist()
    assert large.any()
    assert not large.all()
    assert not plain_numbers.value[large].any()


def test_events_are_counted_once_where_windows_do_not_overlap():
    setting = written("q: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s", long_rows(5, 100))
    assert setting.doubles(scaled_arena).events == setting.events.matched


def test_conditions_that_differ_in_aliases_alone_are_one():
    queries = analyse_workload(parse(LONG["trees"]))
    between = PairConditions.of(queries)
    assert len(between.different) == 7
    assert between.of_edges[0, "b", "b"] == 0


@pytest.mark.parametrize("numbers", [("2", "2.0"), ("2.0", "2")])
def test_numbers_of_different_types_make_different_conditions(numbers):
    """Twice an integer may be too large for int64, and then unknown; twice it as a double is a number."""
    table = pa.table({"time": [1, 2, 3, 4], "type": ["B"] * 4, "x": [3, 5, 2**62 + 1, 2**62 + 3]})
    query = "RETURN COUNT(*) PATTERN B b+ WHERE NEXT(b).x * {} > b.x * 3 WITHIN 10 s"
    text = f"one: {query.format(numbers[0])}\ntwo: {query.format(numbers[1])}"
    found = run(text, table)
    assert found.equals(run(text, table, engine="greta"))
    assert len(set(found["value"].to_pylist())) == 2


COMPILED = """
import pyarrow as pa
from hamlet_core import run
from hamlet_core.engines.hamlet.automaton import sets, trees
from hamlet_core.engines.hamlet.graphlets import snapshots

pattern = {!r}
text = f"RETURN COUNT(*) PATTERN {{pattern}} WHERE b.v < NEXT(b).v WITHIN 9 s"
events = pa.table({{"time": [1, 2, 3], "type": ["A", "B", "B"], "v": [0, 1, 2]}})
parts = (trees.plant, sets.gather_standings, sets.commit_standings, sets.finish_standings, snapshots.flush)
print(run(text, events)["value"].to_pylist(), [len(one.overloads) for one in parts])
"""


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("SEQ(A a, B b+)", "[3.0] [1, 0, 0, 0, 0]"), ("SEQ(A a, B b+, B c?)", "[3.0] [1, 1, 1, 1, 0]")],
)
def test_what_no_query_needs_is_not_compiled(tmp_path, pattern, found):
    """Nothing for ambiguous patterns where there are none, nothing for graphlets where nobody shares."""
    command = [sys.executable, "-c", COMPILED.format(pattern)]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{found}\n"), done.stderr
