"""What tables of the event kernel are made of: runs of moves, who reads a type, what answers a condition on two events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.jit.packed import Rows, rows
from hamlet_core.engines.hamlet.program.layout import BY_SCAN, BY_TOTAL, BY_TREE
from hamlet_core.engines.hamlet.program.negations import Folds
from hamlet_core.engines.hamlet.program.sets import set_numbers
from hamlet_core.engines.hamlet.program.tables import (
    NO_GAP,
    SCAN,
    merged,
)
from hamlet_core.predicates.pair_tables import Operation, PairTables


def ranges(items: list[tuple[int, ...]]) -> list[tuple[int, int, int, int]]:
    """(code, class, end of its runs) as (code, class, first, end): each begins where the one before ends."""
    firsts = [0, *(end for _, _, end in items)]
    return [(code, number, first, end) for first, (code, number, end) in zip(firsts, items, strict=False)]


def runs(size: int, moves: Any) -> Rows:
    """Moves (code, address, offset, numbers) as runs by code."""
    by_code = defaultdict(list)
    for code, *move in moves:
        by_code[code].append(tuple(move))
    return rows(size, ((code, *run) for code, found in by_code.items() for run in merged(found)), 3)


def lone_codes(
    blocks: Sequence[tuple[int, int]], folds: Folds, accumulators: Sequence[Accumulator]
) -> set[int]:
    """Codes whose events belong to one block (code, group) and nothing else."""
    codes, by_sets = [code for code, _ in blocks], set_numbers(accumulators)
    read = {code for fold in folds.folds for code, _ in fold[0]}
    for number in by_sets:
        read |= {folds.lookup.codes[name] for name in accumulators[number].analysed.automaton.types()}
    return {code for code in codes if codes.count(code) == 1} - read


def kinds(pairs: PairTables, condition: int, gap: int) -> tuple[int, ...]:
    """How a condition is answered: by trees of these operations, or by a scan."""
    first, end = pairs.starts[condition], pairs.starts[condition + 1]
    operation = int(pairs.code[first, 0]) if end == first + 1 else SCAN
    if gap != NO_GAP or not Operation.REQUIRE_EQUAL <= operation <= Operation.REQUIRE_AT_LEAST:
        return (SCAN,)
    if operation == Operation.REQUIRE_UNEQUAL:
        return (int(Operation.REQUIRE_LESS), int(Operation.REQUIRE_GREATER))
    return (operation,)


def access_of(pairs: PairTables, condition: int) -> int:
    """How members of a group find the older events that an event may follow."""
    if condition < 0:
        return BY_TOTAL
    return BY_SCAN if SCAN in kinds(pairs, condition, NO_GAP) else BY_TREE


def key_columns(pairs: PairTables, condition: int) -> tuple[int, int]:
    """The left and right keys of a condition that is one comparison."""
    if pairs.starts[condition] == pairs.starts[condition + 1]:
        return 0, 0
    _, left, right = pairs.code[pairs.starts[condition]]
    return int(left), int(right)
