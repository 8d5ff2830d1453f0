"""Two sides of a comparison as int64 keys that stand in the same order as the values, and are equal where they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hamlet_core.predicates.one_sided import INT64_MAX, Integers, Leaf

_BEYOND = 2.0**63


def order_keys(left: Leaf, right: Leaf) -> tuple[Integers, Integers]:
    """Keys of two leaves, comparable with each other (and with nothing else).

    Integers are their own keys, doubles their bits; what is mixed or neither becomes its rank among all values.

    >>> from hamlet_core.table.kinds import Kind
    >>> three = Leaf(Kind.INTEGER, np.ones(2, bool), np.array([3, 5]))
    >>> order_keys(three, Leaf(Kind.DOUBLE, np.ones(2, bool), np.array([2.5, 5.0])))
    (array([1, 2]), array([0, 2]))
    """
    if left.is_integer and right.is_integer:
        return left.numbers, right.numbers
    if left.is_double and right.is_double:
        return double_keys(left.numbers), double_keys(right.numbers)
    if left.is_integer or right.is_integer:
        return _ranks_among_integers(left, right)
    return _ranks(left, right)


def double_keys(numbers: Any) -> Integers:
    """Doubles (no NaN) as int64 in the same order; both zeros are one.

    >>> double_keys(np.array([-1.5, -0.0, 0.0, 1.5])).argsort(kind="stable").tolist()
    [0, 1, 2, 3]
    """
    bits = (numbers + 0.0).view(np.int64)
    keys: Integers = bits ^ ((bits >> 63) & np.int64(INT64_MAX))
    return keys


def _ranks(left: Leaf, right: Leaf) -> tuple[Integers, Integers]:
    """Ranks by Python's order: exact between numbers of all classes, by code points for text."""
    sides = left.encoded(), right.encoded()
    found = {value for _, distinct in sides for value in distinct if value is not None}
    rank = {value: number for number, value in enumerate(sorted(found))}
    here, there = (
        np.array([rank.get(value, 0) for value in distinct], np.int64)[codes] for codes, distinct in sides
    )
    return here, there


def _ranks_among_integers(left: Leaf, right: Leaf) -> tuple[Integers, Integers]:
    """Ranks where one side has integers only: of the other side it matters between which of them a value lies."""
    (here, above), (there, beyond) = _whole(left), _whole(right)
    whole, part = np.concatenate([here, there]), np.concatenate([above, beyond])
    order = np.lexsort((part, whole))
    steps = (np.diff(whole[order]) != 0) | (np.diff(part[order]) != 0)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.concatenate([np.zeros(1, np.int64), np.cumsum(steps)])
    return ranks[: len(here)], ranks[len(here) :]


def _whole(leaf: Leaf) -> tuple[Integers, Integers]:
    """Numbers as the integer at or below them, and 1 where they are above it; -1 below all of int64."""
    if leaf.is_integer:
        return leaf.numbers, np.zeros(len(leaf.valid), np.int64)
    if leaf.is_double:
        numbers = leaf.numbers
        inside = (numbers >= -_BEYOND) & (numbers < _BEYOND)
        floor = np.floor(np.where(inside, numbers, 0.0))
        whole = np.where(inside, floor.astype(np.int64), np.where(numbers > 0, INT64_MAX, -INT64_MAX - 1))
        return whole, np.where(inside, numbers > floor, np.sign(numbers)).astype(np.int64)
    codes, distinct = leaf.encoded()
    pairs = np.array([_split(value) for value in distinct], np.int64)[codes]
    return pairs[:, 0], pairs[:, 1]


def _split(value: Any) -> tuple[int, int]:
    if value is None:
        return 0, 0
    if value > INT64_MAX:
        return INT64_MAX, 1
    if value < -INT64_MAX - 1:
        return -INT64_MAX - 1, -1
    floor = math.floor(value)
    return floor, int(value != floor)
