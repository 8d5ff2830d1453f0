"""Queries built in Python, for programs that generate them: the same syntax tree as from text.

>>> from hamlet_core.language.writer import write_query
>>> request, travel, pickup = event("Request", "R"), event("Travel", "T"), event("Pickup", "P")
>>> slow = query(
...     "slow",
...     returns=("district", count(), travel.duration.sum()),
...     pattern=seq(request, travel.plus(), absent(pickup)),
...     where=(same("driver", "rider"), request.kind == "Pool", travel.speed < 10,
...            travel.speed > following(travel).speed),
...     group_by=("district",),
...     within="30 min",
...     slide=timedelta(minutes=1),
... )
>>> print(write_query(slow))
slow: RETURN district, COUNT(*), SUM(T.duration)
  PATTERN SEQ(Request R, Travel T+, NOT Pickup P)
  WHERE [driver, rider] AND R.kind = 'Pool' AND T.speed < 10 AND T.speed > NEXT(T).speed
  GROUP-BY district
  WITHIN 30 min SLIDE 1 min

>>> view, pay = event("View", "v"), event("Pay", "p")
>>> funnel = query(
...     "funnel",
...     returns=(reach(view), reach(pay), count_partitions(), count_disjoint(), duration().avg()),
...     pattern=seq(view, pay),
...     mode="next",
...     where=(same("user"),),
...     within="1 h",
... )
>>> print(write_query(funnel))
funnel: RETURN REACH(v), REACH(p), COUNT(PARTITIONS), COUNT(DISJOINT), AVG(DURATION)
  PATTERN SEQ(View v, Pay p)
  SEMANTICS skip-till-next-match
  WHERE [user]
  WITHIN 1 h
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

from hamlet_core.errors import QuerySyntaxError
from hamlet_core.language import literals, syntax
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.modes import mode_hint, mode_named
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import (
    AggregateFunction,
    ArithmeticOperator,
    ComparisonOperator,
    Mode,
    Subject,
)
from hamlet_core.language.writer import write_expression, write_workload

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Constant: TypeAlias = bool | int | float | Decimal | str | datetime | timedelta | None
"""What may stand beside a `Value`: a float means its shortest decimal, a naive datetime UTC."""


# --- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An expression; Python's operators build larger ones (`&`, `|`, `~` for AND, OR, NOT).

    >>> a = event("A")
    >>> ((a.v + 1) * 2 >= 5) | ~a.kind.like("x%")
    Value((A.v + 1) * 2 >= 5 OR NOT A.kind LIKE 'x%')
    """

    expression: syntax.Expression

    def __repr__(self) -> str:
        return f"Value({write_expression(self.expression)})"

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        message = (
            "a condition has no truth before events come: join with &, | and ~, and write a.x < b in one step"
        )
        raise TypeError(message)

    def __add__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.ADD, self, other)

    def __radd__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.ADD, other, self)

    def __sub__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.SUBTRACT, self, other)

    def __rsub__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.SUBTRACT, other, self)

    def __mul__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.MULTIPLY, self, other)

    def __rmul__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.MULTIPLY, other, self)

    def __truediv__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.DIVIDE, self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.DIVIDE, other, self)

    def __mod__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.MODULO, self, other)

    def __rmod__(self, other: Operand) -> Value:
        return _arithmetic(ArithmeticOperator.MODULO, other, self)

    def __neg__(self) -> Value:
        return Value(syntax.Minus(self.expression))

    def __eq__(self, other: Operand) -> Value:  # type: ignore[override]
        return _comparison(ComparisonOperator.EQUAL, self, other)

    def __ne__(self, other: Operand) -> Value:  # type: ignore[override]
        return _comparison(ComparisonOperator.UNEQUAL, self, other)

    def __lt__(self, other: Operand) -> Value:
        return _comparison(ComparisonOperator.LESS, self, other)

    def __le__(self, other: Operand) -> Value:
        return _comparison(ComparisonOperator.AT_MOST, self, other)

    def __gt__(self, other: Operand) -> Value:
        return _comparison(ComparisonOperator.GREATER, self, other)

    def __ge__(self, other: Operand) -> Value:
        return _comparison(ComparisonOperator.AT_LEAST, self, other)

    def __and__(self, other: Value) -> Value:
        return Value(syntax.Conjunction((*_conjuncts(self), *_conjuncts(other))))

    def __or__(self, other: Value) -> Value:
        return Value(syntax.Disjunction((*_disjuncts(self), *_disjuncts(other))))

    def __invert__(self) -> Value:
        return Value(syntax.Negation(self.expression))

    def is_in(self, *items: Operand) -> Value:
        """`IN (item, ...)`; `~` in front of it gives `NOT ... IN`."""
        return Value(syntax.InList(self.expression, tuple(_expression(item) for item in items)))

    def between(self, low: Operand, high: Operand) -> Value:
        """`BETWEEN low AND high`, both included."""
        return Value(syntax.Between(self.expression, _expression(low), _expression(high)))

    def is_null(self) -> Value:
        """`IS NULL`."""
        return Value(syntax.IsNull(self.expression))

    def is_not_null(self) -> Value:
        """`IS NOT NULL`."""
        return Value(syntax.IsNull(self.expression, negated=True))

    def like(self, pattern: str) -> Value:
        """`LIKE 'pattern'`: % any text, _ one code point."""
        return Value(syntax.Like(self.expression, pattern))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttributeValue(Value):
    """An attribute of an event: a value that can also be aggregated or grouped by."""

    expression: syntax.Attribute

    def sum(self) -> syntax.Aggregate:
        """`SUM(alias.attribute)`."""
        return self._aggregate(AggregateFunction.SUM)

    def avg(self) -> syntax.Aggregate:
        """`AVG(alias.attribute)`."""
        return self._aggregate(AggregateFunction.AVG)

    def min(self) -> syntax.Aggregate:
        """`MIN(alias.attribute)`."""
        return self._aggregate(AggregateFunction.MIN)

    def max(self) -> syntax.Aggregate:
        """`MAX(alias.attribute)`."""
        return self._aggregate(AggregateFunction.MAX)

    def _aggregate(self, function: AggregateFunction) -> syntax.Aggregate:
        return syntax.Aggregate(function, self.expression.alias, self.expression.name)


