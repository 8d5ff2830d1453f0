"""Where the states of a merged template stand in a picture: steps go from left to right, and cross little."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hamlet_core.template.merged import MergedTemplate

_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """The (column, row) of each state; rows are centred around 0."""

    places: tuple[tuple[float, float], ...]

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return 1 + int(max(column for column, _ in self.places))

    @property
    def rows(self) -> float:
        """From the top row to the bottom row."""
        heights = [row for _, row in self.places]
        return max(heights) - min(heights)


def layout(template: MergedTemplate) -> Layout:
    """The layout of a template: a state stands right of all that come before it on a way without circles."""
    depths = _depths(template)
    columns: dict[int, list[int]] = defaultdict(list)
    for state, depth in enumerate(depths):
        columns[depth].append(state)
    _untangle(template, columns)
    rows = {state: row for states in columns.values() for state, row in _centred(states)}
    return Layout(tuple((float(depths[state]), rows[state]) for state in range(len(depths))))


def _depths(template: MergedTemplate) -> list[int]:
    """The longest way to each state over steps that lead on in `_order`."""
    place = {state: number for number, state in enumerate(_order(template))}
    depths = [0] * len(template.states)
    for source, target in sorted(_steps(template), key=lambda step: (place[step[0]], place[step[1]])):
        if place[source] < place[target]:
            depths[target] = max(depths[target], depths[source] + 1)
    return depths


def _order(template: MergedTemplate) -> list[int]:
    """The states so that few steps lead back: what nothing leads to comes first, what leads nowhere last.

    Source: the greedy heuristic of Eades, Lin and Smyth for feedback arcs (1993).
    """
    steps, left = set(_steps(template)), set(range(len(template.states)))
    first: list[int] = []
    last: list[int] = []
    while left:
        inside = [step for step in steps if left.issuperset(step)]
        leaving, coming = Counter(source for source, _ in inside), Counter(target for _, target in inside)
        if ends := sorted(left - leaving.keys()):
            last = [*ends, *last]
            left.difference_update(ends)
            continue
        chosen = min(left, key=lambda state: (coming[state] > 0, coming[state] - leaving[state], state))
        first.append(chosen)
        left.remove(chosen)
    return [*first, *last]


def _steps(template: MergedTemplate) -> Iterator[tuple[int, int]]:
    """The steps between two different states."""
    for step in template.steps:
        if step.source is not None and step.target is not None and step.source != step.target:
            yield step.source, step.target


def _untangle(template: MergedTemplate, columns: Mapping[int, list[int]]) -> None:
    """Order the states of each column by the middle of their neighbours in the columns beside it."""
    beside: dict[int, list[int]] = defaultdict(list)
    for source, target in _steps(template):
        beside[source].append(target)
        beside[target].append(source)
    rows = {state: row for states in columns.values() for state, row in _centred(states)}
    for sweep in range(_SWEEPS):
        for column in sorted(columns, reverse=bool(sweep % 2)):
            wanted = {
                state: _middle([rows[one] for one in beside[state]], rows[state]) for state in columns[column]
            }
            columns[column].sort(key=lambda state, wanted=wanted: (wanted[state], state))  # type: ignore[misc]
            rows |= dict(_centred(columns[column]))


def _centred(states: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Each state of a column with its row; the middle of the column is row 0."""
    return ((state, place - (len(states) - 1) / 2) for place, state in enumerate(states))


def _middle(rows: Sequence[float], otherwise: float) -> float:
    return sum(rows) / len(rows) if rows else otherwise
