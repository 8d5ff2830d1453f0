"""Which members of a group an event matches, and on which events of a burst they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import holds_bit
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.program.layout import (
    ALL,
    G_BARE,
    G_CODE,
    G_FIELDS,
    G_MEMBER_AT,
    G_MEMBERS,
    M_LIKE,
    M_MATCHES,
    M_RENAMED,
    M_SOLE,
    NOBODY,
    P_GROUP,
    P_KEPT,
    P_MEMBERS,
    P_RUNS,
    SOME,
    WORDS,
)


@compiled_inline
def agreement(plan: Packed, events: Events, group: int, event: int) -> int:
    """Whether an event matches no member, all of them, or some."""
    kept, bare = plan[P_KEPT] + group, get(plan, P_GROUP, group * G_FIELDS + G_BARE)
    every, nobody = True, bare == 0
    for at in range(plan[kept], plan[kept + 1], 2):
        found = events.bits[event, plan[at]] & np.uint64(plan[at + 1])
        every = every and found == np.uint64(plan[at + 1])
        nobody = nobody and found == np.uint64(0)
    if every:
        return ALL
    return NOBODY if nobody else SOME


@compiled_part
def matches(plan: Packed, events: Events, group: int, member: int, event: int) -> Any:
    """Whether an event matches a member."""
    return holds_bit(events, event, plan[get(plan, P_MEMBERS, group) + 3 * member + 2])


@compiled_part
def _set_bits(number: Any) -> Any:
    """How many of the lower 32 bits are set."""
    number -= (number >> 1) & 0x55555555
    number = (number & 0x33333333) + ((number >> 2) & 0x33333333)
    number = (number + (number >> 4)) & 0x0F0F0F0F
    return ((number * 0x01010101) & 0xFFFFFFFF) >> 24


@compiled_inline
def _who_matches(plan: Packed, memo: Packed, events: Events, group: int, event: int) -> None:
    """Into `M_MATCHES`: a bit for each member that an event matches, 32 to a word."""
    runs, words = plan[P_RUNS] + group, memo[M_MATCHES]
    for word in range(words, words + WORDS):
        memo[word] = 0
    for at in range(plan[runs], plan[runs + 1], 5):
        word, shift, count, first = plan[at], plan[at + 1], plan[at + 2], plan[at + 3]
        found: Any = np.int64(-1)
        if word >= 0:
            found = np.int64(events.bits[event, word] >> np.uint64(shift))
        if plan[at + 4]:
            found = -(found & 1)
        memo[words + (first >> 5)] |= (found & ((1 << count) - 1)) << (first & 31)


@compiled_part
def nobody_differs(plan: Packed, memo: Packed, group: int) -> None:
    """All members of a group are like each other."""
    about = plan[P_GROUP] + group * G_FIELDS
    first = plan[about + G_MEMBER_AT]
    for member in range(first, first + plan[about + G_MEMBERS]):
        put(memo, M_LIKE, member, 0)
        put(memo, M_SOLE, member, 0)


@compiled_part
def compare(plan: Packed, memo: Packed, events: Events, group: int, begin: int, stop: int) -> tuple[int, int]:
    """(events of the burst, those on which members differ); who is like whom goes to `M_LIKE`.

    `M_SOLE` counts for each member the events on which it alone differs from all others.
    """
    about = plan[P_GROUP] + group * G_FIELDS
    code, count = plan[about + G_CODE], plan[about + G_MEMBERS]
    like, sole = memo[M_LIKE] + plan[about + G_MEMBER_AT], memo[M_SOLE] + plan[about + G_MEMBER_AT]
    nobody_differs(plan, memo, group)
    found, differing, classes = 0, 0, 1
    for event in range(begin, stop):
        if events.code[event] != code:
            continue
        how = agreement(plan, events, group, event)
        if how == NOBODY:
            continue
        found += 1
        if how == SOME:
            differing += 1
            _who_matches(plan, memo, events, group, event)
            _note_sole(memo, count, sole)
            if classes < count:
                classes = _refine(memo, count, like, memo[M_RENAMED] + 2 * plan[about + G_MEMBER_AT], classes)
    return found, differing


@compiled_inline
def _matched(memo: Packed, member: int) -> Any:
    return (get(memo, M_MATCHES, (member >> 5)) >> (member & 31)) & 1


@compiled_part
def _note_sole(memo: Packed, count: int, sole: int) -> None:
    """Count the event in hand for a member that alone matches it, or alone does not."""
    matched: Any = 0
    for word in range(memo[M_MATCHES], memo[M_MATCHES] + (count + 31) // 32):
        matched += _set_bits(memo[word])
    if matched in (1, count - 1):
        for member in range(count):
            if matched == 1 and _matched(memo, member) == 1:
                memo[sole + member] += 1
            if matched == count - 1 and _matched(memo, member) == 0:
                memo[sole + member] += 1


@compiled_part
def _refine(memo: Packed, count: int, like: int, renamed: int, classes: int) -> int:
    """Tell members apart that the event in hand tells apart; how many classes there are then."""
    for old in range(2 * classes):
        memo[renamed + old] = -1
    new = 0
    for member in range(count):
        name = renamed + 2 * memo[like + member] + _matched(memo, member)
        if memo[name] < 0:
            memo[name] = new
            new += 1
        memo[like + member] = memo[name]
    return new


@compiled_part
def disagreements(
    plan: Packed, memo: Packed, events: Events, group: int, labels: int, label: int, begin: int, stop: int
) -> int:
    """Events of the burst on which members with a label differ."""
    about = plan[P_GROUP] + group * G_FIELDS
    count, differing, wanted = plan[about + G_MEMBERS], 0, memo[M_MATCHES] + WORDS
    for word in range(wanted, wanted + WORDS):
        memo[word] = 0
    for member in range(count):
        if memo[labels + member] == label:
            memo[wanted + (member >> 5)] |= 1 << (member & 31)
    for event in range(begin, stop):
        if events.code[event] != plan[about + G_CODE] or agreement(plan, events, group, event) != SOME:
            continue
        _who_matches(plan, memo, events, group, event)
        hit = missed = False
        for word in range((count + 31) // 32):
            hit = hit or (get(memo, M_MATCHES, word) & memo[wanted + word]) != 0
            missed = missed or (~get(memo, M_MATCHES, word) & memo[wanted + word]) != 0
        differing += hit and missed
    return differing
