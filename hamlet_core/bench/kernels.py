"""The kernels alone, for benchmarks: everything before them done once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hamlet_core.engines.hamlet.accumulators import WindowedQuery
from hamlet_core.engines.hamlet.engine import prepare, totals
from hamlet_core.engines.hamlet.input.chunks import Chunk
from hamlet_core.engines.hamlet.input.query_class import classes_of, reads_nothing
from hamlet_core.engines.hamlet.passes import ClassPasses
from hamlet_core.engines.hamlet.planning import with_plans
from hamlet_core.execution import windowed_queries
from hamlet_core.results.counters import Work
from hamlet_core.results.totals import Totals
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.encode import EventSchema
from hamlet_core.template.workload import LANES, path_of


@dataclass(frozen=True, slots=True)
class Prepared:
    """A workload over encoded events, partitioned and sliced into windows, its programs made by the first fold."""

    classes: list[tuple[list[WindowedQuery], ClassPasses]]
    arithmetic: str

    def fold(self) -> list[Totals]:
        """Run the kernels and read their results, as if for the first time."""
        for _, passes in self.classes:
            passes.forget()
        return [one for windowed, passes in self.classes for one in totals(windowed, passes, self.arithmetic)]

    def work(self) -> Work:
        """What the last fold decided."""
        work = Work()
        for _, passes in self.classes:
            for decided in passes.decided:
                decided.add_to(work)
        return work


def prepare_bench(
    text: str, table: pa.Table, schema: EventSchema, *, arithmetic: str = "scaled", **force: Any
) -> Prepared:
    """Encode a workload's events; `force`: keywords of `engine.fold_workload`. ValueError where lanes fold no query of it."""
    windowed, stream = windowed_queries(text, table, schema, arithmetic)
    if strange := [one.analysed.query.name for one in windowed if path_of(one.analysed) not in LANES]:
        raise ValueError(f"no kernels of bursts and events fold {', '.join(strange)}: time run() instead")
    specs = [query.spec for query in windowed]
    classes = []
    whole = classes_of([query.analysed for query in windowed])
    sharing = force.pop("sharing", Sharing())
    for one in whole:
        planned = with_plans(sharing, one, specs, stream, text)
        for own in (own for own in (one, *one.rest) if not reads_nothing(own, stream)):
            passes = prepare(own, specs, Chunk(stream), text, sharing=planned, **force)
            classes.append(([windowed[place] for place in own.places], passes))
    return Prepared(classes, arithmetic)
