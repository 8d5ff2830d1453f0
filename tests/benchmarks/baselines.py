"""The compiled baselines: other ways to the same counts, each as fast as it can honestly be made.

All read encoded events (`tests/benchmarks/encoding.py`) of tumbling windows and count trends of `SEQ(P, B+[, S])`.
Codes: 0 is B, -1 a type that no query reads. A query without S has suffix -2, which no event has. Counts come out
as log2 (-inf: no trend), one per window.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

KLEENE = 0
LANES = 50
"""Lanes of the limit loop, known to the compiler."""

# A total is taken down by 2^-500 when it passes 2^500: every sum of a window's totals stays far inside a double.
_LARGE = 2.0**500
_DOWN = 2.0**-500
_STEP = 500


@njit(cache=True)
def _log2(mantissa, exponent):
    return math.log2(mantissa) + exponent if mantissa > 0.0 else -math.inf


@njit(cache=True, fastmath={"contract"})
def running_totals(codes, starts, prefix, suffix, log2):
    """GRETA by running totals, one query, no two events of one time: a mantissa for all totals, one exponent.

    A run of B is a loop of its own, short enough to stay within a double, so that one multiply-and-add is all there
    is per event. The total of finished trends has its own exponent: it stays while the total of B grows past it.
    """
    for window in range(len(starts) - 1):
        seeds, total, one, exponent = 0.0, 0.0, 1.0, 0
        ended, ended_exponent = 0.0, 0
        event, end = starts[window], starts[window + 1]
        while event < end:
            code = codes[event]
            if code == KLEENE:
                stop = min(end, event + _STEP)
                while event < stop and codes[event] == KLEENE:
                    total = 2.0 * total + seeds
                    event += 1
                if total > _LARGE:
                    total, seeds, one = total * _DOWN, seeds * _DOWN, one * _DOWN
                    exponent += _STEP
                    if total > _LARGE:
                        total, seeds, one = total * _DOWN, seeds * _DOWN, one * _DOWN
                        exponent += _STEP
                continue
            if code == prefix:
                seeds += one
            elif code == suffix:
                if ended_exponent != exponent:
                    ended = math.ldexp(ended, max(ended_exponent - exponent, -2000))
                    ended_exponent = exponent
                ended += total
            event += 1
        if suffix < 0:
            ended, ended_exponent = total, exponent
        log2[window] = _log2(ended, ended_exponent)


@njit(cache=True, fastmath={"contract"})
def running_totals_tied(codes, times, matching, starts, prefix, suffix, log2):
    """As `running_totals`, where events may tie: gather over one time, then commit. `matching`: local predicates."""
    for window in range(len(starts) - 1):
        seeds, total, one, exponent = 0.0, 0.0, 1.0, 0
        new_seeds, new_total = 0.0, 0.0
        ended, ended_exponent = 0.0, 0
        now = times[starts[window]]
        for event in range(starts[window], starts[window + 1]):
            if times[event] != now:
                now = times[event]
                seeds += new_seeds
                total += new_total
                new_seeds = 0.0
                new_total = 0.0
                if total > _LARGE:
                    total *= _DOWN
                    seeds *= _DOWN
                    one *= _DOWN
                    exponent += _STEP
            if not matching[event]:
                continue
            code = codes[event]
            if code == KLEENE:
                new_total += total + seeds
            elif code == prefix:
                new_seeds += one
            elif code == suffix:
                if ended_exponent != exponent:
                    ended = math.ldexp(ended, max(ended_exponent - exponent, -2000))
                    ended_exponent = exponent
                ended += total
        if suffix < 0:
            ended, ended_exponent = total + new_total, exponent
        log2[window] = _log2(ended, ended_exponent)


@njit(cache=True, fastmath={"reassoc", "contract"})
def _sum_under(counts, x, older, bound):
    """The counts of the older events whose value is below the bound."""
    total = 0.0
    for event in range(older):
        total += counts[event] if x[event] < bound else 0.0
    return total


@njit(cache=True, fastmath={"reassoc", "contract"})
def _sum(counts, older):
    total = 0.0
    for event in range(older):
        total += counts[event]
    return total


@njit(cache=True)
def _sum_under_one_by_one(counts, x, older, bound):
    total = 0.0
    for event in range(older):
        if x[event] < bound:
            total += counts[event]
    return total


@njit(cache=True)
def scan(codes, times, values, bounds, starts, prefix, suffix, ordered, vectorised, log2):
    """GRETA as published, one query: each event scans all older events of the window that may precede it.

    `ordered` asks for values[older] < bounds[newer], so that both are x for `b.x < NEXT(b).x`; `vectorised` lets the compiler scan 8 events at once for it, which adds up in
    another order. Counts are doubles; a window whose counts do not fit answers inf.
    """
    longest = 0
    for window in range(len(starts) - 1):
        longest = max(longest, starts[window + 1] - starts[window])
    seed_counts, counts, kept_values = np.empty(longest), np.empty(longest), np.empty(longest, values.dtype)
    for window in range(len(starts) - 1):
        seeds = older_seeds = kept = older = 0
        ended, everything = 0.0, 0.0
        now = times[starts[window]]
        for event in range(starts[window], starts[window + 1]):
            if times[event] != now:
                now, older_seeds, older = times[event], seeds, kept
            code = codes[event]
            if code == KLEENE:
                count = _sum(seed_counts, older_seeds)
                if not ordered:
                    count += _sum(counts, older)
                elif vectorised:
                    count += _sum_under(counts, kept_values, older, bounds[event])
                else:
                    count += _sum_under_one_by_one(counts, kept_values, older, bounds[event])
                if count > 0.0:
                    counts[kept] = count
                    kept_values[kept] = values[event]
                    kept += 1
                    everything += count
            elif code == prefix:
                seed_counts[seeds] = 1.0
                seeds += 1
            elif code == suffix:
                ended += _sum(counts, older)
        log2[window] = _log2(everything if suffix < 0 else ended, 0)


@njit(cache=True, fastmath={"contract"})
def limit(codes, starts, types, lane_starts, suffix_starts, suffix_lanes, has_suffix, answers):
    """The limit: a loop made for one workload, plain doubles that overflow, all queries at once.

    Lanes stand in the order of their P: those of type i are lane_starts[i]:lane_starts[i + 1]; the lanes that end in
    S type j are suffix_lanes[suffix_starts[j]:suffix_starts[j + 1]]. P types have the codes 1..types, S types follow.
    `answers[window, lane]` are counts.
    """
    totals, inputs, ended = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    for window in range(len(starts) - 1):
        totals[:] = 0.0
        inputs[:] = 0.0
        ended[:] = 0.0
        event, end = starts[window], starts[window + 1]
        while event < end:
            code = codes[event]
            if code == KLEENE:
                while event < end and codes[event] == KLEENE:
                    for lane in range(LANES):
                        totals[lane] = 2.0 * totals[lane] + inputs[lane]
                    event += 1
                continue
            if 0 < code <= types:
                for lane in range(lane_starts[code - 1], lane_starts[code]):
                    inputs[lane] += 1.0
            elif code > 0:
                place = code - types - 1
                for index in range(suffix_starts[place], suffix_starts[place + 1]):
                    ended[suffix_lanes[index]] += totals[suffix_lanes[index]]
            event += 1
        for lane in range(answers.shape[1]):
            answers[window, lane] = ended[lane] if has_suffix[lane] else totals[lane]
