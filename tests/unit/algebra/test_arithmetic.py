"""Laws of the three arithmetics, and how their numbers are shown."""

import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal
from fractions import Fraction
from math import inf, isfinite, log2

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hamlet_core.algebra import arithmetic
from hamlet_core.algebra.arithmetic import (
    ARITHMETICS,
    COUNTS,
    NOTHING,
    PRIME,
    Measure,
    Unit,
    digits,
    extreme,
    fraction_text,
)
from hamlet_core.table.kinds import Kind

EXACT, SCALED, MODULAR = (ARITHMETICS[name] for name in ("exact", "scaled", "modular"))
DOUBLES, CENTS = Unit(Kind.DOUBLE), Unit(Kind.DECIMAL, 2)
SMALL = 1e-12

whole = st.integers(-(2**62), 2**62) | st.integers(-(10**60), 10**60) | st.integers(-3, 3)
counts = st.integers(0, 10**60) | st.integers(0, 4) | st.integers(0, 400).map(lambda n: 2**n)
columns = st.sampled_from((COUNTS, DOUBLES, CENTS)).flatmap(
    lambda unit: st.tuples(
        {
            Kind.INTEGER: st.integers(-(2**63), 2**63 - 1),
            Kind.DOUBLE: st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False),
            Kind.DECIMAL: st.decimals(-(10**36), 10**36, places=2),
        }[unit.kind],
        st.just(unit),
    )
)


def scaled_of(number):
    """A whole number of any size as a scaled one, correctly rounded."""
    shift = max(abs(number).bit_length() - 1000, 0)
    mantissa, exponent = SCALED.embed(float(number >> shift), COUNTS)
    return (mantissa, exponent + shift) if mantissa else SCALED.zero


def modular_of(number):
    return (*scaled_of(number), number % PRIME)


def exactly(number):
    """A scaled number as a fraction."""
    mantissa, exponent = number
    return Fraction(mantissa) * Fraction(2) ** exponent


def near(found, true, magnitude):
    return abs(exactly(found) - true) <= Fraction(SMALL) * magnitude


# --- laws -------------------------------------------------------------------------------------------

IMAGES = {"exact": lambda number: number, "modular": modular_of}


@pytest.mark.parametrize("name", IMAGES)
@given(whole, whole, whole)
def test_a_commutative_semiring(name, x, y, z):
    numbers, image = ARITHMETICS[name], IMAGES[name]
    # Of a modular number the residue obeys the laws to the last bit; its scaled part has laws of its own below.
    part = (lambda number: number[2]) if name == "modular" else (lambda number: number)
    a, b, c = map(image, (x, y, z))
    add, multiply = numbers.add, numbers.multiply
    assert part(add(a, b)) == part(add(b, a))
    assert part(multiply(a, b)) == part(multiply(b, a))
    assert part(add(add(a, b), c)) == part(add(a, add(b, c)))
    assert part(multiply(multiply(a, b), c)) == part(multiply(a, multiply(b, c)))
    assert part(multiply(a, add(b, c))) == part(add(multiply(a, b), multiply(a, c)))
    assert part(add(a, numbers.zero)) == part(a) == part(multiply(a, numbers.one))
    assert part(multiply(a, numbers.zero)) == part(numbers.zero)


@given(whole, whole, whole)
def test_scaled_is_a_semiring_within_its_rounding(x, y, z):
    a, b, c = map(scaled_of, (x, y, z))
    add, multiply = SCALED.add, SCALED.multiply
    assert add(a, b) == add(b, a)
    assert multiply(a, b) == multiply(b, a)
    assert add(a, SCALED.zero) == a == multiply(a, SCALED.one) == add(SCALED.zero, a)
    assert multiply(a, SCALED.zero) == SCALED.zero
    total, product = abs(x) + abs(y) + abs(z), abs(x * y * z)
    for found in (add(add(a, b), c), add(a, add(b, c))):
        assert near(found, x + y + z, total)
    for found in (multiply(multiply(a, b), c), multiply(a, multiply(b, c))):
        assert near(found, x * y * z, product)
    for found in (multiply(a, add(b, c)), add(multiply(a, b), multiply(a, c))):
        assert near(found, x * (y + z), abs(x) * (abs(y) + abs(z)))


@given(whole, whole)
def test_exact_maps_onto_modular(x, y):
    assert MODULAR.add(modular_of(x), modular_of(y))[2] == (x + y) % PRIME
    assert MODULAR.multiply(modular_of(x), modular_of(y))[2] == x * y % PRIME


@given(whole, whole)
def test_exact_maps_onto_scaled(x, y):
    assert near(SCALED.add(scaled_of(x), scaled_of(y)), x + y, abs(x) + abs(y))
    assert near(SCALED.multiply(scaled_of(x), scaled_of(y)), x * y, abs(x * y))


