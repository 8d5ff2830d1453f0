"""r. A session that takes events in batches of 10,000, beside `run()` on the same events; sliding windows beside tumbling ones."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from hamlet_core import stream
from tests.benchmarks.answers import require_same_rows
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Contender, interleaved

OF_RUN = 0.5
OF_TUMBLING = 3.0
BATCH = 10_000
TYPES = 6
RUN, PUSHED = "run(), windows of a minute", "session, windows of a minute"
HOUR, EVERY_MINUTE = "session, windows of an hour, {:,} keys", "session, the same every minute, {:,} keys"
NEGATED, NEGATED_EVERY_MINUTE = "session, NOT, windows of an hour", "session, NOT, the same every minute"


def measure(scale: Scale, subject: Subject) -> Finding:
    """All rows of a session are those of a run; per event its cost may grow little where windows slide."""
    events, queries = scale.of((2_000_000, 10), (1_200, 3))
    many, few = scale.of((1_000, 100), (6, 3))
    seconds = scale.of(10_000, 9_000)
    minute, hour, sliding = (workload(queries, window) for window in ("1 min", "1 h", "1 h SLIDE 1 min"))

    def contender(name: str, text: str, table: pa.Table) -> Contender:
        answer = subject.run(text, table)
        expected = answer()
        call = answer if name == RUN else pushed(text, table, scale.of(BATCH, 100), subject.engine)
        return Contender(name, events, call, lambda found: require_same_rows(name, found, expected))

    fast = arrivals(events, scale.of(1_000, 300), many)
    contenders = [contender(RUN, minute, fast), contender(PUSHED, minute, fast)]
    for keys in (few, many):
        slow = arrivals(events, seconds, keys)
        contenders += [
            contender(HOUR.format(keys), hour, slow),
            contender(EVERY_MINUTE.format(keys), sliding, slow),
        ]
        if keys == few:
            contenders += [
                contender(NEGATED, negated(hour), slow),
                contender(NEGATED_EVERY_MINUTE, negated(sliding), slow),
            ]
    timed = interleaved(contenders, scale.rounds)

    def of_tumbling(keys: int) -> float:
        return timed[EVERY_MINUTE.format(keys)].median / timed[HOUR.format(keys)].median

    of_negated = timed[NEGATED_EVERY_MINUTE].median / timed[NEGATED].median

    return Finding(
        "r",
        f"A session in batches of {BATCH:,}: {events:,} events, {queries} queries",
        tuple(timed.values()),
        (
            Claim("run() / session", timed[RUN].median / timed[PUSHED].median, at_least=OF_RUN),
            Claim(f"session: 1 h SLIDE 1 min / 1 h, {few:,} keys", of_tumbling(few), at_most=OF_TUMBLING),
            Claim(f"session: 1 h SLIDE 1 min / 1 h, {many:,} keys", of_tumbling(many), at_most=OF_TUMBLING),
            Claim(f"session: 1 h SLIDE 1 min / 1 h, NOT, {few:,} keys", of_negated, at_most=OF_TUMBLING),
        ),
        (
            f"Of {many:,} keys each has {events * 60 / seconds / many:.3g} events in a minute, which is a pane.",
        ),
    )


def arrivals(events: int, seconds: int, keys: int, *, burst: int = 12, seed: int = 7) -> pa.Table:
    """Events of six types in so many seconds, in bursts of a type; the key is drawn for each event alone."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, seconds * 1_000_000, events))
    types = np.repeat(random.integers(0, TYPES, -(-events // burst)), burst)[:events].astype(np.int32)
    return pa.table(
        {
            "time": pa.array(times, pa.timestamp("us")),
            "type": pa.DictionaryArray.from_arrays(types, [f"T{number}" for number in range(TYPES)]),
            "key": random.integers(0, keys, events),
            "v": random.integers(0, 100, events),
        }
    )


def workload(queries: int, window: str) -> str:
    """Queries that each count, and sum up, what one type and a Kleene of the next make for a key."""
    return "\n".join(
        f"q{number}: RETURN COUNT(*), SUM(b.v) PATTERN SEQ(T{number % TYPES} a, T{(number + 1) % TYPES} b+) "
        f"WHERE [key] WITHIN {window}"
        for number in range(queries)
    )


def negated(text: str) -> str:
    """The same queries, each without events of a third type between its first and its second."""
    return re.sub(r" a, T(\d)", lambda found: f" a, NOT T{(int(found[1]) + 2) % TYPES} c, T{found[1]}", text)


def pushed(text: str, table: pa.Table, batch: int, engine: str) -> Callable[[], pa.Table]:
    """All that a session gives out, ready to be called."""

    def answer() -> pa.Table:
        session = stream(text, engine=engine, policy="never")
        found = [session.push(table.slice(first, batch)) for first in range(0, len(table), batch)]
        return pa.concat_tables([*found, session.flush()])

    return answer
