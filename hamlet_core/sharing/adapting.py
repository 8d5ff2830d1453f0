"""Plans in use: which an optimizer has made for which queries, by which rates, and when another one took their place.

Source: GLORIA (SIGMOD 2022), section 5, on changes of statistics. A plan is looked at again where a rate has changed by more
than `DRIFT`, and gives way to one that costs less by the new rates. Plans change between chunks of a stream, whose windows
are folded in one of them each: no expression is carried from the old plan to the new one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

DRIFT = 2.0
"""Times as often, or as rarely, as when the plan was made, is a change."""

MOST_CHANGES = 1_000

_Plan = TypeVar("_Plan")


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A plan that took the place of another one while events came."""

    optimizer: str
    queries: tuple[str, ...]
    """That the plan is for."""
    time: int
    """Of the first event after it, in ticks of the input (timestamps: microseconds)."""
    type: str
    """That changed most, ..."""
    rate_before: float
    """... events per window when the old plan was made, ..."""
    rate: float
    """... and now."""
    cost_before: float
    """Of the old plan by the rates of now, in the unit of the optimizer's paper, ..."""
    cost: float
    """... and of the new one, which is less; SHARON's costs are what it saves, below zero."""

    def __str__(self) -> str:
        """In a line, for a log."""
        return (
            f"optimizer {self.optimizer}: another plan for {', '.join(self.queries)} from time {self.time} on, because "
            f"{self.type} came {self.rate_before:,.4g} times a window and now comes {self.rate:,.4g} times; the old plan would "
            f"cost {self.cost_before:,.0f} a window, the new one costs {self.cost:,.0f}"
        )


@dataclass(frozen=True, slots=True)
class InUse(Generic[_Plan]):
    """A plan and the rates that it was last looked at by."""

    plan: _Plan
    rates: Mapping[tuple[str, Hashable], float]


@dataclass(slots=True)
class PlansInUse(Generic[_Plan]):
    """Mutable: the plans of a run or a session, and how they changed."""

    plans: dict[Hashable, InUse[_Plan]] = field(default_factory=dict)
    changes: list[PlanChange] = field(default_factory=list)
    """The last `MOST_CHANGES`, for a session may never end."""
    changed: int = 0
    """How many changes there were."""

    def change(self, change: PlanChange) -> None:
        """Keep a change."""
        self.changes.append(change)
        del self.changes[:-MOST_CHANGES]
        self.changed += 1

    def since(self, changed: int) -> list[PlanChange]:
        """The changes after the first so many, as far as they are kept."""
        new = self.changed - changed
        return self.changes[-new:] if new else []


def most_changed(
    before: Mapping[tuple[str, Hashable], float], now: Mapping[tuple[str, Hashable], float]
) -> tuple[tuple[str, Hashable], float]:
    """The step whose rate has changed most, and by what factor, 1 or more; one event a window is as good as none.

    >>> most_changed({("A", None): 4.0, ("B", None): 9.0}, {("A", None): 9.0, ("B", None): 8.0})
    (('A', None), 2.0)
    """

    def factor(step: tuple[str, Hashable]) -> float:
        old, new = before[step] + 1.0, now[step] + 1.0
        return max(old / new, new / old)

    step = max(now, key=factor)
    return step, factor(step)
