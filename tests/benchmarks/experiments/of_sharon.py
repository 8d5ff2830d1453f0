"""f1. The figures of SHARON in shape (ICDE 2018, section 8): latency, throughput and memory of sequences that share parts.

Over events per window on its three streams; on that of purchases over the length of patterns and the number of queries too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

import pyarrow as pa

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
PURCHASES = "ecommerce"
GROUPS = {"ecommerce": "customer", "taxi": "vendor", "linear_road": "lane"}
"""Stream -> what its queries are asked for each of."""
QUERIES, LENGTH, EVENTS = 20, 5, 2_000
"""What stays while something else grows."""
SIZES = {"events per window": (200, 2_000, 20_000), "length of patterns": (3, 5, 9), "queries": (10, 30, 90)}
SMALL = {"events per window": (100,), "length of patterns": (), "queries": (2, 3)}

MEMBERS = (
    Member("hamlet"),
    Member("hamlet", optimizer="sharon"),
    Member("hamlet", policy="never"),
    Member("sharon"),
    Member("sharon", optimizer="greedy"),
    Member("aseq"),
    Member("shared_two_step"),
    Member("two_step"),
)
ORDERINGS = (
    Ordering(
        "sharon",
        "aseq",
        (
            "few queries have a part in common, and each that goes on from it multiplies at its START events, which costs as "
            "much as to count the part again"
        ),
    ),
    Ordering(
        "sharon",
        "sharon by greedy",
        "both plans save the same, or nearly so",
    ),
    Ordering(
        "aseq", "shared_two_step", "windows hold few sequences of this length, and to list them costs no more"
    ),
    Ordering(
        "shared_two_step", "two_step", "few sequences are common to several queries, and all are put together"
    ),
    Ordering(
        "hamlet by sharon",
        "hamlet never",
        "these runs take a few ms, and a good part of them is to build the program that a new plan needs",
    ),
)


def measure(scale: Scale, subject: Subject) -> Finding:
    """Sweeps of each stream."""
    members = scale.of(MEMBERS, (MEMBERS[0], *MEMBERS[3:6]))
    orderings = scale.of(ORDERINGS, ORDERINGS[:2])
    return figures("f1", "The figures of SHARON", scale, list(sweeps(scale)), members, orderings)


def sweeps(scale: Scale) -> Iterator[Sweep]:
    """What grows, by stream."""
    sizes = scale.of(SIZES, SMALL)
    queries, length, events = scale.of((QUERIES, LENGTH, EVENTS), (3, 3, 100))
    for stream in scale.of(tuple(GROUPS), ("ecommerce",)):
        by_events = partial(material, stream, queries=queries, length=length)
        yield Sweep(stream, "events per window", sizes["events per window"], by_events)
    if lengths := sizes["length of patterns"]:
        by_length = partial(material, PURCHASES, events, queries)
        yield Sweep(PURCHASES, "length of patterns", lengths, by_length)
    by_queries = partial(material, PURCHASES, events, length=length)
    yield Sweep(PURCHASES, "queries", sizes["queries"], by_queries)


def material(stream: str, events: int, queries: int, length: int) -> Material:
    """A stream of some windows, and sequences over its types."""
    knobs = {} if stream == "linear_road" else {"types": TYPES}
    table = generate_stream(stream, events * WINDOWS, SEED, rate=float(events), **knobs)
    if stream == "linear_road":  # places are types, as in the traffic queries of the paper
        place = table.schema.get_field_index("type")
        names = [f"S{seg % TYPES}" for seg in table["seg"].to_pylist()]
        table = table.set_column(place, "type", pa.array(names))
    return Material(sequences(table, GROUPS[stream], queries, length), table, WINDOWS)


def sequences(table: pa.Table, group: str, queries: int, length: int) -> str:
    """Sequences cut from three orders of the types of a stream."""
    random = Random(SEED)
    types = sorted(set(table["type"].to_pylist()))
    orders = [random.sample(types, len(types)) for _ in range(3)]
    lines = []
    for number in range(queries):
        order = orders[number % len(orders)]
        first = random.randrange(max(len(order) - length, 0) + 1)
        pattern = ", ".join(f"{name} v{at}" for at, name in enumerate(order[first : first + length]))
        lines.append(f"q{number}: RETURN COUNT(*) PATTERN SEQ({pattern}) WHERE [{group}] WITHIN 1 min")
    return "\n".join(lines)
