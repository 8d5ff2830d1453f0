"""Queries of one class (one set of partition attributes) and the events they read, as the kernels want them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.frame import DEAD, Events, Predicates
from hamlet_core.engines.partitioning import Partitioning, partition
from hamlet_core.events import Stream
from hamlet_core.language import syntax
from hamlet_core.pattern.automaton import Automaton
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.vectorised import local_mask

Mask: TypeAlias = npt.NDArray[np.bool_]
_NO_BITS = np.zeros((0, 1), np.uint64)
_NO_ROWS = np.zeros(0, np.int64)


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


def class_events(queries: Sequence[AnalysedQuery], stream: Stream, text: str) -> ClassEvents:
    """Partition the stream for these queries and evaluate their local predicates, each different one once."""
    wanted = set().union(*(query.automaton.types() for query in queries))
    foreign = [name for name in stream.type_names if name not in wanted]
    known = [name for name in stream.type_names if name in wanted]
    codes = {name: code for code, name in enumerate([*known, *sorted(wanted - set(known))])}
    predicates, masks, always = _predicates(queries, stream, text)
    code = _without_dead(_codes(stream, codes), codes, masks, always)
    first = queries[0]
    partitioning = partition(stream, first.equivalence, first.group_by, None)
    order = partitioning.order
    bits = _bits([mask for _, mask in masks], len(stream))
    events = Events(_fixed(stream.time), _fixed(code), _fixed(bits), _fixed(_NO_ROWS))
    if order is not None:
        bits = np.take(bits, order, axis=0) if len(masks) else bits
        events = Events(
            _fixed(np.take(stream.time, order)), _fixed(np.take(code, order)), _fixed(bits), _fixed(order)
        )
    matched = len(events.code)
    if foreign or masks:
        matched = int(np.count_nonzero(events.code != DEAD))
    return ClassEvents(events, partitioning, codes, predicates, matched)


def _fixed(array: Any) -> Any:
    """A read-only view: one type for the compiler, whoever owns the data."""
    view = array.view()
    view.flags.writeable = False
    return view


def _codes(stream: Stream, codes: dict[str, int]) -> Any:
    """The code of every event's type; the stream's own array where the numbers agree."""
    table = np.array([codes.get(name, DEAD) for name in stream.type_names], np.int32)
    if len(table) and np.array_equal(table, np.arange(len(table))):
        return stream.type_codes
    return table[stream.type_codes] if len(table) else stream.type_codes


def _predicates(
    queries: Sequence[AnalysedQuery], stream: Stream, text: str
) -> tuple[Predicates, list[tuple[str, Mask]], set[str]]:
    """Bits by (query, alias); (type, mask) by bit; types of which some position has no local predicate."""
    bit: dict[tuple[int, str], int] = {}
    known: dict[Any, int] = {}
    masks: list[tuple[str, Mask]] = []
    always: set[str] = set()
    single: dict[Any, Mask] = {}
    for place, query in enumerate(queries):
        for alias, type_name, conditions in _conditions(query):
            if not conditions:
                always.add(type_name)
                continue
            key = _key(type_name, conditions)
            if key not in known:
                known[key] = len(masks)
                masks.append((type_name, _conjunction(conditions, stream, text, single)))
            bit[place, alias] = known[key]
    return Predicates(bit, max(1, -(-len(masks) // 64))), masks, always


def distinct_predicates(queries: Sequence[AnalysedQuery]) -> int:
    """How many different local predicates the queries have."""
    return len({_key(name, some) for query in queries for _, name, some in _conditions(query) if some})


def _conditions(query: AnalysedQuery) -> Iterator[tuple[str, str, list[syntax.Expression]]]:
    """Every alias, its type and its local conditions."""
    for alias, type_name in sorted(_aliases(query.automaton)):
        yield alias, type_name, [one.expression for one in query.local if one.alias == alias]


def _key(type_name: str, conditions: Sequence[syntax.Expression]) -> Any:
    return type_name, frozenset(_anonymous(condition) for condition in conditions)


def _conjunction(
    conditions: Sequence[syntax.Expression], stream: Stream, text: str, known: dict[Any, Mask]
) -> Mask:
    mask: Mask | None = None
    for condition in conditions:
        key = _anonymous(condition)
        if key not in known:
            known[key] = local_mask(condition, stream.columns, unit=stream.unit, text=text)
        mask = known[key] if mask is None else mask & known[key]
    return mask if mask is not None else np.ones(len(stream), np.bool_)


def _aliases(automaton: Automaton) -> set[tuple[str, str]]:
    own = {(position.alias, position.type) for position in automaton.positions}
    return own.union(*(_aliases(negation) for negation in automaton.negations))


def _anonymous(expression: Any) -> Any:
    """The expression without its alias and its place in the text: equal conditions on one type are one predicate."""
    if isinstance(expression, tuple):
        return tuple(_anonymous(item) for item in expression)
    if not is_dataclass(expression) or isinstance(expression, type):
        return type(expression), expression
    changes = {
        one.name: None
        if one.name == "span"
        else ""
        if one.name == "alias" and isinstance(expression, syntax.Attribute)
        else _anonymous(getattr(expression, one.name))
        for one in fields(expression)
    }
    return type(expression), tuple(changes.items())


def _without_dead(code: Any, codes: dict[str, int], masks: list[tuple[str, Mask]], always: set[str]) -> Any:
    """Events that satisfy no predicate of any position of their type are dead."""
    choosy = {name for name, _ in masks} - always
    for name in sorted(choosy):
        alive = np.zeros(len(code), np.bool_)
        for of_type, mask in masks:
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