Operand: TypeAlias = Value | Constant


# --- patterns -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """A pattern, or a part of one."""

    pattern: syntax.Pattern

    def plus(self) -> Part:
        """`P+`: one or more."""
        return Part(syntax.Plus(self.pattern))

    def star(self) -> Part:
        """`P*`: none or more."""
        return Part(syntax.Star(self.pattern))

    def optional(self) -> Part:
        """`P?`: none or one."""
        return Part(syntax.Optional(self.pattern))


@dataclass(frozen=True, slots=True)
class Event(Part):
    """One event; its attributes are `a.speed`, or `a["plus"]` for a name of a method or with an underscore first."""

    pattern: syntax.Atom

    def __getitem__(self, name: str) -> AttributeValue:
        return AttributeValue(syntax.Attribute(self.pattern.alias, name))

    def __getattr__(self, name: str) -> AttributeValue:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


@dataclass(frozen=True, slots=True)
class Following:
    """`NEXT(alias)`: the event that comes next in the trend; its attributes as with `Event`."""

    event: Event

    def __getitem__(self, name: str) -> AttributeValue:
        return AttributeValue(syntax.Attribute(self.event.pattern.alias, name, next=True))

    def __getattr__(self, name: str) -> AttributeValue:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


def event(kind: str, alias: str | None = None) -> Event:
    """One event of a type, bound to an alias (the type's name if none is given)."""
    return Event(syntax.Atom(kind, kind if alias is None else alias))


def following(of: Event) -> Following:
    """The event that comes after this one in the trend, in the text `NEXT(alias)`."""
    return Following(of)


def seq(*parts: Part) -> Part:
    """`SEQ(P, ...)`."""
    return Part(syntax.Seq(tuple(part.pattern for part in parts)))


def either(*branches: Part) -> Part:
    """`(P OR P ...)`."""
    return Part(syntax.Or(tuple(branch.pattern for branch in branches)))


def both(left: Part, right: Part) -> Part:
    """`(P AND P)`."""
    return Part(syntax.And(left.pattern, right.pattern))


def absent(part: Part) -> Part:
    """`NOT P`."""
    return Part(syntax.Not(part.pattern))


# --- queries ------------------------------------------------------------------------------------


def count(of: Event | None = None) -> syntax.Aggregate:
    """The number of trends, `COUNT(*)`, or of the events bound to an alias, `COUNT(alias)`."""
    return syntax.Aggregate(AggregateFunction.COUNT, None if of is None else of.pattern.alias)


def reach(of: Event) -> syntax.Aggregate:
    """The number of partitions in which a trend gets as far as this event, `REACH(alias)`."""
    return syntax.Aggregate(AggregateFunction.REACH, of.pattern.alias)


def count_partitions() -> syntax.Aggregate:
    """The number of partitions with a trend, `COUNT(PARTITIONS)`."""
    return syntax.Aggregate(AggregateFunction.COUNT, subject=Subject.PARTITIONS)


def count_disjoint() -> syntax.Aggregate:
    """The most trends that follow one another, added over partitions, `COUNT(DISJOINT)`."""
    return syntax.Aggregate(AggregateFunction.COUNT, subject=Subject.DISJOINT)


