"""Conditions on pairs of events, compiled: the programs of `predicates.pair_tables`, run on a stack."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True)
def holds(tables: Any, condition: int, left_row: int, right_row: int) -> bool:
    """Whether a condition of the `PairTables` is TRUE for the event at `left_row` and the NEXT one at `right_row`."""
    code = tables.code
    for step in range(tables.starts[condition], tables.starts[condition + 1]):
        operation, left, right = code[step, 0], code[step, 1], code[step, 2]
        if not (tables.integer_valid[left, left_row] and tables.integer_valid[right, right_row]):
            return False
        if not _compares(operation, tables.integers[left, left_row], tables.integers[right, right_row]):
            return False
    return True


@njit(cache=True)
def _compares(comparison: int, x: Any, y: Any) -> bool:
    """Whether two numbers compare so; `comparison` is a place in `COMPARISONS`."""
    if comparison == 2:
        return bool(x < y)
    if comparison == 4:
        return bool(x > y)
    if comparison == 0:
        return bool(x == y)
    if comparison == 3:
        return bool(x <= y)
    if comparison == 5:
        return bool(x >= y)
    return bool(x != y)
