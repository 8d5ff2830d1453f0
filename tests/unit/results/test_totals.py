"""Results as arrays show and merge as the same elements do one by one, bit for bit."""

from __future__ import annotations

from decimal import Decimal
from math import log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core import partials, run
from hamlet_core.algebra.aggregates import LATTICE, Role
from hamlet_core.algebra.arithmetic import ARITHMETICS, PRIME, Unit
from hamlet_core.algebra.measuring import measured
from hamlet_core.language.parser import parse_syntax
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.results.folded import shapes_of
from hamlet_core.results.rows import PartialRow, merged_rows, partial_table, result_schema, result_table
from hamlet_core.results.totals import Extremes, Numbers, Totals, partial_rows, totals_table
from hamlet_core.table.kinds import Kind

TEXT = """
    zebra: RETURN COUNT(*) PATTERN A a+ WITHIN 10 s
    ant: RETURN MAX(a.f), SUM(a.i), AVG(a.d), COUNT(*) PATTERN A a+ GROUP-BY g WITHIN 10 s
    bee: RETURN AVG(a.f), COUNT(a), MIN(a.i), SUM(a.d), MIN(a.d), AVG(a.i), SUM(a.f), MAX(a.n), SUM(a.n)
         PATTERN A a+ GROUP-BY g WITHIN 10 s
    cow: RETURN COUNT(a), COUNT(*) PATTERN A a+ WITHIN 10 s
"""
ANALYSED = analyse_workload(parse_syntax(TEXT))
UNITS = {"i": Unit(), "f": Unit(Kind.DOUBLE), "d": Unit(Kind.DECIMAL, 2), "n": Unit(Kind.NULL)}
TYPES = {"i": pa.int64(), "f": pa.float64(), "d": pa.decimal128(20, 2), "n": pa.null()}
VALUES = {
    "i": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    "f": st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 3.0, 2.0**64, 5e-324]),
    "d": st.decimals(min_value=-(10**17), max_value=10**17, places=2),
    "n": st.nothing(),
}
ALL = tuple(ARITHMETICS)
GROUPS = ("{}", '{"g":null}', '{"g":"ž"}', '{"g":"\U0001f695"}', '{"g":"\uffee"}', '{"g":10}', '{"g":9}')


def exponents():
    return (
        st.integers(-80, 80)
        | st.sampled_from([1023, 1024, 1025, -1021, -1022, -1073, -1074, -1075, -2000, 2000])
        | st.integers(-(2**45), 2**45)
    )


@st.composite
def scaled(draw, *, signed, around=None):
    if draw(st.integers(0, 5)) == 0:
        return (0.0, 0)
    mantissa = draw(st.floats(0.5, 1, exclude_max=True) | st.just(0.5))
    exponent = draw(exponents() if around is None else st.integers(around, around + 70))
    return (-mantissa if signed and draw(st.booleans()) else mantissa, exponent)


@st.composite
def number(draw, arithmetic, *, signed=False, around=None):
    if arithmetic == "exact":
        value = draw(
            st.integers(0, 2**70)
            | st.integers(0, 9)
            | st.builds(int.__lshift__, st.integers(1, 2**60), st.integers(900, 9000))
        )
        return -value if signed and draw(st.booleans()) else value
    found = draw(scaled(signed=signed, around=around))
    return found if arithmetic == "scaled" else (*found, draw(st.integers(0, PRIME - 1)))


@st.composite
def element(draw, shape, arithmetic):
    entries = [draw(number(arithmetic))]
    for part in shape.parts:
        if part.role in LATTICE:
            entries.append(draw(st.none() | VALUES[part.attribute]))
        elif part.role is Role.MAGNITUDE:
            # It comes after its total: drowned or not, and sometimes at the edge.
            total = entries[-1 if shape.parts[len(entries) - 2].role is Role.TOTAL else -2]
            entries.append(draw(number(arithmetic, around=total[1])))
        else:
            entries.append(draw(number(arithmetic, signed=part.role is Role.TOTAL)))
    return tuple(entries)


@st.composite
def rows(draw, arithmetic):
    shapes = shapes_of(ANALYSED, ARITHMETICS[arithmetic])
    found = []
    for name in draw(st.permutations(list(shapes))):
        shape = shapes[name]
        read = dict.fromkeys(one.attribute for one in shape.aggregates if one.attribute)
        units = tuple((one, UNITS[one].kind.name, UNITS[one].scale) for one in read)
        labels = tuple(one.label for one in shape.aggregates)
        keys = st.tuples(st.integers(-5, 5), st.sampled_from(GROUPS))
        for start, group in draw(st.lists(keys, unique=True, max_size=6)):
            state = draw(element(shape, arithmetic)), units, arithmetic, labels
            found.append(PartialRow(name, start * 5, start * 5 + 10, group, *state))
    return found


def numbers_of(values, arithmetic):
    values = list(values)
    if arithmetic == "exact":
        empty = np.zeros(len(values))
        return Numbers(empty, empty.astype(np.int64), digits=tuple(values))
    mantissa = np.array([value[0] for value in values], np.float64)
    # A kernel may mark zero by any exponent.
    exponent = np.array([value[1] if value[0] else -(2**50) for value in values], np.int64)
    residue = np.array([value[2] for value in values], np.int64) if arithmetic == "modular" else None
    return Numbers(mantissa, exponent, None, residue)


