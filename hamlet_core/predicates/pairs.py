"""Adjacent conditions for compiled code: two ordered columns of keys where that says it all, else a small program.

A condition holds for a row of the left alias and a row of NEXT where all its parts are TRUE, exactly as
`evaluate.compile_adjacent` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hamlet_core.language.syntax import ComparisonOperator, Conjunction, Expression
from hamlet_core.predicates.evaluate import compile_adjacent
from hamlet_core.predicates.one_sided import Columns, Integers, Mask, attributes
from hamlet_core.predicates.pair_program import Programmer
from hamlet_core.predicates.pair_tables import COMPARISONS, Operation, PairTables, Shelves, Steps
from hamlet_core.predicates.separation import Atom, Separator
from hamlet_core.table.stream import Column

__all__ = ["Ordered", "PairTables", "compile_pairs"]


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """TRUE where `left_valid[a] and right_valid[b] and left[a] operator right[b]`, for rows a and b; else not.

    The keys are int64, one per row, and comparable with each other only; all arrays are views of the tables.
    """

    operator: ComparisonOperator
    left: Integers
    left_valid: Mask
    right: Integers
    right_valid: Mask


def compile_pairs(
    conditions: Sequence[Sequence[Expression]],
    columns: Mapping[str, Column],
    *,
    unit: int,
    text: str = "",
) -> tuple[PairTables, tuple[tuple[Ordered, ...] | None, ...]]:
    """Each condition (all its expressions must be TRUE) as a program; and as ordered keys, or None where it has none.

    `unit` is microseconds per tick of the stream. Raises as `evaluate.compile_adjacent`, and StreamError E218 where
    only a table of all pairs of different events could answer, and it would be too large.
    """
    for expression in (one for condition in conditions for one in condition):
        empty = {
            read.name: _emptied(columns[read.name]) for read in attributes(expression) if read.name in columns
        }
        compile_adjacent(expression, empty, unit=unit, text=text)
    rows = next((len(column.data) for column in columns.values()), 0)
    known, shelves = Columns(columns, unit, text), Shelves(rows)
    separator = Separator(known, shelves)
    programs, separated = [], []
    for condition in conditions:
        steps, atoms = _condition(tuple(part for one in condition for part in _parts(one)), separator)
        programs.append(steps)
        separated.append(atoms)
    tables = shelves.packed(programs)
    return tables, tuple(None if atoms is None else _ordered(atoms, tables) for atoms in separated)


def _parts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Conjunction):
        for part in expression.parts:
            yield from _parts(part)
    else:
        yield expression


def _condition(parts: tuple[Expression, ...], separator: Separator) -> tuple[Steps, tuple[Atom, ...] | None]:
    """The program of a condition, ordered keys first; and its atoms, if it is nothing else."""
    atoms: list[Atom] = []
    rest: list[Expression] = []
    for part in parts:
        found = separator.atoms(part)
        if found is None:
            rest.append(part)
        else:
            atoms += [atom for atom in found if atom not in atoms]
    required = tuple(
        (Operation.REQUIRE_EQUAL + COMPARISONS.index(operator), left, right)
        for operator, left, right in atoms
    )
    program = Programmer(separator)
    stacked = tuple(step for part in rest for step in (*program.truth(part), (Operation.REQUIRE, 0, 0)))
    return required + stacked, None if rest else tuple(atoms)


def _ordered(atoms: tuple[Atom, ...], tables: PairTables) -> tuple[Ordered, ...]:
    return tuple(
        Ordered(
            operator,
            tables.integers[left],
            tables.integer_valid[left],
            tables.integers[right],
            tables.integer_valid[right],
        )
        for operator, left, right in atoms
    )


def _emptied(column: Column) -> Column:
    """A column of the same kind without values: enough to check an expression."""
    return Column(column.name, column.kind, column.scale, [])
