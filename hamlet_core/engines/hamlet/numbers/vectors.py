"""Contiguous runs of numbers of an arena: the inner loops of the event kernel, over lanes that lie side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.jit.decorators import compiled, compiled_by_types, compiled_part
from hamlet_core.engines.hamlet.numbers.arenas import (
    Arena,
    PlainNumbers,
    ScaledNumbers,
    is_arena,
    power,
    put_scaled,
)
from hamlet_core.engines.hamlet.numbers.semiring import add, add_product, copy, zero

LIMIT = 2.0**900
"""Plain numbers beyond it are not trusted."""

_unsigned: Any = np.uint64
FEW = 16
"""Lanes that are kept in registers."""
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


def _add(arena: Arena, index: int, source: int, count: int) -> None:
    """Numbers += as many others."""


@compiled_by_types(_add)
def _add_of(arena: Arena, index: int, source: int, count: int) -> Any:  # noqa: ARG001 - numba's protocol
    # Indices that cannot be negative make vector code of the loop; scaled numbers want slices for that.
    def scaled(arena: Arena, index: int, source: int, count: int) -> None:
        to = ScaledNumbers(arena.mantissa[index : index + count], arena.exponent[index : index + count])
        mantissa, exponent = arena.mantissa[source : source + count], arena.exponent[source : source + count]
        for k in range(count):
            here, there = to.exponent[k], exponent[k]
            top = max(here, there)
            put_scaled(to, k, to.mantissa[k] * power(here - top) + mantissa[k] * power(there - top), top)

    def plain(arena: Arena, index: int, source: int, count: int) -> None:
        to, other = arena.value[index : index + count], arena.value[source : source + count]
        for k in range(count):
            to[k] += other[k]

    def general(arena: Arena, index: int, source: int, count: int) -> None:
        for k in range(count):
            add(arena, _unsigned(index + k), _unsigned(source + k))

    if is_arena(arena, PlainNumbers):
        return plain
    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled
def zero_run(arena: Arena, index: int, count: int) -> None:
    """Numbers index .. index + count are 0."""
    for k in range(count):
        zero(arena, _unsigned(index + k))


@compiled_part
def copy_run(arena: Arena, index: int, source: int, count: int) -> None:
    """Copy `count` numbers; the runs do not overlap."""
    for k in range(count):
        copy(arena, _unsigned(index + k), _unsigned(source + k))


def _add_times(arena: Arena, index: int, source: int, count: int, factor: int) -> None:
    """See `add_times`."""


@compiled_by_types(_add_times)
def _add_times_of(arena: Arena, index: int, source: int, count: int, factor: int) -> Any:  # noqa: ARG001
    def plain(arena: Arena, index: int, source: int, count: int, factor: int) -> None:
        to, other, by = (
            arena.value[index : index + count],
            arena.value[source : source + count],
            arena.value[factor],
        )
        for k in range(count):
            to[k] += other[k] * by

    def general(arena: Arena, index: int, source: int, count: int, factor: int) -> None:
        for k in range(count):
            add_product(arena, _unsigned(index + k), _unsigned(source + k), _unsigned(factor))

    return plain if is_arena(arena, PlainNumbers) else general


@compiled_part
def add_times(arena: Arena, index: int, source: int, count: int, factor: int) -> None:
    """Add `count` numbers, each times the number at `factor`, to as many others; the runs do not overlap."""
    _add_times(arena, index, source, count, factor)


@compiled_part
def add_run(arena: Arena, index: int, source: int, count: int) -> None:
    """Add `count` numbers to as many others; the runs do not overlap."""
    _add(arena, index, source, count)


def _add_leaves(arena: Arena, index: int, tree: int, count: int, lanes: int, leaves: int) -> None:
    """See `add_leaves`."""


@compiled_by_types(_add_leaves)
def _add_leaves_of(arena: Arena, index: int, tree: int, count: int, lanes: int, leaves: int) -> Any:  # noqa: ARG001
    # A few lanes go down the tree in registers, four at a time: no store to wait for between two nodes.
    def plain(arena: Arena, index: int, tree: int, count: int, lanes: int, leaves: int) -> None:
        value, lane = arena.value, 0
        if count > FEW:
            node = leaves
            while node > 0:
                _add(arena, index, tree + (node - 1) * lanes, count)
                node &= node - 1
            return
        while lane + 4 <= count:
            first, second, third, fourth, node = 0.0, 0.0, 0.0, 0.0, leaves
            while node > 0:
                at = _unsigned(tree + (node - 1) * lanes + lane)
                first += value[at]
                second += value[at + ONE]
                third += value[at + TWO]
                fourth += value[at + THREE]
                node &= node - 1
            at = _unsigned(index + lane)
            value[at] += first
            value[at + ONE] += second
            value[at + TWO] += third
            value[at + THREE] += fourth
            lane += 4
        while lane < count:
            total, node = 0.0, leaves
            while node > 0:
                total += value[_unsigned(tree + (node - 1) * lanes + lane)]
                node &= node - 1
            value[_unsigned(index + lane)] += total
            lane += 1

    def general(arena: Arena, index: int, tree: int, count: int, lanes: int, leaves: int) -> None:
        node = leaves
        while node > 0:
            _add(arena, index, tree + (node - 1) * lanes, count)
            node &= node - 1

    return plain if is_arena(arena, PlainNumbers) else general


@compiled_part
def add_leaves(arena: Arena, index: int, tree: int, count: int, lanes: int, leaves: int) -> None:
    """Add `count` numbers of the first `leaves` leaves of a tree of partial sums, whose nodes have `lanes` numbers."""
    _add_leaves(arena, index, tree, count, lanes, leaves)


def _add_to_leaf(arena: Arena, tree: int, source: int, count: int, lanes: int, leaf: int, size: int) -> None:
    """See `add_to_leaf`."""


@compiled_by_types(_add_to_leaf)
def _to_leaf_of(arena: Arena, tree: int, source: int, count: int, lanes: int, leaf: int, size: int) -> Any:  # noqa: ARG001
    def plain(arena: Arena, tree: int, source: int, count: int, lanes: int, leaf: int, size: int) -> None:
        value, lane = arena.value, 0
        if count > FEW:
            node = leaf
            while node <= size:
                _add(arena, tree + (node - 1) * lanes, source, count)
                node += node & -node
            return
        while lane + 4 <= count:
            at = _unsigned(source + lane)
            first, second, third, fourth = value[at], value[at + ONE], value[at + TWO], value[at + THREE]
            node = leaf
            while node <= size:
                at = _unsigned(tree + (node - 1) * lanes + lane)
                value[at] += first
                value[at + ONE] += second
                value[at + TWO] += third
                value[at + THREE] += fourth
                node += node & -node
            lane += 4
        while lane < count:
            number, node = value[_unsigned(source + lane)], leaf
            while node <= size:
                value[_unsigned(tree + (node - 1) * lanes + lane)] += number
                node += node & -node
            lane += 1

    def general(arena: Arena, tree: int, source: int, count: int, lanes: int, leaf: int, size: int) -> None:
        node = leaf
        while node <= size:
            _add(arena, tree + (node - 1) * lanes, source, count)
            node += node & -node

    return plain if is_arena(arena, PlainNumbers) else general


@compiled_part
def add_to_leaf(arena: Arena, tree: int, source: int, count: int, lanes: int, leaf: int, size: int) -> None:
    """Add `count` numbers to a leaf, from 1 on, of a tree of `size` leaves."""
    _add_to_leaf(arena, tree, source, count, lanes, leaf, size)


def _lost(arena: Arena, index: int) -> bool:
    """Whether a number left the range in which it is right."""
    raise NotImplementedError


@compiled_by_types(_lost)
def _lost_of(arena: Arena, index: int) -> Any:  # noqa: ARG001 - numba's protocol
    def plain(arena: Arena, index: int) -> bool:
        return not abs(arena.value[index]) <= LIMIT

    def never(arena: Arena, index: int) -> bool:  # noqa: ARG001 - as the other
        return False

    return plain if is_arena(arena, PlainNumbers) else never


@compiled_part
def run_lost(arena: Arena, index: int, count: int) -> bool:
    """Whether any of `count` numbers left its range; only plain ones can."""
    lost = False
    for k in range(count):
        lost |= _lost(arena, index + k)
    return lost
