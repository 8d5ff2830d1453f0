"""The steps of a query that returns several REACH, and which of them nobody gets to another one without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hamlet_core.language import syntax
from hamlet_core.language.syntax import AggregateFunction

_LEAST = 2

_Branch: TypeAlias = tuple[Literal["part", "choice"], int]
_Path: TypeAlias = tuple[_Branch, ...]
"""The way from a pattern to an event in it: parts of sequences, and choices, of which one may be left out."""


@dataclass(frozen=True, slots=True)
class Step:
    """One REACH of a query, in the order of RETURN."""

    name: str
    """The type of its events, with the alias where two steps have one type."""
    aggregate: str
    """As in the column `aggregate` of a result: `REACH(v)`."""
    first: int | None
    """The first step of all that whoever gets here has passed; None for those that begin."""
    before: int | None
    """The last of them: how many of these get here is the conversion. Never a choice that others do not take."""


def funnel_steps(query: syntax.Query) -> tuple[Step, ...]:
    """The steps of a query with at least two REACH, whether its text says FUNNEL or not; else none.

    >>> from hamlet_core.language.parser import parse_syntax
    >>> (query,) = parse_syntax("FUNNEL f: View v -> (Cart OR Wish) -> Pay p BY user WITHIN 1 d").queries
    >>> [(step.name, step.first, step.before) for step in funnel_steps(query)]
    [('View', None, None), ('Cart', 0, 0), ('Wish', 0, 0), ('Pay', 0, 0)]
    """
    asked = [one for one in query.aggregates if one.function is AggregateFunction.REACH]
    if len(asked) < _LEAST:
        return ()
    events = list(_events(query.pattern, ()))
    bound = [_bound(str(one.alias), events) for one in asked]
    types = [{atom.type for _, atom in places} for places in bound]
    order = [events.index(places[0]) if places else -1 for places in bound]
    steps = list[Step]()
    for place, one in enumerate(asked):
        passed = [other for other in range(len(asked)) if _always_before(bound[other], bound[place])]
        passed.sort(key=order.__getitem__)
        kinds, alias = sorted(types[place]), str(one.alias)
        same = sum(other == types[place] for other in types) > 1
        name = alias if not kinds or kinds[0] == alias else f"{kinds[0]} {alias}" if same else kinds[0]
        steps.append(Step(name, one.label, passed[0] if passed else None, passed[-1] if passed else None))
    return tuple(steps)


_Events: TypeAlias = Sequence[tuple[_Path, syntax.Atom]]


def _events(pattern: syntax.Pattern, path: _Path) -> Iterator[tuple[_Path, syntax.Atom]]:
    """Every event that a trend may bind, with its path, in the order of the text."""
    match pattern:
        case syntax.Atom():
            yield path, pattern
        case syntax.Plus(body):
            yield from _events(body, path)
        case syntax.Star(body) | syntax.Optional(body):
            yield from _events(body, (*path, ("choice", 0)))
        case syntax.Seq(parts):
            for place, part in enumerate(parts):
                yield from _events(part, (*path, ("part", place)))
        case syntax.Or(branches):
            for place, branch in enumerate(branches):
                yield from _events(branch, (*path, ("choice", place)))
        case syntax.Not() | syntax.And():  # no REACH is asked of either
            return


def _bound(name: str, events: _Events) -> _Events:
    """The events of an alias, or of a type that stands for it."""
    by_alias = [one for one in events if one[1].alias == name]
    return by_alias or [one for one in events if one[1].type == name]


def _always_before(earlier: _Events, later: _Events) -> bool:
    """Whether every way to `later` leads through `earlier`."""
    return bool(later) and all(any(_leads(one, other) for one, _ in earlier) for other, _ in later)


def _leads(earlier: _Path, later: _Path) -> bool:
    common = 0
    while common < min(len(earlier), len(later)) and earlier[common] == later[common]:
        common += 1
    if common == min(len(earlier), len(later)):
        return False
    (kind, place), (other, later_place) = earlier[common], later[common]
    choices = any(kind == "choice" for kind, _ in earlier[common + 1 :])
    return kind == other == "part" and place < later_place and not choices
