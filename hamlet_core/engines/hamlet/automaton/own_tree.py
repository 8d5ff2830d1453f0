"""An event whose older ones lie in the tree that it goes into itself: plain numbers stay in registers on their way."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.jit.decorators import compiled_by_types, compiled_inline
from hamlet_core.engines.hamlet.numbers.arenas import Arena, PlainNumbers, is_arena
from hamlet_core.engines.hamlet.numbers.registers import put_vector, vector_at, vector_sum
from hamlet_core.engines.hamlet.numbers.vectors import add_leaves, add_run, add_to_leaf, copy_run

_unsigned: Any = np.uint64


def _way_of_one(width: int) -> Any:
    """Compiled: what an event is on `width` lanes, gathered from a tree, added to running totals and to the tree.

    The tree's node 1 is `stride` behind the address `tree`.
    """

    def way(
        value: Any, inputs: int, running: int, tree: int, stride: int, leaves: int, leaf: int, size: int
    ) -> None:
        lanes, node = vector_at(value, _unsigned(inputs), width), leaves
        while node > 0:
            lanes = vector_sum(lanes, vector_at(value, _unsigned(tree + node * stride), width))
            node &= node - 1
        at = _unsigned(running)
        put_vector(value, at, vector_sum(vector_at(value, at, width), lanes))
        node = leaf
        while node <= size:
            at = _unsigned(tree + node * stride)
            put_vector(value, at, vector_sum(vector_at(value, at, width), lanes))
            node += node & -node

    return compiled_inline(way)


def _way_of_two(low: int, high: int) -> Any:
    """The same on `low + high` lanes."""
    behind: Any = np.uint64(low)

    def way(
        value: Any, inputs: int, running: int, tree: int, stride: int, leaves: int, leaf: int, size: int
    ) -> None:
        at, node = _unsigned(inputs), leaves
        lanes, others = vector_at(value, at, low), vector_at(value, at + behind, high)
        while node > 0:
            at = _unsigned(tree + node * stride)
            lanes = vector_sum(lanes, vector_at(value, at, low))
            others = vector_sum(others, vector_at(value, at + behind, high))
            node &= node - 1
        at = _unsigned(running)
        put_vector(value, at, vector_sum(vector_at(value, at, low), lanes))
        put_vector(value, at + behind, vector_sum(vector_at(value, at + behind, high), others))
        node = leaf
        while node <= size:
            at = _unsigned(tree + node * stride)
            put_vector(value, at, vector_sum(vector_at(value, at, low), lanes))
            put_vector(value, at + behind, vector_sum(vector_at(value, at + behind, high), others))
            node += node & -node

    return compiled_inline(way)


_one, _two, _four, _eight = _way_of_one(1), _way_of_one(2), _way_of_one(4), _way_of_one(8)
_twelve, _sixteen = _way_of_two(8, 4), _way_of_two(8, 8)


def through_tree(
    arena: Arena,
    own: int,
    inputs: int,
    running: int,
    tree: int,
    lanes: int,
    stride: int,
    leaves: int,
    leaf: int,
    size: int,
) -> None:
    """An event's numbers: `inputs` and the sum of the first `leaves`; added to totals at `running` and to one `leaf`.

    Of any class; `own` is the address of room for them. The tree has `size` leaves, with `stride` numbers each.
    """


@compiled_by_types(through_tree, inline=True, strict=False)
def _through_tree_of(arena: Arena, *_: Any) -> Any:
    def plain(
        arena: Arena,
        _own: int,
        inputs: int,
        running: int,
        tree: int,
        lanes: int,
        stride: int,
        leaves: int,
        leaf: int,
        size: int,
    ) -> None:
        value, lane, root = arena.value, 0, tree - stride
        while lane < lanes:
            here, there, node, left = inputs + lane, running + lane, root + lane, lanes - lane
            if left >= 16:
                _sixteen(value, here, there, node, stride, leaves, leaf, size)
                lane += 16
            elif left >= 12:
                _twelve(value, here, there, node, stride, leaves, leaf, size)
                lane += 12
            elif left >= 8:
                _eight(value, here, there, node, stride, leaves, leaf, size)
                lane += 8
            elif left >= 4:
                _four(value, here, there, node, stride, leaves, leaf, size)
                lane += 4
            elif left >= 2:
                _two(value, here, there, node, stride, leaves, leaf, size)
                lane += 2
            else:
                _one(value, here, there, node, stride, leaves, leaf, size)
                lane += 1

    def general(
        arena: Arena,
        own: int,
        inputs: int,
        running: int,
        tree: int,
        lanes: int,
        stride: int,
        leaves: int,
        leaf: int,
        size: int,
    ) -> None:
        copy_run(arena, own, inputs, lanes)
        add_leaves(arena, own, tree, lanes, stride, leaves)
        add_run(arena, running, own, lanes)
        add_to_leaf(arena, tree, own, lanes, stride, leaf, size)

    return plain if is_arena(arena, PlainNumbers) else general
