"""What the steps of a FUNNEL stand for: how far partitions get, and how long the whole takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hamlet_core.language import syntax
from hamlet_core.language.syntax import AggregateFunction, Subject

LEAST_STEPS = 2
"""Steps of a funnel that are reached: with one there is nothing to compare."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why steps are no funnel, and which of them is the reason."""

    step: syntax.Pattern
    message: str
    hint: str


def fault_of(steps: Sequence[syntax.Pattern]) -> Fault | None:
    """What is wrong with steps that fit the grammar; None for a funnel."""
    if isinstance(steps[0], syntax.Not):
        message = "a funnel begins with a step that is reached, and this one is negated"
        return Fault(steps[0], message, "NOT stands between two steps, or behind the last")
    for step in steps:
        inner = step.body if isinstance(step, syntax.Not | syntax.Plus) else step
        for part in inner.branches if isinstance(inner, syntax.Or) else (inner,):
            if isinstance(part, syntax.Plus) or (isinstance(part, syntax.Not) and part is not step):
                message = "in a funnel, NOT stands once, before a whole step that is not repeated"
                return Fault(part, message, "write NOT a, or NOT (a OR b)")
    if sum(not isinstance(step, syntax.Not) for step in steps) < LEAST_STEPS:
        message = "a funnel has at least two steps that are reached, and this one has one"
        return Fault(steps[0], message, "join steps by ->, as in view -> cart")
    return None


def funnel_returns(steps: Sequence[syntax.Pattern]) -> tuple[syntax.Aggregate, ...]:
    """`REACH` of every step that is not negated, of each branch of an OR, and `AVG(DURATION)`.

    >>> view, leave, buy = (syntax.Atom(name, name) for name in ("view", "leave", "buy"))
    >>> [item.label for item in funnel_returns((view, syntax.Not(leave), syntax.Plus(buy)))]
    ['REACH(view)', 'REACH(buy)', 'AVG(DURATION)']
    """
    reached = (atom for step in steps for atom in _atoms(step))
    reaches = (syntax.Aggregate(AggregateFunction.REACH, atom.alias, span=atom.span) for atom in reached)
    duration = syntax.Aggregate(AggregateFunction.AVG, span=steps[0].span, subject=Subject.DURATION)
    return *reaches, duration


def _atoms(step: syntax.Pattern) -> Iterator[syntax.Atom]:
    """The events that a step may bind; none of a negated one."""
    match step:
        case syntax.Atom():
            yield step
        case syntax.Plus(body):
            yield from _atoms(body)
        case syntax.Or(branches):
            for branch in branches:
                yield from _atoms(branch)
