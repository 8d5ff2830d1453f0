"""b. W50 with `b.x < NEXT(b).x`: ordered structures beside GRETA by scan, how their cost grows with the window, and one query beside fifty."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.answers import require_equal
from tests.benchmarks.baseline_runs import by_scan
from tests.benchmarks.encoding import encode
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject, answers
from tests.benchmarks.timing import Contender, Timing, interleaved, speed_up

TIMES_SCAN = 100.0
GROWTH = 0.25
"""Of cost per event as a power of the window. A logarithm gives 0.11 from 1e3 to 1e5 events, a square root 0.5."""
SCAN = "GRETA by scan compiled, a query at a time"
WIDE_SCAN = "the same scan with vector instructions"
KERNEL, RUN = "kernel", "run() end to end"
COUNTS = (1, 2, 5, 10, 50)
"""Queries in one table."""
HOW = SHARED, ALONE, ONE = "all queries", "all queries, policy never", "one query"


def measure(scale: Scale, subject: Subject) -> Finding:
    """All three on W50's own window, then the kernel alone on windows of three sizes, then a few queries beside all."""
    within = scale.of(10_000, 300)
    text = scale.w50(within=within, adjacent=True)
    whole = table = scale.stream(scale.of(2_000_000, 2_000))
    encoded = encode(text, table)
    few, fewer = encoded.prefix(scale.of(20, 3)), encoded.prefix(scale.of(4, 2))
    expected = by_scan(few, ordered=True)

    def same(found: object) -> None:
        whole = answers(found, encoded.names, encoded.window_starts)
        require_equal(KERNEL, whole[:, : few.windows], expected)

    timed = interleaved(
        [
            Contender(
                SCAN,
                fewer.events,
                lambda: by_scan(fewer, ordered=True, vectorised=False),
                lambda found: require_equal(SCAN, found, expected[:, : fewer.windows]),
            ),
            Contender(
                WIDE_SCAN,
                few.events,
                lambda: by_scan(few, ordered=True),
                lambda found: require_equal(WIDE_SCAN, found, expected),
            ),
            Contender(KERNEL, encoded.events, subject.fold(text, table), same),
            Contender(RUN, encoded.events, subject.run(text, table), same),
        ],
        scale.rounds,
    )
    counts = interleaved([counted(scale, subject, whole, count) for count in COUNTS], scale.rounds)
    *fewer_queries, all_queries = counts.values()
    table = table.slice(0, scale.of(1_000_000, 2_000))
    sizes = scale.of((1_000, 10_000, 100_000), (50, 200, 500))
    grown = interleaved(
        [windowed(scale, subject, table, size, how) for how in HOW for size in sizes], scale.rounds
    )
    shared, alone, one_query = ([grown[window_name(how, size)] for size in sizes] for how in HOW)
    return Finding(
        "b",
        f"W50 with b.x < NEXT(b).x: {encoded.events:,} events, windows of {within:,}",
        (*timed.values(), *grown.values(), *counts.values()),
        (
            Claim("kernel / GRETA by scan", speed_up(timed[KERNEL], timed[SCAN]), TIMES_SCAN),
            Claim("run() / GRETA by scan", speed_up(timed[RUN], timed[SCAN])),
            Claim(
                "kernel / GRETA by scan with vector instructions", speed_up(timed[KERNEL], timed[WIDE_SCAN])
            ),
            Claim("cost per event ~ window ^", growth(sizes, shared), at_most=GROWTH, unit="(all queries)"),
            Claim("cost per event ~ window ^", growth(sizes, one_query), at_most=GROWTH, unit="(one query)"),
            Claim("cost per event ~ window ^", growth(sizes, alone), unit="(all queries, policy never)"),
            Claim(
                "an event for the dearest of 1, 2, 5 and 10 queries / for fifty",
                max(timing.per_event for timing in fewer_queries) / all_queries.per_event,
                at_most=1.0,
            ),
        ),
        (
            (
                f"The scans are measured on {fewer.windows} and {few.windows} windows and compared per event. Scanning 8 events "
                "at once is not in the papers, and adds up in another order. A cost that grows as the "
                "logarithm shows as the power 0.11 between windows of 1e3 and 1e5 events; with a lane for each of 50 "
                "queries the totals of 1e5 events take 20 MB, more than the caches near the core."
            ),
        ),
    )


def window_name(how: str, within: int) -> str:
    return f"kernel, {how}, windows of {within:,}"


def windowed(scale: Scale, subject: Subject, table, within: int, how: str) -> Contender:
    """The kernel with windows of this size; checked on some queries and windows, for a scan is slow."""
    text = scale.w50(within=within, adjacent=True)
    text = text.splitlines()[0] if how == ONE else text
    encoded = encode(text, table)
    checked = encoded.prefix(max(min(scale.of(100_000, 500) // within, encoded.windows), 1))
    queries = min(len(encoded.names), 4)
    expected = by_scan(checked, ordered=True, queries=queries)
    name = window_name(how, within)

    def same(found: object) -> None:
        whole = answers(found, encoded.names, encoded.window_starts)
        require_equal(name, whole[:queries, : checked.windows], expected)

    policy = "dynamic" if how == SHARED else "never"
    return Contender(name, encoded.events, subject.fold(text, table, policy=policy), same)


def counted(scale: Scale, subject: Subject, table, count: int) -> Contender:
    """`run()` with so many of the queries on one thread; events are all of the table, of which more queries read more."""
    within = scale.of(3_600, 240)
    text = "\n".join(scale.w50(within=within, adjacent=True).splitlines()[:count])
    encoded = encode(text, table)
    checked = encoded.prefix(scale.of(4, 2))
    queries = min(len(encoded.names), 4)
    expected = by_scan(checked, ordered=True, queries=queries)
    name = f"run(), {count} {'query' if count == 1 else 'queries'}, windows of {within:,}"

    def same(found: object) -> None:
        whole = answers(found, encoded.names, encoded.window_starts)
        require_equal(name, whole[:queries, : checked.windows], expected)

    return Contender(name, table.num_rows, subject.run(text, table, policy="dynamic"), same)


def growth(sizes: tuple[int, ...], timings: list[Timing]) -> float:
    """The power of the window that fits the cost per event best."""
    costs = [timing.per_event for timing in timings]
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
