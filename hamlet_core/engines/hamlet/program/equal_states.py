"""Positions of accumulators whose totals are equal whatever the events are, as the event kernel counts them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.equal_states import Place, equal_totals
from hamlet_core.engines.hamlet.program.negations import Folds
from hamlet_core.sharing.options import Sharing


def equal_places(
    accumulators: Sequence[Accumulator], numbers: Sequence[int], folds: Folds, sharing: Sharing
) -> dict[Place, Place]:
    """Every position of these accumulators -> the first with equal totals that may share with it, or itself."""
    labels: dict[Place, Any] = {}
    ways: dict[Place, list[tuple[Place, Any]]] = defaultdict(list)
    for number in numbers:
        accumulator = accumulators[number]
        automaton, lookup = accumulator.analysed.automaton, folds.lookup
        starts = {
            one.position: (folds.gap(accumulator.query, automaton, one.gap), accumulator.lane)
            for one in automaton.starts
        }
        for one in automaton.positions:
            binding = lookup.codes[one.type], lookup.bit(accumulator.query, one.alias)
            labels[number, one.index] = (
                *binding,
                starts.get(one.index),
                accumulator.added(one.alias),
                sharing.label(accumulator.analysed.query.name, one.index),
            )
        for source, target, gap, condition in folds.edges(accumulator.query, automaton):
            ways[number, target].append(((number, source), (gap, condition)))
    return equal_totals(labels, ways) if sharing.equals else {place: place for place in labels}
