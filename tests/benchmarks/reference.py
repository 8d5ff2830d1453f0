"""A workload in, its answers by the compiled baselines out, a query at a time: what every policy has to answer.

Queries are `SEQ(P, B+[, S])` over tumbling windows, each with a window of its own, and with conditions `b.v < 10` and
`b.x < NEXT(b).x` (or <=, >, >=) or without.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hamlet_core.execution import plan
from tests.benchmarks import baselines
from tests.benchmarks.encoding import FOREIGN, KLEENE, Encoded, encode, windows_of

LOCAL = re.compile(r"\bb\.(\w+) < (\d+)")
ADJACENT = re.compile(r"\bb\.(\w+) ([<>]=?) NEXT\(b\)\.\1\b")


@dataclass(frozen=True)
class Reference:
    """log2 of counts: a row for each query, a column for each time at which a window of any of them begins."""

    names: tuple[str, ...]
    window_starts: np.ndarray
    log2: np.ndarray


def reference(text: str, table: pa.Table) -> Reference:
    """Without a NEXT condition there may be no ties; with one a scan counts in doubles (OverflowError)."""
    lines: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        lines[line[line.index("WITHIN") :]].append(line)
    parts = [(encode("\n".join(own), table), own) for own in lines.values()]
    names = tuple(line.split(":")[0] for line in text.splitlines())
    starts = starts_of(text, table)
    log2 = np.full((len(names), len(starts)), -np.inf)
    for encoded, own in parts:
        columns = np.searchsorted(starts, encoded.window_starts)
        for query, line in enumerate(own):
            log2[names.index(encoded.names[query]), columns] = _counted(encoded, query, line, table)
    if not np.all(log2 < np.inf):
        raise OverflowError("the scan baseline counts in doubles: take shorter windows")
    return Reference(names, starts, log2)


def starts_of(text: str, table: pa.Table) -> np.ndarray:
    """The times at which windows of any query begin that hold an event."""
    times = table["time"].to_numpy()
    lengths = {one.within // 1_000_000 for one in plan(text)}
    return np.unique(np.concatenate([windows_of(times, within)[1] for within in lengths]))


def _counted(encoded: Encoded, query: int, line: str, table: pa.Table) -> np.ndarray:
    """log2 of the counts of one query in its windows."""
    codes = encoded.codes.copy()
    if local := LOCAL.search(line):
        codes[(codes == KLEENE) & (table[local[1]].to_numpy() >= int(local[2]))] = FOREIGN
    types = encoded.prefixes[query], encoded.suffixes[query]
    log2 = np.empty(encoded.windows)
    if adjacent := ADJACENT.search(line):
        values, bounds = _compared(table[adjacent[1]].to_numpy(), adjacent[2])
        baselines.scan(codes, encoded.times, values, bounds, encoded.starts, *types, True, True, log2)
    else:
        baselines.running_totals(codes, encoded.starts, *types, log2)
    return log2


def _compared(column: np.ndarray, sign: str) -> tuple[np.ndarray, np.ndarray]:
    """(values, bounds) such that value < bound says of an older and a newer event what the sign does."""
    ranks = np.unique(column, return_inverse=True)[1].astype(np.int64)
    values = -ranks if sign.startswith(">") else ranks
    return values, values + sign.endswith("=")
