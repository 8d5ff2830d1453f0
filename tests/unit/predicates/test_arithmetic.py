"""Arithmetic on values: exact where it can be, NULL where there is no answer."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.language.syntax import ArithmeticOperator
from hamlet_core.predicates.arithmetic import minus, operation, to_double

D = Decimal
PLUS, LESS, TIMES, OVER, REST = map(ArithmeticOperator, "+-*/%")
MAX, MIN = 2**63 - 1, -(2**63)
HUGE = 1.7e308
ONES = D("1" * 38)


@pytest.mark.parametrize(
    ("left", "sign", "right", "expected"),
    [
        (2, PLUS, 3, 5),
        (MAX, PLUS, 0, MAX),
        (MAX, PLUS, 1, None),
        (MIN, LESS, 1, None),
        (MIN, LESS, 0, MIN),
        (2**32, TIMES, 2**31, None),
        (-(2**32), TIMES, 2**31, MIN),
        (7, OVER, 2, 3.5),
        (6, OVER, 2, 3.0),
        (1, OVER, 0, None),
        (1.0, OVER, 0.0, None),
        (D(1), OVER, D(0), None),
        (MAX, OVER, MAX, 1.0),
        (10**400, OVER, 3, None),
        (D(1), OVER, D(3), 1 / 3),
        (7, REST, 3, 1),
        (-7, REST, 3, -1),
        (7, REST, -3, 1),
        (-7, REST, -3, -1),
        (MIN, REST, -1, 0),
        (7, REST, 0, None),
        (7.5, REST, 0.0, None),
        (-7.5, REST, 2.0, -1.5),
        (D("-7.5"), REST, D(2), D("-1.5")),
        (D("-7.5"), REST, 2, D("-1.5")),
        (HUGE, PLUS, HUGE, None),
        (HUGE, TIMES, -10.0, None),
        (HUGE, OVER, 0.01, None),
        (1, PLUS, 0.5, 1.5),
        (D("0.1"), PLUS, D("0.2"), D("0.3")),
        (D("0.1"), PLUS, 1, D("1.1")),
        (D("0.1"), PLUS, 0.2, 0.1 + 0.2),
        (ONES, PLUS, 1, D("1" * 37 + "2")),
        (D("9" * 38), PLUS, D("0.1"), None),
        (ONES, TIMES, D("1.1"), None),
        (D("1E+40"), LESS, D("1E-40"), None),
        (Fraction(3, 2), PLUS, D("0.5"), Fraction(2)),
        (Fraction(-7, 2), REST, 2, Fraction(-3, 2)),
        (D("1E+400"), TIMES, 2.0, None),
        (D("1E+400"), REST, 2.0, None),
        (D("1E+400"), LESS, 1.0, None),
    ],
)
def test_operations(left: object, sign: ArithmeticOperator, right: object, expected: object) -> None:
    found = operation(sign)(left, right)  # type: ignore[arg-type]
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(5, -5), (MIN, None), (MAX, -MAX), (1.5, -1.5), (D("1" * 60), D("-" + "1" * 60)), (D(0), D(0))],
)
def test_minus(value: object, expected: object) -> None:
    assert minus(value) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "expected"), [(D("1E+400"), math.inf), (Fraction(-(10**400)), -math.inf)])
def test_beyond_the_double_range_is_infinite_for_comparison_only(
    value: D | Fraction, expected: float
) -> None:
    assert to_double(value) == expected


integers = st.integers(MIN, MAX)


@given(integers, integers.filter(bool))
def test_the_rest_of_integers_has_the_sign_of_the_dividend(left: int, right: int) -> None:
    rest = operation(REST)(left, right)
    assert isinstance(rest, int)
    assert abs(rest) < abs(right)
    assert rest == 0 or (rest < 0) == (left < 0)
    assert (left - rest) % right == 0


doubles = st.floats(allow_nan=False, allow_infinity=False)
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12)
numbers = st.one_of(integers, doubles, decimals, st.fractions(max_denominator=10**9))


@given(numbers, st.sampled_from(ArithmeticOperator), numbers)
def test_no_numbers_fail_and_no_result_is_infinite(
    left: object, sign: ArithmeticOperator, right: object
) -> None:
    found = operation(sign)(left, right)  # type: ignore[arg-type]
    assert found is None or math.isfinite(found)


@given(st.one_of(integers, decimals), st.sampled_from([PLUS, LESS, TIMES]), st.one_of(integers, decimals))
def test_integers_and_decimals_are_exact_or_null(
    left: D | int, sign: ArithmeticOperator, right: D | int
) -> None:
    exact = {PLUS: Fraction.__add__, LESS: Fraction.__sub__, TIMES: Fraction.__mul__}
    found = operation(sign)(left, right)
    assert found is None or Fraction(found) == exact[sign](Fraction(left), Fraction(right))
