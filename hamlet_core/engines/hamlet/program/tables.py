"""The tables of an event program: what the event kernel reads of many accumulators, as plain arrays of whole numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hamlet_core.engines.hamlet.jit.packed import Rows, rows
from hamlet_core.predicates.pair_tables import Operation

NO_BIT = -1
NO_GAP = 0
"""The gap that is always clean."""

NEVER = -1
"""Instead of a gap: the position starts, or ends, no trend."""

SCAN = -1
"""The kind of a pair class that asks `holds` of every older event; other kinds are operations of `PairTables`."""


class Paths(NamedTuple):
    """Accumulators whose paths are trends. By block: it has an element per position of one type, of one group or of none.

    Runs are (address, offset in the block, numbers).
    """

    units: Rows
    """By code of an event's type: its blocks."""
    stride: int
    """The most numbers that the blocks of one event take."""
    lanes: int
    """Copies of the accumulators, each for windows that begin at another event."""
    size: Any
    """Numbers in a block."""
    slot: Any
    """Where a block begins behind the first of its code."""
    base: Any
    """Address of the inputs of a block that its own type does not change, kept from event to event."""
    always: Any
    """1: some position of the block has no local predicate."""
    masks: Rows
    """(offset, width, bit)"""
    starts: Rows
    """(offset, gap, lane)"""
    inputs: Rows
    """Runs that make the base: totals that other types feed."""
    loops: Rows
    """Runs of totals that the type itself feeds."""
    totals: Rows
    """Runs of totals that an event of the type is added to."""
    readers: Rows
    """Blocks whose base reads a total of this block."""
    loads: Rows
    """(column, address)"""
    attribute_sums: Rows
    """(offset of the attribute sum, offset of the count, address of the value)"""
    weights: Rows
    """(offset, address of the value)"""
    queues: Rows
    """(queue, offset)"""
    asked: Rows
    """Pair classes an arriving event reads: (class, first run, last run)."""
    asked_runs: Any
    """(lane, offset, numbers)"""
    fed: Rows
    """Pair classes that keep the events of the block: (class, first run, last run)."""
    fed_runs: Any


class Gaps(NamedTuple):
    """Negated patterns as folds of latest starts, and the gaps that name them."""

    folds: Rows
    """By gap: its negated patterns."""
    gaps: Rows
    """By negated pattern: the gaps that name it."""
    codes: Rows
    """By gap: blocks whose base depends on it."""
    waits: Rows
    """By gap: totals that wait there: (address, width, queue or -1)."""
    binding: Rows
    """By code: (position, bit)"""
    position: Any
    """[position]: (negated pattern, starts, ends, history or -1)"""
    incoming: Rows
    """By position: (source position, gap, condition or -1)"""
    histories: int


class Sets(NamedTuple):
    """Accumulators whose trends are counted by the set of positions that the last event may stand in."""

    accumulator: Any
    """[set accumulator]: (width, scans, keeps, first position)"""
    binding: Rows
    """By code: (set accumulator, position, bit), by accumulator and position."""
    position: Any
    """[position]: (gap of start or -1, gap of end or -1, side); positions of all accumulators after one another."""
    incoming: Rows
    """By position: (source position of its accumulator, gap, condition or -1)"""
    effects: Rows
    """By position: (component, column); component 0 is the weight."""
    value: int
    """Address of a number for an attribute."""
    words: int
    """Words of a set of positions of one accumulator."""


class Groups(NamedTuple):
    """Blocks whose members may share graphlets (HAMLET section 3); a member is an element of the block."""

    of_block: Any
    """By block: its group, or -1."""
    group: Any
    """[group]: the fields `G_...` of the layout."""
    touched: Any
    """[group, code]: flags `ENDS_BURSTS` and `COUNTS`."""
    members: Rows
    """By group: (offset in the block, numbers, bit)"""
    numbers: Rows
    """By group, for every number of its block: (member, offset of the member, offset of the number whose input is
    the same or -1, column or 0)"""
    columns: Rows
    """By group: address of the value that each column adds, from column 1 on."""
    factors: Rows
    """By group: address of the key by which every event multiplies."""
    sums: Rows
    """By group: (member, address, offset, numbers) of totals that the block is added to."""
    kept: Rows
    """By group: (word, mask) of the bits that members ask for."""
    runs: Rows
    """By group: (word or -1, shift, count, first member, 1 if all have the same bit): members and their bits."""
    touches: Rows
    """By code: the groups whose bursts its events end."""