@given(counts)
def test_pairs(number):
    pairs = EXACT.choose_two(number)
    assert pairs == number * (number - 1) // 2
    assert near(SCALED.choose_two(scaled_of(number)), pairs, number * number)
    assert MODULAR.choose_two(modular_of(number))[2] == pairs % PRIME
    if number < 2**50:
        assert exactly(SCALED.choose_two(scaled_of(number))) == pytest.approx(pairs, rel=SMALL, abs=0)


@given(counts)
def test_positive_is_above_zero(number):
    assert EXACT.positive(number) == SCALED.positive(scaled_of(number)) == (number > 0)
    assert MODULAR.positive(modular_of(number)) == (number > 0)


def test_a_multiple_of_the_prime_is_positive():
    number = MODULAR.multiply(modular_of(PRIME), modular_of(3))
    assert number[2] == 0
    assert MODULAR.positive(number)


@given(columns)
def test_embedding_keeps_the_value(column):
    value, unit = column
    true = Fraction(value)
    assert Fraction(EXACT.embed(value, unit), unit.denominator) == true
    assert near(SCALED.embed(value, unit), true, abs(true))
    found = MODULAR.embed(value, unit)
    assert found[:2] == SCALED.embed(value, unit)
    assert found[2] == (true * 10**unit.scale % PRIME if unit.has_digits else 0)


@given(st.lists(columns, min_size=1, max_size=5))
def test_scaled_numbers_are_normal(several):
    total = product = SCALED.one
    for value, unit in several:
        number = SCALED.embed(value, unit)
        total, product = SCALED.add(total, number), SCALED.multiply(product, number)
        for mantissa, exponent in (total, product):
            assert 0.5 <= abs(mantissa) < 1 or (mantissa, exponent) == (0.0, 0)


def test_scaled_numbers_have_no_end():
    number = SCALED.one
    for _ in range(100):
        number = SCALED.multiply(SCALED.add(number, number), number)
        assert isfinite(number[0])
    assert number[1] > 10**29


def test_adding_what_is_far_too_small_changes_nothing():
    large = (0.75, 10**9)
    assert SCALED.add(large, SCALED.one) == SCALED.add(SCALED.one, large) == large
    assert SCALED.add((0.5, -(10**9)), large) == large


# --- shown ------------------------------------------------------------------------------------------


@given(whole)
def test_exact_integers_as_shown(number):
    shown = EXACT.measure(number, COUNTS)
    assert shown.exact == str(number)
    assert shown.sign == (number > 0) - (number < 0)
    assert shown.value == float(number)
    assert shown.log2 == (None if number == 0 else pytest.approx(log2(abs(number)), abs=1e-12))
    assert shown.fingerprint is None


@given(columns, counts)
def test_the_three_agree_on_what_they_show(column, count):
    value, unit = column
    number = abs(value)
    exact = EXACT.measure(EXACT.multiply(count, EXACT.embed(number, unit)), unit)
    scaled = SCALED.measure(SCALED.multiply(scaled_of(count), SCALED.embed(number, unit)), unit)
    modular = MODULAR.measure(MODULAR.multiply(modular_of(count), MODULAR.embed(number, unit)), unit)
    assert (scaled.value, scaled.sign, scaled.log2) == (modular.value, modular.sign, modular.log2)
    assert scaled.sign == exact.sign
    if exact.log2 is not None:
        assert scaled.log2 == pytest.approx(exact.log2, abs=1e-9)
    if exact.value is not None and scaled.value is not None:
        assert scaled.value == pytest.approx(exact.value, rel=1e-12, abs=1e-300)
    assert (exact.exact is None) == (modular.fingerprint is None) == (unit.kind is Kind.DOUBLE)


@pytest.mark.parametrize("name", ARITHMETICS)
def test_beyond_the_double_range_there_is_a_logarithm_but_no_value(name):
    image = {**IMAGES, "scaled": scaled_of}[name]
    shown = ARITHMETICS[name].measure(image(3 * 2**5000), COUNTS)
    assert (shown.value, shown.sign) == (None, 1)
    assert shown.log2 == pytest.approx(5000 + log2(3), abs=1e-12)
    shown = ARITHMETICS[name].measure(image(-(2**1024)), COUNTS)
    assert (shown.value, shown.sign, shown.log2) == (None, -1, 1024)
    assert ARITHMETICS[name].measure(image(2**1023), COUNTS).value == 2.0**1023


@pytest.mark.parametrize("name", ARITHMETICS)
def test_zero_as_shown(name):
    numbers = ARITHMETICS[name]
    shown = numbers.measure(numbers.zero, COUNTS, numbers.zero if numbers.needs_magnitude else None)
    assert (shown.value, shown.sign, shown.log2) == (0.0, 0, None)


def test_a_sum_that_drowns_has_no_sign():
    magnitude = SCALED.embed(1e20, DOUBLES)
    assert SCALED.measure(SCALED.embed(5.0, COUNTS), COUNTS, magnitude).sign is None
    assert SCALED.measure(SCALED.embed(-5.0, COUNTS), COUNTS, magnitude).sign is None
    assert SCALED.measure(SCALED.zero, COUNTS, magnitude) == Measure(0.0, None, None)
    assert SCALED.measure(SCALED.embed(-1e12, COUNTS), COUNTS, magnitude).sign == -1
    assert SCALED.measure((0.5, 0), COUNTS, (0.5, 5000)).sign is None
    assert SCALED.measure(SCALED.embed(5.0, COUNTS), COUNTS).sign == 1


