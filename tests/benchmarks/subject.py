"""The engine under test: `run()` as a user calls it, and its kernels alone on encoded input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core import EventSchema, run
from hamlet_core.engines.registry import ENGINES
from hamlet_core.sharing.options import Sharing
from tests.benchmarks.answers import log2_of, of_rows

_OF_SHARING = ("cost_model", "choice", "constants", "log")


@dataclass(frozen=True)
class Subject:
    """An engine by name; queries do not share unless a policy says so."""

    engine: str = "hamlet"

    @property
    def exists(self) -> bool:
        return self.engine in ENGINES

    def run(
        self, text: str, table: pa.Table, arithmetic: str = "scaled", policy: str = "never", **more: Any
    ) -> Callable[[], pa.Table]:
        """`run()` end to end, from text and Arrow to result rows, ready to be called; `more` of its options."""
        return lambda: run(text, table, engine=self.engine, policy=policy, arithmetic=arithmetic, **more)

    def fold(
        self, text: str, table: pa.Table, arithmetic: str = "scaled", policy: str = "never", **force: Any
    ) -> Callable[[], Any]:
        """The kernels alone, everything before them done; only the engine hamlet has them, others `run`.

        `force`: closed_form=False folds every event of a burst; windows="lanes", "panes" or "apart" forces how sliding
        windows are kept; cost_model, choice, constants and log are fields of `Sharing`.
        """
        if self.engine != "hamlet":
            return self.run(text, table, arithmetic, policy=policy)
        from hamlet_core.bench.kernels import prepare_bench

        if arithmetic != "scaled":
            force["arithmetic"] = arithmetic
        known = {name: force.pop(name) for name in _OF_SHARING if name in force}
        return prepare_bench(text, table, EventSchema(), sharing=Sharing(policy, **known), **force).fold


def answers(found: Any, names: Sequence[str], window_starts: np.ndarray) -> np.ndarray:
    """log2 of counts from what `run` or `fold` returned."""
    if isinstance(found, pa.Table):
        return of_rows(found, names, window_starts)
    matrix = np.full((len(names), len(window_starts)), -np.inf)
    places = {name: place for place, name in enumerate(names)}
    for totals in found:
        windows = np.searchsorted(window_starts, totals.window_start)
        trends = totals.trends
        if trends.digits is not None:
            log2 = np.array([log2_of(count) for count in trends.digits])
        else:
            log2 = np.log2(trends.mantissa) + trends.exponent
        matrix[places[totals.name], windows] = log2
    return matrix


def whole_numbers(found: Any, names: Sequence[str]) -> list[int]:
    """Exact counts from what `fold` returned, in the order of queries and windows."""
    by_name = {totals.name: totals for totals in found}
    counts = []
    for name in names:
        if name in by_name:
            totals = by_name[name]
            counts += [totals.trends.digits[row] for row in np.argsort(totals.window_start, kind="stable")]
    return counts
