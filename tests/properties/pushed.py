"""A stream pushed as it may come: out of order within the lateness, in batches of any size, the session saved between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pyarrow as pa

import hamlet_core
from hamlet_core import EventSchema, Session
from hamlet_core.language.syntax import Workload
from hamlet_core.online import sliding

HEAD = ("query", "window_start", "window_end", "group_key", "aggregate")


def arriving(events: pa.Table, random: Random, lateness: int) -> pa.Table:
    """The rows in an order in which none is later than so many seconds after the first one that is not older."""
    times = [as_seconds(time) for time in events["t"].to_pylist()]
    come = [time + random.uniform(0, lateness) for time in times]
    return events.take(sorted(range(len(times)), key=come.__getitem__))


def as_seconds(time: Any) -> float:
    """A time of either kind of column."""
    return time if isinstance(time, int) else time.timestamp()


def batches(events: pa.Table, random: Random) -> Iterator[pa.Table]:
    """The rows in order, in pieces of one to all."""
    first = 0
    while first < len(events):
        size = random.choice((1, 1, 2, 3, 5, 8, len(events)))
        yield events.slice(first, size)
        first += size


def pushed(
    workload: Workload | str,
    events: pa.Table,
    random: Random,
    schema: EventSchema,
    lateness: int = 0,
    elsewhere: Callable[[bytes, pa.Table], tuple[pa.Table, bytes]] | None = None,
    **options: str,
) -> pa.Table:
    """What a session gives out in all, in the order of `run`; saved and restored here and there, or `elsewhere`, too."""
    session = hamlet_core.stream(workload, schema=schema, lateness=f"{lateness} s", **options)
    names = session.queries
    found = []
    for batch in batches(arriving(events, random, lateness), random):
        if elsewhere and random.random() < 0.3:
            rows, state = elsewhere(session.state(), batch)
            session = Session.restore(state)
        else:
            rows = session.push(batch)
        found.append(rows)
        if random.random() < 0.3:
            session = Session.restore(session.state())
    found.append(session.flush())
    assert session.take_late() == ()
    return in_order([one for one in found if one.num_rows] or found[-1:], names)


def gone_on(state: bytes, batch: pa.Table, join: float) -> tuple[pa.Table, bytes]:
    """What a session of another process gives out for a batch, and its state then; `join` as in `sliding`."""
    sliding.JOIN = join
    session = Session.restore(state)
    return session.push(batch), session.state()


def in_order(tables: list[pa.Table], names: tuple[str, ...]) -> pa.Table:
    """Result rows as one call of `run` has them; none may stand twice."""
    whole = pa.concat_tables(tables)
    rows = list(enumerate(whole.select(HEAD).to_pylist()))
    heads = {tuple(map(str, row.values())) for _, row in rows}
    assert len(heads) == len(rows), "a window was given out twice"
    rows.sort(key=lambda one: (names.index(one[1]["query"]), one[1]["window_start"], one[1]["group_key"]))
    return whole.take(pa.array([place for place, _ in rows], pa.int64()))
