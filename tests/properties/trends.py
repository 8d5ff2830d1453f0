"""Random workloads of sequences and Kleene plus that have parts in common, for engines that share whole sub-patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from random import Random

from hamlet_core.language.syntax import (
    Aggregate,
    AggregateFunction,
    Atom,
    Duration,
    Equivalence,
    Expression,
    Mode,
    Pattern,
    Plus,
    Query,
    Seq,
)
from hamlet_core.pattern.meaning import analyse
from tests.oracle.expressions import attributes
from tests.properties import predicates, sequences
from tests.properties.generation import SECOND, Case, case_of, query
from tests.properties.matching import in_mode
from tests.properties.patterns import positive
from tests.properties.shapes import neighbours

TYPES = "ABCDEF"


def common_case(random: Random, *, short: bool = False) -> Case:
    """Two to five queries with parts in common, flat and nested Kleene plus among them, most of them COUNT(*) alone over
    the same windows and partitions, and a stream as `sequences.long_case` has it; `short`: about a dozen events.
    """
    line = tuple(_line(random))
    conditions = tuple(_conditions(random, Seq(line)))
    first = query(random, "q0", lambda _: _cut(random, line))
    within = random.choice((8, 12, 20, 30, 40))
    first = replace(
        first,
        within=Duration(within * SECOND),
        slide=Duration(random.choice((within, within, within // 2, 5)) * SECOND),
    )
    drawn = tuple(
        _asked(random, line, conditions, first, f"q{number}") for number in range(random.randint(2, 5))
    )
    case = case_of(random, drawn)
    return case if short else sequences.longer(random, case)


def _line(random: Random) -> Iterator[Pattern]:
    """Three or four parts of six types in order, at times with one of them again; queries are cut from it."""
    numbers = count()
    types = list(TYPES)
    if random.random() < 0.2:
        types[random.randint(2, 5)] = random.choice(types[:2])
    parts = [random.choice((1, 1, 1, 2, 2, 3)) for _ in range(random.randint(3, 4))]
    for size in parts:
        atoms: list[Pattern] = [Atom(type_, f"s{next(numbers)}") for type_ in types[:size]]
        del types[:size]
        if not atoms:
            return
        if len(atoms) == 1:
            yield Plus(atoms[0]) if random.random() < 0.5 else atoms[0]
        elif random.random() < 0.3:
            place = random.randrange(len(atoms))
            yield Plus(Seq((*atoms[:place], Plus(atoms[place]), *atoms[place + 1 :])))
        elif len(atoms) == 3 and random.random() < 0.5:
            yield Plus(Seq((atoms[0], Plus(Seq(tuple(atoms[1:]))))))
        else:
            yield Plus(Seq(tuple(atoms)))


def _cut(random: Random, line: Sequence[Pattern]) -> Pattern:
    """Some parts of the line one after the other, at times with one of them in another form, or in another order."""
    first = random.choice((0, 0, random.randrange(len(line))))
    taken = list(line[first : random.randint(first + 1, len(line))])
    if random.random() < 0.1:
        place = random.randrange(len(taken))
        one = taken[place]
        taken[place] = one.body if isinstance(one, Plus) else Plus(one)
    if random.random() < 0.1:
        random.shuffle(taken)
    return taken[0] if len(taken) == 1 else Seq(tuple(taken))


def _conditions(random: Random, whole: Pattern) -> Iterator[Expression]:
    """What most queries that have the aliases say of them."""
    pairs = sorted(neighbours(whole).pairs)
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        if pairs and random.random() < 0.6:
            yield predicates.adjacent(random, *random.choice(pairs))
        else:
            yield predicates.local(random, random.choice(sorted(one.alias for one in positive(whole))))


def _asked(
    random: Random, line: Sequence[Pattern], conditions: Sequence[Expression], first: Query, name: str
) -> Query:
    """A query cut from the line, most often with the windows, partitions and conditions of the others."""
    drawn = query(random, name, lambda _: _cut(random, line))
    while analyse(replace(drawn, returns=(Aggregate(AggregateFunction.COUNT),))).ambiguous:
        drawn = query(random, name, lambda _: _cut(random, line))
    drawn = in_mode(random, drawn, Mode.ANY)
    drawn = replace(drawn, returns=sequences.counted(drawn))
    if random.random() < 0.15:
        return drawn
    own = [one for one in drawn.where if not isinstance(one, Equivalence)] if random.random() < 0.2 else []
    own += [
        one if random.random() < 0.85 else _another(random, one)
        for one in conditions
        if random.random() < 0.95 and _fits(one, drawn.pattern)
    ]
    return replace(
        drawn,
        where=(*(one for one in first.where if isinstance(one, Equivalence)), *own),
        returns=(Aggregate(AggregateFunction.COUNT),) if random.random() < 0.85 else drawn.aggregates,
        group_by=tuple(replace(one, alias=None) for one in first.group_by),
        within=first.within,
        slide=first.slide,
    )


def _fits(condition: Expression, pattern: Pattern) -> bool:
    """Whether a pattern has the alias of a condition, or the two as neighbours."""
    here, there = _aliases(condition)
    if there:
        return all((left, right) in neighbours(pattern).pairs for left in here for right in there)
    return here <= {one.alias for one in positive(pattern)}


def _another(random: Random, condition: Expression) -> Expression:
    """Another condition on the same events."""
    (here, *_), there = map(sorted, _aliases(condition))
    return predicates.adjacent(random, here, there[0]) if there else predicates.local(random, here)


def _aliases(condition: Expression) -> tuple[set[str], set[str]]:
    """The alias of a condition, and that of what follows if it reads two events."""
    read = list(attributes(condition))
    return {one.alias for one in read if not one.next}, {one.alias for one in read if one.next}
