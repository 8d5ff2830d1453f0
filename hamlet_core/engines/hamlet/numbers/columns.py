"""Attribute columns as the kernels' arithmetics want them: doubles, whole numbers times a power of two, ordered keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.algebra.aggregates import Component, Role
from hamlet_core.algebra.arithmetic import Unit
from hamlet_core.engines.hamlet.accumulators import UNIT_WEIGHT
from hamlet_core.predicates.order_keys import double_keys
from hamlet_core.table.arrow import of_list, of_numbers
from hamlet_core.table.columns import filled, validity
from hamlet_core.table.encode import Column
from hamlet_core.table.kinds import Kind

Integers: TypeAlias = npt.NDArray[np.int64]
Doubles: TypeAlias = npt.NDArray[np.float64]

DIGIT = 62
"""A whole number wider than int64 is cut into digits of so many bits, each summed on its own."""

_NEUTRAL = 2**63 - 2
_WHOLE = frozenset({Kind.INTEGER, Kind.TICK})
_FRACTION_BITS = 53


@dataclass(frozen=True, slots=True)
class Whole:
    """Values as `sum of significand * 2**shift * 2**(DIGIT * place) / 2**scale`, in parts of the column's unit.

    Significands are signed and 0 where NULL, one array per place; `shift` is not negative.
    """

    significands: tuple[Integers, ...]
    shift: npt.NDArray[np.int32] | None
    """None: 0 everywhere."""
    scale: int


@dataclass(frozen=True, slots=True)
class Keys:
    """Values as int64 in the same order (descending for MAX), `NEUTRAL` where NULL."""

    keys: Integers
    back: Any
    """Key -> value: None for integers, 'double', or the sorted list of values that keys number."""
    descending: bool


def doubles(column: Column) -> Doubles:
    """The values as doubles, 0.0 where NULL."""
    array = column.array
    if column.kind is Kind.NULL:
        return np.zeros(len(array))
    if column.kind is Kind.DECIMAL:
        array = array.cast(pa.float64())
    return np.asarray(filled(array), np.float64)


def present(column: Column) -> Doubles:
    """1.0 where there is a value, 0.0 where NULL."""
    valid = validity(column.array)
    return np.ones(len(column.array)) if valid is None else valid.astype(np.float64)


def whole(column: Column) -> Whole:
    """The values exactly."""
    if column.kind is Kind.NULL:
        return Whole((np.zeros(len(column.array), np.int64),), None, 0)
    if column.kind in _WHOLE:
        return Whole((np.asarray(filled(column.array), np.int64),), None, 0)
    if column.kind is Kind.DOUBLE:
        return _whole_doubles(np.asarray(filled(column.array), np.float64))
    return _digits(_parts(column))


def _whole_doubles(values: Doubles) -> Whole:
    mantissa, exponent = np.frexp(values)
    significand = np.ldexp(mantissa, _FRACTION_BITS).astype(np.int64)
    least = significand & -significand  # the lowest bit that is set
    zeros = np.where(significand == 0, 0, np.log2(np.maximum(least, 1).astype(np.float64))).astype(np.int64)
    significand >>= zeros
    low = np.where(significand == 0, 0, exponent - _FRACTION_BITS + zeros)
    bottom = min(int(low.min(initial=0)), 0)
    return Whole((significand,), (low - bottom).astype(np.int32), -bottom)


def _parts(column: Column) -> list[int]:
    unit = Unit(column.kind, column.scale)
    return [0 if value is None else unit.parts(value) for value in column.values]


def _digits(numbers: list[int]) -> Whole:
    """Python integers in digits with the sign of the whole, so that no digit is larger than it; one place if all fit."""
    places = []
    while True:
        if all(-(2**63) < number < 2**63 for number in numbers):
            places.append(np.array(numbers, np.int64))
            return Whole(tuple(places), None, 0)
        signs = [-1 if number < 0 else 1 for number in numbers]
        pairs = list(zip(signs, numbers, strict=True))
        places.append(np.array([sign * (abs(number) & (2**DIGIT - 1)) for sign, number in pairs], np.int64))
        numbers = [sign * (abs(number) >> DIGIT) for sign, number in pairs]


def keys(column: Column, *, descending: bool) -> Keys:
    """Keys for MIN, or (`descending`) for MAX: the smaller key wins."""
    back: Any
    if column.kind is Kind.DOUBLE:
        found, back = double_keys(np.asarray(filled(column.array), np.float64)), "double"
    elif column.kind in _WHOLE and _fits(column):
        found, back = np.asarray(filled(column.array), np.int64), None
    else:
        values = column.values
        back = sorted({value for value in values if value is not None})
        rank = {value: place for place, value in enumerate(back)}
        found = np.array([0 if value is None else rank[value] for value in values], np.int64)
    found = ~found if descending else found
    valid = validity(column.array)
    return Keys(found if valid is None else np.where(valid, found, _NEUTRAL), back, descending)


def _fits(column: Column) -> bool:
    """Whether no value is so near the ends of int64 that its key would mean something else."""
    numbers = np.asarray(filled(column.array), np.int64)
    return bool(len(numbers) == 0 or (numbers.min() > -(2**63) + 1 and numbers.max() < _NEUTRAL))


def values_of_keys(found: Integers, keys: Keys, column: Column) -> Any:
    """An Arrow array of the values that keys stand for; NULL for `NEUTRAL`."""
    empty = found >= _NEUTRAL
    plain = np.where(empty, 0, ~found if keys.descending else found)
    if keys.back is None:
        return of_numbers(plain, null=empty)
    if isinstance(keys.back, str):
        bits = plain ^ ((plain >> 63) & np.int64(2**63 - 1))
        return of_numbers(bits.view(np.float64), null=empty)
    items = [
        None if none else keys.back[key] for key, none in zip(plain.tolist(), empty.tolist(), strict=True)
    ]
    return of_list(items, column.array.type if keys.back else pa.bool_())


def scaled_columns(
    parts: Iterable[Component], columns: dict[str, Column]
) -> tuple[dict[Component, int], Doubles]:
    """Column numbers of components in a table of doubles, and the table [column, row]."""
    numbers: dict[Component, int] = {}
    known: dict[tuple[str, Role], int] = {}
    for part in parts:
        if part.attribute is None:
            numbers[part] = UNIT_WEIGHT
            continue
        if part.role is Role.PRESENT and validity(columns[part.attribute].array) is None:
            numbers[part] = UNIT_WEIGHT
            continue
        numbers[part] = known.setdefault((part.attribute, part.role), len(known))
    rows = len(columns[next(iter(known))[0]].array) if known else 0
    table = np.empty((len(known), rows))
    for (attribute, role), number in known.items():
        made = present(columns[attribute]) if role is Role.PRESENT else doubles(columns[attribute])
        table[number] = np.abs(made) if role is Role.MAGNITUDE else made
    return numbers, table
