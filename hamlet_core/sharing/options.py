"""How sharing is decided, as one value: policy, cost model, choice of the set, constants, and whether to keep a log."""

from __future__ import annotations

from dataclasses import dataclass

from hamlet_core.sharing.costs import Constants

POLICIES = ("dynamic", "always", "never")
COST_MODELS = ("measured", "paper")
CHOICES = ("guarded", "paper")


@dataclass(frozen=True, slots=True)
class Sharing:
    """Names are those of `POLICIES`, `COST_MODELS` and `CHOICES`."""

    policy: str = "dynamic"
    cost_model: str = "measured"
    choice: str = "guarded"
    constants: Constants = Constants()
    """Of the measured cost model."""
    log: bool = False
    """Whether decisions are written down, beside being counted."""
    rests: bool = True
    """Whether groups that lose by sharing, as the measured model has it, rest for a while; off for measurements."""

    @property
    def equals(self) -> bool:
        """Whether totals that are equal whatever the events are, are folded once."""
        return self.policy != "never"

    @property
    def may_rest(self) -> bool:
        """Whether groups rest that lose by sharing: where they are decided about, by what they cost."""
        return self.rests and self.policy == "dynamic" and self.cost_model == "measured"

    @property
    def everywhere(self) -> bool:
        """Whether graphlets are kept also where a burst has a closed form and nothing can be gained."""
        return self.policy == "always" or (self.policy == "dynamic" and self.cost_model == "paper")
