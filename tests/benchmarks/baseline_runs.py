"""The compiled baselines over a whole workload: log2 of counts, a row for each query, a column for each window."""

from __future__ import annotations

import numpy as np

from tests.benchmarks import baselines
from tests.benchmarks.encoding import Encoded, lanes_of


def by_running_totals(encoded: Encoded) -> np.ndarray:
    """One query after the other; the stream must have no ties."""
    log2 = np.empty((len(encoded.names), encoded.windows))
    for row, prefix, suffix in zip(log2, encoded.prefixes, encoded.suffixes, strict=True):
        baselines.running_totals(encoded.codes, encoded.starts, prefix, suffix, row)
    return log2


def by_running_totals_tied(encoded: Encoded, matching: np.ndarray) -> np.ndarray:
    """One query after the other; `matching` says which events fulfil the local conditions, the same for all."""
    log2 = np.empty((len(encoded.names), encoded.windows))
    events = (encoded.codes, encoded.times, matching, encoded.starts)
    for row, prefix, suffix in zip(log2, encoded.prefixes, encoded.suffixes, strict=True):
        baselines.running_totals_tied(*events, prefix, suffix, row)
    return log2


def by_scan(
    encoded: Encoded, *, ordered: bool, vectorised: bool = True, queries: int | None = None
) -> np.ndarray:
    """One query after the other (the first `queries` of them); raises OverflowError where doubles do not suffice."""
    log2 = np.empty((queries or len(encoded.names), encoded.windows))
    events = (encoded.codes, encoded.times, encoded.x, encoded.x, encoded.starts)
    for row, prefix, suffix in zip(log2, encoded.prefixes, encoded.suffixes, strict=False):
        baselines.scan(*events, prefix, suffix, ordered, vectorised, row)
    if not np.all(log2 < np.inf):
        raise OverflowError("the scan baseline counts in doubles: take shorter windows")
    return log2


def by_limit(encoded: Encoded) -> np.ndarray:
    """All queries in one pass of plain doubles; inf where they overflow."""
    with np.errstate(divide="ignore"):
        return np.log2(limit_loop(encoded)())


def limit_loop(encoded: Encoded):
    """The limit loop on this input, ready to be called: counts, a row for each query."""
    lanes = lanes_of(encoded)
    arguments = (lanes.lane_starts, lanes.suffix_starts, lanes.suffix_lanes, lanes.has_suffix)
    if len(lanes.order) > baselines.LANES:
        raise ValueError(f"the limit loop has {baselines.LANES} lanes")
    back = np.argsort(lanes.order)

    def call() -> np.ndarray:
        answers = np.empty((encoded.windows, len(lanes.order)))
        baselines.limit(encoded.codes, encoded.starts, encoded.types, *arguments, answers)
        return answers.T[back]

    return call
