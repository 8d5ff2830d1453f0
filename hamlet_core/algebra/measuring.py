"""Numbers of many rows measured at once: arrays in, and out what `Arithmetic.measure` says of each, bit for bit.

In the arrays NaN is NULL (a measured value or logarithm is finite), and so are `NO_SIGN` and `NO_FINGERPRINT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.algebra.arithmetic import DROWNED, NOTHING, Measure, Unit, extreme
from hamlet_core.table.arrow import numbers_of, of_numbers
from hamlet_core.table.columns import filled

Integers: TypeAlias = npt.NDArray[np.int64]
Doubles: TypeAlias = npt.NDArray[np.float64]
Signs: TypeAlias = npt.NDArray[np.int8]

NO_SIGN = -128
NO_FINGERPRINT = -1

_BEYOND = 2200
"""No double has an exponent this far from 0."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """One number per row, in one arithmetic."""

    mantissa: Doubles
    """The number is `mantissa * 2**exponent`; in +-[0.5, 1), or 0 with any exponent."""
    exponent: Integers
    digits: tuple[int, ...] | None = None
    """Exact arithmetic: the number in parts of its `Unit`; mantissa and exponent then mean nothing."""
    residue: Integers | None = None
    """Modular arithmetic: the number modulo 2**61 - 1."""

    def __len__(self) -> int:
        return len(self.mantissa) if self.digits is None else len(self.digits)


@dataclass(frozen=True, slots=True)
class Extremes:
    """The least or the largest value of each row."""

    values: Any
    """An Arrow array of the column's own type; NULL where no trend has such an event."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The columns of many measures that are doubles and signs."""

    value: Doubles
    sign: Signs
    log2: Doubles


def plain(part: Numbers | Extremes) -> list[Any]:
    """The plain value of every row, as `Arithmetic` has it."""
    if isinstance(part, Extremes):
        values: list[Any] = part.values.to_pylist()
        return values
    if part.digits is not None:
        return list(part.digits)
    zero = part.mantissa == 0.0
    columns = [np.where(zero, 0.0, part.mantissa).tolist(), np.where(zero, 0, part.exponent).tolist()]
    if part.residue is not None:
        columns.append(part.residue.tolist())
    return list(zip(*columns, strict=True))


def integers(part: Numbers | Extremes) -> list[int]:
    """Numbers that are integers below 2**53, in any arithmetic."""
    if isinstance(part, Extremes) or part.digits is not None:
        return plain(part)
    found: list[int] = np.ldexp(part.mantissa, part.exponent).astype(np.int64).tolist()
    return found


def joined(numbers: Sequence[Numbers]) -> Numbers:
    """The scaled numbers of all, one after the other."""
    if len(numbers) == 1:
        return numbers[0]
    mantissas, exponents = [one.mantissa for one in numbers], [one.exponent for one in numbers]
    return Numbers(np.concatenate(mantissas), np.concatenate(exponents))


def appended(numbers: Sequence[Any]) -> Any:
    """All rows, one after the other: `Numbers` of one arithmetic, or `Extremes` of one column."""
    first = numbers[0]
    if isinstance(first, Extremes):
        return Extremes(pa.concat_arrays([one.values for one in numbers]))
    return Numbers(
        np.concatenate([one.mantissa for one in numbers]),
        np.concatenate([one.exponent for one in numbers]),
        None if first.digits is None else tuple(chain.from_iterable(one.digits for one in numbers)),
        None if first.residue is None else np.concatenate([one.residue for one in numbers]),
    )


def chosen(numbers: Numbers, rows: npt.NDArray[np.bool_]) -> Numbers:
    """The scaled numbers of these rows."""
    return Numbers(numbers.mantissa[rows], numbers.exponent[rows])


def ratio(over: Numbers, under: Numbers) -> Numbers:
    """`Scaled.ratio` before it is measured; the divisors are positive."""
    mantissa, shift = np.frexp(over.mantissa / under.mantissa)
    return Numbers(mantissa, shift + over.exponent - under.exponent)


