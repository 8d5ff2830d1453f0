"""The frozen syntax tree to canonical text, such that reading the text gives the same tree."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import product
from typing import assert_never

from hamlet_core.language import literals, syntax
from hamlet_core.language.syntax import ArithmeticOperator

_WORD = re.compile(r"[^\W\d]\w*")
_RESERVED = frozenset(
    (
        *(
            "RETURN",
            "PATTERN",
            "SEMANTICS",
            "WHERE",
            "WITHIN",
            "WINDOW",
            "SLIDE",
            "GROUP",
            "GROUP_BY",
            "SEQ",
            "NEXT",
            "AND",
        ),
        *("OR", "NOT", "IN", "IS", "LIKE", "BETWEEN", "TRUE", "FALSE", "NULL", "TIMESTAMP"),
    )
)
_COUNTED = (syntax.Subject.PARTITIONS.value, syntax.Subject.DISJOINT.value)
"""Words in COUNT that stand for no alias, unless the pattern has one spelled so."""
_OR, _AND, _NOT, _CONDITION, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(8)
"""How tightly each kind of expression binds; one that binds less than its place asks for stands in parentheses."""


def write_workload(workload: syntax.Workload) -> str:
    """All queries, each with its label, with an empty line between them and a line end after the last."""
    return "\n\n".join(write_query(query) for query in workload.queries) + "\n"


def write_query(query: syntax.Query) -> str:
    """A query with its label, one clause a line.

    >>> from hamlet_core.language.parser import parse_syntax
    >>> print(write_query(parse_syntax("return count(*) pattern (A, B b)+ where b.v>=1.50 window 90 s").queries[0]))
    q1: RETURN COUNT(*)
      PATTERN SEQ(A, B b)+
      WHERE b.v >= 1.50
      WITHIN 90 s
    """
    names = syntax.names(query.pattern)
    items = _list(_returned(item, names) for item in query.returns)
    lines = [f"{write_name(query.name)}: RETURN {items}"]
    lines.append(f"PATTERN {write_pattern(query.pattern)}")
    if query.mode is not syntax.Mode.ANY:
        lines.append(f"SEMANTICS {query.mode.value}")
    if query.where:
        lines.append("WHERE " + " AND ".join(_conjunct(part) for part in query.where))
    if query.group_by:
        lines.append(f"GROUP-BY {_list(_group_attribute(item) for item in query.group_by)}")
    slide = "" if query.slide == query.within else f" SLIDE {_duration(query.slide)}"
    lines.append(f"WITHIN {_duration(query.within)}{slide}")
    return "\n  ".join(lines)


def write_pattern(pattern: syntax.Pattern) -> str:  # noqa: PLR0911 - one case a kind
    """A pattern as it stands after PATTERN."""
    match pattern:
        case syntax.Atom(type=kind, alias=alias):
            return write_name(kind) if alias == kind else f"{write_name(kind)} {write_name(alias)}"
        case syntax.Plus(body=body):
            return f"{_repeated(body)}+"
        case syntax.Star(body=body):
            return f"{_repeated(body)}*"
        case syntax.Optional(body=body):
            return f"{_repeated(body)}?"
        case syntax.Not(body=body):
            return f"NOT {write_pattern(body)}"
        case syntax.Seq(parts=parts):
            return f"SEQ({_list(write_pattern(part) for part in parts)})"
        case syntax.Or(branches=branches):
            return f"({' OR '.join(write_pattern(branch) for branch in branches)})"
        case syntax.And(left=left, right=right):
            return f"({write_pattern(left)} AND {write_pattern(right)})"
    assert_never(pattern)


def write_expression(expression: syntax.Expression) -> str:
    """An expression with no more parentheses than it needs.

    >>> from hamlet_core.language.syntax import Attribute, Literal, Minus
    >>> write_expression(Minus(Literal(5))), write_expression(Attribute("min", "odd name", next=True))
    ('-(5)', 'NEXT(min)."odd name"')
    """
    return _write(expression, _OR)


def _repeated(body: syntax.Pattern) -> str:
    text = write_pattern(body)
    return f"({text})" if isinstance(body, syntax.Not) else text


def _write(expression: syntax.Expression, needed: int) -> str:
    binding, text = _bound(expression)
    return text if binding >= needed else f"({text})"


def _bound(expression: syntax.Expression) -> tuple[int, str]:  # noqa: PLR0911 - one case a kind
    """How tightly an expression binds, and its text."""
    match expression:
        case syntax.Literal(value=value):
            return _PRIMARY, _literal(value)
        case syntax.Attribute(alias=alias, name=name, next=following):
            return (
                _PRIMARY,
                f"{f'NEXT({write_name(alias)})' if following else write_name(alias)}.{write_name(name, reserved=())}",
            )
        case syntax.Arithmetic(operator=operator, left=left, right=right):
            level = _SUM if operator in (ArithmeticOperator.ADD, ArithmeticOperator.SUBTRACT) else _PRODUCT
            return level, f"{_write(left, level)} {operator.value} {_write(right, level + 1)}"
        case syntax.Minus(operand=operand):
            return _UNARY, _minus(_write(operand, _UNARY))
        case syntax.Disjunction(parts=parts):
            return _OR, " OR ".join(_write(part, _AND) for part in parts)
        case syntax.Conjunction(parts=parts):
            return _AND, " AND ".join(_write(part, _NOT) for part in parts)
        case syntax.Negation(operand=operand):
            return _NOT, f"NOT {_write(operand, _NOT)}"
        case _:
            return _CONDITION, _condition(expression)


def _condition(
    condition: syntax.Comparison | syntax.InList | syntax.Between | syntax.IsNull | syntax.Like,
) -> str:
    if isinstance(condition, syntax.Comparison):
        return f"{_operand(condition.left)} {condition.operator.value} {_operand(condition.right)}"
    operand, negation = _operand(condition.operand), "NOT " if condition.negated else ""
    match condition:
        case syntax.InList(items=items):
            return f"{operand} {negation}IN ({_list(write_expression(item) for item in items)})"
        case syntax.Between(low=low, high=high):
            return f"{operand} {negation}BETWEEN {_operand(low)} AND {_operand(high)}"
        case syntax.IsNull():
            return f"{operand} IS {negation}NULL"
        case syntax.Like(pattern=pattern):
            return f"{operand} {negation}LIKE {_quoted(pattern)}"
    assert_never(condition)


def _operand(expression: syntax.Expression) -> str:
    return _write(expression, _SUM)


def _minus(operand: str) -> str:
    """A sign before a digit would belong to the number, and two signs would start a comment."""
    return f"-({operand})" if operand[0] in "-0123456789" else f"-{operand}"


def _literal(value: syntax.LiteralValue) -> str:
    match value:
        case None | bool():
            return str(value).upper() if value is not None else "NULL"
        case str():
            return _quoted(value)
        case syntax.Timestamp(microseconds=microseconds):
            return f"TIMESTAMP '{literals.timestamp_text(microseconds)}'"
        case syntax.Duration():
            return _duration(value)
    return literals.number_text(value)


def _duration(duration: syntax.Duration) -> str:
    return literals.duration_text(duration.microseconds)


def _conjunct(part: syntax.Conjunct) -> str:
    if isinstance(part, syntax.Equivalence):
        return f"[{_list(write_name(name) for name in part.attributes)}]"
    return _write(part, _NOT)


def _returned(item: syntax.ReturnItem, names: Collection[str]) -> str:
    """An item of RETURN; `names` are those of the pattern, which win over the words that COUNT knows."""
    if isinstance(item, syntax.GroupAttribute):
        return _group_attribute(item)
    return f"{item.function.value}({_operand_of(item, names)})"


def _operand_of(aggregate: syntax.Aggregate, names: Collection[str]) -> str:
    word = aggregate.subject and aggregate.subject.value
    if word in _COUNTED:
        spellings = ("".join(letters) for letters in product(*zip(word, word.lower(), strict=True)))
        return next(spelling for spelling in spellings if spelling not in names)
    if word or aggregate.alias is None:
        return word or "*"
    if aggregate.attribute is not None:
        return f"{write_name(aggregate.alias)}.{write_name(aggregate.attribute, reserved=())}"
    counted = _COUNTED if aggregate.function is syntax.AggregateFunction.COUNT else ()
    return write_name(aggregate.alias, reserved=(*_RESERVED, *counted))


def _group_attribute(item: syntax.GroupAttribute) -> str:
    if item.alias is None:
        return write_name(item.name)
    return f"{write_name(item.alias)}.{write_name(item.name, reserved=())}"


def write_name(name: str, reserved: Iterable[str] = _RESERVED) -> str:
    """A name as it stands in a query: in double quotes where it is no single word, or one of the language's."""
    if _WORD.fullmatch(name) and name.upper() not in reserved:
        return name
    return '"' + name.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)