class Lone(NamedTuple):
    """Blocks that alone read their type, of those runs of which take a way of their own."""

    block: Any
    """By code: its block, or -1."""
    kept: Rows
    """By code: (word, mask) of the bits that positions of the block ask for."""


class EventProgram(NamedTuple):
    """All tables; addresses are final."""

    paths: Paths
    steady: Lone
    """No event of their own type changes them: many events are one product."""
    ordered: Lone
    """All they read of their own type is one tree, in which the type is, too."""
    gaps: Gaps
    sets: Sets
    groups: Groups
    classes: Any
    """[pair class]: (kind, condition, gap, lanes, left column, right column, code)"""
    queues: Any
    """[queue]: (code, width, address)"""
    accumulators: Any
    """[accumulator]: (offset, width, sides, set accumulator or -1)"""
    ends: Rows
    """By accumulator: (side, address) of what its trends have come to."""
    numbers: Any
    """(first address of state, of the results of windows, of scratch for AND, of free room)"""


def masks_of(bits: Iterable[int]) -> list[tuple[int, int]]:
    """(word, mask) of some bits; a mask is a signed number with the bits of an unsigned one."""
    words: dict[int, int] = defaultdict(int)
    for bit in bits:
        if bit != NO_BIT:
            words[bit // 64] |= 1 << bit % 64
    return [(word, mask - (1 << 64) if mask >> 63 else mask) for word, mask in sorted(words.items())]


def steady(paths: Paths, blocks: Sequence[tuple[int, int]], codes: Collection[int]) -> Lone:
    """The steady ones of the blocks (code, group or -1); of the codes one block alone reads events."""

    def is_steady(block: int) -> bool:
        changing = (paths.loops, paths.asked, paths.fed, paths.queues)
        return all(len(table.of(block)) == 0 for table in changing)

    return _lone(paths, blocks, codes, is_steady)


def ordered(paths: Paths, classes: Any, blocks: Sequence[tuple[int, int]], codes: Collection[int]) -> Lone:
    """The blocks (code, group or -1) that compare an attribute with itself; of the codes one block alone reads events."""

    def is_ordered(block: int) -> bool:
        if len(paths.loops.of(block)) or len(paths.queues.of(block)):
            return False
        whole = [0, int(paths.size[block])]
        asked, fed, totals = (table.of(block).tolist() for table in (paths.asked, paths.fed, paths.totals))
        if not len(asked) == len(fed) == len(totals) == 1 or totals[0][1:] != whole:
            return False
        (number, *into), (other, *out_of) = asked[0], fed[0]
        runs = paths.asked_runs[slice(*into)].tolist(), paths.fed_runs[slice(*out_of)].tolist()
        kind, _, _, lanes, left, right, code, group = classes[number].tolist()
        return (
            number == other
            and all(one == [[0, *whole]] for one in runs)
            and kind > Operation.REQUIRE_EQUAL
            and left == right
            and (lanes, code, group) == (whole[1], blocks[block][0], -1)
        )

    return _lone(paths, blocks, codes, is_ordered)


def _lone(
    paths: Paths, blocks: Sequence[tuple[int, int]], codes: Collection[int], wanted: Callable[[int], bool]
) -> Lone:
    found = np.full(len(paths.units.start) - 1, -1, np.int64)
    for code in codes:
        block = int(paths.units.item[paths.units.start[code]][0])
        if blocks[block][1] < 0 and wanted(block):
            found[code] = block
    kept = [
        (code, word, mask)
        for code, block in enumerate(found.tolist())
        if block >= 0
        for word, mask in masks_of(int(bit) for *_, bit in paths.masks.of(block))
    ]
    return Lone(found, rows(len(found), kept, 2))


def merged(moves: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Moves (there, here, numbers) with those that continue one another joined.

    >>> merged([(7, 2, 1), (5, 0, 2), (9, 0, 2)])
    [(5, 0, 3), (9, 0, 2)]
    """
    found: list[tuple[int, int, int]] = []
    for move in sorted(moves, key=lambda move: (move[0] - move[1], move[1])):
        there, here, count = found[-1] if found else (0, 0, 0)
        if found and (there + count, here + count) == move[:2]:
            found[-1] = there, here, count + move[2]
        else:
            found.append(move)
    return found