@dataclass(frozen=True, slots=True)
class TrendDuration:
    """The time from the first event of a trend to its last, to be aggregated."""

    def sum(self) -> syntax.Aggregate:
        """`SUM(DURATION)`."""
        return syntax.Aggregate(AggregateFunction.SUM, subject=Subject.DURATION)

    def avg(self) -> syntax.Aggregate:
        """`AVG(DURATION)`."""
        return syntax.Aggregate(AggregateFunction.AVG, subject=Subject.DURATION)

    def min(self) -> syntax.Aggregate:
        """`MIN(DURATION)`."""
        return syntax.Aggregate(AggregateFunction.MIN, subject=Subject.DURATION)

    def max(self) -> syntax.Aggregate:
        """`MAX(DURATION)`."""
        return syntax.Aggregate(AggregateFunction.MAX, subject=Subject.DURATION)


def duration() -> TrendDuration:
    """How long a trend lasts, in the text `DURATION`."""
    return TrendDuration()


def same(*attributes: str) -> syntax.Equivalence:
    """`[a, b]`: all events of a trend agree on these attributes."""
    return syntax.Equivalence(attributes)


def query(
    name: str,
    *,
    returns: Iterable[syntax.Aggregate | AttributeValue | str],
    pattern: Part,
    mode: Mode | str = Mode.ANY,
    within: timedelta | str,
    slide: timedelta | str | None = None,
    where: Iterable[Value | syntax.Equivalence] = (),
    group_by: Iterable[AttributeValue | str] = (),
) -> syntax.Query:
    """One query; lengths of time are timedeltas or texts such as "30 min", a missing slide is `within`.

    Raises QuerySyntaxError for a text that is no length of time or no mode. `workload` checks the whole.
    """
    length = _duration(within)
    return syntax.Query(
        name=name,
        returns=tuple(item if isinstance(item, syntax.Aggregate) else _grouped(item) for item in returns),
        pattern=pattern.pattern,
        within=length,
        slide=length if slide is None else _duration(slide),
        where=tuple(part for condition in where for part in _top_conjuncts(condition)),
        group_by=tuple(_grouped(item) for item in group_by),
        mode=mode if isinstance(mode, Mode) else _mode(mode),
    )


def workload(*queries: syntax.Query) -> syntax.Workload:
    """Queries as a workload with its canonical text, so that later errors can point into it.

    Raises QuerySyntaxError or QueryMeaningError where such a text could not have been written.
    """
    return parse_syntax(write_workload(syntax.Workload(queries)))


# --- from Python values -------------------------------------------------------------------------


def _expression(operand: Operand) -> syntax.Expression:
    return operand.expression if isinstance(operand, Value) else syntax.Literal(_constant(operand))


def _constant(value: object) -> syntax.LiteralValue:
    match value:
        case float() | Decimal():
            return _decimal(value)
        case datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            return syntax.Timestamp((moment - _EPOCH) // _MICROSECOND)
        case timedelta():
            return syntax.Duration(value // _MICROSECOND)
        case None | bool() | int() | str():
            return value
    message = f"{type(value).__name__} is no constant: use a number, text, bool, None, datetime or timedelta"
    raise TypeError(message)


def _decimal(value: float | Decimal) -> Decimal:
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    if exact.is_finite():
        return exact
    code = SyntaxCode.NO_CONSTANT.value
    raise QuerySyntaxError(f"{value} is no constant of a query", code=code, hint="use a finite number")


def _duration(length: timedelta | str) -> syntax.Duration:
    microseconds = length // _MICROSECOND if isinstance(length, timedelta) else literals.length(length)
    if microseconds is None:
        code, hint = SyntaxCode.NO_CONSTANT.value, "write, for example, 30 min; units are ms, s, min, h and d"
        raise QuerySyntaxError(f"{length!r} is no length of time", code=code, hint=hint)
    return syntax.Duration(microseconds)


def _mode(text: str) -> Mode:
    mode = mode_named(text)
    if mode is None:
        raise QuerySyntaxError(
            f"{text!r} is no matching mode", code=SyntaxCode.UNKNOWN_MODE.value, hint=mode_hint(text)
        )
    return mode


def _arithmetic(operator: ArithmeticOperator, left: Operand, right: Operand) -> Value:
    return Value(syntax.Arithmetic(operator, _expression(left), _expression(right)))


def _comparison(operator: ComparisonOperator, left: Operand, right: Operand) -> Value:
    return Value(syntax.Comparison(operator, _expression(left), _expression(right)))


def _conjuncts(value: Value) -> tuple[syntax.Expression, ...]:
    expression = value.expression
    return expression.parts if isinstance(expression, syntax.Conjunction) else (expression,)


def _disjuncts(value: Value) -> tuple[syntax.Expression, ...]:
    expression = value.expression
    return expression.parts if isinstance(expression, syntax.Disjunction) else (expression,)


def _top_conjuncts(condition: Value | syntax.Equivalence) -> tuple[syntax.Conjunct, ...]:
    return (condition,) if isinstance(condition, syntax.Equivalence) else _conjuncts(condition)


def _grouped(item: AttributeValue | str) -> syntax.GroupAttribute:
    if isinstance(item, str):
        return syntax.GroupAttribute(item)
    return syntax.GroupAttribute(item.expression.name, item.expression.alias)
