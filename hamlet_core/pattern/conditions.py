"""WHERE conjuncts sorted into the three kinds that have a meaning: equivalence, local, adjacent (SEMANTICS 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from hamlet_core.language import syntax

KINDS = (
    "a part of WHERE is an equivalence [a, b], a local condition over one alias (a.x < 5), "
    "or an adjacent one over an alias and its NEXT (a.x < NEXT(b).x)"
)
"""The kinds of conjuncts, for whoever wrote another."""


@dataclass(frozen=True, slots=True)
class Local:
    """A condition on every event bound to `alias`."""

    alias: str
    expression: syntax.Expression


@dataclass(frozen=True, slots=True)
class Adjacent:
    """A condition on every direct edge from an event of `left` to one of `right` (written NEXT(right))."""

    left: str
    right: str
    expression: syntax.Expression


@dataclass(frozen=True, slots=True)
class Unclassified:
    """A conjunct of no kind: it reads these attributes together."""

    expression: syntax.Expression


def attributes(expression: object) -> Iterator[syntax.Attribute]:
    """Every attribute an expression reads, from left to right."""
    if isinstance(expression, syntax.Attribute):
        yield expression
    elif isinstance(expression, tuple):
        for item in expression:
            yield from attributes(item)
    elif is_dataclass(expression):
        for field in fields(expression):
            if field.name != "span":
                yield from attributes(getattr(expression, field.name))


def split(expression: syntax.Expression) -> Iterator[syntax.Expression]:
    """The conjuncts of a condition: parentheses around an AND change nothing, it is TRUE where all parts are."""
    if isinstance(expression, syntax.Conjunction):
        for part in expression.parts:
            yield from split(part)
    else:
        yield expression


def classify(expression: syntax.Expression) -> Local | Adjacent | Unclassified:
    """The kind of one conjunct, by the aliases it reads."""
    read = tuple(attributes(expression))
    here = {attribute.alias for attribute in read if not attribute.next}
    there = {attribute.alias for attribute in read if attribute.next}
    if len(here) == 1 and not there:
        return Local(here.pop(), expression)
    if len(here) == 1 and len(there) == 1:
        return Adjacent(here.pop(), there.pop(), expression)
    return Unclassified(expression)


def bare_word(expression: syntax.Expression) -> str | None:
    """The first text in a comparison that reads no attribute: a word may have been meant as one."""
    if next(attributes(expression), None) is not None or not isinstance(expression, syntax.Comparison):
        return None
    texts = (side.value for side in (expression.left, expression.right) if isinstance(side, syntax.Literal))
    return next((text for text in texts if isinstance(text, str)), None)


def kindless(expression: syntax.Expression) -> str:
    """Why a conjunct is of no kind, as the end of a sentence that names it."""
    read = tuple(attributes(expression))
    here = _listed(attribute.alias for attribute in read if not attribute.next)
    there = _listed(f"NEXT({attribute.alias})" for attribute in read if attribute.next)
    if not read:
        return "reads no attribute, so it says the same of every event"
    if not there:
        return f"reads {here} together: it belongs to no single event"
    if not here:
        return f"reads {there} without the alias of the event before it"
    return f"reads {here} and {there}: too many for one step from an event to the next"


def _listed(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(names))


def nameless(expression: Any) -> Any:
    """What is equal for conditions that mean the same of any events, whatever their aliases and places in the text.

    Numbers keep their types: 2 and 2.0 are equal in Python, but not what they do to integers.
    """
    if isinstance(expression, tuple):
        return tuple(nameless(item) for item in expression)
    if not is_dataclass(expression) or isinstance(expression, type):
        return type(expression), expression
    changes = {
        one.name: None
        if one.name == "span"
        else ""
        if one.name == "alias" and isinstance(expression, syntax.Attribute)
        else nameless(getattr(expression, one.name))
        for one in fields(expression)
    }
    return type(expression), tuple(changes.items())