def measured(numbers: Numbers, magnitude: Numbers | None = None) -> Measured:
    """`Scaled.measure` of every row."""
    mantissa = numbers.mantissa
    zero = mantissa == 0.0
    exponent = np.where(zero, 0, numbers.exponent)
    sign = np.sign(mantissa).astype(np.int8)
    if magnitude is not None:
        present = magnitude.mantissa != 0.0
        shift = np.where(present, magnitude.exponent, 0) - exponent
        bound = DROWNED * np.ldexp(magnitude.mantissa, np.clip(shift, -_BEYOND, 64))
        drowned = (shift > 64) | (np.abs(mantissa) <= bound)
        sign[np.where(zero, present, drowned)] = NO_SIGN
    log2 = _log2(np.abs(mantissa)) + exponent
    return Measured(_doubles(mantissa, exponent), sign, log2)


def measured_extremes(values: Any) -> Measured:
    """`extreme` of every value of an Arrow array; NULL measures nothing."""
    known = numbers_of(values.is_valid())
    if pa.types.is_int64(values.type):
        numbers = filled(values).astype(np.float64)
        log2 = _log2(np.abs(numbers))
    elif pa.types.is_float64(values.type):
        numbers = filled(values) + 0.0
        log2 = _log2_of_doubles(np.abs(numbers))
    else:
        return _each_extreme(values)
    sign = np.where(known, np.sign(numbers), NO_SIGN).astype(np.int8)
    return Measured(np.where(known, numbers, np.nan), sign, log2)


def exact_extremes(values: Any, unit: Unit) -> list[Measure]:
    """`extreme` with its digits, worked out once per distinct value."""
    codes = values.dictionary_encode()
    shown = [extreme(value, unit, exact=True) for value in codes.dictionary.to_pylist() if value is not None]
    return [NOTHING if code is None else shown[code] for code in codes.indices.to_pylist()]


def _each_extreme(values: Any) -> Measured:
    """Values of any type, one by one, each distinct value once."""
    codes = values.dictionary_encode()
    shown = [
        extreme(value, Unit(), exact=False) for value in codes.dictionary.to_pylist() if value is not None
    ]
    place = filled(codes.indices, len(shown))
    value = np.array([np.nan if one.value is None else one.value for one in shown] + [np.nan])
    log2 = np.array([np.nan if one.log2 is None else one.log2 for one in shown] + [np.nan])
    sign = np.array([NO_SIGN if one.sign is None else one.sign for one in shown] + [NO_SIGN], np.int8)
    return Measured(value[place], sign[place], log2[place])


def _doubles(mantissa: Doubles, exponent: Integers) -> Doubles:
    """The numbers as doubles; NULL beyond their range."""
    with np.errstate(over="ignore", under="ignore"):
        value: Doubles = np.ldexp(mantissa, np.clip(exponent, -_BEYOND, _BEYOND))
    value[mantissa == 0.0] = 0.0
    value[np.isinf(value)] = np.nan
    return value


def _log2(numbers: Doubles) -> Doubles:
    """log2 of each number, NULL of 0: as `math.log2` by the library of C, which Arrow calls, too; NumPy's own differs in the last bit
    on some machines.
    """
    import pyarrow.compute as pc

    zero = numbers == 0.0
    return np.where(zero, np.nan, numbers_of(pc.log2(of_numbers(np.where(zero, 1.0, numbers)))))


def _log2_of_doubles(numbers: Doubles) -> Doubles:
    """log2 of doubles that are not negative, as of the reduced fractions that they are."""
    mantissa, exponent = np.frexp(numbers)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    odd = whole // np.where(whole == 0, 1, whole & -whole)
    # The number is odd * 2**places.
    places = exponent.astype(np.int64) - 1 - (np.frexp(odd.astype(np.float64))[1] - 1)
    long = exponent > 64
    top = np.where(places < 0, odd, np.where(long, np.ldexp(mantissa, 64), numbers))
    return _log2(top) + np.where(places < 0, places, np.where(long, exponent - 64, 0))
