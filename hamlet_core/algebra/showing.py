"""What each aggregate shows of the components of its query, and the result columns that say how much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core.algebra.aggregates import (
    DURATION,
    LASTING,
    Component,
    Role,
    Shape,
    without_attribute,
)
from hamlet_core.algebra.arithmetic import COUNTS, NOTHING, Arithmetic, Measure, Unit
from hamlet_core.algebra.measuring import (
    NO_FINGERPRINT,
    NO_SIGN,
    Doubles,
    Extremes,
    Integers,
    Measured,
    Numbers,
    Signs,
    chosen,
    exact_extremes,
    joined,
    measured,
    measured_extremes,
    ratio,
)
from hamlet_core.language.syntax import Aggregate, AggregateFunction
from hamlet_core.table.arrow import of_numbers, of_texts

_EXTREMES = {AggregateFunction.MIN: Role.MINIMUM, AggregateFunction.MAX: Role.MAXIMUM}


@dataclass(frozen=True, slots=True)
class Shown:
    """One aggregate of one query over all its rows: what it measures."""

    at: Integers
    """The result row of each."""
    unit: Unit
    of: Numbers | Extremes
    magnitude: Numbers | None = None
    """The sum of the absolute terms of a signed sum."""
    count: Numbers | None = None
    """What an average divides by."""


def shown(
    shape: Shape,
    trends: Numbers,
    parts: Sequence[Numbers | Extremes],
    units: Mapping[str, Unit],
    first: Integers,
) -> Iterator[Shown]:
    """The aggregates of a query; `first` is the result row of the first of them, for each row of the query."""
    by_part: dict[Component, Any] = dict(zip(shape.parts, parts, strict=True))
    for place, (aggregate, alias) in enumerate(zip(shape.aggregates, shape.operands, strict=True)):
        at, plain = first + place, without_attribute(aggregate, alias)
        if plain is not None and plain.role in LASTING:
            divisor = trends if aggregate.function is AggregateFunction.AVG else None
            yield Shown(at, units[DURATION], by_part[plain], None, divisor)
        elif plain is not None:
            yield Shown(at, COUNTS, by_part[plain])
        elif alias is None:
            yield Shown(at, COUNTS, trends)
        else:
            yield Shown(at, units[str(aggregate.attribute)], *_of_attribute(aggregate, alias, by_part))


def _of_attribute(aggregate: Aggregate, alias: str, by_part: Mapping[Component, Any]) -> Iterator[Any]:
    """What is shown, its magnitude and its count, as far as the aggregate has them."""
    attribute = aggregate.attribute
    extreme = _EXTREMES.get(aggregate.function)
    if extreme is not None:
        yield by_part[Component(extreme, alias, attribute)]
        return
    yield by_part[Component(Role.TOTAL, alias, attribute)]
    yield by_part.get(Component(Role.MAGNITUDE, alias, attribute))
    if aggregate.function is AggregateFunction.AVG:
        yield by_part[Component(Role.PRESENT, alias, attribute)]


@dataclass(frozen=True, slots=True)
class MeasureColumns:
    """Mutable: the columns of results that say how much, NULL until they are filled."""

    arithmetic: Arithmetic
    value: Doubles
    sign: Signs
    log2: Doubles
    exact: list[str | None]
    fingerprint: Integers

    @classmethod
    def of_nulls(cls, size: int, arithmetic: Arithmetic) -> MeasureColumns:
        """Columns of so many result rows."""
        return cls(
            arithmetic,
            np.full(size, np.nan),
            np.full(size, NO_SIGN, np.int8),
            np.full(size, np.nan),
            [None] * size if arithmetic.name == "exact" else [],
            np.full(size if arithmetic.name == "modular" else 0, NO_FINGERPRINT, np.int64),
        )

    def arrays(self) -> list[Any]:
        """value, sign, log2, exact and fingerprint as Arrow arrays."""
        size = len(self.value)
        return [
            of_numbers(self.value, null=np.isnan(self.value)),
            of_numbers(self.sign, null=self.sign == NO_SIGN),
            of_numbers(self.log2, null=np.isnan(self.log2)),
            of_texts(self.exact) if self.exact else pa.nulls(size, pa.string()),
            of_numbers(self.fingerprint, null=self.fingerprint == NO_FINGERPRINT)
            if len(self.fingerprint)
            else pa.nulls(size, pa.int64()),
        ]

    def fill(self, tasks: Sequence[Shown]) -> None:
        """Measure everything; numbers of all queries that are measured alike go together."""
        if self.arithmetic.name == "exact":
            for task in tasks:
                self._put_each(task.at, _exact(task, self.arithmetic))
            return
        alike: dict[tuple[bool, bool], list[Shown]] = defaultdict(list)
        for task in tasks:
            if isinstance(task.of, Extremes):
                self._put(task.at, measured_extremes(task.of.values))
                continue
            alike[task.magnitude is not None, task.count is not None].append(task)
            if task.of.residue is not None and task.count is None and task.unit.has_digits:
                self.fingerprint[task.at] = task.of.residue
        for some in alike.values():
            self._put_numbers(some)

    def _put_numbers(self, tasks: Sequence[Shown]) -> None:
        at = np.concatenate([task.at for task in tasks])
        numbers = joined([task.of for task in tasks if isinstance(task.of, Numbers)])
        magnitudes = [task.magnitude for task in tasks if task.magnitude is not None]
        magnitude = joined(magnitudes) if magnitudes else None
        counts = [task.count for task in tasks if task.count is not None]
        if counts:
            count = joined(counts)
            some = count.mantissa > 0.0
            at, count = at[some], chosen(count, some)
            numbers = ratio(chosen(numbers, some), count)
            magnitude = None if magnitude is None else ratio(chosen(magnitude, some), count)
        self._put(at, measured(numbers, magnitude))

    def _put(self, at: Integers, measures: Measured) -> None:
        self.value[at] = measures.value
        self.sign[at] = measures.sign
        self.log2[at] = measures.log2

    def _put_each(self, at: Integers, measures: Sequence[Measure]) -> None:
        for row, measure in zip(at.tolist(), measures, strict=True):
            self.value[row] = np.nan if measure.value is None else measure.value
            self.sign[row] = NO_SIGN if measure.sign is None else measure.sign
            self.log2[row] = np.nan if measure.log2 is None else measure.log2
            self.exact[row] = measure.exact


def _exact(task: Shown, arithmetic: Arithmetic) -> list[Measure]:
    """The measures of whole numbers, one by one."""
    if isinstance(task.of, Extremes):
        return exact_extremes(task.of.values, task.unit)
    numbers = task.of.digits or ()
    if task.count is None:
        return [arithmetic.measure(number, task.unit) for number in numbers]
    return [
        arithmetic.ratio(number, count, task.unit) if arithmetic.positive(count) else NOTHING
        for number, count in zip(numbers, task.count.digits or (), strict=True)
    ]