def test_the_border_of_drowning_is_one_part_in_a_milliard():
    magnitude = SCALED.embed(1e9, COUNTS)
    assert SCALED.measure(SCALED.embed(1.0, COUNTS), COUNTS, magnitude).sign is None
    assert SCALED.measure(SCALED.embed(1.0001, COUNTS), COUNTS, magnitude).sign == 1


@given(st.integers(-(10**40), 10**40), st.integers(1, 10**40))
def test_averages(total, count):
    exact = EXACT.ratio(total, count, CENTS)
    assert Fraction(exact.exact) == Fraction(total, 100 * count)
    assert exact.exact == str(Fraction(total, 100 * count))
    scaled_total = SCALED.multiply(scaled_of(total), SCALED.embed(Decimal("0.01"), CENTS))
    scaled = SCALED.ratio(scaled_total, scaled_of(count), CENTS)
    assert scaled.value == pytest.approx(exact.value, rel=1e-12)
    modular = MODULAR.ratio((*scaled_total, 5), modular_of(count), CENTS)
    assert modular == scaled
    assert modular.fingerprint is None


def test_averages_of_doubles_have_no_digits():
    shown = EXACT.ratio(EXACT.embed(0.5, DOUBLES), 2, DOUBLES)
    assert shown == Measure(0.25, 1, -2.0, None)


def test_the_average_of_a_drowned_sum_has_no_sign():
    assert SCALED.ratio(SCALED.one, scaled_of(3), COUNTS, SCALED.embed(1e20, DOUBLES)).sign is None


@given(st.decimals(-(10**30), 10**30, places=2))
def test_decimals_keep_the_scale_of_their_column(value):
    shown = EXACT.measure(EXACT.embed(value, CENTS), CENTS).exact
    assert Decimal(shown) == value
    assert len(shown.partition(".")[2]) == 2


def test_decimals_longer_than_pythons_context():
    value = Decimal("-123456789012345678901234567890123456.78")
    assert EXACT.measure(EXACT.embed(value, CENTS), CENTS).exact == str(value)
    assert extreme(value, CENTS, exact=True).exact == str(value)
    assert MODULAR.embed(value, CENTS)[2] == -12345678901234567890123456789012345678 % PRIME


def test_extremes_are_values_of_the_column():
    assert extreme(-7, COUNTS, exact=True) == Measure(-7.0, -1, log2(7), "-7")
    assert extreme(0.1, DOUBLES, exact=True).exact == "0.1"
    assert extreme(Decimal("1.5"), Unit(Kind.DECIMAL, 3), exact=True).exact == "1.500"
    shown = extreme(0.1, DOUBLES, exact=False)
    assert (shown.value, shown.sign, shown.exact) == (0.1, 1, None)
    assert shown.log2 == pytest.approx(log2(0.1), abs=1e-12)
    assert extreme(0, COUNTS, exact=True) == Measure(0.0, 0, None, "0")


def test_the_two_zeros_of_doubles_are_one():
    assert extreme(-0.0, DOUBLES, exact=True) == extreme(0.0, DOUBLES, exact=True)
    assert extreme(-0.0, DOUBLES, exact=True).exact == "0.0"


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_sums_of_doubles_are_correctly_rounded_in_exact_mode(x, y):
    true = Fraction(x) + Fraction(y)
    assume(abs(true) < Fraction(2) ** 1023)
    shown = EXACT.measure(EXACT.add(EXACT.embed(x, DOUBLES), EXACT.embed(y, DOUBLES)), DOUBLES)
    assert shown.value == float(true)
    assert shown.exact is None


def test_digits_beyond_pythons_limit():
    number = 7**20000
    text = digits(number, 3)
    assert Decimal(text).scaleb(3, Context(prec=20_000)) == number
    assert fraction_text(Fraction(number, 2)) == digits(number, 0) + "/2"
    with pytest.raises(ValueError, match="Exceeds the limit"):
        str(number)


def test_digits_in_several_threads_leave_pythons_limit_alone():
    before, interval = sys.get_int_max_str_digits(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            lengths = set(threads.map(lambda _: len(digits(7**6000, 0)), range(400)))
    finally:
        sys.setswitchinterval(interval)
    assert lengths == {5071}
    assert sys.get_int_max_str_digits() == before


def test_nothing_is_nothing():
    assert Measure(None, None, None, None, None) == NOTHING
    assert inf not in (NOTHING.value, NOTHING.log2)


def test_the_prime_is_the_one_of_fingerprints():
    assert arithmetic.PRIME == 2305843009213693951
    assert pow(3, PRIME - 1, PRIME) == 1
