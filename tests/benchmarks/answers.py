"""Answers as matrices: log2 of COUNT(*), a row for each query, a column for each window, -inf where there is no row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

TOLERANCE = 2e-9
"""Of log2: twice the relative error that scaled arithmetic may have, and a little for baselines."""

RELATIVE = 1e-9
"""Of log2, between rows that different engines show."""


class WrongAnswer(AssertionError):
    """A timed run answered something else than its reference: its time means nothing."""


def of_rows(rows: pa.Table, names: Sequence[str], window_starts: np.ndarray) -> np.ndarray:
    """Result rows of `run` for queries of these labels, in windows that begin at these times (sorted)."""
    answers = np.full((len(names), len(window_starts)), -np.inf)
    labels = rows["query"].combine_chunks().dictionary_encode()
    places = {name: place for place, name in enumerate(names)}
    query = np.array([places[name] for name in labels.dictionary.to_pylist()], np.int64)
    window = np.searchsorted(window_starts, rows["window_start"].to_numpy())
    answers[query[labels.indices.to_numpy()], window] = rows["log2"].to_numpy()
    return answers


def differences(found: np.ndarray, expected: np.ndarray, *, tolerance: float = TOLERANCE) -> list[str]:
    """Where two matrices of log2 differ, in words; NaN differs from everything, inf equals itself."""
    if found.shape != expected.shape:
        return [f"{found.shape} answers, not {expected.shape}"]
    with np.errstate(invalid="ignore"):
        same = (found == expected) | (np.abs(found - expected) <= tolerance)
    return [
        f"query {query + 1}, window {window + 1}: {found[query, window]}, not {expected[query, window]}"
        for query, window in np.argwhere(~same)
    ]


def require_equal(
    what: str, found: np.ndarray, expected: np.ndarray, *, tolerance: float = TOLERANCE
) -> None:
    """Raise `WrongAnswer` unless the answers are the same."""
    if wrong := differences(found, expected, tolerance=tolerance):
        raise WrongAnswer(f"{what}: {len(wrong)} of {expected.size} answers differ: " + "; ".join(wrong[:5]))
    if not np.isfinite(expected).any():
        raise WrongAnswer(f"{what}: the stream has no trend, so its answers prove nothing")


def require_same_rows(what: str, found: pa.Table, expected: pa.Table) -> None:
    """Raise `WrongAnswer` unless two results of `run` have the same rows, signs and, but for rounding, log2."""
    heads = ["query", "window_start", "window_end", "group_key", "aggregate"]
    order = [(name, "ascending") for name in heads]
    left, right = found.sort_by(order), expected.sort_by(order)
    if not left.select([*heads, "sign"]).equals(right.select([*heads, "sign"])):
        raise WrongAnswer(f"{what}: {len(left)} rows, and not the {len(right)} of the others")
    if not len(right):
        raise WrongAnswer(f"{what}: no rows, so they prove nothing")
    log2 = [one["log2"].to_numpy() for one in (left, right)]
    wrong = ~np.isclose(*log2, rtol=RELATIVE, atol=RELATIVE, equal_nan=True)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise WrongAnswer(
            f"{what}: {wrong.sum()} of {len(wrong)} rows differ: {left.slice(row, 1).to_pylist()}, "
            f"not {right.slice(row, 1).to_pylist()}"
        )


def log2_of(count: int) -> float:
    """log2 of an integer of any size, -inf for 0."""
    if not count:
        return -math.inf
    shift = max(count.bit_length() - 64, 0)
    return math.log2(count >> shift) + shift
