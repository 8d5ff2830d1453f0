"""Engine names -> engines, and the options that a run may set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hamlet_core.algebra.arithmetic import ARITHMETICS, Arithmetic
from hamlet_core.engines import aseq, gloria, greta, shared_two_step, sharon, two_step
from hamlet_core.engines.partitions import Evaluate, EvaluateTogether
from hamlet_core.engines.prepared import PreparedQuery
from hamlet_core.errors import StreamError
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.sharing.calibration import constants_in_use
from hamlet_core.sharing.costs import Constants
from hamlet_core.sharing.options import CHOICES, COST_MODELS, OPTIMIZERS, POLICIES, Sharing
from hamlet_core.threads import threads_of
from hamlet_core.windows import WindowSpec

EVALUATORS: dict[str, Evaluate] = {
    "greta": greta.evaluate,
    "two_step": two_step.evaluate,
    "aseq": aseq.evaluate,
}
"""Engines that take one window of one query after the other: (query, rows of a window) -> element by sides."""


class _Together(Protocol):
    """How an engine plans what some queries share, and folds a window of them."""

    def __call__(
        self,
        prepared: Sequence[PreparedQuery],
        spec: WindowSpec,
        arithmetic: Arithmetic,
        *,
        greedily: bool = False,
    ) -> EvaluateTogether: ...


TOGETHER: dict[str, _Together] = {
    "shared_two_step": shared_two_step.together,
    "sharon": sharon.together,
    "gloria": gloria.together,
}
"""Engines that take one window of some queries after the other, which have the same partitions and windows."""

DEFAULT_ENGINE = "hamlet"
REFERENCE = "greta"
"""Folds the queries for which the default engine has no kernels."""

CHECKS: dict[str, Callable[[AnalysedQuery, str], None]] = {
    "aseq": aseq.check,
    "sharon": sharon.check,
    "gloria": gloria.check,
}
"""Engines that do not answer every query -> what raises for the others: (query, text for the error)."""

ENGINES = (DEFAULT_ENGINE, *EVALUATORS, *TOGETHER)
"""Names, as in `run(engine=...)`; `hamlet` takes the whole workload in one pass, compiled."""

GENERAL = tuple(name for name in ENGINES if name not in CHECKS)
"""Those that answer every query."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a run computes; raises StreamError E210 for a value it does not know, E230 for such a number of threads."""

    engine: str = DEFAULT_ENGINE
    policy: str = "dynamic"
    cost_model: str = "measured"
    arithmetic: str = "scaled"
    choice: str = "guarded"
    log: bool = False
    threads: int | None = None
    """None: see `threads_of`."""
    optimizer: str = "auto"

    def __post_init__(self) -> None:
        allowed = {
            "engine": ENGINES,
            "policy": POLICIES,
            "cost_model": COST_MODELS,
            "arithmetic": tuple(ARITHMETICS),
            "choice": CHOICES,
            "optimizer": OPTIMIZERS,
        }
        for name, values in allowed.items():
            value = getattr(self, name)
            if value not in values:
                raise StreamError(
                    f"unknown {name} {value!r}", code="E210", hint=f"use one of {', '.join(values)}"
                )

        threads_of(self.threads)

    @property
    def at_once(self) -> int:
        """How many threads fold."""
        return threads_of(self.threads)

    @property
    def sharing(self) -> Sharing:
        """How the engine hamlet decides who shares; raises StreamError E219 if a file of constants is damaged."""
        constants = constants_in_use() if self.cost_model == "measured" else Constants()
        return Sharing(
            self.policy, self.cost_model, self.choice, constants, self.log, optimizer=self.optimizer
        )


def evaluator(
    engine: str,
    prepared: Sequence[PreparedQuery],
    spec: WindowSpec,
    arithmetic: Arithmetic,
    optimizer: str = "auto",
) -> EvaluateTogether:
    """How an engine, or the reference where the default engine has no kernels, takes a window of these queries."""
    if engine in TOGETHER:
        return TOGETHER[engine](prepared, spec, arithmetic, greedily=optimizer == "greedy")
    evaluate = EVALUATORS[REFERENCE if engine == DEFAULT_ENGINE else engine]
    if len(prepared) == 1:
        only = prepared[0]
        return lambda rows: (evaluate(only, rows),)
    return lambda rows: tuple(evaluate(one, rows) for one in prepared)


def check_queries(engine: str, queries: Sequence[AnalysedQuery], text: str) -> None:
    """Raise QueryMeaningError E302 if the engine's paper has no rule for one of the queries; `text` is for the error."""
    if check := CHECKS.get(engine):
        for one in queries:
            check(one, text)
