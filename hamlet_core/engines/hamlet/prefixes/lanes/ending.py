"""What a prefix gathers from its events, and the trends that end with it."""

from __future__ import annotations

import numpy as np

from hamlet_core.engines.hamlet.input.reading import bit_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline
from hamlet_core.engines.hamlet.numbers.arenas import Values
from hamlet_core.engines.hamlet.prefixes.lanes.elements import beyond, is_within
from hamlet_core.engines.hamlet.prefixes.lanes.tables import (
    L_EARLIEST,
    L_LASTING,
    L_LATEST,
    L_LONGEST,
    L_OFFSETS,
    L_SHORTEST,
    Fold,
    Prefixes,
    Steps,
    Trends,
)
from hamlet_core.engines.hamlet.prefixes.tables import MOST


@compiled_inline
def gather(fold: Fold, of: Prefixes, one: int, step: int, row: int) -> bool:
    """Let a prefix take what its last event adds at a step; False where a number is too large."""
    for effect in range(fold.steps.effect_first[step], fold.steps.effect_first[step + 1]):
        if not _gather(fold.steps, fold.values, of, one, effect, row):
            return False
    return True


@compiled_inline
def _gather(steps: Steps, values: Values, of: Prefixes, one: int, effect: int, row: int) -> bool:
    """Let the lanes of a prefix take what an effect adds; False where a number is too large."""
    part, column, kind = steps.effect_part[effect], steps.effect_column[effect], steps.effect_kind[effect]
    fits = True
    for lane in range(steps.effect_has.shape[1]):
        if not steps.effect_has[effect, lane] or not bit_of(of.alive[one], lane):
            continue
        count = of.integers[one, 0, lane]
        if kind == 2:
            of.doubles[one, part, lane] += count * values.doubles[column, row]
        elif kind == 1:
            of.integers[one, part, lane] = min(of.integers[one, part, lane], values.integers[column, row])
        else:
            value = 1 if column < 0 else values.integers[column, row]
            fits = fits and abs(float(count) * float(value)) < MOST
            if fits:
                total = of.integers[one, part, lane] + count * value
                fits = abs(total) < MOST
                of.integers[one, part, lane] = total
    return fits


@compiled_inline
def end(fold: Fold, of: Prefixes, one: int, step: int, event: int, base: int) -> bool:
    """Add the trends that end with a prefix, now that an event has come to it; False where a number is too large."""
    steps, trends = fold.steps, fold.trends
    ended = of.alive[one] & steps.ends[step]
    if not ended:
        return True
    trends.there[0] |= ended
    fits = _add_trends(steps, of, trends, one, step)
    if steps.times[L_LATEST] >= 0:
        for lane in range(of.integers.shape[2]):
            if bit_of(ended, lane):
                fits = _last(steps, of, trends, one, lane, fold.events.time[event], base) and fits
    return bool(fits)


@compiled_inline
def _add_trends(steps: Steps, of: Prefixes, trends: Trends, one: int, step: int) -> bool:
    """What a prefix has gathered, in the lanes in which a trend may end at the step."""
    times, integers, has, mask = steps.times, of.integers, steps.ending, np.uint64(0)
    for part in range(integers.shape[1]):
        if part in (times[L_LATEST], times[L_EARLIEST], times[L_OFFSETS]):
            continue
        if steps.least[part]:
            for lane in range(integers.shape[2]):
                if has[step, lane]:
                    trends.integers[part, lane] = min(trends.integers[part, lane], integers[one, part, lane])
        else:
            for lane in range(integers.shape[2]):
                total = trends.integers[part, lane] + (integers[one, part, lane] if has[step, lane] else 0)
                mask |= beyond(total)
                trends.integers[part, lane] = total
    for part in range(of.doubles.shape[1]):
        for lane in range(of.doubles.shape[2]):
            if has[step, lane]:
                trends.doubles[part, lane] += of.doubles[one, part, lane]
    return bool(is_within(mask))


@compiled_inline
def _last(steps: Steps, of: Prefixes, trends: Trends, one: int, lane: int, time: int, base: int) -> bool:
    """What the trends of a lane last that end with a prefix, and whether one follows those that are over."""
    times, integers = steps.times, of.integers
    latest, earliest = -integers[one, times[L_LATEST], lane], integers[one, times[L_EARLIEST], lane]
    if latest > trends.free[lane]:
        trends.free[lane] = time
        trends.disjoint[lane] += 1
    shortest, longest, lasting = times[L_SHORTEST], times[L_LONGEST], times[L_LASTING]
    if shortest >= 0:
        trends.integers[shortest, lane] = min(trends.integers[shortest, lane], time - latest)
    if longest >= 0:
        trends.integers[longest, lane] = min(trends.integers[longest, lane], earliest - time)
    if lasting < 0:
        return True
    count, since = integers[one, 0, lane], time - base
    if float(count) * float(since) >= MOST:
        return False
    trends.integers[lasting, lane] += count * since - integers[one, times[L_OFFSETS], lane]
    return bool(abs(trends.integers[lasting, lane]) < MOST)
