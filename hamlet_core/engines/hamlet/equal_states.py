"""Totals that are equal whatever the events are: positions of several accumulators that one lane serves.

Two positions have equal totals if they bind the same events and add the same of them, and if the ways into both come
from equal positions under equal conditions: queries with a common beginning share all of it, Kleene parts included.
Found by refining a partition until it is stable, as states of automata are merged (Hopcroft 1971), against the arrows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]
"""(accumulator, position)"""

Ways: TypeAlias = Sequence[tuple[Place, Hashable]]
"""The positions that an event may come from, each with the condition under which it may."""


def equal_totals(labels: Mapping[Place, Hashable], ways: Mapping[Place, Ways]) -> dict[Place, Place]:
    """Place -> the first place with equal totals; `labels` say all about a place but where its totals come from."""
    numbers, classes, before = *_numbered(labels), 0
    while before < classes < len(numbers):
        before = classes
        refined = {place: (number, _from(ways[place], numbers)) for place, number in numbers.items()}
        numbers, classes = _numbered(refined)
    first: dict[int, Place] = {}
    return {place: first.setdefault(number, place) for place, number in numbers.items()}


def _from(ways: Ways, numbers: Mapping[Place, int]) -> Hashable:
    """Where these ways come from, in any order."""
    found = [(numbers[source], how) for source, how in ways]
    return tuple(sorted(found)) if len(found) > 1 else tuple(found)


def _numbered(labels: Mapping[Place, Hashable]) -> tuple[dict[Place, int], int]:
    """Equal labels get equal numbers; and how many different ones there are."""
    known: dict[Hashable, int] = {}
    return {place: known.setdefault(label, len(known)) for place, label in labels.items()}, len(known)