def totals_of(found, arithmetic):
    """The rows of each query as arrays."""
    shapes = shapes_of(ANALYSED, ARITHMETICS[arithmetic])
    result = []
    for name in dict.fromkeys(row.query for row in found):
        mine = [row for row in found if row.query == name]
        columns = list(zip(*(row.element for row in mine), strict=True))
        parts = tuple(
            Extremes(pa.array(column, TYPES[part.attribute]))
            if part.role in LATTICE
            else numbers_of(column, arithmetic)
            for part, column in zip(shapes[name].parts, columns[1:], strict=True)
        )
        heads = [
            np.array([getattr(row, end) for row in mine], np.int64) for end in ("window_start", "window_end")
        ]
        groups = tuple(reversed(dict.fromkeys(row.group_key for row in mine)))
        group = np.array([groups.index(row.group_key) for row in mine], np.int64)
        result.append(Totals(name, *heads, group, groups, numbers_of(columns[0], arithmetic), parts))
    return result, shapes


def check(found, arithmetic, time_type=pa.int64()):
    totals, shapes = totals_of(found, arithmetic)
    numbers = ARITHMETICS[arithmetic]
    expected = result_table(merged_rows(partial_table(found), shapes, numbers), shapes, numbers, time_type)
    table = totals_table(totals, shapes, UNITS, numbers, time_type)
    table.validate(full=True)
    assert table.schema == expected.schema == result_schema(time_type)
    for name in table.column_names:
        assert table[name].to_pylist() == expected[name].to_pylist(), name
    for name in ("value", "log2"):  # -0.0 is not 0.0 here
        assert [repr(one) for one in table[name].to_pylist()] == [
            repr(one) for one in expected[name].to_pylist()
        ]
    assert partial_rows(totals, shapes, UNITS, numbers) == found


@pytest.mark.parametrize("arithmetic", ALL)
@given(data=st.data())
def test_random_elements(arithmetic, data):
    check(data.draw(rows(arithmetic)), arithmetic)


def test_timestamps():
    found = PartialRow("zebra", -5, 10**15, "{}", ((0.5, 3),), (), "scaled", ("COUNT(*)",))
    check([found], "scaled", pa.timestamp("us", "UTC"))


@pytest.mark.parametrize("arithmetic", ALL)
def test_nothing(arithmetic):
    check([], arithmetic)


@given(st.lists(VALUES["f"], min_size=1))
def test_extremes_of_doubles(values):
    labels = tuple(one.label for one in shapes_of(ANALYSED, ARITHMETICS["scaled"])["ant"].aggregates)
    units = (("f", "DOUBLE", 0), ("i", "INTEGER", 0), ("d", "DECIMAL", 2))
    rest = [(0.5, 1)] * 6
    shape = shapes_of(ANALYSED, ARITHMETICS["scaled"])["ant"]
    assert [part.role for part in shape.parts].index(Role.MAXIMUM) == 0
    found = [
        PartialRow(
            "ant",
            5 * place,
            5 * place + 10,
            "{}",
            ((0.5, 1), value, *rest[: len(shape.parts) - 1]),
            units,
            "scaled",
            labels,
        )
        for place, value in enumerate(values)
    ]
    check(found, "scaled")


def test_elements_are_plain_values():
    found = [
        PartialRow("cow", 0, 10, "{}", ((0.5, 3, 4), (0.0, 0, 0)), (), "modular", ("COUNT(a)", "COUNT(*)")),
    ]
    totals, shapes = totals_of(found, "modular")
    (row,) = partial_rows(totals, shapes, UNITS, ARITHMETICS["modular"])
    assert [type(value) for number in row.element for value in number] == [float, int, int] * 2
    assert type(row.window_start) is int


@pytest.mark.parametrize("arithmetic", ALL)
def test_the_results_of_a_run(arithmetic):
    size = 40
    random = np.random.default_rng(3)
    events = pa.table(
        {
            "time": np.arange(size), "type": ["A"] * size, "g": random.integers(0, 3, size),
            "i": random.integers(-9, 9, size), "f": random.normal(size=size),
            "d": pa.array([Decimal(int(one)) / 100 for one in random.integers(-99, 99, size)], pa.decimal128(20, 2)),
            "n": pa.nulls(size),
        }
    )  # fmt: skip
    states = partials(TEXT, events, arithmetic=arithmetic)
    shapes = shapes_of(ANALYSED, ARITHMETICS[arithmetic])
    found = merged_rows(states, shapes, ARITHMETICS[arithmetic])
    totals, _ = totals_of(found, arithmetic)
    expected = run(TEXT, events, arithmetic=arithmetic)
    assert expected.num_rows > 20
    assert totals_table(totals, shapes, UNITS, ARITHMETICS[arithmetic], pa.int64()).equals(expected)


def test_logarithms_are_those_of_single_numbers_to_the_last_bit():
    mantissa = np.random.default_rng(4).uniform(0.5, 1, 20_000)
    shown = measured(Numbers(mantissa, np.zeros(len(mantissa), np.int64)))
    assert shown.log2.tolist() == [log2(one) for one in mantissa.tolist()]
