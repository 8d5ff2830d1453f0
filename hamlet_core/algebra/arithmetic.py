"""Three arithmetics behind one interface: exact, scaled, modular (SEMANTICS 8).

A number is a plain value that pickles; what it measures is `number / denominator` of its column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from hamlet_core.algebra.decimal_text import decimal_text
from hamlet_core.table.kinds import Kind

PRIME = 2**61 - 1
"""The modulus of fingerprints: a Mersenne prime."""

DROWNED = 1e-9
"""A scaled value this small beside the sum of its absolute terms has no sign."""

_HALF = (PRIME + 1) // 2
_DOUBLE_DENOMINATOR = 2**1074
"""Every finite double is a whole number of these parts."""

Number: TypeAlias = Any
Value: TypeAlias = int | float | Decimal | Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    """What numbers over a column count: its kind and decimal digits; COUNT counts integers."""

    kind: Kind = Kind.INTEGER
    scale: int = 0

    @property
    def denominator(self) -> int:
        """The whole number of parts that makes 1."""
        if self.kind is Kind.DOUBLE:
            return _DOUBLE_DENOMINATOR
        return int(10**self.scale)

    @property
    def has_digits(self) -> bool:
        """Whether sums over the column have exact digits and fingerprints: not over doubles."""
        return self.kind is not Kind.DOUBLE

    def parts(self, value: Value) -> int:
        """The value as a whole number of parts."""
        numerator, denominator = value.as_integer_ratio()
        return numerator * self.denominator // denominator

    def text(self, parts: int) -> str:
        """So many parts in decimal digits; seconds without trailing zeros.

        >>> Unit(Kind.DECIMAL, 2).text(-1250), SECONDS.text(250_000), SECONDS.text(37_000_000)
        ('-12.50', '0.25', '37')
        """
        shown = digits(parts, self.scale)
        return shown.rstrip("0").removesuffix(".") if self == SECONDS else shown


COUNTS = Unit()
SECONDS = Unit(Kind.TIMESTAMP, 6)
"""Of durations between timestamps; the parts are microseconds."""


def unit_of_durations(time_type: pa.DataType) -> Unit:
    """Seconds between timestamps and dates, else ticks; `time_type` is that of window bounds (SEMANTICS 11)."""
    return COUNTS if time_type == pa.int64() else SECONDS


@dataclass(frozen=True, slots=True)
class Measure:
    """The columns of a result that say how much: see `hamlet_core.results.rows`."""

    value: float | None = None
    sign: int | None = None
    log2: float | None = None
    exact: str | None = None
    fingerprint: int | None = None


NOTHING = Measure()


class Arithmetic(Protocol):
    """A commutative semiring with halving, and how its numbers are shown."""

    name: str
    zero: Number
    one: Number
    needs_magnitude: bool
    """Whether a signed sum must be accompanied by the sum of its absolute terms."""

    def embed(self, value: Value, unit: Unit) -> Number:
        """A column's value as a number."""

    def add(self, left: Number, right: Number) -> Number:
        """Left + right."""

    def multiply(self, left: Number, right: Number) -> Number:
        """Left * right."""

    def choose_two(self, number: Number) -> Number:
        """Number * (number - 1) / 2, for a whole number."""

    def positive(self, number: Number) -> bool:
        """Whether a number that cannot be negative is above zero."""

    def measure(self, number: Number, unit: Unit, magnitude: Number | None = None) -> Measure:
        """A sum or a count as shown; `magnitude` is the sum of its absolute terms."""

    def ratio(self, number: Number, count: Number, unit: Unit, magnitude: Number | None = None) -> Measure:
        """Number / count as shown (AVG); the count is positive."""


class Exact:
    """Python integers: every digit."""

    name = "exact"
    zero = 0
    one = 1
    needs_magnitude = False

    def embed(self, value: Value, unit: Unit) -> int:
        return unit.parts(value)

    def add(self, left: int, right: int) -> int:
        return left + right

    def multiply(self, left: int, right: int) -> int:
        return left * right

    def choose_two(self, number: int) -> int:
        return number * (number - 1) // 2

    def positive(self, number: int) -> bool:
        return number > 0

    def measure(self, number: int, unit: Unit, magnitude: int | None = None) -> Measure:
        exact = unit.text(number) if unit.has_digits else None
        return _of_fraction(Fraction(number, unit.denominator), exact)

    def ratio(self, number: int, count: int, unit: Unit, magnitude: int | None = None) -> Measure:
        quotient = Fraction(number, unit.denominator * count)
        return _of_fraction(quotient, fraction_text(quotient) if unit.has_digits else None)


Scaled_: TypeAlias = tuple[float, int]


