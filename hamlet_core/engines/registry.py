"""Engine names -> engines, and the options that a run may set."""

from __future__ import annotations

from dataclasses import dataclass

from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.engines import greta, two_step
from hamlet_core.engines.partitions import Evaluate
from hamlet_core.errors import StreamError

ENGINES: dict[str, Evaluate] = {"greta": greta.evaluate, "two_step": two_step.evaluate}
"""Name, as in `run(engine=...)` -> (query, rows of a window) -> element by sides."""

DEFAULT_ENGINE = "greta"

PLANNED_ENGINES = ("hamlet",)
"""Named by the public surface, refused by name until they exist."""

POLICIES = ("dynamic", "always", "never")
COST_MODELS = ("measured", "paper")


@dataclass(frozen=True, slots=True)
class Options:
    """How a run computes; raises StreamError E210 for a value it does not know."""

    engine: str = DEFAULT_ENGINE
    policy: str = "dynamic"
    cost_model: str = "measured"
    arithmetic: str = "scaled"

    def __post_init__(self) -> None:
        if self.engine in PLANNED_ENGINES:
            hint = f"use one of {', '.join(ENGINES)}"
            raise StreamError(f"engine {self.engine!r} is not available yet", code="E211", hint=hint)
        allowed = {
            "engine": tuple(ENGINES),
            "policy": POLICIES,
            "cost_model": COST_MODELS,
            "arithmetic": tuple(ARITHMETICS),
        }
        for name, values in allowed.items():
            value = getattr(self, name)
            if value not in values:
                raise StreamError(
                    f"unknown {name} {value!r}", code="E210", hint=f"use one of {', '.join(values)}"
                )
