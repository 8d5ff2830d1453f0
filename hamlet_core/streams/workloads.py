"""Seeded workloads for the streams: the name of a stream and a mix in, the text of queries out (HAMLET, section 6).

As the paper's generator does it: queries fall into groups, each with one Kleene sub-pattern `b+` that they share; a
prefix and a suffix come with a rate each; windows, conditions and the attribute to group by are drawn per query, the
aggregate per group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from hamlet_core.streams.drawing import check
from hamlet_core.streams.grounds import GROUNDS, Ground
from hamlet_core.streams.knobs import check_knobs
from hamlet_core.streams.registry import find_kind

TRIES = 100
"""How often a query is drawn anew if the workload has it already."""


@dataclass(frozen=True, slots=True)
class Mix:
    """What a workload looks like; equal mixes give equal texts."""

    queries: int = 50
    seed: int = 7
    types: int = 0
    """Types of the stream; 0: as many as it has by default."""
    kleene_groups: int = 5
    """Groups of queries that share a Kleene sub-pattern and an aggregate."""
    prefix_rate: float = 0.5
    suffix_rate: float = 0.5
    windows: Sequence[int] = (5, 10, 15, 20)
    """Minutes."""
    slide: int = 5
    """Minutes; 0: windows tumble."""
    selectivities: Sequence[float] = (0.5, 0.75, 0.85)
    """Shares of the events of type b that satisfy the condition of a query."""
    condition_rate: float = 1.0
    """Queries that have a condition on b."""
    adjacent_rate: float = 0.0
    """Queries that compare each b with the next."""
    count_rate: float = 0.4
    """Groups of queries that count trends; the others have SUM, AVG, MIN or MAX of the stream's measured value."""
    group_rate: float = 1.0
    """Queries with GROUP-BY."""

    def __post_init__(self) -> None:
        check(
            "a workload",
            not_negative=(self.seed, self.types, self.slide),
            positive=(self.queries, self.kleene_groups, *self.windows),
            rates=(
                *(self.prefix_rate, self.suffix_rate, self.condition_rate, self.adjacent_rate),
                *(self.count_rate, self.group_rate, *self.selectivities),
            ),
            lengths=(len(self.windows), len(self.selectivities)),
        )


def generate_workload(stream: str, queries: int = 50, seed: int = 7, **knobs: Any) -> str:
    """The text of a workload for the named stream; the knobs are the fields of `Mix`.

    Raises `StreamError` E291 for an unknown stream, E290 for a knob that is unknown or out of range.

    >>> print(generate_workload("bursty", 2, 3, group_rate=0, slide=0))
    -- 2 queries over the stream bursty (seed 3)
    q1: RETURN AVG(b.v) PATTERN SEQ(P7 p, B b+) WHERE b.v >= 25 WITHIN 10 min
    q2: RETURN COUNT(*) PATTERN B b+ WHERE b.v >= 15 WITHIN 5 min
    <BLANKLINE>
    """
    kind = find_kind(stream)
    check_knobs("a workload", Mix, {"queries": queries, "seed": seed, **knobs})
    mix = Mix(queries=queries, seed=seed, **knobs)
    ground = GROUNDS[stream](mix.types or int(getattr(kind.description(), "types", 0)))
    random = Random(seed)  # noqa: S311 - workloads are drawn, not guarded
    types = random.sample(ground.kleene, len(ground.kleene))
    groups = [
        (types[number % len(types)], _aggregate(mix, ground, random)) for number in range(mix.kleene_groups)
    ]
    bodies: list[str] = []
    for query in range(queries):
        kleene, returned = groups[query % len(groups)]
        for _ in range(TRIES):
            body = _body(mix, ground, kleene, returned, random)
            if body not in bodies:
                break
        bodies.append(body)
    lines = [f"q{number}: {body}" for number, body in enumerate(bodies, 1)]
    return "\n".join([f"-- {queries} queries over the stream {stream} (seed {seed})", *lines, ""])


def _aggregate(mix: Mix, ground: Ground, random: Random) -> str:
    if random.random() < mix.count_rate:
        return "COUNT(*)"
    return f"{random.choice(('SUM', 'AVG', 'MIN', 'MAX'))}(b.{ground.measured})"


def _body(mix: Mix, ground: Ground, kleene: str, returned: str, random: Random) -> str:
    """A query without its label."""
    pattern = _pattern(mix, ground, kleene, random)
    where = [f"[{', '.join(ground.equivalence)}]"] if ground.equivalence else []
    if random.random() < mix.condition_rate:
        share = random.choice(mix.selectivities)
        where.append(f"b.{ground.bounded} >= {round(ground.bound - share * (ground.bound - ground.least))}")
    if random.random() < mix.adjacent_rate:
        where.append(f"b.{ground.compared} < NEXT(b).{ground.compared}")
    grouped = random.random() < mix.group_rate
    return " ".join(
        [
            f"RETURN {ground.group}, {returned}" if grouped else f"RETURN {returned}",
            f"PATTERN {pattern}",
            *([f"WHERE {' AND '.join(where)}"] if where else []),
            *([f"GROUP-BY {ground.group}"] if grouped else []),
            f"WITHIN {random.choice(mix.windows)} min",
            *([f"SLIDE {mix.slide} min"] if mix.slide else []),
        ]
    )


def _pattern(mix: Mix, ground: Ground, kleene: str, random: Random) -> str:
    """No type occurs twice."""
    parts = [f"{kleene} b+"]
    if (
        prefixes := [name for name in ground.prefixes if name != kleene]
    ) and random.random() < mix.prefix_rate:
        parts.insert(0, f"{(first := random.choice(prefixes))} p")
    else:
        first = kleene
    if (
        suffixes := [name for name in ground.suffixes if name not in (first, kleene)]
    ) and random.random() < mix.suffix_rate:
        parts.append(f"{random.choice(suffixes)} s")
    return f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]
