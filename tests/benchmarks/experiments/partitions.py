"""d. 10,000 partitions by `[key]` beside one partition of the same events: kernel, and `run()` that has to partition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tests.benchmarks.answers import require_equal
from tests.benchmarks.baseline_runs import by_running_totals
from tests.benchmarks.encoding import Encoded, encode
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject, answers
from tests.benchmarks.timing import Contender, interleaved

KERNEL_AT_MOST = 2.0
RUN_AT_MOST = 4.0
ONE_KERNEL, MANY_KERNEL = "kernel, one partition", "kernel, many partitions"
ONE_RUN, MANY_RUN = "run(), one partition", "run(), many partitions"


def measure(scale: Scale, subject: Subject) -> Finding:
    """Two successive bursts (one of P or S, one of B) have one key; results are merged over keys."""
    keys, within = scale.of((10_000, 1_000_000), (20, 2_000))
    table = scale.stream(scale.of(5_000_000, 4_000), groups=keys, bursts_per_key=2)
    plain, keyed = scale.w50(within=within), scale.w50(within=within, equivalence=True)
    encoded = encode(plain, table)
    expected_one = by_running_totals(encoded)
    expected_many = by_key(encoded, table["key"].to_numpy())

    def contender(name: str, text: str, expected: np.ndarray) -> Contender:
        def same(found: object) -> None:
            require_equal(name, answers(found, encoded.names, encoded.window_starts), expected)

        make = subject.run if "run()" in name else subject.fold
        return Contender(name, encoded.events, make(text, table), same)

    timed = interleaved(
        [
            contender(ONE_KERNEL, plain, expected_one),
            contender(MANY_KERNEL, keyed, expected_many),
            contender(ONE_RUN, plain, expected_one),
            contender(MANY_RUN, keyed, expected_many),
        ],
        scale.rounds,
    )
    kernel = timed[MANY_KERNEL].median / timed[ONE_KERNEL].median
    whole = timed[MANY_RUN].median / timed[ONE_RUN].median
    return Finding(
        "d",
        f"{keys:,} partitions, {encoded.events:,} events, windows of {within:,}",
        tuple(timed.values()),
        (
            Claim("kernel: many / one partition", kernel, at_most=KERNEL_AT_MOST),
            Claim("run(): many / one partition", whole, at_most=RUN_AT_MOST),
        ),
        (f"{busy(encoded, table):,} pairs of a partition and a window have events.",),
    )


def by_key(encoded: Encoded, keys: np.ndarray) -> np.ndarray:
    """Running totals of each key alone, added up in each window."""
    window = np.repeat(np.arange(encoded.windows), np.diff(encoded.starts))
    order = np.lexsort((encoded.times, keys, window))
    borders = (np.diff(window[order], prepend=-1) != 0) | (np.diff(keys[order], prepend=-1) != 0)
    starts = np.append(np.flatnonzero(borders), encoded.events)
    pieces = window[order][starts[:-1]]
    sorted_events = replace(
        encoded,
        codes=encoded.codes[order],
        times=encoded.times[order],
        starts=starts,
        window_starts=encoded.window_starts[pieces],
    )
    first = np.flatnonzero(np.diff(pieces, prepend=-1))
    return np.logaddexp2.reduceat(by_running_totals(sorted_events), first, axis=1)


def busy(encoded: Encoded, table: pa.Table) -> int:
    """How many pairs of a partition and a window there are."""
    keys = table["key"].to_numpy()
    window = np.repeat(np.arange(encoded.windows), np.diff(encoded.starts))
    return len(np.unique(window * (int(keys.max()) + 1) + keys))
