"""Queries that go together: a stream in, what was found of each of them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.input.frame import Jobs
from hamlet_core.engines.hamlet.prefixes.lanes.kernel import fold_lanes
from hamlet_core.engines.hamlet.prefixes.lanes.program import Shape
from hamlet_core.engines.hamlet.prefixes.lanes.tables import (
    HEAP,
    LIST,
    MOST_LANES,
    Fold,
    LaneRows,
    Places,
    Prefixes,
    Singles,
    Steps,
    Trends,
)
from hamlet_core.engines.hamlet.prefixes.parts import in_parts
from hamlet_core.engines.hamlet.prefixes.tables import DONE, FULL, NEUTRAL, Found, Values
from hamlet_core.threads import Crew

ROOM = 64
"""Prefixes that there is room for at first; more where it is too little."""
MOST_NUMBERS = 1 << 25
"""Of the rows of queries that are folded together: 256 MiB."""
_BESIDE = 7
"""Numbers of a row and lane beside its components: trends, when they began, partitions, disjoint trends."""


def lanes_at_once(rows: int, parts: int) -> int:
    """How many queries go together, for so many rows of results with so many components each."""
    return max(1, min(MOST_LANES, MOST_NUMBERS // max(rows * (parts + _BESIDE), 1)))


def fold_together(
    steps: Steps,
    shape: Shape,
    lanes: Sequence[int],
    events: Any,
    pairs: Any,
    values: Values,
    jobs: Sequence[Jobs],
    rows: int,
    *,
    tied: bool,
    crew: Crew,
) -> list[Found] | None:
    """What is found of each query, by its lane; None where 64 bits cannot hold a number of one of them.

    `jobs`: windows that different threads fold, and no two of which add to one row. `tied`: see `Fold`.
    """
    width = steps.starting.shape[1]
    found = _rows(shape, width, rows)

    def fits(own: Jobs) -> bool:
        begin, room, state = 0, ROOM, FULL
        while state == FULL:
            fold = Fold(
                tied,
                steps,
                events,
                pairs,
                values,
                _room(room + len(steps.kind), width, shape),
                _room(room, width, shape),
                _places(len(steps.kind)),
                _trends(len(steps.kind), width, shape),
            )
            begin, state = fold_lanes(fold, _singles(steps, room), own, found, begin)
            room *= 4
        return bool(state == DONE)

    if not in_parts(fits, jobs, crew):
        return None
    if shape.least[0]:  # nobody asks for the number of trends: it is one for each partition that has any
        found.integers[:, 0, :] = found.partitions
    return [
        Found(
            found.integers[:, :, lane],
            found.doubles[:, :, lane],
            found.there[:, lane],
            found.partitions[:, lane],
            found.reached[:, reached.start : reached.stop],
            found.disjoint[:, lane],
        )
        for lane, reached in zip(lanes, shape.reached, strict=True)
    ]


def _rows(shape: Shape, lanes: int, rows: int) -> LaneRows:
    """Nothing yet."""
    least = np.array([NEUTRAL if least else 0 for least in shape.least], np.int64)
    return LaneRows(
        np.broadcast_to(least[None, :, None], (rows, len(least), lanes)).copy(),
        np.zeros((rows, shape.doubles, lanes)),
        np.zeros((rows, lanes), np.bool_),
        np.zeros((rows, lanes), np.int64),
        np.zeros((rows, lanes), np.int64),
        np.zeros((rows, shape.reached[-1].stop), np.int64),
    )


def _room(prefixes: int, lanes: int, shape: Shape) -> Prefixes:
    return Prefixes(
        np.zeros(prefixes, np.uint64),
        np.zeros(prefixes, np.int64),
        np.zeros(prefixes, np.int64),
        np.zeros(prefixes, np.int64),
        np.zeros(prefixes, np.bool_),
        np.zeros(prefixes, np.bool_),
        np.zeros((prefixes, len(shape.least), lanes), np.int64),
        np.zeros((prefixes, shape.doubles, lanes)),
    )


def _places(steps: int) -> Places:
    return Places(
        np.zeros(steps, np.int64),
        np.zeros(steps, np.uint64),
        np.zeros(steps, np.bool_),
        np.zeros(steps, np.int64),
        np.zeros(2, np.int64),
    )


def _singles(steps: Steps, room: int) -> Singles | None:
    """None where all that waits is in piles."""
    if not np.isin(steps.kind, (HEAP, LIST)).any():
        return None
    size = len(steps.kind)
    return Singles(
        np.zeros((size, room), np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.uint64),
        np.zeros(room + size, np.int64),
        np.zeros(room + 2, np.int64),
        np.zeros(2, np.int64),
    )


def _trends(steps: int, lanes: int, shape: Shape) -> Trends:
    return Trends(
        np.zeros((len(shape.least), lanes), np.int64),
        np.zeros((shape.doubles, lanes)),
        np.zeros(1, np.uint64),
        np.zeros(steps, np.uint64),
        np.zeros(lanes, np.int64),
        np.zeros(lanes, np.int64),
    )
