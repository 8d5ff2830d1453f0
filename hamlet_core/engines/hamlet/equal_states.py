"""Totals that are equal whatever the events are: positions of several accumulators that one lane serves.

Two positions have equal totals if they bind the same events and add the same of them, and if the ways into both come
from equal positions under equal conditions: queries with a common beginning share all of it, Kleene parts included.
Found by refining a partition until it is stable, as states of automata are merged (Hopcroft 1971), against the arrows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]
"""(accumulator, position)"""

Ways: TypeAlias = Sequence[tuple[Place, Hashable]]
"""The positions that an event may come from, each with the condition under which it may."""


def equal_totals(labels: Mapping[Place, Hashable], ways: Mapping[Place, Ways]) -> dict[Place, Place]:
    """Place -> the first place with equal totals; `labels` say all about a place but where its totals come from."""
    numbers, used, split = _numbered(labels, 0), len(labels), True
    alike = _alike(numbers, numbers)
    while alike and split:
        refined = _numbered({place: (numbers[place], _from(ways[place], numbers)) for place in alike}, used)
        split = len(set(refined.values())) > len({numbers[place] for place in alike})
        numbers.update(refined)
        alike, used = _alike(alike, numbers), used + len(refined)
    first: dict[int, Place] = {}
    return {place: first.setdefault(number, place) for place, number in numbers.items()}


def _from(ways: Ways, numbers: Mapping[Place, int]) -> Hashable:
    """Where these ways come from, in any order."""
    found = [(numbers[source], how) for source, how in ways]
    return tuple(sorted(found)) if len(found) > 1 else tuple(found)


def _numbered(labels: Mapping[Place, Hashable], first: int) -> dict[Place, int]:
    """Equal labels get equal numbers."""
    known: dict[Hashable, int] = {}
    return {place: known.setdefault(label, first + len(known)) for place, label in labels.items()}


def _alike(places: Iterable[Place], numbers: Mapping[Place, int]) -> list[Place]:
    """Those of the places that are not the only one with their number."""
    once: set[int] = set()
    more: set[int] = set()
    for place in places:
        (more if numbers[place] in once else once).add(numbers[place])
    return [place for place in places if numbers[place] in more]
