"""The parser's tree to the frozen syntax tree, node by node from the leaves up (no recursion)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from decimal import Decimal
from typing import Any, NoReturn, cast

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from hamlet_core.errors import QueryMeaningError, QuerySyntaxError
from hamlet_core.language import literals, syntax
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.funnels import fault_of, funnel_returns
from hamlet_core.language.modes import mode_named
from hamlet_core.language.syntax import ArithmeticOperator, ComparisonOperator, Span

_SPELLINGS = {"==": "=", "<>": "!="}
_OTHER_UNITS = {
    "m": "min for minutes, or ms for milliseconds",
    "mins": "min",
    "secs": "s",
    "hr": "h",
    "hrs": "h",
    "us": "0.001 ms for a microsecond",
    "week": "7 days",
    "weeks": "7 days for each week",
    "month": "a number of days",
    "months": "a number of days",
    "year": "365 days",
    "years": "365 days for each year",
}
_COUNTED = {subject.value: subject for subject in (syntax.Subject.PARTITIONS, syntax.Subject.DISJOINT)}


def _resolved(item: syntax.ReturnItem, names: Collection[str]) -> syntax.ReturnItem:
    """An item of RETURN, a word in COUNT taken as an alias or type where the pattern has one spelled so."""
    if not isinstance(item, syntax.Aggregate) or item.alias is None or item.subject is None:
        return item
    return replace(item, subject=None) if item.alias in names else replace(item, alias=None)


def _span(meta: Meta) -> Span:
    return meta.line, meta.column


def _place(token: Token) -> Span:
    return token.line or 1, token.column or 1


def _arithmetic(operator: ArithmeticOperator) -> Callable[..., syntax.Arithmetic]:
    def shape(_: object, meta: Meta, left: syntax.Expression, right: syntax.Expression) -> syntax.Arithmetic:
        return syntax.Arithmetic(operator, left, right, _span(meta))

    return shape


@v_args(meta=True, inline=True)
class Shaping(Transformer_NonRecursive[Any, tuple[syntax.Query, ...]]):
    """One method per rule of the grammar; `text` is the source, for the errors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def _refuse(self, place: Span, code: SyntaxCode, message: str, hint: str = "") -> NoReturn:
        line, column = place
        raise QuerySyntaxError(message, code=code.value, hint=hint, line=line, column=column, text=self._text)

    # --- queries --------------------------------------------------------------------------------

    def start(self, _meta: Meta, *queries: syntax.Query) -> tuple[syntax.Query, ...]:
        """Queries without a label are named by their place."""
        named = [replace(query, name=query.name or f"q{i}") for i, query in enumerate(queries, start=1)]
        seen: set[str] = set()
        for query in named:
            if query.name in seen:
                message = f"two queries have the label {query.name}"
                hint = "a query without a label is named q1, q2, ... by its place"
                raise self._meaningless(query.span or (1, 1), SyntaxCode.SAME_LABEL, message, hint)
            seen.add(query.name)
        return tuple(named)

    def query(  # noqa: PLR0917 - one argument a clause
        self,
        meta: Meta,
        label: Token | None,
        returns: tuple[syntax.ReturnItem, ...],
        pattern: syntax.Pattern,
        semantics: syntax.Mode | None,
        where: tuple[syntax.Conjunct, ...] | None,
        group_by: tuple[syntax.GroupAttribute, ...] | None,
        within: tuple[syntax.Duration, Span],
        slide: tuple[syntax.Duration, Span] | None,
    ) -> syntax.Query:
        """`label` is None where the text gives none."""
        name = str(label) if label is not None else ""
        length, step = within, slide or within
        spans = _span(meta), length[1], step[1]
        names = syntax.names(pattern)
        items = tuple(_resolved(item, names) for item in returns)
        mode = semantics or syntax.Mode.ANY
        return syntax.Query(
            name, items, pattern, length[0], step[0], where or (), group_by or (), mode, *spans
        )

    def funnel(self, meta: Meta, label: Token, *parts: Any) -> syntax.Query:
        """`FUNNEL label: step -> step ...`: steps, then the clauses as in `query`, with the attributes of BY."""
        *steps, mode, where, by, group_by, within, slide = parts
        first = steps[0].span or _span(meta)
        if fault := fault_of(steps):
            self._refuse(fault.step.span or first, SyntaxCode.FUNNEL_STEP, fault.message, fault.hint)
        length, step = within, slide or within
        return syntax.Query(
            str(label),
            funnel_returns(steps),
            syntax.Seq(tuple(steps), first),
            length[0],
            step[0],
            (by, *(where or ())),
            group_by or (),
            mode or syntax.Mode.NEXT,
            *(_span(meta), length[1], step[1]),
            funnel=True,
        )

    def by(self, meta: Meta, *names: Token) -> syntax.Equivalence:
        """`BY a, b`, as `[a, b]` in WHERE."""
        return self.equivalence(meta, *names)

    def semantics(self, _meta: Meta, mode: Token) -> syntax.Mode:
        """`SEMANTICS mode`."""
        return cast("syntax.Mode", mode_named(mode))

    def returns(self, _meta: Meta, *items: syntax.ReturnItem) -> tuple[syntax.ReturnItem, ...]:
        """The items of RETURN."""
        return items

    def group_by(self, _meta: Meta, *items: syntax.GroupAttribute) -> tuple[syntax.GroupAttribute, ...]:
        """The attributes of GROUP-BY."""
        return items

    def where(self, _meta: Meta, *parts: syntax.Conjunct) -> tuple[syntax.Conjunct, ...]:
        """The parts of the top-level AND; one in parentheses stays a part of its own."""
        return parts

    def where_either(self, meta: Meta, *parts: syntax.Expression) -> tuple[syntax.Conjunct, ...]:
        """An OR at the top is one part."""
        return (syntax.Disjunction(parts, parts[0].span or _span(meta)),)

    def within(self, _meta: Meta, length: syntax.Literal) -> tuple[syntax.Duration, Span]:
        """The window's length and its place."""
        return self._positive(length, "window")

    def slide(self, _meta: Meta, length: syntax.Literal) -> tuple[syntax.Duration, Span]:
        """The distance between the starts of two windows, and its place."""
        return self._positive(length, "slide")

    def _positive(self, length: syntax.Literal, what: str) -> tuple[syntax.Duration, Span]:
        duration, place = cast("syntax.Duration", length.value), length.span or (1, 1)
        if duration.microseconds > 0:
            return duration, place
        message = f"the {what} must be longer than zero, and this is {literals.duration_text(duration.microseconds)}"
        hint = "leave SLIDE out for windows that follow one another" if what == "slide" else ""
        raise self._meaningless(place, SyntaxCode.NOT_POSITIVE, message, hint)

    def _meaningless(self, place: Span, code: SyntaxCode, message: str, hint: str) -> QueryMeaningError:
        line, column = place
        return QueryMeaningError(
            message, code=code.value, hint=hint, line=line, column=column, text=self._text
        )

    def count_trends(self, meta: Meta) -> syntax.Aggregate:
        """`COUNT(*)`."""
        return syntax.Aggregate(syntax.AggregateFunction.COUNT, span=_span(meta))

    def count_events(self, meta: Meta, alias: Token) -> syntax.Aggregate:
        """`COUNT(alias)`; a word that may mean a subject keeps both, until the names of the pattern are known."""
        subject = _COUNTED.get(alias.upper()) if alias.type == "NAME" else None
        return syntax.Aggregate(syntax.AggregateFunction.COUNT, str(alias), span=_span(meta), subject=subject)

    def reach(self, meta: Meta, alias: Token) -> syntax.Aggregate:
        """`REACH(alias)`."""
        return syntax.Aggregate(syntax.AggregateFunction.REACH, str(alias), span=_span(meta))

    def duration_of_trends(self, meta: Meta, function: Token) -> syntax.Aggregate:
        """`AVG(DURATION)` and its like."""
        kind = syntax.AggregateFunction(function.upper())
        return syntax.Aggregate(kind, span=_span(meta), subject=syntax.Subject.DURATION)

    def aggregate(self, meta: Meta, function: Token, alias: Token, attribute: Token) -> syntax.Aggregate:
        """`SUM(alias.attribute)` and its like."""
        kind = syntax.AggregateFunction(function.upper())
        return syntax.Aggregate(kind, str(alias), str(attribute), _span(meta))

    def group_name(self, meta: Meta, name: Token) -> syntax.GroupAttribute:
        """A bare attribute."""
        return syntax.GroupAttribute(str(name), span=_span(meta))

    def group_of_alias(self, meta: Meta, alias: Token, name: Token) -> syntax.GroupAttribute:
        """`alias.name`."""
        return syntax.GroupAttribute(str(name), str(alias), _span(meta))

    # --- patterns -------------------------------------------------------------------------------

    def atom(self, meta: Meta, kind: Token, alias: Token | None = None) -> syntax.Atom:
        """`Type` or `Type alias`."""
        return syntax.Atom(str(kind), str(kind if alias is None else alias), _span(meta))

    def plus(self, meta: Meta, body: syntax.Pattern) -> syntax.Plus:
        """`P+`."""
        return syntax.Plus(body, _span(meta))

    def star(self, meta: Meta, body: syntax.Pattern) -> syntax.Star:
        """`P*`."""
        return syntax.Star(body, _span(meta))

    def optional(self, meta: Meta, body: syntax.Pattern) -> syntax.Optional:
        """`P?`."""
        return syntax.Optional(body, _span(meta))

    def absent(self, meta: Meta, body: syntax.Pattern) -> syntax.Not:
        """`NOT P`."""
        return syntax.Not(body, _span(meta))

    def sequence(self, meta: Meta, *parts: syntax.Pattern) -> syntax.Seq:
        """`SEQ(P, ...)` or `(P, ...)`."""
        return syntax.Seq(parts, _span(meta))

    def either(self, meta: Meta, *branches: syntax.Pattern) -> syntax.Or:
        """`(P OR P ...)`."""
        return syntax.Or(branches, _span(meta))

    def both(
        self, meta: Meta, left: syntax.Pattern, right: syntax.Pattern, *more: syntax.Pattern
    ) -> syntax.And:
        """`(P AND P)`."""
        if more:
            message = "AND joins exactly two patterns, and here is a third"
            hint = "a trend of one side is paired with one of the other: write (A AND B)"
            self._refuse(more[0].span or _span(meta), SyntaxCode.THREE_SIDES, message, hint)
        return syntax.And(left, right, _span(meta))

    # --- conditions -----------------------------------------------------------------------------

    def disjunction(self, meta: Meta, *parts: syntax.Expression) -> syntax.Disjunction:
        """`a OR b ...`."""
        return syntax.Disjunction(parts, _span(meta))

    def conjunction(self, meta: Meta, *parts: syntax.Expression) -> syntax.Conjunction:
        """`a AND b ...`."""
        return syntax.Conjunction(parts, _span(meta))

    def negation(self, meta: Meta, operand: syntax.Expression) -> syntax.Negation:
        """`NOT a`."""
        return syntax.Negation(operand, _span(meta))

    def comparison(
        self, meta: Meta, left: syntax.Expression, sign: Token, right: syntax.Expression
    ) -> syntax.Comparison:
        """`a < b`."""
        operator = ComparisonOperator(_SPELLINGS.get(str(sign), str(sign)))
        return syntax.Comparison(operator, left, right, _span(meta))

    def in_list(self, meta: Meta, operand: syntax.Expression, *items: syntax.Expression) -> syntax.InList:
        """`a IN (b, ...)`."""
        return syntax.InList(operand, items, False, _span(meta))

    def not_in_list(self, meta: Meta, operand: syntax.Expression, *items: syntax.Expression) -> syntax.InList:
        """`a NOT IN (b, ...)`."""
        return syntax.InList(operand, items, True, _span(meta))

    def between(
        self, meta: Meta, operand: syntax.Expression, low: syntax.Expression, high: syntax.Expression
    ) -> syntax.Between:
        """`a BETWEEN b AND c`."""
        return syntax.Between(operand, low, high, False, _span(meta))

    def not_between(
        self, meta: Meta, operand: syntax.Expression, low: syntax.Expression, high: syntax.Expression
    ) -> syntax.Between:
        """`a NOT BETWEEN b AND c`."""
        return syntax.Between(operand, low, high, True, _span(meta))

    def is_null(self, meta: Meta, operand: syntax.Expression) -> syntax.IsNull:
        """`a IS NULL`."""
        return syntax.IsNull(operand, False, _span(meta))

    def is_not_null(self, meta: Meta, operand: syntax.Expression) -> syntax.IsNull:
        """`a IS NOT NULL`."""
        return syntax.IsNull(operand, True, _span(meta))

    def like(self, meta: Meta, operand: syntax.Expression, pattern: Token) -> syntax.Like:
        """`a LIKE 'b%'`."""
        return syntax.Like(operand, str(pattern), False, _span(meta))

    def not_like(self, meta: Meta, operand: syntax.Expression, pattern: Token) -> syntax.Like:
        """`a NOT LIKE 'b%'`."""
        return syntax.Like(operand, str(pattern), True, _span(meta))

    def equivalence(self, meta: Meta, *names: Token) -> syntax.Equivalence:
        """`[a, b]`."""
        return syntax.Equivalence(tuple(str(name) for name in names), _span(meta))

    # --- values ---------------------------------------------------------------------------------

    add = _arithmetic(ArithmeticOperator.ADD)
    subtract = _arithmetic(ArithmeticOperator.SUBTRACT)
    multiply = _arithmetic(ArithmeticOperator.MULTIPLY)
    divide = _arithmetic(ArithmeticOperator.DIVIDE)
    modulo = _arithmetic(ArithmeticOperator.MODULO)

    def minus(self, meta: Meta, operand: syntax.Expression) -> syntax.Minus:
        """`-a`; a minus sign before a number belongs to the number."""
        return syntax.Minus(operand, _span(meta))

    def attribute(self, meta: Meta, alias: Token, name: Token) -> syntax.Attribute:
        """`alias.name`."""
        return syntax.Attribute(str(alias), str(name), False, _span(meta))

    def next_attribute(self, meta: Meta, alias: Token, name: Token) -> syntax.Attribute:
        """`NEXT(alias).name`."""
        return syntax.Attribute(str(alias), str(name), True, _span(meta))

    def bare_word(self, meta: Meta, word: Token) -> syntax.Literal:
        """A string without quotes."""
        return syntax.Literal(str(word), _span(meta))

    def string(self, meta: Meta, text: Token) -> syntax.Literal:
        """`'text'`."""
        return syntax.Literal(str(text), _span(meta))

    def true(self, meta: Meta) -> syntax.Literal:
        """`TRUE`."""
        return syntax.Literal(True, _span(meta))

    def false(self, meta: Meta) -> syntax.Literal:
        """`FALSE`."""
        return syntax.Literal(False, _span(meta))

    def null(self, meta: Meta) -> syntax.Literal:
        """`NULL`."""
        return syntax.Literal(None, _span(meta))

    def number(self, meta: Meta, *tokens: Token) -> syntax.Literal:
        """An integer, exact, or a decimal."""
        return syntax.Literal(self._amount(tokens), _span(meta))

    def _amount(self, tokens: tuple[Token, ...]) -> int | Decimal:
        *sign, digits = tokens
        value = literals.number(str(digits))
        if value is None:
            message = f"this number has more than {literals.MAX_DIGITS} digits"
            self._refuse(_place(digits), SyntaxCode.LONG_NUMBER, message)
        if not sign:
            return value
        return -value if isinstance(value, int) else value.copy_negate()

    def duration(self, meta: Meta, *tokens: Token) -> syntax.Literal:
        """`5 min`."""
        amount, unit = tokens[:-1], tokens[-1]
        microseconds = self._microseconds(amount, unit)
        return syntax.Literal(syntax.Duration(microseconds), _span(meta))

    def _microseconds(self, amount: tuple[Token, ...], unit: Token) -> int:
        if unit.lower() not in literals.UNITS:
            message, hint = f"unknown unit of time {unit}", "units are ms, s, min, h and d"
            if unit.lower() in _OTHER_UNITS:
                hint = f"write {_OTHER_UNITS[unit.lower()]}"
            self._refuse(_place(unit), SyntaxCode.UNKNOWN_UNIT, message, hint)
        microseconds = literals.duration(self._amount(amount), unit.lower())
        if microseconds is None:
            message = "a length of time must be a whole number of microseconds and below 146,000 years"
            self._refuse(_place(amount[0]), SyntaxCode.FINE_DURATION, message)
        return microseconds

    def timestamp(self, meta: Meta, text: Token) -> syntax.Literal:
        """`TIMESTAMP '...'`."""
        microseconds = literals.timestamp(str(text))
        if microseconds is None:
            message = "this is no date or time"
            hint = "write TIMESTAMP '2015-01-31' or TIMESTAMP '2015-01-31 08:00:00.000001+01:00'; without a zone it is UTC"
            self._refuse(_place(text), SyntaxCode.BAD_TIMESTAMP, message, hint)
        return syntax.Literal(syntax.Timestamp(microseconds), _span(meta))
