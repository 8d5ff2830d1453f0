"""Shared events that match all members, in one tree: plain numbers stay in registers on their way down and up."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.automaton.trees import AT_LEAST, AT_MOST, EQUAL, GREATER
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_by_types, compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena, PlainNumbers, is_arena
from hamlet_core.engines.hamlet.numbers.registers import put_vector, vector_at, vector_sum
from hamlet_core.engines.hamlet.numbers.vectors import add_leaves, add_run, add_to_leaf, copy_run
from hamlet_core.engines.hamlet.program.layout import (
    C_FIELDS,
    C_KIND,
    C_LEFT,
    C_RIGHT,
    G_BLOCK,
    G_CODE,
    G_FIELDS,
    G_INPUTS,
    G_RUNNING,
    GROUP_FIELDS,
    M_CLASS_RANK,
    M_CLASS_SIZE,
    M_COEFFICIENTS,
    M_GROUP,
    P_ASKED,
    P_CLASS,
    P_GROUP,
    P_KEPT,
    X_LANES,
    X_STRIDE,
)
from hamlet_core.predicates.pair_tables import PairTables

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


_four, _eight, _twelve, _sixteen = _way_of_one(4), _way_of_one(8), _way_of_two(8, 4), _way_of_two(8, 8)


def _way(
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
    """The same on all lanes, of any numbers; at `own` is room for them."""


@compiled_by_types(_way, inline=True, strict=False)
def _way_of(arena: Arena, *_: Any) -> Any:
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
            here, there, node = inputs + lane, running + lane, root + lane
            if lanes - lane > 12:
                _sixteen(value, here, there, node, stride, leaves, leaf, size)
            elif lanes - lane > 8:
                _twelve(value, here, there, node, stride, leaves, leaf, size)
            elif lanes - lane > 4:
                _eight(value, here, there, node, stride, leaves, leaf, size)
            else:
                _four(value, here, there, node, stride, leaves, leaf, size)
            lane += 16

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


@compiled_part
def fold_ordered(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    group: int,
    begin: int,
    stop: int,
    own: int,
) -> int:
    """Fold events of a burst that match all members, alone at their time, as far as they come; the first other one.

    All members share, and `is_ordered`; at `own` is room for an event.
    """
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    code, lanes, stride = plan[about + G_CODE], memo[state + X_LANES], memo[state + X_STRIDE]
    inputs, running = plan[about + G_INPUTS], plan[about + G_RUNNING]
    number = plan[get(plan, P_ASKED, plan[about + G_BLOCK])]
    kept = plan[P_CLASS] + number * C_FIELDS
    size, tree = get(memo, M_CLASS_SIZE, number), get(memo, M_COEFFICIENTS, number)
    ranks, valid = get(memo, M_CLASS_RANK, number), pairs.integer_valid[plan[kept + C_LEFT]]
    down, itself = plan[kept + C_KIND] in (GREATER, AT_LEAST), plan[kept + C_KIND] in (AT_MOST, AT_LEAST)
    first, last = get(plan, P_KEPT, group), get(plan, P_KEPT, group + 1)
    event: int = begin
    while event < stop and events.code[_unsigned(event)] == code:
        if event + 1 < stop and events.time[_unsigned(event + 1)] == events.time[_unsigned(event)]:
            break
        every = valid[_unsigned(row_of(events, _unsigned(event)))]
        for at in range(first, last, 2):
            every = every and (~events.bits[event, plan[at]] & np.uint64(plan[at + 1])) == np.uint64(0)
        if not every:
            break
        place = memo[_unsigned(ranks + event)]
        leaf = size - place if down else place + 1
        leaves = leaf if itself else leaf - 1
        _way(arena, own, inputs, running, tree, lanes, stride, leaves, leaf, size)
        event += 1
    return event


@compiled_part
def is_ordered(plan: Packed, group: int) -> bool:
    """Whether events of a group, which add no attribute, find older ones in one tree, by comparing an attribute with itself."""
    asked = plan[P_ASKED] + get(plan, P_GROUP, group * G_FIELDS + G_BLOCK)
    if plan[asked + 1] != plan[asked] + 3:
        return False
    kept = plan[P_CLASS] + plan[plan[asked]] * C_FIELDS
    return plan[kept + C_KIND] > EQUAL and plan[kept + C_LEFT] == plan[kept + C_RIGHT]  # type: ignore[no-any-return]
