"""Random local and adjacent predicates, of every form the language has.

A point in time is written as a number of seconds; `rewriting.as_timestamps` suits them to a timestamp column.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from random import Random

from hamlet_core.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Between,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Disjunction,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Minus,
    Negation,
)

WORDS = ("ab", "abc", "b", "Pool", "a_b", "it's")
SHAPES = ("a%", "%b", "_b", "%", "a_b", "P__l", "%'s")
ORDERS = tuple(ComparisonOperator)
WIDE = (ComparisonOperator.AT_LEAST, ComparisonOperator.GREATER, ComparisonOperator.UNEQUAL)


def local(random: Random, alias: str, depth: int = 2) -> Expression:
    """A boolean expression over one alias."""
    forms = _LOCAL if depth else _LOCAL[:-3]
    return random.choice(forms)(random, alias, depth)


def adjacent(random: Random, left: str, right: str) -> Expression:
    """A boolean expression over an alias and the next one."""
    return random.choice(_ADJACENT)(random, left, right)


def _number(random: Random, alias: str, *, following: bool = False) -> Expression:
    """An arithmetic expression that reads at least one attribute of `alias`."""
    name = random.choice(("v", "v", "v", "v", "u", "d", "m"))
    read: Expression = Attribute(alias, name, following)
    if random.random() < 0.75:
        return read
    sign = random.choice(tuple(ArithmeticOperator))
    other = random.choice((Literal(random.randint(0, 3)), Attribute(alias, "u", following), read))
    combined = Arithmetic(sign, read, other)
    return Minus(combined) if random.random() < 0.2 else combined


def _constant(random: Random) -> Literal:
    if random.random() < 0.2:
        return Literal(Decimal(random.randint(0, 24)) / 4)
    return Literal(random.randint(0, 7))


def _comparison(random: Random, alias: str, depth: int) -> Expression:
    del depth
    return Comparison(random.choice(ORDERS + WIDE), _number(random, alias), _constant(random))


def _two_numbers(random: Random, alias: str, depth: int) -> Expression:
    del depth
    return Comparison(random.choice(ORDERS), _number(random, alias), _number(random, alias))


def _text(random: Random, alias: str, depth: int) -> Expression:
    del depth
    return Comparison(random.choice(ORDERS), Attribute(alias, "s"), Literal(random.choice(WORDS)))


def _like(random: Random, alias: str, depth: int) -> Expression:
    del depth
    return Like(Attribute(alias, "s"), random.choice(SHAPES), random.random() < 0.3)


def _in(random: Random, alias: str, depth: int) -> Expression:
    del depth
    negated = random.random() < 0.3
    if random.random() < 0.4:
        words = random.sample(WORDS, random.randint(1, 3))
        return InList(Attribute(alias, "s"), tuple(map(Literal, words)), negated)
    numbers = [Literal(random.randint(0, 9)) for _ in range(random.randint(1, 5))]
    if random.random() < 0.15:
        numbers.append(Literal(None))
    return InList(_number(random, alias), tuple(numbers), negated)


def _between(random: Random, alias: str, depth: int) -> Expression:
    del depth
    low, high = Literal(random.randint(0, 4)), Literal(random.randint(3, 9))
    return Between(_number(random, alias), low, high, random.random() < 0.3)


def _null(random: Random, alias: str, depth: int) -> Expression:
    del depth
    return IsNull(Attribute(alias, random.choice(("v", "s", "d"))), random.random() < 0.7)


def _moment(random: Random, alias: str, depth: int) -> Expression:
    del depth
    read, moment = Attribute(alias, "time"), Literal(random.randint(-3, 8))
    return Comparison(random.choice(WIDE), read, moment)


def _kind(random: Random, alias: str, depth: int) -> Expression:
    del depth
    return InList(Attribute(alias, "type"), (Literal("A"), Literal("B"), Literal("N")), random.random() < 0.2)


def _and(random: Random, alias: str, depth: int) -> Expression:
    return Conjunction(tuple(local(random, alias, depth - 1) for _ in range(2)))


def _or(random: Random, alias: str, depth: int) -> Expression:
    return Disjunction(tuple(local(random, alias, depth - 1) for _ in range(2)))


def _not(random: Random, alias: str, depth: int) -> Expression:
    return Negation(local(random, alias, depth - 1))


_LOCAL: tuple[Callable[[Random, str, int], Expression], ...] = (
    _comparison,
    _comparison,
    _two_numbers,
    _text,
    _like,
    _in,
    _between,
    _null,
    _moment,
    _moment,
    _kind,
    _and,
    _or,
    _not,
)


def _neighbours(random: Random, left: str, right: str) -> Expression:
    name = random.choice(("v", "v", "v", "d", "m", "s", "u"))
    return Comparison(random.choice(ORDERS), Attribute(left, name), Attribute(right, name, next=True))


def _scaled(random: Random, left: str, right: str) -> Expression:
    here, there = _number(random, left), _number(random, right, following=True)
    return Comparison(random.choice(ORDERS), here, there)


def _difference(random: Random, left: str, right: str) -> Expression:
    step = Arithmetic(ArithmeticOperator.SUBTRACT, Attribute(left, "v"), Attribute(right, "v", next=True))
    return Comparison(random.choice(ORDERS), step, Literal(random.randint(-3, 5)))


def _step(random: Random, left: str, right: str) -> Expression:
    here, there = Attribute(left, "time"), Attribute(right, "time", next=True)
    passed = Arithmetic(ArithmeticOperator.SUBTRACT, there, here)
    limit = Literal(Duration(random.choice((1, 2, 3, 5)) * 1_000_000))
    signs = (ComparisonOperator.LESS, ComparisonOperator.AT_MOST, ComparisonOperator.AT_LEAST)
    return Comparison(random.choice(signs), passed, limit)


def _either(random: Random, left: str, right: str) -> Expression:
    return Disjunction((_neighbours(random, left, right), _difference(random, left, right)))


def _unless(random: Random, left: str, right: str) -> Expression:
    here = IsNull(Attribute(left, "v"))
    return Disjunction((here, Negation(_neighbours(random, left, right))))


_ADJACENT: tuple[Callable[[Random, str, str], Expression], ...] = (
    _neighbours,
    _neighbours,
    _neighbours,
    _scaled,
    _difference,
    _step,
    _either,
    _unless,
)
