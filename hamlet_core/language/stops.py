"""Where reading a text stopped, and what is complained about there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hamlet_core.language.acceptance import END, Acceptance
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.scanning import RawToken, Scan

CLAUSES = ("FUNNEL", "RETURN", "PATTERN", "SEMANTICS", "WHERE", "GROUP-BY", "WITHIN", "WINDOW", "SLIDE")
_CLAUSE_TERMINALS = frozenset(
    ("RETURN", "PATTERN", "SEMANTICS", "WHERE", "_GROUP_BY", "WITHIN", "SLIDE", END)
)


@dataclass(frozen=True, slots=True)
class Situation:
    """Where reading stopped: the raw token that fits nowhere, the open parentheses, the state of the parser."""

    scanned: Scan
    index: int
    open: tuple[RawToken, ...]
    acceptance: Acceptance


@dataclass(frozen=True, slots=True)
class Stop:
    """A situation with what was acceptable in it."""

    scanned: Scan
    index: int
    open: tuple[RawToken, ...]
    accepted: frozenset[str]

    def raw(self, offset: int = 0) -> RawToken:
        """The raw token so many places further on (or back); an end beyond both ends."""
        index = self.index + offset
        return self.scanned.tokens[index if 0 <= index < len(self.scanned.tokens) else -1]

    @property
    def ends_clause(self) -> bool:
        """Whether what stands before is complete, so that a clause could follow."""
        return bool(self.accepted & _CLAUSE_TERMINALS)


@dataclass(frozen=True, slots=True)
class Complaint:
    """What the writer of the text is told."""

    code: SyntaxCode
    message: str
    hint: str = ""
    offset: int = 0
    """Where it points: so many raw tokens from the one that fits nowhere."""


Guess: TypeAlias = Callable[[Stop], Complaint | None]
"""What a stop may be the cause of; None if it is not."""


def shown(raw: RawToken) -> str:
    """A raw token on one line, cut where it is long."""
    if raw.kind == "end":
        return "the end of the text"
    text = raw.text if len(raw.text) <= 30 else f"{raw.text[:27]}..."
    return " ".join(text.split()) or text
