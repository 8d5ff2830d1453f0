"""Random workloads over streams too large to enumerate: few types, long bursts, many windows, extreme values.

For the comparison of engines that need no enumeration. Draws from a `random.Random`, as `generation` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ldexp
from random import Random
from typing import Any

import pyarrow as pa

from hamlet_core import EventSchema
from hamlet_core.language.syntax import (
    Atom,
    Duration,
    Equivalence,
    Not,
    Or,
    Pattern,
    Plus,
    Query,
    Seq,
    Star,
    Workload,
)
from hamlet_core.language.writer import write_workload
from tests.golden import harness
from tests.oracle.oracle import atoms
from tests.properties import predicates
from tests.properties.generation import SECOND, query
from tests.properties.patterns import positive
from tests.properties.predicates import WORDS
from tests.properties.rewriting import as_timestamps
from tests.properties.shapes import neighbours
from tests.properties.streams import Event, columns

ENDS = (2**63 - 1, -(2**63), 2**63 - 2, -(2**63) + 1, 2**62, -(2**62), 2**53 + 1)
"""Whole numbers that no double holds, or that overflow as soon as two are added up."""

DECIMALS = {False: pa.decimal128(16, 2), True: pa.decimal128(38, 2)}
"""The column `m`, of ordinary and of 38 digits."""


@dataclass(frozen=True, slots=True)
class Task:
    """Several queries, the stream they read, and how it is to be read."""

    workload: Workload
    events: tuple[Event, ...]
    wide: bool
    """Whether values reach the limits of their types."""
    timestamps: bool
    origin: int

    def __repr__(self) -> str:
        """What a person needs to see of a failure."""
        head = f"wide={self.wide} timestamps={self.timestamps} origin={self.origin}"
        return "\n".join((head, write_workload(self.workload), *map(str, self.events)))

    @property
    def schema(self) -> EventSchema:
        """How the table is to be read."""
        return EventSchema(time="t", type="type", origin=self.origin if not self.timestamps else 0)

    def table(self) -> pa.Table:
        """The stream, with every column the queries read."""
        kinds = {
            "v": pa.int64(), "u": pa.int64(), "g": pa.string(), "d": pa.float64(),
            "m": DECIMALS[self.wide], "s": pa.string(),
        }  # fmt: skip
        read = sorted({name for one in self.workload.queries for name in columns(one)})
        rows = [{name: row[name] for name in row if name in ("t", "type", *read)} for row in self.events]
        made = harness.table(rows, {name: kinds[name] for name in read})
        if not self.timestamps:
            return made
        times = made["t"].cast(pa.timestamp("s")).cast(pa.timestamp("us"))
        return made.set_column(made.column_names.index("t"), "t", times)


def task(random: Random) -> Task:
    """One to six queries and up to two hundred events."""
    count = random.choice((1, 1, 2, 2, 3, 3, 4, 6))
    queries = tuple(_query(random, f"q{number}") for number in range(count))
    queries = _alike(random, queries)
    wide = random.random() < 0.2
    events = _events(random, queries, _length(random), wide=wide)
    timestamps = random.random() < 0.2
    workload = Workload(as_timestamps(queries) if timestamps else queries)
    origin = random.choice((0, 0, 0, 1, -7, 1000))
    return Task(workload, events, wide, timestamps, origin)


def _length(random: Random) -> int:
    span = random.choice(((0, 3), (5, 20), (10, 40), (20, 60), (30, 90), (30, 90), (90, 200)))
    return random.randint(*span)


def _query(random: Random, name: str) -> Query:
    """A query of the whole language or, as often, a small one of the paper's kind; windows of all sizes."""
    asked = query(random, name)
    if random.random() < 0.4:
        asked = _small(random, asked)
    within = random.choice((1, 2, 4, 8, 12, 20, 30, 40, 60, 97, 400))
    least = -(-within // 12)
    slide = random.choice(
        (
            within,
            within,
            within + 3,
            5 * within + 1,
            least,
            least + 1,
            max(within // 2, 1),
            max(within // 3, 1),
        )
    )
    return replace(asked, within=Duration(within * SECOND), slide=Duration(slide * SECOND))


def _small(random: Random, asked: Query) -> Query:
    """Keep the name; SEQ(P, B+[, S]) and its like, with what is asked of each alias by chance."""
    b = Plus(Atom("B", "b"))
    a, c, d = Atom("A", "a"), Atom("C", "c"), Atom("D", "d")
    n, m, absent = Atom("N", "n"), Atom("M", "m"), Not(Atom("N", "n"))
    pair, same = Not(Seq((n, m))), Not(Seq((n, Atom("N", "n2"))))
    pattern: Pattern = random.choice(
        (b, Seq((a, b)), Seq((a, b, c)), Seq((b, c)), Seq((Plus(a), b)), Plus(Seq((a, b))), Seq((a, b, Plus(c), d)),
         Or((Seq((a, b)), Plus(c))), Seq((b, Plus(Atom("B", "b2")))), Plus(Seq((a, Plus(Seq((b, c)))))),
         Seq((a, absent, b)), Seq((b, absent)), Seq((absent, b, c)), Seq((a, same, b)), Seq((a, pair, b, Not(c))),
         Plus(Seq((a, absent, b))), Seq((a, Not(Seq((n, Not(b), m))), b)), Seq((same, Plus(a), pair, b)),
         Or((Seq((a, absent, b)), Plus(c))), Seq((a, absent, Not(Plus(m)), Star(b), c)), Seq((a, Not(d), b, d)))
    )  # fmt: skip
    names = {atom.alias for atom in atoms(pattern)}
    bound = list(positive(pattern))
    clear = [atom for atom in bound if sum(one.type == atom.type for one in bound) == 1]
    conjuncts = [one for one in asked.where if isinstance(one, Equivalence)]
    pairs = sorted(neighbours(pattern).pairs)
    if pairs and random.random() < 0.4:
        conjuncts.append(predicates.adjacent(random, *random.choice(pairs)))
    if random.random() < 0.4:
        conjuncts.append(predicates.local(random, random.choice(sorted(names))))
    returned = [item for item in asked.aggregates if item.alias is None]
    extra = [item for item in asked.aggregates if item.alias is not None]
    for item in extra:
        if clear:
            moved = replace(item, alias=random.choice(clear).alias)
            returned += [moved] if moved.label not in {one.label for one in returned} else []
    if not returned:
        return asked
    groups = tuple(replace(item, alias=None) for item in asked.group_by)
    shown = groups if random.random() < 0.5 else ()
    return replace(
        asked, returns=(*shown, *returned), pattern=pattern, where=tuple(conjuncts), group_by=groups
    )


def _alike(random: Random, queries: tuple[Query, ...]) -> tuple[Query, ...]:
    """Often give the queries windows and partition attributes in common, and sometimes the pattern too."""
    first = queries[0]
    made = [first]
    for other in queries[1:]:
        one = other
        if random.random() < 0.5:
            one = replace(one, within=first.within, slide=first.slide)
        if random.random() < 0.5:
            shared = tuple(item for item in first.where if isinstance(item, Equivalence))
            own = tuple(item for item in one.where if not isinstance(item, Equivalence))
            one = replace(one, where=(*shared, *own))
        if random.random() < 0.2:
            one = replace(first, name=other.name, within=one.within, slide=one.slide)
        made.append(one)
    return tuple(made)


def _events(random: Random, queries: Sequence[Query], length: int, *, wide: bool) -> tuple[Event, ...]:
    known = sorted({atom.type for one in queries for atom in atoms(one.pattern)})
    negated = {"N", "M"}
    kinds = [kind for kind in known for _ in range(1 if kind in negated else 4)] + ["Z"]
    read = sorted({name for one in queries for name in columns(one)})
    nulls = random.choice((0.0, 0.0, 0.03, 0.1, 0.5))
    choices = {
        "u": random.choice((1, 2, 3)),
        "g": random.choice((1, 2, 3)),
        "v": random.choice((2, 10, 10, 50)),
    }
    steps = random.choice(((0,), (0, 1), (0, 1, 1, 2), (1,), (1,), (1, 2, 5), (0, 0, 0, 1), (0, 1, 30)))
    longest = random.choice((1, 1, 3, 8, 20, 60))
    time = random.choice((0, 0, 1, -7, -200, 95, 10**6))
    events: list[Event] = []
    while len(events) < length:
        kind = random.choice(kinds)
        for _ in range(random.randint(1, longest)):
            values = {
                name: value(random, name, choices, wide=wide) for name in read if random.random() >= nulls
            }
            events.append({"t": time, "type": kind} | values)
            time += random.choice(steps)
    if random.random() < 0.1:
        random.shuffle(events)
    return tuple(events[:length])


def value(random: Random, name: str, choices: dict[str, int], *, wide: bool) -> Any:
    """A value of one attribute; `wide`: at times one at the limits of its type."""
    extreme = wide and random.random() < 0.3
    match name:
        case "v":
            return random.choice(ENDS) if extreme else random.randint(-1, choices["v"])
        case "u":
            return random.randint(1, choices["u"])
        case "g":
            return ("x", "y", "ü")[random.randrange(choices["g"])]
        case "d":
            sign = random.choice((1, 1, -1))
            if extreme:
                return sign * ldexp(random.random(), random.choice((-1070, -60, 60, 1000)))
            return random.choice((0.0, -0.0, random.randint(-8, 30) / 4, random.uniform(-3, 3)))
        case "m":
            digits = random.randint(-(10**38) + 1, 10**38 - 1) if extreme else random.randint(-200, 900)
            return Decimal(f"{digits}E-2")
        case "s":
            return random.choice(WORDS)
    raise ValueError(name)


def classes(case: Task) -> set[tuple[frozenset[str], frozenset[str]]]:
    """The different sets of equivalence and GROUP-BY attributes."""
    return {
        (
            frozenset(
                name for part in one.where if isinstance(part, Equivalence) for name in part.attributes
            ),
            frozenset(item.name for item in one.group_by),
        )
        for one in case.workload.queries
    }
