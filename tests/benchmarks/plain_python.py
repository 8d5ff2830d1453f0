"""In plain Python, no two events of one time: GRETA by running totals, one query at a time, and funnels.

Running totals are tight loops over a list of codes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa

from tests.benchmarks.encoding import KLEENE
from tests.benchmarks.funnels import Question

_LARGE = 2.0**500
_DOWN = 2.0**-500
_STEP = 500


def scaled(codes: Sequence[int], starts: Sequence[int], prefix: int, suffix: int) -> list[float]:
    """log2 of the count of each window: a double for the totals and one exponent, as the compiled baseline has."""
    answers = []
    for first, last in pairwise(starts):
        seeds, total, one, exponent = 0.0, 0.0, 1.0, 0
        ended, ended_exponent = 0.0, 0
        for code in codes[first:last]:
            if code == KLEENE:
                total += total + seeds
                if total > _LARGE:
                    total *= _DOWN
                    seeds *= _DOWN
                    one *= _DOWN
                    exponent += _STEP
            elif code == prefix:
                seeds += one
            elif code == suffix:
                if ended_exponent != exponent:
                    ended = math.ldexp(ended, max(ended_exponent - exponent, -2000))
                    ended_exponent = exponent
                ended += total
        if suffix < 0:
            ended, ended_exponent = total, exponent
        answers.append(math.log2(ended) + ended_exponent if ended else -math.inf)
    return answers


def exact(codes: Sequence[int], starts: Sequence[int], prefix: int, suffix: int) -> list[int]:
    """The count of each window, every digit of it."""
    answers = []
    for first, last in pairwise(starts):
        seeds = total = ended = 0
        for code in codes[first:last]:
            if code == KLEENE:
                total += total + seeds
            elif code == prefix:
                seeds += 1
            elif code == suffix:
                ended += total
        answers.append(ended if suffix >= 0 else total)
    return answers


def funnels(question: Question, table: pa.Table) -> list[int]:
    """How far each user got in each window, or how often from end to end: event after event; no two have one time."""
    of_users: dict[tuple[int, int], list[str]] = {}
    clicks = zip(*(table[name].to_pylist() for name in ("time", "user", "type")), strict=True)
    for at, user, name in sorted(clicks):
        window = int(at.timestamp()) // question.within
        of_users.setdefault((user, window), []).append(name)
    answer = []
    for steps in question.funnels:
        reached, passages = [0] * len(steps), 0
        for names in of_users.values():
            step = furthest = 0
            for name in names:
                if step < len(steps) and name == steps[step]:
                    step += 1
                    furthest = max(furthest, step)
                if step == len(steps) and question.disjoint:
                    step, passages = 0, passages + 1
            for place in range(furthest):
                reached[place] += 1
        answer += [passages] if question.disjoint else reached
    return answer
