"""The compiled engine: a workload and a stream in, totals of every query out.

Queries of one class share partitions, events and predicates. A class is passed over once in scaled numbers, once for
MIN and MAX, and once more modulo as many primes as the scaled numbers say its digits need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hamlet_core.algebra.aggregates import LATTICE, Component, Role
from hamlet_core.algebra.arithmetic import PRIME
from hamlet_core.algebra.measuring import Extremes, Numbers
from hamlet_core.engines.hamlet.arenas import LatticeValues, ScaledValues
from hamlet_core.engines.hamlet.bursts import burst_jobs
from hamlet_core.engines.hamlet.classes import class_events
from hamlet_core.engines.hamlet.passes import ClassPasses, Lattice, Results, Scaled
from hamlet_core.engines.hamlet.residues import primes
from hamlet_core.engines.hamlet.strands import Strand, lattice_strands, number_strands
from hamlet_core.engines.hamlet.values import Keys, keys, scaled_columns, values_of_keys
from hamlet_core.engines.hamlet.wholes import Wholes, prime_count
from hamlet_core.events import Stream
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.totals import Totals
from hamlet_core.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class Question:
    """One query as the engine needs it; `parts` are the components of its aggregates."""

    analysed: AnalysedQuery
    spec: WindowSpec
    parts: tuple[Component, ...]


@dataclass(slots=True)
class Work:
    """Mutable: what the kernels had to do, and what they did."""

    matched_events: int = 0
    kernel_events: int = 0
    bursts: int = 0


def fold_workload(
    questions: Sequence[Question],
    stream: Stream,
    arithmetic: str,
    text: str = "",
    *,
    closed_form: bool = True,
    windows: str = "auto",
) -> tuple[list[Totals], Work]:
    """Totals of every query, in order, and what the kernels did.

    Forced for measurements: `closed_form` False folds every event of a burst; `windows` "lanes" or "panes" decides
    how sliding windows are folded (patterns that have no pane maps keep lanes).

    No events are folded in every way: that compiles all kernels that events might need, before there are any.
    """
    if not len(stream) and windows == "auto":
        fold_workload(questions, stream, arithmetic, text, closed_form=closed_form, windows="panes")
        windows = "lanes"
    work = Work()
    found: dict[int, Totals] = {}
    for places, passes in prepare(questions, stream, text, closed_form=closed_form, windows=windows):
        found.update(
            zip(places, totals([questions[place] for place in places], passes, arithmetic), strict=True)
        )
        work.matched_events += passes.matched
        work.kernel_events += passes.folded
        work.bursts += passes.bursts
    return [found[place] for place in range(len(questions))], work


def prepare(
    questions: Sequence[Question],
    stream: Stream,
    text: str,
    *,
    closed_form: bool = True,
    windows: str = "auto",
) -> list[tuple[list[int], ClassPasses]]:
    """The classes of a workload (places of their queries), encoded, partitioned and sliced into windows."""
    classes: dict[Any, list[int]] = {}
    for place, question in enumerate(questions):
        one = question.analysed
        classes.setdefault((frozenset(one.equivalence), frozenset(one.group_by)), []).append(place)
    prepared = []
    for places in classes.values():
        own = [questions[place] for place in places]
        analysed = [question.analysed for question in own]
        events = class_events(analysed, stream, text)
        specs = tuple(dict.fromkeys(question.spec for question in own))
        passes = ClassPasses(
            analysed,
            [specs.index(question.spec) for question in own],
            events,
            stream,
            burst_jobs(events, specs),
            text,
            closed_form,
            windows,
        )
        prepared.append((places, passes))
    return prepared


def totals(questions: Sequence[Question], passes: ClassPasses, arithmetic: str) -> list[Totals]:
    """Totals of the queries of one class."""
    parts = [_with_magnitudes(question.parts) for question in questions]
    summed = (part for own in parts for part in own if part.role not in LATTICE)
    columns, table = scaled_columns(summed, passes.stream.columns)
    strands = number_strands(passes.queries, parts, columns)
    scaled = passes.run(strands, ScaledValues(table), Scaled())
    alive = [numbers[0][0] != 0.0 for numbers in scaled]
    exact = _exact(passes, parts, scaled, alive, arithmetic)
    extremes = _extremes(questions, passes, alive)
    return [
        _total(question, passes, place, parts[place], scaled[place], alive[place], exact[place], extremes)
        for place, question in enumerate(questions)
    ]


def _total(
    question: Question,
    passes: ClassPasses,
    place: int,
    parts: Sequence[Component],
    scaled: Sequence[Any],
    alive: Any,
    exact: dict[str, dict[Component | None, Any]],
    extremes: dict[tuple[int, Component], Extremes],
) -> Totals:
    found: dict[Component | None, Numbers] = {}
    for part, (mantissa, exponent) in zip(_summed(parts), scaled, strict=True):
        more = {name: by_part[part] for name, by_part in exact.items() if part in by_part}
        if "residue" in exact and not more:
            more = {"residue": np.zeros(int(alive.sum()), np.int64)}
        found[part] = Numbers(mantissa[alive], exponent[alive], **more)
    rows = passes.jobs.rows[passes.spec_of[place]]
    start = question.spec.origin + rows.index[alive] * question.spec.slide
    return Totals(
        question.analysed.query.name,
        start,
        start + question.spec.within,
        rows.group[alive],
        passes.events.partitioning.groups,
        found[None],
        tuple(extremes[place, part] if part.role in LATTICE else found[part] for part in question.parts),
    )


def _summed(parts: Sequence[Component]) -> list[Component | None]:
    """What the numbers of a strand are: COUNT(*), then its riders."""
    return [None, *(part for part in parts if part.role not in LATTICE)]


def _with_magnitudes(parts: Sequence[Component]) -> tuple[Component, ...]:
    """Beside every sum the sum of absolute values: it says how far to trust a double, and bounds the digits."""
    magnitudes = (
        Component(Role.MAGNITUDE, part.alias, part.attribute) for part in parts if part.role is Role.TOTAL
    )
    return tuple(dict.fromkeys((*parts, *magnitudes)))


def _extremes(
    questions: Sequence[Question], passes: ClassPasses, alive: Sequence[Any]
) -> dict[tuple[int, Component], Extremes]:
    """MIN and MAX of every query, where there is a trend."""
    wanted = [[part for part in question.parts if part.role in LATTICE] for question in questions]
    distinct = list(dict.fromkeys((str(part.attribute), part.role) for own in wanted for part in own))
    if not distinct:
        return {}
    columns = passes.stream.columns
    made: list[Keys] = [keys(columns[name], descending=role is Role.MAXIMUM) for name, role in distinct]
    numbers = {part: distinct.index((str(part.attribute), part.role)) for own in wanted for part in own}
    strands = lattice_strands(passes.queries, wanted, numbers)
    results = passes.run(strands, LatticeValues(np.array([one.keys for one in made])), Lattice())
    owners = [(place, part) for place, own in enumerate(wanted) for part in own]
    return {
        (place, part): Extremes(
            values_of_keys(taken[alive[place]], made[numbers[part]], columns[str(part.attribute)])
        )
        for (place, part), (taken,) in zip(owners, results, strict=True)
    }


def _exact(
    passes: ClassPasses,
    parts: Sequence[Sequence[Component]],
    scaled: Results,
    alive: Sequence[Any],
    arithmetic: str,
) -> list[dict[str, dict[Component | None, Any]]]:
    """By query: the digits or residues of its components, under the name that `Numbers` has for them."""
    if arithmetic == "scaled":
        return [{} for _ in parts]
    wholes = Wholes(passes.stream, parts, exact=arithmetic == "exact")
    strands = [Strand(place, analysed, wholes.riders[place]) for place, analysed in enumerate(passes.queries)]
    if arithmetic == "modular":
        residues = passes.residues(strands, wholes.values, (PRIME,))
        return [
            {"residue": wholes.fingerprints(place, [one[alive[place]] for one in own])}
            for place, own in enumerate(residues)
        ]
    bits = [
        _bits(wholes, own, numbers, there) for own, numbers, there in zip(parts, scaled, alive, strict=True)
    ]
    most = max((int(one.max(initial=1)) for one in bits), default=1)
    residues = passes.residues(strands, wholes.values, primes(prime_count(most)))
    found = []
    for place, own in enumerate(residues):
        digits = wholes.numbers(place, [one[alive[place]] for one in own], bits[place])
        for part in list(digits):
            if part is not None and part.role is Role.TOTAL:
                # It shows no digits of its own; exact results never ask how far to trust a double.
                digits[Component(Role.MAGNITUDE, part.alias, part.attribute)] = digits[part]
        found.append({"digits": digits})
    return found


def _bits(wholes: Wholes, parts: Sequence[Component], scaled: Sequence[Any], alive: Any) -> Any:
    """By row: how many bits its largest number may have, with one for the sign and one for rounding."""
    most = np.ones(int(alive.sum()), np.int64)
    for part, (_, exponent) in zip(_summed(parts), scaled, strict=True):
        if part is None or part.role is not Role.TOTAL:  # the sum of absolute values, beside it, bounds a sum
            size = exponent[alive] + (wholes.unit_bits(part) if part is not None else 0)
            most = np.maximum(most, size)
    return most + 2
