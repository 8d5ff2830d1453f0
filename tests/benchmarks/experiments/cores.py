"""n. `run()` on one thread and on two, each with a core of its own; and the same bits from 1, 2, 3 and 8."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pyarrow as pa

from hamlet_core import run
from hamlet_core.streams import generate_stream
from tests.benchmarks import machine
from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Contender, interleaved, speed_up

THREADS = (1, 2, 3, 8)
TWICE = 1.8
"""Times the speed of one thread that two shall have."""


def measure(scale: Scale, subject: Subject) -> Finding:
    """W50, W50 with conditions on neighbours in 100 partitions, and the example of ride sharing; the first three also over fewer events,
    which take milliseconds.
    """
    within = scale.of(3_600, 400)
    few, more, most = scale.of((2_000_000, 10_000_000, 50_000_000), (4_000, 5_000, 6_000))
    plain, adjacent = scale.w50(within=within), scale.w50(within=within, adjacent=True)
    keyed = scale.w50(within=within, adjacent=True, equivalence=True)
    example = (machine.ROOT / "examples" / "ride_sharing.hamlet").read_text(encoding="utf-8")
    long = {
        "W50": (plain, scale.stream(most)),
        "W50 with NEXT": (adjacent, scale.stream(more)),
        "W50 with NEXT, 100 partitions": (keyed, scale.stream(more, groups=100, bursts_per_key=2)),
        "ride sharing": (example, generate_stream("ridesharing", few, seed=11)),
    }
    short = {
        f"{name}, {few:,} events": (long[name][0], long[name][1].slice(0, few)) for name in list(long)[:-1]
    }
    workloads = long | short
    with all_cores() as cores:
        contenders = [
            _contender(subject, name, text, table, threads)
            for name, (text, table) in workloads.items()
            for threads in THREADS[:2]
        ]
        timed = interleaved(contenders, scale.rounds)
    return Finding(
        "n",
        f"Threads: {most:,} events of W50, {more:,} with NEXT, {few:,} of ride sharing, {cores} cores",
        tuple(timed.values()),
        tuple(
            Claim(
                f"{name}: two threads / one",
                speed_up(timed[_named(name, 2)], timed[_named(name, 1)]),
                at_least=TWICE if cores > 1 and name in long else None,
            )
            for name in workloads
        ),
        (
            "Every answer is compared, and equal to the last bit, with those of 1, 2, 3 and 8 threads. What a run does before and after",
            "events are folded, some milliseconds, one thread does, so two of them gain little where all takes milliseconds.",
        ),
    )


def _contender(subject: Subject, name: str, text: str, table: pa.Table, threads: int) -> Contender:
    call = partial(run, text, table, engine=subject.engine)
    expected = [subject.run(text, table, policy="dynamic")(), *(call(threads=number) for number in THREADS)]

    def same(found: pa.Table) -> None:
        if not all(found.equals(one) for one in expected):
            raise WrongAnswer(f"{name}: other bits with another number of threads")

    return Contender(_named(name, threads), table.num_rows, partial(call, threads=threads), same)


def _named(name: str, threads: int) -> str:
    return f"{name}, {threads} thread{'s' * (threads > 1)}"


@contextmanager
def all_cores() -> Iterator[int]:
    """The other benchmarks have one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield os.cpu_count() or 1
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield len(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, before)
