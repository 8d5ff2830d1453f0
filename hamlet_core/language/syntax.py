"""The frozen syntax tree of a workload: patterns, expressions, queries. Plain values that compare and pickle.

`span` (line, column; 1-based code points) is where a node stands in the text; it never takes part in equality.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]


def _span() -> Span | None:
    return field(default=None, compare=False, repr=False)


# --- patterns -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Atom:
    """One event of `type`, bound to `alias` (the type's name where the text gives none)."""

    type: str
    alias: str
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Plus:
    """`P+`: one or more."""

    body: Pattern
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Star:
    """`P*`: none or more."""

    body: Pattern
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Optional:
    """`P?`: none or one."""

    body: Pattern
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Not:
    """`NOT P`: no match of P in this gap of the enclosing sequence."""

    body: Pattern
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Seq:
    """`SEQ(P, ...)`: parts in strict order of time."""

    parts: tuple[Pattern, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Or:
    """`(P OR P ...)`: at least one branch."""

    branches: tuple[Pattern, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class And:
    """`(P AND P)`: a pair of different trends, one of each side; only at the top of a pattern."""

    left: Pattern
    right: Pattern
    span: Span | None = _span()


Pattern: TypeAlias = Atom | Plus | Star | Optional | Not | Seq | Or | And


def names(pattern: Pattern) -> frozenset[str]:
    """Every type and alias, those inside NOT included; without recursion, for patterns nest deep."""
    found, waiting = set[str](), [pattern]
    while waiting:
        match waiting.pop():
            case Atom(kind, alias):
                found |= {kind, alias}
            case Plus(body) | Star(body) | Optional(body) | Not(body):
                waiting.append(body)
            case Seq(parts) | Or(parts):
                waiting += parts
            case And(left, right):
                waiting += (left, right)
    return frozenset(found)


# --- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A point in time, microseconds since the epoch, UTC."""

    microseconds: int


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in microseconds."""

    microseconds: int


LiteralValue: TypeAlias = bool | int | Decimal | str | Timestamp | Duration | None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. Numbers with a point or an exponent are `Decimal`; never a Python float."""

    value: LiteralValue
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`alias.name`, or `NEXT(alias).name` if `next`."""

    alias: str
    name: str
    next: bool = False
    span: Span | None = _span()


class ArithmeticOperator(Enum):
    """`+ - * / %`; the value is the sign in the text."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"


class ComparisonOperator(Enum):
    """`= != < <= > >=`; the value is the canonical sign in the text."""

    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left operator right`."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Minus:
    """`-operand`."""

    operand: Expression
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`."""

    operator: ComparisonOperator
    left: Expression
    right: Expression
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Conjunction:
    """`a AND b AND ...` inside an expression (the top-level AND of WHERE is split into `Query.where`)."""

    parts: tuple[Expression, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`a OR b OR ...`."""

    parts: tuple[Expression, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT a`."""

    operand: Expression
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class InList:
    """`operand [NOT] IN (item, ...)`."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Between:
    """`operand [NOT] BETWEEN low AND high`, both ends included."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IsNull:
    """`operand IS [NOT] NULL`."""

    operand: Expression
    negated: bool = False
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Like:
    """`operand [NOT] LIKE 'pattern'`: % any text, _ one code point, no escape character."""

    operand: Expression
    pattern: str
    negated: bool = False
    span: Span | None = _span()


Expression: TypeAlias = (
    Literal
    | Attribute
    | Arithmetic
    | Minus
    | Comparison
    | Conjunction
    | Disjunction
    | Negation
    | InList
    | Between
    | IsNull
    | Like
)


@dataclass(frozen=True, slots=True)
class Equivalence:
    """`[a, b]`: all events of a trend agree on these attributes."""

    attributes: tuple[str, ...]
    span: Span | None = _span()


Conjunct: TypeAlias = Equivalence | Expression


# --- queries ------------------------------------------------------------------------------------


class Mode(Enum):
    """Which events a step of a trend may skip (SEMANTICS 10); the value is the canonical name."""

    ANY = "skip-till-any-match"
    """All: every later event that fits follows."""
    NEXT = "skip-till-next-match"
    """Those that do not prolong the trend: what fits first follows."""
    CONTIGUOUS = "contiguous"
    """None of the partition."""


class AggregateFunction(Enum):
    """The aggregates of RETURN; the value is the canonical name."""

    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    REACH = "REACH"
    """Of an alias: the partitions in which some prefix of a trend ends there."""


class Subject(Enum):
    """What an aggregate reads that is no event (SEMANTICS 11); the value is how it stands in parentheses."""

    PARTITIONS = "PARTITIONS"
    """COUNT: the partitions with a trend."""
    DISJOINT = "DISJOINT"
    """COUNT: the most trends of each partition that follow one another."""
    DURATION = "DURATION"
    """SUM, AVG, MIN, MAX: from the first event of a trend to its last."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`COUNT(*)` (no alias), `COUNT(alias)`, `REACH(alias)` (no attribute), `SUM(alias.attribute)`, ...

    `COUNT(PARTITIONS)`, `AVG(DURATION)` and their like have a `subject`, and neither alias nor attribute.
    """

    function: AggregateFunction
    alias: str | None = None
    attribute: str | None = None
    span: Span | None = _span()
    subject: Subject | None = None

    @property
    def label(self) -> str:
        """The canonical text, as in the column `aggregate` of a result."""
        if self.subject is not None:
            return f"{self.function.value}({self.subject.value})"
        if self.alias is None:
            return f"{self.function.value}(*)"
        if self.attribute is None:
            return f"{self.function.value}({self.alias})"
        return f"{self.function.value}({self.alias}.{self.attribute})"


@dataclass(frozen=True, slots=True)
class GroupAttribute:
    """`name` or `alias.name` in RETURN or GROUP-BY; both mean the attribute of every event of the trend."""

    name: str
    alias: str | None = None
    span: Span | None = _span()


ReturnItem: TypeAlias = Aggregate | GroupAttribute


@dataclass(frozen=True, slots=True)
class Query:
    """One query; `slide` equals `within` where the text gives none."""

    name: str
    returns: tuple[ReturnItem, ...]
    pattern: Pattern
    within: Duration
    slide: Duration
    where: tuple[Conjunct, ...] = ()
    group_by: tuple[GroupAttribute, ...] = ()
    mode: Mode = Mode.ANY
    span: Span | None = _span()
    within_span: Span | None = _span()
    slide_span: Span | None = _span()
    funnel: bool = field(default=False, compare=False, repr=False)
    """Whether the text says FUNNEL, which stands for the same query."""

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates of RETURN in their order."""
        return tuple(item for item in self.returns if isinstance(item, Aggregate))


@dataclass(frozen=True, slots=True)
class Workload:
    """Several queries with unique names, in the order of the text; `text` is the source, if it came from one."""

    queries: tuple[Query, ...]
    text: str = field(default="", compare=False, repr=False)
