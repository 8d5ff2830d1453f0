"""What a suite of checks consists of: rules as values, and how each came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowRule:
    """`holds`, a condition in Spark SQL, is true for a share of at least `mostly` of the rows; NULL is not true.

    `says` is the rule for people; one that `warns` stops nothing, one that is `declared` is a user's own.
    `column` is the one it is about, if it is one.
    """

    name: str
    says: str
    holds: str
    mostly: float = 1.0
    warns: bool = False
    declared: bool = False
    column: str | None = None


@dataclass(frozen=True, slots=True)
class NotNullRule:
    """A column has no NULL."""

    column: str
    warns: bool = False
    declared: bool = False

    @property
    def name(self) -> str:
        """A stable name."""
        return f"{self.column} is known"

    @property
    def says(self) -> str:
        """The rule for people."""
        return f"every row has a value in {self.column}"


@dataclass(frozen=True, slots=True)
class TypeRule:
    """A column is of one of these classes of Spark types; `says` names them for people."""

    column: str
    says: str
    classes: tuple[str, ...]
    warns: bool = False
    declared: bool = False

    @property
    def name(self) -> str:
        """A stable name."""
        return f"type of {self.column}"


@dataclass(frozen=True, slots=True)
class UniqueRule:
    """No two rows agree on these columns."""

    name: str
    says: str
    columns: tuple[str, ...]
    warns: bool = False
    declared: bool = False


Rule = RowRule | NotNullRule | TypeRule | UniqueRule


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a rule came out; `broken` counts the rows against it and `examples` shows the first of them, a line each."""

    rule: str
    says: str
    passed: bool
    broken: int = 0
    examples: tuple[str, ...] = ()
    warns: bool = False
    declared: bool = False

    @property
    def stops(self) -> bool:
        """Whether a run must not go on past it."""
        return not self.passed and not self.warns


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a Markdown table, those that stop a run first."""
    head = "| rule | what it says | passed | rows against it | such as |\n|---|---|---|---|---|\n"
    ordered = sorted(outcomes, key=lambda one: (not one.stops, one.passed))
    return head + "\n".join(
        f"| {cell(one.rule)} | {cell(one.says)} | {_mark(one)} | {one.broken} | {cell('; '.join(one.examples))} |"
        for one in ordered
    )


def _mark(outcome: Outcome) -> str:
    if outcome.passed:
        return "yes"
    return "no (a warning)" if outcome.warns else "**no**"


def cell(text: object) -> str:
    """Text that stays in its cell of a Markdown table, whatever is in it."""
    shown = str(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(shown.split())[:500]
