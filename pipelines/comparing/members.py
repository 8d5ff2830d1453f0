"""What takes part in a comparison: the engines, the compiled one with each way to plan and to decide who shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hamlet_core.engines.registry import DEFAULT_ENGINE, ENGINES, Options
from hamlet_core.sharing.options import OPTIMIZERS

PLANNING = ("sharon", "gloria")
"""Engines with a plan of their paper, and a greedy one to compare it with."""


@dataclass(frozen=True, slots=True)
class Member:
    """An engine with its options, as `hamlet run` takes them."""

    engine: str
    policy: str = "dynamic"
    cost_model: str = "measured"
    optimizer: str = "auto"

    @property
    def name(self) -> str:
        """The engine, and what is not as usual.

        >>> Member("greta").name, Member("hamlet", policy="never").name, Member("hamlet", optimizer="gloria").name
        ('greta', 'hamlet never', 'hamlet by gloria')
        """
        usual = Member(self.engine)
        other = (own for own in ("policy", "cost_model") if getattr(self, own) != getattr(usual, own))
        rules = () if self.optimizer == usual.optimizer else (f"by {self.optimizer}",)
        return " ".join((self.engine, *(getattr(self, own) for own in other), *rules))


def members(engines: Sequence[str] = ENGINES) -> tuple[Member, ...]:
    """Those of some engines, in the order of the registry; raises StreamError E210 for an engine that there is not."""
    for engine in engines:
        Options(engine)
    found: list[Member] = []
    for engine in (one for one in ENGINES if one in engines):
        found.append(Member(engine))
        if engine in PLANNING:
            found.append(Member(engine, optimizer="greedy"))
        if engine == DEFAULT_ENGINE:
            found += [
                Member(engine, policy="always"),
                Member(engine, policy="never"),
                Member(engine, cost_model="paper"),
                *(Member(engine, optimizer=own) for own in OPTIMIZERS if own not in ("auto", "none")),
            ]
    return tuple(found)
