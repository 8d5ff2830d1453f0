"""Sliding windows of one class: which accumulators pane maps fold, and the tables for them, made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Any

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.bursts.fold import BurstJobs, Done
from hamlet_core.engines.hamlet.bursts.layout import equal_positions
from hamlet_core.engines.hamlet.equal_states import Place
from hamlet_core.engines.hamlet.input.query_class import ClassEvents
from hamlet_core.engines.hamlet.panes.choice import (
    PRICES,
    Bursts,
    Prices,
    each_its_own,
    panes_cost_less,
    sample_bursts,
)
from hamlet_core.engines.hamlet.panes.fold import (
    PanePlan,
    Panes,
    fold_panes,
    pane_bounds,
    panes_of,
    plan_panes,
)
from hamlet_core.engines.hamlet.panes.maps import has_map
from hamlet_core.sharing.options import Sharing


@dataclass
class Sliding:
    """Mutable: keeps what it has made for a class of queries; equal accumulators are not prepared twice."""

    events: ClassEvents
    jobs: BurstJobs
    windows: str = "auto"
    """How overlapping windows are folded: by "lanes", by "panes" where an accumulator has maps, or what costs less; "apart" is as
    "lanes" here, and in the event kernel a fold per window.
    """
    sharing: Sharing = Sharing()
    """Which equal totals of different accumulators are folded once."""
    plans: dict[Any, PanePlan] = field(default_factory=dict)
    chosen: dict[Any, dict[int, list[int]]] = field(default_factory=dict)
    cut: dict[tuple[int, int], tuple[Any, Any]] = field(default_factory=dict)
    """Bounds of panes by their length and origin."""
    panes: dict[int, Panes] = field(default_factory=dict)
    """By specification, of those that are folded so."""

    @cached_property
    def overlapping(self) -> tuple[int, ...]:
        """The specifications whose windows overlap, or, where there are no windows, may overlap."""
        return tuple(
            spec
            for spec, (windows, slots) in enumerate(zip(self.jobs.specs, self.jobs.slots, strict=True))
            if slots > 1 or (not len(self.jobs.row) and windows.slide < windows.within)
        )

    def bounds(self, spec: int) -> tuple[Any, Any]:
        """Where the panes of a specification begin and end; several of them may have the same."""
        windows = self.jobs.specs[spec]
        key = gcd(windows.within, windows.slide), windows.origin
        if key not in self.cut:
            self.cut[key] = pane_bounds(self.events, windows)
        return self.cut[key]

    @cached_property
    def bursts(self) -> Bursts:
        """An estimate."""
        return sample_bursts(self.events)

    def by_panes(
        self, accumulators: Sequence[Accumulator], specs: Sequence[int], prices: Prices = PRICES
    ) -> dict[int, list[int]]:
        """By specification: places of the accumulators that pane maps fold; the rest keeps lanes."""
        if self.windows in {"lanes", "apart"} or not self.overlapping:
            return {}
        key = prices, tuple(accumulator.key for accumulator in accumulators)
        if key not in self.chosen:
            self.chosen[key] = self._choose(accumulators, specs, prices)
        return self.chosen[key]

    def _choose(
        self, accumulators: Sequence[Accumulator], specs: Sequence[int], prices: Prices
    ) -> dict[int, list[int]]:
        chosen = {}
        for spec in self.overlapping:
            own = [
                place
                for place, accumulator in enumerate(accumulators)
                if specs[place] == spec and has_map(accumulator)
            ]
            if own and (self.windows == "panes" or self._cheaper(accumulators, own, spec, prices)):
                chosen[spec] = own
        return chosen

    def _cheaper(
        self, accumulators: Sequence[Accumulator], own: Sequence[int], spec: int, prices: Prices
    ) -> bool:
        chosen, alone = [accumulators[place] for place in own], len(own) == len(accumulators)
        return panes_cost_less(
            chosen,
            self.bursts,
            len(self.bounds(spec)[0]),
            len(self.jobs.row[self.jobs.own(spec)]),
            self.jobs.slots[spec],
            prices,
            alone=alone,
            equal=self._equal if self.sharing.equals else each_its_own,
        )

    def _equal(self, accumulators: Sequence[Accumulator]) -> Mapping[Place, Place]:
        """Position of an accumulator -> the one whose lanes it has."""
        return equal_positions(
            accumulators, [0] * len(accumulators), self.events.codes, self.events.predicates, self.sharing
        )

    def fold(
        self,
        spec: int,
        accumulators: Sequence[Accumulator],
        values: Any,
        arithmetic: Any,
        *,
        closed_form: bool,
    ) -> tuple[list[list[Any]], Done]:
        """Results by accumulator and component, an array per row of the specification; and what was done."""
        key = spec, tuple(accumulator.key for accumulator in accumulators)
        if key not in self.plans:
            self.plans[key] = plan_panes(accumulators, self.events, sharing=self.sharing)
        if spec not in self.panes:
            self.panes[spec] = panes_of(self.events, self.jobs, spec, self.bounds(spec))
        return fold_panes(
            self.plans[key], self.panes[spec], self.events, values, arithmetic, closed_form=closed_form
        )