class Scaled:
    """A double mantissa in [0.5, 1) with an integer exponent of any width; relative error 2^-53 an operation."""

    name = "scaled"
    zero: Scaled_ = (0.0, 0)
    one: Scaled_ = (0.5, 1)
    needs_magnitude = True

    def embed(self, value: Value, unit: Unit) -> Scaled_:
        return math.frexp(float(value))

    def add(self, left: Scaled_, right: Scaled_) -> Scaled_:
        if left[0] == 0.0:
            return right
        if right[0] == 0.0:
            return left
        if left[1] < right[1]:
            left, right = right, left
        shift = right[1] - left[1]
        mantissa, exponent = math.frexp(left[0] + math.ldexp(right[0], max(shift, -1100)))
        return (mantissa, exponent + left[1]) if mantissa else self.zero

    def multiply(self, left: Scaled_, right: Scaled_) -> Scaled_:
        mantissa, exponent = math.frexp(left[0] * right[0])
        return (mantissa, exponent + left[1] + right[1]) if mantissa else self.zero

    def choose_two(self, number: Scaled_) -> Scaled_:
        mantissa, exponent = self.multiply(number, self.add(number, (-0.5, 1)))
        return (mantissa, exponent - 1) if mantissa else self.zero

    def positive(self, number: Scaled_) -> bool:
        return number[0] > 0.0

    def measure(self, number: Scaled_, unit: Unit, magnitude: Scaled_ | None = None) -> Measure:
        mantissa, exponent = number
        if mantissa == 0.0:
            return Measure(0.0, None if magnitude and magnitude[0] else 0)
        sign: int | None = 1 if mantissa > 0 else -1
        if magnitude is not None and _drowned(number, magnitude):
            sign = None
        return Measure(_double(mantissa, exponent), sign, math.log2(abs(mantissa)) + exponent)

    def ratio(self, number: Scaled_, count: Scaled_, unit: Unit, magnitude: Scaled_ | None = None) -> Measure:
        def divided(over: Scaled_) -> Scaled_:
            mantissa, exponent = math.frexp(over[0] / count[0])
            return (mantissa, exponent + over[1] - count[1]) if mantissa else self.zero

        return self.measure(divided(number), unit, None if magnitude is None else divided(magnitude))


Modular_: TypeAlias = tuple[float, int, int]


class Modular:
    """A residue modulo 2^61 - 1 beside the scaled number: a fingerprint that two engines must share bit for bit."""

    name = "modular"
    zero: Modular_ = (0.0, 0, 0)
    one: Modular_ = (0.5, 1, 1)
    needs_magnitude = True

    def __init__(self) -> None:
        self.scaled = Scaled()

    def embed(self, value: Value, unit: Unit) -> Modular_:
        residue = unit.parts(value) % PRIME if unit.has_digits else 0
        return (*self.scaled.embed(value, unit), residue)

    def add(self, left: Modular_, right: Modular_) -> Modular_:
        return (*self.scaled.add(left[:2], right[:2]), (left[2] + right[2]) % PRIME)

    def multiply(self, left: Modular_, right: Modular_) -> Modular_:
        return (*self.scaled.multiply(left[:2], right[:2]), left[2] * right[2] % PRIME)

    def choose_two(self, number: Modular_) -> Modular_:
        residue = number[2] * (number[2] - 1) % PRIME * _HALF % PRIME
        return (*self.scaled.choose_two(number[:2]), residue)

    def positive(self, number: Modular_) -> bool:
        return number[0] > 0.0

    def measure(self, number: Modular_, unit: Unit, magnitude: Modular_ | None = None) -> Measure:
        shown = self.scaled.measure(number[:2], unit, None if magnitude is None else magnitude[:2])
        fingerprint = number[2] if unit.has_digits else None
        return Measure(shown.value, shown.sign, shown.log2, None, fingerprint)

    def ratio(
        self, number: Modular_, count: Modular_, unit: Unit, magnitude: Modular_ | None = None
    ) -> Measure:
        return self.scaled.ratio(number[:2], count[:2], unit, None if magnitude is None else magnitude[:2])


ARITHMETICS: dict[str, Arithmetic] = {kind.name: kind for kind in (Exact(), Scaled(), Modular())}
"""Name, as in `run(arithmetic=...)` -> arithmetic."""


def extreme(value: Value, unit: Unit, *, exact: bool) -> Measure:
    """MIN or MAX as shown: a value of the column itself, the same in every arithmetic."""
    fraction = Fraction(value)
    if not exact:
        text = None
    elif unit.kind is Kind.DOUBLE:
        text = repr(
            float(value) + 0.0
        )  # one text for 0.0 and -0.0, which are equal: rows may come in any order
    else:
        text = unit.text(unit.parts(value))
    return _of_fraction(fraction, text)


def digits(parts: int, scale: int) -> str:
    """A whole number of parts in decimal digits, `scale` of them after the point.

    >>> digits(-1250, 2), digits(7, 0)
    ('-12.50', '7')
    """
    text = decimal_text(abs(parts))
    sign = "-" if parts < 0 else ""
    if not scale:
        return sign + text
    text = text.rjust(scale + 1, "0")
    return f"{sign}{text[:-scale]}.{text[-scale:]}"


def fraction_text(fraction: Fraction) -> str:
    """A reduced fraction as `p/q`, or `p` where it is integral.

    >>> fraction_text(Fraction(37, 2)), fraction_text(Fraction(4, 2))
    ('37/2', '2')
    """
    top = digits(fraction.numerator, 0)
    return top if fraction.denominator == 1 else f"{top}/{digits(fraction.denominator, 0)}"


def _drowned(number: Scaled_, magnitude: Scaled_) -> bool:
    shift = magnitude[1] - number[1]
    return shift > 64 or abs(number[0]) <= DROWNED * math.ldexp(magnitude[0], shift)


def _double(mantissa: float, exponent: int) -> float | None:
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return None


def _of_fraction(fraction: Fraction, exact: str | None) -> Measure:
    if fraction == 0:
        return Measure(0.0, 0, None, exact)
    try:
        value: float | None = float(fraction)
    except OverflowError:
        value = None
    log2 = _log2(abs(fraction.numerator)) - _log2(fraction.denominator)
    return Measure(value, 1 if fraction > 0 else -1, log2, exact)


def _log2(number: int) -> float:
    """log2 of a positive integer of any size, to double precision."""
    shift = max(number.bit_length() - 64, 0)
    return math.log2(number >> shift) + shift
