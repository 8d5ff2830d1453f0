"""The local predicates of a class of queries: which are different, whose they are, and for which events they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.input.frame import Predicates
from hamlet_core.language import syntax
from hamlet_core.pattern.automaton import Automaton
from hamlet_core.pattern.conditions import nameless
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.vectorised import local_mask
from hamlet_core.table.encode import Stream

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LocalPredicates:
    """What the queries say of single events, independent of any stream."""

    predicates: Predicates
    conditions: tuple[syntax.Expression, ...]
    """The different conditions; those that differ in their alias alone are one."""
    conjunctions: tuple[tuple[str, tuple[int, ...]], ...]
    """By bit: the type, and the conditions that must hold."""
    always: frozenset[str]
    """Types of which some position has no condition."""

    @classmethod
    def of(cls, queries: Sequence[AnalysedQuery]) -> LocalPredicates:
        """Bits for the different predicates of the queries."""
        bit: dict[tuple[int, str], int] = {}
        singles: dict[Any, tuple[int, syntax.Expression]] = {}
        bits: dict[tuple[str, tuple[int, ...]], int] = {}
        always = set()
        for place, query in enumerate(queries):
            for alias, type_name in sorted(_aliases(query.automaton)):
                own = [one.expression for one in query.local if one.alias == alias]
                if not own:
                    always.add(type_name)
                    continue
                numbers = {singles.setdefault(nameless(one), (len(singles), one))[0] for one in own}
                bit[place, alias] = bits.setdefault((type_name, tuple(sorted(numbers))), len(bits))
        conditions = tuple(expression for _, expression in singles.values())
        words = max(1, -(-len(bits) // 64))
        return cls(Predicates(bit, words), conditions, tuple(bits), frozenset(always))

    def masks(self, stream: Stream, text: str) -> list[Mask]:
        """By bit: for which events the predicate holds; each condition is evaluated once."""
        singles = [local_mask(one, stream.columns, unit=stream.unit, text=text) for one in self.conditions]
        return [reduce(np.logical_and, (singles[one] for one in numbers)) for _, numbers in self.conjunctions]


def _aliases(automaton: Automaton) -> set[tuple[str, str]]:
    own = {(position.alias, position.type) for position in automaton.positions}
    return own.union(*(_aliases(negation) for negation in automaton.negations))
