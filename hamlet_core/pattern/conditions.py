"""WHERE conjuncts sorted into the three kinds that have a meaning: equivalence, local, adjacent (SEMANTICS 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass

from hamlet_core.language import syntax


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
