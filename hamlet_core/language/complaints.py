"""A text that fits no rule of the grammar: what came, what was expected, and what the writer probably meant."""

from __future__ import annotations

from dataclasses import dataclass

from hamlet_core.errors import QuerySyntaxError
from hamlet_core.language.acceptance import Acceptance
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.limits import MAX_NESTING
from hamlet_core.language.scanning import RawToken, Scan
from hamlet_core.language.syntax import Span


@dataclass(frozen=True, slots=True)
class Situation:
    """Where the reading stopped: the raw token that fits nowhere, the parentheses open there, the parser's state."""

    scanned: Scan
    index: int
    open: tuple[RawToken, ...]
    acceptance: Acceptance


def too_deep(text: str, place: Span) -> QuerySyntaxError:
    """The error for a nesting beyond `MAX_NESTING`."""
    message = f"this nests deeper than {MAX_NESTING} levels"
    hint = "take parentheses away that are not needed, or split the query"
    return _error(text, place, SyntaxCode.DEEP_NESTING, message, hint)


def complain(situation: Situation) -> QuerySyntaxError:
    """The error for a token that the grammar cannot take."""
    raw = situation.scanned.tokens[situation.index]
    place = situation.scanned.place(raw.start)
    expected = ", ".join(sorted(situation.acceptance.accepted()))
    return _error(
        situation.scanned.text,
        place,
        SyntaxCode.UNEXPECTED,
        f"unexpected {raw.text}; expected {expected}",
        "",
    )


def _error(text: str, place: Span, code: SyntaxCode, message: str, hint: str) -> QuerySyntaxError:
    line, column = place
    return QuerySyntaxError(message, code=code.value, hint=hint, line=line, column=column, text=text)
