"""The conditions on pairs of events of a class of queries: which are different, and which edges of which query have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from hamlet_core.language.syntax import Attribute, Expression
from hamlet_core.pattern.conditions import nameless
from hamlet_core.pattern.meaning import AnalysedQuery


@dataclass(frozen=True, slots=True)
class PairConditions:
    """What the queries say of an event and the next one that a trend takes, independent of any stream."""

    different: tuple[tuple[Expression, ...], ...]
    """For `compile_pairs`; those that differ in aliases alone are one, as the two events are all that they are about."""
    of_edges: Mapping[tuple[int, str, str], int]
    """By (query, left alias, right alias) the place of its condition."""

    @classmethod
    def of(cls, queries: Sequence[AnalysedQuery]) -> PairConditions:
        """The conditions of these queries, by their places."""
        found: dict[tuple[int, str, str], list[Expression]] = {}
        for query, analysed in enumerate(queries):
            for one in analysed.adjacent:
                found.setdefault((query, one.left, one.right), []).append(one.expression)
        numbers: dict[Any, int] = {}
        of_edges: dict[tuple[int, str, str], int] = {}
        different: list[tuple[Expression, ...]] = []
        for edge, parts in found.items():
            number = numbers.setdefault(nameless(tuple(parts)), len(numbers))
            if number == len(different):
                different.append(tuple(map(_renamed, parts)))
            of_edges[edge] = number
        return cls(tuple(different), of_edges)


def _renamed(expression: Any) -> Any:
    """The expression with one alias for the earlier event and one for the later."""
    if isinstance(expression, Attribute):
        return replace(expression, alias="b" if expression.next else "a")
    if isinstance(expression, tuple):
        return tuple(map(_renamed, expression))
    if is_dataclass(expression) and not isinstance(expression, type):
        changed = {
            one.name: _renamed(getattr(expression, one.name))
            for one in fields(expression)
            if one.name != "span"
        }
        return replace(expression, **changed)
    return expression
