"""How sharing is decided, as one value: policy, cost model, choice of the set, constants, and whether to keep a log."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from hamlet_core.sharing.costs import Constants
from hamlet_core.sharing.segments import Segments

POLICIES = ("dynamic", "always", "never")
COST_MODELS = ("measured", "paper")
CHOICES = ("guarded", "paper")
OPTIMIZERS = ("auto", "hamlet", "gloria", "sharon", "greedy", "none")
STATIC = ("gloria", "greedy", "sharon")
"""Those that plan before a run which segments are shared."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Names are those of `POLICIES`, `COST_MODELS`, `CHOICES` and `OPTIMIZERS`."""

    policy: str = "dynamic"
    cost_model: str = "measured"
    choice: str = "guarded"
    constants: Constants = Constants()
    """Of the measured cost model."""
    log: bool = False
    """Whether decisions are written down, beside being counted."""
    rests: bool = True
    """Whether groups that lose by sharing, as the measured model has it, rest for a while; off for measurements."""
    optimizer: str = "auto"
    segments: Segments | None = None
    """Of the plan of an optimizer that is `STATIC`; None: there is no plan yet, and whatever is equal may be shared."""

    @property
    def shares(self) -> bool:
        """Whether anything is shared at all."""
        return self.policy != "never" and self.optimizer != "none"

    @property
    def equals(self) -> bool:
        """Whether totals that are equal whatever the events are, are folded once: all of them, or those of one segment."""
        return self.shares and self.optimizer != "hamlet"

    @property
    def across_windows(self) -> bool:
        """Whether queries whose windows begin together and end apart have one fold."""
        return self.shares and self.optimizer == "auto"

    @property
    def graphlets(self) -> bool:
        """Whether queries may share graphlets; SHARON knows of none."""
        return self.shares and self.optimizer != "sharon"

    @property
    def always(self) -> bool:
        """Whether those share graphlets that can, without asking what it costs: as a policy, or because a plan says so."""
        return self.policy == "always" or self.optimizer in STATIC

    def label(self, query: str, position: int) -> Hashable:
        """What positions must have in common to share; one that no segment has is alone."""
        return None if self.segments is None else self.segments.label(query, position)

    @property
    def may_rest(self) -> bool:
        """Whether groups rest that lose by sharing: where they are decided about, by what they cost."""
        return self.rests and not self.always and self.policy == "dynamic" and self.cost_model == "measured"

    @property
    def everywhere(self) -> bool:
        """Whether graphlets are kept also where a burst has a closed form and nothing can be gained."""
        return self.policy == "always" or (self.policy == "dynamic" and self.cost_model == "paper")
