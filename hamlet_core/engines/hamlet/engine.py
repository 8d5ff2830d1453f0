"""The compiled engine: a workload and a stream in, totals of every query out.

Queries of one class share partitions, events and predicates. A class is passed over once in scaled numbers, once for
MIN and MAX, and once more modulo as many primes as the scaled numbers say its digits need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice, pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hamlet_core.algebra.aggregates import LATTICE, Component, Role
from hamlet_core.algebra.arithmetic import PRIME
from hamlet_core.algebra.measuring import Extremes, Numbers
from hamlet_core.engines.hamlet.accumulators import (
    Accumulator,
    WindowedQuery,
    lattice_accumulators,
    number_accumulators,
)
from hamlet_core.engines.hamlet.arithmetics import Lattice, Scaled
from hamlet_core.engines.hamlet.bursts.fold import burst_jobs
from hamlet_core.engines.hamlet.graphlets.log import Decided, log_of
from hamlet_core.engines.hamlet.input.chunks import Chunk, Limits, chunks
from hamlet_core.engines.hamlet.input.query_class import QueryClass, class_events, classes_of, reads_nothing
from hamlet_core.engines.hamlet.jit.order import in_order, is_backwards
from hamlet_core.engines.hamlet.numbers.arenas import LatticeValues, ScaledValues
from hamlet_core.engines.hamlet.numbers.columns import Keys, doubles, keys, scaled_columns, values_of_keys
from hamlet_core.engines.hamlet.numbers.exact import Wholes, prime_count
from hamlet_core.engines.hamlet.numbers.residues import primes
from hamlet_core.engines.hamlet.passes import ClassPasses, Results, folds_by_bursts
from hamlet_core.engines.hamlet.planning import Plan, with_plans
from hamlet_core.engines.hamlet.prefixes.fold import Alike, fold_by_prefixes
from hamlet_core.progress import UNWATCHED, Progress
from hamlet_core.results.counters import Work
from hamlet_core.results.rows import decision_table
from hamlet_core.results.totals import Totals, joined_totals
from hamlet_core.sharing.adapting import PlansInUse
from hamlet_core.sharing.log import summarised
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.encode import Stream
from hamlet_core.threads import Crew, Piece
from hamlet_core.windows import Wanted, WindowSpec

MOST_DECISIONS = 1 << 16
"""Rows of the log of a run, about: more are added up."""
ALONE = 1 << 16
"""Fewer events are folded by one thread before another has begun, about."""


def fold_prefixes(
    windowed: Sequence[WindowedQuery],
    stream: Stream,
    arithmetic: str,
    work: Work,
    text: str,
    progress: Progress,
    threads: int = 1,
    *,
    only: Wanted | None = None,
    alike: Sequence[Alike] = (),
) -> tuple[dict[int, Totals], list[int]]:
    """Totals, by place, of queries with a matching mode, or with aggregates over partitions; adds to `work`.

    And the places of those with a number beyond the 64 bits that this kernel has. `alike`: what `alike_of` says of the queries,
    if that is known.
    """
    found = dict(
        fold_by_prefixes(windowed, stream, arithmetic, work, text, progress, threads, only=only, alike=alike)
    )
    return found, [place for place in range(len(windowed)) if place not in found]


def fold_workload(
    windowed: Sequence[WindowedQuery],
    stream: Stream,
    arithmetic: str,
    work: Work,
    text: str = "",
    *,
    closed_form: bool = True,
    windows: str = "auto",
    limits: Limits = Limits(),
    sharing: Sharing = Sharing(),
    threads: int = 1,
    classes: Sequence[QueryClass] = (),
    only: Wanted | None = None,
    in_use: PlansInUse[Plan] | None = None,
) -> Iterator[list[Totals]]:
    """Totals of every query, in order, chunk by chunk of the stream; adds to `work` what the kernels did.

    The windows of a query come in order of time, each in one chunk only; `limits` bound what is at hand at once.

    Forced for measurements: `closed_form` False folds every event of a burst; `windows` "lanes", "panes" or "apart" decides
    how sliding windows are folded (patterns that have no pane maps keep lanes; see `Sliding`).

    `sharing`: how it is decided who shares what. `threads`: how many classes of chunks are folded at once; where the stream
    is cut does not depend on it, and so no bit of the answer does. `classes`: those of the queries, if they are known.
    `only`: the windows that are wanted (None: all). `in_use`: the plans that earlier events had; they change between chunks.

    No events are folded in every way: that compiles all kernels that events might need, before there are any.
    """
    specs = [query.spec for query in windowed]
    progress = Progress.over(len(stream))
    classes = classes or classes_of([query.analysed for query in windowed])
    every = [own for whole in classes for own in (whole, *whole.rest)]
    for kept in every:
        kept.spare()
    ways = (windows,) if len(stream) or windows != "auto" else ("panes", "lanes")
    crew = Crew(threads if len(stream) >= ALONE else 1)
    in_use = in_use or PlansInUse()
    progress.at(0.0)

    def piece(chunk: Chunk, own: QueryClass, way: str, share: float, plan: Sharing) -> Piece[_Folded]:
        def fold(here: Progress) -> _Folded:
            force = {"closed_form": closed_form, "windows": way, "sharing": plan, "crew": crew}
            passes = prepare(own, specs, chunk, text, **force)
            return _Folded.of(passes, dict(_fold(windowed, passes, arithmetic, here)))

        return Piece(fold, share)

    cut, pieces, before = list(chunks(stream, specs, bytes_per_event(windowed, classes), limits, only)), [], 0
    for chunk in cut:
        read = [own for own in every if not reads_nothing(own, chunk.stream)]
        share = (chunk.until - before) / max(len(stream), 1) / max(len(read), 1)
        plan_of = _planned(sharing, classes, specs, chunk, text, in_use, work)
        pieces.append(
            [
                piece(chunk, own, way, share, plan_of[id(own)])
                for way in in_order(ways)
                for own in in_order(read)
            ]
        )
        before = chunk.until
    with crew:
        folded = crew.each(chain.from_iterable(pieces), progress)
        for own in pieces:
            found: dict[int, list[Totals]] = {}
            for one in islice(folded, len(own)):
                for place, totals_ in one.totals.items():
                    found.setdefault(place, []).append(totals_)
                one.add_to(work)
            if sum(map(len, work.decisions)) > 2 * MOST_DECISIONS:
                work.decisions[:] = [summarised(decision_table(work.decisions), MOST_DECISIONS)]
            yield [joined_totals(found[place]) for place in range(len(windowed))]


def _planned(
    sharing: Sharing,
    classes: Sequence[QueryClass],
    specs: Sequence[WindowSpec],
    chunk: Chunk,
    text: str,
    in_use: PlansInUse[Plan],
    work: Work,
) -> dict[int, Sharing]:
    """By class what it shares in a chunk."""
    found: dict[int, Sharing] = {}
    known, begun = in_use.changed, perf_counter()
    for whole in classes:
        planned = with_plans(sharing, whole, specs, chunk.stream, text, in_use)
        found |= {id(own): planned for own in [whole, *whole.rest]}
    if in_use.plans:
        work.planning_seconds += perf_counter() - begun
        work.plan_changes += in_use.since(known)
    return found


@dataclass(frozen=True, slots=True)
class _Folded:
    """What a class comes to in a chunk: totals by place of the query, what the kernels did, and the log."""

    totals: dict[int, Totals]
    matched: int
    events: int
    bursts: int
    undecided: int
    decided: Sequence[Decided]
    log: pa.Table

    @classmethod
    def of(cls, passes: ClassPasses, totals: dict[int, Totals]) -> _Folded:
        names = [one.query.name for one in passes.own.queries]
        log = log_of(passes.decided, names, passes.own.partition, passes.events.partitioning, passes.stream)
        return cls(
            totals, passes.matched, passes.folded, passes.bursts, passes.undecided, passes.decided, log
        )

    def add_to(self, work: Work) -> None:
        """Count what was done."""
        work.matched_events += self.matched
        work.kernel_events += self.events
        work.bursts += self.bursts
        work.undecided_events += self.undecided
        for decided in self.decided:
            decided.add_to(work)
        work.decisions.append(self.log)


def _fold(
    windowed: Sequence[WindowedQuery], passes: ClassPasses, arithmetic: str, progress: Progress
) -> Iterator[tuple[int, Totals]]:
    """Totals by place of the query."""
    places = passes.own.places
    found = totals([windowed[place] for place in places], passes, arithmetic, progress)
    return zip(places, found, strict=True)


def bytes_per_event(windowed: Sequence[WindowedQuery], classes: Sequence[QueryClass]) -> int:
    """About how many bytes a fold makes of an event; 0 where it reads the columns as they are."""
    columns = {(part.attribute, part.role) for one in windowed for part in one.parts if part.attribute}
    count = 24 * len(columns)
    for own in classes:
        predicates = len(own.local.conjunctions)
        count += 32 * bool(predicates) + 4 * predicates
        count += (40 + 8 * len(columns)) * bool(own.partition)
        count += 40 * (not all(map(folds_by_bursts, own.queries)))
    return count


def prepare(
    own: QueryClass, specs: Sequence[WindowSpec], chunk: Chunk, text: str, **force: Any
) -> ClassPasses:
    """A class encoded, partitioned and sliced into windows; `specs` are those of all queries of the workload."""
    events = class_events(own, chunk.stream, text)
    of_query = [specs[place] for place in own.places]
    distinct = tuple(dict.fromkeys(of_query))
    jobs = burst_jobs(events, distinct, chunk.windows)
    return ClassPasses(
        own, [distinct.index(spec) for spec in of_query], events, chunk.stream, jobs, text, **force
    )


def totals(
    windowed: Sequence[WindowedQuery],
    passes: ClassPasses,
    arithmetic: str,
    progress: Progress = UNWATCHED,
) -> list[Totals]:
    """Totals of the queries of one class."""
    parts = [with_magnitudes(query.parts) for query in windowed]
    wholes, extreme = arithmetic != "scaled", any(part.role in LATTICE for own in parts for part in own)
    stages = 1 + wholes + extreme
    needed = _needed(passes, parts)
    summed = (part for own in needed for part in own if part.role not in LATTICE)
    columns, table = scaled_columns(summed, passes.stream.columns)
    accumulators = number_accumulators(passes.own.queries, needed, columns)
    if is_backwards():
        _extremes(windowed, passes, [np.zeros(0, np.bool_)] * len(windowed), progress)
    found = passes.run(accumulators, ScaledValues(table), Scaled(), progress.part(0, stages))
    scaled = [_of_all(own, least, numbers) for own, least, numbers in zip(parts, needed, found, strict=True)]
    alive = [numbers[0][0] != 0.0 for numbers in scaled] if wholes or extreme else []
    exact = _exact(passes, parts, scaled, alive, arithmetic, progress.part(1, stages))
    extremes = _extremes(windowed, passes, alive, progress.part(stages - 1, stages))
    present = _present(windowed, passes, scaled)
    return [
        _total(query, place, present[place], scaled[place], exact[place], extremes)
        for place, query in enumerate(windowed)
    ]


def _needed(passes: ClassPasses, parts: Sequence[tuple[Component, ...]]) -> list[tuple[Component, ...]]:
    """By query: the components without the sums of absolute values that are the sums of the values themselves.

    Those that may keep graphlets have all: what they share is to depend on no value.
    """
    if passes.sharing.everywhere and passes.sharing.graphlets:
        return list(parts)
    columns = passes.stream.columns
    negative = {
        part.attribute: doubles(columns[str(part.attribute)]).min(initial=0.0) < 0.0
        for part in dict.fromkeys(chain.from_iterable(parts))
        if part.role is Role.MAGNITUDE
    }
    if not negative:
        return list(parts)
    return [
        tuple(part for part in own if part.role is not Role.MAGNITUDE or negative[part.attribute])
        if folds_by_bursts(query)
        else own
        for query, own in zip(passes.own.queries, parts, strict=True)
    ]


def _of_all(parts: tuple[Component, ...], needed: tuple[Component, ...], results: Sequence[Any]) -> list[Any]:
    """Numbers of all components from those of the needed ones."""
    if needed is parts:
        return list(results)
    own = dict(zip(_summed(needed), results, strict=True))
    return [
        own[part] if part is None or part in own else own[replace(part, role=Role.TOTAL)]
        for part in _summed(parts)
    ]


class _Present(NamedTuple):
    """The rows of a query where there is a trend."""

    row: Any
    """Which of its rows; the rest is by entry of these."""
    start: Any
    end: Any
    group: Any
    mantissa: Any
    """Of the number of trends."""
    exponent: Any


def _present(
    windowed: Sequence[WindowedQuery], passes: ClassPasses, scaled: Results
) -> list[tuple[_Present, tuple[str, ...]]]:
    """By query, with the texts of groups; those that have the same rows are looked at together."""
    together: dict[int, list[int]] = {}
    for place in range(len(windowed)):
        together.setdefault(id(passes.rows_of(place)[0]), []).append(place)
    found: dict[int, tuple[_Present, tuple[str, ...]]] = {}
    for places in together.values():
        (rows, groups), spec = passes.rows_of(places[0]), windowed[places[0]].spec
        mantissa, exponent = map(np.concatenate, zip(*(scaled[place][0] for place in places), strict=True))
        (at,), count = mantissa.nonzero(), len(rows.index)
        row = at % max(count, 1)
        start = spec.origin + rows.index[row] * spec.slide
        columns = row, start, start + spec.within, rows.group[row], mantissa[at], exponent[at]
        bounds = at.searchsorted(count * np.arange(len(places) + 1)).tolist()
        for place, (first, last) in zip(places, pairwise(bounds), strict=True):
            found[place] = _Present(*(one[first:last] for one in columns)), groups
    return [found[place] for place in range(len(windowed))]


def _total(
    query: WindowedQuery,
    place: int,
    present: tuple[_Present, tuple[str, ...]],
    scaled: Sequence[Any],
    exact: dict[str, dict[Component | None, Any]],
    extremes: dict[tuple[int, Component], Extremes],
) -> Totals:
    found: dict[Component | None, Numbers] = {}
    here, groups = present
    for part, (mantissa, exponent) in zip(_summed(with_magnitudes(query.parts)), scaled, strict=True):
        more = {name: by_part[part] for name, by_part in exact.items() if part in by_part}
        if "residue" in exact and not more:
            more = {"residue": np.zeros(len(here.row), np.int64)}
        numbers = (here.mantissa, here.exponent) if part is None else (mantissa[here.row], exponent[here.row])
        found[part] = Numbers(*numbers, **more)
    return Totals(
        query.analysed.query.name,
        here.start,
        here.end,
        here.group,
        groups,
        found[None],
        tuple(extremes[place, part] if part.role in LATTICE else found[part] for part in query.parts),
    )


@lru_cache(maxsize=1024)
def _summed(parts: tuple[Component, ...]) -> tuple[Component | None, ...]:
    """What the numbers of an accumulator are: COUNT(*), then its attribute sums."""
    return (None, *(part for part in parts if part.role not in LATTICE))


@lru_cache(maxsize=1024)
def with_magnitudes(parts: tuple[Component, ...]) -> tuple[Component, ...]:
    """Beside every sum the sum of absolute values: it says how far to trust a double, and bounds the digits."""
    magnitudes = (
        Component(Role.MAGNITUDE, part.alias, part.attribute) for part in parts if part.role is Role.TOTAL
    )
    return tuple(dict.fromkeys((*parts, *magnitudes)))


def _extremes(
    windowed: Sequence[WindowedQuery], passes: ClassPasses, alive: Sequence[Any], progress: Progress
) -> dict[tuple[int, Component], Extremes]:
    """MIN and MAX of every query, where there is a trend."""
    wanted = [[part for part in query.parts if part.role in LATTICE] for query in windowed]
    distinct = list(dict.fromkeys((str(part.attribute), part.role) for own in wanted for part in own))
    if not distinct:
        return {}
    columns = passes.stream.columns
    made: list[Keys] = [keys(columns[name], descending=role is Role.MAXIMUM) for name, role in distinct]
    numbers = {part: distinct.index((str(part.attribute), part.role)) for own in wanted for part in own}
    accumulators = lattice_accumulators(passes.own.queries, wanted, numbers)
    values = LatticeValues(np.array([one.keys for one in made]))
    results = passes.run(accumulators, values, Lattice(), progress)
    owners = [(place, part) for place, own in enumerate(wanted) for part in own]
    return {
        (place, part): Extremes(
            values_of_keys(taken[alive[place]], made[numbers[part]], columns[str(part.attribute)])
        )
        for (place, part), (taken,) in zip(owners, results, strict=True)
    }


def _exact(
    passes: ClassPasses,
    parts: Sequence[tuple[Component, ...]],
    scaled: Results,
    alive: Sequence[Any],
    arithmetic: str,
    progress: Progress,
) -> list[dict[str, dict[Component | None, Any]]]:
    """By query: the digits or residues of its components, under the name that `Numbers` has for them."""
    if arithmetic == "scaled":
        return [{} for _ in parts]
    wholes = Wholes(passes.stream, parts, exact=arithmetic == "exact")
    accumulators = [
        Accumulator(place, analysed, wholes.attribute_sums[place])
        for place, analysed in enumerate(passes.own.queries)
    ]
    if arithmetic == "modular":
        residues = passes.residues(accumulators, wholes.values, (PRIME,), progress)
        return [
            {"residue": wholes.fingerprints(place, [one[alive[place]] for one in own])}
            for place, own in enumerate(residues)
        ]
    bits = [
        _bits(wholes, own, numbers, there) for own, numbers, there in zip(parts, scaled, alive, strict=True)
    ]
    most = max((int(one.max(initial=1)) for one in bits), default=1)
    residues = passes.residues(accumulators, wholes.values, primes(prime_count(most)), progress)
    found = []
    for place, own in enumerate(residues):
        digits = wholes.numbers(place, [one[alive[place]] for one in own], bits[place])
        for part in list(digits):
            if part is not None and part.role is Role.TOTAL:
                # It shows no digits of its own; exact results never ask how far to trust a double.
                digits[Component(Role.MAGNITUDE, part.alias, part.attribute)] = digits[part]
        found.append({"digits": digits})
    return found


def _bits(wholes: Wholes, parts: tuple[Component, ...], scaled: Sequence[Any], alive: Any) -> Any:
    """By row: how many bits its largest number may have, with one for the sign and one for rounding."""
    most = np.ones(int(alive.sum()), np.int64)
    for part, (_, exponent) in zip(_summed(parts), scaled, strict=True):
        if part is None or part.role is not Role.TOTAL:  # the sum of absolute values, beside it, bounds a sum
            size = exponent[alive] + (wholes.unit_bits(part) if part is not None else 0)
            most = np.maximum(most, size)
    return most + 2
