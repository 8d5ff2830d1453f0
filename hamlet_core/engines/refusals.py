"""What the paper of an engine has no rule for is refused, by name and place (E302)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

from hamlet_core.errors import QueryMeaningError
from hamlet_core.language.syntax import (
    And,
    Atom,
    Mode,
    Not,
    Optional,
    Or,
    Pattern,
    Plus,
    Seq,
    Span,
    Star,
    Subject,
)
from hamlet_core.pattern.meaning import AnalysedQuery

Refusal: TypeAlias = tuple[str, Span | None]
"""What an engine does not take, and where it stands."""

_NAMES: dict[type[Pattern], str] = {
    Plus: "Kleene plus",
    Star: "Kleene star",
    Optional: "an optional part",
    Not: "NOT",
    Or: "OR of patterns",
    And: "AND of patterns",
}


def refuse(engine: str, takes: str, found: Iterator[Refusal], analysed: AnalysedQuery, text: str) -> None:
    """Raise QueryMeaningError E302 for the first of what an engine, which `takes` something else, has no rule for."""
    query = analysed.query
    for what, span in found:
        line, column = span or query.span or (1, 1)
        raise QueryMeaningError(
            f"query {query.name}: the engine {engine} {takes}, and has no rule for {what}",
            code="E302",
            hint="use engine='hamlet' or engine='greta', which answer every query",
            line=line,
            column=column,
            text=text,
        )


def in_pattern(pattern: Pattern, refused: Collection[type[Pattern]]) -> Iterator[Refusal]:
    """The parts of these kinds, outermost first. What NOT negates is one event type where NOT itself is taken."""
    if type(pattern) in refused:
        yield _NAMES[type(pattern)], pattern.span
        return
    match pattern:
        case Atom() | Not(Atom()):
            return
        case Not():
            yield "NOT of anything but one event type", pattern.span
        case Seq(inner) | Or(inner):
            for part in inner:
                yield from in_pattern(part, refused)
        case Plus(body) | Star(body) | Optional(body):
            yield from in_pattern(body, refused)
        case And(left, right):
            yield from in_pattern(left, refused)
            yield from in_pattern(right, refused)


def in_clauses(analysed: AnalysedQuery) -> Iterator[Refusal]:
    """A matching mode other than skip-till-any-match, and COUNT(DISJOINT)."""
    query = analysed.query
    if query.mode is not Mode.ANY:
        yield f"SEMANTICS {query.mode.value}", None
    for aggregate in query.aggregates:
        if aggregate.subject is Subject.DISJOINT:
            yield aggregate.label, aggregate.span
