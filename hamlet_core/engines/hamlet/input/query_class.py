"""Queries of one class (one set of partition attributes) and the events they read, as the kernels want them.

The set counts, not which clause names an attribute (SEMANTICS 9). Queries of a class then differ in two things: in the
groups by which they report, and in the partitions that an equivalence attribute without a value keeps from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.input.frame import DEAD, NO_ROWS, Events, Predicates
from hamlet_core.engines.hamlet.input.pair_conditions import PairConditions
from hamlet_core.engines.hamlet.input.predicate_bits import LocalPredicates, Mask
from hamlet_core.engines.partitioning import Partitioning, partition
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.table.columns import frozen, validity
from hamlet_core.table.encode import Stream
from hamlet_core.template.sharable import partition_of

_NO_BITS = np.zeros((0, 1), np.uint64)

KEPT_PROGRAMS = 128
"""So many of a class are kept for the next run; where results have other shapes each time they get more and more."""


@dataclass(frozen=True, slots=True)
class ClassEvents:
    """The events of one class of queries."""

    events: Events
    partitioning: Partitioning
    codes: dict[str, int]
    """Type -> code in `events.code`."""
    predicates: Predicates
    matched: int
    """Events that some query of the class can bind."""


@dataclass(frozen=True, slots=True)
class QueryClass:
    """Queries with the same set of partition attributes, and what does not depend on the events they read."""

    places: tuple[int, ...]
    """Of the queries in their workload."""
    queries: tuple[AnalysedQuery, ...]
    local: LocalPredicates
    between: PairConditions
    equivalence: tuple[str, ...]
    """An event without a value of one of these is not read: it is in no partition of some of the queries."""
    group_by: tuple[str, ...]
    """Rows of results are kept apart by these, the GROUP-BY attributes of all queries; some may report coarser groups."""
    types: frozenset[str]
    """Those that some of the queries read."""
    absent: tuple[str, ...] = ()
    """If there are any, only events without a value of one of these are read."""
    rest: tuple[QueryClass, ...] = ()
    """Some of the queries, for the events that they read and that this class does not."""
    programs: dict[Any, Any] = field(default_factory=dict)
    """Mutable: tables that chunks of a stream have in common, and runs of the workload."""
    making: Lock = field(default_factory=Lock, compare=False)
    """Held by the thread that makes one of these, so that each is made once."""

    @property
    def partition(self) -> tuple[str, ...]:
        """The partition attributes, each once."""
        return tuple(dict.fromkeys((*self.equivalence, *self.group_by)))

    def spare(self) -> None:
        """Before a run: forget the tables of others, if they are many."""
        with self.making:
            if len(self.programs) > KEPT_PROGRAMS:
                self.programs.clear()


def classes_of(queries: Sequence[AnalysedQuery]) -> list[QueryClass]:
    """The classes of a workload."""
    found: dict[tuple[str, ...], list[int]] = {}
    for place, one in enumerate(queries):
        found.setdefault(partition_of(one), []).append(place)
    return [_whole_class(queries, places) for places in found.values()]


def _whole_class(queries: Sequence[AnalysedQuery], places: Sequence[int]) -> QueryClass:
    """The class of these queries; what not all of them read is in its `rest`."""
    members: dict[frozenset[str], list[int]] = {}
    for place in places:
        members.setdefault(frozenset(queries[place].equivalence), []).append(place)
    everyone = frozenset().union(*members)
    rest = (_class(queries, own, everyone - named) for named, own in members.items() if named != everyone)
    return _class(queries, places, frozenset(), tuple(rest))


def _class(
    queries: Sequence[AnalysedQuery],
    places: Sequence[int],
    absent: frozenset[str],
    rest: tuple[QueryClass, ...] = (),
) -> QueryClass:
    own = tuple(queries[place] for place in places)
    equivalence = dict.fromkeys(name for one in own for name in one.equivalence)
    group_by = dict.fromkeys(name for one in own for name in one.group_by)
    local = LocalPredicates.of(own)
    return QueryClass(
        tuple(places),
        own,
        local,
        PairConditions.of(own),
        tuple(equivalence),
        tuple(group_by),
        frozenset().union(*(one.automaton.types() for one in own)),
        tuple(sorted(absent)),
        rest,
    )


def reads_nothing(own: QueryClass, stream: Stream) -> bool:
    """Whether the class is one for events without certain values, and there are none."""
    return bool(own.absent) and not _lacks(stream, own.absent).any()


def _lacks(stream: Stream, attributes: Sequence[str]) -> Any:
    """Where an event has no value of one of the attributes."""
    found = np.zeros(len(stream), np.bool_)
    for name in attributes:
        valid = validity(stream.columns[name].array)
        if valid is not None:
            found |= ~valid
    return found


def class_events(own: QueryClass, stream: Stream, text: str) -> ClassEvents:
    """Partition the stream for these queries and evaluate their local predicates, each different one once."""
    foreign = [name for name in stream.type_names if name not in own.types]
    known = [name for name in stream.type_names if name in own.types]
    codes = {name: code for code, name in enumerate([*known, *sorted(own.types - set(known))])}
    masks = own.local.masks(stream, text)
    code = _without_dead(_codes(stream, codes), codes, masks, own.local)
    keep = _lacks(stream, own.absent) if own.absent else None
    partitioning = partition(stream, own.equivalence, own.group_by, keep)
    order = partitioning.order
    bits = _bits(masks, len(stream))
    events = Events(frozen(stream.time), frozen(code), frozen(bits), frozen(NO_ROWS))
    if order is not None:
        bits = np.take(bits, order, axis=0) if len(masks) else bits
        from hamlet_core.engines.hamlet.input.sorting import gather

        time, code = gather(frozen(stream.time), frozen(code), order)
        events = Events(frozen(time), frozen(code), frozen(bits), frozen(order))
    matched = len(events.code)
    if masks or (foreign and code is not stream.type_codes):
        matched = int(np.count_nonzero(events.code != DEAD))
    return ClassEvents(events, partitioning, codes, own.local.predicates, matched)


def _codes(stream: Stream, codes: dict[str, int]) -> Any:
    """The code of every event's type; the stream's own array where the numbers agree of all types that occur."""
    table = np.array([*(codes.get(name, DEAD) for name in stream.type_names), DEAD], np.int32)
    same = int(np.argmin(table == np.arange(len(table))))
    if same == len(table) - 1 or int(stream.type_codes.max(initial=-1)) < same:
        return stream.type_codes
    return np.take(table, stream.type_codes)


def _without_dead(code: Any, codes: dict[str, int], masks: list[Mask], local: LocalPredicates) -> Any:
    """Events that satisfy no predicate of any position of their type are dead."""
    choosy = {name for name, _ in local.conjunctions} - local.always
    for name in sorted(choosy):
        alive = np.zeros(len(code), np.bool_)
        for (of_type, _), mask in zip(local.conjunctions, masks, strict=True):
            if of_type == name:
                alive |= mask
        code = np.where((code == codes[name]) & ~alive, np.int32(DEAD), code)
    return code


def _bits(masks: list[Mask], count: int) -> Any:
    """uint64[event, word]; without predicates nothing is stored."""
    if not masks:
        return _NO_BITS
    words = np.zeros((count, -(-len(masks) // 64)), np.uint64)
    for place, mask in enumerate(masks):
        words[:, place // 64] |= mask.astype(np.uint64) << np.uint64(place % 64)
    return words
