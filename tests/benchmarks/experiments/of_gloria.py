"""f3. The figures of GLORIA in shape (SIGMOD 2022): latency, throughput and memory of queries around Kleene bodies they share.

Over events per window and the number of queries, on streams of stocks and of taxis.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from random import Random

from hamlet_core.streams import generate_stream
from pipelines.comparing.members import Member
from tests.benchmarks.report import Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.sweeps import Material, Ordering, Sweep, figures

WINDOWS = 3
"""Of a stream, a minute each."""
SEED = 7
TYPES = 20
QUERIES, EVENTS = 15, 1_000
"""What stays while the other grows."""
EVENTS_PER_WINDOW, NUMBERS_OF_QUERIES = (100, 1_000, 10_000), (5, 15, 45)

MEMBERS = (
    Member("hamlet"),
    Member("hamlet", optimizer="gloria"),
    Member("hamlet", optimizer="hamlet"),
    Member("hamlet", policy="never"),
    Member("gloria"),
    Member("gloria", optimizer="greedy"),
    Member("greta"),
    Member("sharon"),
    Member("two_step"),
)
ORDERINGS = (
    Ordering(
        "gloria",
        "greta",
        (
            "the engine greta keeps running totals, so that an event costs it a sum for each type before it, not for each event "
            "as in the paper; an expression has a number for each snapshot of the window"
        ),
    ),
    Ordering("gloria", "gloria by greedy", "both plans cost the same or nearly so by the paper's formula"),
    Ordering(
        "gloria",
        "hamlet by hamlet",
        (
            "the engine gloria is event by event in Python, hamlet is compiled and folds bursts; on the same kernels it is "
            "hamlet by gloria"
        ),
    ),
    Ordering(
        "hamlet by gloria",
        "hamlet by hamlet",
        "bursts of one type are short here or few queries hold a body: what a plan shares is little of what a fold costs",
    ),
    Ordering("gloria", "two_step", "windows hold few trends, and to list them costs no more"),
)


def measure(scale: Scale, subject: Subject) -> Finding:
    """Sweeps of each stream."""
    members = scale.of(MEMBERS, (MEMBERS[0], *MEMBERS[4:8]))
    return figures(
        "f3", "The figures of GLORIA", scale, list(sweeps(scale)), members, ORDERINGS[: scale.of(5, 2)]
    )


def sweeps(scale: Scale) -> Iterator[Sweep]:
    """What grows, by stream."""
    queries, events = scale.of((QUERIES, EVENTS), (3, 60))
    for stream in scale.of(("stock", "taxi"), ("stock",)):
        by_events = partial(material, stream, queries=queries)
        yield Sweep(stream, "events per window", scale.of(EVENTS_PER_WINDOW, (40,)), by_events)
        by_queries = partial(material, stream, events)
        yield Sweep(stream, "queries", scale.of(NUMBERS_OF_QUERIES, (2,)), by_queries)


def material(stream: str, events: int, queries: int) -> Material:
    """A stream of some windows, and queries over its types."""
    table = generate_stream(stream, events * WINDOWS, SEED, rate=float(events), types=TYPES)
    many = generate_stream(stream, 20_000, SEED, types=TYPES)  # has all types
    return Material(around_bodies(sorted(set(many["type"].to_pylist())), queries), table, WINDOWS)


def around_bodies(types: list[str], queries: int) -> str:
    """Four beginnings and four ends around three Kleene bodies: one type, a sequence, and one nested in another."""
    random = Random(SEED)
    chosen = random.sample(types, 13)
    a, b, c, d, e = chosen[:5]
    bodies = (f"{e} e+", f"SEQ({a} a, {b} b)+", f"SEQ({c} c, SEQ({a} a, {b} b)+, {d} d)+")
    every = list(product(chosen[5:9], bodies, chosen[9:]))
    return "\n".join(
        f"q{number}: RETURN COUNT(*) PATTERN SEQ({first} p, {body}, {last} s) WITHIN 1 min"
        for number, (first, body, last) in enumerate(random.sample(every, queries))
    )
