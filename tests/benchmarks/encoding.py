"""A workload of `SEQ(P, B+[, S])` and a table in; arrays that the baselines read out, made before any clock starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.execution import plan
from hamlet_core.language.parser import parse_syntax
from hamlet_core.pattern.meaning import analyse_workload

KLEENE = 0
FOREIGN = -1
NO_SUFFIX = -2


@dataclass(frozen=True)
class Encoded:
    """Events and queries as numbers; see `baselines` for the codes."""

    names: tuple[str, ...]
    """Labels of the queries, in their order."""
    prefixes: tuple[int, ...]
    suffixes: tuple[int, ...]
    """The code of each query's P and S."""
    types: int
    """How many types P there are: codes 1 to `types`; those of S follow."""
    within: int
    """Ticks of a tumbling window."""
    codes: np.ndarray
    times: np.ndarray
    x: np.ndarray
    starts: np.ndarray
    """Where the events of each window begin; the end of the last one follows."""
    window_starts: np.ndarray
    """The time at which each of these windows begins."""

    @property
    def events(self) -> int:
        return len(self.codes)

    @property
    def windows(self) -> int:
        return len(self.window_starts)

    def prefix(self, windows: int) -> Encoded:
        """The first windows alone."""
        return self.cut(self.starts[: windows + 1], self.window_starts[:windows])

    def rewindowed(self, within: int) -> Encoded:
        """The same events in tumbling windows of another length."""
        return self.cut(*windows_of(self.times, within), within)

    def cut(self, starts: np.ndarray, window_starts: np.ndarray, within: int | None = None) -> Encoded:
        """The same events in these windows; what lies behind the last is left out."""
        end = int(starts[-1])
        events = {"codes": self.codes[:end], "times": self.times[:end], "x": self.x[:end]}
        return replace(
            self, **events, starts=starts, window_starts=window_starts, within=within or self.within
        )

    @cached_property
    def lists(self) -> tuple[list[int], list[int]]:
        """Codes and window borders as the Python baselines read them."""
        return self.codes.tolist(), self.starts.tolist()


def windows_of(times: np.ndarray, within: int) -> tuple[np.ndarray, np.ndarray]:
    """(borders of windows in the sorted events, times at which they begin), empty windows left out."""
    index, first = np.unique(times // within, return_index=True)
    return np.append(first, len(times)).astype(np.int64), index * within


def encode(text: str, table: pa.Table) -> Encoded:
    """The queries must be `SEQ(P, B+)` or `SEQ(P, B+, S)` with one B, one window, and no type in two roles."""
    found = [_types(query) for query in analyse_workload(parse_syntax(text))]
    plans = plan(text)
    (within,) = {one.within // 1_000_000 for one in plans}
    kleene, prefixes, suffixes = zip(*found, strict=True)
    (code_of_b,) = set(kleene)
    codes = {code_of_b: KLEENE}
    for name in (*dict.fromkeys(prefixes), *dict.fromkeys(name for name in suffixes if name)):
        codes[name] = len(codes)
    column = table["type"].combine_chunks()
    lookup = np.array([codes.get(name, FOREIGN) for name in column.dictionary.to_pylist()], np.int8)
    times = table["time"].combine_chunks().to_numpy()
    starts, window_starts = windows_of(times, within)
    return Encoded(
        tuple(one.name for one in plans),
        tuple(codes[name] for name in prefixes),
        tuple(codes[name] if name else NO_SUFFIX for name in suffixes),
        len(set(prefixes)),
        within,
        lookup[column.indices.to_numpy()],
        times,
        pc.fill_null(table["x"], 0).combine_chunks().to_numpy(),
        starts,
        window_starts,
    )


def _types(analysed: Any) -> tuple[str, str, str | None]:
    """(B, P, S or None) of one query."""
    automaton = analysed.automaton
    (loop,) = (edge.source for edge in automaton.edges if edge.source == edge.target)
    (first,) = (border.position for border in automaton.starts)
    (last,) = (border.position for border in automaton.ends)
    names = [position.type for position in automaton.positions]
    return names[loop], names[first], None if last == loop else names[last]


@dataclass(frozen=True)
class Lanes:
    """What the limit loop reads besides events."""

    lane_starts: np.ndarray
    suffix_starts: np.ndarray
    suffix_lanes: np.ndarray
    has_suffix: np.ndarray
    order: np.ndarray
    """Lane -> query."""


def lanes_of(encoded: Encoded) -> Lanes:
    """Queries sorted by their P, so that the lanes of a P stand side by side."""
    prefixes, suffixes = np.array(encoded.prefixes), np.array(encoded.suffixes)
    order = np.argsort(prefixes, kind="stable")
    lane_starts = np.searchsorted(prefixes[order], np.arange(1, encoded.types + 2))
    behind = int(max(suffixes.max() - encoded.types, 0))
    of_suffix = [np.flatnonzero(suffixes[order] == encoded.types + 1 + place) for place in range(behind)]
    return Lanes(
        lane_starts.astype(np.int64),
        np.cumsum([0, *(len(lanes) for lanes in of_suffix)]).astype(np.int64),
        np.concatenate([*of_suffix, np.empty(0, np.int64)]).astype(np.int64),
        suffixes[order] >= 0,
        order,
    )
