"""What elements hold, how they add up, and what binding an event does: the laws every engine relies on."""

import decimal
import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core import run
from hamlet_core.algebra.aggregates import (
    Aggregating,
    Component,
    Counting,
    LatestStart,
    Role,
    Shape,
    algebra_of,
    components,
)
from hamlet_core.algebra.arithmetic import ARITHMETICS, COUNTS, Measure
from hamlet_core.language.parser import parse_syntax
from hamlet_core.pattern.automaton import Position
from hamlet_core.table.encode import Column
from hamlet_core.table.kinds import Kind

EXACT, SCALED = ARITHMETICS["exact"], ARITHMETICS["scaled"]
POSITIONS = (Position(0, "A", "a"), Position(1, "B", "b"))
VALUES = [5, None, -2, 0]


def aggregates(text):
    (query,) = parse_syntax(f"RETURN {text} PATTERN SEQ(A a+, B b+) WITHIN 10 s").queries
    return query.aggregates, tuple(one.alias for one in query.aggregates)


EVERYTHING = "COUNT(*), COUNT(b), SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v)"


def algebra(text=EVERYTHING, numbers=EXACT):
    asked, operands = aggregates(text)
    parts = components(asked, operands, numbers)
    return algebra_of(numbers, parts, POSITIONS, {"v": Column("v", Kind.INTEGER, 0, VALUES)})


def shape(text=EVERYTHING, numbers=EXACT):
    asked, operands = aggregates(text)
    return Shape(asked, operands, components(asked, operands, numbers))


def test_count_alone_needs_no_component():
    assert isinstance(algebra("COUNT(*)"), Counting)
    assert isinstance(algebra("COUNT(b)"), Aggregating)


def test_components_are_shared_by_aggregates():
    asked, operands = aggregates("SUM(b.v), AVG(b.v), SUM(b.w)")
    assert components(asked, operands, EXACT) == (
        Component(Role.TOTAL, "b", "v"),
        Component(Role.PRESENT, "b", "v"),
        Component(Role.TOTAL, "b", "w"),
    )
    assert Component(Role.MAGNITUDE, "b", "v") in components(asked, operands, SCALED)


steps = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=4)
sets_of_trends = st.lists(steps, min_size=1, max_size=4)


def element(numbers, trends):
    """The element of some trends, each a list of (row, position)."""
    built = None
    for trend in trends:
        one = numbers.start(0)
        for row, position in trend:
            one = numbers.extend(one, row, position)
        built = one if built is None else numbers.plus(built, one)
    return built


@given(sets_of_trends, sets_of_trends, sets_of_trends)
def test_adding_elements_is_a_commutative_monoid(one, other, third):
    numbers = algebra()
    x, y, z = (element(numbers, trends) for trends in (one, other, third))
    assert numbers.plus(x, y) == numbers.plus(y, x)
    assert numbers.plus(numbers.plus(x, y), z) == numbers.plus(x, numbers.plus(y, z))
    assert numbers.plus(x, y) == element(numbers, one + other)


@given(sets_of_trends, sets_of_trends, st.integers(0, 3), st.integers(0, 1))
def test_an_event_acts_on_each_trend_alone(one, other, row, position):
    numbers = algebra()
    x, y = element(numbers, one), element(numbers, other)
    apart = numbers.plus(numbers.extend(x, row, position), numbers.extend(y, row, position))
    assert numbers.extend(numbers.plus(x, y), row, position) == apart


@given(sets_of_trends)
def test_measures_are_what_the_trends_hold(trends):
    numbers = algebra()
    bound = [[VALUES[row] for row, position in trend if position == 1] for trend in trends]
    present = [value for values in bound for value in values if value is not None]
    measures = shape().measures(element(numbers, trends), {"v": COUNTS}, EXACT)
    count, occurrences, total, average, least, most = measures
    assert count.exact == str(len(trends))
    assert occurrences.exact == str(sum(map(len, bound)))
    assert total.exact == str(sum(present))
    assert least.exact == (str(min(present)) if present else None)
    assert most.exact == (str(max(present)) if present else None)
    if present:
        assert average.value == pytest.approx(sum(present) / len(present))
    else:
        assert average == least == most == Measure()


@given(sets_of_trends, sets_of_trends)
def test_a_shape_adds_as_its_algebra_does(one, other):
    numbers = algebra()
    x, y = element(numbers, one), element(numbers, other)
    assert shape().plus(x, y, EXACT) == numbers.plus(x, y)


def test_nulls_add_nothing_and_average_over_what_is_there():
    numbers = algebra()
    found = element(numbers, [[(0, 1), (1, 1)]])
    shown = shape().measures(found, {"v": COUNTS}, EXACT)
    assert [measure.exact for measure in shown] == ["1", "2", "5", "5", "5", "5"]


def test_events_of_another_alias_change_nothing():
    numbers = algebra()
    start = numbers.start(0)
    assert numbers.extend(start, 0, 0) is start


def test_magnitudes_add_where_values_cancel():
    numbers = algebra("SUM(b.v)", SCALED)
    built = element(numbers, [[(0, 1)], [(2, 1)]])
    total, magnitude = built[1:]
    assert SCALED.measure(total, COUNTS).value == 3
    assert SCALED.measure(magnitude, COUNTS).value == 7


@pytest.mark.parametrize("arithmetic", sorted(ARITHMETICS))
def test_the_callers_decimal_context_has_no_say(arithmetic):
    values = [decimal.Decimal("12345678901234567890123456789012345.123"), decimal.Decimal("-0.001")]
    table = pa.table({"time": [1, 2], "type": ["A", "A"], "m": pa.array(values, pa.decimal128(38, 3))})
    query = "RETURN SUM(a.m), AVG(a.m), MIN(a.m) PATTERN A a WHERE -a.m * 2 < 5 OR a.m < 0.5 WITHIN 1.5 min"
    with decimal.localcontext(decimal.ExtendedContext):
        expected = run(query, table, arithmetic=arithmetic)
        assert not any(decimal.getcontext().flags.values())
    signals = list(decimal.Context().flags)
    with decimal.localcontext(decimal.Context(prec=3, traps=signals, flags=[])):
        assert run(query, table, arithmetic=arithmetic) == expected


def test_the_latest_start_of_a_negated_pattern():
    latest = LatestStart()
    assert latest.plus(latest.start(3), latest.start(7)) == 7
    assert latest.extend(4, 0, 0) == 4


def test_shapes_pickle():
    assert pickle.loads(pickle.dumps(shape())) == shape()
